"""Scans of the corpus through Spark: the predicate's rows, whatever files were pruned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from deltaskip import DeltaTable, col
from deltaskip.errors import DataFileMissing
from tests import corpus
from tests.extent import extent
from tests.looped import looped
from tests.spark.session_zone import session_zone

pytestmark = pytest.mark.spark

# Rows of all cases would take as long as everything else together. With 8 the sample reaches every table.
EVERY = extent(150, 8)


def sampled() -> list[Any]:
    cases = [c for c in corpus.skipping_cases() if not c.get("delta_spark_lost")]
    return cases[::EVERY] or corpus.absent()


@looped("case", sampled(), lambda case: case["id"])
def test_a_scan_gives_exactly_the_rows_that_match(spark: Any, case: dict[str, Any]) -> None:
    table = DeltaTable(corpus.table(case["table"]).path, version=case["version"])
    assert table.scan(where=case["sql"]).to_spark(spark).count() == case["matching_rows"]


def test_columns_and_limit_of_the_scan_hold(spark: Any, shared: Path) -> None:
    table = DeltaTable(corpus.table("gen__many_files").path)
    frame = table.scan(where=col("p") >= 1, columns=["id"], limit=7).to_spark(spark)
    assert frame.columns == ["id"]
    assert frame.count() == 7


@pytest.mark.long
def test_a_zone_less_literal_is_read_in_the_sessions_zone(spark: Any, shared: Path) -> None:
    table = DeltaTable(corpus.table("gen__part_types").path)
    everything = table.scan().to_spark(spark)
    for zone in ("UTC", "America/Los_Angeles", "Asia/Tokyo"):
        with session_zone(spark, zone):
            for where in ("pts >= '2024-03-09 22:00:00'", "pts < '2024-03-10 11:30:00.25'", "hour(pts) = 2"):
                assert table.scan(where=where).to_spark(spark).count() == everything.where(where).count()


def test_a_vacuumed_file_is_named(spark: Any, shared: Path) -> None:
    with pytest.raises(DataFileMissing, match="checkpoints_vacuumed"):
        DeltaTable(corpus.table("deltars__checkpoints_vacuumed").path).scan().to_spark(spark)
