"""Converting folders of Parquet files: schema, partitions, what is refused by name, and what is left out."""

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from tests.dml.tables import info_of
from tests.each import refuses
from tests.looped import looped


def write(path: Path, columns: dict[str, Any], **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, **options)
    return path


def types(table: ds.DeltaTable) -> dict[str, str]:
    fields = json.loads(table.metadata.schema_string or "")["fields"]
    assert all(field["nullable"] for field in fields)
    return {field["name"]: field["type"] for field in fields}


def test_a_folder_becomes_a_table_in_place(tmp_path: Path) -> None:
    for day in (1, 2):
        write(tmp_path / f"t/day=2024-01-0{day}/a.parquet", {"id": [day], "name": ["x"]})
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")}
    table = ds.convert_to_delta(tmp_path / "t", "day DATE")
    assert (table.version, table.partition_columns) == (0, ("day",))
    assert types(table) == {"id": "long", "name": "string", "day": "date"}
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.parquet")} == before
    assert table.scan("id = 2").count() == 1
    assert [os.path.relpath(path, tmp_path / "t") for path in table.scan("day = '2024-01-02'").paths()] == [
        "day=2024-01-02/a.parquet"
    ]
    assert len(pytest.importorskip("deltalake").DeltaTable(str(tmp_path / "t")).to_pyarrow_table()) == 2
    info = info_of(table, 0)
    assert info["operation"] == "CONVERT"
    assert info["operationParameters"] == {
        "numFiles": "2", "partitionedBy": '["day"]', "collectStats": "true", "sourceFormat": "parquet",
    }  # fmt: skip
    assert info["operationMetrics"] == {"numConvertedFiles": "2"}


def test_a_table_is_returned_as_it_is(tmp_path: Path) -> None:
    created = ds.DeltaTable.create(tmp_path / "t", "id BIGINT")
    created.append(pa.table({"id": [1]}))
    write(tmp_path / "t/more.parquet", {"other": [1]})
    table = ds.convert_to_delta(tmp_path / "t", "p INT")
    assert (table.version, table.snapshot.num_files) == (1, 1)
    assert table.metadata.id == created.metadata.id


def test_columns_of_files_are_merged(tmp_path: Path) -> None:
    struct = pa.struct([("x", pa.int8()), ("y", pa.string())])
    wider = pa.struct([("x", pa.int32()), ("z", pa.string())])
    write(tmp_path / "t/1.parquet", {"a": pa.array([1], pa.int8()), "b": ["x"], "s": pa.array([{"x": 1}], struct)})
    write(tmp_path / "t/2.parquet", {"c": [1.5], "a": pa.array([70000], pa.int32()), "s": pa.array([{"x": 2}], wider)})
    write(tmp_path / "t/3.parquet", {"a": pa.array([300], pa.int16()), "l": pa.array([[1]], pa.list_(pa.int16()))})
    table = ds.convert_to_delta(tmp_path / "t")
    found = types(table)
    assert list(found) == ["a", "b", "s", "c", "l"]
    assert found["a"] == "integer"
    assert [(f["name"], f["type"]) for f in found["s"]["fields"]] == [
        ("x", "integer"),
        ("y", "string"),
        ("z", "string"),
    ]
    assert table.scan("a = 70000").count() == 1
    assert table.scan().min("a") == 1


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        (pa.int32(), pa.int64(), "the column v is INT in 1.parquet and BIGINT in 2.parquet"),
        (pa.float32(), pa.float64(), "the column v is FLOAT in 1.parquet and DOUBLE in 2.parquet"),
        (pa.decimal128(9, 2), pa.decimal128(10, 2), r"the column v is DECIMAL\(9,2\) in 1.parquet and DECIMAL\(10,2\)"),
        (pa.string(), pa.binary(), "the column v is STRING in 1.parquet and BINARY in 2.parquet"),
        (pa.list_(pa.int32()), pa.list_(pa.string()), "the column v.element is INT in 1.parquet and STRING in 2.parq"),
        (pa.struct([("a", pa.int32())]), pa.struct([("a", pa.string())]), "the column v.a is INT in 1.parquet and STR"),
    ],
)
def test_conflicting_types_name_both_files(tmp_path: Path, first: pa.DataType, second: pa.DataType, why: str) -> None:
    write(tmp_path / "t/1.parquet", {"v": pa.nulls(1, first)})
    write(tmp_path / "t/2.parquet", {"v": pa.nulls(1, second)})
    refuses(ds.SchemaError, why, ds.convert_to_delta, tmp_path / "t")
    assert not (tmp_path / "t/_delta_log").exists()


def test_names_that_differ_in_letter_case_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "t/1.parquet", {"id": [1]})
    write(tmp_path / "t/2.parquet", {"ID": [1]})
    with pytest.raises(ds.SchemaError, match=r"the column id is spelled id in 1.parquet and ID in 2.parquet"):
        ds.convert_to_delta(tmp_path / "t")


@looped(
    "folder, schema, why",
    [
        ("p=1/q=a", None, r"pass partition_schema='p INT, q STRING'"),
        ("p=1/q=a", "p INT", r"partition_schema has p, and .* are named for p, q: pass partition_schema='p INT, q STR"),
        ("p=1/q=a", "q STRING, p INT", r"pass partition_schema='p INT, q STRING'"),
        ("p=99999999999/q=2024-01-05", None, r"'p BIGINT, q DATE'"),
        ("p=007/q=2024-01-05 12%3A00%3A00", None, r"'p STRING, q TIMESTAMP'"),
        ("p=__HIVE_DEFAULT_PARTITION__/a b=1", None, r"'p STRING, `a b` INT'"),
        ("plain", "p INT", r"partition_schema has p, and the folders above plain/a.parquet are named for none"),
        (
            "p=x",
            "p INT",
            r"The folder p=x of p=x/a.parquet does not name a value of the partition column p .*, which is INT",
        ),
        ("p=1.7", "p INT", r"not exactly a value of type int"),
        ("p=__HIVE_DEFAULT_PARTITION__", "p INT NOT NULL", r"partition column p of .* is NOT NULL"),
    ],
)
def test_rule_19_folders_are_the_partition_columns(tmp_path: Path, folder: str, schema: str | None, why: str) -> None:
    write(tmp_path / "t" / folder / "a.parquet", {"id": [1]})
    refuses(ds.InvalidArgument, why, ds.convert_to_delta, tmp_path / "t", schema)
    assert not (tmp_path / "t/_delta_log").exists()


def test_rule_16_partition_values_are_typed_and_normalized(tmp_path: Path) -> None:
    folder = "P=007/d=2024-1-5/ts=2024-03-10 01%3A30%3A00/s=__HIVE_DEFAULT_PARTITION__"
    write(tmp_path / "t" / folder / "a b.parquet", {"id": [1]})
    table = ds.convert_to_delta(tmp_path / "t", "p INT, d DATE, ts TIMESTAMP, s STRING", time_zone="America/New_York")
    [add] = table.snapshot.adds().to_pylist()
    assert dict(add["partition_values"]) == {
        "p": "7", "d": "2024-01-05", "ts": "2024-03-10T06:30:00.000000Z", "s": None,
    }  # fmt: skip
    # Rule 17: escaped by Hive, then encoded once.
    assert add["path"] == "P=007/d=2024-1-5/ts=2024-03-10%2001%253A30%253A00/s=__HIVE_DEFAULT_PARTITION__/a%20b.parquet"
    assert table.scan("s IS NULL AND p = 7").count() == 1


def test_partition_columns_in_files_keep_their_place_and_take_the_given_type(tmp_path: Path) -> None:
    write(tmp_path / "t/p=1/a.parquet", {"a": [1], "p": pa.array([7], pa.int32()), "b": [2]})
    table = ds.convert_to_delta(tmp_path / "t", "p BIGINT")
    assert types(table) == {"a": "long", "p": "long", "b": "long"}
    assert dict(table.snapshot.adds().to_pylist()[0]["partition_values"]) == {"p": "1"}


def test_hidden_files_and_those_that_a_stream_has_not_committed_are_left_out(tmp_path: Path) -> None:
    for name in ("a", "b", "late"):
        write(tmp_path / f"t/{name}.parquet", {"id": [1]})
    write(tmp_path / "t/_tmp/c.parquet", {"id": ["x"]})
    (tmp_path / "t/_SUCCESS").touch()
    log = tmp_path / "t/_spark_metadata"
    log.mkdir()

    def line(name: str, action: str = "add") -> str:
        return json.dumps({"path": f"file://{tmp_path}/t/{name}.parquet", "size": 1, "action": action})

    (log / "0").write_text("v1\n" + line("gone"))
    (log / "1.compact").write_text("\n".join(["v1", line("a"), line("late")]))
    (log / "2").write_text("\n".join(["v1", line("b"), line("late", "delete")]))
    table = ds.convert_to_delta(tmp_path / "t")
    assert table.snapshot.adds()["path"].to_pylist() == ["a.parquet", "b.parquet"]


@looped(
    "path, schema, properties, error, why",
    [
        ("missing", None, None, ds.DataFileMissing, "There is no folder"),
        ("empty", None, None, ds.DataFileMissing, "contains no data files"),
        ("text", None, None, ds.StorageError, "is not a complete Parquet file"),
        *((name, None, None, ds.SchemaError,
            "in the file a.parquet, v has a type of Parquet that Spark does not read") for name in ("time", "wide")),
        ("names", None, None, ds.InvalidCommit, "has the column 'a b'"),
        ("outer", None, None, ds.InvalidArgument, "is a Delta table, whose files may contain deleted rows"),
        ("good", None, {"delta.columnMapping.mode": "name"}, ds.InvalidArgument, "set it afterwards"),
        ("good", None, {"delta.nonsense": "1"}, ds.DeltaSkipError, "nonsense"),
        ("good", 1, None, ds.InvalidArgumentType, "schema must be"),
        (None, None, None, ds.InvalidArgumentType, "path must be"),
        ("good", "id", None, ds.SchemaError, "id"),
    ],
)  # fmt: skip
def test_folders_and_arguments_that_make_no_table_are_refused(
    tmp_path: Path, path: Any, schema: Any, properties: Any, error: type[ds.DeltaSkipError], why: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").mkdir()
    (tmp_path / "text/a.csv").write_text("a,b\n1,2\n")
    write(tmp_path / "time/a.parquet", {"v": pa.array([1], pa.time64("us"))})
    write(tmp_path / "wide/a.parquet", {"v": pa.array([1], pa.decimal256(39, 0))})
    write(tmp_path / "names/a.parquet", {"a b": [1]})
    write(tmp_path / "good/a.parquet", {"id": [1]})
    ds.DeltaTable.create(tmp_path / "outer/inner", "id BIGINT").append(pa.table({"id": [1]}))
    with pytest.raises(error, match=why):
        ds.convert_to_delta(path if path is None else tmp_path / path, schema, properties=properties)
    if path not in (None, "missing"):
        assert not (tmp_path / path / "_delta_log").exists()


def test_properties_are_those_of_the_new_table(tmp_path: Path) -> None:
    write(tmp_path / "t/a.parquet", {"id": [1, 2]})
    properties = {"delta.enableRowTracking": "true", "delta.appendOnly": "true"}
    table = ds.convert_to_delta(tmp_path / "t", properties=properties)
    assert table.properties["delta.appendOnly"] == "true"
    [add] = table.snapshot.adds().to_pylist()
    assert (add["base_row_id"], add["default_row_commit_version"]) == (0, 0)
    table.append(pa.table({"id": [3]}))
    assert table.scan().count() == 3


def test_a_null_constraint_of_files_is_not_one_of_the_table(tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False)])
    path = tmp_path / "t/a.parquet"
    path.parent.mkdir()
    pq.write_table(pa.table({"id": [1]}, schema=schema), path)
    assert types(ds.convert_to_delta(tmp_path / "t")) == {"id": "long"}


@pytest.mark.parametrize("nested", [False, True])
def test_files_with_nanoseconds_become_columns_of_nanoseconds_if_asked_for(tmp_path: Path, nested: bool) -> None:
    instants = pa.array([1_700_000_000_123_456_789, -1], pa.timestamp("ns", "UTC"))
    local = pa.array([5, None], pa.timestamp("ns"))
    rows = pa.table({"id": [1, 2], "ts": instants, "l": local})
    if nested:
        rows = pa.table({"id": [1, 2], "v": pa.ListArray.from_arrays([0, 1, 2], instants)})
    pq.write_table(rows, tmp_path / "a.parquet")
    with pytest.raises(ds.SchemaError, match=r"(ts|v) has nanoseconds, .*give properties=.*timestampNanos"):
        ds.convert_to_delta(tmp_path)
    assert not (tmp_path / "_delta_log").exists()
    table = ds.convert_to_delta(tmp_path, properties={"delta.feature.timestampNanos": "supported"})
    assert table.scan().to_arrow().equals(rows)
    assert not table.verify(data=True).findings
    if not nested:
        found = table.scan("ts > TIMESTAMP '2023-11-14 22:13:20.123456' AND l IS NOT NULL", time_zone="UTC")
        assert found.to_arrow()["id"].to_pylist() == [1]
