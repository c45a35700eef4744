"""The Spark UI describes jobs that deltaskip runs, and no others; Spark's own store of jobs is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import deltaskip as ds

pytestmark = pytest.mark.spark

DESCRIPTION = "spark.job.description"


def descriptions(spark: Any) -> dict[int, str | None]:
    """The description of each job so far, by its number; None for a job without one."""
    context = spark.sparkContext._jsc.sc()
    # The store is filled by events, which come after their jobs.
    context.listenerBus().waitUntilEmpty()
    jobs = context.statusStore().jobsList(None)
    found = (jobs.apply(i) for i in range(jobs.size()))
    return {job.jobId(): job.description().get() if job.description().isDefined() else None for job in found}


@pytest.fixture
def table(tmp_path: Path) -> ds.DeltaTable:
    return ds.DeltaTable.create(tmp_path / "t", "id BIGINT, name STRING")


def test_jobs_of_writes_and_changes_say_what_they_do(spark: Any, table: ds.DeltaTable, found_by_a_job: None) -> None:
    context = spark.sparkContext
    context.setJobDescription("nightly")
    try:
        before = descriptions(spark)
        table.append(spark.range(20).selectExpr("id", "CAST(id AS STRING) AS name"))
        table.delete("id % 2 = 0", spark=spark)
        table.recompute_stats(spark, resume=False, mode="scan")
        found = {text for job, text in descriptions(spark).items() if job not in before}
        assert context.getLocalProperty(DESCRIPTION) == "nightly"
        root, uri = table.snapshot.root, table.uri
        expected = {f"write to {root}", f"find rows of {root}", f"compute statistics of {uri}"}
        assert {f"nightly: deltaskip: {act}" for act in expected} <= found
    finally:
        context.setLocalProperty(DESCRIPTION, None)


def test_dataframes_run_under_the_description_of_the_user(spark: Any, table: ds.DeltaTable) -> None:
    before = descriptions(spark)
    table.append(spark.range(20).selectExpr("id", "CAST(id AS STRING) AS name"))
    between = descriptions(spark)
    written = {text for job, text in between.items() if job not in before}
    assert written == {f"deltaskip: write to {table.snapshot.root}"}
    table.scan("id > 5").to_spark(spark).collect()
    found = {text for job, text in descriptions(spark).items() if job not in between}
    assert len(found) == 1 and "deltaskip" not in str(found)


def test_the_description_is_restored_after_an_error(spark: Any, table: ds.DeltaTable) -> None:
    failing = spark.range(3).selectExpr("id", "raise_error('no') AS name")
    with pytest.raises(ds.DeltaSkipError):
        table.append(failing)
    assert spark.sparkContext.getLocalProperty(DESCRIPTION) is None
