"""Reads whose files Spark does not list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import deltaskip as ds
from deltaskip.errors import InvalidArgument, UnsupportedFeature
from tests import corpus
from tests.spark.test_corpus_rows import expected_rows, rows_and_digest

pytestmark = pytest.mark.spark

# One of each kind: partitions of every type and with odd paths, mapped, with deletion vectors, widened, many files.
TABLES = (
    "craft__part_value_spellings", "deltars__table_with_column_mapping", "deltars__table_with_deletion_logs",
    "duckdb__issue_303_partitioned", "gen__clustered", "gen__many_files", "gen__nested", "gen__part_path_chars",
    "gen__part_types", "gen__row_tracking_dv", "gen__type_widening", "gen__types_cm_id_part",
)  # fmt: skip


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
    finally:
        kept.unpersist()
    assert frame.join(frame.select("id"), "id").count() == 7


def test_a_missing_file_raises_when_the_frame_runs(spark: Any, table: ds.DeltaTable, tmp_path: Path) -> None:
    frame = table.scan().to_spark(spark, listing=False)
    next((tmp_path / "a [b] c").rglob("*.parquet")).unlink()
    with pytest.raises(Exception, match=r"FILE_NOT_EXIST|does not exist"):
        frame.collect()


def test_what_needs_listed_files_is_refused(spark: Any, table: ds.DeltaTable, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgument, match="listing=True"):
        table.scan().to_spark(spark, metadata=True, listing=False)
    monkeypatch.setattr("deltaskip.spark.file_index.is_classic", lambda _: False)
    with pytest.raises(UnsupportedFeature, match="Spark Connect"):
        table.scan().to_spark(spark, listing=False)
