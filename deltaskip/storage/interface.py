"""The interface of every storage, and the errors by which a storage reports that a file is missing or exists."""

import errno
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from itertools import accumulate
from threading import Event
from typing import Protocol, runtime_checkable

import pyarrow as pa

from deltaskip.errors import DeltaSkipError, StorageError
from deltaskip.records import dataclass

IN_FLIGHT = 32
"""Requests to a store that are in flight at once.

They hide round trips of some tens of milliseconds, and stores throttle a client only well above this.
"""


class FileNotFound(DeltaSkipError, FileNotFoundError):
    """There is no file or directory at the location, which is `filename`."""


class FileExists(DeltaSkipError, FileExistsError):
    """A file already exists at the location, which is `filename`."""


class NotADirectory(DeltaSkipError, NotADirectoryError):
    """The location, which is `filename`, or one above it is a file."""


class NotAFile(StorageError):
    """The `location` is not a regular file but of another `kind`, such as a directory or a FIFO."""

    location = ""
    kind = "special file"


def not_found(location: str) -> FileNotFound:
    """Return the error for a location without a file or directory."""
    return FileNotFound(errno.ENOENT, "No such file or directory", location)


def file_exists(location: str) -> FileExists:
    """Return the error for a file that already exists."""
    return FileExists(errno.EEXIST, "File exists", location)


def not_a_directory(location: str) -> NotADirectory:
    """Return the error for a location that is, or is below, a file."""
    return NotADirectory(errno.ENOTDIR, "Not a directory", location)


def not_a_file(location: str, kind: str) -> NotAFile:
    """Return the error for a location that is not a regular file. kind: such as a directory."""
    error = NotAFile(f"Cannot read {location}: it is a {kind}, not a regular file.")
    error.location, error.kind = location, kind
    return error


def too_large(location: str, max_bytes: int) -> StorageError:
    """Return the error for a file with more bytes than the reader accepts."""
    return StorageError(f"Cannot read {location}: it is larger than {max_bytes} bytes.")


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One entry of a listing: name, location, size in bytes, and modification time in milliseconds since the epoch.

    kind: "file" for a regular file or a link to one; other kinds, such as "directory" or "FIFO", cannot be read. tag:
    changes when another file replaces it, even one of the same size and time; None if the storage has none.
    """

    name: str
    path: str
    size: int
    modified_ms: int
    kind: str = "file"
    tag: object = None

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return self.kind == "file"


@runtime_checkable
class Storage(Protocol):
    """One file system, whose files are named by location (see `storage.location`).

    A missing file or directory raises FileNotFound, and every other failure raises StorageError with the location,
    unless a method documents another error. Only regular files are read: NotAFile, a StorageError, for all else; no
    method waits for a writer of a FIFO.
    """

    @property
    def base(self) -> str:
        """Prefix of all locations of this storage: "" for local files, otherwise `scheme://authority`."""
        ...

    @property
    def remote(self) -> bool:
        """Whether a request costs a network round trip, so that joining reads and running them in parallel pays."""
        ...

    def list_from(self, directory: str, start_name: str) -> list[FileInfo]:
        """Return the entries of the directory with names >= start_name (by code point), sorted by name.

        Entries that are not regular files are listed with their `kind`. Object stores have no directories: a missing
        one has no files, and a common prefix of objects is an entry of kind "directory".
        """
        ...

    def read(self, path: str, max_bytes: int | None = None) -> bytes:
        """Read the file. Raises StorageError for a file of more than `max_bytes`, without reading it to its end."""
        ...

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Read `length` bytes at `offset`, or fewer at the end of the file."""
        ...

    def read_joined(self, files: Sequence[FileInfo]) -> tuple[memoryview, list[int]]:
        """Read the files into one buffer, and return it with the start of each file; remote files in parallel.

        files: As listed. A file that has grown since the listing is not an error. Raises StorageError for one of which
        fewer bytes are read.
        """
        ...

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        """Open the file for random access. The caller closes it.

        size: The recorded size of the file; a remote store then needs no request for it.
        """
        ...

    def exists(self, path: str) -> bool:
        """Whether a file or directory exists at the location; on object stores, a directory that is not empty."""
        ...

    def info(self, path: str) -> FileInfo:
        """Return the entry that a listing has of a regular file."""
        ...

    def size(self, path: str) -> int:
        """Return the size of the file in bytes."""
        ...

    def put_if_absent(self, path: str, data: bytes) -> None:
        """Create the file atomically and durably, with the directories above it.

        Exactly one of several writers succeeds; for the others FileExists is raised. Raises StorageError if the file
        system cannot create files atomically, and if the write failed, in which case the file may exist nevertheless.
        """
        ...

    def put(self, path: str, data: bytes, durable: bool = True) -> None:
        """Write the file, replacing an existing one. No reader sees a part of it.

        durable: Whether the file must survive a crash of the machine. If not, it may be empty afterwards.
        """
        ...

    def publish(self, path: str) -> AbstractContextManager[str]:
        """Return a context manager with a local file to write, which becomes the file at `path` when the block ends.

        An existing file at `path` stays, because a reader may have read it, and files that two writers publish under
        one name are equivalent. After an error in the block nothing is published.
        """
        ...

    def delete(self, path: str) -> None:
        """Delete the file. A missing file is not an error."""
        ...

    def delete_directory(self, path: str) -> None:
        """Delete the directory with everything below it. A missing directory is not an error."""
        ...

    def delete_files(self, paths: Sequence[str]) -> None:
        """Delete many files, in parallel or in bulk requests. Missing files are not an error.

        After an error some of the files are deleted.
        """
        ...

    def delete_empty_directory(self, path: str) -> bool:
        """Delete the directory if it is empty. Return whether it was deleted."""
        ...


def entries_of(storage: Storage, folder: str, start_name: str = "") -> list[FileInfo]:
    """Return the entries of a folder as `Storage.list_from` does; none if there is no such folder."""
    try:
        return storage.list_from(folder, start_name)
    except (FileNotFoundError, NotADirectoryError):
        return []


def check_range(location: str, offset: int, length: int) -> None:
    """Raise StorageError for an invalid range of bytes."""
    if offset < 0 or length < 0:
        raise StorageError(f"Cannot read {length} bytes at offset {offset} of {location}: they must not be negative.")


class CutShort(StorageError):
    """A read of fewer bytes than the file has by its listing or the log."""


def cut_short(location: str, expected: int, found: int) -> CutShort:
    """Return the error for a read of fewer bytes than the file has by its listing or the log."""
    return CutShort(
        f"Cannot read {location}: it has {expected} bytes, and the storage returned {found}; try again. If the error "
        f"remains, the file was cut: restore it."
    )


def read_whole(storage: Storage, file: FileInfo) -> bytes:
    """Read a file that was listed. A read of fewer bytes than it was listed with is repeated once.

    Raises StorageError if the storage returns fewer bytes again, since a log of whole lines is still a valid log.
    """
    data = storage.read(file.path)
    if len(data) < file.size:
        data = storage.read(file.path)
    if len(data) < file.size:
        raise cut_short(file.path, file.size, len(data))
    return data


def joined(contents: Sequence[bytes]) -> tuple[memoryview, list[int]]:
    """Concatenate the contents, and return them with the start of each."""
    starts = [0, *accumulate(len(content) for content in contents)]
    return memoryview(contents[0] if len(contents) == 1 else b"".join(contents)), starts[:-1]


def delete_side_by_side(storage: Storage, paths: Sequence[str], threads: int) -> None:
    """Delete files with a pool of threads. Missing files are not an error.

    Raises the first error of the storage; no deletion begins after it.
    """
    failed = Event()

    def delete(share: Sequence[str]) -> None:
        for path in share:
            if failed.is_set():
                return
            try:
                storage.delete(path)
            except BaseException:
                failed.set()
                raise

    count = min(threads, len(paths))
    if count < 2:
        delete(paths)
        return
    with ThreadPoolExecutor(count, "deltaskip") as pool:
        for _ in pool.map(delete, [paths[i::count] for i in range(count)]):
            pass
