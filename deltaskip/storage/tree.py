"""Files of a directory and of all directories below it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from deltaskip.path_bytes import real_path
from deltaskip.storage.interface import IN_FLIGHT, FileInfo, Storage


def files_below(
    storage: Storage, directory: str, descend: Callable[[FileInfo], bool] = lambda _: True
) -> list[FileInfo]:
    """Return the files of a directory and of all directories below it, sorted by path.

    Links to files count as files, and links to directories are followed, but no directory is listed twice.

    Args:
        storage: Storage of the directory.
        directory: Location of the directory.
        descend: Whether to list a directory, given its entry in the listing of the directory above it.

    Raises:
        FileNotFound: The directory does not exist; object stores return no files instead.
        StorageError: A directory cannot be listed.
    """
    found: list[FileInfo] = []
    pending, seen = [directory], {_identity(storage, directory)}
    with ThreadPoolExecutor(IN_FLIGHT if storage.remote else 1) as pool:
        while pending:
            listings = pool.map(lambda each: storage.list_from(each, ""), pending)
            entries = [entry for listing in listings for entry in listing]
            found.extend(entry for entry in entries if entry.kind == "file")
            pending = []
            for entry in entries:
                if entry.kind == "directory" and descend(entry):
                    identity = _identity(storage, entry.path)
                    if identity not in seen:
                        seen.add(identity)
                        pending.append(entry.path)
    return sorted(found, key=lambda file: file.path)


def _identity(storage: Storage, directory: str) -> str:
    """The directory's path without links, which only local file systems have."""
    return directory if storage.remote else real_path(directory)
