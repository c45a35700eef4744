"""The storage of a table in a catalog: its credentials may expire, and the catalog knows the newest part of the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Protocol

import pyarrow as pa

from deltaskip.storage.interface import FileInfo, Storage


class CatalogLog(Protocol):
    """What a catalog knows about the log of one of its tables."""

    def entries(self, storage: Storage, directory: str, start_name: str) -> list[FileInfo]:
        """Return the entries of a directory, as `Storage.list_from` does; the log's entries as known to the catalog."""
        return storage.list_from(directory, start_name)

    def elsewhere(self, path: str) -> str | None:
        """Return another location of a file that is no longer at this one; None if there is none."""
        return None


class CatalogStorage(Storage):
    """A storage that lists one table's log through the catalog; everything else is passed to the storage below.

    Args:
        below: Returns the storage below, with credentials that are valid now.
        log: The log of the table.
        again: Returns a function that opens the storage in another process, with or without secrets, and the names of
            omitted secrets; None if another process cannot open it.
    """

    def __init__(
        self,
        below: Callable[[], Storage],
        log: CatalogLog,
        again: Callable[[bool], tuple[Callable[[], Storage], tuple[str, ...]]] | None = None,
    ) -> None:
        self._below = below
        self.log = log
        self.again = again

    @property
    def below(self) -> Storage:
        """The storage below, with credentials that are valid now."""
        return self._below()

    @property
    def base(self) -> str:
        return self.below.base

    @property
    def remote(self) -> bool:
        return self.below.remote

    @property
    def options(self) -> Mapping[str, str] | None:
        """Options of the object store; None for other storages."""
        return getattr(self.below, "options", None)

    def list_from(self, directory: str, start_name: str) -> list[FileInfo]:
        return self.log.entries(self.below, directory, start_name)

    def read(self, path: str, max_bytes: int | None = None) -> bytes:
        return self._found(path, lambda place: self.below.read(place, max_bytes))

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        return self._found(path, lambda place: self.below.read_range(place, offset, length))

    def _found(self, path: str, read: Callable[[str], bytes]) -> bytes:
        """What is read of a file, at its other location if it is no longer at this one."""
        try:
            return read(path)
        except FileNotFoundError:
            other = self.log.elsewhere(path)
            if other is None:
                raise
            return read(other)

    def read_joined(self, files: Sequence[FileInfo]) -> tuple[memoryview, list[int]]:
        try:
            return self.below.read_joined(files)
        except FileNotFoundError:
            moved = [self._moved(file) for file in files]
            if moved == list(files):
                raise
            return self.below.read_joined(moved)

    def _moved(self, file: FileInfo) -> FileInfo:
        other = self.log.elsewhere(file.path)
        if other is None or self.below.exists(file.path):
            return file
        return replace(file, path=other, tag=None)

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        return self.below.open_input(path, size)

    def exists(self, path: str) -> bool:
        return self.below.exists(path)

    def info(self, path: str) -> FileInfo:
        return self.below.info(path)

    def size(self, path: str) -> int:
        return self.below.size(path)

    def put_if_absent(self, path: str, data: bytes) -> None:
        self.below.put_if_absent(path, data)

    def put(self, path: str, data: bytes, durable: bool = True) -> None:
        self.below.put(path, data, durable)

    def publish(self, path: str) -> AbstractContextManager[str]:
        return self.below.publish(path)

    def delete(self, path: str) -> None:
        self.below.delete(path)

    def delete_directory(self, path: str) -> None:
        self.below.delete_directory(path)

    def delete_files(self, paths: Sequence[str]) -> None:
        self.below.delete_files(paths)

    def delete_empty_directory(self, path: str) -> bool:
        return self.below.delete_empty_directory(path)


def storage_below(storage: Storage) -> Storage:
    """Return the storage that has the files: the storage below a CatalogStorage, otherwise the storage itself."""
    return storage.below if isinstance(storage, CatalogStorage) else storage
