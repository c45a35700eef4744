"""What the releases of PySpark and their Connect clients do differently."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from deltaskip.errors import UnsupportedFeature

__all__ = ["broadcast_rows", "metadata_column", "union", "without_pandas_warning"]

_METADATA = "_metadata"
_TAKES_ARROW = not pyspark.__version__.startswith("3.")


def union(frames: Iterable[DataFrame]) -> DataFrame:
    """The rows of all frames, by position. In Spark 3.5 the frames of classic and Connect sessions differ in class."""
    return reduce(lambda left, right: left.union(right), frames)


def broadcast_rows(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """A DataFrame of an Arrow table; Spark 3.5 takes Python rows only."""
    if _TAKES_ARROW:
        with without_pandas_warning():
            return spark.createDataFrame(rows)
    from pyspark.sql.pandas.types import from_arrow_schema

    values = list(zip(*(column.to_pylist() for column in rows.columns), strict=True))
    return spark.createDataFrame(values, from_arrow_schema(rows.schema))


@contextmanager
def without_pandas_warning() -> Iterator[None]:
    """Within the block, PySpark's warning about pandas 3 is not shown: what is passed here contains no pandas."""
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
