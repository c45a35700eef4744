"""Rows of collated columns through Spark, and the files that its own answers need."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.sparkexpr.collations.lookup import find
from deltaskip.sparkexpr.types.data_types import LONG, STRING, StructField, StructType
from tests.builder import TableBuilder, add
from tests.skipping.proofs.test_collated import SPARKS, TEXTS

pytest.importorskip("pyspark")

from deltaskip.spark.read.session_facts import session_collation_version

ROWS_PER_FILE = 6
FILES = 24


@pytest.fixture(scope="module")
def version(spark: Any) -> str:
    """Spark's version of the collations; the tests are skipped where it has none, or none of it is here."""
    if spark.version.startswith("3."):
        pytest.skip(f"Spark {spark.version} has no collations")
    found = session_collation_version(spark)
    if find(f"icu.UNICODE.{found}") is None:
        pytest.skip(f"there is no ICU {found} here")
    return found


def made(folder: Path, collation: str, version: str, seed: int) -> tuple[ds.DeltaTable, dict[str, list[str]]]:
    """A table of Parquet files with strings of many scripts, neighbours in the collation's order mostly together."""
    rng = random.Random(seed)
    provider = "spark" if collation.startswith("UTF8") else "icu"
    identifier = f"{provider}.{collation}"
    order = find(f"{identifier}.{version}")
    assert order is not None
    texts = [*TEXTS, *(rng.choice(TEXTS) + rng.choice(TEXTS) for _ in range(FILES * ROWS_PER_FILE - len(TEXTS)))]
    texts.sort(key=order.key)
    for _ in range(10):
        i, j = rng.randrange(len(texts)), rng.randrange(len(texts))
        texts[i], texts[j] = texts[j], texts[i]
    field = StructField("c", STRING, True, {"__COLLATIONS": {"c": identifier}})
    builder = TableBuilder(folder / "t", StructType((StructField("id", LONG), field)))
    contents, actions = {}, []
    for number in range(FILES):
        rows = texts[number * ROWS_PER_FILE : (number + 1) * ROWS_PER_FILE]
        ids = range(number * ROWS_PER_FILE, number * ROWS_PER_FILE + len(rows))
        name = f"f{number:02}.parquet"
        pq.write_table(pa.table({"id": pa.array(ids, pa.int64()), "c": rows}), folder / "t" / name)
        low, high = order.min_max(pa.array(rows))
        bounds = {"minValues": {"c": low}, "maxValues": {"c": high}}
        trusted = all(map(order.trusts, rows))
        stats = {"statsWithCollation": {f"{identifier}.{version}": bounds}} if trusted else {}
        actions.append(add(name, {"numRecords": len(rows), "nullCount": {"c": 0}, **stats}))
        contents[name] = rows
    builder.commit(*actions)
    return ds.DeltaTable(folder / "t"), contents


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


@pytest.mark.long(gate=1)
@pytest.mark.spark
@pytest.mark.parametrize("collation", SPARKS)
def test_files_with_rows_that_spark_finds_are_kept(spark: Any, version: str, tmp_path: Path, collation: str) -> None:
    rng = random.Random(len(collation))
    table, contents = made(tmp_path, collation, version, len(collation))
    predicates = []
    for text in rng.sample(TEXTS, 12):
        for operator in ("=", "<", "<=", ">", ">=", "!=", "<=>"):
            predicates.append(f"c {operator} {quoted(text)}")
        if not collation.endswith("AI") or "_CI" in collation:
            predicates.append(f"startswith(c, {quoted(text)})")
        if collation == "UTF8_LCASE":
            predicates.append(f"c LIKE {quoted(text[:2] + '%')}")
            predicates.append(f"c LIKE {quoted(text[:1] + '_')}")
        predicates.append(f"c IN ({quoted(text)}, {quoted(rng.choice(TEXTS))})")
        predicates.append(f"NOT (c <=> {quoted(text)})")
    rows = spark.createDataFrame([(name, row) for name, rows in contents.items() for row in rows], "f string, c string")
    columns = [f"f AS file, c COLLATE {collation} AS c"]
    answers = rows.selectExpr(*columns[0].split(", ")).selectExpr("file", *predicates).collect()
    needed: list[set[str]] = [set() for _ in predicates]
    for answer in answers:
        for i, matches in enumerate(answer[1:]):
            if matches:
                needed[i].add(answer[0])
    dropped = 0
    for predicate, files in zip(predicates, needed, strict=True):
        kept = set(table.scan(predicate, collation_version=version).files()["path"].to_pylist())
        assert files <= kept, f"{predicate} lost {files - kept}"
        dropped += FILES - len(kept)
    assert dropped > len(predicates)


@pytest.mark.long(gate=1)
@pytest.mark.spark
@pytest.mark.parametrize("collation", ["UNICODE_CI", "UTF8_LCASE", "de_CI_AI"])
def test_rows_are_those_that_spark_finds_by_itself(spark: Any, version: str, tmp_path: Path, collation: str) -> None:
    table, contents = made(tmp_path, collation, version, 5)
    numbered = [(i, text) for i, text in enumerate(text for rows in contents.values() for text in rows)]
    everything = spark.createDataFrame(numbered, "id long, c string").selectExpr("id", f"c COLLATE {collation} AS c")
    for predicate in ("c = 'STRASSE'", "c >= 'b' AND c <= 'D'", "c > 'Σ'", "c = 'coop' OR c IN ('é', '中')"):
        scan = table.scan(predicate)
        frame = scan.to_spark(spark)
        assert frame.schema["c"].dataType.collation == collation
        found = sorted(row.id for row in frame.collect())
        assert found == sorted(row.id for row in everything.where(predicate).collect())
        assert found
        assert len(scan.files()) < FILES


@pytest.mark.spark
def test_a_session_of_another_version_prunes_nothing_on_these_statistics(
    spark: Any, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table, _ = made(tmp_path, "UNICODE_CI", version, 6)
    before = len(table.scan("c = 'coop'").files())
    assert before < FILES
    monkeypatch.setattr("deltaskip.spark.read.session_facts.session_collation_version", lambda _: "1.2")
    scan = table.scan("c = 'coop'")
    assert len(scan.to_spark(spark).inputFiles()) == FILES
