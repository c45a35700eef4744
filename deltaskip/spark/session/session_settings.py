"""The kind, id, objects of the JVM and settings of a session.

The attributes that PySpark and py4j do not publish are read here. Settings, and descriptions of jobs, can be changed
for the time of an operation. Operations of threads overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from copy import copy
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import pyspark
from pyspark.sql import DataFrame, SparkSession

from deltaskip.doors import first_line
from deltaskip.errors import MaintenanceWarning, SparkUnavailable
from deltaskip.fork_safety import new_lock
from deltaskip.warning import warn

# Spark 4.1, ParquetOptions and FileFormatWriter: settings of the session that are also options of one write.
SESSION_CODEC = "spark.sql.parquet.compression.codec"
SESSION_MAX_ROWS = "spark.sql.files.maxRecordsPerFile"
_DESCRIPTION = "spark.job.description"
# Between the pairs of a map of Scala as text, and inside of each.
_BETWEEN, _IS = "\0", " -> "

# The values of blocks that have not ended, by key: the value before the first block, then one for each block.
_asked: dict[Hashable, list[tuple[object, Any]]] = {}
_lock = new_lock()
# Of classic sessions.
_states: WeakKeyDictionary[SparkSession, Any] = WeakKeyDictionary()


def is_classic(spark: object) -> bool:
    """Whether this process can call the JVM of the session. A client of Spark Connect cannot."""
    return getattr(spark, "_jsparkSession", None) is not None


def java_session(spark: Any) -> Any:
    """Return the session of the JVM of a classic session."""
    return spark._jsparkSession


def java_view(spark: Any) -> Any:
    """Return the packages of the JVM of a classic session."""
    return spark._jvm


def java_frame(frame: Any) -> Any:
    """Return the Dataset of a classic DataFrame."""
    return frame._jdf


def java_class(of: Any) -> Any:
    """Return the java.lang.Class of a class of the JVM."""
    return of._java_lang_class


def private_field(of: Any, name: str) -> Any:
    """Return a field that the class of an object of the JVM hides."""
    field = of.getClass().getDeclaredField(name)
    field.setAccessible(True)
    return field


def gateway_of(context: Any) -> Any:
    """Return the gateway of a SparkContext, which creates arrays and takes calls of the JVM."""
    return context._gateway


def java_state(spark: SparkSession) -> Any:
    """Return the state of a classic session, with its catalog and parser. A session is asked for it once."""
    found = _states.get(spark)
    if found is None:
        found = _states[spark] = java_session(spark).sessionState()
    return found


def session_id(spark: SparkSession) -> str:
    """The id of a session, the same for all Python objects of the session."""
    return str(java_session(spark).sessionUUID() if is_classic(spark) else getattr(spark, "_session_id", None))


def all_settings(spark: SparkSession) -> Mapping[str, str]:
    """All settings that the session, its application or its server has set, in one request."""
    if not is_classic(spark):
        return _settings_of_server(spark)
    # The JVM joins them: a request for each would take 0.1 ms.
    pairs = str(java_state(spark).conf().getAllConfs().mkString(_BETWEEN)).split(_BETWEEN)
    return dict(each.split(_IS, 1) for each in pairs if _IS in each)


def _settings_of_server(spark: Any) -> Mapping[str, str]:
    found = getattr(type(spark.conf), "getAll", None)
    if found is not None:
        return dict(spark.conf.getAll)
    # The client of Spark 3.5 has the request, but no method for it.
    from pyspark.sql.connect import proto

    request = proto.ConfigRequest.Operation(get_all=proto.ConfigRequest.GetAll())
    return dict(spark.conf._client.config(request).pairs)


@contextmanager
def session_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set runtime settings of the session within the block, and restore them at the end, see `holding`."""
    session = session_id(spark)
    with ExitStack() as held:
        for key, value in settings.items():
            get = partial(spark.conf.get, key, None)
            held.enter_context(holding((session, key), value, get, partial(_put, spark, key)))
        yield


def with_settings(frame: DataFrame, settings: Mapping[str, str]) -> tuple[DataFrame, AbstractContextManager[None]]:
    """Return the rows of a DataFrame for a job that needs settings, and a context in which the job has them.

    In a classic process the rows are those of a clone of the session, so that jobs that other threads start have the
    settings of the session. A server of Spark Connect has them set within the context.
    """
    spark = frame.sparkSession
    if not is_classic(spark):
        return frame, session_settings(spark, settings)
    clone = java_session(spark).cloneSession()
    for key, value in settings.items():
        clone.sessionState().conf().setConfString(key, value)
    # The constructor would give the clone to RDD.toDF.
    own = copy(spark)
    vars(own).update(_jsparkSession=clone)
    vars(own).pop("_conf", None)
    return frame_of(own, java_frame(frame).queryExecution().analyzed()), nullcontext()


def frame_of(spark: SparkSession, plan: Any) -> DataFrame:
    """Return the DataFrame of a logical plan in a classic session."""
    sql = java_view(spark).org.apache.spark.sql
    made = sql.Dataset if pyspark.__version__.startswith("3.") else sql.classic.Dataset
    return DataFrame(made.ofRows(java_session(spark), plan), spark)


def _put(spark: SparkSession, key: str, value: str | None) -> None:
    if value is None:
        spark.conf.unset(key)
    else:
        spark.conf.set(key, value)


@contextmanager
def described_jobs(spark: SparkSession, act: str) -> Iterator[None]:
    """Within the block, jobs that this thread starts have a description, after the user's if there is one.

    The description belongs to the thread, and the previous description is restored at the end of the block. A client
    of Spark Connect cannot set a description, so the block changes nothing.

    Args:
        spark: The session.
        act: The operation of the jobs, such as "write to /data/sales".
    """
    context: Any = getattr(spark, "_sc", None) if isinstance(spark, SparkSession) else None
    if context is None:
        yield
        return
    try:
        before = context.getLocalProperty(_DESCRIPTION)
        context.setJobDescription(": ".join(filter(None, (before, "deltaskip", act))))
    except AttributeError as error:
        # Another thread has stopped the session.
        raise SparkUnavailable(f"Spark cannot {act}: its session was stopped; create a new session.") from error
    try:
        yield
    finally:
        with suppress(AttributeError):
            context.setLocalProperty(_DESCRIPTION, before)


@contextmanager
def holding(key: Hashable, value: Any, get: Callable[[], Any], put: Callable[[Any], None]) -> Iterator[None]:
    """Set a value within the block, and restore the previous value at its end.

    Blocks may be nested, and may overlap in threads. The open block that began last decides the value. The value from
    before the first block is restored when the last block ends.

    Args:
        key: Identifies the value; equal for all blocks that change it.
        value: The value within the block.
        get: Returns the value. It is called only if no other block is open.
        put: Changes the value. It is called only if the value differs from the previous value.
    """
    block = object()
    with _lock:
        held = _asked.get(key) or [(None, get())]
        if held[-1][1] != value:
            put(value)
        _asked[key] = [*held, (block, value)]
    try:
        yield
    finally:
        with _lock:
            held = _asked.pop(key)
            left = [each for each in held if each[0] is not block]
            if len(left) > 1:
                _asked[key] = left
            if left[-1][1] != held[-1][1]:
                _put_back(key, put, left[-1][1])


def _put_back(key: Hashable, put: Callable[[Any], None], value: Any) -> None:
    """Restore a value. A failure becomes a warning, since an error would discard the result of the block."""
    try:
        put(value)
    except Exception as error:
        what = key[-1] if isinstance(key, tuple) else key
        warn(f"The setting {what} of the Spark session could not be put back: {first_line(error)}.", MaintenanceWarning)
