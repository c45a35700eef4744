"""Habits of other libraries: the error says what deltaskip has in their place."""

import inspect
import json
import pickle
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip import hints
from deltaskip.reading.table_scan import OF_FRAMES
from tests.each import refuses


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    return ds.DeltaTable.create(tmp_path / "t", "id INT, name STRING")


def test_predicates_of_other_libraries(table: ds.DeltaTable) -> None:
    doors: list[Callable[..., object]] = [table.scan, table.delete, lambda where: table.update({"id": "1"}, where)]
    for door in doors:
        for mask in (pd.Series([True]), np.array([True]), pl.Series([True]), pd.Series([True], dtype="boolean")):
            refuses(ds.InvalidArgumentType, r"a mask has values of rows .* write .*col\('id'\) > 5", door, mask)
        with pytest.raises(ds.InvalidArgumentType, match=r"not Series\.|not ndarray\."):
            door(pd.Series([1]))
    for name in ("predicate", "filter", "filters", "condition"):
        for method in (table.scan, table.delete, partial(table.overwrite, pa.table({"id": [1]}))):
            with pytest.raises(
                ds.InvalidArgumentType, match=rf"'{name}'\. Did you mean where for {name}\? Its arguments are"
            ):
                method(**{name: "id = 1"})


def test_names_of_other_libraries(table: ds.DeltaTable) -> None:
    with pytest.raises(AttributeError, match=r"A scan has no collect: write to_arrow\(\), to_polars\(\) or to_s"):
        _ = table.scan().collect  # type: ignore[attr-defined]
    for name, says in (("columns", r"schema\.names"), ("insert", r"append\(rows\)"), ("show", r"scan\(\)\.head\(\)"),
                       ("toPandas", r"scan\(\)\.to_pandas\(\)"), ("where", r"scan\(where\)"),
                       ("load_cdf", r"changes\(start, end\)"), ("compact", r"optimize\(\)"),
                       ("get_add_actions", r"scan\(\)\.files\(\)"), ("table_uri", "uri")):  # fmt: skip
        refuses(AttributeError, rf"A DeltaTable has no {name}: write {says}\.$", getattr, table, name)


def test_attributes_that_are_methods_of_delta_rs(table: ds.DeltaTable) -> None:
    for name in ("schema", "metadata", "protocol", "version"):
        with pytest.raises(ds.InvalidArgumentType, match=r"is the value of an attribute, .* leave out the parentheses"):
            getattr(table, name)()
    refuses(ds.InvalidArgumentType, r"parentheses, as in schema\.to_arrow\(\)\.$", table.schema)
    with pytest.raises(AttributeError, match=r"A StructType has no to_pyarrow: write schema\.to_arrow\(\)\.$"):
        _ = table.schema.to_pyarrow  # type: ignore[attr-defined]
    version = pickle.loads(pickle.dumps(table.version))
    assert (version, type(version), json.dumps(table.version), repr(table.version)) == (0, int, "0", "0")


def test_names_of_the_module_of_the_class_and_of_methods(table: ds.DeltaTable) -> None:
    places = ((ds, hints.OF_MODULE), (ds.DeltaTable, hints.OF_TABLES), (table.optimize, hints.OF_OPTIMIZE),
              (table.alter, hints.OF_ALTER), (table, OF_FRAMES))  # fmt: skip
    for place, names in places:
        for name, instead in names.items():
            if name == "schema" or (place is ds.DeltaTable and name in ("write", "replace")):
                continue
            refuses(AttributeError, rf"has no [\w.]*{name}\b.*{re.escape(instead)}", getattr, place, name)
    for place, name, said in (
        (ds, "DeltaTabel", "deltaskip has no DeltaTabel. Did you mean DeltaTable?"),
        (ds, "nothing_of_the_kind", "deltaskip has no nothing_of_the_kind."),
        (ds.DeltaTable, "nothing", "DeltaTable has no nothing."),
    ):
        with pytest.raises(AttributeError) as caught:
            getattr(place, name)
        assert str(caught.value) == said
    assert not hasattr(ds, "__path_of_nothing__") and not hasattr(table.optimize, "nothing")
    assert pickle.loads(pickle.dumps(table.optimize))(dry_run=True).version is None
    assert inspect.signature(table.optimize).parameters.keys() >= {"where", "zorder_by"}
    assert "Rewrite files" in table.optimize.__doc__ and table.optimize.__name__ == "optimize"


def test_every_call_that_a_hint_names_exists(table: ds.DeltaTable) -> None:
    for names, of in ((hints.OF_MODULE, ds), (hints.OF_OPTIMIZE, table), (hints.OF_ALTER, table)):
        for instead in names.values():
            for called in re.findall(r"(?<![\w.'])([a-zA-Z_]+)\(", instead):
                assert hasattr(of, called) or hasattr(ds, called) or hasattr(ds.DeltaTable, called), instead


def test_habits_of_a_first_afternoon(table: ds.DeltaTable, tmp_path: Path) -> None:
    rows = [{"id": 1, "name": "a"}]
    table.append(rows)
    calls: tuple[tuple[Callable[[], object], str], ...] = (
        (lambda: table["id"], r"has no elements: write scan\(columns=\['id'\]\) for columns"),
        (lambda: table.scan()[["id", "name"]], r"write table\.scan\(columns=\['id', 'name'\]\)"),
        (lambda: table[ds.col("id") > 1], r"write scan\(where\), where"),
        (lambda: table.scan(id=1), r"where=\"id = 1\""),
        (lambda: table.delete(name="a"), r"where=\"name = 'a'\""),
        (lambda: ds.DeltaTable.create(tmp_path / "u", {"id": "BIGINT"}), r"Write 'id BIGINT'; the columns of rows"),
        (lambda: table.scan().to_duckdb("x"), r"write to_duckdb\(name='x'\)"),
    )
    for call, said in calls:
        refuses(ds.InvalidArgumentType, said, call)
    for frame in (pl.DataFrame({"n": pl.Series([1], dtype=pl.Int128)}), pl.LazyFrame({"n": [1]}).cast(pl.Int128)):
        with pytest.raises(ds.InvalidArgument, match=r"column n of data has integers of 128 bits, .* cast it to Int64"):
            ds.write(tmp_path / "wide", frame)
    assert ds.write(tmp_path / "m", [{"my col": 1}], properties={"delta.columnMapping.mode": "name"}).version == 0
    assert pl.DataFrame(table.scan()).height == pa.table(table).num_rows == 1


def test_columns_whose_names_have_dots(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "`a.b` INT, s STRUCT<x: INT>, `S.y` INT")
    table.append([{"a.b": 1, "s": {"x": 2}, "S.y": 3}])
    dotted = (ds.col("a.b") == 1, ds.col("`a.b`") == 1, ds.col("s.x") == 2, ds.col("`S.y`") == 3)
    for where in (*dotted, [("A.B", "=", 1)]):
        assert table.scan(where, columns=["a.b"]).to_arrow().num_rows == 1
    for text, said in (("a.b = 1", r"no column a\.b: write `a\.b`, in backticks"), ("s.y = 1", r"no column s\.y")):
        refuses(ds.PredicateError, said, table.scan, text)
    with pytest.raises(AttributeError, match=r"write col\('s\.z'\) for a field of a struct"):
        _ = ds.col("s").z
    with pytest.raises(ds.InvalidArgumentType, match=r"write col\('s\.x'\) for a field"):
        _ = ds.col("s")["x"]


def test_names_that_a_catalog_lacks(tmp_path: Path) -> None:
    catalog = ds.catalog(f"warehouse:{tmp_path}")
    catalog.create_namespace("taxi")
    catalog.create_table("taxi.trips", "id INT")
    for name, said in (
        ("taxy.trips", "Did you mean taxi.trips?"),
        ("taxi.trip", "Did you mean taxi.trips?"),
        ("trips", "Did you mean taxi.trips?"),
        ("taxi.Trips", "Did you mean taxi.trips? Letter case counts."),
        ("Taxi.trips", "Did you mean taxi.trips? Letter case counts."),
        ("zzz.qqq", ""),
    ):
        calls = (
            lambda name=name: catalog.load_table(name),
            lambda name=name: catalog.sql(f"SELECT * FROM {name}"),
            lambda name=name: catalog.sql(f"DELETE FROM {name} WHERE id = 1"),
            lambda name=name: catalog.sql(f"DESCRIBE HISTORY {name}"),
            lambda name=name: catalog.alter_table(name, ds.SetProperty("a", "b")),
        )
        for call in calls:
            with pytest.raises(ds.TableNotFound) as caught:
                call()
            assert str(caught.value).partition(". ")[2] == said, name
    with pytest.raises(ds.NamespaceNotFound, match=r"no namespace taxy: .* Did you mean taxi\?$"):
        catalog.create_table("taxy.t", "id INT")


def test_a_write_names_the_zone_of_local_times(tmp_path: Path) -> None:
    local, instant = datetime(2026, 1, 31, 12), datetime(2026, 1, 31, 11, tzinfo=UTC)
    table = ds.DeltaTable.create(tmp_path / "t", "at TIMESTAMP, wall TIMESTAMP_NTZ")
    zone = "Europe/Vienna"
    assert table.append({"at": [local]}, time_zone=zone).time_zone == zone
    assert "time zone Europe/Vienna" in repr(table.overwrite({"at": [local]}, time_zone=zone))
    assert ds.write(table, {"wall": [instant]}, time_zone=zone).time_zone == zone
    assert ds.write(table, {"at": [instant], "wall": [local]}, time_zone=zone).time_zone == ""
    assert ds.write(tmp_path / "new", {"at": [local]}, time_zone=zone).time_zone == ""
    assert table.append({"at": [local]}).time_zone == "UTC"


def test_a_catalog_says_what_runs_without_a_session(tmp_path: Path) -> None:
    catalog = ds.catalog(f"warehouse:{tmp_path}")
    catalog.create_namespace("s")
    catalog.create_table("s.t", "id INT")
    assert catalog.sql("SHOW TABLES IN s").num_rows == 1
    catalog.sql("INSERT INTO s.t SELECT 7 AS id")
    assert catalog.sql("SELECT id FROM s.t").to_pylist() == [{"id": 7}]
    refuses(ds.SparkUnavailable, "the first argument of sql", catalog.sql, "INSERT INTO s.t VALUES (to_csv(struct(1)))")


def test_arguments_of_other_libraries(table: ds.DeltaTable) -> None:
    rows = pa.table({"id": pa.array([1], pa.int32())})
    for call, said in (
        (lambda: table.update(updates={"id": "1"}, predicate="id = 1"), "set for updates and where for predicate"),
        (lambda: table.update(values={"id": "1"}), "set for values"),
        (lambda: table.merge(rows, "true").when_matched_update(set={"id": "1"}), "values for set"),  # type: ignore[call-arg]
        (lambda: ds.register_view("orders"), "'name'. The first one is a SparkSession"),  # type: ignore[call-arg]
        (lambda: ds.sql("SELECT 1", "SELECT 2", {}), "the first two are both text"),
        (
            lambda: table.changes(starting_version=1, ending_version=2),  # type: ignore[call-arg]
            "start for starting_version and end for ending_version",
        ),
        (lambda: table.merge(rows, predicate="true"), "on for predicate"),  # type: ignore[call-arg]
        (lambda: table.overwrite(rows, replaceWhere="true"), "where for replaceWhere"),  # type: ignore[call-arg]
        (lambda: table.scan().to_pandas(dtype_backend="pyarrow"), "dtype_backend.*types='arrow'"),
        (lambda: table.append(rows, mode="overwrite"), r"To replace rows, call overwrite\(rows\)"),  # type: ignore[call-arg]
        (lambda: table.append(rows, mergeSchema=True), "schema_mode for mergeSchema"),  # type: ignore[call-arg]
        (lambda: table.scan(colums=["id"]), "columns for colums"),
        (lambda: ds.read_pandas(table, usecols=["id"], nrows=5), "columns for usecols and limit for nrows"),  # type: ignore[call-arg]
        (lambda: ds.scan_polars(table, n_rows=5), "limit for n_rows"),  # type: ignore[call-arg]
        (lambda: ds.DeltaTable(table.uri, datetime(2026, 1, 1)), "not datetime: write timestamp= for a time"),
        (lambda: table.append({"id": 1}), r"data\['id'\] must be a list of values, not int"),
        (lambda: table.append([1]), "Each row of data must be a dict, not int"),
        (lambda: ds.DeltaTable.create("new", "id INT", properties={"x": True}), "not bool: write 'true'"),
    ):
        refuses(ds.InvalidArgumentType, said, call)
    with pytest.raises(ds.InvalidArgument, match="The column id of data has an integer that does not fit BIGINT"):
        table.append([{"id": 2**70}])


def test_a_library_that_is_missing_is_named(table: ds.DeltaTable, monkeypatch: pytest.MonkeyPatch) -> None:
    doors: dict[str, list[Callable[[], object]]] = {
        "polars": [table.scan().to_polars, lambda: table.scan().to_polars(lazy=True), lambda: ds.scan_polars(table),
                   ],
        "duckdb": [table.scan().to_duckdb],
    }  # fmt: skip
    for library, calls in doors.items():
        monkeypatch.setitem(sys.modules, library, None)
        for call in calls:
            refuses(ds.UnsupportedFeature, f"not installed: pip install {library}", call)


def test_a_field_of_a_struct_is_named_with_it(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(
        tmp_path / "s", "id INT, addr STRUCT<city: STRING, geo: STRUCT<lat: DOUBLE>>, country STRING"
    )
    for name, path in (("city", "addr.city"), ("LAT", "addr.geo.lat"), ("countri", "country")):
        refuses(ds.PredicateError, rf"no column {name}; did you mean {path}\?", table.scan, f"{name} = 'x'")


def test_a_function_that_is_misspelled_is_named_in_the_error(table: ds.DeltaTable) -> None:
    table.append(pa.table({"id": pa.array([1], pa.int32())}))
    with pytest.warns(ds.PredicateWarning), pytest.raises(ds.UnsupportedFeature, match=r"Did you mean upper\?"):
        table.scan("uper(name) = 'A'").to_arrow()


def test_a_version_in_quotes(table: ds.DeltaTable) -> None:
    for text, said in (("1", r"write version=1\."), ("2024-01-01", "or timestamp='2024-01-01' for a time")):
        refuses(ds.InvalidArgumentType, said, ds.DeltaTable, table.uri, version=text)
    assert table.append(pa.table({"id": pa.array([1], pa.int32())})).version == 1


def test_one_name_is_a_list_of_it_and_none_is_no_name(tmp_path: Path) -> None:
    rows = pa.table({"id": pa.array([1, 2], pa.int32()), "d": ["a", "b"]})
    for number, (chosen, kept) in enumerate((("d", ("d",)), (ds.transforms.identity("d"), ("d",)), (None, ()))):
        table = ds.DeltaTable.create(tmp_path / f"p{number}", "id INT, d STRING", partition_by=chosen)
        assert table.partition_columns == kept
        table.append(rows)
        table.overwrite(rows, schema_mode="replace", partition_by=chosen)
        assert table.partition_columns == kept
        assert table.scan(columns="id").to_arrow().column_names == ["id"]
        assert table.scan().files(columns="path").column_names == ["path"]
        table.optimize(zorder_by=None)
    table.optimize(zorder_by="id")
    for chosen, count in (("id", 1), (["id"], 1), (None, 0)):
        made = ds.DeltaTable.create(tmp_path / f"c{chosen}", "id INT, d STRING", cluster_by=chosen)
        assert len(made.detail().clustering_columns or ()) == count
