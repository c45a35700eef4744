"""Verification of data files whose statistics Spark's jobs compute."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import deltaskip as ds
from tests.maintenance.verify.damages import DAMAGES, data_files
from tests.maintenance.verify.sound_tables import SOUND

pytestmark = pytest.mark.spark


def test_a_job_finds_what_this_process_finds(spark: SparkSession, tmp_path: Path) -> None:
    """In files with deletion vectors, one of which is gone and one of which has a wrong bound."""
    SOUND["vectors"](tmp_path)
    table = ds.DeltaTable(tmp_path)
    assert table.verify(data=True, spark=spark).findings == ()
    next(each for each in DAMAGES if each.name == "a minimum that is too high").act(tmp_path)
    data_files(tmp_path)[-1].unlink()
    mine, theirs = table.verify(data=True), table.verify(data=True, spark=spark)
    assert theirs.rules >= {"data.statistics", "data.missing"}
    assert theirs.findings == mine.findings
