"""A warehouse: a folder with a folder for each namespace, and in it one for each table; local or in an object store.

    DIR/sales/_namespace.json                       the namespace `sales` and its properties
    DIR/sales/orders/_delta_log/…                   the table `sales.orders`
    DIR/sales/visits.table.json                     the table `sales.visits`, whose location the file contains

There is no other state: whoever creates version 0 of the log, or the file with the location, has created the table.
Names of folders come from `folder_name`, so that none begins with `_` or contains a dot.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from os import PathLike
from urllib.parse import unquote_to_bytes
from uuid import uuid4

from deltaskip import arguments, errors
from deltaskip.catalogs.identifier import CatalogIdentifier, Namespace, namespace_of, shown_namespace
from deltaskip.catalogs.located import CASCADE, LocatedCatalog, TableEntry
from deltaskip.json_text import parse_json
from deltaskip.lazy_regex import regex
from deltaskip.log.file_names import Kind, commit_name, parse_log_file
from deltaskip.log.last_checkpoint import LAST_CHECKPOINT
from deltaskip.storage import LOG_FOLDER, LocalStorage, Storage, join, open_storage, parent
from deltaskip.storage.gate import any_name, delete_file, delete_files, delete_folder, log_names
from deltaskip.storage.interface import entries_of
from deltaskip.storage.kill_points import kill_point

_MARKER = "_namespace.json"
_POINTER = ".table.json"
_DROPPED = "_dropped."
_PARALLEL_REQUESTS = 64
_LONGEST_FILE = 1 << 20
_CHECKPOINTS = frozenset(
    (Kind.CLASSIC_CHECKPOINT, Kind.CHECKPOINT_PART, Kind.UUID_PARQUET_CHECKPOINT, Kind.UUID_JSON_CHECKPOINT)
)


_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")
_LONGEST = 200
_AS_NAMED = regex(rf"[a-z0-9-][a-z0-9_-]{{0,{_LONGEST - 1}}}")


def folder_name(name: str) -> str:
    """Return the name of the folder for a part of a name.

    All bytes except a-z, 0-9, `_` and `-` are percent-encoded, and so is a leading `_`: readers of Delta and Spark
    consider names that begin with `_` or `.` hidden, and some file systems do not distinguish letter case.

    Raises InvalidArgument for a name that is too long for a file system.
    """
    encoded = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in name.encode())
    if encoded.startswith("_"):
        encoded = "%5F" + encoded[1:]
    if len(encoded) > _LONGEST:
        raise errors.InvalidArgument(
            f"The name {name[:50]!r}… is too long for a folder: at most {_LONGEST} bytes, of which characters other "
            f"than a-z, 0-9, _ and - take three or more."
        )
    return encoded


def name_of(folder: str) -> str | None:
    """Return the part of a name that belongs to a folder; None if `folder_name` returns the folder for no name."""
    if _AS_NAMED.fullmatch(folder):
        return folder
    try:
        name = unquote_to_bytes(folder).decode()
        return name if name and folder_name(name) == folder else None
    except (UnicodeError, errors.InvalidArgument):
        return None


class WarehouseCatalog(LocatedCatalog):
    """The tables of a warehouse folder, local or in an object store.

    Args:
        location: Path or URI of the warehouse. It need not exist.
        name: Name of the catalog, for messages and SQL.
        storage_options: Options of the object store, as for DeltaTable.
    """

    def __init__(
        self, location: str | PathLike[str], name: str = "warehouse", storage_options: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(name, storage_options)
        self._storage, self._root = open_storage(arguments.path("location", location), self.storage_options)

    def __repr__(self) -> str:
        return f"WarehouseCatalog({self._root!r})"

    @property
    def location(self) -> str:
        """Location of the warehouse."""
        return self._root

    # Tables

    def find_entry(self, ident: CatalogIdentifier) -> TableEntry | None:
        folder = self._folder(*ident.namespace, ident.name)
        if self._has_first_version(folder):
            return TableEntry(ident, folder)
        content = self._read(folder + _POINTER)
        if content is not None:
            return TableEntry(ident, _location_in(content, folder + _POINTER), managed=False)
        return TableEntry(ident, folder) if self._has_checkpoint(folder) else None

    def add_entry(self, entry: TableEntry) -> None:
        """The log of a managed table is its entry."""
        folder = self._folder(*entry.identifier.namespace, entry.identifier.name)
        taken = errors.TableAlreadyExists(f"The catalog {self.name} already has a table {entry.identifier}.")
        if entry.managed:
            if self._storage.exists(folder + _POINTER):
                self.remove_entry(entry)
                raise taken
            return
        self._put_pointer(folder + _POINTER, entry.location, taken)
        if self._is_table(folder):
            self._delete(folder + _POINTER)
            raise taken

    def remove_entry(self, entry: TableEntry) -> bool:
        """The files of a table that the warehouse manages are also deleted."""
        folder = self._folder(*entry.identifier.namespace, entry.identifier.name)
        kill_point("dropping")
        if not entry.managed:
            return self._take_away(folder + _POINTER)
        if isinstance(self._storage, LocalStorage):
            return self._take_away(folder)
        if not self._is_table(folder):
            return False
        try:
            _delete_log(self._storage, folder)
        except FileNotFoundError:
            # Another writer has dropped it first.
            return False
        kill_point("log deleted")
        self._delete_folder(folder)
        return True

    def remove_files(self, entry: TableEntry) -> None:
        """Remove the files of an external table; `remove_entry` has deleted a managed table's files."""
        if not entry.managed:
            super().remove_files(entry)

    def own_locations(self) -> Sequence[str]:
        return (self._root,)

    def move_entry(self, entry: TableEntry, new: CatalogIdentifier) -> None:
        old = entry.identifier
        before, after = self._folder(*old.namespace, old.name), self._folder(*new.namespace, new.name)
        gone = errors.TableNotFound(
            f"The catalog {self.name} has no table {old}: another writer has renamed or dropped it."
        )
        taken = errors.TableAlreadyExists(f"The catalog {self.name} already has a table {new}.")
        if not entry.managed:
            self._put_pointer(after + _POINTER, entry.location, taken)
            # Another table that took the name at the same time may have been withdrawn before this check.
            refused = taken if self._is_table(after) else None if self._take_away(before + _POINTER) else gone
            if refused is not None:
                self._delete(after + _POINTER)
                raise refused
            return
        self._check_no_namespace(new)
        if not isinstance(self._storage, LocalStorage):
            raise errors.UnsupportedFeature(
                f"The table {old} cannot be renamed to {new}, because {before} is in a store without atomic renames of "
                f"folders: clone it to a location of its own and register that."
            )
        try:
            self._storage.move(before, after)
        except FileNotFoundError as error:
            raise gone from error
        except FileExistsError as error:
            if self._is_table(after):
                raise taken from error
            raise errors.TableAlreadyExists(
                f"The table {old} cannot be renamed to {new}, because {after} contains files of a table that is being "
                f"created, or whose creation was interrupted: delete the folder if no writer is at work."
            ) from error
        try:
            is_taken = self._storage.exists(after + _POINTER)
        except BaseException:
            self._storage.move(after, before)
            raise
        if is_taken:
            self._storage.move(after, before)
            raise taken

    def new_location(self, ident: CatalogIdentifier) -> str:
        self._check_no_namespace(ident)
        folder = self._folder(*ident.namespace, ident.name)
        self._clear_log(folder)
        return folder

    def table_names(self, namespace: Namespace) -> Iterable[str]:
        return self.matching_names(namespace, lambda name: True)

    def matching_names(self, namespace: Namespace, matches: Callable[[str], bool]) -> Iterable[str]:
        """Folders whose names do not match are not opened."""
        folders, found = [], set()
        for entry in entries_of(self._storage, self._folder(*namespace)):
            if entry.kind == "directory":
                name = name_of(entry.name)
                if name is not None and matches(name):
                    folders.append((entry.path, name))
            elif entry.name.endswith(_POINTER):
                name = name_of(entry.name[: -len(_POINTER)])
                if name is not None and matches(name):
                    found.add(name)
        tables = self._each(self._is_table, [path for path, _ in folders])
        found.update(name for (_, name), is_table in zip(folders, tables, strict=True) if is_table)
        return found

    # Namespaces

    def child_namespaces(self, parent: Namespace) -> Iterable[Namespace]:
        named = self._named_folders(self._folder(*parent))
        found = self._each(self._is_namespace, [path for path, _ in named])
        return [(*parent, name) for (_, name), is_one in zip(named, found, strict=True) if is_one]

    def find_namespace(self, namespace: Namespace) -> dict[str, str] | None:
        """A folder with tables is also a namespace, without properties."""
        if not namespace:
            return {}
        folder = self._folder(*namespace)
        content = self._read(join(folder, _MARKER))
        if content is not None:
            return _properties_in(content, join(folder, _MARKER))
        return {} if not self._is_table(folder) and self._has_content(folder) else None

    def add_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        folder = self._folder(*namespace)
        marker, name = join(folder, _MARKER), shown_namespace(namespace)
        try:
            self._storage.put_if_absent(marker, _json({"properties": dict(properties)}))
        except FileExistsError as error:
            raise errors.NamespaceAlreadyExists(f"The catalog {self.name} already has a namespace {name}.") from error
        try:
            is_table = self._is_table(folder)
        except BaseException:
            self._delete(marker)
            raise
        if is_table:
            self._delete(marker)
            raise errors.NamespaceAlreadyExists(
                f"The catalog {self.name} has a table {name}, and a warehouse keeps no namespace in the folder of a "
                f"table: choose another name."
            )

    def set_namespace(self, namespace: Namespace, properties: Mapping[str, str]) -> None:
        self._storage.put(join(self._folder(*namespace), _MARKER), _json({"properties": dict(properties)}))

    def drop_namespace(self, namespace: str | Sequence[str], cascade: bool = False) -> bool:
        """Files that an interrupted creation of a table left behind count as content."""
        found = namespace_of(namespace)
        if found and not arguments.flag("cascade", cascade):
            for path, name in self._named_folders(self._folder(*found)):
                if self._storage.exists(path) and not self._is_table(path) and not self._is_namespace(path):
                    raise errors.NamespaceNotEmpty(
                        f"The namespace {shown_namespace(found)} of the catalog {self.name} contains files of a table "
                        f"{name} that is being created, or whose creation was interrupted: pass {CASCADE} "
                        f"to delete them."
                    ).advising(CASCADE)
        return super().drop_namespace(found, cascade)

    def remove_namespace(self, namespace: Namespace) -> bool:
        folder = self._folder(*namespace)
        marker = join(folder, _MARKER)
        not_empty = errors.NamespaceNotEmpty(
            f"The namespace {shown_namespace(namespace)} of the catalog {self.name} has got a table or a namespace "
            f"while it was being dropped."
        )
        if isinstance(self._storage, LocalStorage):
            away = self._moved_away(folder)
            if away is None:
                return False
            try:
                has_content = self._has_content(away)
            except BaseException:
                self._storage.move(away, folder)
                raise
            if has_content:
                with suppress(FileExistsError):
                    self._storage.move(away, folder)
                raise not_empty
            self.delete_dropped(away, self._delete_folder)
            return True
        content = self._read(marker)
        self._delete(marker)
        if self._has_content(folder):
            if content is not None:
                self._storage.put(marker, content)
            raise not_empty
        self._delete_folder(folder)
        return content is not None

    # Contents of the folders

    def _folder(self, *parts: str) -> str:
        return join(self._root, *map(folder_name, parts)) if parts else self._root

    def _is_table(self, folder: str) -> bool:
        return self._has_first_version(folder) or self._has_checkpoint(folder)

    def _has_first_version(self, folder: str) -> bool:
        path = join(folder, LOG_FOLDER, commit_name(0))
        if not self._storage.remote:
            return self._storage.exists(path)
        # An object store would also list the objects below the name.
        try:
            self._storage.size(path)
        except FileNotFoundError:
            return False
        return True

    def _has_checkpoint(self, folder: str) -> bool:
        """Whether there is a checkpoint: the first commits of an old table are deleted."""
        entries = entries_of(self._storage, join(folder, LOG_FOLDER), "0")
        files = (parse_log_file(entry) for entry in entries if entry.is_file)
        return any(file is not None and file.kind in _CHECKPOINTS for file in files)

    def _is_namespace(self, folder: str) -> bool:
        if self._read(join(folder, _MARKER)) is not None:
            return True
        return not self._is_table(folder) and self._has_content(folder)

    def _has_content(self, folder: str) -> bool:
        """Whether there is a table or a namespace in a folder."""
        entries = entries_of(self._storage, folder)
        if any(entry.name.endswith(_POINTER) and name_of(entry.name[: -len(_POINTER)]) for entry in entries):
            return True
        inside = [entry.path for entry in entries if entry.kind == "directory" and name_of(entry.name)]
        return any(self._is_table(path) or self._is_namespace(path) for path in inside)

    def _named_folders(self, folder: str) -> list[tuple[str, str]]:
        """Paths of the subfolders that represent a name, and the names."""
        folders = (
            (entry.path, name_of(entry.name))
            for entry in entries_of(self._storage, folder)
            if entry.kind == "directory"
        )
        return [(path, name) for path, name in folders if name is not None]

    def _read(self, path: str) -> bytes | None:
        try:
            return self._storage.read(path, _LONGEST_FILE)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def _each(self, holds: Callable[[str], bool], folders: Sequence[str]) -> list[bool]:
        """Whether `holds` is true for each folder; the requests to a remote store run in parallel."""
        if not self._storage.remote or len(folders) < 2:
            return [holds(folder) for folder in folders]
        with ThreadPoolExecutor(min(_PARALLEL_REQUESTS, len(folders)), "deltaskip") as pool:
            return list(pool.map(holds, folders))

    # Changes

    def _check_no_namespace(self, ident: CatalogIdentifier) -> None:
        """Raise TableAlreadyExists if a namespace uses the folder: VACUUM of the table would delete its tables."""
        if self._is_namespace(self._folder(*ident.namespace, ident.name)):
            raise errors.TableAlreadyExists(
                f"The catalog {self.name} has a namespace {ident}, and a warehouse keeps no table in the folder of a "
                f"namespace: choose another name."
            )

    def _put_pointer(self, path: str, location: str, taken: errors.TableAlreadyExists) -> None:
        try:
            self._storage.put_if_absent(path, _json({"location": location}))
        except FileExistsError as error:
            raise taken from error

    def _take_away(self, path: str) -> bool:
        """Delete a file or folder, and return whether this call did; local ones are first renamed atomically."""
        if not isinstance(self._storage, LocalStorage):
            found = self._storage.exists(path)
            self._delete(path)
            return found
        away = self._moved_away(path)
        if away is None:
            return False
        self.delete_dropped(away, self._delete if path.endswith(_POINTER) else self._delete_folder)
        return True

    def _delete(self, path: str) -> None:
        delete_file(self._storage, parent(path), path.rpartition("/")[2], any_name)

    def _delete_folder(self, path: str) -> None:
        delete_folder(self._storage, parent(path), path.rpartition("/")[2], any_name)

    def _moved_away(self, path: str) -> str | None:
        """Rename a local file or folder to a name that no reader sees, and return it; None if it does not exist."""
        away = join(parent(path), f"{_DROPPED}{uuid4()}")
        assert isinstance(self._storage, LocalStorage)
        try:
            self._storage.move(path, away)
        except FileNotFoundError:
            return None
        return away

    def _clear_log(self, folder: str) -> None:
        """Delete the rest of the log of a table whose drop was interrupted, or to which a writer committed too late."""
        log = join(folder, LOG_FOLDER)
        parsed = [parse_log_file(entry) for entry in entries_of(self._storage, log, "0") if entry.is_file]
        files = [file for file in parsed if file is not None]
        is_table = any(file.kind in _CHECKPOINTS or (file.kind is Kind.COMMIT and file.version == 0) for file in files)
        if not is_table:
            names = [LAST_CHECKPOINT, *(file.file.name for file in files)] if parsed else []
            delete_files(self._storage, folder, [f"{LOG_FOLDER}/{name}" for name in names], log_names)


def _delete_log(storage: Storage, root: str) -> None:
    """Delete the log of a table so that at any time a reader sees the last version or no table.

    While version 0 exists, no checkpoint is needed. Without it the table opens from a checkpoint or not at all, so the
    checkpoints are deleted first, beginning with the latest.
    """

    def delete(name: str) -> None:
        delete_file(storage, root, f"{LOG_FOLDER}/{name}", log_names)

    files = [parse_log_file(entry) for entry in storage.list_from(join(root, LOG_FOLDER), "0") if entry.is_file]
    known = [file for file in files if file is not None]
    delete(LAST_CHECKPOINT)
    for file in sorted((file for file in known if file.kind in _CHECKPOINTS), key=lambda file: -file.version):
        delete(file.file.name)
        kill_point("checkpoint deleted")
    delete(commit_name(0))
    kill_point("first version deleted")
    delete_folder(storage, root, LOG_FOLDER, any_name)


def _json(content: Mapping[str, object]) -> bytes:
    return json.dumps(content, ensure_ascii=False, indent=2).encode()


def _content(content: bytes, path: str) -> dict[str, object]:
    try:
        found = parse_json(content)
    except ValueError as error:
        raise errors.CatalogError(f"The file {path} of a warehouse contains no JSON: restore or delete it.") from error
    if not isinstance(found, dict):
        raise errors.CatalogError(f"The file {path} of a warehouse must contain a JSON object: restore or delete it.")
    return found


def _location_in(content: bytes, path: str) -> str:
    location = _content(content, path).get("location")
    if not isinstance(location, str):
        raise errors.CatalogError(f"The file {path} of a warehouse names no location: restore or delete it.")
    return location


def _properties_in(content: bytes, path: str) -> dict[str, str]:
    properties = _content(content, path).get("properties", {})
    if not isinstance(properties, dict) or not all(isinstance(text, str) for text in properties.values()):
        raise errors.CatalogError(f"The properties in {path} must be texts: restore or delete the file.")
    return properties
