"""The tags that outlive the commits: which float columns of a file contain no NaN, and which jobs record NaN."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.actions.action_fields import TEXT_MAP
from deltaskip.skipping.partition_columns import map_values
from deltaskip.sparkexpr.types.data_types import DOUBLE, FLOAT, LONG, STRING, StructField, StructType
from deltaskip.stats import compute
from deltaskip.stats import tags as module
from deltaskip.stats.stats_columns import StatColumn
from deltaskip.stats.tags import STATS_TAG, nan_absent, records_nan, stats_tags
from tests.builder import DELTA_RS, SPARK, TableBuilder, add, bounds, log_file
from tests.looped import looped
from tests.noted import noted

pytestmark = pytest.mark.usefixtures("without_look_ups")

X = StatColumn(("x",), ("x",), (None,), DOUBLE)
Y = StatColumn(("n", "y"), ("n", "col-y"), (None, None), FLOAT)
S = StatColumn(("s",), ("s",), (None,), STRING)


def listed(tags: Mapping[str, str | None]) -> list[list[str]]:
    return json.loads(tags[STATS_TAG] or "")["withoutNaN"]


def texts(tags: list[Any]) -> pa.Array:
    return pa.array(tags, TEXT_MAP)


@pytest.mark.parametrize(
    ("stats", "expected"),
    [
        (bounds(x=(1.0, 2.0)), [["x"]]),
        (bounds(x=(1.0, "Infinity")), [["x"]]),
        (bounds(x=(1.0, "NaN")), []),
        (bounds(x=("NaN", "NaN")), []),
        (bounds(x=(None, None, 2)), [["x"]]),
        (bounds(x=(None, None, 1)), []),
        (bounds(x=(1.0, None)), []),
        ({"numRecords": 1}, []),
        ({**bounds(s=("NaN", "NaN")), "maxValues": {"s": "NaN", "n": {"col-y": 1}}}, [["n", "col-y"]]),
    ],
)
def test_the_tag_lists_the_columns_without_nan(stats: dict[str, Any], expected: list[list[str]]) -> None:
    tags = stats_tags(json.dumps(stats), [X, Y, S])
    assert listed(tags) == expected
    found = nan_absent(lambda name: map_values(texts([list(tags.items()), None, []]), name), ("x",))
    assert found.to_pylist() == [["x"] in expected, False, False]


def test_other_tags_and_columns_stay_and_a_nan_takes_a_column_off() -> None:
    first = stats_tags(json.dumps(bounds(x=(1, 2))), [X], {"k": None})
    both = stats_tags('{"numRecords":1,"maxValues":{"n":{"col-y":1}}}', [Y], first)
    assert (listed(first), listed(both), both["k"]) == ([["x"]], [["n", "col-y"], ["x"]], None)
    assert stats_tags(json.dumps(bounds(x=(1, 2))), [X], both) == both
    assert listed(stats_tags(json.dumps(bounds(x=(1, "NaN"))), [X], both)) == [["n", "col-y"]]


ODD = ["", "x", "null", "[]", "{}", '{"withoutNaN":"x"}', '{"withoutNaN":["x"]}', '{"withoutNaN":[[1]]}', "[" * 100_000]
ODD += ['{"withoutNaN":' + "9" * 5000 + "}", '{"withoutNaN":[["x"]],', '{"withoutNaN":{"x":[]}}']


@looped("odd", ODD)
def test_a_tag_that_was_not_written_here_proves_nothing(odd: str) -> None:
    assert nan_absent(lambda _name: pa.array([odd, None]), ("x",)).to_pylist() == [False, False]
    assert listed(stats_tags("{}", [X], {STATS_TAG: odd})) == []


def test_text_that_is_not_utf8_proves_nothing() -> None:
    broken = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")])
    assert nan_absent(lambda _name: broken, ("x",)).to_pylist() == [False]


def test_very_many_different_tags_are_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_VALUES", 2)
    value = '{"withoutNaN":[["x"]]}'
    assert nan_absent(lambda _name: pa.array([value, value + " "]), ("x",)).to_pylist() == [True, True]
    assert not any(nan_absent(lambda _name: pa.array([value, value + " ", value + "  "]), ("x",)).to_pylist())


@looped(
    "tags, proves",
    [
        ({"ZCUBE_ID": "7cbf", "ZCUBE_ZORDER_BY": '["a"]'}, True),
        ({"INSERTION_TIME": "1", "MIN_INSERTION_TIME": "1", "OPTIMIZE_TARGET_SIZE": "268435456"}, True),
        ({"INSERTION_TIME": "1"}, False),
        ({"OPTIMIZE_TARGET_SIZE": "1"}, False),
        ({"ZCUBE_ID": None}, False),
        ({"VORDER": "true"}, False),
        ({"ICEBERG_COMPAT_VERSION": "2"}, False),
        ({"zcube_id": "1"}, False),
        ({}, False),
        (None, False),
    ],
)
def test_only_tags_of_jobs_that_computed_the_statistics_count(tags: dict[str, Any] | None, proves: bool) -> None:
    made = texts([None if tags is None else list(tags.items())])
    assert records_nan(lambda name: map_values(made, name)).to_pylist() == [proves]


SCHEMA = StructType((StructField("x", DOUBLE), StructField("id", LONG)))
KNOWN = stats_tags(json.dumps(bounds(x=(1.0, 3.0))), [X])
SPARK_TAGS = {"INSERTION_TIME": "1", "OPTIMIZE_TARGET_SIZE": "2"}


def cleaned(folder: Path, *files: dict[str, Any], engine: str | None = None, struct: bool = False) -> ds.DeltaTable:
    """A table whose checkpoint has the files, and whose commits are deleted."""
    properties = {"delta.checkpoint.writeStatsAsJson": str(not struct).lower()}
    builder = TableBuilder(folder / "t", SCHEMA, properties=properties)
    builder.commit(*files, engine=engine)
    ds.DeltaTable(folder / "t").checkpoint()
    builder.commit({"txn": {"appId": "a", "version": 1}}, engine=engine)
    log_file(folder / "t", 0).unlink()
    return ds.DeltaTable(folder / "t")


def kept(table: ds.DeltaTable, where: str = "x > 100") -> list[str]:
    return sorted(table.refresh().scan(where).files()["path"].to_pylist())


WHERES = ["x > 100", "x >= 100", "x = double('NaN')", "x IN (100, double('NaN'))", "NOT x < 100", "isnan(x)"]


@looped("struct", [False, True])
@looped("where", WHERES)
def test_after_clean_up_tags_decide(tmp_path: Path, where: str, struct: bool) -> None:
    stats = bounds(x=(1.0, 3.0))
    files = [
        add("none", stats),
        add("here", stats, tags=KNOWN),
        add("spark", stats, tags=SPARK_TAGS),
        add("other", stats, tags={"VORDER": "true"}),
        add("nan", bounds(x=(1.0, "NaN")), tags=stats_tags(json.dumps(bounds(x=(1.0, "NaN"))), [X])),
    ]
    table = cleaned(tmp_path, *files, engine=DELTA_RS, struct=struct)
    assert kept(table, where) == ["nan", "none", "other"]
    assert kept(table, "id > 5 AND x > 100") == ["nan", "none", "other"]


def test_not_equal_skips_a_constant_file_that_its_tag_frees_of_nan(tmp_path: Path) -> None:
    stats = bounds(x=(3.0, 3.0))
    table = cleaned(tmp_path, add("none", stats), add("here", stats, tags=KNOWN))
    assert kept(table, "x != 3.0") == ["none"]
    assert kept(table, "x * 2 > 7") == ["none"]


def test_the_tag_is_about_the_file_so_statistics_of_another_writer_are_read_with_it(tmp_path: Path) -> None:
    # The tag says that the file has no NaN: bounds of another writer that contain one are of no use.
    table = cleaned(tmp_path, add("a", bounds(x=("NaN", "NaN")), tags=KNOWN), add("b", bounds(x=(1, 3)), tags=KNOWN))
    assert kept(table, "x = 5") == ["a"]
    assert kept(table, "x = 2") == ["a", "b"]


def test_tags_of_known_writers_do_not_count_where_an_unknown_one_replaced_statistics(tmp_path: Path) -> None:
    table = cleaned(tmp_path, add("a", bounds(x=(1, 3)), tags=SPARK_TAGS), add("b", bounds(x=(1, 3)), tags=SPARK_TAGS))
    assert kept(table) == []
    info = {"commitInfo": {"operation": "UPDATE", "engineInfo": DELTA_RS}}
    action = add("a", bounds(x=(1, 2)), tags=SPARK_TAGS, dataChange=False)
    log_file(tmp_path / "t", 2).write_text(f"{json.dumps(info)}\n{json.dumps(action)}\n")
    assert kept(table) == ["a"]


def test_computed_statistics_come_with_their_tags(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0, 3.0], "id": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": [1.0, float("nan")], "id": [1, 2]}), tmp_path / "b.parquet")
    table = ds.DeltaTable(TableBuilder(tmp_path / "t", SCHEMA).commit(engine=DELTA_RS).path)
    found = compute([tmp_path / "a.parquet", tmp_path / "b.parquet"], table.schema)
    with table.transaction() as txn:
        for row in found.to_pylist():
            name = Path(row["path"]).name
            txn.add(ds.AddFile(name, {}, 1, 1, True, stats=row["stats"], tags=dict(row["tags"])))
            shutil.copy(row["path"], tmp_path / "t" / name)
    assert kept(table) == ["b.parquet"]


@pytest.mark.parametrize("commits", [SPARK, DELTA_RS])
def test_tags_are_read_if_commits_do_not_know(tmp_path: Path, commits: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from deltaskip.log.checkpoint.adds import AddGroup

    read = noted(monkeypatch, AddGroup, "columns", lambda _, names: list(names))
    builder = TableBuilder(tmp_path / "t", SCHEMA)
    builder.commit(add("a", bounds(x=(1, 3), id=(1, 2)), tags={"k": "v"}), engine=commits)
    ds.DeltaTable(tmp_path / "t").checkpoint()
    for where, expected in [("x < 0", False), ("id > 5", False), ("x > 2", False), ("x > 5", commits == DELTA_RS)]:
        read.clear()
        kept(ds.DeltaTable(tmp_path / "t"), where)
        assert any("tags" in names for names in read) == expected, where
