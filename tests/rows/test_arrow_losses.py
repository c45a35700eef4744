"""Values that store assignment changes: one warning for each write, through every door."""

import warnings
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.rows.arrow_conversion import ArrowRows
from deltaskip.rows.plan import plan_rows
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.types.ddl import parse_columns

DDL = "id INT, amount DECIMAL(10,2), st STRUCT<x: BIGINT>, tags ARRAY<TINYINT>, price DOUBLE"


def said(write: Callable[[], object]) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        write()
    assert all(each.category is ds.WriteWarning and each.filename == __file__ for each in found)
    return [str(each.message) for each in found]


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    made = ds.DeltaTable.create(tmp_path / "t", DDL, properties={"delta.enableChangeDataFeed": "true"})
    made.append(pa.table({"id": pa.array([1], pa.int32()), "price": [2.5]}))
    return made


def test_the_first_value_that_loses_is_told_once_with_what_is_stored(table: ds.DeltaTable) -> None:
    for column, values, given, kept, declared in (
        ("id", [2.0, None, 1.7, 3.5], "1.7", "1", "INT"),
        ("id", pa.array([-1.5], pa.float32()), "-1.5", "-1", "INT"),
        ("id", [Decimal("1.00"), Decimal("7.99")], "7.99", "7", "INT"),
        ("id", [Decimal("0.9")], "0.9", "0", "INT"),
        ("amount", pa.array([Decimal("0.005")], pa.decimal128(3, 3)), "0.005", "0.01", "DECIMAL(10,2)"),
        ("amount", [Decimal("1.200"), Decimal("1.239")], "1.239", "1.24", "DECIMAL(10,2)"),
        ("amount", [9.99, 1.239], "1.239", "1.24", "DECIMAL(10,2)"),
        ("amount", [9.99, None, float("nan")], "NaN", "NULL", "DECIMAL(10,2)"),
        ("amount", pa.array([float("-inf")], pa.float32()), "-Infinity", "NULL", "DECIMAL(10,2)"),
        ("st.x", [{"x": 1.0}, None, {"x": 0.5}], "0.5", "0", "BIGINT"),
        ("tags.element", [[], [1.0, -2.5]], "-2.5", "-2", "TINYINT"),
    ):
        rows = pa.table({column.partition(".")[0]: values})
        [text] = said(lambda rows=rows: table.append(rows))
        said_first, _, rest = text.partition(f" of {table.snapshot.root}, which is {declared}, as Spark stores it.")
        assert (said_first, bool(rest)) == (f"The value {given} is stored as {kept} in the column {column}", True)
    many = pa.table({"id": np.r_[np.zeros(300_000), 0.25], "amount": np.r_[np.zeros(300_000), 0.125]})
    [text] = said(lambda: table.append(many))
    assert "are changed, too." in text and {"id", "amount"} <= set(text.replace(".", "").split())


def test_values_that_keep_their_digits_are_not_told(table: ds.DeltaTable) -> None:
    for rows in (
        {"id": [1.0, None]}, {"id": [Decimal("1.00")]}, {"amount": [Decimal("1.2300"), None]},
        {"amount": [9.99, 0.1 + 0.2, None]}, {"amount": pa.array([9.99, 1234.5], pa.float32())},
        {"price": [Decimal("1.239")]}, {"amount": [3]}, {"st": [{"x": 2.0}], "tags": [[1.0]]},
    ):  # fmt: skip
        assert said(lambda rows=rows: table.append(pa.table(rows))) == [], rows


def test_every_door_tells_once(table: ds.DeltaTable) -> None:
    rows = pa.table({"id": [1.0, 5.5], "amount": [Decimal("0.005"), Decimal("0.50")]})

    def merge(**values: Any) -> Any:
        found = table.merge(rows, "target.id = source.id").when_matched_update(values)
        return found.when_not_matched_insert({"id": "source.id", "amount": "source.amount"}).execute()

    doors: list[Callable[[], Any]] = [
        lambda: table.append(rows),
        lambda: table.overwrite(rows),
        lambda: table.overwrite(rows, where="id < 9"),
        lambda: table.update({"id": "1.7"}),
        lambda: table.update({"id": 1.7}),
        lambda: table.update({"amount": Decimal("0.005")}, "id = 1"),
        lambda: merge(amount="source.amount"),
    ]
    for door in doors:
        assert len(said(door)) == 1
    # What an expression computes is rounded as it is in Spark.
    table.overwrite(pa.table({"id": pa.array([1], pa.int32()), "price": [2.5]}))
    assert said(lambda: table.update({"amount": "price / 3", "id": "id * 1.0"})) == []
    new = pa.table({"id": pa.array([1], pa.int32()), "rate": [0.333]})
    builder = table.merge(new, "target.id = source.id").when_matched_update({"amount": "source.rate * 2"})
    assert said(builder.execute) == []


def test_every_source_of_rows_tells_the_same(tmp_path: Path) -> None:
    polars, duckdb, pandas = map(pytest.importorskip, ("polars", "duckdb", "pandas"))
    rows = pa.table({
        "i": [1.0, 1.7], "m": pa.array([Decimal("1.200"), Decimal("1.239")]), "x": [1, 2**53 + 1], "f": [1.0, 1e39],
        "d": [datetime(2020, 1, 2), datetime(2020, 1, 2, 3)], "p": ["x", ""],
    })  # fmt: skip
    sources: dict[str, Callable[[], object]] = {
        "table": lambda: rows,
        "batch": lambda: rows.to_batches()[0],
        "reader": rows.to_reader,
        "generator": lambda: pa.RecordBatchReader.from_batches(rows.schema, (each for each in rows.to_batches())),
        "dataset": lambda: pads.dataset(rows),
        "pandas": rows.to_pandas,
        "pandas of Arrow": lambda: rows.to_pandas(types_mapper=pandas.ArrowDtype),
        "polars": lambda: polars.from_arrow(rows),
        "LazyFrame": lambda: polars.from_arrow(rows).lazy(),
        "duckdb": lambda: duckdb.from_arrow(rows),
        "dicts": rows.to_pylist,
        "lists": rows.to_pydict,
    }
    columns = "i INT, m DECIMAL(5,2), x DOUBLE, f FLOAT, d DATE, p STRING"
    table = ds.DeltaTable.create(tmp_path / "t", columns, partition_by="p")
    found = {name: said(lambda source=source: table.append(source())) for name, source in sources.items()}
    [first] = found["table"]
    assert "The value 1.7 is stored as 1 in the column i" in first and "Values of m, x, f, d, p are changed" in first
    assert found == {name: [first] for name in sources}


def test_numbers_and_times_that_change_are_told_and_exact_ones_are_not(tmp_path: Path) -> None:
    day, clock = datetime(2020, 1, 2), datetime(2020, 1, 2, 23, 59, 59)
    tokyo = timezone(timedelta(hours=9))
    for number, (declared, kept, lost) in enumerate((
        ("FLOAT", [1.0, 0.1, 3e38, float("inf"), float("nan"), None], [1e39]),
        ("FLOAT", [-3e38, float("-inf")], [-1e39]),
        ("FLOAT", [2**24, -(2**24), 2**62, None], [2**24 + 1]),
        ("FLOAT", pa.array([2**30], pa.int32()), pa.array([2**31 - 1], pa.int32())),
        ("DOUBLE", [2**53, 2**53 + 2, -(2**63), 2**62], [None, 2**53 + 1]),
        ("DOUBLE", pa.array([2**31 - 1], pa.int32()), [2**63 - 1]),
        ("DOUBLE", pa.array([2**64 - 2**11, 2**53], pa.uint64()), pa.array([2**64 - 1], pa.uint64())),
        ("FLOAT", pa.array([2**63, 1], pa.uint64()), pa.array([1, 2**63 + 1], pa.uint64())),
        ("FLOAT", [Decimal(2**24), Decimal("99.99"), None], [Decimal(999_999_999)]),
        ("DOUBLE", [Decimal(2**100), Decimal("0.1")], [Decimal(10**37 + 1)]),
        ("DOUBLE", [Decimal("9007199254740994.00"), Decimal("9007199254740993.50")], [Decimal("9007199254740993.00")]),
        ("ARRAY<FLOAT>", [[1.0]], pa.array([[2**64 - 1]], pa.list_(pa.uint64()))),
        ("DATE", [day, datetime(1969, 12, 31), None], [day, clock]),
        ("DATE", pa.array([day], pa.timestamp("us", "UTC")), pa.array([clock], pa.timestamp("us", "UTC"))),
    )):  # fmt: skip
        table = ds.DeltaTable.create(tmp_path / str(number), f"v {declared}")
        assert said(lambda table=table, kept=kept: table.append(pa.table({"v": kept}))) == []
        [text] = said(lambda table=table, lost=lost: table.append(pa.table({"v": lost})))
        column = "v.element" if declared.startswith("ARRAY") else "v"
        kind = declared.removeprefix("ARRAY<").removesuffix(">")
        assert f"in the column {column} of {table.snapshot.root}, which is {kind}, as Spark stores it." in text
    # A midnight of the session's time zone.
    plan = plan_rows(parse_columns("v DATE"), TableProperties({}, "t"), parse_columns("v TIMESTAMP"))
    for hour, told in ((0, 0), (9, 1)):
        at = pa.table({"v": pa.array([datetime(2020, 1, 2, hour, tzinfo=tokyo)] * 2, pa.timestamp("us", "UTC"))})
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            stored = ArrowRows(plan, "Asia/Tokyo").convert(at)
        assert (stored["v"][0].as_py(), len(found)) == (day.date(), told)


def test_an_empty_partition_value_is_told_once_through_every_door(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "p", "id INT, p STRING, q STRING", partition_by=["p"])
    rows = pa.table({"id": pa.array([1, 2], pa.int32()), "p": ["", "x"], "q": ["", ""]})

    def merge() -> Any:
        return table.merge(rows, "target.p = source.p AND target.id < 0").when_not_matched_insert_all().execute()

    for door in (
        lambda: table.append(rows),
        lambda: table.append(rows.to_batches()[0]),
        lambda: table.update({"p": "trim(q)"}, "p = 'x'"),
        lambda: table.update({"p": "''"}),
        lambda: table.overwrite(rows),
        lambda: table.overwrite(rows, partitions="dynamic"),
        merge,
    ):
        [text] = said(door)
        assert "The value '' is stored as NULL in the column p of " in text and "IS NULL" in text
    assert said(lambda: table.append(rows.slice(1))) == []
    assert (table.scan("p = ''").count(), table.scan("q = ''").count() > 0) == (0, True)
    strict = ds.DeltaTable.create(tmp_path / "strict", "id INT, p STRING NOT NULL", partition_by=["p"])
    with pytest.raises(ds.RowViolation, match="NULL or the empty string there, which counts as NULL in a partition"):
        strict.append(rows.drop_columns("q"))


def test_the_command_line_tells(table: ds.DeltaTable, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from deltaskip.cli.commands import main

    pq.write_table(pa.table({"id": [1.7]}), tmp_path / "rows.parquet")
    for command in (["append", table.uri, str(tmp_path / "rows.parquet")], ["update", table.uri, "id=1.7", "--all"]):
        main(command)
        assert capfd.readouterr().err.count("deltaskip: warning: The value 1.7 is stored as 1 in the column id") == 1
