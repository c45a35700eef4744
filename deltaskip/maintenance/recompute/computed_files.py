"""Statistics of a table's files, without committing them: what engines share, and the computation in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import pyarrow as pa

from deltaskip.actions import FILE_SCHEMA, DeletionVectorDescriptor, hadoop_path
from deltaskip.log import Snapshot
from deltaskip.log.deletion_vectors import read_deletion_vector, vector_location
from deltaskip.progress import LOGGER, table_name
from deltaskip.records import dataclass
from deltaskip.sparkexpr.values.arrow_values import arrow_array, no_rows
from deltaskip.stats.facts import FileFacts
from deltaskip.stats.file_facts import FileReader, StatisticsRequest, stats_json
from deltaskip.stats.footer import read_footer
from deltaskip.stats.merged_stats import merged_stats
from deltaskip.storage import Storage, storage_for

# Round trips of a store overlap; more threads would wait for the GIL.
_REMOTE_READERS = 16


RESULT_SCHEMA = pa.schema(
    [
        pa.field("path", pa.string(), nullable=False),
        pa.field("dv_id", pa.string()),
        pa.field("num_records", pa.int64(), nullable=False),
        pa.field("stats", pa.string(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("scanned", pa.int64(), nullable=False),
        pa.field("logged_stats", pa.string()),
        *(FILE_SCHEMA.field(name) for name in FILE_SCHEMA.names if name not in ("path", "size", "stats")),
    ]
)
"""Computed statistics, one row per file: `stats` is new; `logged_stats` and other columns of FILE_SCHEMA as logged."""


class RecomputingEngine(Protocol):
    """An engine that computes statistics by jobs."""

    def recompute_statistics(
        self,
        session: Any,
        snapshot: Snapshot,
        files: Iterable[pa.RecordBatch],
        request: StatisticsRequest,
        *,
        merge: bool,
        job_files: int,
    ) -> Iterator[pa.Table]:
        """Compute statistics of `files`, rows of FILE_SCHEMA; one table of RESULT_SCHEMA for each `job_files` files.

        merge: keep the logged statistics of columns that are not part of the request.
        """


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file to read, or a piece of it.

    number: index of the file in the job. size: in bytes. piece: (i, n) for piece i of n of the file's row groups.
    """

    number: int
    location: str
    size: int
    deletion_vector: DeletionVectorDescriptor | None = None
    piece: tuple[int, int] = (0, 1)


@dataclass(frozen=True, slots=True)
class ComputedFile:
    """The computed statistics of a file in the form of an add action, its rows, and how many columns were read."""

    stats: str
    num_records: int
    scanned: int


def computed_here(
    snapshot: Snapshot, files: Iterable[pa.RecordBatch], request: StatisticsRequest, *, merge: bool, job_files: int
) -> Iterator[pa.Table]:
    """Compute the statistics of `files` in this process, several files at once. Arguments as for computed_tables.

    Raises as stats.compute does for a file.
    """
    reader, storage = FileReader(request), snapshot.storage
    readers = _REMOTE_READERS if storage.remote else os.cpu_count() or 1

    def one(file: DataFile) -> ComputedFile:
        near = storage_for(file.location, None, storage)
        facts = facts_of(reader, near, file, snapshot.table_root)
        return ComputedFile(stats_json(facts, request), facts.num_records, facts.scanned)

    def compute(chosen: Sequence[DataFile], vectors: pa.StructArray) -> list[ComputedFile]:
        if len(chosen) == 1:
            return [one(chosen[0])]
        with ThreadPoolExecutor(readers, "deltaskip") as pool:
            running = [pool.submit(one, file) for file in chosen]
            try:
                return [each.result() for each in running]
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    for table in computed_tables(snapshot, files, request, compute, merge=merge, job_files=job_files):
        LOGGER.info("%s: computed statistics of %d files in this process", table_name(snapshot.root), len(table))
        yield table


def computed_tables(
    snapshot: Snapshot,
    files: Iterable[pa.RecordBatch],
    request: StatisticsRequest,
    compute: Callable[[Sequence[DataFile], pa.StructArray], Sequence[ComputedFile]],
    *,
    merge: bool,
    job_files: int,
) -> Iterator[pa.Table]:
    """Yield the statistics of files in the form of `add` actions: RESULT_SCHEMA, one table per `job_files` files.

    The columns of the results: path, as logged (with dv_id the key of the logical file); num_records, the physical rows
    of the file; scanned, the number of columns whose values were read; logged_stats and everything after it, as logged.
    Rows that a deletion vector deletes do not count for bounds and null counts.

    Args:
        snapshot: The version of the table that the files are part of.
        files: Rows of FILE_SCHEMA. The iterable is consumed while the results are.
        request: The statistics to compute for each file.
        compute: Returns the statistics of files, numbered by their position, in their order; its further argument is
            the deletion vectors of the files, as logged.
        merge: Keep the logged statistics of columns that are not part of the request.
        job_files: Files for one call of `compute`.
    """
    for chosen in _gathered(files, job_files):
        data_files = _data_files(snapshot, chosen)
        found = compute(data_files, chosen["deletion_vector"].combine_chunks())
        yield _result(chosen, data_files, found, request, merge)


def facts_of(
    reader: FileReader, storage: Storage, file: DataFile, table_root: str, options: Mapping[str, str] | None = None
) -> FileFacts:
    """Return the facts of a file or of a piece of it, without its deleted rows.

    Args:
        reader: The reader of the request.
        storage: Storage of the file.
        file: The file.
        table_root: URI of the table.
        options: Options of the store of the deletion vector, if it differs from the file's.
    """
    deleted = None
    if file.deletion_vector is not None:
        location = vector_location(table_root, file.deletion_vector)
        holder = storage if location is None else storage_for(location, options, storage)
        rows = read_footer(storage, file.location, file.size).num_rows
        deleted = read_deletion_vector(holder, table_root, file.deletion_vector, rows)
    i, n = file.piece
    groups = None
    if n > 1:
        count = len(read_footer(storage, file.location, file.size).row_groups)
        groups = [group for group in range(count) if group * n // count == i]
    return reader.facts(storage, file.location, size=file.size, deleted=deleted, row_groups=groups)


def _gathered(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.Table]:
    """The batches as tables of `rows` rows, except the last; in chunks, since one contains at most 2 GiB of text."""
    held = no_rows(FILE_SCHEMA)
    for batch in batches:
        held = pa.concat_tables([held, pa.Table.from_batches([batch], FILE_SCHEMA)])
        while len(held) >= rows:
            yield held.slice(0, rows)
            held = held.slice(rows)
    if len(held):
        yield held


def _data_files(snapshot: Snapshot, files: pa.Table) -> list[DataFile]:
    found = []
    rows = zip(files["path"].to_pylist(), files["size"].to_pylist(), files["deletion_vector"].to_pylist(), strict=True)
    for number, (path, size, vector) in enumerate(rows):
        descriptor = None if vector is None else DeletionVectorDescriptor(**vector)
        found.append(DataFile(number, hadoop_path(snapshot.table_root, path), size, descriptor))
    return found


def _result(
    files: pa.Table,
    data_files: Sequence[DataFile],
    found: Sequence[ComputedFile],
    request: StatisticsRequest,
    merge: bool,
) -> pa.Table:
    stats = [each.stats for each in found]
    if merge:
        both = zip(files["stats"].to_pylist(), stats, strict=True)
        stats = [merged_stats(old, new, request) for old, new in both]
    vectors = [file.deletion_vector for file in data_files]
    ids = [None if vector is None else vector.unique_id for vector in vectors]
    new = {
        "dv_id": arrow_array(ids, pa.string()),
        "num_records": arrow_array([each.num_records for each in found], pa.int64()),
        "stats": arrow_array(stats, pa.string()),
        "scanned": arrow_array([each.scanned for each in found], pa.int64()),
        "logged_stats": files["stats"],
    }
    columns = [new[name] if name in new else files[name] for name in RESULT_SCHEMA.names]
    return pa.Table.from_arrays(columns, schema=RESULT_SCHEMA)
