"""Atomic writes of local files: a reader sees the whole file or no file, even after a crash.

A file is written under a temporary name in its own directory and synced. It gets its name by link(2), which fails if
the name exists, or by rename(2), which replaces an existing file; then the directory is synced. On file systems without
links, renameat2(2) with RENAME_NOREPLACE replaces link(2).
"""

import ctypes
import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from deltaskip.doors import first_line
from deltaskip.errors import DeltaSkipError, StorageError
from deltaskip.storage.interface import file_exists, not_found
from deltaskip.storage.kill_points import kill_point
from deltaskip.storage.temporary_names import temporary_name

__all__ = ["create", "delete_tree", "move", "publish", "remove_empty", "replace", "unlink"]

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EOPNOTSUPP)
_NO_RENAME = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
_NOT_EMPTY = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR, errno.EBUSY)
_AT_FDCWD = -100
_TREE_TRIES = 100
_LOG = "_delta_log"
_LATER_COMMIT = re.compile(r"(?!0{20})[0-9]{20}\.json")
_RENAME_NOREPLACE = 1


def create(path: str, data: bytes) -> None:
    """Create a file. Raises FileExists if it exists, and StorageError if the write failed.

    A commit of a log raises FileNotFound if another process has moved or deleted the log's folder meanwhile. One that
    is not the first needs the folder, so that it is not made to a table that no reader finds.
    """
    folder, name = os.path.split(path)
    in_log = os.path.basename(folder) == _LOG
    is_later = in_log and _LATER_COMMIT.fullmatch(name) is not None
    try:
        with _written(path, data, makes_folder=not is_later) as temporary:
            _link(temporary, path)
    except StorageError as error:
        if in_log and isinstance(error.__cause__, FileNotFoundError):
            raise not_found(folder) from error
        raise


def replace(path: str, data: bytes, durable: bool = True) -> None:
    """Write a file, replacing an existing one. Raises StorageError if the write failed.

    durable: Whether the file is synced. If not, it may be empty after a crash of the machine, but never partial.
    """
    with _written(path, data, durable) as temporary:
        _rename(temporary, path)


@contextmanager
def publish(path: str) -> Iterator[str]:
    """Yield a temporary file to write, which is synced and linked to `path` when the block ends, if `path` is free."""
    with _naming(path), _temporary(path) as temporary:
        yield temporary
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        kill_point("synced")
        with suppress(FileExistsError):
            _link(temporary, path)
    _sync_folder(path)


def unlink(path: str) -> None:
    """Delete a file and Hadoop's checksum file of it. Missing files are not an error."""
    _check_name(path)
    with _naming(path):
        _drop_hadoop_checksum(path)
        with suppress(FileNotFoundError):
            os.unlink(path)


def delete_tree(path: str) -> None:
    """Delete a directory and everything below it; of a link only the link. A missing directory is not an error."""
    _check_name(path)
    with _naming(path):
        for left in reversed(range(_TREE_TRIES)):
            try:
                if os.path.islink(path):
                    os.unlink(path)
                else:
                    import shutil

                    shutil.rmtree(path)
                return
            except OSError as error:
                # Another process writes below it, or deletes it as well: what is left goes with the next try.
                if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST) or not left:
                    raise
                if not os.path.lexists(path):
                    return


def remove_empty(path: str) -> bool:
    """Delete a directory unless something is in it, or it is a link. Return whether it was deleted."""
    _check_name(path)
    with _naming(path):
        try:
            os.rmdir(path)
        except OSError as error:
            if error.errno in _NOT_EMPTY:
                return False
            raise
    return True


def move(path: str, target: str) -> None:
    """Give a file or directory with all that is in it another name, atomically; of several movers one succeeds.

    Raises FileNotFound if it does not exist, and FileExists if the target does; an empty directory is replaced.
    """
    _check_name(path)
    _check_name(target)
    folder = os.path.dirname(target)
    with _naming(target):
        if not os.path.lexists(path):
            raise not_found(path)
        os.makedirs(folder, exist_ok=True)
        kill_point("moving")
        try:
            if os.path.isdir(path):
                # A directory is replaced only if it is empty.
                os.rename(path, target)
            else:
                _rename_without_replacing(path, target)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise file_exists(target) from error
            if error.errno == errno.ENOENT:
                raise not_found(path) from error
            raise
        kill_point("moved")
    _sync_folder(path)
    _sync_folder(target)


@contextmanager
def _written(path: str, data: bytes, durable: bool = True, makes_folder: bool = True) -> Iterator[str]:
    with _naming(path), _temporary(path, makes_folder) as temporary:
        with open(temporary, "wb", buffering=0) as file:
            kill_point("opened")
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) or 0 :]
                kill_point("written")
            if durable:
                os.fsync(file.fileno())
        kill_point("synced")
        yield temporary
    if durable:
        _sync_folder(path)


@contextmanager
def _temporary(path: str, makes_folder: bool = True) -> Iterator[str]:
    """Yield a unique name beside `path` that readers ignore, and delete the file after the block.

    In the log it is hidden. Elsewhere it is not: after a crash VACUUM deletes a file that no commit adds, but no hidden
    one.
    """
    _check_name(path)
    folder, name = os.path.split(path)
    temporary = f"{folder}/{temporary_name(name, hidden=_LOG in folder.split('/'))}"
    made: list[str] = []
    try:
        _create_empty(temporary, folder if makes_folder else None, made)
        try:
            yield temporary
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            kill_point("tidied")
    except BaseException:
        # Folders that other writers use by now are not empty.
        with suppress(OSError):
            for each in reversed(made):
                os.rmdir(each)
        raise


def _create_empty(path: str, folder: str | None, made: list[str]) -> None:
    """Create a file, and note the folders that were made for it: another writer that fails may take them away."""
    for last in (False, False, True):
        try:
            if folder is not None:
                _make_folders(folder, made)
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666))
            return
        except FileNotFoundError:
            if folder is None or last:
                raise


def _make_folders(folder: str, made: list[str]) -> None:
    missing = []
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for each in reversed(missing):
        try:
            os.mkdir(each)
            made.append(each)
        except FileExistsError:
            if not os.path.isdir(each):
                raise


def _rename(temporary: str, path: str) -> None:
    # Hadoop's local file system would verify the new content against the old checksum.
    _drop_hadoop_checksum(path)
    kill_point("unchecked")
    os.rename(temporary, path)
    kill_point("renamed")


def _link(temporary: str, path: str) -> None:
    try:
        os.link(temporary, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _rename_without_replacing(temporary, path)
    kill_point("linked")
    # A checksum file may remain from a deleted file of this name.
    _drop_hadoop_checksum(path)


def _rename_without_replacing(temporary: str, path: str) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    renameat2 = getattr(libc, "renameat2", None)
    code = errno.ENOSYS
    if renameat2 is not None:
        names = os.fsencode(temporary), os.fsencode(path)
        if renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_NOREPLACE) == 0:
            return
        code = ctypes.get_errno()
    if code in _NO_RENAME:
        raise StorageError(
            f"Cannot write {path}: its file system can neither link files nor rename them without replacing others, so "
            f"concurrent writers could overwrite each other; store the table on another file system."
        )
    raise OSError(code, os.strerror(code), path)


def _drop_hadoop_checksum(path: str) -> None:
    folder, name = os.path.split(path)
    with suppress(FileNotFoundError):
        os.unlink(f"{folder}/.{name}.crc")


def _sync_folder(path: str) -> None:
    """Make the name durable. Some file systems cannot sync a directory, and need not."""
    with _naming(path):
        handle = os.open(os.path.dirname(path), os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EROFS):
                raise
        finally:
            os.close(handle)
    kill_point("named")


def _check_name(path: str) -> None:
    try:
        if b"\0" in os.fsencode(path):
            raise StorageError(f"Cannot write {path!r}: a file name must not contain a null character.")
    except UnicodeEncodeError as error:
        raise StorageError(f"Cannot write {path!a}: the name is not valid Unicode text.") from error


@contextmanager
def _naming(path: str) -> Iterator[None]:
    try:
        yield
    except DeltaSkipError:
        raise
    except FileExistsError as error:
        raise file_exists(path) from error
    except PermissionError as error:
        raise StorageError(
            f"No permission to write {path}: ask its owner for access, or run as a user with access."
        ) from error
    except OSError as error:
        raise StorageError(f"Cannot write {path}: {error.strerror or first_line(error)}.") from error
