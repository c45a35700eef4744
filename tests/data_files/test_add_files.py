"""Adding files that something else wrote: what is accepted, what is refused by name, and what is read to know."""

import datetime
import json
import os
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
import deltaskip.data_files.file_rules as file_rules
from deltaskip import DeltaTable, convert_to_delta
from deltaskip.features.registry import has_feature
from deltaskip.sparkexpr.types.data_types import BINARY, BOOLEAN, DOUBLE, FLOAT, INTEGER, LONG
from tests.builder import logged
from tests.dml.tables import info_of
from tests.each import refuses
from tests.footers import LOGICAL, STRUCT, Element, change_footer, change_types
from tests.looped import looped
from tests.noted import noted
from tests.sparkexpr.kernels.variant_twin import metadata_of, shredded, variant_type

UTC = datetime.UTC
NOON = datetime.datetime(2024, 1, 1, 12, tzinfo=UTC)
TIMESTAMPS = pa.timestamp("us", "UTC")


def write(path: Path, columns: dict[str, Any] | pa.Table, **options: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(columns), path, **options)
    return path


def adds(table: DeltaTable) -> list[dict[str, Any]]:
    return logged(table.snapshot.root, table.version, kind="add")


def stats_of(table: DeltaTable) -> dict[str, Any]:
    [add] = adds(table)
    found: dict[str, Any] = json.loads(add["stats"])
    return found


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths of files whose rows were read to check rules."""
    return noted(monkeypatch, file_rules, "_batches", lambda snapshot, file, *_: file.add.path)


def test_a_file_in_the_folder_is_logged_by_its_relative_path_and_counted(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, name STRING")
    write(tmp_path / "t/new/a.parquet", {"id": [1, 2], "name": ["x", None]})
    result = table.add_files("new/a.parquet")
    size = os.path.getsize(tmp_path / "t/new/a.parquet")
    assert (result.version, result.operation, table.version) == (1, "ADD FILES", 1)
    assert result.metrics == {"numFiles": 1, "numOutputRows": 2, "numOutputBytes": size}
    [add] = adds(table)
    assert (add["path"], add["size"], add["dataChange"]) == ("new/a.parquet", size, True)
    assert add["modificationTime"] == os.stat(tmp_path / "t/new/a.parquet").st_mtime_ns // 1_000_000
    assert json.loads(add["stats"]) == {
        "numRecords": 2,
        "minValues": {"id": 1, "name": "x"},
        "maxValues": {"id": 2, "name": "x"},
        "nullCount": {"id": 0, "name": 1},
    }
    deltalake = pytest.importorskip("deltalake")
    assert deltalake.DeltaTable(str(tmp_path / "t")).to_pyarrow_table().to_pylist() == [
        {"id": 1, "name": "x"},
        {"id": 2, "name": None},
    ]
    assert info_of(table, 1)["isBlindAppend"] is True


def test_a_file_outside_is_logged_by_its_uri_and_stays_there(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    path = write(tmp_path / "else where/a%b.parquet", {"id": [1]})
    table.add_files([path])
    assert adds(table)[0]["path"] == f"file:{tmp_path}/else%20where/a%25b.parquet"
    assert path.exists()
    assert table.scan("id = 1").paths() == [str(path)]
    assert table.scan("id = 2").paths() == []


@pytest.mark.parametrize("name", ["a b.parquet", "50%.parquet", "a%20b.parquet", "é+#?.parquet", "a:b.parquet"])
def test_rule_17_a_path_is_encoded_once(tmp_path: Path, name: str) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    inside = write(tmp_path / "t/in" / name, {"id": [1]})
    outside = write(tmp_path / "out" / name, {"id": [2]})
    table.add_files(["in/" + name, str(outside)])
    uris = [unquote(uri.removeprefix("file://")) for uri in table.scan().files()["uri"].to_pylist()]
    assert sorted(uris) == sorted([str(inside), str(outside)])
    [again] = DeltaTable(tmp_path / "t").scan("id = 2").files()["uri"].to_pylist()
    assert unquote(again.removeprefix("file://")) == str(outside)


def test_a_folder_stands_for_its_visible_files_at_every_depth(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, _p BIGINT", partition_by=["_p"])
    for name in ("_p=1/x/a.parquet", "_p=2/b.parquet", "_hidden/c.parquet", ".d.parquet", "_p=2/_SUCCESS"):
        write(tmp_path / "t/in" / name, {"id": [1]})
    table.add_files("in")
    assert [(add["path"], add["partitionValues"]) for add in adds(table)] == [
        ("in/_p=1/x/a.parquet", {"_p": "1"}),
        ("in/_p=2/b.parquet", {"_p": "2"}),
    ]


def test_partition_values_come_unescaped_from_folders(tmp_path: Path) -> None:
    schema = "id BIGINT, s STRING, n INT, d DATE, ts TIMESTAMP, m DECIMAL(5,2)"
    table = DeltaTable.create(tmp_path / "t", schema, partition_by=["s", "n", "d", "ts", "m"])
    folder = "S=a%2Fb%25 é/n=007/d=2024-1-5/ts=2024-01-01 01%3A30%3A00/m=1.5"
    write(tmp_path / "t" / folder / "a.parquet", {"id": [1]})
    table.add_files(folder, time_zone="America/New_York")
    [add] = adds(table)
    assert add["partitionValues"] == {
        "s": "a/b% é", "n": "7", "d": "2024-01-05", "ts": "2024-01-01T06:30:00.000000Z", "m": "1.50",
    }  # fmt: skip


def test_rule_15_no_value_and_empty_text_are_null(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p STRING", partition_by=["p"])
    write(tmp_path / "t/p=__HIVE_DEFAULT_PARTITION__/a.parquet", {"id": [1]})
    write(tmp_path / "t/p=/b.parquet", {"id": [1]})
    write(tmp_path / "out/c.parquet", {"id": [1]})
    write(tmp_path / "out/d.parquet", {"id": [1]})
    table.add_files(["p=__HIVE_DEFAULT_PARTITION__", "p="])
    assert [add["partitionValues"] for add in adds(table)] == [{"p": None}, {"p": None}]
    table.add_files(tmp_path / "out/c.parquet", partition_values={"p": None})
    assert adds(table)[0]["partitionValues"] == {"p": None}
    table.add_files(tmp_path / "out/d.parquet", partition_values={"p": ""})
    assert adds(table)[0]["partitionValues"] == {"p": None}


@pytest.mark.parametrize(
    ("kind", "value", "logged"),
    [
        ("DATE", datetime.date(1969, 12, 31), "1969-12-31"),
        ("DATE", "1969-12-31", "1969-12-31"),
        ("INT", 7, "7"),
        ("INT", "7", "7"),
        ("TIMESTAMP", NOON, "2024-01-01T12:00:00.000000Z"),
        ("TIMESTAMP_NTZ", NOON.replace(tzinfo=None), "2024-01-01 12:00:00"),
        ("DECIMAL(5,2)", Decimal("1.5"), "1.50"),
        ("BOOLEAN", True, "true"),
        ("STRING", "a/b", "a/b"),
    ],
)
def test_partition_values_may_be_given(tmp_path: Path, kind: str, value: object, logged: str) -> None:
    table = DeltaTable.create(tmp_path / "t", f"id BIGINT, p {kind}", partition_by=["p"])
    write(tmp_path / "a.parquet", {"id": [1]})
    table.add_files([tmp_path / "a.parquet"], partition_values={"P": value})
    assert adds(table)[0]["partitionValues"] == {"p": logged}


@pytest.mark.parametrize(
    ("folder", "values", "why"),
    [
        ("x", None, "has no value of the partition column p"),
        ("p=abc", None, "The folder p=abc of .* does not name a value of the partition column p .* which is INT"),
        ("p=1.7", None, "not exactly a value of type int"),
        ("p=1", {"p": 2}, "has two values of the partition column p"),
        ("p=1/P=2", None, "has two values of the partition column p"),
        ("p=1", {"q": 2}, "'q' is not a partition column of .*; its partition columns are p"),
        ("x", {"p": "one"}, "is not of its type"),
        ("p=99999999999", None, "beyond the range of int"),
    ],
)
def test_partition_values_that_are_missing_or_wrong_are_named(
    tmp_path: Path, folder: str, values: dict[str, object] | None, why: str
) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p INT", partition_by=["p"])
    path = write(tmp_path / folder / "a.parquet", {"id": [1]})
    refuses(ds.InvalidArgument, why, table.add_files, [path], partition_values=values)
    assert table.version == 0


def test_a_value_of_a_partition_column_that_is_null_obeys_not_null(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p INT NOT NULL", partition_by=["p"])
    path = write(tmp_path / "p=__HIVE_DEFAULT_PARTITION__/a.parquet", {"id": [1]})
    refuses(ds.InvalidArgument, r"p of .* is NOT NULL", table.add_files, [path])


def test_partition_columns_inside_of_files_are_ignored(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p INT", partition_by=["p"])
    write(tmp_path / "t/p=1/a.parquet", {"id": [1], "p": ["not a number"]})
    table.add_files("p=1")
    assert stats_of(table)["nullCount"] == {"id": 0}


def test_columns_that_a_file_lacks_are_null(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, name STRING, st STRUCT<a: INT, b: INT>")
    write(tmp_path / "t/a.parquet", {"id": [1, 2], "st": pa.array([{"a": 1}] * 2, pa.struct([("a", pa.int32())]))})
    table.add_files("a.parquet")
    assert stats_of(table)["nullCount"] == {"id": 0, "name": 2, "st": {"a": 0, "b": 2}}


@looped(
    "columns, why",
    [
        ({"id": [1], "other": [1]}, "it has the column other, which the table lacks; it has id, name, st, l, m"),
        ({"ID": [1]}, "it has the column ID for id, and readers that compare letter case would find no values"),
        ({"id": ["x"]}, "its column id is STRING, and BIGINT in the table"),
        ({"id": [1], "name": [b"x"]}, "its column name is BINARY, and STRING in the table"),
        ({"id": [1.5]}, "its column id is DOUBLE, and BIGINT in the table"),
        ({"id": pa.array([1], pa.uint64())}, "its column id is DECIMAL\\(20,0\\), and BIGINT in the table"),
        ({"id": [1], "st": [1]}, "its column st is BIGINT, and struct<a:int> in the table"),
        ({"id": [1], "st": [{"a": "x"}]}, "its column st.a is STRING, and INT in the table"),
        ({"id": [1], "st": pa.array([{"z": 1}])}, "it has the field st.z, which the table lacks; it has a"),
        ({"id": [1], "l": [["x"]]}, "its column l.element is STRING, and INT in the table"),
        ({"id": [1], "m": [1]}, "its column m is BIGINT, and map<string,int> in the table"),
        ({"id": [1], "name": pa.array([1], pa.time64("us"))}, ".*name has a type of Parquet that Spark does not read"),
        # Spark 4.1 reads the type UNKNOWN of Parquet as INT.
        ({"id": pa.array([None])}, "its column id is INT, and BIGINT in the table"),
        ({"name": ["x"]}, "it lacks the column id, which is NOT NULL"),
    ],
)
def test_columns_that_do_not_fit_are_named(tmp_path: Path, columns: dict[str, Any], why: str) -> None:
    schema = "id BIGINT NOT NULL, name STRING, st STRUCT<a: INT>, l ARRAY<INT>, m MAP<STRING, INT>"
    table = DeltaTable.create(tmp_path / "t", schema)
    path = write(tmp_path / "a.parquet", columns)
    refuses(ds.SchemaError, f"The file file:{path} cannot be added to {tmp_path}/t: {why}", table.add_files, [path])
    assert table.version == 0
    assert path.exists()


def test_a_folder_that_names_a_column_of_data_is_refused(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, p INT")
    path = write(tmp_path / "p=1/a.parquet", {"id": [1]})
    with pytest.raises(ds.SchemaError, match="it lacks the column p, and its folder p=1 gives a value only to a part"):
        table.add_files([path])


def test_types_that_spark_reads_as_the_table_has_them_are_accepted(tmp_path: Path) -> None:
    table = DeltaTable.create(
        tmp_path / "t",
        "i INT, u8 SMALLINT, u16 INT, u32 BIGINT, u64 DECIMAL(20,0), old TIMESTAMP, ms TIMESTAMP, ntz TIMESTAMP_NTZ, "
        "b BINARY, d DECIMAL(9,2)",
    )
    moment = [NOON.replace(tzinfo=None), None]
    columns = {
        "i": pa.array([1, None], pa.int8()),
        "u8": pa.array([255, None], pa.uint8()),
        "u16": pa.array([65535, None], pa.uint16()),
        "u32": pa.array([2**32 - 1, None], pa.uint32()),
        "u64": pa.array([2**64 - 1, None], pa.uint64()),
        "ms": pa.array([NOON, None], pa.timestamp("ms", "UTC")),
        "ntz": pa.array(moment, pa.timestamp("us")),
        "b": [b"x", None],
        "d": pa.array([Decimal("1.50"), None], pa.decimal128(9, 2)),
    }
    write(tmp_path / "t/a.parquet", columns, store_schema=False)
    write(
        tmp_path / "t/b.parquet",
        {"old": pa.array([NOON], TIMESTAMPS)},
        use_deprecated_int96_timestamps=True,
        store_schema=False,
    )
    table.add_files(["a.parquet", "b.parquet"])
    first, second = (json.loads(add["stats"]) for add in adds(table))
    assert first["nullCount"] == {**dict.fromkeys(columns, 1), "old": 2}
    assert first["maxValues"]["u32"] == 2**32 - 1
    assert (first["minValues"]["u8"], first["maxValues"]["u16"]) == (255, 65535)
    assert first["maxValues"]["ms"] == "2024-01-01T12:00:00.000Z"
    assert first["minValues"]["ntz"] == "2024-01-01T12:00:00.000"
    assert second["nullCount"]["old"] == 0


def test_nested_columns_in_old_and_new_layouts_are_accepted(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "l ARRAY<INT>, m MAP<STRING, INT>, st ARRAY<STRUCT<a: INT>>")
    columns = {
        "l": pa.array([[1, None]], pa.list_(pa.int32())),
        "m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32())),
        "st": pa.array([[{"a": 1}]], pa.list_(pa.struct([("a", pa.int32())]))),
    }
    write(tmp_path / "t/a.parquet", columns, use_compliant_nested_type=False)
    write(tmp_path / "t/b.parquet", columns)
    table.add_files(["a.parquet", "b.parquet"])
    assert [json.loads(add["stats"])["nullCount"] for add in adds(table)] == [{"l": 0, "m": 0, "st": 0}] * 2


def test_narrower_types_need_type_widening(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", {"id": pa.array([1], pa.int32()), "x": pa.array([1.5], pa.float32())})
    plain = DeltaTable.create(tmp_path / "plain", "id BIGINT, x DOUBLE")
    with pytest.raises(
        ds.SchemaError, match=r"column id is INT, and BIGINT in the table; set delta.enableTypeWidening"
    ):
        plain.add_files([path])
    wide = DeltaTable.create(tmp_path / "wide", "id BIGINT, x DOUBLE", properties={"delta.enableTypeWidening": "true"})
    wide.add_files([path])
    assert stats_of(wide)["maxValues"] == {"id": 1, "x": 1.5}


def test_instants_and_local_times_are_not_mixed(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "ts TIMESTAMP")
    path = write(tmp_path / "a.parquet", {"ts": pa.array([NOON.replace(tzinfo=None)], pa.timestamp("us"))})
    refuses(ds.SchemaError, "its column ts is TIMESTAMP_NTZ, and TIMESTAMP in the table", table.add_files, [path])


def test_statistics_prove_constraints_so_that_no_row_is_read(tmp_path: Path, read: list[str]) -> None:
    table = DeltaTable.create(
        tmp_path / "t",
        "id BIGINT NOT NULL, ts TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(ts AS DATE)), name STRING",
        partition_by=["day"],
        properties={
            "delta.constraints.pos": "id > 0",
            "delta.constraints.named": "name IS NOT NULL AND day > '2000-1-1'",
        },
    )
    for day in (1, 2):
        times = pa.array([NOON.replace(day=day)] * 2, TIMESTAMPS)
        write(tmp_path / f"t/day=2024-01-0{day}/a.parquet", {"id": [1, 2], "ts": times, "name": ["a", "b"]})
    table.add_files(["day=2024-01-01", "day=2024-01-02"])
    assert len(adds(table)) == 2
    assert read == []


@pytest.mark.long(gate=2)
@pytest.mark.parametrize(
    ("columns", "rule", "why"),
    [
        ({"id": [1, None]}, "NOT NULL of id", "The column id of .* is NOT NULL"),
        ({"id": [1, -5]}, "pos", "CHECK constraint pos \\(id > 0\\) of .*: id=-5"),
        ({"id": [1, 2], "v": ["abc", "abcd"]}, "varchar(3) of v", "is varchar\\(3\\), and a row has a longer string"),
        ({"id": [1, 2], "g": [2, 5]}, "generated column g", "violates a generated column: g <=> "),
        ({"id": [1, 2], "odd": [1, 2]}, "odd", "CHECK constraint odd"),
        ({"id": [1], "st": pa.array([None], pa.struct([("a", pa.int32())]))}, "NOT NULL of st.a", "st.a .* NOT NULL"),
    ],
)
def test_rule_20_a_row_is_shown_with_its_file(tmp_path: Path, columns: dict[str, Any], rule: str, why: str) -> None:
    table = DeltaTable.create(
        tmp_path / "t",
        "id BIGINT NOT NULL, v VARCHAR(3), g BIGINT GENERATED ALWAYS AS (id + 1), odd BIGINT, "
        "st STRUCT<a: INT NOT NULL>",
        properties={"delta.constraints.pos": "id > 0", "delta.constraints.odd": "odd IS NULL OR odd % 2 = 1"},
    )

    def rows(ids: list[int | None]) -> dict[str, Any]:
        structs = pa.array([{"a": 1}] * len(ids), pa.struct([("a", pa.int32())]))
        return {"id": ids, "g": [i + 1 if i else None for i in ids], "st": structs}

    good = write(tmp_path / "good.parquet", rows([1]))
    bad = write(tmp_path / "bad.parquet", {**rows(columns["id"]), **columns})
    with pytest.raises(ds.RowViolation, match=f"The file file:{bad} cannot be added: .*{why}") as raised:
        table.add_files([good, bad])
    assert raised.value.rule == rule
    assert str(raised.value).endswith("Nothing was committed.")
    assert table.version == 0
    assert good.exists()
    assert bad.exists()


def test_rule_23_a_generated_column_that_a_file_lacks_is_null_and_must_be(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, g BIGINT GENERATED ALWAYS AS (id + 1)")
    refuses(ds.RowViolation, "generated column", lambda: table.add_files([write(tmp_path / "a.parquet", {"id": [1]})]))
    table.add_files([write(tmp_path / "b.parquet", {"id": pa.array([None], pa.int64())})])
    assert table.version == 1


def test_a_generated_partition_column_is_compared_with_the_folder(tmp_path: Path, read: list[str]) -> None:
    schema = "ts TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(ts AS DATE))"
    table = DeltaTable.create(tmp_path / "t", schema, partition_by=["day"])
    path = write(tmp_path / "day=2024-01-02/a.parquet", {"ts": pa.array([NOON], TIMESTAMPS)})
    refuses(ds.RowViolation, "day <=> CAST\\(ts AS DATE\\) must hold", table.add_files, [path])
    assert len(read) == 1


def test_only_files_that_statistics_leave_open_are_read(tmp_path: Path, read: list[str]) -> None:
    table = DeltaTable.create(tmp_path / "t", "a BIGINT, b BIGINT", properties={"delta.constraints.lower": "a < b"})
    write(tmp_path / "t/proved.parquet", {"a": [1, 2], "b": [7, 8]})
    write(tmp_path / "t/open.parquet", {"a": [1, 20], "b": [7, 80]})
    table.add_files(["open.parquet", "proved.parquet"])
    assert "open.parquet" in read


def test_an_expression_that_only_spark_evaluates_needs_a_session(tmp_path: Path) -> None:
    table = DeltaTable.create(
        tmp_path / "t", "s STRING", properties={"delta.constraints.c": "to_csv(struct(s)) = 'Miller'"}
    )
    path = write(tmp_path / "a.parquet", {"s": ["Miller"]})
    refuses(ds.UnsupportedFeature, "to_csv", table.add_files, [path])


def test_rule_25_identity_values_in_files_are_accepted_by_default_only_and_move_no_mark(tmp_path: Path) -> None:
    always = DeltaTable.create(tmp_path / "always", "id BIGINT GENERATED ALWAYS AS IDENTITY, x INT")
    path = write(tmp_path / "a.parquet", {"id": [1000], "x": pa.array([1], pa.int32())})
    refuses(ds.SchemaError, "its column id is GENERATED ALWAYS AS IDENTITY", always.add_files, [path])
    given = DeltaTable.create(tmp_path / "given", "id BIGINT GENERATED BY DEFAULT AS IDENTITY, x INT")
    before = given.metadata.schema_string
    given.add_files([path])
    assert given.metadata.schema_string == before
    without = write(tmp_path / "b.parquet", {"x": pa.array([1], pa.int32())})
    refuses(ds.SchemaError, "it lacks the identity column id; append its rows instead", given.add_files, [without])


def test_duplicates_and_active_files_are_refused(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    path = write(tmp_path / "t/in/a.parquet", {"id": [1]})
    for twice in (["in", "in/a.parquet"], ["in/a.parquet", path], ["in/./a.parquet", "in/a.parquet"]):
        refuses(ds.InvalidArgument, "twice", table.add_files, twice)
    table.add_files("in")
    for again in ("in/a.parquet", path, f"file://{path}", "in/../in"):
        refuses(ds.InvalidArgument, r"in/a.parquet is in .* at version 1 already", table.add_files, again)


@looped(
    "paths, error, why",
    [
        ("missing.parquet", ds.DataFileMissing, "There is no file or folder"),
        ("missing/a.parquet", ds.DataFileMissing, "There is no file or folder"),
        ("empty", ds.DataFileMissing, "contains no data files"),
        ("_delta_log/00000000000000000000.json", ds.InvalidArgument, "is part of the log"),
        ("text.parquet", ds.StorageError, "is not a complete Parquet file"),
        ("other", ds.InvalidArgument, "is a Delta table, whose files may contain deleted rows"),
        ("", ds.InvalidArgument, "must be a path or URI, not .*: name a folder or file"),
        ("s3://bucket/a.parquet", ds.InvalidArgument, "could not open it"),
        (None, ds.InvalidArgumentType, "paths must be a path or a list of paths"),
        ([1], ds.InvalidArgumentType, "Each of paths"),
    ],
)
def test_paths_of_no_data_are_refused(tmp_path: Path, paths: Any, error: type[ds.DeltaSkipError], why: str) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    (tmp_path / "t/empty").mkdir()
    (tmp_path / "t/text.parquet").write_text("not Parquet at all")
    DeltaTable.create(tmp_path / "t/other", "id BIGINT").append(pa.table({"id": [1]}))
    refuses(error, why, table.add_files, paths)
    assert DeltaTable(tmp_path / "t").version == 0


def test_rule_39_files_without_rows_are_left_out(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    write(tmp_path / "t/a.parquet", {"id": pa.array([], pa.int64())})
    assert table.add_files("a.parquet").version is None
    write(tmp_path / "t/b.parquet", {"id": [1]})
    table.add_files(["a.parquet", "b.parquet"])
    assert [add["path"] for add in adds(table)] == ["b.parquet"]
    assert table.add_files([]).version is None


def test_rule_71_files_stay_where_they_are_when_the_commit_fails(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    path = write(tmp_path / "t/a.parquet", {"id": [1]})
    (tmp_path / "t/_delta_log").rename(tmp_path / "log")
    (tmp_path / "t/_delta_log").write_text("no folder")
    refuses(ds.DeltaSkipError, None, table.add_files, "a.parquet")
    assert path.exists()


def test_an_application_version_is_added_once(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    write(tmp_path / "t/a.parquet", {"id": [1]})
    assert table.add_files("a.parquet", txn=("app", 3), user_metadata="why").version == 1
    assert table.add_files("a.parquet", txn=("app", 3)).version is None
    assert table.app_versions == {"app": 3}
    assert '"userMetadata":"why"' in (tmp_path / "t/_delta_log/00000000000000000001.json").read_text()


def test_row_tracking_numbers_the_rows_of_added_files(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT", properties={"delta.enableRowTracking": "true"})
    for name, rows in (("a", 3), ("b", 2)):
        write(tmp_path / f"t/{name}.parquet", {"id": list(range(rows))})
    table.add_files(["a.parquet", "b.parquet"])
    assert [(add["baseRowId"], add["defaultRowCommitVersion"]) for add in adds(table)] == [(0, 1), (3, 1)]


def test_rule_18_mapped_columns_are_found_by_physical_name_or_field_id(tmp_path: Path, read: list[str]) -> None:
    def ids(table: DeltaTable) -> dict[str, tuple[str, int]]:
        metadata = {field.name: field.metadata for field in table.schema.fields}
        return {
            name: (str(found["delta.columnMapping.physicalName"]), int(found["delta.columnMapping.id"]))
            for name, found in metadata.items()
        }

    for mode in ("name", "id"):
        table = DeltaTable.create(
            tmp_path / mode,
            "id BIGINT, st STRUCT<a: INT NOT NULL>, p INT",
            partition_by=["p"],
            properties={"delta.columnMapping.mode": mode, "delta.constraints.odd": "id % 2 = 1"},
        )
        known = ids(table)
        plain = write(tmp_path / mode / "p=1/plain.parquet", {"id": [1]})
        with pytest.raises(ds.SchemaError, match="no Parquet field ids" if mode == "id" else "the column id, which"):
            table.add_files([plain])
        nested = table.schema.fields[1].type.fields[0].metadata  # type: ignore[attr-defined]
        inner = pa.field(
            "a" if mode == "id" else nested["delta.columnMapping.physicalName"],
            pa.int32(),
            metadata={"PARQUET:field_id": str(nested["delta.columnMapping.id"])},
        )
        fields = [
            pa.field(name if mode == "id" else known[name][0], kind, metadata={"PARQUET:field_id": str(known[name][1])})
            for name, kind in (("id", pa.int64()), ("st", pa.struct([inner])))
        ]
        rows = pa.Table.from_arrays(
            [pa.array([1, 3]), pa.array([{inner.name: 1}] * 2, pa.struct([inner]))], schema=pa.schema(fields)
        )
        write(tmp_path / mode / "p=1/mapped.parquet", rows)
        table.add_files("p=1/mapped.parquet")
        [add] = adds(table)
        assert add["partitionValues"] == {known["p"][0]: "1"}
        assert json.loads(add["stats"])["maxValues"][known["id"][0]] == 3
    assert read


def test_rule_67_files_contain_the_partition_columns_where_the_table_requires_it(tmp_path: Path) -> None:
    table = DeltaTable.create(
        tmp_path / "t",
        "id BIGINT, p INT",
        partition_by=["p"],
        properties={"delta.feature.materializePartitionColumns": "supported"},
    )
    path = write(tmp_path / "p=1/a.parquet", {"id": [1]})
    with pytest.raises(ds.SchemaError, match="it lacks the partition column p, which files of this table must contain"):
        table.add_files([path])
    table.add_files([write(tmp_path / "p=1/b.parquet", {"id": [1], "p": pa.array([1], pa.int32())})])


def test_files_of_duckdb_and_polars_are_added(tmp_path: Path) -> None:
    duckdb, polars, deltalake = (pytest.importorskip(name) for name in ("duckdb", "polars", "deltalake"))
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, name STRING, x DOUBLE, ts TIMESTAMP, l ARRAY<BIGINT>")
    values = "1::BIGINT AS id, 'a' AS name, 1.5::DOUBLE AS x, TIMESTAMPTZ '2024-01-01 12:00:00+00' AS ts"
    duckdb.sql(f"COPY (SELECT {values}, [1::BIGINT] AS l) TO '{tmp_path}/t/duckdb.parquet' (FORMAT parquet)")
    rows = {"id": [1], "name": ["a"], "x": [float("nan")], "ts": [NOON], "l": [[1]]}
    polars.DataFrame(rows).write_parquet(tmp_path / "t/polars.parquet")
    table.add_files(["duckdb.parquet", "polars.parquet"])
    first, second = (json.loads(add["stats"]) for add in adds(table))
    assert (
        first["minValues"] == first["maxValues"] == {"id": 1, "name": "a", "x": 1.5, "ts": "2024-01-01T12:00:00.000Z"}
    )
    assert second["maxValues"]["x"] == "NaN"
    assert len(deltalake.DeltaTable(str(tmp_path / "t")).to_pyarrow_table()) == 2


def test_a_file_that_another_writer_adds_first_is_refused(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    write(tmp_path / "t/a.parquet", {"id": [1]})
    late = DeltaTable(tmp_path / "t")
    table.add_files("a.parquet")
    refuses(ds.InvalidArgument, "already", late.add_files, "a.parquet")


def test_files_and_rows_are_one_version_of_a_transaction(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT")
    path = write(tmp_path / "t/a.parquet", {"id": [1]})
    with table.transaction() as txn:
        txn.append(pa.table({"id": [2], "name": ["x"]}), schema_mode="merge")
        txn.add_files(write(tmp_path / "b.parquet", {"id": [3], "name": ["y"]}))
    assert txn.version == 1
    assert len(adds(table.refresh())) == 2
    with pytest.raises(ds.InvalidArgument, match=r"twice|already"), table.transaction() as txn:
        txn.add_files("a.parquet")
        txn.add_files(tmp_path / "b.parquet")
    assert path.exists()
    assert table.refresh().version == 1


def test_bytes_of_a_fixed_length_are_binary(tmp_path: Path) -> None:
    rows = {"id": pa.array([1, 2], pa.int64()), "b": pa.array([b"0123", None], pa.binary(4))}
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, b BINARY")
    write(tmp_path / "t/a.parquet", rows, store_schema=False)
    table.add_files("a.parquet")
    write(tmp_path / "c/a.parquet", rows, store_schema=False)
    converted = convert_to_delta(tmp_path / "c")
    for one in (table, converted):
        assert one.schema.fields[1].type == BINARY
        assert one.scan("b = X'30313233'").to_arrow().to_pylist() == [{"id": 1, "b": b"0123"}]
        one.update({"b": "X'00'"}, "id = 2")
        assert sorted(one.scan().to_arrow()["b"].to_pylist()) == [b"\0", b"0123"]


def test_files_with_shredded_variants_are_added_with_their_feature(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "id BIGINT, v VARIANT, st STRUCT<v: VARIANT>")
    assert not has_feature(table.snapshot.protocol, "variantShredding")
    values: list[Any] = [{"a": 1, "b": "x"}, 5, {"b": None}]
    schema = {"a": pa.int64()}
    rows = [{"metadata": metadata_of(["a", "b"]), **shredded(value, schema, ["a", "b"])} for value in values]
    variants = pa.array(rows, variant_type(schema))
    columns = {"id": [1, 2, 3], "v": variants, "st": pa.StructArray.from_arrays([variants], ["v"])}
    write(tmp_path / "t/a.parquet", columns, store_schema=False)
    table.add_files("a.parquet")
    assert has_feature(table.snapshot.protocol, "variantShredding")
    found = table.scan("v:a::INT = 1 AND st.v:b::STRING = 'x'").to_arrow()
    assert found["id"].to_pylist() == [1]
    table.delete("id = 2")
    assert table.scan("v:b IS NOT NULL").to_arrow()["id"].to_pylist() == [1, 3]


@looped("sql, path", {"ARRAY<VARIANT>": "v[0]", "MAP<STRING, STRUCT<x: VARIANT>>": "v['k'].x"}.items())
def test_shredded_variants_in_arrays_and_maps_are_added(tmp_path: Path, sql: str, path: str) -> None:
    schema, values = {"a": pa.int64()}, [{"a": 1, "b": "x"}, {"b": None}, 5, [1]]
    rows = [{"metadata": metadata_of(["a", "b"]), **shredded(value, schema, ["a", "b"])} for value in values]
    variants, ones = pa.array(rows, variant_type(schema)), pa.array(range(5), pa.int32())
    if sql.startswith("ARRAY"):
        nested = pa.ListArray.from_arrays(ones, variants)
    else:
        structs = pa.StructArray.from_arrays([variants], ["x"])
        nested = pa.MapArray.from_arrays(ones, pa.array(["k"] * 4), structs)
    table = DeltaTable.create(tmp_path / "t", f"id BIGINT, v {sql}")
    write(tmp_path / "t/a.parquet", {"id": range(4), "v": nested}, store_schema=False)
    table.add_files("a.parquet")
    for _ in range(2):
        assert table.scan(f"{path}:a::INT = 1", columns=["id"]).to_arrow()["id"].to_pylist() == [0]
        assert table.scan(f"is_variant_null({path}:b)", columns=["id"]).to_arrow()["id"].to_pylist() == [1]
        assert table.scan(f"try_variant_get({path}, '$[0]', 'int') = 1").to_arrow()["id"].to_pylist() == [3]
        table.update({"id": "id"}, "id < 2")


PHYSICAL = (pa.bool_(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.binary(), pa.binary(3))


def test_a_column_of_the_logical_type_unknown_has_the_type_of_its_bytes(tmp_path: Path) -> None:
    """Spark 4.1.4 reads BOOLEAN, INT, BIGINT, FLOAT, DOUBLE, BINARY, BINARY; every value is NULL."""
    unknown: Element = {LOGICAL: (STRUCT, {11: (STRUCT, {})})}
    names = [f"c{number}" for number in range(len(PHYSICAL))]
    columns = {name: pa.nulls(2, kind) for name, kind in zip(names, PHYSICAL, strict=True)}
    path = write(tmp_path / "c/a.parquet", {"id": [1, 2], **columns}, store_schema=False)
    change_footer(path, change_types(dict.fromkeys(names, unknown)))
    table = convert_to_delta(tmp_path / "c")
    assert [field.type for field in table.schema.fields[1:]] == [
        BOOLEAN, INTEGER, LONG, FLOAT, DOUBLE, BINARY, BINARY,
    ]  # fmt: skip
    assert table.scan("c5 IS NULL AND c2 IS NULL").to_arrow().to_pylist()[1] == {"id": 2, **dict.fromkeys(names)}
    table.update({"c2": "7", "c5": "X'00'"}, "id = 2")
    assert table.scan("c2 = 7").to_arrow()["c5"].to_pylist() == [b"\0"]


def test_names_that_are_not_utf8_are_refused_by_name(tmp_path: Path) -> None:
    table = DeltaTable.create(tmp_path / "t", "a BIGINT")
    whole = write(tmp_path / "a.parquet", {"a": [1]})
    for folder in (b"c", b"c/p=\xe9", b"t"):
        name = os.path.join(os.fsencode(tmp_path), folder, b"\xe9.parquet")
        os.makedirs(os.path.dirname(name), exist_ok=True)
        shutil.copy(whole, name)
    for act in (
        lambda: convert_to_delta(tmp_path / "c", "p STRING"),
        lambda: table.add_files(tmp_path / "c"),
        lambda: table.add_files(os.fsdecode(b"\xe9.parquet")),
    ):
        refuses(ds.InvalidArgument, r"\\udce9.* is not UTF-8, as paths in the log of .*: rename it", act)


@pytest.mark.parametrize("names", [["metadata"], ["value", "typed_value"], ["metadata", "value", "other"]])
def test_other_structs_are_no_variants(tmp_path: Path, names: list[str]) -> None:
    table = DeltaTable.create(tmp_path / "t", "v VARIANT")
    struct = pa.StructArray.from_arrays([pa.array([b"\1\0\0"])] * len(names), names)
    write(tmp_path / "t/a.parquet", {"v": struct}, store_schema=False)
    refuses(ds.SchemaError, "v is", table.add_files, "a.parquet")
