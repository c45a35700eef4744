"""Columns of intervals: two names and narrowed ones, integers in files, durations and counts of months in Arrow."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.errors import DeltaSkipError, InvalidCommit, RowViolation, SchemaError, UnsupportedFeature
from deltaskip.sparkexpr import types as t
from tests.each import refuses

DAYS = [f"interval {first}{last}" for first, last in (
    ("day", ""), ("hour", ""), ("minute", ""), ("second", ""), ("day", " to hour"), ("day", " to minute"),
    ("day", " to second"), ("hour", " to minute"), ("hour", " to second"), ("minute", " to second"),
)]  # fmt: skip
MONTHS = ["interval year", "interval month", "interval year to month"]
SCHEMA = (
    "id BIGINT, d INTERVAL DAY TO SECOND, m INTERVAL YEAR TO MONTH, a ARRAY<INTERVAL HOUR>, s STRUCT<x: INTERVAL MONTH>"
)
ROWS = pa.table(
    {
        "id": [1, 2, 3],
        "d": pa.array([90_000_000, None, -5], pa.duration("us")),
        "m": pa.array([18, None, -1], pa.int32()),
        "a": pa.array([[1], [], None], pa.list_(pa.duration("us"))),
        "s": pa.array([{"x": 1}, None, {"x": None}], pa.struct([("x", pa.int32())])),
    }
)


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    table = ds.DeltaTable.create(str(tmp_path / "t"), SCHEMA)
    table.append(ROWS)
    return table


@pytest.mark.parametrize(("names", "type_"), [(DAYS, t.DAY_TIME), (MONTHS, t.YEAR_MONTH)])
def test_every_spelling_is_read_and_the_full_name_is_written(names: list[str], type_: t.DataType) -> None:
    for name in names:
        found = t.parse_type(json.dumps(name))
        assert found == type_
        assert t.type_to_json(found) in ('"interval day to second"', '"interval year to month"')


@pytest.mark.parametrize(
    "name", ["interval month to second", "interval second to day", "interval day to day", "INTERVAL DAY", "interval"]
)
def test_other_spellings_are_no_type(name: str) -> None:
    assert t.parse_type(json.dumps(name)) not in t.COLUMN_INTERVALS


def test_files_have_plain_integers_and_no_bounds(table: ds.DeltaTable) -> None:
    [file] = Path(table.uri.removeprefix("file://")).glob("*.parquet")
    columns = {column.path: column for column in pq.ParquetFile(file).schema}
    assert [columns[name].physical_type for name in ("d", "m", "s.x", "a.list.element")] == [
        "INT64", "INT32", "INT32", "INT64",
    ]  # fmt: skip
    assert {columns[name].logical_type.type for name in ("d", "m")} == {"NONE"}
    stats = json.loads(table.snapshot.commit_adds["stats"][0].as_py())
    assert stats["minValues"] == {"id": 1}
    assert stats["nullCount"] == {"id": 0, "d": 1, "m": 1, "a": 1, "s": {"x": 2}}


def test_rows_come_back(table: ds.DeltaTable) -> None:
    assert table.scan().to_arrow().equals(ROWS)
    assert (
        table.scan(columns=["m", "d"], where="id = 1").to_arrow().to_pylist() == ROWS.select(["m", "d"]).to_pylist()[:1]
    )
    assert table.scan(where="d IS NULL AND m IS NULL").to_arrow()["id"].to_pylist() == [2]


@pytest.mark.parametrize(
    "where", ["d > INTERVAL '1' DAY", "m = INTERVAL '9' YEAR", "d IN (INTERVAL '3' HOUR)", "NOT d = d"]
)
def test_no_file_is_skipped_by_intervals(table: ds.DeltaTable, where: str) -> None:
    assert table.scan(where=where).files().num_rows == 1
    refuses(UnsupportedFeature, "Spark", lambda: table.scan(where=where).to_arrow())


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_durations_of_every_unit_are_stored_exactly_or_refused(table: ds.DeltaTable, unit: str) -> None:
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    table.append(pa.table({"id": [9], "d": pa.array([7 * per_second], pa.duration(unit))}))
    found = table.scan(where="id = 9").to_arrow()["d"]
    assert found.cast(pa.int64()).to_pylist() == [7_000_000]
    if unit == "ns":
        with pytest.raises(RowViolation, match="INTERVAL DAY TO SECOND"):
            table.append(pa.table({"id": [9], "d": pa.array([7], pa.duration(unit))}))


@pytest.mark.parametrize(
    ("column", "values"), [("d", pa.array([1])), ("d", pa.array(["1"])), ("m", pa.array([1.5])), ("m", pa.array([1]))]
)
def test_other_types_are_not_assigned(table: ds.DeltaTable, column: str, values: pa.Array) -> None:
    refuses(SchemaError, "INTERVAL", table.append, pa.table({"id": [1], column: values}))


def test_a_new_column_of_durations_must_be_declared(table: ds.DeltaTable, tmp_path: Path) -> None:
    rows = pa.table({"id": [1], "n": pa.array([1], pa.duration("us"))})
    for creates in (lambda: table.append(rows, schema_mode="merge"), lambda: ds.write(str(tmp_path / "n"), rows)):
        refuses(SchemaError, "declare it as INTERVAL DAY TO SECOND", creates)
    table.alter_sql("ADD COLUMN n INTERVAL SECOND")
    table.append(rows)


def test_types_of_intervals_never_change_and_never_order_a_table(table: ds.DeltaTable, tmp_path: Path) -> None:
    for change in ("ALTER COLUMN d TYPE BIGINT", "ALTER COLUMN id TYPE INTERVAL DAY", "ALTER COLUMN m TYPE STRING"):
        refuses(DeltaSkipError, "type", table.alter_sql, change)
    refuses(SchemaError, "clustered by d", ds.DeltaTable.create, str(tmp_path / "c"), SCHEMA, cluster_by=["d"])
    refuses(InvalidCommit, "partition", ds.DeltaTable.create, str(tmp_path / "p"), SCHEMA, partition_by=["m"])
    iceberg = {"delta.enableIcebergCompatV2": "true", "delta.columnMapping.mode": "name"}
    with pytest.raises(InvalidCommit, match=r"iceberg\.types"):
        ds.DeltaTable.create(str(tmp_path / "i"), "d INTERVAL DAY", properties=iceberg)


def by_interval(root: Path, texts: list[str | None]) -> ds.DeltaTable:
    fields = [("id", "long"), ("p", "interval month")]
    struct = {"type": "struct", "fields": [{"name": n, "type": k, "nullable": True, "metadata": {}} for n, k in fields]}
    metadata = {"id": "1", "format": {"provider": "parquet", "options": {}}, "schemaString": json.dumps(struct)}
    lines: list[dict[str, Any]] = [
        {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}},
        {"metaData": {**metadata, "partitionColumns": ["p"], "configuration": {}}},
    ]
    (root / "_delta_log").mkdir(parents=True)
    for i, text in enumerate(texts):
        pq.write_table(pa.table({"id": [i]}), root / f"{i}.parquet")
        add = {"path": f"{i}.parquet", "partitionValues": {"p": text}, "size": (root / f"{i}.parquet").stat().st_size}
        lines.append({"add": {**add, "modificationTime": 1, "dataChange": True}})
    (root / "_delta_log" / f"{0:020}.json").write_text("\n".join(map(json.dumps, lines)))
    return ds.DeltaTable(str(root))


def test_partitions_by_intervals_are_read_and_never_skipped(tmp_path: Path) -> None:
    table = by_interval(tmp_path, ["INTERVAL '1-6' YEAR TO MONTH", "INTERVAL '-0-1' YEAR TO MONTH", None])
    assert table.scan().to_arrow().sort_by("id").to_pydict() == {"id": [0, 1, 2], "p": [18, -1, None]}
    assert table.scan(where="p > INTERVAL '1' YEAR").files().num_rows == 3
    table.append(pa.table({"id": [3], "p": pa.array([18], pa.int32())}))
    assert table.scan(where="id = 3").to_arrow()["p"].to_pylist() == [18]
    assert "INTERVAL '1-6' YEAR TO MONTH" in (tmp_path / "_delta_log" / f"{1:020}.json").read_text()


@pytest.mark.parametrize("text", ["18", "INTERVAL '1' DAY", "INTERVAL '1-6' MONTH", "INTERVAL '9999999999' MONTH"])
def test_partition_values_that_are_no_intervals_of_the_type_are_refused(tmp_path: Path, text: str) -> None:
    refuses(DeltaSkipError, "interval year to month", lambda: by_interval(tmp_path, [text]).scan().to_arrow())
