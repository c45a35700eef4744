"""Local files, through system calls."""

import os
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import accumulate

import numpy as np
import pyarrow as pa

from deltaskip.errors import DeltaSkipError, StorageError
from deltaskip.storage.interface import FileInfo, check_range, joined, not_a_directory, not_found
from deltaskip.storage.local_writing import create, publish, replace, unlink

__all__ = ["LocalStorage"]


class LocalStorage:
    """The local file system; locations are absolute paths."""

    __slots__ = ()
    base = ""
    remote = False

    def list_from(self, directory: str, start_name: str) -> list[FileInfo]:
        """Return the files in the directory with names >= start_name, sorted by name, without dangling links."""
        with _naming(directory), os.scandir(directory) as entries:
            found = []
            for entry in entries:
                name = entry.name
                if name < start_name or entry.is_dir():
                    continue
                try:
                    status = entry.stat()
                except FileNotFoundError:
                    continue
                found.append(FileInfo(name, f"{directory}/{name}", status.st_size, status.st_mtime_ns // 1_000_000))
        found.sort(key=_name)
        return found

    def read(self, path: str) -> bytes:
        """Read the file."""
        with _naming(path), open(path, "rb", buffering=0) as file:
            return file.readall()

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Read `length` bytes at `offset`, or fewer at the end of the file."""
        check_range(path, offset, length)
        pieces = []
        with _naming(path), open(path, "rb", buffering=0) as file:
            while length > 0 and (piece := os.pread(file.fileno(), length, offset)):
                pieces.append(piece)
                offset += len(piece)
                length -= len(piece)
        return b"".join(pieces)

    def read_joined(self, files: Sequence[FileInfo]) -> tuple[memoryview, list[int]]:
        """Read the files into one buffer, and return it with the start of each file."""
        starts = [0, *accumulate(file.size for file in files)]
        # numpy requests huge pages, which saves a page fault for every 4 KiB of a large log.
        data = np.empty(starts[-1] + 1, np.uint8).data
        for file, start, end in zip(files, starts, starts[1:], strict=False):
            try:
                with open(file.path, "rb", buffering=0) as source:
                    # One byte more than the listed size, to detect a file that has grown.
                    if source.readinto(data[start : end + 1]) != end - start:
                        return joined([self.read(each.path) for each in files])
            except DeltaSkipError:
                raise
            except OSError as error:
                raise _named(error, file.path) from error
        return data[: starts[-1]], starts[:-1]

    def open_input(self, path: str) -> pa.NativeFile:
        """Open the file for random access. The caller closes it."""
        with _naming(path):
            return pa.OSFile(path, "rb")

    def exists(self, path: str) -> bool:
        """Whether a file or directory exists at the location."""
        try:
            with _naming(path):
                os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def size(self, path: str) -> int:
        """Return the size of the file in bytes."""
        with _naming(path):
            return os.stat(path).st_size

    def put_if_absent(self, path: str, data: bytes) -> None:
        """Create the file atomically: write and sync a temporary file beside it, then link it."""
        create(path, data)

    def put(self, path: str, data: bytes, durable: bool = True) -> None:
        """Write the file atomically: write and sync a temporary file beside it, then rename it."""
        replace(path, data, durable)

    def publish(self, path: str) -> AbstractContextManager[str]:
        """Return a context manager with a temporary file beside `path`, which is linked to `path` if that is free."""
        return publish(path)

    def delete(self, path: str) -> None:
        """Delete the file. A missing file is not an error."""
        unlink(path)


def _name(info: FileInfo) -> str:
    return info.name


@contextmanager
def _naming(path: str) -> Iterator[None]:
    try:
        yield
    except DeltaSkipError:
        raise
    except (OSError, ValueError) as error:
        raise _named(error, path) from error


def _named(error: OSError | ValueError, path: str) -> OSError:
    if isinstance(error, FileNotFoundError):
        return not_found(path)
    if isinstance(error, NotADirectoryError):
        return not_a_directory(path)
    if isinstance(error, PermissionError):
        return StorageError(f"No permission to read {path}: ask its owner for access, or run as a user with access.")
    reason = error.strerror or error if isinstance(error, OSError) else error
    # A path from the log may have characters that the file system does not, such as NUL.
    return StorageError(f"Cannot read {path if path.isprintable() else ascii(path)}: {reason}.")
