"""Whether this process carries out a part of a change that was given a Spark session, instead of a job.

It does if there is little data: as much as it reads and writes in the time that a job takes to start. The option
`spark_jobs` leaves everything to jobs. Each function here answers for one part; none is asked without a session.

Measured on one core: numbers are decoded and compared in 13 ns, text in 60 to 100 ns, and a value is copied into a new
file in about 50 ns, by Spark in twice that. A job costs about a second beside its work. Over a network each file costs
requests, and bytes come slower than from a disk.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from deltaskip.dml.execution import RowsOfFiles
from deltaskip.expr.coerce import DATETIMES, INTEGRAL_BITS
from deltaskip.log import Snapshot
from deltaskip.schema.resolve import leaves
from deltaskip.schema.types import BOOLEAN, DOUBLE, FLOAT, DataType, StructType
from deltaskip.settings import options

_TEXT_COUNTS_AS = 6
_MOST_REMOTE_FILES = 64
_REMOTE_COUNTS_AS = 8


def is_little_to_read(snapshot: Snapshot, num_records: Sequence[int | None], columns: Collection[str]) -> bool:
    """Return whether reading columns of some files takes less than a job, given the number of rows of each file."""
    partitions = frozenset(snapshot.partition_columns)
    stored = [f for f in snapshot.schema.fields if f.name in columns and f.name not in partitions]
    width = sum(1 if _is_narrow(f.type) else _TEXT_COUNTS_AS for f in stored)
    return _is_little(snapshot, num_records, width, options.values_found_here)


def is_little_to_copy(
    snapshot: Snapshot, parts: Sequence[RowsOfFiles], schema: StructType, same_machine: bool = False
) -> bool:
    """Return whether writing rows of files into new files takes less than a job.

    same_machine: Whether the tasks of a job would run on this machine.
    """
    num_records = [count for part in parts for count in part.files["num_records"].to_pylist()]
    most = options.values_copied_locally if same_machine else options.values_copied_here
    return _is_little(snapshot, num_records, len(leaves(schema)), most)


def is_little_to_collect(rows: int, schema: StructType) -> bool:
    """Return whether this number of rows of a table may be held in the memory of this process."""
    return not _all_by_jobs() and rows * len(leaves(schema)) <= options.values_copied_here


def is_little_source(size_in_bytes: int) -> bool:
    """Return whether the source of a merge, of a size that Spark estimates, is collected by this process."""
    return not _all_by_jobs() and size_in_bytes <= options.source_bytes


def is_little_to_rewrite(size_in_bytes: int) -> bool:
    """Return whether this process rewrites files of this size in OPTIMIZE."""
    return not _all_by_jobs() and size_in_bytes <= options.optimize_here_bytes


def _all_by_jobs() -> bool:
    return options.spark_jobs == "always"


def _is_little(snapshot: Snapshot, num_records: Sequence[int | None], width: int, most: int) -> bool:
    if _all_by_jobs():
        return False
    known = [count for count in num_records if count is not None]
    values = sum(known) * max(1, width)
    if len(known) < len(num_records):
        return False
    if not snapshot.storage.remote:
        return values <= most
    return len(known) <= _MOST_REMOTE_FILES and values * _REMOTE_COUNTS_AS <= most


def _is_narrow(type_: DataType) -> bool:
    return type_ in INTEGRAL_BITS or type_ in DATETIMES or type_ in (FLOAT, DOUBLE, BOOLEAN)
