"""RESTORE: an earlier version becomes the latest again, in one commit.

# delta-spark: RestoreTableCommand
Files are compared by path and deletion vector: a file that lost rows since then is added again with its old vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import DeletionVectorDescriptor, add_actions, hadoop_paths, remove_of
from deltaskip.errors import DataFileMissing, OptionAdvice, UnsupportedFeature
from deltaskip.features import CommitSummary
from deltaskip.features.registry import has_feature
from deltaskip.log import Snapshot, load_snapshot, refresh
from deltaskip.log.deletion_vectors import vector_location
from deltaskip.maintenance import copied_state
from deltaskip.progress import ProgressCallback
from deltaskip.sparkexpr.values.arrow_values import exact_sum, one_chunk
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.storage import Storage, storage_for
from deltaskip.txn.operation import commit_operation
from deltaskip.txn.result import WriteResult
from deltaskip.txn.transaction import Transaction
from deltaskip.txn.write_options import PLAIN_WRITE, WriteOptions

_READERS = 32
_CHECKED_AT_ONCE = 10_000
_SHOWN = 10

_OPERATION = "RESTORE"
_BATCH_ROWS = 1 << 16


def restore(
    snapshot: Snapshot,
    version: int,
    timestamp: str | None = None,
    *,
    check_files: bool = True,
    dry_run: bool = False,
    options: WriteOptions = PLAIN_WRITE,
    progress: ProgressCallback = lambda _what, _done, _total: None,
) -> WriteResult:
    """Make an earlier version of a table the latest again.

    Args:
        snapshot: A version of the table.
        version: The version to restore. Nothing is committed if it is the latest.
        timestamp: The time by which the version was chosen, for the table's history.
        check_files: Whether to check first that the files exist.
        dry_run: Check and count the files, and commit nothing.
        options: How the commit is recorded.
        progress: Called with "checked", the files so far, and their number.

    Raises:
        DataFileMissing: Files of the version do not exist. Nothing was committed.
        UnsupportedFeature: The table is append-only, or has a feature that deltaskip cannot write; or row tracking was
            dropped after the version.
        CommitConflict: Another writer committed at the same time.
        VersionNotFound: The version cannot be read.
        StorageError: Storage failed.
    """
    named = {"version": version if timestamp is None else None, "timestamp": timestamp}

    def act(transaction: Transaction) -> Mapping[str, int]:
        latest = transaction.snapshot
        transaction.set_parameters(named)
        if version == latest.version:
            return {}
        source = load_snapshot(latest.storage, latest.root, version)
        return _restore_to(transaction, source, progress if check_files else None)

    if dry_run:
        return WriteResult(None, _OPERATION, act(Transaction(refresh(snapshot), _OPERATION)))
    return commit_operation(snapshot, _OPERATION, act, options, repeatable=False)


def _restore_to(transaction: Transaction, source: Snapshot, progress: ProgressCallback | None) -> dict[str, int]:
    """Add the actions that restore the source's state; return Delta's metrics. progress: None for no check."""
    latest = transaction.snapshot
    if has_feature(source.protocol, "rowTracking") and not has_feature(latest.protocol, "rowTracking"):
        raise UnsupportedFeature(
            f"Version {source.version} of {latest.root} cannot be restored, because its files have row ids, and the "
            f"table feature rowTracking was dropped after it: clone that version to another location instead."
        )
    before, count, size = _keys(source)
    now, _, _ = _keys(latest)
    restored = copied_state.files_without(source, now)
    removed = copied_state.files_without(latest, before)
    if len(removed):
        latest.check_writable(CommitSummary(removes_rows=True))
    if progress is not None:
        _check_files_exist(source, restored, progress)
    transaction.read("true")
    transaction.changes.copies_state = True
    transaction.changes.may_be_empty = True
    metadata = copied_state.merged_metadata(latest, source.metadata, source)
    if metadata != latest.metadata:
        transaction.set_metadata(metadata, keep_collations=False)
    copied_state.copy_protocol_and_clustering(
        transaction, source, copied_state.merged_protocol(latest.protocol, source.protocol)
    )
    milliseconds = current_ms()
    transaction.remove(*(remove_of(add, milliseconds) for add in add_actions(removed)))
    transaction.add_written(*add_actions(copied_state.with_data_change(restored)))
    return {
        "numRestoredFiles": len(restored),
        "restoredFilesSize": exact_sum(restored["size"]),
        "numRemovedFiles": len(removed),
        "removedFilesSize": exact_sum(removed["size"]),
        "numOfFilesAfterRestore": count,
        "tableSizeAfterRestore": size,
    }


def _keys(snapshot: Snapshot) -> tuple[pa.Array, int, int]:
    """The keys of the files, their number and size."""
    parts, size = [pa.nulls(0, pa.string())], 0
    for adds in snapshot.add_batches(_BATCH_ROWS, ["path", "deletion_vector", "size"]):
        parts.append(copied_state.keys_of(snapshot, adds))
        size += exact_sum(adds["size"])
    keys = pa.concat_arrays(parts)
    return keys, len(keys), size


def _check_files_exist(source: Snapshot, files: pa.Table, progress: Callable[[str, int, int], None]) -> None:
    """Look up files of a version in storage.

    Args:
        source: The version.
        files: Some of its files (FILE_SCHEMA).
        progress: Called with "checked", the files so far, and their number.

    Raises:
        DataFileMissing: Some do not exist; the message names the first ones.
        StorageError: Storage failed.
    """
    locations = [*hadoop_paths(source.table_root, files["path"]).to_pylist(), *_vector_files(source, files)]
    missing: list[str] = []
    for start in range(0, len(locations), _CHECKED_AT_ONCE):
        some = locations[start : start + _CHECKED_AT_ONCE]
        missing += _missing(source.storage, some)
        progress("checked", start + len(some), len(locations))
    if missing:
        shown = ", ".join(path.removeprefix(f"{source.root}/") for path in missing[:_SHOWN])
        more = f" and {len(missing) - _SHOWN:,} more" if len(missing) > _SHOWN else ""
        unchecked = OptionAdvice("check_files", False)
        raise DataFileMissing(
            f"Version {source.version} of {source.root} cannot be restored, because {len(missing):,} of its files no "
            f"longer exist: {shown}{more}. A VACUUM may have deleted them: choose a later version, or pass "
            f"{unchecked} to restore the version without them."
        ).advising(unchecked)


def _vector_files(source: Snapshot, files: pa.Table) -> Iterator[str]:
    vectors = one_chunk(files["deletion_vector"]).drop_null()
    seen: set[tuple[str, str]] = set()
    for kind, text in zip(
        pc.struct_field(vectors, "storage_type").to_pylist(),
        pc.struct_field(vectors, "path_or_inline_dv").to_pylist(),
        strict=True,
    ):
        if (kind, text) not in seen and kind != "i":
            seen.add((kind, text))
            yield vector_location(source.table_root, DeletionVectorDescriptor(kind, text, 0, 0)) or ""


def _missing(near: Storage, locations: list[str]) -> list[str]:
    def is_missing(location: str) -> bool:
        try:
            storage_for(location, near=near).size(location)
        except (FileNotFoundError, NotADirectoryError):
            return True
        return False

    if not near.remote:
        # Looking up a local file takes less time than starting a thread.
        return [location for location in locations if is_missing(location)]
    with ThreadPoolExecutor(_READERS, "deltaskip") as pool:
        absent = list(pool.map(is_missing, locations))
    return [location for location, is_absent in zip(locations, absent, strict=True) if is_absent]
