"""Local files, by the operating system's own calls."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa

from deltaskip.errors import StorageError
from deltaskip.storage.interface import FileInfo

__all__ = ["LocalStorage"]


class LocalStorage:
    """The local file system; locations are absolute paths."""

    __slots__ = ()
    base = ""
    remote = False

    def list_from(self, directory: str, start_name: str) -> list[FileInfo]:
        """Files directly in the folder with names >= start_name, sorted by name; dangling links are left out."""
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
        """The whole file."""
        with _naming(path), open(path, "rb", buffering=0) as file:
            return file.readall()

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`; fewer where the file ends before."""
        if offset < 0 or length < 0:
            raise ValueError(f"cannot read {length} bytes at {offset} of {path}")
        pieces = []
        with _naming(path), open(path, "rb", buffering=0) as file:
            while length > 0 and (piece := os.pread(file.fileno(), length, offset)):
                pieces.append(piece)
                offset += len(piece)
                length -= len(piece)
        return b"".join(pieces)

    def read_many(self, paths: Sequence[str]) -> list[bytes]:
        """The whole files, in the order asked for."""
        contents = []
        for path in paths:
            try:
                with open(path, "rb", buffering=0) as file:
                    contents.append(file.readall())
            except OSError as error:
                raise _named(error, path) from error
        return contents

    def open_input(self, path: str) -> pa.NativeFile:
        """The file for random access; the caller closes it."""
        with _naming(path):
            return pa.OSFile(path, "rb")

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder."""
        try:
            with _naming(path):
                os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def size(self, path: str) -> int:
        """Size of the file in bytes."""
        with _naming(path):
            return os.stat(path).st_size


def _name(info: FileInfo) -> str:
    return info.name


@contextmanager
def _naming(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _named(error, path) from error


def _named(error: OSError, path: str) -> OSError:
    if isinstance(error, StorageError | FileNotFoundError | NotADirectoryError):
        return error
    if isinstance(error, PermissionError):
        return StorageError(f"No permission to read {path}: ask its owner for access, or run as a user who has it.")
    return StorageError(f"Cannot read {path}: {error.strerror or error}.")
