"""Reads whose files Spark does not list."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.errors import UnsupportedFeature
from deltaskip.settings import options
from tests import corpus
from tests.corpus_digests import expected_rows
from tests.each import refuses
from tests.spark.test_corpus_rows import rows_and_digest

LISTED = options.listed_files

pytestmark = pytest.mark.spark

# One of each kind: partitions of every type and with odd paths, mapped, with deletion vectors, widened, many files.
TABLES = (
    "craft__part_value_spellings", "deltars__table_with_column_mapping", "deltars__table_with_deletion_logs",
    "duckdb__issue_303_partitioned", "gen__clustered", "gen__many_files", "gen__nested", "gen__part_path_chars",
    "gen__part_types", "gen__row_tracking_dv", "gen__type_widening", "gen__types_cm_id_part",
)  # fmt: skip


@pytest.mark.long(gate=3)
@pytest.mark.parametrize("table", corpus.table_params("read", where=lambda table: table.name in TABLES))
def test_rows_are_those_of_the_reference(spark: Any, table: corpus.CorpusTable) -> None:
    version = [each for each in table.versions if expected_rows(each)][-1]
    scan = ds.DeltaTable(table.path, version=version["version"]).scan()
    [expected] = expected_rows(version)
    assert rows_and_digest(scan.to_spark(spark, listing=False), scan.snapshot.schema) == (
        expected["count"],
        expected["digest"],
    )


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    """Twelve partitions, whose names Spark would take for patterns, of one row."""
    table = ds.DeltaTable.create(tmp_path / "a [b] c", "id BIGINT, p STRING", ["p"])
    table.append(pa.table({"id": range(12), "p": [f"{{{i}}}*%:é" for i in range(12)]}))
    return table


def test_a_frame_is_pruned_shows_its_files_and_can_be_kept(spark: Any, table: ds.DeltaTable) -> None:
    frame = table.scan("p >= '{3'").to_spark(spark, listing=False)
    expected = {(i, f"{{{i}}}*%:é") for i in range(3, 10)}
    assert {tuple(row) for row in frame.collect()} == expected
    listed = table.scan("p >= '{3'").to_spark(spark)
    assert sorted(frame.inputFiles()) == sorted(listed.inputFiles())
    kept = frame.cache()
    try:
        spark.catalog.refreshByPath(str(Path(table.snapshot.table_root)))
        assert {tuple(row) for row in kept.collect()} == expected
        again, other = (table.scan(f"p >= '{{{digit}'").to_spark(spark, listing=False) for digit in (3, 4))
        assert again.sameSemantics(frame) and not other.sameSemantics(frame)
        cached = [each._jdf.queryExecution().executedPlan().toString() for each in (again, other)]
        assert ["InMemoryTableScan" in plan for plan in cached] == [True, False]
    finally:
        kept.unpersist()
    assert frame.join(frame.select("id"), "id").count() == 7


def test_small_local_files_make_fewer_tasks_unless_the_session_sets_open_costs(spark: Any, tmp_path: Path) -> None:
    table = ds.DeltaTable.create(tmp_path / "t", "id BIGINT")
    names = [f"{number}.parquet" for number in range(256)]
    pq.write_table(pa.table({"id": range(10)}), tmp_path / "t" / names[0])
    for name in names[1:]:
        os.link(tmp_path / "t" / names[0], tmp_path / "t" / name)
    table.add_files(names)

    def tasks() -> int:
        frame = table.scan().to_spark(spark, listing=False)
        assert frame.count() == 2560
        return int(frame.rdd.getNumPartitions())

    setting = "spark.sql.files.openCostInBytes"
    before = spark.conf.get(setting)
    try:
        spark.conf.unset(setting)
        few, unset = tasks(), spark.conf.get(setting)
        spark.conf.set(setting, unset)
        assert few < tasks()
    finally:
        spark.conf.set(setting, before)


def test_a_missing_file_raises_when_the_frame_runs(spark: Any, table: ds.DeltaTable, tmp_path: Path) -> None:
    frame = table.scan().to_spark(spark, listing=False)
    next((tmp_path / "a [b] c").rglob("*.parquet")).unlink()
    refuses(Exception, r"FILE_NOT_EXIST|does not exist", frame.collect)


def test_names_of_files_and_metadata_are_those_of_listed_files(spark: Any, table: ds.DeltaTable) -> None:
    named = "_metadata.file_path", "_metadata.file_name", "_metadata.file_size", "input_file_name()", "id"
    listed, unlisted = (table.scan().to_spark(spark, listing=listing).selectExpr(*named) for listing in (True, False))
    assert sorted(unlisted.collect()) == sorted(listed.collect())
    # Storage and the log have other times for a file.
    fields = (
        "id", "p", "_metadata.file_path", "_metadata.row_index", "_metadata.file_size", "_metadata.file_block_length",
    )  # fmt: skip
    frames = [table.scan().to_spark(spark, metadata=True, listing=listing) for listing in (True, False)]
    listed, unlisted = (sorted(frame.selectExpr(*fields).collect()) for frame in frames)
    assert unlisted == listed
    assert len({row["file_path"] for row in unlisted}) == 12
    times = frames[1].selectExpr("unix_millis(_metadata.file_modification_time) AS time").collect()
    logged = table.scan().files(columns=["modification_time"])["modification_time"]
    assert {row["time"] for row in times} == {*logged.cast(pa.timestamp("ms", "UTC")).cast(pa.int64()).to_pylist()}


@pytest.fixture
def many(tmp_path: Path) -> ds.DeltaTable:
    """So many local files that Spark does not list them, of one row, in a folder whose name is a pattern."""
    folder = tmp_path / "a [b]* %é"
    table = ds.DeltaTable.create(folder, "id BIGINT")
    pq.write_table(pa.table({"id": [7]}), folder / "0 {x}%é.parquet")
    names = [f"{i} {{x}}%é.parquet" for i in range(LISTED)]
    for name in names[1:]:
        os.link(folder / names[0], folder / name)
    table.add_files(names)
    return table


def test_many_local_files_are_listed_here(spark: Any, many: ds.DeltaTable, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = many.scan().to_spark(spark)
    # Spark lists the files of its own index, and not those of this one.
    assert not _lists(frame)
    columns = "_metadata.file_path", "_metadata.file_size", "_metadata.file_modification_time", "input_file_name()"
    found = sorted(frame.selectExpr("id", *columns).collect())
    monkeypatch.setattr("deltaskip.settings.options.listed_files", 1 << 30)
    listed = many.scan().to_spark(spark)
    assert _lists(listed)
    assert found == sorted(listed.selectExpr("id", *columns).collect())
    assert len(found) == len(set(found)) == LISTED
    assert sorted(frame.inputFiles()) == sorted(listed.inputFiles())


def test_one_of_many_local_files_that_is_missing_is_named(spark: Any, many: ds.DeltaTable, tmp_path: Path) -> None:
    next(tmp_path.rglob("77 *.parquet")).unlink()
    refuses(ds.DataFileMissing, r"77 \{x\}%é\.parquet", lambda: many.scan().to_spark(spark))


def test_many_local_files_change_after_they_were_listed(spark: Any, many: ds.DeltaTable, tmp_path: Path) -> None:
    frame = many.scan().to_spark(spark)
    many.delete()
    assert many.scan().to_spark(spark).count() == 0
    assert frame.count() == LISTED, "the files of the earlier version are still there"
    next(tmp_path.rglob("77 *.parquet")).unlink()
    refuses(Exception, r"FILE_NOT_EXIST|does not exist", frame.count)


def _lists(frame: Any) -> bool:
    return "InMemoryFileIndex" in frame._jdf.queryExecution().toString()


@pytest.mark.long
@pytest.mark.parametrize(("vectors", "mode"), [(True, "none"), (False, "name")], ids=["vectors", "rewritten"])
def test_jobs_that_change_rows_take_values_of_files_that_are_listed_here(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, vectors: bool
) -> None:
    """Twelve partitions of two files; functions that only Spark has, so that its jobs change the rows."""
    properties = {"delta.enableDeletionVectors": str(vectors).lower(), "delta.enableRowTracking": "true"}
    properties |= {"delta.columnMapping.mode": mode, "delta.enableChangeDataFeed": "true"}
    model = {i: (f"p {i % 12}/", i) for i in range(240)}
    changed = {i for i in model if _hash_of(spark, i) % 7 == 0}
    model |= {i: (model[i][0], -i) for i in changed}
    model |= {i: (f"p {i % 12}/" if i >= 240 else model[i][0], 1000 + i) for i in range(230, 250)}
    for least in (1, 1 << 30):
        monkeypatch.setattr("deltaskip.settings.options.listed_files", least)
        if least > 1:
            monkeypatch.setattr("deltaskip.reading.read_plan._listed_here", lambda paths: None)
        schema = "id BIGINT, p STRING, x BIGINT"
        table = ds.DeltaTable.create(tmp_path / str(least), schema, ["p"], properties=properties)
        for half in (range(120), range(120, 240)):
            ids = pa.array(half, pa.int64())
            table.append(pa.table({"id": ids, "p": [f"p {i % 12}/" for i in half], "x": ids}))
        table.update({"x": "-x"}, "to_csv(struct(p)) IS NOT NULL AND pmod(hash(id), 7) = 0", spark)
        # Rows whose number Spark does not know are not collected.
        source = spark.createDataFrame([(i, f"p {i % 12}/", 1000 + i) for i in range(230, 250)], schema)
        clauses = table.merge(source, "t.id = s.id AND to_csv(struct(t.p)) = to_csv(struct(s.p))", "s", "t")
        clauses.when_matched_update_all().when_not_matched_insert_all().execute()
        found = table.scan().to_spark(spark).collect()
        assert _lists(table.scan().to_spark(spark)) == (least > 1)
        assert {row["id"]: (row["p"], row["x"]) for row in found} == model
        assert len(found) == 250
        counts = table.changes(1).to_spark(spark).groupBy("_change_type").count().collect()
        assert dict(map(tuple, counts)) == {
            "insert": 250, "update_preimage": len(changed) + 10, "update_postimage": len(changed) + 10
        }  # fmt: skip


def _hash_of(spark: Any, number: int) -> int:
    return int(spark.range(number, number + 1).selectExpr("hash(id)").first()[0])


def test_what_needs_listed_files_is_refused(spark: Any, table: ds.DeltaTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deltaskip.spark.read.session_facts.is_classic", lambda _: False)
    refuses(UnsupportedFeature, "Spark Connect", lambda: table.scan().to_spark(spark, listing=False))
