"""Strings of type char(n) are padded to their length, at every depth, as Spark and delta-spark read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds

pytestmark = pytest.mark.spark

COLUMNS = """
    id BIGINT, c CHAR(4), s STRUCT<c: CHAR(3), v: VARCHAR(3)>, a ARRAY<CHAR(2)>, m MAP<CHAR(2), STRUCT<x: CHAR(2)>>
"""


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    """A file of another writer, which has not padded them."""
    table = ds.DeltaTable.create(tmp_path / "t", COLUMNS)
    rows = {
        "id": pa.array([1, 2], pa.int64()),
        "c": ["é", None],
        "s": pa.array([{"c": "x", "v": "y"}, None], pa.struct({"c": pa.string(), "v": pa.string()})),
        "a": [["k", None], None],
        "m": pa.array([[("k", {"x": "z"})], None], pa.map_(pa.string(), pa.struct({"x": pa.string()}))),
    }
    pq.write_table(pa.table(rows), tmp_path / "t" / "f.parquet")
    table.add_files(["f.parquet"])
    return ds.DeltaTable(tmp_path / "t")


@pytest.mark.long(gate=1)
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_strings_are_padded_at_every_depth(spark: Any, table: ds.DeltaTable, engine: Any) -> None:
    rows = [row.asDict(recursive=True) for row in table.scan(engine=engine).to_spark(spark).orderBy("id").collect()]
    assert rows == [
        {"id": 1, "c": "é   ", "s": {"c": "x  ", "v": "y"}, "a": ["k ", None], "m": {"k ": {"x": "z "}}},
        {"id": 2, "c": None, "s": None, "a": None, "m": None},
    ]


@pytest.mark.long(gate=4)
@pytest.mark.parametrize(
    ("where", "ids"),
    [("c = 'é'", [1]), ("s.c = 'x'", []), ("s.c = 'x  '", [1]), ("a[0] = 'k '", [1]), ("s.v = 'y'", [1])],
)
def test_predicates_see_the_padded_strings(spark: Any, table: ds.DeltaTable, where: str, ids: list[int]) -> None:
    assert [row.id for row in table.scan(where).to_spark(spark).collect()] == ids


def test_strings_are_padded_at_every_depth_without_spark(table: ds.DeltaTable) -> None:
    first = {"id": 1, "c": "é   ", "s": {"c": "x  ", "v": "y"}, "a": ["k ", None], "m": [("k ", {"x": "z "})]}
    nothing = dict.fromkeys(("c", "s", "a", "m"))
    assert table.scan().to_arrow().to_pylist() == [first, {"id": 2, **nothing}]
    assert table.scan(columns=["m", "id"]).to_arrow().schema == table.scan().to_arrow().select(["m", "id"]).schema
    assert table.scan("id = 1", columns=["s"]).to_arrow().to_pylist() == [{"s": first["s"]}]


def test_columns_are_padded_without_spark(table: ds.DeltaTable) -> None:
    assert table.scan(columns=["c", "id"]).to_arrow().to_pylist() == [{"c": "é   ", "id": 1}, {"c": None, "id": 2}]
    assert table.scan("id = 1", columns=["c"]).to_arrow().to_pylist() == [{"c": "é   "}]


def test_structs_with_void_fields_are_refused_where_rows_come_from_python(spark: Any, tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "v", "id BIGINT, s STRUCT<a: INT, v: VOID>, w VOID")
    table.append(pa.table({"id": [1]}))
    assert table.refresh().scan().to_spark(spark).count() == 1
    with pytest.raises(ds.UnsupportedFeature, match=r"'s' of .* has a field of type VOID.* Leave out engine='spark'"):
        table.refresh().scan(engine="spark").to_spark(spark)
    assert table.refresh().scan(columns=["id", "w"], engine="spark").to_spark(spark).count() == 1


def test_the_change_feed_has_the_padded_strings(spark: Any, tmp_path: Path) -> None:
    table = ds.DeltaTable.create(
        tmp_path / "f", "id BIGINT, c CHAR(3), a ARRAY<CHAR(2)>", properties={"delta.enableChangeDataFeed": "true"}
    )
    table.append(pa.table({"id": [1], "c": ["x"], "a": [["y", None]]}))
    changes = ds.DeltaTable(tmp_path / "f").changes(1)
    rows = changes.to_arrow().select(["id", "c", "a"]).to_pylist()
    assert rows == [{"id": 1, "c": "x  ", "a": ["y ", None]}]
    assert [row.asDict() for row in changes.to_spark(spark).select("id", "c", "a").collect()] == rows


def test_what_does_not_depend_on_padding_is_evaluated_without_spark(spark: Any, tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id INT, c CHAR(4), s STRUCT<d: CHAR(3)>")
    texts = ["x", "xy  ", " x", "", "    ", "ä", None]
    nested = [{"d": text[:3]} if text else None for text in texts]
    table.append(pa.table({"id": pa.array(range(7), pa.int32()), "c": texts, "s": nested}))
    wheres = ["c IS NULL", "c IS NOT NULL", "trim(c) = 'x'", "rtrim(c) = ' x'", "trim(c) IN ('', 'xy')", "s.d IS NULL",
              "trim(s.d) = 'ä'", "upper(btrim(c)) LIKE 'X%'"]  # fmt: skip
    for where in wheres:
        found = sorted(row["id"] for row in table.scan(where).to_arrow().to_pylist())
        assert found == sorted(row.id for row in table.scan().to_spark(spark).where(where).collect()), where
        assert found
    for where in ("c = 'x'", "ltrim(c) = 'x'", "trim('x', c) = ''", "c IS NULL OR length(c) = 4"):
        with pytest.raises(ds.UnsupportedFeature, match=r"padded by Spark; trim\(c\) can be evaluated"):
            table.scan(where).to_arrow()


@pytest.mark.parametrize("change", ["update", "merge"])
def test_columns_that_are_not_set_are_written_as_they_were_stored(
    spark: Any, table: ds.DeltaTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    monkeypatch.setattr("deltaskip.settings.options.spark_jobs", "always")
    before = pq.read_table(tmp_path / "t" / "f.parquet", columns=["s", "a", "m", "c"])
    if change == "update":
        table.update({"id": "id + 10"}, "id < 3", spark)
    else:
        source = spark.createDataFrame([(1,), (2,)], "id BIGINT")
        table.merge(source, "t.id = s.id", "s", "t").when_matched_update({"id": "s.id + 10"}).execute()
    written = [path for path in (tmp_path / "t").rglob("*.parquet") if path.name != "f.parquet"]
    rows = sorted((row for path in written for row in pq.read_table(path).to_pylist()), key=lambda row: row["id"])
    assert [row.pop("id") for row in rows] == [11, 12]
    assert rows == before.to_pylist()
