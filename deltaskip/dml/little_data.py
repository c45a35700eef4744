"""Whether this process carries out a part of a change that was given a Spark session, instead of a job.

It does if there is so little data that it is read and written before a job would start, and if no file may have dates
that only Spark reads. The option `spark_jobs` leaves everything to jobs. Each function of this module decides one part,
before the part begins; none is called without a session.

Measured on one core: numbers are decoded and compared in 13 ns, text in 60 to 100 ns, and a value is copied into a new
file in about 50 ns, by Spark in twice that. A job has an overhead of about a second. Over a network each file costs
requests, and bytes arrive more slowly than from a disk.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa

from deltaskip.dml.execution import RowsOfFiles
from deltaskip.log import Snapshot
from deltaskip.reading.julian import may_be_julian
from deltaskip.reading.stored_rows import StoredRows
from deltaskip.settings import options
from deltaskip.sparkexpr import types as t

_TEXT_COUNTS_AS = 6
_MOST_REMOTE_FILES = 64
_REMOTE_COUNTS_AS = 8
# Footers that are read at once, also over a network.
_READERS = 16


def is_little_to_read(snapshot: Snapshot, files: pa.Table, columns: Collection[str]) -> bool:
    """Return whether this process reads columns of files before a job would have.

    files: `DataFiles.listed`.
    """
    stored = _stored(snapshot, snapshot.schema, columns)
    width = sum(1 if _is_narrow(f.type) else _TEXT_COUNTS_AS for f in stored)
    return _is_little(snapshot, [files], width, options.values_found_here) and _are_readable(snapshot, [files], stored)


def is_little_to_copy(
    snapshot: Snapshot, parts: Sequence[RowsOfFiles], schema: t.StructType, same_machine: bool = False
) -> bool:
    """Return whether this process writes rows of files into new files before a job would have.

    same_machine: Whether the tasks of a job would run on this machine.
    """
    files = [part.files for part in parts]
    most = options.values_copied_locally if same_machine else options.values_copied_here
    if not _is_little(snapshot, files, len(t.leaves(schema)), most):
        return False
    return _are_readable(snapshot, files, _stored(snapshot, schema, schema.names))


def is_little_to_collect(rows: int, schema: t.StructType) -> bool:
    """Return whether this number of rows of a table may be held in the memory of this process."""
    return not _all_by_jobs() and rows * len(t.leaves(schema)) <= options.values_copied_here


def is_little_source(size_in_bytes: int) -> bool:
    """Return whether the source of a merge, of a size that Spark estimates, is collected by this process."""
    return not _all_by_jobs() and size_in_bytes <= options.source_bytes


def is_little_to_rewrite(size_in_bytes: int) -> bool:
    """Return whether this process rewrites files of this size in OPTIMIZE."""
    return not _all_by_jobs() and size_in_bytes <= options.optimize_here_bytes


def is_readable(snapshot: Snapshot, files: pa.Table) -> bool:
    """Return whether this process can read all columns of files. files: `DataFiles.listed`."""
    return _are_readable(snapshot, [files], _stored(snapshot, snapshot.schema, snapshot.schema.names))


def _all_by_jobs() -> bool:
    return options.spark_jobs == "always"


def _is_little(snapshot: Snapshot, files: Sequence[pa.Table], width: int, most: int) -> bool:
    """Whether files have few values. width: Values of a row."""
    if _all_by_jobs():
        return False
    counts: list[int | None] = [count for each in files for count in each["num_records"].to_pylist()]
    known = [count for count in counts if count is not None]
    if len(known) < len(counts):
        return False
    values = sum(known) * max(1, width)
    if not snapshot.storage.remote:
        return values <= most
    return len(counts) <= _MOST_REMOTE_FILES and values * _REMOTE_COUNTS_AS <= most


def _are_readable(snapshot: Snapshot, files: Sequence[pa.Table], stored: Sequence[t.StructField]) -> bool:
    """Whether the footers of the files prove that no column has dates of the Julian calendar."""
    if not any(each in t.DATETIMES for field in stored for each in t.nested_types(field.type)):
        return True
    rows = StoredRows(snapshot, t.StructType(()), "none")

    def is_gregorian(file: pa.Table) -> bool:
        with rows.open(file) as opened:
            return not may_be_julian(opened.parquet.metadata)

    each = [table.slice(number, 1) for table in files for number in range(len(table))]
    if len(each) < 2:
        # Not worth starting a thread.
        return all(map(is_gregorian, each))
    with ThreadPoolExecutor(_READERS, "deltaskip") as pool:
        return all(pool.map(is_gregorian, each))


def _stored(snapshot: Snapshot, schema: t.StructType, columns: Collection[str]) -> list[t.StructField]:
    """The columns that are stored in files."""
    partitions = frozenset(snapshot.partition_columns)
    return [field for field in schema.fields if field.name in columns and field.name not in partitions]


def _is_narrow(type_: t.DataType) -> bool:
    return type_ in t.INTEGRAL_BITS or type_ in t.DATETIMES or type_ in (t.FLOAT, t.DOUBLE, t.BOOLEAN)
