"""Merges of Arrow rows into collated keys: a plain string of the source is compared as a literal is; Spark decides."""

import random
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import PredicateError, UnsupportedFeature
from tests.each import refuses
from tests.extent import some

# Values that some collation considers equal: by case, accents, width, trailing blanks, or the letters of a language.
TEXTS = (
    *(
        "a", "A", "á", "Á", "a ", "ab", "AB", "Ab", "aB", "b", "B", "ss", "SS", "sS", "i", "I", "İ", "ı", "ﬁ", "fi",
        "FI",
    ),
    *(
        "Ａ", "é", "e\u0301", "E\u0301", "", " ", "z", "Z", "æ", "ae", "AE", "ö", "oe", "Σ", "σ", "ς", "10", "9",
        "\U0001f600",
    ),
)  # fmt: skip
COLLATIONS = (
    "UTF8_LCASE", "UNICODE_CI", "UNICODE", "UTF8_BINARY_RTRIM", "UTF8_LCASE_RTRIM", "de_CI", "tr_CI", "UNICODE_CI_AI",
)  # fmt: skip


def table_of(path: Path, collation: str, texts: list[str | None], files: int = 1) -> ds.DeltaTable:
    table = ds.DeltaTable.create(str(path), f"id BIGINT, k STRING COLLATE {collation}, v BIGINT")
    for i in range(files):
        ids = range(i, len(texts), files)
        table.append(pa.table({"id": list(ids), "k": [texts[j] for j in ids], "v": [0 for _ in ids]}))
    return table


def merged(table: ds.DeltaTable, source: Any, on: str, spark: Any = None) -> list[tuple[int, int]]:
    table.merge(source, on, source_alias="s", target_alias="t", spark=spark).when_matched_update({"v": "s.n"}).execute()
    found = table.scan().to_arrow()
    return sorted(zip(found["id"].to_pylist(), found["v"].to_pylist(), strict=True))


@pytest.mark.spark
@pytest.mark.parametrize("collation", COLLATIONS)
@pytest.mark.parametrize("files", [1, 7])
def test_rows_match_as_spark_compares_them(spark: Any, tmp_path: Path, collation: str, files: int) -> None:
    chosen = random.Random(f"{collation}{files}")
    texts: list[str | None] = [*TEXTS, None]
    chosen.shuffle(texts)
    wanted = spark.createDataFrame([(i, text) for i, text in enumerate(texts)], "id BIGINT, k STRING")
    wanted.createOrReplaceTempView("collated_target")
    # At most one row of the source may match: keys of the source differ under the collation.
    spark.createDataFrame([(text,) for text in texts[::2]], "k STRING").createOrReplaceTempView("collated_source")
    distinct = f"SELECT min(k) AS k, count(*) AS n FROM collated_source GROUP BY k COLLATE {collation}"
    source = [(row.k, row.n) for row in spark.sql(distinct).collect()]
    spark.createDataFrame(source, "k STRING, n BIGINT").createOrReplaceTempView("collated_keys")
    for op in ("=", "<=>"):
        joined = spark.sql(
            f"SELECT t.id, coalesce(s.n, 0) FROM collated_target t LEFT JOIN collated_keys s "
            f"ON t.k {op} s.k COLLATE {collation}"
        )
        table = table_of(tmp_path / f"t{'=<'.index(op[0])}", collation, texts, files)
        rows = pa.table({"k": [key for key, _ in source], "n": [n for _, n in source]})
        assert merged(table, rows, f"t.k {op} s.k") == sorted(map(tuple, joined.collect()))


@pytest.mark.parametrize("door", [lambda rows: rows, pa.Table.to_pandas, pl.from_arrow, pa.Table.to_batches])
def test_sources_of_every_kind(tmp_path: Path, door: Any) -> None:
    rows = pa.table({"k": ["A", "b", "x"], "n": [1, 2, 3]})
    given = door(rows)
    if isinstance(given, list):
        given = pa.RecordBatchReader.from_batches(rows.schema, given)
    assert isinstance(given, pa.Table | pd.DataFrame | pl.DataFrame | pa.RecordBatchReader)
    assert merged(table_of(tmp_path / "t", "UTF8_LCASE", ["a", "B", "c"]), given, "s.k = t.k") == [
        (0, 1),
        (1, 2),
        (2, 0),
    ]


CONDITIONS = [
    ("t.k = s.k", {0, 1, 2}),
    ("t.k <=> s.k AND s.n > 1", {1, 2, 3}),
    ("t.k COLLATE UTF8_BINARY = s.k", {2}),
    ("t.k = s.k COLLATE UTF8_BINARY", {2}),
    ("t.k = upper(s.k)", {0, 1, 2}),
    ("t.k = s.k AND s.k IN ('A', 'c')", {0, 2}),  # two plain strings are compared by their bytes
    ("t.k = s.k AND s.k = 'a'", set()),
    ("t.k || '1' = s.k || '1'", {0, 1, 2}),
    ("concat(t.k, s.k) = 'Aa'", {0}),
    ("t.k = CASE WHEN s.n = 1 THEN s.k ELSE 'q' END", {0}),
    ("t.k = s.st.k", {0, 1, 2}),
    ("t.k IN (s.k, 'zz')", {0, 1, 2}),
    ("t.k >= s.k AND t.k <= s.k", {0, 1, 2}),
    ("s.n = 1 AND t.k < s.k", set()),
]
# Conditions that only Spark evaluates, and strings in arrays, maps and structs.
IN_SESSIONS = [
    ("array_contains(s.ks, t.k)", {0, 1, 2}),
    ("s.ks[0] = t.k", {0, 1, 2}),
    ("s.m['x'] = t.k", {0, 1, 2}),
    ("struct(t.k) = struct(s.k)", {0, 1, 2, 3}),
    ("t.k = CAST(s.st.k AS STRING)", {0, 1, 2}),
    ("t.k LIKE s.k", {0, 1, 2}),
]
KEYS = ["A", "b", "c", None]
SOURCE = pa.table(
    {
        "k": KEYS,
        "n": [1, 2, 3, 4],
        "st": [{"k": key} for key in KEYS],
        "ks": [[key] for key in KEYS],
        "m": pa.array([[("x", key)] for key in KEYS], pa.map_(pa.string(), pa.string())),
    }
)


@pytest.mark.parametrize(("on", "matched"), CONDITIONS)
def test_conditions_with_plain_strings(tmp_path: Path, on: str, matched: set[int]) -> None:
    table = table_of(tmp_path / "t", "UTF8_LCASE", ["a", "B", "c", None], files=2)
    assert {row for row, value in merged(table, SOURCE, on) if value} == matched


@pytest.mark.spark
@pytest.mark.parametrize("jobs", [True, False])
def test_a_session_compares_plain_strings_as_without_one(spark: Any, tmp_path: Path, jobs: bool) -> None:
    with ds.options.changed(spark_jobs="always" if jobs else "auto"):
        for number, (on, matched) in enumerate(some([*CONDITIONS, *IN_SESSIONS], 4 if jobs else 8)):
            table = table_of(tmp_path / str(number), "UTF8_LCASE", ["a", "B", "c", None], files=2)
            given = [pl.from_arrow(SOURCE), SOURCE][number % 2]
            assert {row for row, value in merged(table, given, on, spark=spark) if value} == matched, on
        merge = table.merge(SOURCE, "t.k = s.k", source_alias="s", target_alias="t", spark=spark)
        merge = merge.when_matched_update({"k": "s.k", "v": "s.n"}, where="t.k < concat(s.k, 'z') AND s.k <> 'c'")
        merge = merge.when_matched_delete(where="s.k = t.k").when_not_matched_insert({"id": "9", "k": "upper(s.k)"})
        merge.execute()
    rows = [(row["id"], row["k"]) for row in table.scan().to_arrow().to_pylist()]
    assert sorted(rows) == [(0, "A"), (1, "b"), (3, None), (9, None)]


@pytest.mark.spark
def test_columns_of_dataframes_conflict_as_in_spark(spark: Any, tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", "UTF8_LCASE", ["a"])
    with pytest.raises(PredicateError, match=r"COLLATION|collation"):
        merged(table, spark.createDataFrame([("A", 1)], "k STRING, n BIGINT"), "t.k = s.k")


def test_files_are_kept_by_the_values_of_the_source_and_not_by_their_bounds(tmp_path: Path) -> None:
    """`B` is between `a` and `c` under the collation, and below both by its bytes."""
    table = table_of(tmp_path / "t", "UTF8_LCASE", ["B", "x", "Y"], files=3)
    rows = pa.table({"k": ["b", "X"], "n": [1, 2]})
    merge = table.merge(rows, "t.k = s.k", source_alias="s", target_alias="t").when_matched_update({"v": "s.n"})
    assert len(merge.execute(dry_run=True).files) == 2
    assert merge.execute().metrics["numTargetRowsUpdated"] == 2


def test_a_collation_without_exact_keys_needs_spark(tmp_path: Path) -> None:
    table = table_of(tmp_path / "t", "UNICODE_AI", ["a"])
    with pytest.raises(UnsupportedFeature, match=r"compares strings under the collation icu\.UNICODE_AI"):
        merged(table, pa.table({"k": ["A"], "n": [1]}), "t.k = s.k")


def test_two_collated_columns_conflict_as_in_spark(tmp_path: Path) -> None:
    table = ds.DeltaTable.create(
        str(tmp_path / "t"), "k STRING COLLATE UTF8_LCASE, l STRING COLLATE UNICODE_CI, v BIGINT"
    )
    with pytest.raises(PredicateError, match="mixes the collations"):
        merged(table, pa.table({"k": ["A"], "n": [1]}), "t.k = s.k AND t.l = t.k")


LCASE = "STRING COLLATE UTF8_LCASE"


@pytest.mark.parametrize("given", [lambda t: t, lambda t: t.scan("id < 3"), lambda t: t.scan().top(2, by="id")])
def test_tables_and_scans_as_sources_keep_their_collations(tmp_path: Path, given: Any) -> None:
    columns = f"id INT, v {LCASE}, w STRING, n STRUCT<v: {LCASE}>"
    source = ds.DeltaTable.create(tmp_path / "z", columns)
    source.append([{"id": 1, "v": "A", "w": "a", "n": {"v": "A"}}, {"id": 2, "v": "b", "w": "b", "n": {"v": "B"}}])
    table = ds.DeltaTable.create(tmp_path / "t", f"id INT, s STRING, l {LCASE}")
    table.append([{"id": 1, "s": "a", "l": "a"}, {"id": 2, "s": "B", "l": "B"}, {"id": 3, "s": "c", "l": "c"}])

    def deleted(on: str) -> int:
        merge = table.refresh().merge(given(source), on, "z", "t")
        return int(merge.when_matched_delete().execute().metrics["numTargetRowsDeleted"])

    # Spark 4.1, CollationTypeCoercion: both collations are of columns
    refuses(ds.PredicateError, "mixes the collations UTF8_BINARY and spark.UTF8_LCASE", deleted, "t.s = z.v")
    refuses(ds.PredicateError, "mixes the collations UTF8_BINARY and spark.UTF8_LCASE", deleted, "t.s = z.n.v")
    for on, partners in ({"s": "v"}, None), ({"s": "n.v"}, None), ({"l": "v"}, [1, 2]), ({"s": "w"}, [1]):
        if partners is None:
            refuses(ds.PredicateError, "mixes the collations", table.scan().semi_join, given(source), on)
        else:
            assert table.scan().semi_join(given(source), on).to_arrow()["id"].to_pylist() == partners
    made = ds.DeltaTable.create(tmp_path / "n", given(source))
    assert made.schema == source.schema
    assert made.append(given(source)).metrics["numOutputRows"] == 2
    assert (deleted("t.s = z.w AND z.v = 'a'"), deleted("t.l = z.v")) == (1, 1)
