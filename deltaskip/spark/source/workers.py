"""The Python processes in which Spark runs a data source: the module that runs, and processes without this package.

# Spark 4.1: the JVM starts a module of pyspark.sql.worker for each step of planning and committing
"""

from __future__ import annotations

import sys
from typing import Any

from pyspark import cloudpickle
from pyspark.sql.datasource import DataSourceReader

from deltaskip.spark.session.checks import NOT_ON_EXECUTORS, has_package

HIDE_TRACEBACK = "SPARK_HIDE_TRACEBACK"
"""The environment variable that makes a Python process of Spark report an error without its traceback."""

_PACKAGE = "pyspark.sql.worker"


class SentToWorkers:
    """An object that Spark sends to Python workers. A worker without this package raises an error that says so.

    A data source does not know the session when Spark plans it, so executors cannot be checked before the job.
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """The object as bytes, which workers unpickle if they have its class."""
        return _unpickled, (cloudpickle.dumps((type(self), self.__getstate__())),)


def _unpickled(packed: bytes) -> Any:
    """The object that was sent. Raises ModuleNotFoundError, without a traceback, in a worker without this package."""
    import os
    import pickle

    if not has_package():
        # The worker ends with this error.
        os.environ[HIDE_TRACEBACK] = "1"
        raise ModuleNotFoundError(NOT_ON_EXECUTORS)
    kind, state = pickle.loads(packed)
    made = object.__new__(kind)
    made.__dict__.update(state or {})
    return made


# Spark sends the function and has_package with their code, since workers without this package cannot look them up.
_unpickled.__module__ = "__main__"


def pushes_filters() -> bool:
    """Whether this process plans a read and gets the filters of its query."""
    return _runs("data_source_pushdown_filters")


def keeps_reads_apart() -> bool:
    """Whether Spark keeps the files of a read with the query that they were chosen for.

    Spark 4.1 to 4.3 keeps the files with the DataFrame that `load` returned. Another query of this DataFrame, or
    another part of the same query, would read the same files and miss the rows of all others. The release that adds
    the method pushLimit fixes this (SPARK-58551).
    """
    return hasattr(DataSourceReader, "pushLimit")


def commits_streams() -> bool:
    """Whether this process commits or aborts micro-batches."""
    return _runs("python_streaming_sink_runner")


def _runs(module: str) -> bool:
    """Whether this process runs the module itself, or is the child of a daemon that has imported it."""
    name = f"{_PACKAGE}.{module}"
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return name in sys.modules or (spec is not None and spec.name == name)
