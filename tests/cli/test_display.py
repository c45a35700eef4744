"""Values as JSON and text can hold them."""

import io
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from deltaskip.cli import display
from deltaskip.shown import human_bytes
from tests.looped import looped


@looped(
    "array, expected",
    [
        (pa.array([0, None], pa.date32()), ["1970-01-01", None]),
        (pa.array([2932897], pa.date32()), ["10000-01-01"]),
        (pa.array([1], pa.timestamp("us", "UTC")), ["1970-01-01T00:00:00.000001Z"]),
        (pa.array([1], pa.timestamp("us")), ["1970-01-01T00:00:00.000001"]),
        (pa.array([Decimal("1.50")]), ["1.50"]),
        (pa.array([b"\x00\xff"]), ["AP8="]),
        (pa.array([float("nan"), float("-inf"), 0.5]), ["NaN", "-Infinity", 0.5]),
        (pa.array([True, None]), [True, None]),
        (pa.array([{"d": 0}, None], pa.struct([("d", pa.date32())])), [{"d": "1970-01-01"}, None]),
        (pa.array([{}, {}], pa.struct([])), [{}, {}]),
    ],
)
def test_every_value_of_a_partition_has_a_json_form(array: pa.Array, expected: list[Any]) -> None:
    values = list(display.json_values(array))
    assert values == expected
    assert json.loads(json.dumps(values, allow_nan=False)) == expected


def test_a_long_listing_is_one_json_document() -> None:
    n = 10_000
    files = pa.table(
        {
            "path": [f"{i}.parquet" for i in range(n)],
            "uri": [f"file:///t/{i}.parquet" for i in range(n)],
            "size": pa.array(range(n), pa.int64()),
            "num_records": pa.nulls(n, pa.int64()),
            "partition_values": pa.array([{}] * n, pa.struct([])),
        }
    )
    out = io.StringIO()
    head = {"version": 3, "total_files": n + 1, "kept_files": n}
    display.write_files_json(out, head, files, ("path", "size"))
    document = json.loads(out.getvalue())
    assert (document["version"], document["total_files"], document["kept_files"]) == (3, n + 1, n)
    assert [file["size"] for file in document["files"]] == list(range(n))


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536 * 1024, "1.5 MiB"), (2**50, "1.0 PiB")]
)
def test_sizes_have_binary_units(size: int, text: str) -> None:
    assert human_bytes(size) == text
