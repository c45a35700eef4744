"""CHECK constraints that are added over existing rows and dropped, and marks of identity columns."""

import re
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.alter import constraints
from deltaskip.errors import InvalidArgument, InvalidCommit, RowViolation, SchemaError, UnsupportedFeature
from tests.alter.test_column_changes import parameters, table_of
from tests.dml.tables import info_of
from tests.each import refuses
from tests.noted import noted


@pytest.fixture
def read_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the data files whose rows were read."""
    rows = constraints.StoredRows  # type: ignore[attr-defined]
    return noted(monkeypatch, rows, "_batches", lambda rows, file, *_: file["uri"][0].as_py())


def test_rule_20_existing_rows_are_checked_and_named(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT, s INT")
    table.append(pa.table({"id": [1, 2], "s": pa.array([1, None], pa.int32())}))
    table.alter(ds.AddConstraint("Pos", "id > 0"))
    assert table.properties == {"delta.constraints.pos": "id > 0"}
    assert (info_of(table)["operation"], parameters(table)) == ("ADD CONSTRAINT", {"name": "Pos", "expr": "id > 0"})
    assert info_of(table)["isBlindAppend"] is False
    assert (table.protocol.min_reader_version, table.protocol.min_writer_version) == (1, 3)
    with pytest.raises(RowViolation, match=r"CHECK constraint neg \(id < 2\) of .*: id=2") as error:
        table.alter(ds.AddConstraint("neg", "id < 2"))
    assert (error.value.rule, error.value.expression, error.value.row) == ("neg", "id < 2", {"id": 2})
    refuses(RowViolation, "s=None", lambda: table.alter(ds.AddConstraint("null_is_a_violation", "s > 0")))
    assert table.version == 2
    refuses(RowViolation, None, table.append, pa.table({"id": [-1]}))


def test_rule_20_files_that_statistics_prove_are_not_read(tmp_path: Path, read_files: list[str]) -> None:
    table = table_of(tmp_path, "id BIGINT, v DOUBLE")
    for start in range(0, 100, 10):
        table.append(pa.table({"id": list(range(start, start + 10)), "v": [float(start)] * 10}))
    table.alter(ds.AddConstraint("all_proved", "id >= 0 AND id < 100"))
    assert read_files == []
    refuses(RowViolation, "id=35", lambda: table.alter(ds.AddConstraint("one_file", "id <> 35")))
    assert len(read_files) == 1
    read_files.clear()
    table.alter(ds.AddConstraint("modulo", "id % 100 = id OR id >= 90"))
    assert len(read_files) == 9


def test_rule_22_names_compare_without_case(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT")
    table.alter(ds.AddConstraint("Pos", "id > 0"))
    refuses(InvalidArgument, "already has a constraint pOS", lambda: table.alter(ds.AddConstraint("pOS", "id > 1")))
    table.alter(ds.DropConstraint("POS"))
    assert parameters(table) == {"name": "POS", "expr": "id > 0", "existed": "true"}
    assert table.properties == {}
    refuses(InvalidArgument, "has no constraint POS", lambda: table.alter(ds.DropConstraint("POS")))


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("nope > 0", "no column nope"),
        ("id + 1", "BIGINT, and must be a condition"),
        ("id >", "not an SQL condition"),
        ("", "not an SQL condition"),
    ],
)
def test_conditions_that_are_none_are_refused(tmp_path: Path, expression: str, why: str) -> None:
    table = table_of(tmp_path, "id BIGINT")
    refuses(SchemaError, re.escape(why), lambda: table.alter(ds.AddConstraint("c", expression)))


@pytest.mark.parametrize("name", ["current_user", "user", "Current_Date"])
def test_a_column_with_the_name_of_a_function_is_a_column(tmp_path: Path, name: str) -> None:
    """Also in files that are added, which are read with the columns of the constraint."""
    table = table_of(tmp_path, f"id BIGINT, {name} STRING")
    table.alter(ds.AddConstraint("c", f"{name} = 'a'"))
    refuses(RowViolation, re.escape(name), table.append, pa.table({"id": [1], name: ["b"]}))
    pq.write_table(pa.table({"id": [1], name: ["b"]}), Path(table.snapshot.root) / "b.parquet")
    refuses(RowViolation, re.escape(name), table.add_files, "b.parquet")
    table.alter(ds.SetProperty("delta.columnMapping.mode", "name"))
    refuses(SchemaError, "drop that", lambda: table.alter(ds.DeleteColumn(name)))


def test_a_constraint_may_use_the_user_where_no_column_has_the_name(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT")
    table.alter(ds.AddConstraint("c", "id > 0 OR user = 'nobody'"))
    table.append(pa.table({"id": [1]}))
    refuses(SchemaError, "no column user", lambda: table.alter(ds.AddConstraint("d", "`user` = 'a'")))


def test_rule_20_rows_are_checked_with_the_changes_before_in_the_same_commit(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT, st STRUCT<a: INT, b: STRING>")
    table.append(pa.table({"id": [1], "st": [{"a": 5, "b": "x"}]}))
    mode = ds.SetProperty("delta.columnMapping.mode", "name")
    with pytest.raises(RowViolation, match="'c': 5"):
        table.alter(mode, ds.RenameColumn("st.a", "c"), ds.AddConstraint("k", "st.c % 5 > 0"))
    with pytest.raises(RowViolation, match="new=None"):
        table.alter(ds.AddColumn("new", "INT"), ds.AddConstraint("k", "new % 2 = 0"))
    table.alter(
        mode,
        ds.RenameColumn("st.a", "c"),
        ds.RenameColumn("id", "key"),
        ds.AddColumn("new", "INT"),
        ds.AddConstraint("k", "st.c % 5 = 0 AND key % 2 = 1 AND new IS NULL"),
    )
    assert table.version == 2


def test_rule_20_deleted_rows_do_not_count(tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    table = table_of(tmp_path, "id BIGINT")
    table.append(pa.table({"id": [1, 2, 3]}))
    deltalake.DeltaTable(table.uri).delete("id = 2")
    table.refresh()
    table.alter(ds.AddConstraint("odd", "id % 2 = 1"))


def test_rule_20_every_type_of_column_is_read(tmp_path: Path) -> None:
    columns = (
        "i INT, f FLOAT, dec DECIMAL(12,2), s STRING, b BOOLEAN, day DATE, ts TIMESTAMP, ntz TIMESTAMP_NTZ, "
        "raw BINARY, st STRUCT<x: STRUCT<y: INT>>, p STRING, q DATE"
    )
    table = table_of(tmp_path, columns, partition_by=["p", "q"])
    row = {
        "i": 7,
        "f": 0.5,
        "dec": Decimal("12.34"),
        "s": "é",
        "b": True,
        "day": date(2024, 2, 29),
        "ts": datetime(2024, 2, 29, 1, tzinfo=UTC),
        "ntz": datetime(2024, 2, 29, 1),
        "raw": b"\x00\xff",
        "st": {"x": {"y": 1}},
        "p": "a b/%",
        "q": date(1969, 12, 31),
    }
    table.append(pa.Table.from_pylist([row]))
    holds = [
        "i % 7 = 0", "f * 2 = 1", "dec % 1 = 0.34", "concat(s, 'x') = 'éx'", "NOT NOT b", "month(day) = 2",
        "hour(ts) = 1", "hour(ntz) = 1", "length(raw) = 2", "st.x.y + 1 = 2", "length(p) = 5", "year(q) = 1969",
        "coalesce(s, 'y') LIKE '_'",
    ]  # fmt: skip
    for i, text in enumerate(holds):
        table.alter(ds.AddConstraint(f"c{i}", text))
        with pytest.raises(RowViolation):
            table.alter(ds.AddConstraint(f"n{i}", f"NOT ({text})"))


def test_rule_20_an_expression_that_only_spark_knows_needs_a_session(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT, a ARRAY<INT>")
    table.alter(ds.AddConstraint("on_an_empty_table", "my_function(id) > 0"), ds.DropConstraint("on_an_empty_table"))
    table.append(pa.table({"id": [1], "a": [[1]]}))
    for text in ("to_csv(struct(cast(id AS STRING))) = 'x'", "xpath_int('<a>1</a>', 'a') = a[0]"):
        with pytest.raises(UnsupportedFeature, match="Spark"):
            table.alter(ds.AddConstraint("c", text))


def test_rule_20_files_written_by_others_are_read(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT, ts TIMESTAMP, missing STRING")
    path = tmp_path / "t" / "odd.parquet"
    moment = datetime(2024, 5, 1, 12, tzinfo=UTC)
    given = pa.table({"ts": pa.array([moment], pa.timestamp("us", "UTC")), "id": pa.array([3], pa.int64())})
    pq.write_table(given, path, use_deprecated_int96_timestamps=True)
    with table.transaction() as txn:
        txn.add(ds.AddFile("odd.parquet", {}, path.stat().st_size, 0, True))
    table.refresh()
    table.alter(ds.AddConstraint("c", "hour(ts) = 12 AND id % 3 = 0 AND missing IS NULL"))
    refuses(RowViolation, None, lambda: table.alter(ds.AddConstraint("d", "hour(ts) <> 12")))


def test_rows_of_the_same_transaction_come_after_the_constraint(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT")
    with pytest.raises(InvalidCommit, match="add the constraint first"), table.transaction() as txn:
        txn.append(pa.table({"id": [-1]}))
        txn.alter(ds.AddConstraint("pos", "id > 0"))
    with pytest.raises(RowViolation), table.transaction() as txn:
        txn.alter(ds.AddConstraint("pos", "id > 0"))
        txn.append(pa.table({"id": [-1]}))
    with table.transaction() as txn:
        txn.alter(ds.AddConstraint("pos", "id > 0"), ds.AddColumn("c", "INT"))
        txn.append(pa.table({"id": [1], "c": pa.array([2], pa.int32())}))
    table.refresh()
    assert (table.version, table.schema.names, table.scan("c = 2").count()) == (1, ("id", "c"), 1)


def test_constraints_go_with_columns_only_when_dropped_before(tmp_path: Path) -> None:
    table = table_of(tmp_path, "id BIGINT, c INT", properties={"delta.columnMapping.mode": "name"})
    table.alter(ds.AddConstraint("k", "c > 0"))
    table.alter(ds.DropConstraint("k"), ds.DeleteColumn("c"))
    assert (table.schema.names, table.properties.get("delta.constraints.k")) == (("id",), None)


@pytest.mark.parametrize(
    ("options", "given", "mark"),
    [
        ("START WITH 0 INCREMENT BY 10", [20, 1003, 500], 1010),
        ("START WITH 0 INCREMENT BY 10", [1000, 10], 1000),
        ("START WITH 5 INCREMENT BY -2", [5, -4, 3], -5),
        ("START WITH 100 INCREMENT BY 1", [7, 3], None),
        ("", [], None),
    ],
)
def test_rule_25_sync_identity_moves_the_mark(tmp_path: Path, options: str, given: list[int], mark: int | None) -> None:
    table = table_of(tmp_path, f"id BIGINT GENERATED BY DEFAULT AS IDENTITY ({options}), v INT")
    if given:
        table.append(pa.table({"id": given, "v": pa.array([1] * len(given), pa.int32())}))
    table.alter(ds.AddColumn("w", "INT"), ds.SyncIdentity("ID"))
    assert table.schema.fields[0].metadata.get("delta.identity.highWaterMark") == mark
    assert table.alter(ds.SyncIdentity("id")).version is None


def test_rule_25_values_without_statistics_are_read(tmp_path: Path, read_files: list[str]) -> None:
    table = table_of(
        tmp_path,
        "id BIGINT GENERATED BY DEFAULT AS IDENTITY, v INT",
        properties={"delta.dataSkippingNumIndexedCols": "0"},
    )
    table.append(pa.table({"id": [41, 7], "v": pa.array([1, 2], pa.int32())}))
    table.alter(ds.SyncIdentity("id"))
    assert len(read_files) == 1
    assert table.schema.fields[0].metadata["delta.identity.highWaterMark"] == 41
    refuses(SchemaError, r"v of .* is not an identity column", lambda: table.alter(ds.SyncIdentity("v")))
