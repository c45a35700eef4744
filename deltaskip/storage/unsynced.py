"""Files that are written for one commit, and become durable together before it."""

from __future__ import annotations

from deltaskip.storage.catalog_storage import storage_below
from deltaskip.storage.interface import FileInfo, Storage
from deltaskip.storage.local import LocalStorage


class Unsynced:
    """Small files that no reader looks for before a commit refers to them.

    The files of a commit are synced together, and files of an abandoned commit never. It pickles as None, since the
    process of the commit could not wait for another process's files.

    Args:
        storage: The storage of the files.
    """

    def __init__(self, storage: Storage) -> None:
        self._storage = storage_below(storage)
        self._paths: list[str] = []

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()

    def put(self, path: str, data: bytes | memoryview) -> None:
        """Create a file, which is durable after the next `sync`. Remote storage makes it durable at once.

        Raises FileExists if a local file exists, and StorageError if it cannot be written.
        """
        if not isinstance(self._storage, LocalStorage):
            self._storage.put(path, bytes(data))
            return
        self._paths.append(path)
        self._storage.put_unseen(path, data)

    def put_commit(self, storage: Storage, path: str, data: bytes, beside: FileInfo | None) -> None:
        """Create a commit that refers to the files; they are made durable before it appears under its name.

        Args:
            storage: The storage of the log.
            path: The commit.
            data: Its text.
            beside: A local file of the table; the commit appears only in the folder that has it.

        Raises:
            FileExistsError: The commit exists.
            FileNotFoundError: Another process has moved or deleted the local table.
            StorageError: The commit or one of the files cannot be written.
        """
        if not isinstance(storage, LocalStorage) or storage.remote:
            storage.put_if_absent(path, data)
            return
        try:
            storage.put_if_absent(path, data, self._paths, beside)
        except FileExistsError:
            self._paths.clear()
            raise
        self._paths.clear()

    def sync(self) -> None:
        """Make the files created so far durable. Raises StorageError if that fails."""
        if self._paths and isinstance(self._storage, LocalStorage):
            self._storage.make_durable(self._paths)
            self._paths.clear()
