"""Mistakes that are easily made: the message names what is wrong, and what to write instead."""

import pickle
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import deltaskip as ds
from tests.each import refuses

ROW = pa.table({"id": [1]})
COLUMNS = "id BIGINT NOT NULL, day DATE, customer STRING, price DOUBLE, user STRUCT<name: STRING>"
NEAR = "delta.enableDeletionVector"
# What is done, and what the message has beside a name of what it is about.
MISTAKES: dict[str, tuple[Callable[[ds.DeltaTable], Any], str]] = {
    "a table that is not there": (lambda t: ds.DeltaTable("ordres"), r"no table at .*ordres"),
    "a file for a table": (lambda t: ds.DeltaTable("x.parquet"), "specify a folder"),
    "the log for a table": (lambda t: ds.DeltaTable("orders/_delta_log"), "open .*orders instead"),
    "a name for a path": (lambda t: ds.DeltaTable("main.sales.orders"), r"load_table\('main\.sales\.orders'\)"),
    "a version that is not there": (lambda t: ds.DeltaTable("orders", 99), "versions 0 to 1"),
    "a version as text": (lambda t: ds.DeltaTable("orders", "1"), "version must be an int"),
    "a time before the table": (lambda t: ds.DeltaTable("orders", timestamp="1999-01-01"), "the earliest"),
    "a word for a time": (lambda t: ds.DeltaTable("orders", timestamp="yesterday"), "2026-01-31"),
    "creating twice": (lambda t: ds.DeltaTable.create("orders", "id INT"), r"mode='replace'"),
    "a type that is none": (lambda t: ds.DeltaTable.create("new", "id INTEGR"), "INTEGR is not a type"),
    "types of Python": (lambda t: ds.DeltaTable.create("new", {"id": int}), "'id BIGINT, name STRING'"),
    "one partition column": (lambda t: ds.DeltaTable.create("new", "id INT", partition_by="id"),
        "no column is left for the files"),
    "no quotes": (lambda t: t.scan("customer = a"), r"in quotes: 'a'"),
    "&&": (lambda t: t.scan("id > 1 && price > 2"), "write AND for &&"),
    "None": (lambda t: t.scan("customer = None"), "use IS NULL"),
    "and of Python": (lambda t: t.scan((ds.col("id") > 1) and (ds.col("price") > 2)), "use & | ~"),
    "a function": (lambda t: t.scan(lambda row: row.id > 1), r"where must be SQL text, .*'id', '>', 5"),
    "a dict": (lambda t: t.scan({"id": 1}), r"where must be SQL text, .*not dict"),
    "a whole query": (lambda t: t.scan("SELECT * FROM orders WHERE id = 1"), "what stands after WHERE"),
    "the word WHERE": (lambda t: t.scan("WHERE id = 1"), "what stands after WHERE"),
    "a column that is misspelt": (lambda t: t.scan("custmer = 'a'"), "did you mean customer"),
    "a column to read that is misspelt": (lambda t: t.scan(columns=["custmer"]), "did you mean customer"),
    "columns in one text": (lambda t: t.scan(columns="id, price"), "no column|id, price"),
    "an operator that is none": (lambda t: t.scan([("id", "=>", 1)]), "use =, ==, !="),
    "one tuple": (lambda t: t.delete(("id", "=", 1)), r"write \[\("),
    "a date as a number": (lambda t: t.scan("day = 20260101"), r"DATE'2026-01-31'"),
    "a quote that is open": (lambda t: t.scan("customer = 'a"), "a quote is not closed"),
    "a list in brackets": (lambda t: t.scan("customer in ['a']"), r"IN \(1, 2\)"),
    "a parameter without a value": (lambda t: t.scan("id = :x"), r"params=\{'x'"),
    "a limit below 0": (lambda t: t.scan(limit=-1), "0 or greater"),
    "appending one row": (lambda t: t.append({"id": 3}), r"not int: write .* a list of dicts such as \[\{'id': 1\}\]"),
    "appending tuples": (lambda t: t.append([(3, "a")]), "must be a dict, not tuple: write a list of dicts such as"),
    "appending nothing": (lambda t: t.append([]), "data is empty, and has no columns: leave the write out"),
    "appending a file": (lambda t: t.append("new.parquet"), r"read_table\(file\)"),
    "an argument of another library": (
        lambda t: t.append(ROW, mode="overwrite"),  # type: ignore[call-arg]
        r"DeltaTable\.append got an unexpected keyword argument 'mode'\. To replace rows, call overwrite",
    ),
    "an argument that is missing": (lambda t: t.update(), r"missing .* 'set'\. Its arguments are set"),
    "a value of an argument that is none": (lambda t: t.append(ROW, schema_mode="add"), "keep or merge"),
    "a column that the rows lack": (lambda t: t.append(pa.table({"price": [1.0]})), "rows lack the column id"),
    "other columns": (lambda t: t.overwrite(pa.table({"x": [1]})), "columns .* overwrite with schema_mode='replace'"),
    "a column that the table lacks": (lambda t: t.append(pa.table({"id": [3], "x": [1]})), "schema_mode='merge'"),
    "a text for a number": (lambda t: t.append(pa.table({"id": ["x"]})), "cast it explicitly"),
    "NULL for NOT NULL": (lambda t: t.append(pa.table({"id": pa.nulls(1, pa.int64())})), "Nothing was written"),
    "a row outside of what is replaced": (lambda t: t.overwrite(pa.table({"id": [3], "day": [date(2027, 1, 1)]}),
        "day = '2026-01-01'"), "Nothing was written"),
    "a new value without quotes": (lambda t: t.update({"customer": "zz"}), r"\"'zz'\""),
    "a new value of a column that is misspelt": (lambda t: t.update({"custmer": "'z'"}), "did you mean customer"),
    "a merge without a clause": (lambda t: t.merge(ROW, "target.id = source.id").execute(), "when_matched_update_all"),
    "a merge by a name": (lambda t: t.merge(ROW, "id = id").when_matched_delete().execute(),
        r"target\.id or source\.id"),
    "a merge by tuples": (lambda t: t.merge(ROW, [("id", "=", 1)]), "on must be a condition such as .*, not list"),
    "a merge the other way round": (lambda t: t.merge("target.id = source.id", ROW), r"merge\(rows, on='target\.id ="),
    "an update the other way round": (lambda t: t.update("id=1", {"price": "2"}),
        r"write update\(\{'price': '2'\}, where='id=1'\)"),
    "an update of a condition": (lambda t: t.update("id=1"), r"set must be a mapping .*, not str: write update\(\{"),
    "a transaction's update of a list": (lambda t: t.transaction().update(["id"]), "set must be .*, not list"),
    "no condition": (lambda t: t.scan(""), "where is empty: write a condition, .* leave it out for every row"),
    "no condition to delete by": (lambda t: t.delete(" "), "where is empty: write a condition"),
    "no condition to overwrite by": (lambda t: t.overwrite(ROW, where=""), "where is empty: write a condition"),
    "bytes for a text": (lambda t: t.append(pa.table({"id": [1], "user": [{"name": b"a\xff"}]})),
        r"The column user\.name of .*orders is STRING, and the value X'61FF' is binary that is not UTF-8: decode"),
    "a wrong value of a property": (lambda t: t.alter(ds.SetProperty("delta.appendOnly", "maybe")),
        r"delta\.appendOnly of .*orders must be true or false, not 'maybe'\.$"),
    "a wrong value of a property of a new table": (lambda t: ds.DeltaTable.create("new", "id INT", properties={
        "delta.appendOnly": "maybe"}), r"delta\.appendOnly of .*new must be true or false, not 'maybe'\.$"),
    "a wrong value of a property in SQL": (lambda t: t.alter_sql(
        "SET TBLPROPERTIES ('delta.checkpointInterval' = 'x')"),
        r"delta\.checkpointInterval of .*orders must be .*, not 'x'\.$"),
    "a wrong value of a property of a table in a catalog": (lambda t: ds.catalog("warehouse:wh").create_table("x",
        "id INT", properties={"delta.appendOnly": "1"}), r"delta\.appendOnly of .*x must be true or false, not '1'\.$"),
    "a wrong value of a property of a clone": (lambda t: t.clone("copy", properties={"delta.appendOnly": "maybe"}),
        r"delta\.appendOnly of the clone of .*orders must be true or false, not 'maybe'\.$"),
    "a bucket without a name": (lambda t: ds.DeltaTable("s3://"), "names no folder"),
    "a merge by aliases": (lambda t: t.merge(ROW, "t.id = s.id").when_matched_delete().execute(),
        r"did you mean target\.id or source\.id"),
    "a merge of two rows into one": (lambda t: t.merge(pa.table({"id": [1, 1]}),
        "target.id = source.id").when_matched_update_all().execute(), "column day|keys of the source unique"),
    "a restore to nothing": (lambda t: t.restore(), "Specify the version or the timestamp"),
    "a retention in days": (lambda t: t.vacuum(retention=7), "7 hours is too short"),
    "no retention": (lambda t: t.vacuum(retention=timedelta(0)), "enforce_retention=False"),
    "an order by no column": (lambda t: t.optimize(zorder_by=["idd"]), "did you mean id"),
    "changes that were not recorded": (lambda t: t.changes(0), "set delta.enableChangeDataFeed to true"),
    "a statement that is misspelt": (lambda t: t.alter_sql("ADD COLUM x INT"), "write ADD COLUMN"),
    "a column that files contain": (lambda t: t.alter_sql("DROP COLUMN price"), r"delta\.columnMapping\.mode"),
    "an argument of a condition": (lambda t: t.merge(ROW, "target.id = source.id").when_matched_update_all(
        "source.id > 1"), r"where='source\.id > 1' for a condition"),
    "one value for a list": (lambda t: t.scan([("customer", "in", "a")]), "needs a list of values.*not str"),
    "a time without quotes": (lambda t: t.scan("day >= 2026-01-01 00:00:00"), r"TIMESTAMP'2026-01-31 12:00:00'"),
    "a type of another system": (lambda t: ds.DeltaTable.create("new", "ts DATETIME"), "write TIMESTAMP"),
    "no type": (lambda t: ds.DeltaTable.create("new", "ts DATUM"), "write a type such as BIGINT, INT"),
    "a transform as text": (lambda t: ds.DeltaTable.create("new", "ts TIMESTAMP", partition_by=["days(ts)"]),
        r"transforms\.date\('ts'\)"),
    "a name with a space": (lambda t: ds.DeltaTable.create("new", "`a b` INT"), r"delta\.columnMapping\.mode = name"),
    "a purge with an order": (lambda t: t.optimize(purge=True, zorder_by="id"), "leave out"),
    "a catalog that is none": (lambda t: ds.catalog("lake"), "A URL begins with"),
    "a namespace that is not there": (lambda t: ds.catalog("warehouse:wh").create_table("sales.x", "id INT"),
        "create_namespace"),
    "SQL without a table": (lambda t: ds.sql("SELECT * FROM (VALUES (1)) t"), "names no table: put its path in quotes"),
    "a time for a version": (lambda t: t.restore("2026-01-31"), "timestamp='2026-01-31' for a time"),
    "a property that is misspelt": (lambda t: t.alter(ds.SetProperty(NEAR, "true")), rf"Did you mean {NEAR}s\?"),
    "a property of a new table that is misspelt": (lambda t: ds.DeltaTable.create("new", "id INT", properties={
        NEAR: "true"}), rf"Did you mean {NEAR}s\?"),
    "a feature that is misspelt": (lambda t: t.add_feature("deletionVector"), r"Did you mean deletionVectors\?"),
    "an option that is misspelt": (lambda t: setattr(ds.options, "write_waiting", 1), "mean write_waiting_bytes"),
    "new values of several words": (lambda t: t.update({"customer": "hello world"}), r"in quotes: \"'hello world'\""),
    "merged values of several words": (lambda t: t.merge(ROW, "target.id = source.id").when_matched_update({
        "customer": "hello world"}).execute(),
        r"The new value hello world for .*orders is not valid: .* in quotes: \"'hello world'\""),
    "a list as a new value": (lambda t: t.update({"customer": ["a"]}), "ARRAY<STRING> cannot be stored"),
    "a list to compare with": (lambda t: t.scan(ds.col("customer") == ["a"]).files(), "several values by isin"),
    "a call of a transform": (lambda t: ds.transforms.bucket("id"), "Its arguments are column, buckets"),
    "a call of a change": (lambda t: ds.AddColumn(nme="x"), "AddColumn got an unexpected keyword"),  # type: ignore[call-arg]
    "no session": (lambda t: t.scan().to_spark(None), "spark must be a SparkSession"),
}  # fmt: skip


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ds.DeltaTable:
    monkeypatch.chdir(tmp_path)
    Path("x.parquet").write_bytes(b"x")
    table = ds.DeltaTable.create("orders", COLUMNS, partition_by=["day"])
    table.append(pa.table({"id": [1, 2], "customer": ["a", "b"]}))
    return table


def test_the_message_says_what_to_write(table: ds.DeltaTable) -> None:
    for name, (act, message) in MISTAKES.items():
        if name == "no session":
            pytest.importorskip("pyspark")
        with pytest.raises(ds.DeltaSkipError, match=message) as raised:
            act(table)
        assert not isinstance(raised.value, ds.errors.UnexpectedError), name
    assert table.refresh().version == 1


def test_a_blank_path_is_not_the_working_directory(table: ds.DeltaTable) -> None:
    doors: list[Callable[[str], object]] = [
        ds.DeltaTable, ds.DeltaTable.exists, ds.scan_polars, ds.read_pandas, ds.convert_to_delta, table.clone,
        *(lambda path, mode=mode: ds.DeltaTable.create(path, "id INT", mode=mode) for mode in ("error", "ignore")),
    ]  # fmt: skip
    for door in doors:
        for path in ("", " "):
            refuses(ds.errors.InvalidArgument, r"must be a path or URI, not .*: name a folder", door, path)
    assert sorted(each.name for each in Path().iterdir()) == ["orders", "x.parquet"]


def test_a_table_is_not_made_in_a_file(table: ds.DeltaTable) -> None:
    catalog: Any = ds.catalog("warehouse:x.parquet")

    def staged() -> None:
        with catalog.stage_create("t", "id BIGINT") as made:
            made.append(ROW)

    doors: list[Callable[[], object]] = [
        *(lambda mode=mode: ds.DeltaTable.create("x.parquet", "id INT", mode=mode) for mode in ("error", "replace")),
        lambda: ds.DeltaTable.create("x.parquet/below", "id INT", mode="ignore"),
        lambda: table.clone("x.parquet"),
        lambda: ds.convert_to_delta("x.parquet"),
        lambda: catalog.create_table("t", "id INT"),
        staged,
    ]
    for door in doors:
        refuses(ds.errors.InvalidArgument, "a part of this path is a file", door)
    assert Path("x.parquet").read_bytes() == b"x"


def test_one_column_is_no_table(table: ds.DeltaTable) -> None:
    pandas = pytest.importorskip("pandas")
    refuses(ds.DeltaSkipError, r"a Series, .*to_frame\(\)", lambda: table.append(pandas.Series([1, 2], name="id")))
    with pytest.raises(ds.DeltaSkipError, match="got a 'int' object, Conversion failed for column customer"):
        table.append(pandas.DataFrame({"id": [5, 6], "customer": ["x", 1]}))


def test_methods_of_frames_are_named_as_they_are_here(table: ds.DeltaTable) -> None:
    for each in (table, table.scan()):
        refuses(AttributeError, r"has no filter: write scan\(where\)", getattr, each, "filter")
        assert not hasattr(each, "select")
    untyped: Any = table
    merge: Any = table.merge(ROW, "target.id = source.id")
    for act, meant in (
        (lambda: merge.whenMatchedUpdateAll, "write when_matched_update_all"),
        (lambda: untyped.write, "write append"),
        (lambda: untyped.to_pyarrow_table, r"write scan\(\)\.to_arrow"),
    ):
        refuses(AttributeError, meant, act)
    assert "runs with execute()" in repr(table.merge(ROW, "target.id = source.id").when_matched_delete())


def test_columns_are_taken_of_any_iterator(table: ds.DeltaTable) -> None:
    for names in (("id", "customer"), ("user.name",)):
        scan = table.scan("id = 1", columns=iter(names))
        assert scan.to_arrow().column_names == [name.split(".")[-1] for name in names]
        assert ds.read_pandas("orders", columns=iter(names)).shape == (2, len(names))


@pytest.mark.parametrize("name", ["to_arrow", "to_pandas", "to_polars", "count", "head", "to_batches"])
def test_what_only_a_scan_has_is_found_there(table: ds.DeltaTable, name: str) -> None:
    for each in (table, pickle.loads(pickle.dumps(table))):
        with pytest.raises(
            AttributeError, match=rf"A DeltaTable has no {name}, its scans do: write scan\(\)\.{name}\(\)\."
        ):
            getattr(each, name)
        assert not hasattr(each, name) and not hasattr(each, "shape")


def test_what_python_decides_is_no_predicate(table: ds.DeltaTable) -> None:
    """`col("id") is not None` is True, and not a predicate that holds for every row."""
    rows = pa.table({"id": [1]})
    before = table.refresh().version
    for where in (ds.col("id") is not None, False, np.True_):
        for call in (
            table.scan,
            table.delete,
            lambda where: table.update({"id": "5"}, where),
            lambda where: table.overwrite(rows, where=where),
            lambda where: table.optimize(where=where),
            lambda where: table.recompute_stats(where=where),
            lambda where: table.merge(rows, where),
            lambda where: table.merge(rows, "target.id = source.id").when_matched_delete(where),
        ):
            refuses(ds.InvalidArgumentType, r"must be (a predicate|SQL text)", call, where)
    assert table.refresh().version == before


def test_names_in_backticks_select_columns(tmp_path: Path) -> None:
    made = ds.DeltaTable.create(tmp_path / "t", "`c.d` STRING, s STRUCT<`a.b`: INT>, id INT")
    made.append([{"c.d": "x", "s": {"a.b": 1}, "id": 2}])
    for columns, names in ((["`c.d`"], ["c.d"]), (["`id`", "c.d"], ["id", "c.d"]), (["`s`.`a.b`"], ["a.b"])):
        assert made.scan(columns=columns).to_arrow().column_names == names
    refuses(ds.PredicateError, "There is no column nope", made.scan, columns=["`nope`"])


def test_arrays_of_numpy_are_columns(tmp_path: Path) -> None:
    made = ds.DeltaTable.create(tmp_path / "t", "id BIGINT, at TIMESTAMP_NTZ")
    made.append({"id": np.array([1, 2]), "at": np.array(["2024-01-01", "2024-01-02T03:04"], "datetime64[us]")})
    rows = made.scan().to_arrow().to_pylist()
    assert [(row["id"], row["at"].isoformat()) for row in rows] == [
        (1, "2024-01-01T00:00:00"),
        (2, "2024-01-02T03:04:00"),
    ]
    refuses(ds.InvalidArgument, "1-dimensional", lambda: made.append({"id": np.array([[1], [2]])}))
