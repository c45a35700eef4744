"""Arrow arrays made and read without pyarrow's own conversions."""

import math
import subprocess
import sys
from decimal import Decimal
from importlib.util import find_spec
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.sparkexpr.values.arrow_values import (
    arrow_array,
    arrow_scalar,
    no_rows,
    numpy_values,
    one_chunk,
    tuple_codes,
)
from tests.each import refuses

_LONGS = st.integers(-(1 << 63), (1 << 63) - 1)
_LISTS = st.one_of(
    st.tuples(st.just(pa.int64()), st.lists(st.none() | _LONGS)),
    st.tuples(st.just(pa.int32()), st.lists(st.none() | st.integers(-(1 << 31), (1 << 31) - 1))),
    st.tuples(st.just(pa.uint8()), st.lists(st.none() | st.integers(0, 255))),
    st.tuples(st.just(pa.float64()), st.lists(st.none() | st.floats(allow_nan=False))),
    st.tuples(st.just(pa.bool_()), st.lists(st.none() | st.booleans())),
    st.tuples(st.just(pa.string()), st.lists(st.none() | st.text())),
    st.tuples(st.just(pa.large_string()), st.lists(st.none() | st.text())),
    st.tuples(st.just(pa.binary()), st.lists(st.none() | st.binary())),
    st.tuples(st.just(pa.large_binary()), st.lists(st.none() | st.binary())),
    st.tuples(
        st.just(pa.decimal128(20, 3)),
        st.lists(st.none() | st.decimals(1 - 10**17, 10**17 - 1, allow_nan=False, allow_infinity=False, places=3)),
    ),
)


@given(_LISTS)
def test_lists_become_what_pyarrow_makes_of_them(made: tuple[pa.DataType, list[object]]) -> None:
    type_, values = made
    array = arrow_array(values, type_)
    array.validate(full=True)
    assert array.equals(pa.array(values, type_))
    assert [arrow_scalar(value, type_).as_py() for value in values] == values


@pytest.mark.parametrize("type_", [pa.date32(), pa.timestamp("us"), pa.list_(pa.int64()), pa.decimal128(38, 0)])
def test_a_null_of_any_type(type_: pa.DataType) -> None:
    assert arrow_scalar(None, type_).equals(pa.scalar(None, type_))


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint64, np.float32, np.float64, np.bool_])
def test_numpy_arrays_there_and_back(dtype: type[np.generic]) -> None:
    values = np.array([0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0], dtype)
    array = arrow_array(values)
    assert array.equals(pa.array(values))
    assert arrow_array(values[::2]).equals(pa.array(values[::2]))
    for piece in (array, array.slice(3, 5), array.slice(11), pa.chunked_array([array.slice(1), array.slice(0, 2)])):
        assert numpy_values(piece).tolist() == piece.to_pylist()
        assert numpy_values(piece).dtype == dtype


def test_nulls_and_what_does_not_fit_are_refused() -> None:
    refuses(ValueError, "1 of 2 values are null", numpy_values, pa.array([1, None]))
    refuses(OverflowError, None, arrow_array, [300], pa.int8())
    refuses(OverflowError, "more than the 3 digits", arrow_array, [Decimal(1234)], pa.decimal128(3, 0))


def test_an_empty_table_has_the_schema() -> None:
    schema = pa.schema([pa.field("a", pa.int64()), pa.field("b", pa.struct([pa.field("c", pa.string())]))])
    assert no_rows(schema).schema == schema
    assert no_rows(schema).num_rows == 0


_PLAN = """
import json, sys, tempfile
from pathlib import Path
import deltaskip
root = Path(tempfile.mkdtemp())
(root / "_delta_log").mkdir()
types = {"id": "long", "d": "date", "t": "timestamp", "x": "double", "s": "string", "n": "decimal(20,2)", "p": "date"}
fields = [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in types.items()]
metadata = {"id": "x", "format": {"provider": "parquet", "options": {}}, "configuration": {}, "partitionColumns": ["p"],
            "schemaString": json.dumps({"type": "struct", "fields": fields})}
bounds = {"id": 1, "d": "2024-01-01", "t": "2024-01-01T00:00:00.000Z", "x": 1.5, "s": "a", "n": 12345678901234567.25}
stats = {"numRecords": 2, "minValues": bounds, "maxValues": bounds, "nullCount": dict.fromkeys(bounds, 0)}
files = [{"add": {"path": f"p=2024-01-0{i}/f{i}", "partitionValues": {"p": f"2024-01-0{i}"}, "size": 1,
                  "modificationTime": 1, "dataChange": True, "stats": json.dumps(stats)}} for i in range(1, 4)]
removed = {"remove": {"path": files[0]["add"]["path"], "deletionTimestamp": 1, "dataChange": True}}
lines = [[{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}, *files], [removed]]
for version, actions in enumerate(lines):
    text = "".join(json.dumps(action) + chr(10) for action in actions)
    (root / "_delta_log" / f"{version:020}.json").write_text(text)
table = deltaskip.DeltaTable(str(root))
for where in (None, "id = 1", "d < '2024-02-01' AND t >= '2023-01-01'", "x > 1 OR s LIKE 'a%'", "n = 12.25",
              "id IN (1, 5, 9)", "p = '2024-01-02'", "year(t) = 2024 AND month(d) = 1",
              "NOT (s = 'a')", "id IS NULL", "id % 2 = 1"):
    scan = table.scan(where)
    assert scan.files().num_rows == len(scan.paths())
    scan.estimated_rows()
assert table.scan().count() == 4
compacted = [{key: each[key] for key in each} for each in (*lines[0][:2], *files[1:], removed)]
name = f"{0:020}.{1:020}.compacted.json"
(root / "_delta_log" / name).write_text("".join(json.dumps(action) + chr(10) for action in compacted))
for version in range(2):
    (root / "_delta_log" / f"{version:020}.json").unlink()
(root / "_delta_log" / f"{2:020}.json").write_text(json.dumps({"commitInfo": {}}))
assert deltaskip.DeltaTable(str(root)).scan().count() == 4
print("pandas" in sys.modules)
"""


@pytest.mark.skipif(find_spec("pandas") is None, reason="pandas is not installed, so nothing can load it")
def test_planning_does_not_load_pandas() -> None:
    done = subprocess.run([sys.executable, "-c", _PLAN], capture_output=True, text=True, check=False)
    assert done.stdout == "False\n", done.stderr


@pytest.mark.parametrize("chunks", [[], [[1, None, 3]], [[1], [], [None, 3]]])
def test_a_column_of_any_number_of_chunks_becomes_one_array(chunks: list[list[int | None]]) -> None:
    column = pa.chunked_array(chunks, pa.int64())
    made = one_chunk(column)
    assert isinstance(made, pa.Int64Array)
    assert made.to_pylist() == column.to_pylist()
    assert one_chunk(made) is made


_CELLS = [st.none() | st.integers(0, 3), st.none() | st.sampled_from(["", "a", "b"]), st.sampled_from([0.5, math.nan])]


@given(st.integers(0, 3).flatmap(lambda width: st.lists(st.tuples(*_CELLS[:width]))), st.booleans())
def test_tuples_are_numbered_in_the_order_of_first_rows(rows: list[tuple[Any, ...]], chunked: bool) -> None:
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    if chunked:
        columns = [pa.chunked_array([column.slice(0, 2), column.slice(2)]) for column in columns]
    numbers = dict[str, int]()
    expected = [numbers.setdefault(repr(row), len(numbers)) for row in rows]
    found = tuple_codes(columns, len(rows))
    assert found.dtype == np.int64
    assert found.tolist() == expected
