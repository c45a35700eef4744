"""VACUUM: deletion of the files below a table's folder that no retained version needs.

# PROTOCOL, VACUUM Protocol Check; delta-spark: VacuumCommand
Nothing is deleted before the whole log of the latest version was read and the folder was listed. A deleted file was
listed, is older than the retention, and no version since then refers to it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import InvalidArgument, OptionAdvice, StorageError
from deltaskip.features import CommitSummary, check_maintainable
from deltaskip.log import Snapshot, refresh
from deltaskip.log.catalog_commits import check_permitted
from deltaskip.log.cleanup import left_over_files, unneeded_sidecars
from deltaskip.log.file_names import SIDECAR_FOLDER
from deltaskip.maintenance.folder_listing import HiddenNames, is_temporary
from deltaskip.maintenance.key_index import delete_parts, unneeded_parts
from deltaskip.maintenance.results import VacuumResult
from deltaskip.maintenance.unneeded_files import (
    Unneeded,
    needed_files,
    note_last_vacuum,
    unneeded_by_listing,
    unneeded_by_log,
)
from deltaskip.progress import Progress, ProgressCallback, table_name
from deltaskip.schema.properties import DAY_MS, HOUR_MS, TableProperties
from deltaskip.skipping.key_index.folder import KEY_FOLDER
from deltaskip.sparkexpr.values.arrow_values import arrow_array, exact_sum, one_chunk
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.storage import LOG_FOLDER
from deltaskip.storage.gate import delete_empty_folder, delete_files, log_names
from deltaskip.storage.kill_points import kill_point
from deltaskip.txn.transaction import Transaction

_START, _END = "VACUUM START", "VACUUM END"
# Sidecars of a checkpoint that is being written belong to no checkpoint yet.
_DELETED_AT_ONCE = 10_000


def vacuum(
    snapshot: Snapshot,
    retention_ms: int | None = None,
    dry_run: bool = False,
    *,
    lite: bool = False,
    enforce_retention: bool = True,
    inventory: pa.Table | None = None,
    progress: ProgressCallback | None = None,
) -> VacuumResult:
    """Delete the files that no version within the retention needs, and record it in the table's history.

    Args:
        snapshot: A version of the table.
        retention_ms: How long removed files are kept; None for the table's `delta.deletedFileRetentionDuration`.
        dry_run: Find the files, and delete nothing.
        lite: Find files by the commits in the log, without listing the table's folder.
        enforce_retention: Whether to refuse a retention that is shorter than the table's.
        inventory: The files below the table's folder, as for `files_of_inventory`; None to list them.
        progress: Called with a phase ("listed", "deleted"), files so far, and their number or 0, in place
            of a bar.

    Raises:
        InvalidArgument: The retention is too short.
        UnsupportedFeature: The table has a feature that deltaskip does not know, or LITE lacks commits.
        CorruptLog: The log is damaged; nothing was deleted.
        StorageError: Storage failed. Some files may be deleted.
    """
    if progress is None:
        with Progress(f"Vacuuming {table_name(snapshot.root)}", unit="files", blocks=True) as bar:

            def reach(_what: str, done: int, total: int) -> None:
                bar.reach(done, total or None)

            chosen = {"lite": lite, "enforce_retention": enforce_retention}
            return vacuum(snapshot, retention_ms, dry_run, **chosen, inventory=inventory, progress=reach)
    started = time.perf_counter()
    snapshot = refresh(snapshot)
    _check_protocol(snapshot)
    check_permitted(snapshot, "DATA_CLEANUP", "VACUUM")
    default = snapshot.table_properties.deleted_file_retention_ms
    _check_retention(snapshot, retention_ms, default, enforce_retention)
    now = current_ms()
    cutoff = now - (default if retention_ms is None else retention_ms)
    if lite and inventory is not None:
        raise InvalidArgument(f"A VACUUM of {snapshot.root} takes either LITE or an inventory, not both.")
    if lite:
        found = unneeded_by_log(snapshot, cutoff, now - default, progress)
    else:
        found = unneeded_by_listing(snapshot, cutoff, now - default, progress, inventory)
    before, lists = min(cutoff, now - DAY_MS), not lite and inventory is None
    sidecars = unneeded_sidecars(snapshot, before) if lists else []
    key_parts = unneeded_parts(snapshot, before) if lists else []
    left_over = tuple(left_over_files(snapshot, before)) if lists else ()
    deleted = one_chunk(found.files["path"])
    size = exact_sum(found.files["size"])
    seconds = {"find": time.perf_counter() - started}
    result = VacuumResult(
        version=None,
        operation=_START,
        metrics={"numFilesToDelete": len(deleted), "sizeOfDataToDelete": size},
        dry_run=True,
        paths=deleted,
        num_files=len(deleted),
        size_in_bytes=size,
        sidecars=tuple(each.path for each in sidecars),
        left_over=left_over,
        key_parts=tuple(f"{KEY_FOLDER}/{name}" for name in key_parts),
        seconds=seconds,
    )
    if dry_run:
        return replace(result, directories=tuple(_emptied(found, cutoff, before)))
    _record(snapshot, _START, _parameters(retention_ms, default, enforce_retention), result.metrics)
    found = _still_unneeded(snapshot, found, cutoff, now - default)
    deleted = one_chunk(found.files["path"])
    size = exact_sum(found.files["size"])
    started = time.perf_counter()
    try:
        _delete(snapshot, deleted, progress)
        directories = tuple(_delete_directories(snapshot, found, cutoff, before))
        of_the_log = [*(f"{LOG_FOLDER}/{SIDECAR_FOLDER}/{each.name}" for each in sidecars), *left_over]
        delete_files(snapshot.storage, snapshot.root, of_the_log, log_names)
        delete_parts(snapshot, key_parts)
    except Exception:
        _record(snapshot, _END, {"status": "FAILED"}, {})
        raise
    if found.through is not None:
        note_last_vacuum(snapshot, found.through)
    seconds["delete"] = time.perf_counter() - started
    # As in delta-spark, deleted directories count as files, and all directories count as searched.
    metrics = {
        "numDeletedFiles": len(deleted) + len(directories),
        "numVacuumedDirectories": max(1, len(found.folders.entries)),
    }
    version = _record(snapshot, _END, {"status": "COMPLETED"}, metrics)
    return replace(
        result,
        version=version,
        operation=_END,
        metrics=metrics,
        dry_run=False,
        paths=deleted,
        num_files=len(deleted),
        size_in_bytes=size,
        directories=directories,
    )


def _check_protocol(snapshot: Snapshot) -> None:
    """Check that the table can be written.

    # PROTOCOL, VACUUM Protocol Check (vacuumProtocolCheck): readers and writers check the write protocol before they
    # delete.
    """
    check_maintainable(snapshot.protocol, f"Version {snapshot.version} of {snapshot.root}")
    snapshot.check_writable(CommitSummary())


def _check_retention(snapshot: Snapshot, retention_ms: int | None, default: int, enforced: bool) -> None:
    if retention_ms is None:
        return
    if retention_ms < 0:
        raise InvalidArgument(f"The retention of a VACUUM of {snapshot.root} must not be negative.")
    if enforced and retention_ms < default:
        name = TableProperties.deleted_file_retention_ms.name
        unenforced = OptionAdvice("enforce_retention", False, "vacuum with enforce_retention=False")
        raise InvalidArgument(
            f"A retention of {_hours(retention_ms)} is too short for {snapshot.root}: writers that are active now may "
            f"lose files that they have not committed, and earlier versions cannot be read. Keep files for at least "
            f"{_hours(default)} ({name}), or {unenforced} if nobody else uses the table."
        ).advising(unenforced)


def _hours(milliseconds: int) -> str:
    hours = f"{milliseconds / HOUR_MS:g}"
    return f"{hours} hour" if hours == "1" else f"{hours} hours"


def _parameters(retention_ms: int | None, default: int, enforced: bool) -> dict[str, object]:
    given = {} if retention_ms is None else {"specifiedRetentionMillis": retention_ms}
    return {"retentionCheckEnabled": enforced, "defaultRetentionMillis": default, **given}


def _record(snapshot: Snapshot, operation: str, parameters: Mapping[str, object], metrics: Mapping[str, object]) -> int:
    """Commit a version that contains only the operation."""
    transaction = Transaction(refresh(snapshot), operation, parameters)
    transaction.set_metrics(metrics)
    transaction.changes.may_be_empty = True
    version = transaction.commit()
    kill_point(operation)
    return version


def _still_unneeded(snapshot: Snapshot, found: Unneeded, cutoff_ms: int, forgotten_ms: int) -> Unneeded:
    """The files without those that a new commit of another writer names, such as a RESTORE."""
    latest = refresh(snapshot)
    if latest.version <= snapshot.version + 1:
        return found
    return found.without(latest, needed_files(latest, cutoff_ms, forgotten_ms))


def _delete(snapshot: Snapshot, paths: pa.Array, progress: ProgressCallback) -> None:
    names = HiddenNames.of(snapshot).visible
    for start in range(0, len(paths), _DELETED_AT_ONCE):
        some = paths.slice(start, _DELETED_AT_ONCE)
        delete_files(snapshot.storage, snapshot.root, some, names)
        progress("deleted", start + len(some), len(paths))
        kill_point("deleted")


def _emptied(found: Unneeded, cutoff_ms: int, day_ms: int) -> Iterator[str]:
    """Directories older than the retention that are empty once the files are deleted, deepest first.

    day_ms: Directories for temporary files are older than this.
    """
    entries = dict(found.folders.entries)
    parents = pc.replace_substring_regex(found.files["path"], r"/?[^/]*$", "")
    for each in parents.value_counts().to_pylist():
        if each["values"] in entries:
            entries[each["values"]] -= each["counts"]
    temporary = is_temporary(arrow_array(list(entries), pa.string())).to_pylist()
    limits = {folder: day_ms if is_one else cutoff_ms for folder, is_one in zip(entries, temporary, strict=True)}
    for folder in sorted(entries, key=lambda path: path.count("/"), reverse=True):
        if folder and not entries[folder] and found.folders.modified_ms.get(folder, cutoff_ms) < limits[folder]:
            above = folder.rpartition("/")[0]
            if above in entries:
                entries[above] -= 1
            yield folder


def _delete_directories(snapshot: Snapshot, found: Unneeded, cutoff_ms: int, day_ms: int) -> Iterator[str]:
    names = HiddenNames.of(snapshot).visible
    for folder in _emptied(found, cutoff_ms, day_ms):
        try:
            deleted = delete_empty_folder(snapshot.storage, snapshot.root, folder, names)
        except StorageError:
            # An empty directory is harmless.
            continue
        if deleted:
            yield folder
