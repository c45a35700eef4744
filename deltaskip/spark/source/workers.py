"""The kind of Spark's Python process for data sources that this one is.

# Spark 4.1: the JVM starts a module of pyspark.sql.worker for each step of planning and committing
"""

from __future__ import annotations

import sys

from pyspark.sql.datasource import DataSourceReader

_PACKAGE = "pyspark.sql.worker"


def pushes_filters() -> bool:
    """Whether Spark plans a read here and passes the filters of its query."""
    return _runs("data_source_pushdown_filters")


def keeps_reads_apart() -> bool:
    """Whether Spark keeps the files of a read with the query that they were chosen for.

    Spark 4.1 to 4.3 keeps them with the DataFrame that `load` returned. Another query of it, or another part of the
    same query, would read them, too, and lack the rows of all other files. This was mended together with the method
    pushLimit (SPARK-58551).
    """
    return hasattr(DataSourceReader, "pushLimit")


def commits_streams() -> bool:
    """Whether Spark commits or gives up a micro-batch here."""
    return _runs("python_streaming_sink_runner")


def _runs(module: str) -> bool:
    """Whether this process runs the module itself, or is the child of a daemon that has imported it."""
    name = f"{_PACKAGE}.{module}"
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return name in sys.modules or (spec is not None and spec.name == name)
