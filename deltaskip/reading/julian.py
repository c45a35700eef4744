"""Dates and times of files that may be in the Julian calendar, which Spark converts and pyarrow does not."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deltaskip.sparkexpr.types import DATE, TIMESTAMP
from deltaskip.stats.believed_bounds import GREGORIAN_FROM, SPARK_VERSION_KEY, hybrid_calendar


def may_be_julian(footer: pq.FileMetaData) -> bool:
    """Whether dates and times of a file may be in the Julian calendar, which Spark converts and pyarrow does not."""
    return is_of_old_writer(footer.metadata or {})


def is_of_old_writer(metadata: Mapping[bytes, bytes]) -> bool:
    """Whether the metadata in a file's footer is that of a Spark whose dates and times may be Julian.

    # Spark 4.1, spark.sql.parquet.datetimeRebaseModeInRead: CORRECTED, so it converts no file of another writer.
    """
    return SPARK_VERSION_KEY in metadata and any(hybrid_calendar(b"", metadata))


def has_older(array: pa.Array) -> bool:
    """Whether a date or time, at any depth, is earlier than the first one on which both calendars agree."""
    kind = array.type
    if pa.types.is_struct(kind):
        return any(map(has_older, array.flatten()))
    if pa.types.is_map(kind):
        return has_older(array.keys) or has_older(array.items)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return has_older(array.flatten())
    if pa.types.is_date(kind):
        oldest, first = pc.min(array.cast(pa.date32())).cast(pa.int32()).as_py(), GREGORIAN_FROM[DATE]
    elif pa.types.is_timestamp(kind):
        micros = array.cast(pa.timestamp("us", kind.tz), safe=False)
        oldest, first = pc.min(micros).cast(pa.int64()).as_py(), GREGORIAN_FROM[TIMESTAMP]
    else:
        return False
    return oldest is not None and oldest < first
