"""The data files that a caller names: files and folders, in the table's folder or elsewhere, and their logged paths.

# PROTOCOL, Add File: "a relative path to a data file from the root of the table or an absolute path"
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote

from deltaskip.actions.partition_values import PartitionValueError
from deltaskip.actions.paths import encode_location, encode_path
from deltaskip.doors import first_line
from deltaskip.errors import DataFileMissing, InvalidArgument, StorageError
from deltaskip.json_text import parse_json
from deltaskip.records import dataclass
from deltaskip.storage import (
    LOG_FOLDER,
    FileInfo,
    Storage,
    is_local,
    join,
    parent,
    parse_location,
    scheme_of,
    storage_for,
)
from deltaskip.storage.interface import read_whole
from deltaskip.storage.tree import files_below

_LOG = "_spark_metadata"
_COMPACT = ".compact"

_HIDDEN = (".", "_")


@dataclass(frozen=True, slots=True)
class GivenFile:
    """A file to add to a table.

    Attributes:
        location: Where it is, as plain text.
        path: Its path in the log: relative and encoded in the table's folder, else an absolute URI.
        size: Bytes.
        modified_ms: Time of its last change, in milliseconds since the epoch.
        folders: Names of the folders above it; below the table's root, only those below it.
    """

    location: str
    path: str
    size: int
    modified_ms: int
    folders: tuple[str, ...]


def find_files(storage: Storage, root: str, paths: Iterable[str]) -> list[GivenFile]:
    """Return the files that the paths name, sorted by location.

    A folder stands for all files in it and in the folders below, without hidden ones: names that begin with `_` or `.`,
    except those of partitions, such as `_day=1`. A folder that a streaming query of Spark writes stands for the files
    that the query has committed.

    Args:
        storage: Storage of the table.
        root: Location of the table.
        paths: Absolute paths or URIs, or paths relative to the table's root.

    Raises:
        DataFileMissing: A file or folder does not exist, or a folder contains no files.
        InvalidArgument: A file is named twice, or other readers of the table could not open it.
        StorageError: A folder cannot be listed.
    """
    found: dict[str, GivenFile] = {}
    for folder, wanted in _by_folder(root, paths).items():
        holder = storage_for(folder, None, storage)
        for file in _files(holder, root, folder, wanted):
            if file.path in found:
                raise InvalidArgument(f"The file {file.path} is named twice; add it to {root} once.")
            found[file.path] = _given(root, file)
    return [found[path] for path in sorted(found)]


def _by_folder(root: str, paths: Iterable[str]) -> dict[str, dict[str, str]]:
    """Location of each folder → name → the path as the caller wrote it; the name "" stands for the folder itself."""
    found: dict[str, dict[str, str]] = {}
    for path in paths:
        location = _location(root, path)
        if is_local(location) != is_local(root):
            raise InvalidArgument(
                f"The file {path} cannot be added to {root}: readers of the table that run elsewhere could not open it."
            )
        folder = parent(location)
        itself = location in (root.rstrip("/"), folder)
        names = found.setdefault(location if itself else folder, {})
        name = "" if itself else location.rpartition("/")[2]
        if name in names:
            raise InvalidArgument(f"The path {path} is given twice; add it to {root} once.")
        names[name] = path
    return found


def _location(root: str, path: str) -> str:
    location = parse_location(path) if scheme_of(path) is not None or path.startswith("/") else join(root, path)
    if is_local(location):
        return posixpath.normpath(location)
    start = location.index("://") + 3
    return location[:start] + posixpath.normpath(location[start:])


def _files(storage: Storage, root: str, folder: str, wanted: Mapping[str, str]) -> Iterator[FileInfo]:
    if "" in wanted:
        yield from _below(storage, root, folder)
    names = {name for name in wanted if name}
    if not names:
        return
    try:
        listed = storage.list_from(folder, min(names))
    except FileNotFoundError:
        listed = []
    there: dict[str, FileInfo] = {}
    for entry in listed:
        if entry.name in names and (entry.is_file or entry.name not in there):
            there[entry.name] = entry
    for name, path in wanted.items():
        if not name:
            continue
        if name not in there:
            what = f"There is no file or folder {join(folder, name)}"
            raise DataFileMissing(f"{what}, so {path!r} cannot be added to {root}.")
        given = there[name]
        if given.is_file:
            yield given
        elif given.kind == "directory":
            yield from _below(storage, root, given.path)
        else:
            raise InvalidArgument(f"{given.path} is a {given.kind}, not a file, so it cannot be added to {root}.")


def _below(storage: Storage, root: str, folder: str) -> list[FileInfo]:
    def descend(entry: FileInfo) -> bool:
        if entry.name == LOG_FOLDER and parent(entry.path) != root.rstrip("/"):
            raise InvalidArgument(
                f"{parent(entry.path)} is a Delta table, whose files may contain deleted rows: append its rows to "
                f"{root} instead of adding its files."
            )
        return _is_visible(entry.name)

    try:
        files = [file for file in files_below(storage, folder, descend) if _is_visible(file.name)]
    except FileNotFoundError as error:
        raise DataFileMissing(f"There is no folder {folder} with data files.") from error
    committed = _sink_files(storage, folder)
    if committed is not None:
        files = [file for file in files if file.path in committed]
    if not files:
        raise DataFileMissing(f"The folder {folder} contains no data files.")
    return files


def _is_visible(name: str) -> bool:
    # Spark's HadoopFSUtils.shouldFilterOutPathName
    return not name.startswith(_HIDDEN) or (name.startswith("_") and "=" in name)


def _given(root: str, file: FileInfo) -> GivenFile:
    base = root.rstrip("/") + "/"
    inside = file.path.startswith(base)
    relative = file.path[len(base) :] if inside else file.path
    if relative.startswith(f"{LOG_FOLDER}/"):
        raise InvalidArgument(f"{file.path} is part of the log of {root}, so it cannot be added as a data file.")
    try:
        path = encode_path(relative) if inside else encode_location(file.path)
    except PartitionValueError as error:
        raise InvalidArgument(
            f"The name of the file {file.path} is not UTF-8, as paths in the log of {root} are: rename it."
        ) from error
    return GivenFile(file.path, path, file.size, file.modified_ms, tuple(relative.split("/")[:-1]))


def _sink_files(storage: Storage, folder: str) -> frozenset[str] | None:
    """Return the locations of the committed files; None if no streaming query writes into the folder.

    Raises StorageError if the query's log cannot be read.
    """
    # Spark 4.1, FileStreamSinkLog, CompactibleFileStreamLog: `_spark_metadata/N` has the files of batch N, and
    # `N.compact` the files of all batches so far; a line with the version, then a JSON object per line
    log = join(folder, _LOG)
    try:
        files = {entry.name: entry for entry in storage.list_from(log, "") if entry.is_file}
    except FileNotFoundError:
        return None
    batches = {name.removesuffix(_COMPACT): name for name in files if name.removesuffix(_COMPACT).isdigit()}
    if not batches:
        return None
    numbers = sorted(map(int, batches))
    first = max((number for number in numbers if batches[str(number)].endswith(_COMPACT)), default=numbers[0])
    found: dict[str, None] = {}
    for number in numbers:
        if number < first:
            continue
        file = files[batches[str(number)]]
        try:
            for line in read_whole(storage, file).decode().splitlines()[1:]:
                entry = parse_json(line)
                location = _sink_location(str(entry["path"]))
                if entry["action"] == "add":
                    found[location] = None
                else:
                    found.pop(location, None)
        except (ValueError, KeyError, TypeError) as error:
            raise StorageError(
                f"The log {file.path} of a streaming query cannot be read: {first_line(error)}."
            ) from error
    return frozenset(found)


def _sink_location(path: str) -> str:
    location = parse_location(path)
    return location if is_local(location) else unquote(location)
