"""The folders that creating a table makes, and their removal if the creation fails."""

from __future__ import annotations

from contextlib import suppress

from deltaskip.errors import DeltaSkipError
from deltaskip.storage.gate import any_name, delete_empty_folder
from deltaskip.storage.interface import Storage
from deltaskip.storage.location import HADOOP_SCHEMES, join, parent, scheme_of


class NewFolders:
    """Records which folders exist before a table is created. Object stores have none.

    Args:
        storage: Storage of the table.
        root: Location of the table.
    """

    def __init__(self, storage: Storage, root: str) -> None:
        self._storage = storage
        self._root = root
        # The root and the folders above it, the lowest first; and the names in the root.
        self._missing: list[str] = []
        self._there: frozenset[str] = frozenset()
        self._has_folders = not storage.remote or scheme_of(root) in HADOOP_SCHEMES
        if not self._has_folders:
            return
        with suppress(OSError, DeltaSkipError):
            folder = root
            while not storage.exists(folder) and parent(folder) != folder:
                self._missing.append(folder)
                folder = parent(folder)
            if not self._missing:
                self._there = frozenset(entry.name for entry in storage.list_from(root, ""))

    def remove_empty(self) -> None:
        """Delete the empty folders that were made since then; folders that cannot be deleted stay."""
        if not self._has_folders:
            return
        with suppress(OSError, DeltaSkipError):
            self._remove_below("")
            for folder in self._missing:
                above = parent(folder)
                if not delete_empty_folder(self._storage, above, folder[len(above) :].lstrip("/")):
                    break

    def _remove_below(self, folder: str) -> None:
        for entry in self._storage.list_from(join(self._root, folder) if folder else self._root, ""):
            if entry.kind == "directory" and (folder or entry.name not in self._there):
                path = f"{folder}/{entry.name}" if folder else entry.name
                self._remove_below(path)
                delete_empty_folder(self._storage, self._root, path, any_name)
