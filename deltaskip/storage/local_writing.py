"""Atomic writes of local files: a reader sees the whole file or no file, even after a crash.

A file is written under a temporary name in the same directory and synced. Then it is named by link(2), which fails if
the name exists, or by rename(2), which replaces an existing file; then the directory is synced. On file systems without
links, renameat2(2) with RENAME_NOREPLACE replaces link(2).
"""

import ctypes
import errno
import fcntl
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from typing import Any

from deltaskip.doors import first_line
from deltaskip.errors import DeltaSkipError, StorageError
from deltaskip.fork_safety import in_child
from deltaskip.lazy_regex import regex
from deltaskip.path_bytes import encoded
from deltaskip.storage.interface import file_exists, not_found
from deltaskip.storage.kill_points import kill_point
from deltaskip.storage.location import LOG_FOLDER
from deltaskip.storage.temporary_names import temporary_name

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EOPNOTSUPP)
_NO_RENAME = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
_NOT_EMPTY = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT, errno.ENOTDIR, errno.EBUSY)
_AT_FDCWD = -100
_TREE_TRIES = 100
_FIRST_COMMIT = regex(r"0{20}\.json")
_RENAME_NOREPLACE = 1
_HAS_DIRECTORIES = {os.open, os.stat, os.unlink, os.rmdir} <= os.supports_dir_fd
# O_PATH needs no permission to list the directory.
_DIRECTORY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# The number of threads whose commits wait for the disk together.
_SYNCING_THREADS = 8
_syncing: list[ThreadPoolExecutor] = []
# The threads do not exist in a forked child.
in_child(_syncing.clear)


def create(path: str, data: bytes, after: Sequence[str] = (), beside: Callable[[], bool] | None = None) -> None:
    """Create a file. Raises FileExists if it exists, and StorageError if the write failed.

    A commit raises FileNotFound if another process has moved or deleted the log's folder meanwhile.

    Args:
        path: The file.
        data: Its contents.
        after: Files of `create_unseen`, which are made durable before the file appears under its name. All are synced
            at the same time, since file systems write files that are synced together at once.
        beside: Asked once the temporary file exists; False raises FileNotFound. If another process moves the folder
            after that, the temporary file is moved with it, so that the file never appears in a folder that has
            replaced it.
    """
    folder = os.path.dirname(path)
    try:
        with _written(path, data, after=after) as temporary:
            if beside is not None and not beside():
                raise not_found(folder)
            _link(temporary, path)
    except StorageError as error:
        if os.path.basename(folder) == LOG_FOLDER and isinstance(error.__cause__, FileNotFoundError):
            raise not_found(folder) from error
        raise


def create_unseen(path: str, data: bytes | memoryview) -> None:
    """Create a file that no reader looks for, under its final name. Raises FileExists or StorageError.

    After a crash VACUUM finds it, complete or not, as a file that no commit adds.
    """
    _check_name(path)
    made: list[str] = []
    with _naming(path):
        try:
            handle = _create_empty(path, os.path.dirname(path), made)
        except BaseException:
            _remove_made(made)
            raise
        try:
            _write_all(handle, data)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(encoded(path))
            _remove_made(made)
            raise
        finally:
            os.close(handle)


def sync(paths: Sequence[str]) -> None:
    """Make files that `create_unseen` has created, and their names, durable. Raises StorageError.

    Files that were deleted since are skipped: their write has failed, or the table is gone, which the commit reports.
    """
    if len(paths) >= _SYNCING_THREADS:
        # The interpreter cannot start threads during shutdown.
        with suppress(RuntimeError), ThreadPoolExecutor(_SYNCING_THREADS, "deltaskip") as pool:
            _sync_files(paths, pool.map)
            return
    _sync_files(paths, map)


def _sync_files(paths: Sequence[str], each: Callable[..., Iterator[Any]]) -> None:
    # A task of a thread takes several files, since passing each one would take longer than syncing it.
    found = chain.from_iterable(each(_flush_files, _shares(paths)))
    last = {os.path.dirname(path): path for path in found}
    # This is a no-op on file systems that write the name together with the file.
    for _ in each(_sync_folders, _shares([*last.values()])):
        pass


def _shares(paths: Sequence[str]) -> list[Sequence[str]]:
    """The paths in as many parts as there are threads."""
    return [paths[i::_SYNCING_THREADS] for i in range(min(_SYNCING_THREADS, len(paths)))]


def _flush_files(paths: Iterable[str]) -> list[str]:
    """Make the contents of files durable, and return the files that exist."""
    found = []
    for path in paths:
        with _naming(path):
            try:
                handle = os.open(encoded(path), os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            try:
                _flush(handle)
            finally:
                os.close(handle)
        kill_point("synced")
        found.append(path)
    return found


def _sync_folders(paths: Iterable[str]) -> None:
    """Make the names of files durable."""
    for path in paths:
        _sync_folder(path)


def replace(path: str, data: bytes, durable: bool = True) -> None:
    """Write a file, replacing an existing one. Raises StorageError if the write failed.

    durable: Whether the file is synced. If not, it may be empty after a crash of the machine, but never partial.
    """
    with _written(path, data, durable) as temporary:
        _rename(temporary, path)


@contextmanager
def publish(path: str) -> Iterator[str]:
    """Yield a temporary file to write, which is synced and linked to `path` when the block ends, unless that exists."""
    with _naming(path), _temporary(path) as temporary:
        yield temporary
        with open(encoded(temporary), "rb+") as file:
            _flush(file.fileno())
        kill_point("synced")
        with suppress(FileExistsError):
            _link(temporary, path)
    _sync_folder(path)


def unlink(path: str) -> None:
    """Delete a file and Hadoop's checksum file of it. Missing files are not an error.

    Raises StorageError if a link is on the path.
    """
    _check_name(path)
    with _naming(path), suppress(FileNotFoundError), _folder_of(path) as (folder, name):
        with suppress(FileNotFoundError):
            os.unlink(encoded(_hadoop_checksum(name)), dir_fd=folder)
        os.unlink(encoded(name), dir_fd=folder)


def delete_tree(path: str) -> None:
    """Delete a directory and everything below it; for a link, only the link. A missing directory is not an error.

    The directory is renamed first: readers of the path find nothing, not a half-deleted table, and files that another
    process creates at the path meanwhile stay.

    Raises StorageError if a link is on the path.
    """
    _check_name(path)
    with _naming(path), suppress(FileNotFoundError), _folder_of(path) as (folder, name):
        if stat.S_ISLNK(os.stat(encoded(name), dir_fd=folder, follow_symlinks=False).st_mode):
            os.unlink(encoded(name), dir_fd=folder)
            return
        above, own = os.path.split(name)
        hidden = os.path.join(above, temporary_name(own))
        try:
            os.rename(encoded(name), encoded(hidden), src_dir_fd=folder, dst_dir_fd=folder)
        except FileNotFoundError:
            return
        except OSError:
            hidden = name  # such as a mount point
        _delete_below(folder, hidden)


def _delete_below(folder: int | None, name: str) -> None:
    import shutil

    for left in reversed(range(_TREE_TRIES)):
        try:
            shutil.rmtree(encoded(name), dir_fd=folder)
            return
        except OSError as error:
            # Another process has opened the directory and writes below it: the next attempt deletes the rest.
            if error.errno not in (errno.ENOENT, errno.ENOTEMPTY, errno.EEXIST) or not left:
                raise


def remove_empty(path: str) -> bool:
    """Delete a directory unless it is not empty or a link. Return whether it was deleted.

    Raises StorageError if a link is on the path.
    """
    _check_name(path)
    with _naming(path):
        try:
            with _folder_of(path) as (folder, name):
                os.rmdir(encoded(name), dir_fd=folder)
        except OSError as error:
            if error.errno in _NOT_EMPTY:
                return False
            raise
    return True


def move(path: str, target: str) -> None:
    """Rename a file, or a directory with its contents, atomically; one of several movers succeeds.

    Raises FileNotFound if it does not exist, and FileExists if the target does; an empty directory is replaced.
    """
    _check_name(path)
    _check_name(target)
    folder = os.path.dirname(target)
    with _naming(target):
        if not os.path.lexists(encoded(path)):
            raise not_found(path)
        os.makedirs(encoded(folder), exist_ok=True)
        kill_point("moving")
        try:
            if os.path.isdir(encoded(path)):
                # A directory is replaced only if it is empty.
                os.rename(encoded(path), encoded(target))
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
def _written(path: str, data: bytes, durable: bool = True, after: Sequence[str] = ()) -> Iterator[str]:
    with _naming(path), _temporary(path) as temporary:
        handle = os.open(encoded(temporary), os.O_WRONLY | os.O_CLOEXEC)
        try:
            _write_all(handle, data)
            if durable:
                with _synced_beside(after):
                    _flush(handle)
        finally:
            os.close(handle)
        kill_point("synced")
        yield temporary
    if durable:
        _sync_folder(path)


@contextmanager
def _synced_beside(paths: Sequence[str]) -> Iterator[None]:
    """Return a context that syncs files in another thread, and ends when they are durable. Raises StorageError."""
    if not paths:
        yield
        return
    if not _syncing:
        _syncing.append(ThreadPoolExecutor(_SYNCING_THREADS, "deltaskip"))
    try:
        beside = _syncing[0].submit(sync, paths)
    except RuntimeError:
        # The interpreter is shutting down and cannot start threads.
        sync(paths)
        yield
        return
    try:
        yield
    finally:
        beside.result()


def _write_all(handle: int, data: bytes | memoryview) -> None:
    kill_point("opened")
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
        kill_point("written")


@contextmanager
def _temporary(path: str) -> Iterator[str]:
    """Yield a unique name beside `path` that readers ignore, and delete the file after the block.

    In the log it is hidden. Elsewhere it is not: after a crash VACUUM deletes files that no commit adds, but not hidden
    ones.
    """
    _check_name(path)
    folder, name = os.path.split(path)
    temporary = f"{folder}/{temporary_name(name, hidden=LOG_FOLDER in folder.split('/'))}"
    made: list[str] = []
    try:
        os.close(_create_empty(temporary, folder, made, _FIRST_COMMIT.fullmatch(name) is not None))
        try:
            yield temporary
        finally:
            with suppress(FileNotFoundError):
                os.unlink(encoded(temporary))
            kill_point("tidied")
    except BaseException:
        _remove_made(made)
        raise


def _remove_made(folders: list[str]) -> None:
    """Delete the folders that were made for a file. Folders that other writers now use are not empty."""
    with suppress(OSError):
        for each in reversed(folders):
            os.rmdir(encoded(each))


def _create_empty(path: str, folder: str, made: list[str], makes_log: bool = False) -> int:
    """Create a file and return its handle, and record the folders that were made: another writer may remove them.

    Only the first commit makes the folder of the log, so that no file goes to a table that no reader finds.
    """
    left = 3
    while True:
        try:
            _make_folders(folder, made, makes_log)
            return os.open(encoded(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o666)
        except FileNotFoundError:
            left -= 1
            if not left:
                raise


def _make_folders(folder: str, made: list[str], makes_log: bool) -> None:
    missing = []
    while not os.path.isdir(encoded(folder)) and folder != os.path.dirname(folder):
        if os.path.basename(folder) == LOG_FOLDER and not makes_log:
            raise not_found(folder)
        missing.append(folder)
        folder = os.path.dirname(folder)
    for each in reversed(missing):
        try:
            os.mkdir(encoded(each))
            made.append(each)
        except FileExistsError:
            if not os.path.isdir(encoded(each)):
                raise


def _rename(temporary: str, path: str) -> None:
    # Hadoop's local file system would verify the new content against the old checksum.
    _drop_hadoop_checksum(path)
    kill_point("unchecked")
    os.rename(encoded(temporary), encoded(path))
    kill_point("renamed")


def _link(temporary: str, path: str) -> None:
    try:
        os.link(encoded(temporary), encoded(path))
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
        names = encoded(temporary), encoded(path)
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
    with suppress(FileNotFoundError):
        os.unlink(encoded(_hadoop_checksum(path)))


def _hadoop_checksum(path: str) -> str:
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.crc")


@contextmanager
def _folder_of(path: str) -> Iterator[tuple[int | None, str]]:
    """Return a context with the directory of an entry, opened without following a link, and the entry's name.

    Deletions stay inside the directory that was checked, even if another one has replaced it since.
    """
    folder, name = os.path.split(path)
    if not _HAS_DIRECTORIES:
        yield None, path
        return
    handle = os.open(b"/", _DIRECTORY)
    try:
        for part in filter(None, folder.split("/")):
            inner = _opened_inside(handle, part, path)
            os.close(handle)
            handle = inner
        yield handle, name
    finally:
        os.close(handle)


def _opened_inside(folder: int, name: str, path: str) -> int:
    try:
        return os.open(encoded(name), _DIRECTORY, dir_fd=folder)
    except OSError as error:
        # Systems raise either error for a link.
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            with suppress(FileNotFoundError):
                if stat.S_ISLNK(os.stat(encoded(name), dir_fd=folder, follow_symlinks=False).st_mode):
                    raise StorageError(
                        f"Refused to delete {path}: {name} is a symbolic link, which may lead elsewhere."
                    ) from error
        raise


def _flush(handle: int) -> None:
    """Make the written bytes durable. On macOS, fsync leaves them in the cache of the drive."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        # Network file systems support only the other call.
        with suppress(OSError):
            fcntl.fcntl(handle, full)
            return
    os.fsync(handle)


def _sync_folder(path: str) -> None:
    """Make the name durable. Some file systems cannot sync a directory and do not need it."""
    with _naming(path):
        handle = os.open(encoded(os.path.dirname(path)), os.O_RDONLY | os.O_DIRECTORY)
        try:
            _flush(handle)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EROFS):
                raise
        finally:
            os.close(handle)
    kill_point("named")


def _check_name(path: str) -> None:
    try:
        if b"\0" in encoded(path):
            raise StorageError(f"Cannot write {path!r}: a file name must not contain a null character.")
    except UnicodeEncodeError as error:
        raise StorageError(f"Cannot write {path!a}: the name is not valid Unicode text.") from error


class Naming:
    """A context in which errors of the system are raised as those of this package, which name a path."""

    __slots__ = ("kinds", "named", "path")

    def __init__(self, kinds: tuple[type[Exception], ...], named: Callable[[Any, str], Exception], path: str) -> None:
        """kinds: the errors; those of this package stay. named: which error is raised, by error and path."""
        self.kinds, self.named, self.path = kinds, named, path

    def __enter__(self) -> None:
        """Enter the context."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Raise the error."""
        if isinstance(error, self.kinds) and not isinstance(error, DeltaSkipError):
            raise self.named(error, self.path) from error


def _named(error: OSError, path: str) -> Exception:
    if isinstance(error, FileExistsError):
        return file_exists(path)
    if isinstance(error, PermissionError):
        return StorageError(f"No permission to write {path}: ask its owner for access, or run as a user with access.")
    return StorageError(f"Cannot write {path}: {error.strerror or first_line(error)}.")


_naming = partial(Naming, (OSError,), _named)
