"""Strings of type char(n) are padded to their length, at every depth, as Spark and delta-spark read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.spark.session.session_settings import session_settings

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


@pytest.mark.parametrize(
    ("key", "value"), [("spark.sql.readSideCharPadding", "false"), ("spark.sql.legacy.charVarcharAsString", "true")]
)
def test_a_session_reads_strings_as_it_reads_a_table_of_its_own(
    spark: Any, table: ds.DeltaTable, tmp_path: Path, key: str, value: str
) -> None:
    wheres = ["c = 'é'", "c = 'é   '", "length(c) = 1", "s.c = 'x'", "c IS NULL", "id = 1"]
    with session_settings(spark, {key: value}):
        spark.sql(f"CREATE TABLE own ({COLUMNS}) USING parquet LOCATION '{tmp_path / 't'}'")
        try:
            own = spark.table("own")
            expected = [row.asDict(recursive=True) for row in own.orderBy("id").collect()]
            read = table.scan().to_spark(spark).orderBy("id").collect()
            assert [row.asDict(recursive=True) for row in read] == expected
            for where in wheres:
                found = [row.id for row in table.scan(where).to_spark(spark).collect()]
                assert found == [row.id for row in own.where(where).collect()], where
        finally:
            spark.sql("DROP TABLE own")


def test_lengths_hold_in_a_session_that_takes_the_types_for_string(spark: Any, tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id INT, c CHAR(2), v VARCHAR(2)")
    table.append(pa.table({"id": pa.array([1], pa.int32()), "c": ["a"], "v": ["a"]}))
    with session_settings(spark, {"spark.sql.legacy.charVarcharAsString": "true"}):
        for name in ("c", "v"):
            with pytest.raises(ds.RowViolation, match=r"char\(2\), and a row has a longer string"):
                table.append(spark.sql(f"SELECT 2 AS id, 'abc' AS {name}"))
            with pytest.raises(ds.RowViolation, match=r"char\(2\), and a row has a longer string"):
                table.update({name: "'a  '"}, spark=spark)
    assert ds.DeltaTable(table.uri).version == 1


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


MANY = ", ".join(f"'k{i}'" for i in range(80))
OPERATORS = ("=", "<=>", "!=", "<", "<=", ">", ">=")
COMPARED = [
    *[f"c {op} {text}" for op in OPERATORS for text in ("'ab'", "'ab  '", "'ab    '", "'ab\t'", "d", "e", "v")],
    *("'ab' = c", "'ab' < c", "d > c", "v = c", "c = c", "c = NULL", "c = CAST('ab' AS STRING)", "c = rpad('ab', 3)"),
    *("c IN ('ab')", "c IN ('ab', 'b')", "c NOT IN ('ab', 'abcdefg')", "c IN ('ab', NULL)", "c IN ('ab  ', NULL)"),
    *(f"c IN ({MANY}, 'ab')", f"c IN ({MANY}, 'abcdefg', 'ab')", "c IN (d)", "c IN (d, e)", "c IN (d, v)"),
    *("'ab' IN (c)", "c IN (d, 'ab')", "v IN (c, d)", "d IN (e, c)", "c IN (lower('AB'), 'b')"),
    *("c BETWEEN 'ab' AND 'ab'", "c NOT BETWEEN 'a' AND 'b'", "c >= 'ab' AND c <= 'ab'", "e BETWEEN c AND d"),
    *("CAST(c AS STRING) = 'ab'", "CAST(c AS STRING) = 'ab  '", "coalesce(c, 'x') = 'ab'", "concat(c, '') = 'ab'"),
    *("c LIKE 'ab'", "c LIKE 'ab  '", "c LIKE 'ab%'", "c RLIKE '^ab$'", "startswith(c, 'ab ')", "contains(c, 'b ')"),
    *("length(c) = 4", "upper(c) = 'AB  '", "trim(c) = 'ab'", "rtrim(c) = 'ab'", "left(c, 3) = 'ab '"),
    *("c || 'x' = 'ab  x'", "c || d = 'ab  ab    '", "CASE c WHEN 'ab' THEN true END", "decode(c, 'ab', true, false)"),
    *("equal_null(c, 'ab')", "greatest(c, 'ab') = 'ab'", "array_contains(array(c), 'ab')", "struct(c) = struct('ab')"),
    *("(c, id) IN (('ab', 0))", "exists(array('ab', 'ab  '), x -> x = c)", "c IS NULL", "NOT (c < 'ab' OR c IS NULL)"),
    *("s.c = 'ab'", "s.c = 'ab '", "s.c IN ('ab', 'ab ')", "s.c < 'ab'", "s.c = c", "s.c IS NULL", "size(a) = 2"),
    *("p = 'ab'", "p = 'ab     '", "p IN ('ab', 'a')", "p > 'a' AND id > 2", "p LIKE 'ab'", "p = c"),
    *("a[0] = 'k '", "array_contains(a, 'k')", "s = named_struct('c', 'ab ')"),
]  # fmt: skip
UNKNOWN = [
    *("nullif(c, 'ab') = 'b'", "c = current_user()", "c = 'ab' COLLATE UNICODE_CI", "c IN ('ab', CAST(NULL AS STRING))")
]


@pytest.mark.filterwarnings("ignore::deltaskip.PredicateWarning")
def test_strings_are_compared_as_spark_compares_them(spark: Any, tmp_path: Path) -> None:
    lengths = "id INT, c CHAR(4), d CHAR(6), e CHAR(4), v VARCHAR(5), s STRUCT<c: CHAR(3)>, a ARRAY<CHAR(2)>, p CHAR(3)"
    table = ds.DeltaTable.create(tmp_path / "t", lengths, ["p"])
    texts = ["ab", "abcd", "a", "", "ab\t", "b", "é", None, " ab", "ab"]
    others = [*("ab", "abcd", "a", "", "ab", "a\t", "é", "x", None, "abc")]
    nested = [None if text is None else {"c": text[:3]} for text in texts]
    rows = {"id": pa.array(range(10), pa.int32()), "c": texts, "d": texts, "e": others, "v": texts, "s": nested}
    rows |= {"a": [["k", None]] * 10, "p": ["ab", "a", None, "abc", "b"] * 2}
    table.append(pa.table(rows))
    # A file with values that are padded, as Spark writes them.
    padded = [None if text is None else text.ljust(4) for text in texts]
    table.append(pa.table({**rows, "id": pa.array(range(10, 20), pa.int32()), "c": padded}))
    frame = table.scan().to_spark(spark)
    answers = frame.selectExpr("id", *(f"({where}) AS w{n}" for n, where in enumerate(COMPARED))).collect()
    for n, where in enumerate(COMPARED):
        found = sorted(table.scan(where).to_arrow()["id"].to_pylist())
        assert found == sorted(row.id for row in answers if row[f"w{n}"]), where
    for where in UNKNOWN:
        with pytest.raises(ds.UnsupportedFeature, match="without Spark"):
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
