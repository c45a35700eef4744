"""Sessions that users pass: whether they can be used, the interpreter of their workers, and the errors of tasks."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, cast

from pyspark.sql import DataFrame, SparkSession

from deltaskip import errors
from deltaskip.errors import DeltaSkipError, InvalidArgument, InvalidArgumentType, SparkUnavailable, StorageError
from deltaskip.spark.session.error_conversion import keep_settings_secret_once, spark_errors_named
from deltaskip.spark.session.releases import without_pandas_warning
from deltaskip.spark.session.session_settings import holding, session_id

_UNKNOWN_CORES = 16
# Number of tasks of the job that asks executors for this package.
_ASKED = 4
NOT_ON_EXECUTORS = (
    "deltaskip is not installed in the Python environment of the Spark executors: install it there, or set "
    "spark.pyspark.python or PYSPARK_PYTHON to an interpreter that has it (an archive of conda-pack or venv-pack works "
    "as well)."
)
# Ids of the applications, and of sessions of Spark Connect, whose executors have this package.
_WITH_PACKAGE: set[str] = set()


def checked(session: object) -> SparkSession:
    """Return the session if it is a classic or Connect session that runs.

    Raises InvalidArgumentType for another type, InvalidArgument for a session that was stopped.
    """
    # The class of Connect sessions can be imported only where it is installed, so the methods of both are checked.
    if isinstance(session, type) or not callable(getattr(session, "createDataFrame", None)):
        raise InvalidArgumentType.of("spark", "a SparkSession", session)
    if _is_stopped(session):
        raise InvalidArgument("spark is a session that was stopped; create a new one, and pass that.")
    keep_settings_secret_once(session)
    return cast(SparkSession, session)


def check_frame(frame: DataFrame, name: str) -> None:
    """Raise InvalidArgument if the session of a DataFrame was stopped. name: The name of the argument."""
    if _is_stopped(frame.sparkSession):
        raise InvalidArgument(f"{name} is a DataFrame of a session that was stopped: make it again in a new session.")


def cores(spark: SparkSession) -> int:
    """Default parallelism of a classic session; Connect does not report it."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("pyspark", "builtins"):
            raise
        return _UNKNOWN_CORES


@contextmanager
def running_interpreter(spark: SparkSession) -> Iterator[None]:
    """Within the block, Python functions are prepared for workers that have this package.

    By default the workers of a local session run `python3` of PATH, which may belong to another environment;
    in the block they run the interpreter of this process. Settings of the user take precedence: PYSPARK_PYTHON,
    spark.pyspark.python. On a cluster, and through Spark Connect, a small job asks once whether executors have the
    package.

    Raises:
        SparkUnavailable: Executors lack the package, or the session does not respond.
    """
    context: Any = getattr(spark, "_sc", None) if isinstance(spark, SparkSession) else None
    if context is None:
        _check_executors_of_server(spark)
        yield
        return
    if not runs_locally(context.master):
        _check_executors(context)
        yield
        return
    if "PYSPARK_PYTHON" in os.environ or context.getConf().contains("spark.pyspark.python"):
        yield
        return
    with holding(
        "pythonExec", sys.executable, lambda: context.pythonExec, lambda value: setattr(context, "pythonExec", value)
    ):
        yield


def runs_locally(master: object) -> bool:
    """Whether tasks run in the process of the driver's JVM. The master local-cluster has separate executors."""
    return master == "local" or str(master).startswith("local[")


def not_on_executors() -> SparkUnavailable:
    """Return the error for executors without this package."""
    return SparkUnavailable(NOT_ON_EXECUTORS)


def _check_executors(context: Any) -> None:
    """Raise SparkUnavailable if executors lack this package. Each application is checked once."""
    if context.applicationId in _WITH_PACKAGE:
        return
    tasks = max(1, min(_ASKED, int(context.defaultParallelism)))
    if not all(context.parallelize(range(tasks), tasks).map(has_package).collect()):
        raise not_on_executors()
    _WITH_PACKAGE.add(context.applicationId)


def _check_executors_of_server(spark: SparkSession) -> None:
    """Raise SparkUnavailable if the executors of a Spark Connect server lack this package. Asks once per session."""
    session = session_id(spark)
    if session in _WITH_PACKAGE:
        return
    with spark_errors_named(spark, "its Python workers", "ask"), without_pandas_warning():
        try:
            found = spark.range(0, _ASKED, 1, _ASKED).mapInArrow(_imported, "has BOOLEAN").collect()
        except Exception as error:
            if "No module named 'pyarrow" not in str(error):
                raise
            raise not_on_executors() from error
    if not all(row[0] for row in found):
        raise not_on_executors()
    _WITH_PACKAGE.add(session)


def _imported(batches: Iterator[Any]) -> Iterator[Any]:
    """Whether an executor can import this package, for each batch of rows."""
    import pyarrow

    for _ in batches:
        yield pyarrow.record_batch([pyarrow.array([has_package()])], ["has"])


def has_package(_task: int = 0) -> bool:
    """Whether this Python interpreter can import this package and the libraries that read files."""
    from importlib.util import find_spec

    try:
        return all(find_spec(name) is not None for name in ("deltaskip", "pyarrow"))
    except ImportError:
        return False


# Both functions are sent with their code, since executors without this package cannot look them up.
has_package.__module__ = _imported.__module__ = "__main__"


def _is_stopped(session: Any) -> bool:
    if isinstance(session, SparkSession):
        context = getattr(session, "_sc", None)
        return context is not None and getattr(context, "_jsc", None) is None
    return bool(getattr(session, "is_stopped", False))


def collected(results: DataFrame) -> list[Any]:
    """Collect the rows of tasks of deltaskip. A DeltaSkipError of a task is raised with its type."""
    try:
        found: list[Any] = results.collect()
    except Exception as error:
        _raise_own(error)
    return found


def _raise_own(error: Exception) -> NoReturn:
    text = str(error)
    if re.search(r"No module named '(deltaskip|pyarrow)", text):
        raise not_on_executors() from error
    own = re.search(r"deltaskip\.errors\.(\w+): (.*)", text)
    if own is not None:
        kind = getattr(errors, own[1], StorageError)
        if issubclass(kind, DeltaSkipError):
            raise kind(own[2].strip()) from None
    raise error
