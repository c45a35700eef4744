"""LazyFrames whose files Polars reads itself: their rows are those of DataFrames; other files are not left to it."""

from __future__ import annotations

import math
import random
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from tests.each import each
from tests.extent import seed

pl = pytest.importorskip("polars")
pytest.importorskip("polars.lazyframe.resolver")

NAN, INF = math.nan, math.inf
FAR = datetime(2262, 5, 1, tzinfo=UTC)
# Values by column; the constants of filters are among them.
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "g": (pa.float64(), [0.0, -0.0, 1.0, NAN, INF, -INF, 3.5, -7.25, 5e-324]),
    "f": (pa.float32(), [0.0, -0.0, 1.0, NAN, INF, -INF, 3.5]),
    "k": (pa.int32(), [0, 1, -1, 2**31 - 1, -(2**31)]),
    "y": (pa.int8(), [0, 1, -128, 127]),
    "s": (pa.string(), ["", "a", "A", "ä", "\x00", "z" * 300, "z" * 299 + "y", "\U0010ffff", "\ud7ff", "ab"]),
    "r": (pa.binary(), [b"", b"\x00", b"\x7f", b"\x80", b"\xff" * 70, b"\xff" * 69 + b"\xfe"]),
    "b": (pa.bool_(), [True, False]),
    "d": (pa.date32(), [date(1, 1, 1), date(1582, 10, 14), date(1969, 12, 31), date(2024, 2, 29), date(9999, 12, 31)]),
    "t": (
        pa.timestamp("us", "UTC"),
        [datetime(1, 1, 1, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC), FAR],
    ),
    "n": (pa.timestamp("us"), [datetime(1500, 1, 1), datetime(2024, 1, 1, 0, 0, 0, 1), datetime(9999, 12, 31, 23)]),
    "p": (pa.decimal128(5, 2), [Decimal("-1.50"), Decimal("0.00"), Decimal("999.99"), Decimal("-0.01")]),
    "w": (pa.decimal128(38, 3), [Decimal("-12345678901234567890.125"), Decimal("0.001"), Decimal("9.000")]),
}  # fmt: skip


def rows_of(chance: random.Random, count: int) -> pa.Table:
    """Rows that have few values, and NULL, so that bounds of a file are often equal to a constant, or missing."""
    columns = {}
    for name, (kind, values) in VALUES.items():
        few = chance.sample([*values, None], chance.randint(1, 3))
        columns[name] = pa.array([chance.choice(few) for _ in range(count)], kind)
    return pa.table({"id": pa.array(range(count), pa.int64()), **columns})


def filters_of(name: str, value: Any) -> list[Any]:
    c, v = pl.col(name), pl.lit(value, VALUES_SCHEMA[name])
    found = [c == v, c != v, c < v, c <= v, c > v, c >= v, c.is_in([value]), ~c.is_in([value, None]), c.eq_missing(v)]
    found += [~(c <= v), ~(c > v), (c > v) | c.is_null(), c.is_between(v, v), c.is_in([value, None], nulls_equal=True)]
    return [*found, c.ne_missing(v), c.is_null(), ~c.is_null() & (c >= v)]


VALUES_SCHEMA = dict(
    pl.from_arrow(pa.schema([(name, kind) for name, (kind, _) in VALUES.items()]).empty_table()).schema
)


def expressions_of(name: str) -> list[Any]:
    """Filters of expressions, whose values wrap around beside a bound: Polars would skip row groups by such bounds."""
    c, type_ = pl.col(name), VALUES_SCHEMA[name]
    if type_.is_integer():
        wrapped = c + 1 > 0
        plain = [
            wrapped,
            c - 1 < 0,
            c * 2 >= 0,
            -c > 0,
            c.abs() > 0,
            c % 2 == 1,
            c // 2 >= 0,
            c.cast(pl.Int8, strict=False) > 0,
        ]
        return [*plain, c.cast(pl.Float64) + 1 > 0, (c == 0) & wrapped, wrapped | c.is_null(), ~(c + 1 <= 0)]
    if type_.is_float():
        plain = [c + 1 > 0, 1 / c > 0, -c > 0, c.round(0) == 0, c.is_finite()]
        return [*plain, c.fill_nan(1.5) > 1, c.is_nan() | (c * 2 > 1)]
    if type_ == pl.String:
        text = c.str
        plain = [text.to_uppercase() == "A", c + "b" == "ab", text.len_bytes() > 1]
        return [*plain, text.slice(0, 1) == "z", text.ends_with("b")]
    return []


def read_by_polars(frame: Any) -> bool:
    """Whether Polars reads the files itself."""
    return "Parquet SCAN" in frame.explain()


def test_filters_have_the_rows_that_they_have_of_a_frame_in_memory(tmp_path: Path) -> None:
    chance = random.Random(seed())
    table = ds.DeltaTable.create(tmp_path / "t", rows_of(chance, 0).schema)
    for _ in range(9):
        table.append(rows_of(chance, chance.choice([1, 2, 40])))
    lazy, eager = table.scan().to_polars(lazy=True), table.scan().to_polars()
    assert read_by_polars(lazy)
    assert lazy.collect().equals(eager)
    for name, (_, values) in VALUES.items():
        for value in values:
            for each_filter in [*filters_of(name, value), *(expressions_of(name) if value == values[0] else ())]:
                assert lazy.filter(each_filter).collect().equals(eager.filter(each_filter)), each_filter
        for descending in (True, False):
            orders = [f.sort(name, descending=descending, nulls_last=True).head(5).select(name) for f in (lazy, eager)]
            assert str(orders[0].collect().rows()) == str(orders[1].rows()), name
    for number, kept in ((0, 0), (3, 3), (10**6, eager.height)):
        assert lazy.head(number).collect().equals(eager.head(number))
        assert lazy.slice(number).collect().equals(eager.slice(number))
        assert lazy.slice(number, 2**32 - 1).collect().equals(eager.slice(number))
        assert lazy.with_row_index().filter(pl.col("index") < number).collect().height == kept
        assert lazy.head(number).filter(pl.col("b")).collect().equals(eager.head(number).filter(pl.col("b")))
    assert lazy.filter(pl.col("k") == 7).collect().height == 0
    assert lazy.select(pl.len()).collect().item() == eager.height
    dates = pl.col("t").dt.date() == date(2262, 5, 1), pl.col("d").dt.year() > 2000
    for each_filter in dates:
        assert lazy.filter(each_filter).select("id").collect().equals(eager.filter(each_filter).select("id"))


def test_files_are_chosen_by_the_filter_of_each_query(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, ts TIMESTAMP")
    for day in range(1, 6):
        table.append(
            pa.table({"id": [day, day + 10], "ts": [datetime(2024, 1, day, hour, tzinfo=UTC) for hour in (0, 12)]})
        )
    scan = table.scan()
    lazy, c = scan.to_polars(lazy=True), pl.col
    queries = {
        "id": (lazy.filter(c("id") == 1), 1, 1),
        "date": (lazy.filter(c("ts").dt.date() == date(2024, 1, 4)), 1, 2),
        "later": (lazy.select("ts").filter(c("ts") > datetime(2024, 1, 4, tzinfo=UTC)), 2, 3),
        "none": (lazy.filter(c("id") > 100), 0, 0),
        "all": (lazy, 5, 10),
    }
    for name, (query, files, rows) in queries.items():
        assert query.collect().height == rows, name
        assert scan.metrics is not None
        assert (scan.metrics.files, scan.metrics.files_skipped) == (files, 5 - files), name


def _with_file(path: Path, table: pa.Table, **options: Any) -> ds.DeltaTable:
    """A table with one file that pyarrow writes."""
    made = ds.DeltaTable.create(path, table.schema)
    pq.write_table(table, path / "a.parquet", **options)
    made.add_files([str(path / "a.parquet")])
    return made


ROWS = pa.table({"id": [1, 2, 3], "ts": pa.array([datetime(2024, 1, 1)] * 3, pa.timestamp("us", "UTC"))})


def _without_column(path: Path) -> ds.DeltaTable:
    made = _with_file(path, ROWS)
    made.append(ROWS.append_column("later", pa.array([1, 2, 3])), schema_mode="merge")
    return made


def _deleted(path: Path) -> ds.DeltaTable:
    made = ds.DeltaTable.create(path, "id BIGINT", properties={"delta.enableDeletionVectors": "true"})
    made.append(pa.table({"id": [1, 2, 3]}))
    made.delete("id = 2")
    return made


def _appended(path: Path, schema: str, rows: pa.Table, *given: Any, **options: Any) -> ds.DeltaTable:
    made = ds.DeltaTable.create(path, schema, *given, **options)
    made.append(rows)
    return made


LEFT_TO_DELTASKIP = {
    "INT96": lambda path: _with_file(path, ROWS, use_deprecated_int96_timestamps=True),
    "milliseconds": lambda path: _with_file(path, ROWS, coerce_timestamps="ms"),
    "dictionary": lambda path: _with_file(path, pa.table({"id": pa.array(["a"]).dictionary_encode()})),
    "row groups": lambda path: _with_file(path, ROWS, row_group_size=1),
    "Julian": lambda path: _with_file(
        path,
        ROWS.replace_schema_metadata({"org.apache.spark.version": "3.5.0", "org.apache.spark.legacyDateTime": ""}),
    ),
    "missing column": _without_column,
    "deletion vector": _deleted,
    "CHAR": lambda path: _appended(path, "id CHAR(4)", pa.table({"id": ["a"]})),
    "mapping": lambda path: _appended(
        path, "id BIGINT", pa.table({"id": [1]}), properties={"delta.columnMapping.mode": "name"}
    ),
    "partition column": lambda path: _appended(path, "id BIGINT, p STRING", pa.table({"id": [1], "p": ["a"]}), ["p"]),
    "struct": lambda path: _appended(path, "id BIGINT, s STRUCT<a: INT>", pa.table({"id": [1], "s": [{"a": 1}]})),
    "nanoseconds": lambda path: _appended(
        path, "id BIGINT, t TIMESTAMP_NANOS", pa.table({"id": [1], "t": pa.array([1], pa.timestamp("ns", "UTC"))})
    ),
}


def test_files_that_polars_reads_otherwise_or_not_at_all_are_left_to_deltaskip(tmp_path: Path) -> None:
    def left(kind: str) -> None:
        table = LEFT_TO_DELTASKIP[kind](tmp_path / kind)
        lazy = table.scan().to_polars(lazy=True)
        assert not read_by_polars(lazy)
        assert lazy.collect().equals(table.scan().to_polars())

    each(LEFT_TO_DELTASKIP, left)


def test_scans_of_some_rows_are_left_to_deltaskip_and_some_columns_are_not(tmp_path: Path) -> None:
    table = _appended(tmp_path / "t", "id BIGINT, s STRUCT<a: INT>", pa.table({"id": [1, 2], "s": [{"a": 1}, None]}))
    assert read_by_polars(ds.scan_polars(table, columns=["id"]))
    for scan in (table.scan("id = 1", ["id"]), table.scan(columns=["id"], limit=1), table.scan(columns=["s.a"])):
        lazy = scan.to_polars(lazy=True)
        assert not read_by_polars(lazy)
        assert lazy.collect().equals(scan.to_polars())
