"""Deletion of log files that are older than `delta.logRetentionDuration`.

# today's protocol, Metadata Cleanup: the newest commit at or before the cut-off is kept; so is the newest complete
# checkpoint at or before that commit, with the commit of its version, and everything after it. Older files may be
# deleted.
Sidecars are deleted when no remaining checkpoint references them and they are more than a day old.
"""

from __future__ import annotations

import re
from contextlib import suppress

import pyarrow as pa

from deltaskip.errors import CorruptLog, StorageError
from deltaskip.features import check_maintainable
from deltaskip.lazy_regex import regex
from deltaskip.log.catalog_commits import STAGED_FOLDER, catalog_commits, check_permitted, is_managed
from deltaskip.log.checkpoint.checkpoint_opening import open_checkpoint
from deltaskip.log.commit_times import CommitTimes
from deltaskip.log.file_names import SIDECAR_FOLDER, Kind, LogFile, commit_name, parse_log_file, version_prefix
from deltaskip.log.loading import list_log
from deltaskip.log.segment import LogListing, read_listing
from deltaskip.log.snapshot import Snapshot
from deltaskip.schema.properties import DAY_MS
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.storage import LOG_FOLDER, FileInfo, join, storage_below
from deltaskip.storage.gate import deletable, delete_file, log_names
from deltaskip.storage.interface import entries_of
from deltaskip.storage.kill_points import kill_point
from deltaskip.storage.temporary_names import LOG_TEMPORARY

# By the root of a table whose log had nothing to delete: its id, the cut-off, and the oldest commit.
_nothing_old: dict[str, tuple[str, int, FileInfo]] = {}
_MOST_REMEMBERED = 1000
_STAGED = regex(r"\d{20}\.[^.]+\.json")
_TEMPORARY = regex(LOG_TEMPORARY, re.ASCII)


def clean_up_old_log(snapshot: Snapshot) -> None:
    """As `clean_up_log`, unless this process has found nothing to delete at the same cut-off, which is that of a day.

    The log is listed for it, which takes longer than a commit if the log is long. The oldest commit is looked up.
    """
    cutoff = _midnight(current_ms() - snapshot.table_properties.log_retention_ms)
    known = _nothing_old.get(snapshot.root)
    if known is not None and known[:2] == (snapshot.metadata.id, cutoff) and known[2].modified_ms > cutoff:
        with suppress(FileNotFoundError, NotADirectoryError, StorageError):
            if snapshot.storage.info(known[2].path) == known[2]:
                return
    elif not (snapshot.storage.remote or is_managed(snapshot.storage)) and _begins_after(snapshot, cutoff):
        return
    clean_up_log(snapshot)


def _begins_after(snapshot: Snapshot, cutoff_ms: int) -> bool:
    """Whether version 0 is in the log and younger than a time, so that nothing may be deleted.

    The times of files decide only for tables that have no others.
    """
    if snapshot.table_properties.in_commit_timestamps:
        return False
    with suppress(FileNotFoundError, NotADirectoryError, StorageError):
        return snapshot.storage.info(join(snapshot.root, LOG_FOLDER, commit_name(0))).modified_ms > cutoff_ms
    return False


def clean_up_log(snapshot: Snapshot, now_ms: int | None = None, kept_for_ms: int | None = None) -> list[str]:
    """Delete the log files that no retained version needs.

    Every version committed after the cut-off can be rebuilt afterwards. The cut-off is the time
    `delta.logRetentionDuration` ago, rounded down to midnight UTC. Nothing is deleted if no checkpoint is old enough.

    Args:
        snapshot: Snapshot of the latest version, whose table properties apply.
        now_ms: Current time in milliseconds since the epoch. The default is the system clock.
        kept_for_ms: How long versions are kept, to the millisecond, instead of the property.

    Returns:
        Names of the deleted files; sidecars with their folder.

    Raises:
        UnsupportedFeature: The table has an unknown feature, which may need more of the log.
        SchemaError: A table property that determines the retention is malformed.
        StorageError: The storage failed.
    """
    check_maintainable(snapshot.protocol, f"Version {snapshot.version} of {snapshot.root}")
    check_permitted(snapshot, "METADATA_CLEANUP", "cleaning up the log")
    commits = catalog_commits(snapshot.storage)
    if commits is not None and commits.manages:
        # Afterwards the catalog refers to no staged commit that is deleted here.
        commits.publish(snapshot.version)
    now = current_ms() if now_ms is None else now_ms
    retention = snapshot.table_properties.log_retention_ms
    cutoff = _midnight(now - retention) if kept_for_ms is None else now - kept_for_ms
    # Newer commits of other writers are not read, and not deleted.
    entries = snapshot.storage.list_from(join(snapshot.root, LOG_FOLDER), "")
    listing = read_listing(snapshot.root, entries)
    first = _first_kept(snapshot, listing, cutoff)
    if first is None:
        if listing.commits:
            if len(_nothing_old) >= _MOST_REMEMBERED:
                _nothing_old.clear()
            oldest = listing.commits[min(listing.commits)].file
            _nothing_old[snapshot.root] = snapshot.metadata.id, cutoff, oldest
        return []
    deleted = []
    for info in entries:
        if not info.is_file:
            continue
        file = parse_log_file(info)
        if _is_old(file, first) if file is not None else _is_left_over(info, _midnight(now) - DAY_MS):
            delete_file(snapshot.storage, snapshot.root, f"{LOG_FOLDER}/{info.name}", log_names)
            deleted.append(info.name)
            kill_point("deleted")
    for info in _staged_until(snapshot, first):
        deleted.append(f"{STAGED_FOLDER}/{info.name}")
        delete_file(snapshot.storage, snapshot.root, f"{LOG_FOLDER}/{deleted[-1]}", log_names)
        kill_point("deleted")
    for info in unneeded_sidecars(snapshot, _midnight(now) - DAY_MS):
        deleted.append(f"{SIDECAR_FOLDER}/{info.name}")
        delete_file(snapshot.storage, snapshot.root, f"{LOG_FOLDER}/{deleted[-1]}", log_names)
        kill_point("deleted")
    return deleted


def _staged_until(snapshot: Snapshot, version: int) -> list[FileInfo]:
    """Staged commits up to a version. # PROTOCOL, Metadata Cleanup: of catalog-managed tables"""
    if not is_managed(snapshot.storage):
        return []
    staged = entries_of(snapshot.storage, join(snapshot.root, LOG_FOLDER, STAGED_FOLDER))
    until = version_prefix(version + 1)
    return [info for info in staged if info.is_file and _STAGED.fullmatch(info.name) and info.name < until]


def _first_kept(snapshot: Snapshot, listing: LogListing, cutoff_ms: int) -> int | None:
    """The version of the checkpoint before which all files may be deleted; None if nothing may be deleted."""
    versions = sorted(version for version in listing.commits if version <= snapshot.version)
    times = CommitTimes(snapshot.storage, snapshot.root, listing, versions, properties=snapshot.table_properties)
    position = times.count_until(cutoff_ms)
    if position == 0:
        return None
    candidates = [version for version in listing.checkpoints if version <= versions[position - 1]]
    usable = (version for version in sorted(candidates, reverse=True) if _opens(snapshot, listing, version))
    first = next(usable, None)
    return None if first is None or first < snapshot.table_properties.checkpoint_protection_version else first


def _opens(snapshot: Snapshot, listing: LogListing, version: int) -> bool:
    """Whether a checkpoint of the version can be read. Its file name alone does not justify deleting files."""
    for ref in listing.checkpoints[version]:
        try:
            open_checkpoint(snapshot.storage, snapshot.root, ref)
        except CorruptLog:
            continue
        return True
    return False


def _is_old(file: LogFile, first: int) -> bool:
    if file.kind is Kind.COMPACTION:
        return file.version <= first
    return file.version < first


def _is_left_over(info: FileInfo, before_ms: int) -> bool:
    """Whether the file was left behind by a killed writer."""
    return info.name.isprintable() and _TEMPORARY.fullmatch(info.name) is not None and info.modified_ms < before_ms


def left_over_files(snapshot: Snapshot, before_ms: int) -> list[str]:
    """Return the temporary files of the log that killed writers left before a time, by their paths below the table.

    Raises StorageError.
    """
    found = []
    for folder in (LOG_FOLDER, f"{LOG_FOLDER}/{SIDECAR_FOLDER}", f"{LOG_FOLDER}/{STAGED_FOLDER}"):
        entries = entries_of(storage_below(snapshot.storage), join(snapshot.root, folder))
        found += [f"{folder}/{each.name}" for each in entries if each.is_file and _is_left_over(each, before_ms)]
    paths = arrow_array(found, pa.string())
    allowed: list[str] = paths.filter(deletable(snapshot.storage, snapshot.root, paths, log_names)).to_pylist()
    return allowed


def unneeded_sidecars(snapshot: Snapshot, before_ms: int) -> list[FileInfo]:
    """Return the sidecars older than a time that no checkpoint in the log references.

    There are none if a checkpoint cannot be read, because its sidecars are not known. Raises StorageError.
    """
    sidecars = entries_of(snapshot.storage, join(snapshot.root, LOG_FOLDER, SIDECAR_FOLDER))
    old = [info for info in sidecars if info.is_file and info.modified_ms < before_ms and info.name.isprintable()]
    paths = arrow_array([f"{LOG_FOLDER}/{SIDECAR_FOLDER}/{info.name}" for info in old], pa.string())
    allowed = deletable(snapshot.storage, snapshot.root, paths, log_names).to_pylist()
    old = [info for info, may in zip(old, allowed, strict=True) if may]
    if not old:
        return []
    listing = list_log(snapshot.storage, snapshot.root)
    if listing.incomplete:
        return []
    try:
        needed = {
            path.rpartition("/")[2]
            for refs in listing.checkpoints.values()
            for ref in refs
            for path in open_checkpoint(snapshot.storage, snapshot.root, ref).sidecars
        }
    except CorruptLog:
        return []
    # Compared by name, since a checkpoint may spell the location differently from the listing.
    return [info for info in old if info.name not in needed]


def _midnight(time_ms: int) -> int:
    return time_ms - time_ms % DAY_MS
