"""Listing of the files of a read: in this process, or by Spark with few tasks; the error of a missing file names it."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from deltaskip.errors import DataFileMissing
from deltaskip.spark.catalog.session_tables import is_classic
from deltaskip.spark.read.file_paths import is_local, local_name
from deltaskip.spark.session.session_settings import session_settings

_NOT_FOUND = re.compile(r"\[PATH_NOT_FOUND\] Path does not exist: (.*?)\.?(?: SQLSTATE|\n|$)")
# The reverse of `escape_globs`.
_ESCAPED = re.compile(r"\\([{}\[\]*?\\])")

THRESHOLD = "spark.sql.sources.parallelPartitionDiscovery.threshold"
PARALLELISM = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
TASKS = 32


def listed_here(spark: SparkSession, paths: Sequence[str]) -> tuple[list[int], list[int]] | None:
    """Sizes in bytes and times in milliseconds of local files, for which Spark needs fifty microseconds each.

    None if Spark has to list the files: some are remote or missing, or a JVM out of reach reads them.
    """
    if not is_classic(spark) or not all(map(is_local, paths)):
        return None
    try:
        found = [os.stat(local_name(path)) for path in paths]
    except OSError:
        return None
    if not all(stat.S_ISREG(each.st_mode) for each in found):
        return None
    return [each.st_size for each in found], [each.st_mtime_ns // 1_000_000 for each in found]


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
        path = _ESCAPED.sub(r"\1", (error.getMessageParameters() or {}).get("path") or found[1])
        raise DataFileMissing(
            f"The log of {table_root} lists the data file {path}, which does not exist; it may have been vacuumed: "
            "open a newer version or restore the file."
        ) from None
