"""The files below a table's folder, in batches of Arrow columns, without hidden files, links and other tables.

# delta-spark: DeltaTableUtils.isHiddenDirectory, DeltaFileOperations.recursiveListDirs
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions.paths import S3_SCHEMES, decode_path
from deltaskip.doors import first_line
from deltaskip.errors import InvalidArgument, StorageError
from deltaskip.features.change_data_feed import CHANGE_FOLDER
from deltaskip.fork_safety import cached_property
from deltaskip.log import Snapshot
from deltaskip.path_bytes import decoded, encoded, real_path
from deltaskip.records import dataclass
from deltaskip.schema.properties import UNIFORM_KEY
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, filled, one_chunk
from deltaskip.storage import LOG_FOLDER, FileInfo, LocalStorage, Storage, join, storage_below
from deltaskip.storage.interface import IN_FLIGHT
from deltaskip.storage.remote import ObjectStorage
from deltaskip.storage.temporary_names import TEMPORARY

LISTED = pa.schema([("path", pa.string()), ("size", pa.int64()), ("modified_ms", pa.int64())])
"""A listed file: its path below the table, not encoded; size and time are null where `with_sizes` must look them up."""

_INVENTORY = pa.schema(
    [("path", pa.string()), ("length", pa.int64()), ("isDir", pa.bool_()), ("modificationTime", pa.int64())]
)
_BATCH_ROWS = 1 << 16
_MOST_LINKS = 40
# Change data files and indexes belong to the table, though the names of their folders begin with an underscore.
_VISIBLE = ("_delta_index", CHANGE_FOLDER)
# Names of files that this package's writers through Spark and Hadoop leave when they are killed.
_TEMPORARY_FILE = rf"(^|/){TEMPORARY}$"
_TEMPORARY_FOLDER = r"((^|/)part-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})/_temporary(/.*)?$"
_ICEBERG_METADATA = "metadata"


@dataclass(frozen=True)
class HiddenNames:
    """Names of files and folders that do not belong to the table.

    Attributes:
        partition_columns: Names of the partition columns: `_p=1` is a folder of a partition.
        iceberg: Whether Iceberg's metadata is kept beside the data (UniForm).
    """

    partition_columns: tuple[str, ...]
    iceberg: bool

    @classmethod
    def of(cls, snapshot: Snapshot) -> HiddenNames:
        """Return the names that are hidden in a table."""
        formats = snapshot.properties.get(UNIFORM_KEY, "").lower().split(",")
        return cls(tuple(snapshot.partition_columns), "iceberg" in map(str.strip, formats))

    @cached_property
    def _visible(self) -> tuple[str, ...]:
        return (*_VISIBLE, *(f"{name}=" for name in self.partition_columns if name.startswith(("_", "."))))

    def __call__(self, name: str, folder: str) -> bool:
        """Whether a file or folder of this name, in a folder below the table, is not the table's."""
        if self.iceberg and name == _ICEBERG_METADATA:
            return True
        if not name.startswith(("_", ".")) or name.startswith(self._visible):
            return False
        path = f"{folder}/{name}"
        return re.search(_TEMPORARY_FILE, path) is None and re.search(_TEMPORARY_FOLDER, path) is None

    def mask(self, paths: pa.Array) -> pa.BooleanArray:
        """Whether each path has a hidden segment."""
        hidden = self._hidden(paths)
        if not pc.any(hidden).as_py():
            return hidden
        some = pc.replace_substring_regex(paths.filter(hidden), _TEMPORARY_FOLDER, r"\1/x")
        return pc.replace_with_mask(hidden, hidden, self._hidden(pc.replace_substring_regex(some, _TEMPORARY_FILE, "")))

    def visible(self, paths: pa.Array) -> pa.BooleanArray:
        """Whether no segment of each path is hidden: the names that a VACUUM deletes."""
        return pc.invert(self.mask(paths))

    def _hidden(self, paths: pa.Array) -> pa.BooleanArray:
        visible = "|".join(map(re.escape, self._visible))
        # The value after the name of a partition column may begin with the same letters.
        others = pc.replace_substring_regex(paths, f"(^|/)({visible})", r"\1x")
        hidden = pc.match_substring_regex(others, r"(^|/)[._]")
        if self.iceberg:
            hidden = pc.or_(hidden, pc.match_substring_regex(paths, f"(^|/){_ICEBERG_METADATA}(/|$)"))
        return hidden


def is_temporary(paths: pa.Array) -> pa.BooleanArray:
    """Return which paths are a writer's temporary files, or its folder for them."""
    return pc.match_substring_regex(paths, f"{_TEMPORARY_FILE}|{_TEMPORARY_FOLDER}")


@dataclass(slots=True)
class Folders:
    """What a listing finds in addition to files.

    Attributes:
        entries: Number of entries of each directory, by its path below the table; empty for object stores.
        modified_ms: Time of each directory.
        link_targets: Paths in the table that links point to.
        tables: Paths of other tables in this one's folder.
    """

    entries: dict[str, int] = field(default_factory=dict)
    modified_ms: dict[str, int] = field(default_factory=dict)
    link_targets: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)

    def protected(self, paths: pa.Array) -> pa.BooleanArray:
        """Whether each path belongs to another table, or a link points to it or to a directory above it."""
        found = arrow_array([False] * len(paths), pa.bool_())
        for folder in (*self.link_targets, *self.tables):
            below = pc.or_(pc.equal(paths, arrow_scalar(folder, paths.type)), pc.starts_with(paths, f"{folder}/"))
            found = pc.or_(found, below)
        return found


def files_of_table(storage: Storage, root: str, hidden: HiddenNames, folders: Folders) -> Iterator[pa.Table]:
    """Yield the files below a table's folder (LISTED), and record directories, links and other tables in `folders`.

    Links to files are files; links to directories are not followed. Folders that contain another table are left out; if
    an object store lists their files first, they are in `folders.tables`.

    Raises StorageError.
    """
    storage = storage_below(storage)
    if isinstance(storage, LocalStorage):
        yield from _local_files(root, hidden, folders)
    elif isinstance(storage, ObjectStorage):
        yield from _objects(storage, root, hidden, folders)
    else:
        yield from _by_directory(storage, root, hidden, folders)


def files_of_inventory(snapshot: Snapshot, inventory: pa.Table, hidden: HiddenNames, folders: Folders) -> pa.Table:
    """Return the files (LISTED) that a list of files names below a table's folder, each once with its latest time.

    Args:
        snapshot: The table.
        inventory: The columns path, not encoded, length, isDir and modificationTime in milliseconds; others are
            ignored. # delta-spark, VacuumCommand, INVENTORY_SCHEMA
        hidden: Names that are not the table's.
        folders: Receives the other tables whose logs the list names.

    Raises InvalidArgument if the list lacks a column, or has another type for it.
    """
    try:
        found = pa.table([inventory[field.name].cast(field.type) for field in _INVENTORY], _INVENTORY)
    except (KeyError, pa.ArrowException) as error:
        columns = ", ".join(f"{field.name} {field.type}" for field in _INVENTORY)
        raise InvalidArgument(
            f"The inventory of {snapshot.table_root} needs the columns {columns}: {first_line(error)}"
        ) from error
    found = found.filter(pc.invert(filled(found["isDir"], True))).drop_null().combine_chunks()
    scheme, _, rest = snapshot.table_root.rstrip("/").partition("://")
    roots = [f"{each}://{rest}/" for each in (S3_SCHEMES if scheme in S3_SCHEMES else (scheme,))]
    roots += [f"file:{rest}/", f"{rest}/"] if scheme == "file" else []
    paths = found["path"]
    below = pa.chunked_array([pa.nulls(len(found), pa.string())])
    for each in map(decode_path, roots):
        inner = pc.utf8_slice_codeunits(paths, len(each))
        below = pc.if_else(pc.starts_with(paths, each), inner, below)
    found = found.set_column(0, "path", below).drop_null()
    latest = found.group_by("path").aggregate([("length", "max"), ("modificationTime", "max")])
    columns = latest.select(["path", "length_max", "modificationTime_max"]).combine_chunks().columns
    if isinstance(storage_below(snapshot.storage), LocalStorage):
        # The list may be older than the files.
        columns[1:] = [pa.nulls(len(latest), pa.int64())] * 2
    files = pa.table(columns, LISTED)
    paths, log = one_chunk(files["path"]), f"/{LOG_FOLDER}/"
    inner = paths.filter(pc.match_substring(paths, log))
    folders.tables += {path[: path.index(log)] for path in inner.to_pylist()} - {*folders.tables}
    return files.filter(pc.invert(hidden.mask(paths)))


def other_tables(storage: Storage, root: str, paths: pa.Array) -> list[str]:
    """Return the folders below a table's folder that are other tables, among those above some files.

    Raises StorageError.
    """
    folders, pending = set[str](), pc.unique(pc.replace_substring_regex(paths, r"/?[^/]*$", "")).to_pylist()
    for folder in pending:
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    found = sorted(folders)
    with ThreadPoolExecutor(IN_FLIGHT, "deltaskip") as pool:
        logs = pool.map(lambda folder: _listed(storage, root, f"{folder}/{LOG_FOLDER}"), found)
        return [folder for folder, log in zip(found, logs, strict=True) if log]


def with_sizes(root: str, files: pa.Table) -> pa.Table:
    """Return the files with their sizes and times, without files that no longer exist."""
    if not files["size"].null_count:
        return files
    rows = []
    for path in files["path"].to_pylist():
        try:
            status = os.lstat(encoded(f"{root}/{path}"))
        except FileNotFoundError:
            continue
        except OSError as error:
            raise _unreadable(f"{root}/{path}", error) from error
        rows.append((path, status.st_size, status.st_mtime_ns // 1_000_000))
    columns = [arrow_array([row[i] for row in rows], each.type) for i, each in enumerate(LISTED)]
    return pa.table(columns, LISTED)


def _local_files(root: str, hidden: HiddenNames, folders: Folders) -> Iterator[pa.Table]:
    pending, paths = [""], list[str]()
    while pending:
        folder = pending.pop()
        found = _local_folder(root, folder, hidden, folders)
        if found is None:
            continue
        pending += found.subfolders
        paths += found.files
        if len(paths) >= _BATCH_ROWS:
            yield _unsized(paths)
            paths = []
    if paths:
        yield _unsized(paths)


@dataclass(slots=True)
class _Folder:
    files: list[str] = field(default_factory=list)
    subfolders: list[str] = field(default_factory=list)


def _local_folder(root: str, folder: str, hidden: HiddenNames, folders: Folders) -> _Folder | None:
    """The files and subfolders of one local folder; None if it is gone, or another table."""
    path, prefix = (f"{root}/{folder}", f"{folder}/") if folder else (root, "")
    found, count, links = _Folder(), 0, list[str]()
    try:
        modified = os.stat(encoded(path)).st_mtime_ns // 1_000_000
        with os.scandir(encoded(path)) as entries:
            for entry in entries:
                name, count = decoded(entry.name), count + 1
                if name[0] in "._m" and hidden(name, folder):
                    if name == LOG_FOLDER and folder:
                        folders.tables.append(folder)
                        return None
                elif entry.is_symlink():
                    links.append(name)
                elif entry.is_dir(follow_symlinks=False):
                    found.subfolders.append(prefix + name)
                elif entry.is_file(follow_symlinks=False) and _is_text(name):
                    found.files.append(prefix + name)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    for name in links:
        real = real_path(root)
        for target in _ways(f"{path}/{name}"):
            if target.startswith(f"{real}/"):
                folders.link_targets.append(target[len(real) + 1 :])
        if os.path.isfile(encoded(f"{path}/{name}")) and _is_text(name):
            found.files.append(prefix + name)
    folders.entries[folder], folders.modified_ms[folder] = count, modified
    return found


def _ways(link: str) -> Iterator[str]:
    """The files and links to which a link leads, in order."""
    for _ in range(_MOST_LINKS):
        if not os.path.islink(encoded(link)):
            return
        target = os.path.join(os.path.dirname(link), decoded(os.readlink(encoded(link))))
        link = os.path.join(real_path(os.path.dirname(target)), os.path.basename(target))
        yield link
    yield real_path(link)


def _is_text(name: str) -> bool:
    """Whether a log can name the file; names that are not valid Unicode are left alone."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _unsized(paths: Sequence[str]) -> pa.Table:
    unknown = pa.nulls(len(paths), pa.int64())
    return pa.table([arrow_array(paths, pa.string()), unknown, unknown], LISTED)


def _objects(storage: ObjectStorage, root: str, hidden: HiddenNames, folders: Folders) -> Iterator[pa.Table]:
    log = f"/{LOG_FOLDER}/"
    for batch in storage.list_below(root):
        paths = batch["path"]
        inner = paths.filter(pc.match_substring(paths, log))
        folders.tables += {path[: path.index(log)] for path in inner.to_pylist()} - {*folders.tables}
        files = pa.table([paths, batch["size"], batch["modified_ms"]], LISTED)
        yield files.filter(pc.invert(hidden.mask(paths)))


def _by_directory(storage: Storage, root: str, hidden: HiddenNames, folders: Folders) -> Iterator[pa.Table]:
    pending = [""]
    with ThreadPoolExecutor(IN_FLIGHT, "deltaskip") as pool:
        while pending:
            some, pending = pending[:IN_FLIGHT], pending[IN_FLIGHT:]
            rows: list[tuple[str, int, int]] = []
            for folder, listed in zip(some, pool.map(lambda each: _listed(storage, root, each), some), strict=True):
                if folder and any(entry.name == LOG_FOLDER and not entry.is_file for entry in listed):
                    folders.tables.append(folder)
                    continue
                folders.entries[folder] = len(listed)
                for entry in listed:
                    path = f"{folder}/{entry.name}" if folder else entry.name
                    if hidden(entry.name, folder):
                        continue
                    if entry.kind == "directory":
                        pending.append(path)
                        folders.modified_ms[path] = entry.modified_ms
                    elif entry.is_file:
                        rows.append((path, entry.size, entry.modified_ms))
            yield pa.table([arrow_array([row[i] for row in rows], each.type) for i, each in enumerate(LISTED)], LISTED)


def _listed(storage: Storage, root: str, folder: str) -> list[FileInfo]:
    try:
        return storage.list_from(join(root, folder) if folder else root, "")
    except FileNotFoundError:
        return []


def _unreadable(path: str, error: OSError) -> StorageError:
    return StorageError(f"Cannot read {path}: {error.strerror or error}. Nothing was deleted.")
