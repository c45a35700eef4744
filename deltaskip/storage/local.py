"""Local files, through system calls."""

import errno
import io
import os
import stat
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import accumulate
from operator import attrgetter

import numpy as np
import pyarrow as pa

from deltaskip.doors import first_line
from deltaskip.errors import DeltaSkipError, StorageError
from deltaskip.path_bytes import decoded, encoded
from deltaskip.storage import interface
from deltaskip.storage.local_writing import (
    Naming,
    create,
    create_unseen,
    delete_tree,
    move,
    publish,
    remove_empty,
    replace,
    sync,
    unlink,
)

# Without O_NONBLOCK, which has no effect on regular files, opening a FIFO waits for a writer.
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
# More threads would wait for the interpreter's lock.
_DELETING_THREADS = 4
_KINDS = {
    stat.S_IFDIR: "directory",
    stat.S_IFIFO: "FIFO",
    stat.S_IFSOCK: "socket",
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
}


class LocalStorage:
    """The local file system; locations are absolute paths."""

    __slots__ = ()
    base = ""
    remote = False

    def names(self, directory: str) -> list[bytes]:
        """Return the names in the directory: a log may have tens of thousands, of which few are wanted."""
        with _naming(directory):
            return os.listdir(encoded(directory))

    def list_from(self, directory: str, start_name: str) -> list[interface.FileInfo]:
        """Return the entries of the directory with names >= start_name, sorted by name."""
        return self.entries(directory, self.names(directory), start_name)

    def entries(self, directory: str, names: Sequence[bytes], start_name: str) -> list[interface.FileInfo]:
        """Return the entries of the directory with those of these names that are >= start_name, sorted by name."""
        folder = encoded(directory)
        if start_name.isascii():
            # The order of characters is that of their bytes, and no byte of other characters precedes ASCII.
            start = start_name.encode()
            names = [name for name in names if name >= start]
        found = []
        with _naming(directory):
            for raw in names:
                name = decoded(raw)
                if name < start_name:
                    continue
                path = f"{directory}/{name}"
                place = folder + b"/" + raw
                try:
                    status = os.stat(place)
                except OSError as error:
                    if os.path.islink(place):
                        found.append(interface.FileInfo(name, path, 0, 0, _kind_of_link(error)))
                        continue
                    if isinstance(error, FileNotFoundError):
                        # Deleted since the directory was read.
                        continue
                    raise
                if stat.S_ISREG(status.st_mode):
                    found.append(_info(name, path, status))
                else:
                    found.append(interface.FileInfo(name, path, 0, status.st_mtime_ns // 1_000_000, _kind_of(status)))
        found.sort(key=attrgetter("name"))
        return found

    def read(self, path: str, max_bytes: int | None = None) -> bytes:
        """Read the file. Raises StorageError for a file of more than `max_bytes`."""
        with _naming(path), _opened(path) as file:
            if max_bytes is None:
                return file.readall()
            if os.fstat(file.fileno()).st_size > max_bytes:
                raise interface.too_large(path, max_bytes)
            return file.read(max_bytes) or b""

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Read `length` bytes at `offset`, or fewer at the end of the file."""
        interface.check_range(path, offset, length)
        pieces = []
        with _naming(path), _opened(path) as file:
            # The system call reserves memory for the whole length.
            length = max(0, min(length, os.fstat(file.fileno()).st_size - offset))
            while length > 0 and (piece := os.pread(file.fileno(), length, offset)):
                pieces.append(piece)
                offset += len(piece)
                length -= len(piece)
        return b"".join(pieces)

    def read_joined(self, files: Sequence[interface.FileInfo]) -> tuple[memoryview, list[int]]:
        """Read the files into one buffer, and return it with the start of each file."""
        starts = [0, *accumulate(map(attrgetter("size"), files))]
        # numpy requests huge pages, which saves a page fault for every 4 KiB of a large log.
        data = np.empty(starts[-1] + 1, np.uint8).data
        for file, start, end in zip(files, starts, starts[1:], strict=False):
            try:
                handle = _handle(file.path)
                try:
                    # One byte more than the listed size, to detect a file that has grown.
                    size = os.readv(handle, [data[start : end + 1]])
                finally:
                    os.close(handle)
                if size != end - start:
                    return interface.joined([interface.read_whole(self, each) for each in files])
            except DeltaSkipError:
                raise
            except OSError as error:
                raise _named(error, file.path) from error
        return data[: starts[-1]], starts[:-1]

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        """Open the file for random access. The caller closes it."""
        with _naming(path), _opened(path) as checked:
            # Arrow opens by name, and another file may now have that name.
            same = b"/dev/fd/%d" % checked.fileno()
            return pa.OSFile(same if os.path.exists(same) else encoded(path), "rb")

    def exists(self, path: str) -> bool:
        """Whether a file or directory exists at the location."""
        try:
            with _naming(path):
                os.stat(encoded(path))
        except (FileNotFoundError, NotADirectoryError):
            return False
        return True

    def info(self, path: str) -> interface.FileInfo:
        """Return the entry that a listing has of a regular file."""
        with _naming(path):
            status = os.stat(encoded(path))
        if not stat.S_ISREG(status.st_mode):
            raise interface.not_a_file(path, _kind_of(status))
        return _info(os.path.basename(path), path, status)

    def changed_ns(self, directory: str) -> int:
        """Return the time at which names in the directory last changed, in nanoseconds since the epoch."""
        with _naming(directory):
            return os.stat(encoded(directory)).st_mtime_ns

    def size(self, path: str) -> int:
        """Return the size of the file in bytes."""
        return self.info(path).size

    def put_if_absent(
        self, path: str, data: bytes, after: Sequence[str] = (), beside: interface.FileInfo | None = None
    ) -> None:
        """Create the file atomically: write and sync a temporary file beside it, then link it.

        Args:
            path: The file.
            data: Its contents.
            after: Files of `put_unseen`; they and their names are made durable before the file appears under its name.
            beside: A file that must exist as it was listed when the new one appears, otherwise raises FileNotFound.
        """
        create(path, data, after, None if beside is None else partial(self._has, beside))

    def _has(self, file: interface.FileInfo) -> bool:
        """Whether a file is the one that was listed. Its links, on which the change time depends, may be others."""
        try:
            found = self.info(file.path)
        except (FileNotFoundError, NotADirectoryError, StorageError):
            return False
        return (found.size, found.modified_ms, _inode(found)) == (file.size, file.modified_ms, _inode(file))

    def put_unseen(self, path: str, data: bytes | memoryview) -> None:
        """Write the file under its final name, without syncing it."""
        create_unseen(path, data)

    def make_durable(self, paths: Sequence[str]) -> None:
        """Sync the files, and then their folders."""
        sync(paths)

    def put(self, path: str, data: bytes, durable: bool = True) -> None:
        """Write the file atomically: write and sync a temporary file beside it, then rename it."""
        replace(path, data, durable)

    def publish(self, path: str) -> AbstractContextManager[str]:
        """Return a context manager with a temporary file beside `path`, which is linked to `path` unless it exists."""
        return publish(path)

    def delete(self, path: str) -> None:
        """Delete the file. A missing file is not an error."""
        unlink(path)

    def delete_directory(self, path: str) -> None:
        """Delete the directory with everything below it. A missing directory is not an error."""
        delete_tree(path)

    def delete_files(self, paths: Sequence[str]) -> None:
        """Delete many files with a pool of threads. Missing files are not an error."""
        interface.delete_side_by_side(self, paths, _DELETING_THREADS)

    def delete_empty_directory(self, path: str) -> bool:
        """Delete the directory if it is empty. Return whether it was deleted."""
        return remove_empty(path)

    def move(self, path: str, target: str) -> None:
        """Rename a file or directory atomically, which only local storage can.

        Raises FileNotFound if it does not exist, and FileExists if the target does; an empty directory is replaced.
        """
        move(path, target)


def _info(name: str, path: str, status: os.stat_result) -> interface.FileInfo:
    # Unlike the modification time, programs cannot set the change time; inode numbers are reused.
    tag = status.st_ino, status.st_ctime_ns
    return interface.FileInfo(name, path, status.st_size, status.st_mtime_ns // 1_000_000, tag=tag)


def _inode(info: interface.FileInfo) -> object:
    return info.tag[0] if isinstance(info.tag, tuple) else None


def _opened(path: str) -> io.FileIO:
    """Open a regular file without buffering; NotAFile for anything else, without waiting for it."""
    return io.FileIO(_handle(path))


def _handle(path: str) -> int:
    handle = os.open(encoded(path), _OPEN)
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise interface.not_a_file(path, _kind_of(status))
    return handle


def _kind_of(status: os.stat_result) -> str:
    return _KINDS.get(stat.S_IFMT(status.st_mode), "special file")


def _kind_of_link(error: OSError) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "dangling link"
    return "loop of links" if error.errno == errno.ELOOP else "link that cannot be followed"


def _named(error: OSError | ValueError, path: str) -> OSError:
    if isinstance(error, FileNotFoundError):
        return interface.not_found(path)
    if isinstance(error, NotADirectoryError):
        return interface.not_a_directory(path)
    if isinstance(error, PermissionError):
        return StorageError(f"No permission to read {path}: ask its owner for access, or run as a user with access.")
    code = error.errno if isinstance(error, OSError) else None
    if code == errno.ELOOP:
        return interface.not_a_file(path, "loop of links")
    if code in (errno.ENXIO, errno.ENODEV):
        return interface.not_a_file(path, "socket or device")
    reason = (isinstance(error, OSError) and error.strerror) or first_line(error)
    return StorageError(f"Cannot read {path}: {reason}.")


_naming = partial(Naming, (OSError, ValueError), _named)
