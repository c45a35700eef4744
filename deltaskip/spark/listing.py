"""How Spark lists the files of a read: the number of tasks, and the error for a missing file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from deltaskip.errors import DataFileMissing
from deltaskip.spark.locations import is_local
from deltaskip.spark.settings import session_settings

__all__ = ["missing_files_named", "tuned_listing"]

_NOT_FOUND = re.compile(r"\[PATH_NOT_FOUND\] Path does not exist: (.*?)\.?(?: SQLSTATE|\n|$)")

THRESHOLD = "spark.sql.sources.parallelPartitionDiscovery.threshold"
PARALLELISM = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
TASKS = 32


@contextmanager
def tuned_listing(spark: SparkSession, paths: Sequence[str]) -> Iterator[None]:
    """Within the block, let Spark list many files with few tasks, and local files without any.

    By default Spark starts a task for each file if there are more than 32. Both settings are restored at the end.
    """
    local = all(map(is_local, paths))
    settings = {THRESHOLD: str(len(paths) + 1)} if local else {PARALLELISM: str(TASKS)}
    with session_settings(spark, settings):
        yield


@contextmanager
def missing_files_named(table_root: str) -> Iterator[None]:
    """Within the block, convert Spark's PATH_NOT_FOUND to DataFileMissing, which names the table and the file."""
    try:
        yield
    except AnalysisException as error:
        # The client of Spark Connect 3.5 has the condition and the path in its text only.
        found = _NOT_FOUND.search(str(error))
        if found is None:
            raise
        path = (error.getMessageParameters() or {}).get("path", found[1])
        raise DataFileMissing(
            f"The log of {table_root} lists the data file {path}, which does not exist; it may have been vacuumed: "
            "open a newer version or restore the file."
        ) from None
