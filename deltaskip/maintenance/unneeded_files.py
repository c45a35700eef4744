"""The files that a VACUUM deletes: listed ones, or those that the log removed, which no retained version needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import listed_keys, table_keys
from deltaskip.errors import UnsupportedFeature
from deltaskip.json_text import parse_json
from deltaskip.log import LOG_FOLDER, Snapshot
from deltaskip.log.commit import read_commits
from deltaskip.log.in_commit_timestamps import CommitTimes
from deltaskip.log.loading import list_log
from deltaskip.maintenance.listing import LISTED, Folders, HiddenNames, facts_of, files_of_table
from deltaskip.maintenance.needed_files import file_keys_of, needed_files
from deltaskip.records import dataclass
from deltaskip.schema.arrow_values import TRUE, arrow_array, arrow_scalar, one_chunk
from deltaskip.storage import join

__all__ = ["Progress", "Unneeded", "note_last_vacuum", "unneeded_by_listing", "unneeded_by_log"]

Progress = Callable[[str, int, int], None]

_LAST_VACUUM = "_last_vacuum_info"
_LAST_MEMBER = "latestCommitVersionOutsideOfRetentionWindow"
# Files are compared with the needed ones this many at a time: each time those are hashed anew.
_COMPARED = 1 << 20
_COMMITS_AT_ONCE = 100
_CDC = b'{"cdc":'


@dataclass(frozen=True, slots=True)
class Unneeded:
    """Files that can be deleted.

    Attributes:
        files: The files (LISTED), sorted by path.
        folders: The directories that were listed.
        through: The version up to which the log was looked through; None if the folder was listed.
    """

    files: pa.Table
    folders: Folders
    through: int | None = None


def unneeded_by_listing(snapshot: Snapshot, cutoff_ms: int, forgotten_ms: int, progress: Progress) -> Unneeded:
    """Return the files below the table's folder that are older than a time and not needed since then.

    Args:
        snapshot: The latest version of the table.
        cutoff_ms: The time.
        forgotten_ms: As for needed_files.
        progress: Called with "listed", the files so far, and 0.

    Raises:
        CorruptLog: The log is damaged.
        StorageError: The log or a folder cannot be read.
    """
    needed = needed_files(snapshot, cutoff_ms, forgotten_ms)
    folders, parts = Folders(), list[pa.Table]()
    pending, listed = list[pa.Table](), 0
    limit = arrow_scalar(cutoff_ms, pa.int64())

    def compare() -> None:
        files = pa.concat_tables(pending).combine_chunks()
        pending.clear()
        files = files.filter(pc.invert(pc.is_in(listed_keys(files["path"]), value_set=needed)))
        parts.append(_older(files, limit))

    waiting = 0
    for files in files_of_table(snapshot.storage, snapshot.root, HiddenNames.of(snapshot), folders):
        pending.append(files)
        waiting += len(files)
        listed += len(files)
        progress("listed", listed, 0)
        if waiting >= _COMPARED:
            compare()
            waiting = 0
    if pending:
        compare()
    found = pa.concat_tables(parts) if parts else pa.Table.from_batches([], LISTED)
    found = found.filter(pc.invert(folders.protected(one_chunk(found["path"]))))
    found = _older(facts_of(snapshot.storage, snapshot.root, found.combine_chunks()), limit)
    return Unneeded(found.sort_by("path"), folders)


def _older(files: pa.Table, limit: pa.Scalar) -> pa.Table:
    """The files before a time, and those whose time is not known yet."""
    return files.filter(pc.fill_null(pc.less(files["modified_ms"], limit), TRUE))


def unneeded_by_log(snapshot: Snapshot, cutoff_ms: int, forgotten_ms: int, progress: Progress) -> Unneeded:
    """Return the files that commits before a time removed, and their change files, since the last LITE vacuum.

    # delta-spark: VACUUM … LITE
    Arguments are those of unneeded_by_listing. Raises UnsupportedFeature if the log lacks commits since then.
    """
    storage, root = snapshot.storage, snapshot.root
    listing = list_log(storage, root)
    versions = sorted(listing.commits)
    old = versions[: CommitTimes(storage, root, listing, versions).count_until(cutoff_ms - 1)]
    nothing = Unneeded(pa.Table.from_batches([], LISTED), Folders())
    if not old:
        return nothing
    last = _last_vacuum(snapshot)
    if versions[0] != 0 and (last is None or last < versions[0] - 1):
        raise UnsupportedFeature(
            f"{root} cannot be vacuumed by its log (lite): the commits before version {versions[0]} were deleted, so "
            f"that files which they removed are not known; vacuum it without lite."
        )
    wanted = [listing.commits[version] for version in old if last is None or version > last]
    needed, keys, sizes = needed_files(snapshot, cutoff_ms, forgotten_ms), list[pa.Array](), list[pa.Array]()
    for start in range(0, len(wanted), _COMMITS_AT_ONCE):
        some = wanted[start : start + _COMMITS_AT_ONCE]
        columns = ["path", "is_remove", "size", "deletion_vector"]
        actions = read_commits(storage, root, some, columns).actions
        removes = actions.filter(actions["is_remove"])
        data, _, vectors = file_keys_of(snapshot, removes["path"], removes["deletion_vector"])
        keys += [data, vectors]
        sizes += [pc.fill_null(removes["size"], 0), pa.repeat(0, len(vectors)).cast(pa.int64())]
        changes = [each for file in some for each in _change_files(storage.read(file.path))]
        keys.append(table_keys(snapshot.table_root, arrow_array([path for path, _ in changes], pa.string())))
        sizes.append(arrow_array([size for _, size in changes], pa.int64()))
        progress("listed", start + len(some), len(wanted))
    if not keys:
        return nothing
    times = pa.repeat(arrow_scalar(0, pa.int64()), sum(map(len, keys)))
    files = pa.table([pa.concat_arrays(keys), pa.concat_arrays(list(map(one_chunk, sizes))), times], LISTED)
    files = files.group_by("path").aggregate([("size", "max"), ("modified_ms", "max")])
    files = files.select(["path", "size_max", "modified_ms_max"]).rename_columns(LISTED.names)
    outside = pc.match_substring_regex(files["path"], r"^([A-Za-z][A-Za-z0-9+.\-]*:)?/")
    files = files.filter(pc.invert(pc.or_(outside, pc.is_in(files["path"], value_set=needed))))
    if not storage.remote:
        files = facts_of(storage, root, files.set_column(1, LISTED.field(1), pa.nulls(len(files), pa.int64())))
        files = _older(files, arrow_scalar(cutoff_ms, pa.int64()))
    return Unneeded(files.sort_by("path"), Folders(), old[-1])


def _change_files(text: bytes) -> Iterator[tuple[str, int]]:
    for line in text.splitlines():
        if line.startswith(_CDC):
            action = parse_json(line.decode())["cdc"]
            yield action["path"], int(action.get("size") or 0)


def note_last_vacuum(snapshot: Snapshot, through: int) -> None:
    """Note the version up to which a LITE vacuum has deleted what the commits removed, as delta-spark does."""
    noted = json.dumps({_LAST_MEMBER: through}, separators=(",", ":")).encode()
    snapshot.storage.put(join(snapshot.root, LOG_FOLDER, _LAST_VACUUM), noted)


def _last_vacuum(snapshot: Snapshot) -> int | None:
    """The version up to which the last LITE vacuum has looked through the commits."""
    try:
        found = parse_json(snapshot.storage.read(join(snapshot.root, LOG_FOLDER, _LAST_VACUUM)).decode())
    except (FileNotFoundError, ValueError):
        return None
    last = found.get(_LAST_MEMBER) if isinstance(found, dict) else None
    return last if type(last) is int else None
