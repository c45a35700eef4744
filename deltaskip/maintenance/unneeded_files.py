"""The files that a VACUUM deletes: files, found by listing or in the log, that no retained version needs."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import listed_keys, table_keys
from deltaskip.actions.paths import S3_SCHEMES
from deltaskip.errors import CorruptLog, UnsupportedFeature
from deltaskip.json_text import parse_json
from deltaskip.log import Snapshot
from deltaskip.log.checkpoint.tombstones import tombstones
from deltaskip.log.commit import read_commits
from deltaskip.log.commit_times import CommitTimes
from deltaskip.log.deletion_vectors import vector_keys
from deltaskip.log.loading import list_log
from deltaskip.log.segment import list_commits
from deltaskip.maintenance import folder_listing
from deltaskip.path_bytes import decoded, encoded, real_path
from deltaskip.progress import ProgressCallback
from deltaskip.records import dataclass
from deltaskip.schema.properties import DAY_MS
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, filled, is_not_false, is_true, one_chunk
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.storage import LOG_FOLDER, LocalStorage, Storage, join, split_authority, storage_below
from deltaskip.storage.gate import deletable
from deltaskip.storage.interface import read_whole

_ABSOLUTE = r"^([A-Za-z][A-Za-z0-9+.\-]*:)?/"
_MOST_LINKS = 40
_NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)

_LAST_VACUUM = "_last_vacuum_info"
_LAST_MEMBER = "latestCommitVersionOutsideOfRetentionWindow"
# The number of files that are compared with the needed ones at once: each comparison hashes the needed ones again.
_COMPARED = 1 << 20
_COMMITS_AT_ONCE = 100
_CDC = b'{"cdc":'
_BATCH_ROWS = 1 << 16
# The time of a remove is earlier than its commit, and may come from another clock.
_MARGIN_MS = DAY_MS
_REMOVED = ["path", "is_remove", "deletion_timestamp", "deletion_vector"]


@dataclass(frozen=True, slots=True)
class Unneeded:
    """Files that can be deleted.

    Attributes:
        files: The files (LISTED), sorted by path.
        folders: The directories that were listed.
        needed: The files that are needed.
        through: The version up to which the log was looked through; None if the folder was listed.
    """

    files: pa.Table
    folders: folder_listing.Folders
    needed: NeededFiles
    through: int | None = None

    def without(self, snapshot: Snapshot, needed: NeededFiles) -> Unneeded:
        """Return the files that a later version does not need either."""
        files = self.files.filter(pc.invert(pc.is_in(listed_keys(self.files["path"]), value_set=needed.keys)))
        new = needed.names.filter(pc.invert(pc.is_in(needed.names, value_set=self.needed.names)))
        return replace(self, files=_without_other_names(snapshot, files, new))


def unneeded_by_listing(
    snapshot: Snapshot, cutoff_ms: int, forgotten_ms: int, progress: ProgressCallback, inventory: pa.Table | None = None
) -> Unneeded:
    """Return the files below the table's folder that are older than a time and not needed since then.

    Args:
        snapshot: The latest version of the table.
        cutoff_ms: The time.
        forgotten_ms: As for needed_files.
        progress: Called with "listed", the files so far, and 0.
        inventory: The files below the folder, as for `files_of_inventory`; None to list them.

    Raises:
        CorruptLog: The log is damaged.
        StorageError: The log or a folder cannot be read.
        InvalidArgument: The inventory has other columns.
    """
    needed = needed_files(snapshot, cutoff_ms, forgotten_ms)
    found, folders = _listed(snapshot, needed, cutoff_ms, progress, inventory=inventory)
    return Unneeded(found, folders, needed)


def _listed(
    snapshot: Snapshot,
    needed: NeededFiles,
    cutoff_ms: int,
    progress: ProgressCallback,
    chosen: pa.Array | None = None,
    inventory: pa.Table | None = None,
) -> tuple[pa.Table, folder_listing.Folders]:
    """The listed files that are old, not needed, and may be deleted.

    chosen: Keys of the files in question. inventory: As for `unneeded_by_listing`.
    """
    folders, parts = folder_listing.Folders(), list[pa.Table]()
    pending, listed, unlisted = list[pa.Table](), 0, needed.names
    hidden, limit = folder_listing.HiddenNames.of(snapshot), arrow_scalar(cutoff_ms, pa.int64())

    def compare() -> None:
        nonlocal unlisted
        files = pa.concat_tables(pending).combine_chunks()
        pending.clear()
        keys = listed_keys(files["path"])
        unlisted = unlisted.filter(pc.invert(pc.is_in(unlisted, value_set=keys)))
        candidates = pc.invert(pc.is_in(keys, value_set=needed.keys))
        if chosen is not None:
            candidates = pc.and_(candidates, pc.is_in(keys, value_set=chosen))
        parts.append(_older(files.filter(candidates), limit))

    waiting = 0
    if inventory is None:
        batches = folder_listing.files_of_table(snapshot.storage, snapshot.root, hidden, folders)
    else:
        batches = iter([folder_listing.files_of_inventory(snapshot, inventory, hidden, folders)])
    for files in batches:
        pending.append(files)
        waiting += len(files)
        listed += len(files)
        progress("listed", listed, 0)
        if waiting >= _COMPARED:
            compare()
            waiting = 0
    if pending:
        compare()
    found = pa.concat_tables(parts) if parts else pa.Table.from_batches([], folder_listing.LISTED)
    if inventory is not None:
        # The list may lack the logs of other tables.
        folders.tables += folder_listing.other_tables(snapshot.storage, snapshot.root, one_chunk(found["path"]))
    found = _allowed(snapshot, found, folders, hidden)
    found = _older(folder_listing.with_sizes(snapshot.root, found), limit)
    # A writer may be at work on a temporary file, whatever the retention is.
    temporary = folder_listing.is_temporary(one_chunk(found["path"]))
    if pc.any(temporary).as_py():
        day = arrow_scalar(current_ms() - DAY_MS, pa.int64())
        found = found.filter(pc.or_(pc.invert(temporary), pc.less(found["modified_ms"], day)))
    return _without_other_names(snapshot, found, unlisted).sort_by("path"), folders


def _allowed(
    snapshot: Snapshot, files: pa.Table, folders: folder_listing.Folders, hidden: folder_listing.HiddenNames
) -> pa.Table:
    """The files that pass the check for hidden names, without files of other tables and targets of links."""
    paths = one_chunk(files["path"])
    allowed = deletable(snapshot.storage, snapshot.root, paths, hidden.visible)
    return files.filter(pc.and_(allowed, pc.invert(folders.protected(paths)))).combine_chunks()


def _without_other_names(snapshot: Snapshot, files: pa.Table, names: pa.Array) -> pa.Table:
    other = _needed_under_other_names(snapshot.storage, snapshot.root, one_chunk(files["path"]), names)
    return files.filter(pc.invert(other))


def _older(files: pa.Table, limit: pa.Scalar) -> pa.Table:
    """The files that are older than a time, and files whose time is not known yet."""
    return files.filter(is_not_false(pc.less(files["modified_ms"], limit)))


def unneeded_by_log(snapshot: Snapshot, cutoff_ms: int, forgotten_ms: int, progress: ProgressCallback) -> Unneeded:
    """Return the files that commits before a time removed, and their change data files, since the last LITE vacuum.

    # delta-spark: VACUUM … LITE
    Arguments as for unneeded_by_listing. Raises UnsupportedFeature if the log lacks commits since then.
    """
    storage, root = snapshot.storage, snapshot.root
    listing = list_log(storage, root)
    versions = sorted(listing.commits)
    old = versions[: CommitTimes(storage, root, listing, versions).count_until(cutoff_ms - 1)]
    needed = needed_files(snapshot, cutoff_ms, forgotten_ms)
    nothing = Unneeded(pa.Table.from_batches([], folder_listing.LISTED), folder_listing.Folders(), needed)
    if not old:
        return nothing
    last = _last_vacuum(snapshot)
    if versions[0] != 0 and (last is None or last < versions[0] - 1):
        raise UnsupportedFeature(
            f"{root} cannot be vacuumed by its log (lite): the commits before version {versions[0]} were deleted, so "
            f"that files which they removed are not known; vacuum it without lite."
        )
    wanted = [listing.commits[version] for version in old if last is None or version > last]
    keys, sizes = list[pa.Array](), list[pa.Array]()
    for start in range(0, len(wanted), _COMMITS_AT_ONCE):
        some = wanted[start : start + _COMMITS_AT_ONCE]
        columns = ["path", "is_remove", "size", "deletion_vector"]
        actions = read_commits(storage, root, some, columns).actions
        removes = actions.filter(actions["is_remove"])
        named = _file_keys_of(snapshot, removes["path"], removes["deletion_vector"])
        keys += [named.data, named.vectors]
        sizes += [filled(removes["size"], 0), pa.repeat(0, len(named.vectors)).cast(pa.int64())]
        changes = [each for file in some for each in _change_files(read_whole(storage, file.file))]
        keys.append(table_keys(snapshot.table_root, arrow_array([path for path, _ in changes], pa.string())))
        sizes.append(arrow_array([size for _, size in changes], pa.int64()))
        progress("listed", start + len(some), len(wanted))
    if not keys:
        return nothing
    if not storage.remote:
        # Only a listing shows links.
        found, _ = _listed(snapshot, needed, cutoff_ms, progress, pa.concat_arrays(keys))
        return Unneeded(found, folder_listing.Folders(), needed, old[-1])
    times = pa.repeat(arrow_scalar(0, pa.int64()), sum(map(len, keys)))
    files = pa.table(
        [pa.concat_arrays(keys), pa.concat_arrays(list(map(one_chunk, sizes))), times], folder_listing.LISTED
    )
    files = files.group_by("path").aggregate([("size", "max"), ("modified_ms", "max")])
    files = files.select(["path", "size_max", "modified_ms_max"]).rename_columns(folder_listing.LISTED.names)
    outside = pc.match_substring_regex(files["path"], _ABSOLUTE)
    files = files.filter(pc.invert(pc.or_(outside, pc.is_in(files["path"], value_set=needed.keys))))
    paths = pc.replace_substring_regex(one_chunk(files["path"]), r"^\./", "")
    hidden, folders = folder_listing.HiddenNames.of(snapshot), folder_listing.Folders()
    files = _allowed(snapshot, files.set_column(0, folder_listing.LISTED.field(0), paths), folders, hidden)
    folders.tables += folder_listing.other_tables(storage, root, one_chunk(files["path"]))
    files = _allowed(snapshot, files, folders, hidden)
    return Unneeded(_without_other_names(snapshot, files, needed.names).sort_by("path"), folders, needed, old[-1])


def _change_files(text: bytes) -> Iterator[tuple[str, int]]:
    for line in text.splitlines():
        if line.startswith(_CDC):
            action = parse_json(line.decode())["cdc"]
            yield action["path"], int(action.get("size") or 0)


def note_last_vacuum(snapshot: Snapshot, through: int) -> None:
    """Record the version up to which a LITE vacuum has deleted the files that commits removed, as delta-spark does."""
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


def _needed_under_other_names(storage: Storage, root: str, paths: pa.Array, names: pa.Array) -> pa.BooleanArray:
    """Return which files are needed under another name than in the listing: links, mounts, schemes, letter case.

    Local files are the same if device and inode are. If a name cannot be looked up on this machine (another machine's
    mount, another store's scheme), every file whose path below the table is a suffix of the name may be the needed one.

    Args:
        storage: Storage of the table.
        root: Location of the table.
        paths: Files below the root.
        names: Keys (table_keys) of needed files that the listing does not have.
    """
    if not len(paths) or not len(names):
        return arrow_array([False] * len(paths), pa.bool_())
    if not isinstance(storage_below(storage), LocalStorage):
        return _ending(paths, _in_other_stores(root, names))
    known, unknown = _looked_up(root, pc.unique(names).to_pylist())
    same = [bool(known) and _identity(f"{root}/{path}") in known for path in paths.to_pylist()]
    return pc.or_(arrow_array(same, pa.bool_()), _ending(paths, arrow_array(unknown, pa.string())))


def _in_other_stores(root: str, names: pa.Array) -> pa.Array:
    """The absolute names outside of the table's store; inside it, equal files have equal keys."""
    names = names.filter(pc.match_substring_regex(names, _ABSOLUTE))
    base, _ = split_authority(root)
    scheme, _, authority = base.partition("://")
    for each in S3_SCHEMES if scheme in S3_SCHEMES else (scheme,):
        names = names.filter(pc.invert(pc.starts_with(names, f"{each}://{authority}/")))
    return names


def _looked_up(root: str, names: Iterable[str]) -> tuple[set[tuple[int, int]], list[str]]:
    """Device and inode of each name and of links in its path, and absolute names that cannot be looked up."""
    known: set[tuple[int, int]] = set()
    unknown = []
    for name in names:
        path = _local_path(root, name)
        found = set() if path is None else _identities(path)
        if found is None or (not found and path != f"{root}/{name}"):
            unknown.append(name)
        known |= found or set()
    return known, unknown


def _local_path(root: str, key: str) -> str | None:
    """The local path of a key; None for another store."""
    if key.startswith("file:/"):
        return "/" + key[6:] if not key.startswith("file://") else "/" + key[7:].partition("/")[2]
    if key.startswith("/"):
        return key
    if key.partition(":/")[1] and not key.startswith("./") and "/" not in key.partition(":/")[0]:
        return None
    return f"{root}/{key.removeprefix('./')}"


def _identities(path: str) -> set[tuple[int, int]] | None:
    """Device and inode of a file and of the links to it that the path goes through; None if it is not known."""
    found = set()
    try:
        for _ in range(_MOST_LINKS):
            status = os.lstat(encoded(path))
            found.add((status.st_dev, status.st_ino))
            if not os.path.islink(encoded(path)):
                break
            path = os.path.join(real_path(os.path.dirname(path)), decoded(os.readlink(encoded(path))))
    except OSError as error:
        return found if error.errno in _NO_FILE else None
    except ValueError:
        # No file name contains a null character.
        return found
    return found


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(encoded(path))
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _ending(paths: pa.Array, names: pa.Array) -> pa.BooleanArray:
    """Whether a path is the end of one of the names."""
    last, ends = pc.replace_substring_regex(paths, "^.*/", ""), pc.replace_substring_regex(names, "^.*/", "")
    likely = pc.is_in(last, value_set=ends)
    if not pc.any(likely).as_py():
        return likely
    by_end: dict[str, list[str]] = {}
    for name, end in zip(names.to_pylist(), ends.to_pylist(), strict=True):
        by_end.setdefault(end, []).append(name)
    found = [
        may and any(name.endswith(f"/{path}") for name in by_end[end])
        for may, path, end in zip(likely.to_pylist(), paths.to_pylist(), last.to_pylist(), strict=True)
    ]
    return arrow_array(found, pa.bool_())


@dataclass(frozen=True, slots=True)
class _FileKeys:
    """Keys (table_keys) of files.

    Attributes:
        data: The data files.
        literal: Data files by the logged path without decoding, if it has percent signs: some writers do not encode
            paths, and then it is the name of the file.
        vectors: The files of their deletion vectors.
    """

    data: pa.Array
    literal: pa.Array
    vectors: pa.Array


@dataclass(frozen=True, slots=True)
class NeededFiles:
    """The files that versions need, wherever they are.

    Attributes:
        keys: Their keys (table_keys), in every reading.
        names: The keys without the undecoded relative paths.
    """

    keys: pa.Array
    names: pa.Array


def needed_files(snapshot: Snapshot, cutoff_ms: int, forgotten_ms: int) -> NeededFiles:
    """Return the files that versions since a time need, wherever they are.

    Args:
        snapshot: The latest version of the table.
        cutoff_ms: Files that were removed at this time or later are needed.
        forgotten_ms: Checkpoints may lack removes before this time; the commits that the log contains have them.

    Raises:
        CorruptLog: A file of the log is damaged.
        StorageError: The log cannot be read.
    """
    parts = [
        _file_keys_of(snapshot, adds["path"], adds["deletion_vector"])
        for adds in snapshot.add_batches(_BATCH_ROWS, ["path", "deletion_vector"])
    ]
    for removes in tombstones(snapshot, cutoff_ms - 1):
        paths, vectors = pc.struct_field(removes, "path"), pc.struct_field(removes, "deletionVector")
        parts.append(_file_keys_of(snapshot, paths, vectors))
    if cutoff_ms < forgotten_ms:
        parts += _removed_since(snapshot, cutoff_ms)
    names = [keys for part in parts for keys in (part.data, part.vectors)]
    literal = _joined([part.literal for part in parts])
    names.append(literal.filter(pc.match_substring_regex(literal, _ABSOLUTE)))
    return NeededFiles(_joined([*names, literal]), _joined(names))


def _joined(parts: list[pa.Array]) -> pa.Array:
    return pa.concat_arrays(parts) if parts else pa.nulls(0, pa.string())


def _file_keys_of(snapshot: Snapshot, paths: pa.Array, vectors: pa.Array) -> _FileKeys:
    """Return the keys of data files, and of the files of their deletion vectors."""
    paths = one_chunk(paths)
    try:
        data = table_keys(snapshot.table_root, paths)
    except ValueError as error:
        raise CorruptLog(
            f"The log of {snapshot.root} is damaged: {error}; rewrite the commit or checkpoint that contains it."
        ) from error
    encoded = paths.filter(pc.match_substring(paths, "%"))
    literal = table_keys(snapshot.table_root, pc.replace_substring(encoded, "%", "%25"))
    return _FileKeys(data, literal, vector_keys(snapshot.table_root, one_chunk(vectors)))


def _removed_since(snapshot: Snapshot, cutoff_ms: int) -> Iterator[_FileKeys]:
    """Keys of files that commits in the log removed at a time or later."""
    since = cutoff_ms - _MARGIN_MS
    files = [each for each in list_commits(snapshot.storage, snapshot.root, 0) if each.file.modified_ms >= since]
    for start in range(0, len(files), _COMMITS_AT_ONCE):
        some = files[start : start + _COMMITS_AT_ONCE]
        actions = read_commits(snapshot.storage, snapshot.root, some, _REMOVED).actions
        late = pc.greater_equal(actions["deletion_timestamp"], arrow_scalar(cutoff_ms, pa.int64()))
        removes = actions.filter(pc.and_(actions["is_remove"], is_true(late)))
        yield _file_keys_of(snapshot, removes["path"], removes["deletion_vector"])
