"""How Spark looks at the files that it is given: with how many tasks, and what it says of one that is not there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from deltaskip.errors import DataFileMissing
from deltaskip.spark.locations import is_local

__all__ = ["missing_files_named", "tuned_listing"]

THRESHOLD = "spark.sql.sources.parallelPartitionDiscovery.threshold"
PARALLELISM = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
TASKS = 32


@contextmanager
def tuned_listing(spark: SparkSession, paths: Sequence[str]) -> Iterator[None]:
    """Within the block Spark lists many files with few tasks, and files of this machine without any.

    By default it starts a task for each file of more than 32. Both settings are put back at the end.
    """
    local = all(map(is_local, paths))
    settings = {THRESHOLD: str(len(paths) + 1)} if local else {PARALLELISM: str(TASKS)}
    before = {key: spark.conf.get(key, None) for key in settings}
    try:
        for key, value in settings.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


@contextmanager
def missing_files_named(table_root: str) -> Iterator[None]:
    """Turns Spark's PATH_NOT_FOUND within the block into DataFileMissing, which names the table and the file."""
    try:
        yield
    except AnalysisException as error:
        condition = getattr(error, "getCondition", error.getErrorClass)
        if condition() != "PATH_NOT_FOUND":
            raise
        path = (error.getMessageParameters() or {}).get("path", str(error))
        raise DataFileMissing(
            f"The log of {table_root} lists the data file {path}, which is not in storage; it may have been vacuumed: "
            "open a newer version or restore the file."
        ) from error
