"""The interface of every storage, and the errors by which a storage reports that a file is missing or exists."""

import errno
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import accumulate
from typing import Protocol, runtime_checkable

import pyarrow as pa

from deltaskip.errors import DeltaSkipError, StorageError

__all__ = [
    "FileExists",
    "FileInfo",
    "FileNotFound",
    "NotADirectory",
    "Storage",
    "check_range",
    "file_exists",
    "joined",
    "not_a_directory",
    "not_found",
]


class FileNotFound(DeltaSkipError, FileNotFoundError):
    """There is no file or directory at the location, which is `filename`."""


class FileExists(DeltaSkipError, FileExistsError):
    """There is a file at the location, which is `filename`, already."""


class NotADirectory(DeltaSkipError, NotADirectoryError):
    """The location, which is `filename`, or one above it is a file."""


def not_found(location: str) -> FileNotFound:
    """Return the error for a location without a file or directory."""
    return FileNotFound(errno.ENOENT, "No such file or directory", location)


def file_exists(location: str) -> FileExists:
    """Return the error for a file that exists already."""
    return FileExists(errno.EEXIST, "File exists", location)


def not_a_directory(location: str) -> NotADirectory:
    """Return the error for a location that is, or is below, a file."""
    return NotADirectory(errno.ENOTDIR, "Not a directory", location)


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One file of a listing: its name in the folder, its location, size in bytes and milliseconds since the epoch."""

    name: str
    path: str
    size: int
    modified_ms: int


@runtime_checkable
class Storage(Protocol):
    """Reads and writes one file system by location (see `storage.location`).

    A file or folder that is not there raises FileNotFoundError; every other failure raises StorageError naming the
    location.
    """

    @property
    def base(self) -> str:
        """Start of every location that this storage serves: "" for local files, else `scheme://authority`."""
        ...

    @property
    def remote(self) -> bool:
        """Whether a request costs a round trip, so that reads are worth joining and running side by side."""
        ...

    def list_from(self, directory: str, start_name: str) -> list[FileInfo]:
        """Files directly in the folder with names >= start_name (by code point), sorted by name.

        Object stores have no folders: there, one that is missing is an empty list.
        """
        ...

    def read(self, path: str) -> bytes:
        """The whole file."""
        ...

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`; fewer where the file ends before."""
        ...

    def read_joined(self, files: Sequence[FileInfo]) -> tuple[memoryview, list[int]]:
        """The whole files one after another, and where each starts; side by side where the storage is remote.

        files: as listed; that a size has changed since is no error.
        """
        ...

    def open_input(self, path: str) -> pa.NativeFile:
        """The file for random access; the caller closes it."""
        ...

    def exists(self, path: str) -> bool:
        """Whether there is such a file, or a folder (on object stores: with something in it)."""
        ...

    def size(self, path: str) -> int:
        """Size of the file in bytes."""
        ...

    def put_if_absent(self, path: str, data: bytes) -> None:
        """Create the file with this content, whole and durable or not at all; folders above it are made.

        Raises FileExistsError where there is such a file: of several writers exactly one succeeds. Raises StorageError
        where the file system has no atomic creation, and where it failed; then the file may be there all the same.
        """
        ...

    def put(self, path: str, data: bytes, durable: bool = True) -> None:
        """Write the file, replacing one that is there; no reader sees a part of it.

        durable: whether it must survive a crash of the machine whole; if not, it may be empty then.
        """
        ...

    def publish(self, path: str) -> AbstractContextManager[str]:
        """A local file to write: at the end of the block it becomes the file at `path`, unless there is one by then.

        A reader may have looked at that one already, and what two writers publish under one name is equal in meaning.
        After an error in the block nothing is published.
        """
        ...

    def delete(self, path: str) -> None:
        """Delete the file; that it is not there is no error."""
        ...


def check_range(location: str, offset: int, length: int) -> None:
    """Raise StorageError for a range of bytes that no file has."""
    if offset < 0 or length < 0:
        raise StorageError(f"Cannot read {length} bytes at offset {offset} of {location}: they must not be negative.")


def joined(contents: Sequence[bytes]) -> tuple[memoryview, list[int]]:
    """The contents one after another, and where each starts."""
    starts = [0, *accumulate(len(content) for content in contents)]
    return memoryview(contents[0] if len(contents) == 1 else b"".join(contents)), starts[:-1]
