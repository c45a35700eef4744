"""The stubs that builds make of the signatures of kernels."""

import runpy

import pytest

from tests.test_architecture import ROOT

stub_of = runpy.run_path(str(ROOT / "setup.py"), run_name="setup")["stub_of"]

KERNEL = '''"""A kernel."""

from typing import TYPE_CHECKING

from deltaskip.sparkexpr.kernels.lane cimport Lane, new_lane

__all__ = ["Table", "keep"]

if TYPE_CHECKING:
    from typing import Literal

    Side = Literal["left", "right"]

KINDS: tuple[str, ...] = ("a", "b")
_HIDDEN: int = 1


cdef class Table:
    """Rows."""

    def __cinit__(self, dict rows not None: dict[int, str]):
        pass

    def __len__(self):
        return 1

    @property
    def width(self) -> int:
        """The number of columns."""
        return 2

    cdef int _grow(self):
        size: int = 1


def keep(
    object values not None: ArrowArrayExportable, str op not None, bytes key, int64_t first=-1, *, bint strict=False,
) -> Lane:
    """Return the rows."""
    found = 1


def side(pairs: Sequence[tuple[int, int]], double share) -> Side:
    return pairs
'''

STUB = '''from deltaskip.sparkexpr.kernels.lane import ArrowArrayExportable
from deltaskip.sparkexpr.kernels.lane import Lane
from collections.abc import Sequence
__all__ = ["Table", "keep"]

from typing import Literal

Side = Literal["left", "right"]

KINDS: tuple[str, ...]
class Table:
    """Rows."""
    @property
    def size(self) -> int: ...
    def __init__(self, rows: dict[int, str]) -> None: ...
    def __len__(self) -> int: ...
    @property
    def width(self) -> int:
        """The number of columns."""
def keep(values: ArrowArrayExportable, op: str, key: bytes | None, first: int = ..., *, strict: bool = ...) -> Lane:
    """Return the rows."""
def side(pairs: Sequence[tuple[int, int]], share: float) -> Side: ...
'''


DECLARED = '''cdef class Table:
    """Rows.

    Note: counted at once.
    """

    cdef readonly int64_t size
    cdef int hidden
'''


def test_a_stub_has_the_types_of_c_and_those_of_annotations() -> None:
    assert stub_of(KERNEL, DECLARED) == STUB


def test_a_kernel_has_a_stub_if_python_calls_a_method_of_it() -> None:
    stub = "class Keys:\n    ...\n    def close(self) -> None: ...\n"
    assert stub_of("cdef class Keys:\n    def close(self) -> None:\n        pass\n") == stub
    assert stub_of("cdef class Cursor:\n    def __cinit__(self):\n        pass\n") == ""


@pytest.mark.parametrize(
    ("signature", "fault"),
    [
        ("def keep(object values) -> int:", "the argument values has no type"),
        ("def keep(values) -> int:", "the argument values has no type"),
        ("def keep(int n):", "keep does not say what it returns"),
        ("def keep(Rows rows) -> int:", "nothing says where the type Rows comes from"),
    ],
)
def test_a_signature_without_a_type_ends_the_build(signature: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        stub_of(f"{signature}\n    return 1\n")
