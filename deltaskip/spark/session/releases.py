"""Differences between the releases of PySpark and their Connect clients."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from time import monotonic, sleep
from typing import Any

import pyspark
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, DataFrameReader, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, FloatType

from deltaskip.errors import UnsupportedFeature
from deltaskip.lazy_regex import regex
from deltaskip.spark.session.jvm import Jvm

_METADATA = "_metadata"
_RANDOM = regex(r"\b(uuid|rand|randn|random|randstr|uniform|shuffle|monotonically_increasing_id)\(", re.IGNORECASE)
_SPARK_3 = pyspark.__version__.startswith("3.")
_FLOATING = (DoubleType, FloatType)
_COUNTED = "rows"
_EVENT_SECONDS = 10
_POLL_SECONDS = 0.005


def union_of_frames(frames: Iterable[DataFrame]) -> DataFrame:
    """The rows of all frames, by position. In Spark 3.5 the frames of classic and Connect sessions differ in class."""
    return reduce(lambda left, right: left.union(right), frames)


def loaded(reader: DataFrameReader, paths: Sequence[str]) -> DataFrame:
    """One scan of files, as `reader.load(paths)`. A classic session gets all paths in one request."""
    java = getattr(reader, "_jreader", None)
    if java is None:
        return reader.load([*paths])
    return reader._df(java.load(Jvm(reader._spark).strings(paths)))


def persisted_rows(frame: DataFrame) -> tuple[DataFrame, Callable[[], object]]:
    """The rows of a DataFrame, persisted by the first job that needs them, and the function that releases them.

    Spark's bounds of persisted batches leave NaN out, so that a filter such as x > 5, which is true for NaN, or that of
    a join loses rows. # Spark 4.1, DoubleColumnStats. No filter passes one that is not deterministic.
    """
    persisted = frame.persist(StorageLevel.MEMORY_AND_DISK)
    numbers = any(isinstance(field.dataType, _FLOATING) for field in frame.schema.fields)
    return persisted.where(F.monotonically_increasing_id() >= 0) if numbers else persisted, persisted.unpersist


def held_rows(frame: DataFrame) -> tuple[DataFrame, Callable[[], object]]:
    """The rows of a DataFrame, computed once by the first job that needs them, and the function that releases them.

    A server of Spark Connect analyzes a persisted DataFrame anew for each request, and does not find it again if it
    has functions such as uuid(), whose seed is part of the analyzed plan. For Connect, the rows are checkpointed.

    Raises UnsupportedFeature for such functions in Connect 3.5, whose client cannot checkpoint.
    """
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        if not _SPARK_3:
            # The server keeps the rows as long as the client has their DataFrame.
            return frame.localCheckpoint(eager=False), lambda: None
        found = _RANDOM.search(frame._explain_string(extended=True))
        if found is not None:
            raise UnsupportedFeature(
                f"The Spark Connect client {pyspark.__version__} cannot keep the values of {found[1]}(), which differ "
                f"each time they are computed; use Spark 4.0 or newer, or a classic session."
            )
    return persisted_rows(frame)


def counted_rows(frame: DataFrame) -> tuple[DataFrame, Callable[[], int | None]]:
    """The rows of a DataFrame, and a function that returns how many there were in the first job that read them.

    The function returns None where Spark does not report it: to the client of Connect 3.5, and if a driver with too
    much to do has dropped the event.
    """
    observation: Any
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        if _SPARK_3:
            return frame, lambda: None
        from pyspark.sql.connect.observation import Observation as ObservationOfServer

        observation = ObservationOfServer()
    else:
        observation = Observation()
    observed = frame.observe(observation, F.count(F.lit(1)).alias(_COUNTED))

    def counted() -> int | None:
        java = getattr(observation, "_jo", None)
        ends = monotonic() + _EVENT_SECONDS
        # Reading a metric that has not arrived would wait for it without end.
        while java is not None and not _has_arrived(java):
            if monotonic() > ends:
                return None
            sleep(_POLL_SECONDS)
        found: int | None = observation.get.get(_COUNTED)
        return found

    return observed, counted


def _has_arrived(observation: Any) -> bool:
    """Whether an observation of the JVM has its metrics, which only a private field tells before Spark 3.5.8."""
    if not _SPARK_3:
        return bool(observation.future().isCompleted())
    for field in observation.getClass().getDeclaredFields():
        if field.getName() == "metrics":
            field.setAccessible(True)
            return bool(field.get(observation).isDefined())
    return bool(observation.future().isCompleted())


@contextmanager
def without_pandas_warning() -> Iterator[None]:
    """Within the block, PySpark's warning about pandas 3 is not shown: the values passed here contain no pandas."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
        yield


def metadata_column(frame: DataFrame) -> Column:
    """The `_metadata` struct of a scan, also if the files have a column of this name.

    Raises UnsupportedFeature where the client of Spark 3.5 cannot tell the two apart.
    """
    named: Any = getattr(type(frame), "metadataColumn", None)
    if named is not None:
        found: Column = named(frame, _METADATA)
        return found
    java = getattr(frame, "_jdf", None)
    if java is not None:
        return Column(java.metadataColumn(_METADATA))
    if _METADATA in (name.lower() for name in frame.columns):
        raise UnsupportedFeature(
            f"The Spark Connect client {pyspark.__version__} cannot read files with a column named {_METADATA} here; "
            "use Spark 4.0 or newer, or a classic session."
        )
    return F.col(_METADATA)
