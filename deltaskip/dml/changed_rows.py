"""The changes of a statement applied to a table: UPDATE, DELETE, MERGE and overwrites all pass through this module.

An engine finds once which rows of which files a statement deletes and updates, and the rows that it writes. This module
applies them: files that lose all their rows are removed, rows of other files are deleted by deletion vectors or by
rewriting the files, new rows are written by the table's rules, and change data files where the commit needs them.
# PROTOCOL, Deletion Vectors, Row Tracking, Add CDC File
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Protocol

import pyarrow as pa

from deltaskip.actions import AddCdcFile, AddFile, hadoop_path, remove_of
from deltaskip.actions.partition_folders import random_folder
from deltaskip.data_files.append import with_marks
from deltaskip.data_files.file_layout import layout_after
from deltaskip.data_files.parquet_writer import DataFileLayout
from deltaskip.data_files.written_rows import WrittenRows, delete_data_files
from deltaskip.dml.execution import RowExecution, RowsOfFiles
from deltaskip.dml.files_to_change import DataFiles, new_files, size_of_table
from deltaskip.dml.positions import RowPositions, union_of_positions
from deltaskip.dml.unchanged_row_groups import copy_unchanged_row_groups
from deltaskip.errors import InvalidCommit, StorageError
from deltaskip.features.change_data_feed import CHANGE_TYPE
from deltaskip.features.registry import writes_deletion_vectors
from deltaskip.features.row_tracking import RowIdColumns, row_id_columns
from deltaskip.log import Snapshot
from deltaskip.log.deleted_rows import read_deleted_rows
from deltaskip.log.deletion_vectors import write_deletion_vectors
from deltaskip.records import dataclass
from deltaskip.sparkexpr.types import STRING, StructField
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.stats.footer import stored_file_rows
from deltaskip.stats.merged_stats import widened_stats
from deltaskip.txn.transaction import Transaction

# Vectors of one file are read together; their rows are in memory until the next ones are read.
_VECTORS_AT_ONCE = 64


class NewRows(Protocol):
    """The rows that a statement writes, computed once: updated rows with their new values, and inserted rows.

    Implemented for rows that this process computes, and for a persisted DataFrame.
    """

    @property
    def has_old_values(self) -> bool:
        """Whether `write_changes` knows the updated rows as they were, so that they need not be read again."""

    def write(self, copied: RowsOfFiles | None, row_ids: RowIdColumns | None, layout: DataFileLayout) -> WrittenRows:
        """Write the rows as new data files, checked by the rules of the table, and rows of old files as they are.

        After an error no file is left.

        Args:
            copied: The rows of rewritten files that do not change; None for none.
            row_ids: Where to write row ids, which `layout.extra` lists too; None to write none. An updated row keeps
                its row id and has no commit version; an inserted row has neither; a copied row keeps both.
                # PROTOCOL, Row Tracking
            layout: The place and the contents of the files.

        Raises:
            RowViolation: A row violates a rule of the table, or a value does not fit its column.
            StorageError: A file cannot be read or written.
        """

    def write_changes(self, before: Sequence[RowsOfFiles], layout: DataFileLayout) -> WrittenRows:
        """Write change data files of the new rows, as `update_postimage` and `insert`, and of rows of old files.

        The values are those that `write` has stored.

        Args:
            before: Rows of old files, each with its kind of change: deleted rows, and updated rows unless
                `has_old_values`.
            layout: The layout of change data files.
        """

    def release(self) -> None:
        """Give up the rows that the engine holds."""


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """The rows that a statement changes, by file, and the rows that it writes, found once.

    Attributes:
        whole: Files in which every row changes; they are removed without positions.
        partly: Files in which some rows may change, with all columns of FILE_SCHEMA.
        deleted: For each file of `partly` the positions of rows that the statement deletes; None if it deletes none.
        updated: For each file of `partly` the positions of rows that it updates, none of them deleted; None if it
            updates none.
        new: The rows that it writes; None if it writes none.
        updates_whole: Whether the rows of `whole` are updated, not deleted.
        inserts: Whether `new` may contain inserted rows.
    """

    whole: DataFiles
    partly: DataFiles
    deleted: RowPositions | None = None
    updated: RowPositions | None = None
    new: NewRows | None = None
    updates_whole: bool = False
    inserts: bool = False


@dataclass(frozen=True, slots=True)
class AppliedChanges:
    """The counts of rows and files after changes were applied.

    Attributes:
        deleted: Number of rows that were deleted; None if the log lacks the row count of a removed file.
        updated: Number of rows that were updated.
        inserted: Number of rows that were inserted.
        files: Number of files that were removed, including rewritten files.
        bytes: Size of these files.
        copied: Number of rows that were written again because other rows of their file changed.
        added: The new data files.
        marked: Number of files that had no deletion vector and received one.
        marked_again: Number of files whose deletion vector was replaced.
        vectors_removed: Number of removed files that had a deletion vector.
        change_files: Number of files that were written for the change data feed.
    """

    deleted: int | None = 0
    updated: int = 0
    inserted: int = 0
    files: int = 0
    bytes: int = 0
    copied: int = 0
    added: tuple[AddFile, ...] = ()
    marked: int = 0
    marked_again: int = 0
    vectors_removed: int = 0
    change_files: int = 0

    @property
    def added_bytes(self) -> int:
        """Size of the new data files."""
        return sum(file.size for file in self.added)

    @property
    def metrics(self) -> dict[str, int]:
        """Delta's metrics of files, vectors and copied rows, by name; a vector that is replaced counts in all three."""
        return {
            "numRemovedFiles": self.files,
            "numRemovedBytes": self.bytes,
            "numCopiedRows": self.copied,
            "numDeletionVectorsAdded": self.marked + self.marked_again,
            "numDeletionVectorsRemoved": self.vectors_removed + self.marked_again,
            "numDeletionVectorsUpdated": self.marked_again,
            "numAddedFiles": len(self.added),
            "numAddedBytes": self.added_bytes,
            "numAddedChangeFiles": self.change_files,
        }


@dataclass(frozen=True, slots=True)
class _Touched:
    """Files in which some rows change.

    deleted, updated: the rows that change. before: number of rows that were deleted already. after: all deleted rows,
    including the new ones. num_records: number of all rows.
    """

    files: DataFiles
    deleted: RowPositions
    updated: RowPositions
    before: Sequence[int]
    after: RowPositions
    num_records: Sequence[int]

    def take(self, numbers: Sequence[int]) -> _Touched:
        """The files with these indexes."""
        deleted, updated, after = (each.take(numbers) for each in (self.deleted, self.updated, self.after))
        before, counts = ([column[i] for i in numbers] for column in (self.before, self.num_records))
        return _Touched(self.files.take(numbers), deleted, updated, before, after, counts)


@dataclass(slots=True)
class _Target:
    """The table after the changes: where its files go, and which of its features decide how rows are changed."""

    layout: DataFileLayout
    marks: bool
    feed: bool
    row_ids: RowIdColumns | None


def check_first(transaction: Transaction, act: str) -> None:
    """Raise InvalidCommit if rows to change may be in files that the transaction has added, or under other names.

    act: The change, as a verb.
    """
    root = transaction.snapshot.root
    if transaction.changes.has_files:
        raise InvalidCommit(
            f"A transaction on {root} that has added or removed files cannot {act} rows, because these files may "
            f"contain some of them: {act} first, or commit."
        )
    if transaction.metadata.partition_columns != transaction.snapshot.metadata.partition_columns:
        raise InvalidCommit(
            f"A transaction on {root} that has renamed partition columns cannot {act} rows: {act} first, or commit."
        )


def apply_changes(
    transaction: Transaction, changed: ChangedRows, execution: RowExecution, written_before: Sequence[AddFile] = ()
) -> AppliedChanges:
    """Add the actions that apply the changed rows of a statement, and return the result.

    Rows are deleted by deletion vectors if the table has them enabled; otherwise their files are rewritten. Copied and
    updated rows keep their row ids. The transaction determines the state of the table: a changed schema must be set
    before.

    Args:
        transaction: The transaction, which depends on the files already. Its `discard` deletes the new
            files.
        changed: The rows.
        execution: Reads and writes rows that stay, and rows as they were.
        written_before: New files of the transaction, which must be in the change data feed if it has change data files.

    Raises:
        RowViolation: A row violates a rule of the table, or a value does not fit its column.
        StorageError: A file cannot be read or written.
    """
    with transaction.cost.phase("write"):
        done = _applied(transaction, changed, execution, written_before)
    _count_read(transaction, changed)
    for file in (*written_before, *done.added):
        transaction.cost.count("added", 1, file.size)
    return done


def _applied(
    transaction: Transaction, changed: ChangedRows, execution: RowExecution, written_before: Sequence[AddFile]
) -> AppliedChanges:
    now = current_ms()
    snapshot, cost = transaction.snapshot, transaction.cost
    touched = _touched(snapshot, changed)
    ends = [gone == total for gone, total in zip(touched.after.counts, touched.num_records, strict=True)]
    ended = touched.files.take([i for i, end in enumerate(ends) if end])
    left = touched.take([i for i, end in enumerate(ends) if not end])
    whole = changed.whole
    done = AppliedChanges(
        _deleted(changed, touched),
        files=len(whole) + len(ended),
        bytes=whole.size_in_bytes + ended.size_in_bytes,
        vectors_removed=whole.num_vectors + ended.num_vectors,
    )
    for gone in (whole, ended):
        if len(gone):
            transaction.changes.put_removed(gone.removed(snapshot.table_root, now))
    cost.count("removed", done.files, done.bytes)
    changes_files = bool(len(whole) or len(touched.files))
    new = changed.new if changes_files or changed.inserts else None
    if not len(left.files) and new is None:
        transaction.changes.row_ids_kept = True
        return done
    target = _target(transaction, execution)
    copied = None
    if len(left.files) and not target.marks:
        copied = RowsOfFiles(left.files.listed, left.after, size_in_bytes=left.files.size_in_bytes)
    kept = written = WrittenRows((), 0)
    # Row ids that are not stored follow from positions in the file, which change in a copy.
    if copied is not None and target.row_ids is None:
        kept, copied = copy_unchanged_row_groups(snapshot, execution, copied, left.files, target.layout)
        if kept.files:
            transaction.add_written(*kept.files, delete=lambda: kept.delete(target.layout.storage, target.layout.root))
    if copied is not None or new is not None:
        written = _write(transaction, copied, new, changes_files, target, execution)
    if kept.files:
        written = replace(written, files=(*kept.files, *written.files), rows=kept.rows + written.rows)
    copied_rows = 0
    if copied is not None:
        transaction.changes.put_removed(left.files.removed(snapshot.table_root, now))
        cost.count("rewritten", len(left.files), left.files.size_in_bytes)
        copied_rows = sum(left.num_records) - sum(left.after.counts)
        done = replace(
            done,
            files=done.files + len(left.files),
            bytes=done.bytes + left.files.size_in_bytes,
            vectors_removed=done.vectors_removed + left.files.num_vectors,
        )
    elif len(left.files):
        _mark(transaction, left, target.layout, now)
        cost.count("marked", len(left.files), left.files.size_in_bytes)
        again = left.files.num_vectors
        done = replace(done, marked=len(left.files) - again, marked_again=again)
    _check_written(snapshot.root, changed, touched, copied_rows, written)
    if target.row_ids is not None or not written.files:
        transaction.changes.row_ids_kept = True
    new_rows = written.rows - copied_rows
    updated = new_rows if not changed.inserts else sum(touched.updated.counts)
    done = replace(done, updated=updated, inserted=new_rows - updated, copied=copied_rows, added=written.files)
    # Deletion vectors, and files that are only added or only removed, show their changes in the log itself.
    adds = bool(written.files or written_before)
    if target.feed and (copied is not None or updated or (done.files and adds and not written_before)):
        done = replace(
            done, change_files=_write_changes(transaction, changed, touched, written_before, target, new, execution)
        )
    return done


def _check_written(root: str, changed: ChangedRows, touched: _Touched, copied: int, written: WrittenRows) -> None:
    """Raise StorageError unless every kept and updated row was written, so that none can be lost."""
    whole = changed.whole.num_rows if changed.updates_whole else 0
    if whole is None:
        return
    expected = copied + sum(touched.updated.counts) + whole
    if written.rows < expected or (written.rows > expected and not changed.inserts):
        raise StorageError(
            f"Nothing was committed to {root}, because {written.rows:,} rows were written instead of {expected:,}: an "
            f"expression of the statement has another value each time it is evaluated, or a data file does not have "
            f"the number of rows that the log says. Repeat the statement, or recompute the statistics of the table."
        )


def _count_read(transaction: Transaction, changed: ChangedRows) -> None:
    """Count the files that were read, unless the statement has counted them, and the files that were not needed."""
    cost, files = transaction.cost, [changed.partly, *([changed.whole] if changed.updates_whole else [])]
    if not cost.counts("read"):
        cost.count("read", sum(map(len, files)), sum(each.size_in_bytes for each in files))
    if not cost.counts("skipped"):
        used = [changed.partly, changed.whole]
        left = size_of_table(transaction.snapshot)
        cost.count("skipped", left.files - sum(map(len, used)), left.bytes - sum(each.size_in_bytes for each in used))


def change_layout(layout: DataFileLayout) -> DataFileLayout:
    """Return the layout of the change data files of a table with this layout of data files.

    # PROTOCOL, Change Data Files
    """
    request = replace(layout.request, columns=(), collations=())
    return replace(layout, extra=(StructField(CHANGE_TYPE, STRING),), change_data=True, request=request)


def write_inserts(transaction: Transaction, files: Sequence[AddFile], execution: RowExecution) -> None:
    """Write the rows of new files of a transaction to the change data feed, as inserted.

    Args:
        transaction: The transaction, which has added the files.
        files: Their add actions.
        execution: Reads and writes the rows.
    """
    layout = _target(transaction, execution).layout
    added = new_files(transaction.snapshot, layout.partition_fields(), layout.mapping_mode, files)
    part = RowsOfFiles(added, change="insert")
    written = execution.write([part], layout.schema, None, change_layout(layout))
    transaction.changes.undo.append(lambda: written.delete(layout.storage, layout.root))
    transaction.add_cdc(*(AddCdcFile(file.path, file.partition_values, file.size) for file in written.files))


def _target(transaction: Transaction, execution: RowExecution) -> _Target:
    metadata, protocol, snapshot = transaction.metadata, transaction.protocol, transaction.snapshot
    properties = snapshot.typed(metadata.configuration)
    layout = layout_after(snapshot, protocol, metadata, transaction.schema, transaction.domains, execution.time_zone)
    marks = writes_deletion_vectors(protocol, properties)
    layout = replace(layout, unsynced=transaction.unsynced)
    return _Target(layout, marks, properties.change_data_feed, row_id_columns(properties, protocol))


def _deleted(changed: ChangedRows, touched: _Touched) -> int | None:
    """The number of rows that are deleted."""
    some = sum(touched.deleted.counts)
    if changed.updates_whole:
        return some
    whole = changed.whole.num_rows
    return None if whole is None else whole + some


def _touched(snapshot: Snapshot, changed: ChangedRows) -> _Touched:
    """The files in which some row changes."""
    files, nothing = changed.partly, _nothing(len(changed.partly))
    deleted = nothing if changed.deleted is None else changed.deleted
    updated = nothing if changed.updated is None else changed.updated
    found = [i for i, each in enumerate(zip(deleted.counts, updated.counts, strict=True)) if any(each)]
    files, deleted, updated = files.take(found), deleted.take(found), updated.take(found)
    counts = files.listed["num_records"].to_pylist()
    for i, count in enumerate(counts):
        if count is None:
            location = hadoop_path(snapshot.table_root, files.listed["uri"][i].as_py())
            counts[i] = stored_file_rows(snapshot.storage, location)
    before: list[int] = []

    def after() -> Iterator[pa.Int64Array]:
        for start in range(0, len(files), _VECTORS_AT_ONCE):
            numbers = slice(start, start + _VECTORS_AT_ONCE)
            some = files.listed.slice(start, _VECTORS_AT_ONCE)
            olds = read_deleted_rows(snapshot.storage, snapshot.table_root, some)
            for old, gone, new in zip(olds, deleted[numbers], updated[numbers], strict=True):
                before.append(0 if old is None else len(old))
                yield union_of_positions([gone, new] if old is None else [old, gone, new])

    return _Touched(files, deleted, updated, before, RowPositions(after()), counts)


def _nothing(files: int) -> RowPositions:
    empty = arrow_array([], pa.int64())
    return RowPositions(empty for _ in range(files))


def _mark(transaction: Transaction, left: _Touched, layout: DataFileLayout, now: int) -> None:
    """Add the files again with deletion vectors that contain the changed rows too."""
    prefix = "" if layout.random_prefix is None else random_folder(layout.random_prefix)
    written = write_deletion_vectors(layout.storage, layout.root, left.after, prefix, transaction.unsynced.put)
    transaction.changes.undo.append(lambda: delete_data_files(layout.storage, layout.root, written.paths))
    for add, vector, before, total in zip(
        left.files.adds(), written.descriptors, left.before, left.num_records, strict=True
    ):
        # Both actions of a path are in the commit: readers tell them apart by their deletion vectors.
        transaction.remove(replace(remove_of(add, now), stats=None, tags=None))
        stats = widened_stats(add.stats, total, before)
        transaction.add(replace(add, deletion_vector=vector, stats=stats, data_change=True))


def _write(
    transaction: Transaction,
    copied: RowsOfFiles | None,
    new: NewRows | None,
    changes_files: bool,
    target: _Target,
    execution: RowExecution,
) -> WrittenRows:
    """Write the new rows, and the rows that stay in rewritten files."""
    # Inserted rows get new ids, so files with only inserted rows need no row id columns.
    row_ids = target.row_ids if changes_files else None
    layout = target.layout if row_ids is None else replace(target.layout, extra=row_ids.fields)
    if new is not None:
        written = new.write(copied, row_ids, layout)
    else:
        assert copied is not None
        written = execution.write([copied], layout.schema, row_ids, layout)
    transaction.add_written(*written.files, delete=lambda: written.delete(layout.storage, layout.root))
    metadata = with_marks(transaction.metadata, transaction.schema, written)
    if metadata is not transaction.metadata:
        transaction.set_metadata(metadata)
    return written


def _write_changes(
    transaction: Transaction,
    changed: ChangedRows,
    touched: _Touched,
    written_before: Sequence[AddFile],
    target: _Target,
    new: NewRows | None,
    execution: RowExecution,
) -> int:
    """Write all changes of the commit to change data files, since readers then read no other files.

    # PROTOCOL, Add CDC File
    """
    layout = target.layout
    parts = list(_rows_before(changed, touched, new is not None and new.has_old_values))
    added = new_files(transaction.snapshot, layout.partition_fields(), layout.mapping_mode, written_before)
    parts = [part for part in [*parts, RowsOfFiles(added, change="insert")] if len(part.files)]
    layout = change_layout(layout)
    write = partial(execution.write, schema=layout.schema, row_ids=None) if new is None else new.write_changes
    written = write(parts, layout=layout)
    transaction.changes.undo.append(lambda: written.delete(layout.storage, layout.root))
    transaction.add_cdc(*(AddCdcFile(file.path, file.partition_values, file.size) for file in written.files))
    return len(written.files)


def _rows_before(changed: ChangedRows, touched: _Touched, updated_known: bool) -> Iterator[RowsOfFiles]:
    """The changed rows with their old values; without updated rows if their old values are known."""
    if not changed.updates_whole:
        yield RowsOfFiles(changed.whole.listed, change="delete")
    elif not updated_known:
        yield RowsOfFiles(changed.whole.listed, change="update_preimage")
    gone = _with_rows(touched.deleted)
    yield RowsOfFiles(touched.files.take(gone).listed, touched.deleted.take(gone), only=True, change="delete")
    if not updated_known:
        new = _with_rows(touched.updated)
        files = touched.files.take(new).listed
        yield RowsOfFiles(files, touched.updated.take(new), only=True, change="update_preimage")


def _with_rows(positions: RowPositions) -> list[int]:
    return [i for i, count in enumerate(positions.counts) if count]
