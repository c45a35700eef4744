"""Removing rows: whole files by their tombstones, rows of other files by deletion vectors or by rewriting the files."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from deltaskip.actions import AddCdcFile, AddFile, hadoop_path, remove_of
from deltaskip.actions.partition_folders import random_folder
from deltaskip.dml.execution import CHANGE_TYPE, RowExecution, RowsOfFiles, row_id_columns
from deltaskip.dml.files import DataFiles, FilesToChange, new_files, remove_actions
from deltaskip.dml.positions import RowPositions
from deltaskip.dml.stored_rows import stored_file_rows
from deltaskip.errors import InvalidCommit
from deltaskip.features.deletion_vectors import read_deletion_vectors, write_deletion_vectors
from deltaskip.features.registry import has_feature
from deltaskip.rows.layout import layout_after
from deltaskip.rows.parquet_files import DataFileLayout
from deltaskip.rows.written import delete_data_files
from deltaskip.schema.arrow_values import arrow_array, numpy_values, one_chunk
from deltaskip.schema.properties import TableProperties
from deltaskip.skipping.scan import Scan
from deltaskip.stats.merge import widened_stats
from deltaskip.txn.transaction import Transaction

__all__ = ["RemovedRows", "check_first", "remove_rows"]

# Vectors of one file are read together; their rows are in memory until the next ones are read.
_VECTORS_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class RemovedRows:
    """What removing rows did.

    Attributes:
        rows: Number of rows that were removed; None if the log does not have the row count of a removed file.
        files: Number of files that were removed, those that were rewritten included.
        bytes: Size of these files.
        copied: Number of rows that were written again because other rows of their file were removed.
        rewritten: The files that contain these rows.
        marked: Number of files that got a deletion vector and had none.
        marked_again: Number of files whose deletion vector was replaced.
        vectors_removed: Number of removed files that had a deletion vector.
        change_files: Number of files that were written for the change data feed.
    """

    rows: int | None = 0
    files: int = 0
    bytes: int = 0
    copied: int = 0
    rewritten: tuple[AddFile, ...] = ()
    marked: int = 0
    marked_again: int = 0
    vectors_removed: int = 0
    change_files: int = 0


@dataclass(frozen=True, slots=True)
class _Touched:
    """Files of which rows match: the matching rows, the deleted rows before and after, and the number of all rows."""

    files: DataFiles
    matches: RowPositions
    before: Sequence[int]
    after: RowPositions
    num_records: Sequence[int]

    def take(self, numbers: Sequence[int]) -> _Touched:
        """The files with these numbers."""
        before, counts = ([column[i] for i in numbers] for column in (self.before, self.num_records))
        return _Touched(self.files.take(numbers), self.matches.take(numbers), before, self.after.take(numbers), counts)


def check_first(transaction: Transaction, act: str) -> None:
    """Raise InvalidCommit if rows to be removed may be in files that the transaction has added, or under other names.

    act: What removes them, as a verb.
    """
    root = transaction.snapshot.root
    if transaction.changes_files:
        raise InvalidCommit(
            f"A transaction on {root} that has added or removed files cannot {act} rows, because these files may "
            f"contain some of them: {act} first, or commit."
        )
    if transaction.metadata.partition_columns != transaction.snapshot.metadata.partition_columns:
        raise InvalidCommit(
            f"A transaction on {root} that has renamed partition columns cannot {act} rows: {act} first, or commit."
        )


def remove_rows(
    transaction: Transaction,
    change: FilesToChange,
    scan: Scan,
    execution: RowExecution,
    inserted: Sequence[AddFile] = (),
) -> RemovedRows:
    """Add the actions that remove the rows for which the predicate of a scan is TRUE.

    Rows are marked by deletion vectors if the table has them enabled; otherwise their files are rewritten, and the
    rows that stay keep their row ids.
    # PROTOCOL, Deletion Vectors, Row Tracking, Add CDC File

    Args:
        transaction: The transaction, which depends on the scan already. Its `discard` deletes what is written here.
        change: The files of the scan, from `files_to_change`.
        scan: The scan.
        execution: Reads and writes the rows of files that lose only some.
        inserted: The new files of the transaction, which the change data feed must contain if files are rewritten.

    Raises:
        UnsupportedFeature: The predicate can only be evaluated by Spark.
        PredicateError: The predicate fails for a row.
        StorageError: A file cannot be read or written.
    """
    now = time.time_ns() // 1_000_000
    transaction.remove(*remove_actions(change.whole, now))
    touched = _touched(scan, change.partly, execution)
    ends = [gone == total for gone, total in zip(touched.after.counts, touched.num_records, strict=True)]
    ended = touched.files.take([i for i, end in enumerate(ends) if end])
    transaction.remove(*remove_actions(ended, now))
    left = touched.take([i for i, end in enumerate(ends) if not end])
    in_files = change.whole.num_rows
    done = RemovedRows(
        None if in_files is None else in_files + sum(touched.matches.counts),
        len(change.whole) + len(ended),
        change.whole.size_in_bytes + ended.size_in_bytes,
        vectors_removed=change.whole.num_vectors + ended.num_vectors,
    )
    if not len(left.files):
        transaction.keep_row_ids()
        return done
    metadata, protocol = transaction.metadata, transaction.protocol
    properties = TableProperties(metadata.configuration, scan.snapshot.root)
    layout = layout_after(
        scan.snapshot, protocol, metadata, transaction.schema, transaction.domains, execution.time_zone
    )
    if has_feature(protocol, "deletionVectors") and properties.deletion_vectors:
        _mark(transaction, left, layout, now)
        transaction.keep_row_ids()
        again = left.files.num_vectors
        return replace(done, marked=len(left.files) - again, marked_again=again)
    rewritten = _rewrite(transaction, left, layout, properties, execution, now)
    changes: Sequence[AddCdcFile] = ()
    if properties.change_data_feed:
        changes = _write_changes(transaction, change.whole, touched, inserted, layout, execution)
    return replace(
        done,
        files=done.files + len(left.files),
        bytes=done.bytes + left.files.size_in_bytes,
        vectors_removed=done.vectors_removed + left.files.num_vectors,
        copied=sum(left.num_records) - sum(left.after.counts),
        rewritten=rewritten,
        change_files=len(changes),
    )


def _touched(scan: Scan, files: DataFiles, execution: RowExecution) -> _Touched:
    """The files of which some row matches."""
    snapshot = scan.snapshot
    matches = execution.matching(scan, files.listed) if len(files) else RowPositions(())
    found = [i for i, count in enumerate(matches.counts) if count]
    files, matches = files.take(found), matches.take(found)
    vectors = one_chunk(files.listed["deletion_vector"])
    counts = files.listed["num_records"].to_pylist()
    for i, count in enumerate(counts):
        if count is None:
            location = hadoop_path(snapshot.table_root, files.listed["uri"][i].as_py())
            counts[i] = stored_file_rows(snapshot.storage, location)
    before: list[int] = []

    def after() -> Iterator[pa.Int64Array]:
        for start in range(0, len(matches), _VECTORS_AT_ONCE):
            part = vectors.slice(start, _VECTORS_AT_ONCE)
            olds = read_deletion_vectors(snapshot.storage, snapshot.table_root, part)
            for old, rows in zip(olds, matches[start : start + _VECTORS_AT_ONCE], strict=True):
                before.append(0 if old is None else len(old))
                yield rows if old is None else _union(old, rows)

    together = RowPositions(after())
    return _Touched(files, matches, before, together, counts)


def _union(one: pa.Int64Array, other: pa.Int64Array) -> pa.Int64Array:
    return arrow_array(np.union1d(numpy_values(one), numpy_values(other)))


def _mark(transaction: Transaction, left: _Touched, layout: DataFileLayout, now: int) -> None:
    """Add the files again with deletion vectors that contain the matching rows too."""
    prefix = "" if layout.random_prefix is None else random_folder(layout.random_prefix)
    written = write_deletion_vectors(layout.storage, layout.root, left.after, prefix)
    transaction.undo_by(lambda: delete_data_files(layout.storage, layout.root, written.paths))
    for add, vector, before, total in zip(
        left.files.adds(), written.descriptors, left.before, left.num_records, strict=True
    ):
        # Both actions of a path are in the commit: readers tell them apart by their deletion vectors.
        transaction.remove(replace(remove_of(add, now), stats=None, tags=None))
        stats = widened_stats(add.stats, total, before)
        transaction.add(replace(add, deletion_vector=vector, stats=stats, data_change=True))


def _rewrite(
    transaction: Transaction,
    left: _Touched,
    layout: DataFileLayout,
    properties: TableProperties,
    execution: RowExecution,
    now: int,
) -> tuple[AddFile, ...]:
    """Write the rows that stay into new files, which take the place of the old ones."""
    row_ids = row_id_columns(properties)
    if row_ids is not None:
        layout = replace(layout, extra=row_ids.fields)
        transaction.keep_row_ids()
    stays = RowsOfFiles(left.files.listed, left.after)
    written = execution.write([stays], layout.schema, row_ids, layout)
    transaction.add_written(*written.files, delete=lambda: written.delete(layout.storage, layout.root))
    transaction.remove(*remove_actions(left.files, now))
    return written.files


def _write_changes(
    transaction: Transaction,
    whole: DataFiles,
    touched: _Touched,
    inserted: Sequence[AddFile],
    layout: DataFileLayout,
    execution: RowExecution,
) -> list[AddCdcFile]:
    """Write all changes of the commit for the change data feed, since readers then read nothing else.

    # PROTOCOL, Add CDC File
    """
    added = new_files(transaction.snapshot, layout.partition_fields(), layout.mapping_mode, inserted)
    parts = [
        RowsOfFiles(whole.listed, change="delete"),
        RowsOfFiles(touched.files.listed, touched.matches, only=True, change="delete"),
        RowsOfFiles(added, change="insert"),
    ]
    request = replace(layout.request, columns=(), collations=())
    layout = replace(layout, extra=(CHANGE_TYPE,), change_data=True, request=request)
    written = execution.write([part for part in parts if len(part.files)], layout.schema, None, layout)
    transaction.undo_by(lambda: written.delete(layout.storage, layout.root))
    files = [AddCdcFile(file.path, file.partition_values, file.size) for file in written.files]
    transaction.add_cdc(*files)
    return files
