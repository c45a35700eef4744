"""When statistics are written as tight, and which bounds count as tight."""

import pyarrow as pa
import pytest

from deltaskip.actions import Protocol
from deltaskip.stats.tight_bounds import are_tight, is_wide, writes_tight_bounds

ENABLED = {"delta.enableDeletionVectors": "true"}
SUPPORTED = Protocol(3, 7, ("deletionVectors",), ("deletionVectors",))


@pytest.mark.parametrize(
    ("protocol", "properties", "has_vectors", "expected"),
    [
        (SUPPORTED, {}, False, True),
        (Protocol(3, 7, (), ("deletionVectors",)), {}, False, True),
        (Protocol(3, 7, (), ()), ENABLED, True, False),
        (Protocol(1, 2), ENABLED, False, False),
        (None, {}, False, False),
        (None, ENABLED, False, True),
        (None, {}, True, True),
    ],
)
def test_tight_bounds_are_written_if_the_table_supports_deletion_vectors(
    protocol: Protocol | None, properties: dict[str, str], has_vectors: bool, expected: bool
) -> None:
    assert writes_tight_bounds(protocol, properties, has_vectors) is expected


def test_bounds_are_wide_only_if_declared() -> None:
    assert is_wide({"tightBounds": False})
    assert not is_wide({"tightBounds": True}) and not is_wide({}) and not is_wide({"tightBounds": None})


def test_unrecorded_bounds_are_tight_without_a_deletion_vector() -> None:
    recorded = pa.array([True, False, None, True, False, None])
    vectors = pa.array([None] * 3 + [{"v": 1}] * 3, pa.struct([("v", pa.int64())]))
    assert are_tight(recorded, vectors).to_pylist() == [True, False, True, True, False, False]
