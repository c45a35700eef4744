"""Digests against those of Python."""

import hashlib

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deltaskip.sparkexpr.kernels.digests import digests
from tests.each import refuses

DIGESTS = {
    128: hashlib.md5,
    160: hashlib.sha1,
    224: hashlib.sha224,
    256: hashlib.sha256,
    384: hashlib.sha384,
    512: hashlib.sha512,
}
# Around the ends of blocks.
LENGTHS = [0, 1, 55, 56, 57, 63, 64, 65, 111, 112, 113, 119, 120, 127, 128, 129, 183, 239, 240, 255, 256, 1000]


@pytest.mark.parametrize("bits", DIGESTS)
@given(st.lists(st.none() | st.binary(max_size=300), max_size=6), st.integers(0, 9))
@example([bytes(length) for length in LENGTHS], 0)
def test_digests_are_those_of_python(bits: int, values: list[bytes | None], start: int) -> None:
    array = pa.array([None] * start + values, pa.binary())[start:]
    found = digests(array, bits)
    found.validate(full=True)
    wanted = [None if value is None else DIGESTS[bits](value).hexdigest() for value in values]
    assert found.to_pylist() == wanted
    assert digests(array.cast(pa.large_binary()), bits).to_pylist() == wanted
    assert digests(array, bits, instructions=False).to_pylist() == wanted


def test_other_values_are_refused() -> None:
    refuses(ValueError, "bits", digests, pa.array(["a"]), 512 + 1)
    refuses(TypeError, None, digests, pa.array([1]), 256)
