"""Updating rows without Spark: what is set, what follows from it, what is refused; Delta's parameters and metrics."""

from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip import DeltaTable
from deltaskip.table.table_transaction import TableTransaction
from tests.dml.tables import DDL, actions_of, files_below, ids_of, info_of, row_ids_of, rows, rows_of
from tests.each import refuses

VECTORS: dict[str, Any] = {"delta.enableDeletionVectors": "true"}
FEED: dict[str, Any] = {"delta.enableChangeDataFeed": "true"}
IDS: dict[str, Any] = {"delta.enableRowTracking": "true"}


def made(folder: Path, partition_by: tuple[str, ...] = (), ddl: str = DDL, **properties: str) -> DeltaTable:
    table = DeltaTable.create(folder / "t", ddl, partition_by, properties=properties)
    if ddl == DDL:
        table.append(rows(range(12)))
    return table


def test_with_deletion_vectors_only_updated_rows_are_written(tmp_path: Path) -> None:
    table = made(tmp_path, **VECTORS)
    [old] = actions_of(table)["add"]
    metrics = table.update({"x": "0"}, "id IN (3, 5)").metrics
    assert (metrics["numCopiedRows"], metrics["numAddedFiles"], metrics["numDeletionVectorsAdded"]) == (0, 1, 1)
    again, new = sorted(actions_of(table)["add"], key=lambda add: add["path"] != old["path"])
    assert (again["path"], again["deletionVector"]["cardinality"]) == (old["path"], 2)
    assert pq.ParquetFile(tmp_path / "t" / new["path"]).metadata.num_rows == 2
    metrics = table.update({"x": "1"}, "id IN (4, 3)").metrics
    assert {name: metrics[name] for name in metrics if "Vectors" in name} == {
        "numDeletionVectorsAdded": 2, "numDeletionVectorsUpdated": 1, "numDeletionVectorsRemoved": 1,
    }  # fmt: skip
    assert [row["x"] for row in rows_of(table)][3:6] == [1, 1, 0]


def test_files_that_certainly_match_are_updated_without_their_condition(tmp_path: Path) -> None:
    table = made(tmp_path, ("p",), **VECTORS)
    result = table.update({"x": "-1"}, "p = 'a'")
    assert (result.metrics["numRemovedFiles"], result.metrics["numDeletionVectorsAdded"]) == (1, 0)
    assert {row["x"] for row in rows_of(table) if row["p"] == "a"} == {-1}
    assert info_of(table)["operationParameters"] == {"predicate": "[\"p = 'a'\"]"}
    assert table.update({"x": "5"}).metrics["numUpdatedRows"] == 12
    assert info_of(table)["operationParameters"] == {"predicate": "[]"}


def test_constants_expressions_and_parameters_are_values(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.update({"x": 5, "p": ds.lit("it's"), "st.a": ds.col("x") + 1}, ds.col("id") == 3)
    assert rows_of(table)[3] == {"id": 3, "p": "it's", "x": 5, "st": {"a": 4, "tags": ["3"]}}
    table.update({"x": ":new + 1", "p": None}, "id = :id", params={"new": 10, "id": 3})
    assert rows_of(table)[3]["x"] == 11
    table.update({"x": "1"}, "id = ?", params=[3])
    assert (rows_of(table)[3]["x"], rows_of(table)[3]["p"]) == (1, None)
    refuses(ds.InvalidArgument, ":other", table.update, {"x": ":new"}, "id = 3", params={"new": 1, "other": 2})
    refuses(ds.PredicateError, ":new", table.update, {"x": ":new"}, "id = :id", params={"id": 1})


def test_rule_46_other_fields_of_a_struct_stay_and_a_null_struct_gets_one_field(tmp_path: Path) -> None:
    ddl = "id BIGINT, st STRUCT<a: INT, in: STRUCT<b: INT, c: STRING>>"
    table = made(tmp_path, ddl=ddl)
    inner = {"b": 1, "c": "x"}
    table.append(pa.table({"id": [1, 2, 3], "st": [{"a": 1, "in": inner}, {"a": 2, "in": None}, None]}))
    table.update({"ST.in.B": "id * 10"})
    assert [row["st"] for row in rows_of(table)] == [
        {"a": 1, "in": {"b": 10, "c": "x"}},
        {"a": 2, "in": {"b": 20, "c": None}},
        {"a": None, "in": {"b": 30, "c": None}},
    ]
    table.update({"st.a": "7", "st.in.c": "'z'"}, "id = 1")
    assert rows_of(table)[0]["st"] == {"a": 7, "in": {"b": 10, "c": "z"}}
    table.update({"st": "NULL"}, "id = 2")
    assert rows_of(table)[1]["st"] is None


def test_rule_28_default_is_the_default_of_the_column(tmp_path: Path) -> None:
    features = {"delta.feature.allowColumnDefaults": "supported"}
    table = made(tmp_path, ddl="id BIGINT, a INT DEFAULT 40 + 2, b STRING, c INT NOT NULL", **features)
    table.append(pa.table({"id": [1, 2], "a": [1, 1], "b": ["x", "y"], "c": [1, 1]}))
    table.update({"a": "default", "b": " DEFAULT "}, "id = 1")
    assert rows_of(table) == [{"id": 1, "a": 42, "b": None, "c": 1}, {"id": 2, "a": 1, "b": "y", "c": 1}]
    refuses(ds.RowViolation, "NOT NULL", table.update, {"c": "DEFAULT"})


def test_rule_23_generated_columns_follow_their_source_and_rows_move(tmp_path: Path) -> None:
    ddl = "id BIGINT, d DATE, y INT GENERATED ALWAYS AS (year(d)), twice BIGINT GENERATED ALWAYS AS (id * 2)"
    table = made(tmp_path, ("y",), ddl=ddl)
    table.append(pa.table({"id": [1, 2], "d": [date(2020, 1, 1), date(2021, 1, 1)]}))
    table.update({"d": "DATE'2022-05-05'"}, "id = 1")
    assert rows_of(table)[0] == {"id": 1, "d": date(2022, 5, 5), "y": 2022, "twice": 2}
    assert [add["partitionValues"] for add in actions_of(table)["add"]] == [{"y": "2022"}]
    # A given value must be the one of the expression.
    table.update({"y": "2023", "d": "DATE'2023-01-01'"}, "id = 1")
    refuses(ds.RowViolation, "generated column", table.update, {"y": "2024"}, "id = 1")
    table.update({"y": "DEFAULT", "d": "NULL"}, "id = 2")
    assert rows_of(table)[1]["y"] is None


def test_rule_27_identity_columns_cannot_be_updated_and_keep_their_values(tmp_path: Path) -> None:
    always = "n BIGINT GENERATED ALWAYS AS IDENTITY, m BIGINT GENERATED BY DEFAULT AS IDENTITY"
    table = made(tmp_path, ddl=f"id BIGINT, x INT, {always}")
    table.append(pa.table({"id": [1, 2, 3], "x": [1, 2, 3]}))
    for name in ("n", "M"):
        refuses(ds.SchemaError, "identity column", table.update, {name: "5"})
    table.update({"x": "x + 1"}, "id < 3")
    assert [(row["x"], row["n"], row["m"]) for row in rows_of(table)] == [(2, 1, 1), (3, 2, 2), (3, 3, 3)]
    assert "metaData" not in actions_of(table)


def test_texts_become_values_of_the_column_that_is_set(tmp_path: Path) -> None:
    columns = "id INT, d DATE, t TIMESTAMP, b BOOLEAN, f FLOAT, m DECIMAL(5, 2), st STRUCT<x: INT>"
    table = made(tmp_path, ddl=columns)
    table.append(pa.table({"f": pa.array([1.0], pa.float32())}))
    given = {"d": "'2024-02-03'", "t": "'2024-02-03 10:00:00'", "b": "'yes'", "f": "'1e3'", "m": "'1.255'"}
    given["st.x"] = "'5'"
    table.update(given)
    [row] = rows_of(table)
    assert (row["d"].isoformat(), row["t"].isoformat()) == ("2024-02-03", "2024-02-03T10:00:00+00:00")
    assert (row["b"], row["f"], str(row["m"]), row["st"]) == (True, 1000.0, "1.26", {"x": 5})
    for name in given:
        refuses(ds.RowViolation, "The value nothing does not fit", table.update, {name: "'nothing'"})


def test_rule_29_lengths_of_texts_are_checked(tmp_path: Path) -> None:
    table = made(tmp_path, ddl="id BIGINT, v VARCHAR(3), c CHAR(3)")
    table.append(pa.table({"id": [1, 2], "v": ["abc", "x"], "c": ["a", "bcd"]}))
    refuses(ds.RowViolation, r"varchar\(3\)", table.update, {"v": "'abcd'"})
    table.update({"v": "'éé'"}, "id = 1")
    assert [(row["v"], row["c"]) for row in rows_of(table)] == [("éé", "a"), ("x", "bcd")]
    table.update({"v": "c"}, "c = 'a' OR c > 'bcd  '")
    assert [(row["v"], row["c"]) for row in rows_of(table)] == [("a  ", "a"), ("x", "bcd")]


def test_rule_20_constraints_hold_for_updated_rows_only(tmp_path: Path) -> None:
    table = made(tmp_path)
    table.alter(ds.AddConstraint("small", "x IS NULL OR x < 1000"))
    refuses(ds.RowViolation, "small", table.update, {"x": "x + 990"}, "id > 9")
    assert table.update({"x": "x + 980"}, "id > 9").version == 3


def test_rule_15_an_empty_partition_value_becomes_null(tmp_path: Path) -> None:
    table = made(tmp_path, ("p",))
    table.update({"p": "''"}, "id = 1")
    assert rows_of(table)[1]["p"] is None
    assert [add["partitionValues"] for add in actions_of(table)["add"]] == [{"p": None}, {"p": "b"}]


@pytest.mark.parametrize("mode", ["name", "id"])
def test_columns_are_mapped(tmp_path: Path, mode: str) -> None:
    table = made(tmp_path, **{"delta.columnMapping.mode": mode, **VECTORS, **FEED})
    table.alter_sql("RENAME COLUMN st.a TO b")
    table.alter_sql("RENAME COLUMN x TO z")
    table.update({"st.b": "z + 1", "z": "0"}, "id < 3")
    assert [(row["z"], row["st"]) for row in rows_of(table)][1:3] == [
        (0, {"b": 2, "tags": ["1"]}), (0, {"b": 3, "tags": ["2"]}),
    ]  # fmt: skip


def test_widened_columns_are_updated(tmp_path: Path) -> None:
    table = made(tmp_path, **{"delta.enableTypeWidening": "true", **VECTORS})
    table.alter_sql("ALTER COLUMN x TYPE BIGINT")
    table.update({"x": "x + 5000000000"}, "id BETWEEN 2 AND 3")
    assert [row["x"] for row in rows_of(table)][1:5] == [1, 5_000_000_002, 5_000_000_003, None]


@pytest.mark.parametrize("properties", [IDS, {**IDS, **VECTORS}, {**IDS, **FEED}])
def test_rule_49_updated_rows_keep_their_ids_and_get_the_version(tmp_path: Path, properties: dict[str, str]) -> None:
    table = made(tmp_path, **properties)
    before = row_ids_of(table)
    table.update({"x": "0"}, "id % 3 = 0")
    after = row_ids_of(table)
    assert {i: ids[0] for i, ids in after.items()} == {i: ids[0] for i, ids in before.items()}
    assert {i: ids[1] for i, ids in after.items()} == {i: 1 if i % 3 else 2 for i in range(12)}
    table.update({"x": "1"}, "id < 2")
    table.update({"x": "2"})
    assert {i: ids[0] for i, ids in row_ids_of(table).items()} == {i: ids[0] for i, ids in before.items()}
    assert info_of(table)["tags"] == {"delta.rowTracking.preserved": "true"}


def test_refusals_change_nothing(tmp_path: Path) -> None:
    table = made(tmp_path)
    before = files_below(tmp_path / "t")
    for error, given, match in (
        (ds.SchemaError, {"nope": "1"}, "nope"),
        (ds.SchemaError, {"st.nope": "1"}, "nope"),
        (ds.SchemaError, {"x": "1", "X": "2"}, "set twice"),
        (ds.SchemaError, {"st": "NULL", "st.a": "2"}, "set twice"),
        (ds.SchemaError, {"st.a": "2", "ST": "NULL"}, "set twice"),
        (ds.SchemaError, {"st.a": "DEFAULT"}, "only columns have one"),
        (ds.UnsupportedFeature, {"st.tags.element": "'a'"}, "inside an array"),
        (ds.PredicateError, {"x": "nope + 1"}, "nope"),
        (ds.PredicateError, {"x": "1 +"}, "x|parse"),
        (ds.PredicateError, {"x": "1 div (x - 3)"}, "fails for a row"),
        (ds.UnsupportedFeature, {"p": "to_csv(struct(p))"}, "without Spark"),
        (ds.UnsupportedFeature, {"x": "rand()"}, "without Spark"),
        (ds.InvalidArgument, {}, "at least one column"),
        (ds.InvalidArgumentType, {1: "2"}, "must be"),
        (ds.InvalidArgumentType, {"x": object()}, "new value of x"),
    ):
        refuses(error, match, table.update, given)
    refuses(ds.InvalidArgumentType, "set must be", table.update, "x = 1")
    table.alter_sql("SET TBLPROPERTIES (delta.appendOnly = true)")
    refuses(ds.UnsupportedFeature, "append-only", table.update, {"x": "1"}, "id = 3")
    assert files_below(tmp_path / "t") == before


def test_an_update_comes_first_in_a_transaction(tmp_path: Path) -> None:
    table = made(tmp_path)
    with table.transaction() as txn:
        assert isinstance(txn, TableTransaction)
        txn.update({"x": "-1"}, "id < 10")
        txn.append(rows([50]))
    assert len(ids_of(table.refresh())) == 13
    assert info_of(table)["operationMetrics"]["numUpdatedRows"] == "10"
    with pytest.raises(ds.InvalidCommit, match="update first, or commit"), table.transaction() as txn:
        txn.append(rows([51]))
        txn.update({"x": "1"})
    with pytest.raises(ds.InvalidCommit, match="has changed columns"), table.transaction() as txn:
        txn.alter(ds.AddColumn("more", "INT"))
        txn.update({"x": "1"})


def test_an_application_updates_once(tmp_path: Path) -> None:
    table = made(tmp_path)
    assert table.update({"x": "x + 1"}, "id = 3", txn=("job", 1)).version == 2
    assert table.update({"x": "x + 1"}, "id = 3", txn=("job", 1)).version is None
    assert rows_of(table)[3]["x"] == 4


def test_rows_stay_in_their_places(tmp_path: Path) -> None:
    ids = list(range(1000))
    table = ds.DeltaTable.create(
        tmp_path / "t", "id BIGINT, s STRING, n STRUCT<a: INT, b: ARRAY<INT>>, m MAP<STRING, INT>, d DECIMAL(10, 2)"
    )
    table.append(
        pa.table(
            {
                "id": ids,
                "s": [None if i % 3 == 0 else f"s{i}" for i in ids],
                "n": [{"a": i, "b": [i] * (i % 3)} for i in ids],
                "m": pa.array([[("k", i)] for i in ids], pa.map_(pa.string(), pa.int32())),
                "d": pa.array([Decimal(i) for i in ids], pa.decimal128(10, 2)),
            }
        )
    )
    before = table.scan().to_arrow().to_pylist()
    table.update({"s": "concat(s, '!')", "n.a": "-n.a", "m": "map('k', -1)", "d": "NULL"}, "id % 10 = 3")
    expected = [
        {**row, "s": row["s"] and row["s"] + "!", "n": {**row["n"], "a": -row["n"]["a"]}, "m": [("k", -1)], "d": None}
        if row["id"] % 10 == 3
        else row
        for row in before
    ]
    assert table.scan().to_arrow().to_pylist() == expected


def test_the_sign_of_a_zero_changes(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id INT, x DOUBLE, s STRUCT<f: FLOAT>, a ARRAY<DOUBLE>")
    signed = [{"id": i, "x": x, "s": {"f": x}, "a": [x]} for i, x in enumerate([0.0, -0.0, 2.0])]
    table.append(signed)
    table.update({"x": "-x", "s.f": "-s.f", "a": "array(-a[0])"}, "id < 2")
    found = sorted(table.scan().to_arrow().to_pylist(), key=lambda row: row["id"])
    assert str([row["x"] for row in found]) == "[-0.0, 0.0, 2.0]"
    assert str([(row["s"]["f"], row["a"]) for row in found]) == "[(-0.0, [-0.0]), (0.0, [0.0]), (2.0, [2.0])]"


def test_as_many_large_files_may_be_written_as_are_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ds.options, "parallel_file_bytes", 10_000)
    monkeypatch.setattr("deltaskip.data_files.parquet_writer.processors", lambda: 2)
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, v INT")
    for first in (0, 500):
        table.append(pa.table({"id": range(first, first + 500), "v": pa.array([0] * 500, pa.int32())}))
    table.update({"v": "1"}, "id % 2 = 0")
    assert sorted(table.scan().files()["num_records"].to_pylist()) == [500, 500]
    table.update({"v": "2"}, "id < 10")
    assert sorted(table.scan().files()["num_records"].to_pylist()) == [500, 500]
    rows = table.scan().to_arrow().sort_by("id").to_pylist()
    assert [row["v"] for row in rows] == [2 if i < 10 else int(i % 2 == 0) for i in range(1000)]


def test_a_date_without_quotes_is_a_subtraction_and_named(tmp_path: Path) -> None:
    table = made(tmp_path, ddl="id BIGINT, s STRING")
    table.append(pa.table({"id": [1], "s": ["x"]}))
    said = r"is SQL, in which 2024-01-05 is a subtraction of numbers: write DATE'2024-01-05' for the date"
    with pytest.warns(ds.PredicateWarning, match=said):
        table.update({"s": " 2024-01-05"})
    with pytest.warns(ds.PredicateWarning, match=said):
        table.merge(pa.table({"id": [1]}), "id").when_matched_update({"s": "2024-01-05"}).execute()
    assert table.scan().to_arrow()["s"].to_pylist() == ["2018"]
    table.update({"s": "'2024-01-05'"})  # without a warning, as are other subtractions
    table.update({"id": "2024 - 1"})


def test_values_with_char_fields_are_copied_as_spark_reads_them(tmp_path: Path) -> None:
    fields = "STRUCT<c: CHAR(5), v: VARCHAR(3)>"
    ddl = f"id INT, s {fields}, w STRUCT<c: CHAR(7), v: STRING>, a ARRAY<CHAR(4)>, m MAP<CHAR(2), VARCHAR(3)>, "
    table = DeltaTable.create(tmp_path / "t", f"{ddl} o STRUCT<i: ARRAY<STRUCT<c: CHAR(3)>>>")
    row = {"id": 1, "s": {"c": "ab", "v": "x"}, "a": ["q", None], "m": [("k", "v")], "o": {"i": [{"c": "z"}]}}
    types = {field.name: field.type for field in table.schema.to_arrow()}
    table.append(pa.Table.from_pylist([row, {"id": 2}], pa.schema([(name, types[name]) for name in row])))
    table.update({"w": "s", "a": "array(a[0], a[1], 'x')", "m": "m", "o": "o"})
    # delta-spark 4.4: the value that is read, which is padded, is stored.
    first = pq.ParquetFile(Path(table.snapshot.root) / table.scan().paths()[0]).read().to_pylist()
    assert first[0] == {
        **row, "w": {"c": "ab   ", "v": "x"}, "a": ["q   ", None, "x"], "m": [("k ", "v")], "o": {"i": [{"c": "z  "}]}
    }  # fmt: skip
    assert [first[1][name] for name in ("s", "w", "m", "o")] == [None] * 4
    source = pa.table({"id": pa.array([1, 9], pa.int32())})
    merge = table.merge(source, "t.id = s.id", "s", "t").when_matched_update({"w": "t.s", "a": "t.a"})
    assert merge.execute().metrics["numTargetRowsUpdated"] == 1
    where = "s = named_struct('c', 'ab   ', 'v', 'x') AND a[2] = 'x   ' AND map_keys(m) = array('k ')"
    assert table.scan(where).to_arrow().num_rows == 1
    assert table.scan("s = named_struct('c', 'ab', 'v', 'x')").to_arrow().num_rows == 0
