"""Remote file systems: pyarrow.fs, and object stores through obstore (the `cloud` extra)."""

import os
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from mmap import mmap
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.fs as pafs

from deltaskip.errors import StorageError
from deltaskip.extras import install_command
from deltaskip.path_bytes import encoded, of_process
from deltaskip.settings import options
from deltaskip.storage import interface
from deltaskip.storage.kill_points import kill_point
from deltaskip.storage.location import join
from deltaskip.storage.range_file import Range, RangeFile, RemoteInput
from deltaskip.storage.remote_errors import backend_errors
from deltaskip.storage.uploads import PART_BYTES, UPLOADS, Begin, PartsUpload

# Smaller files are read at once: their bytes take less time than another request.
_WHOLE_BYTES = 1 << 20
# The bytes that a reader of a Parquet file requests first.
_TAIL_BYTES = 1 << 16
# The most objects that one S3 request deletes.
_BULK_DELETES = 1000
# Variables of the environment that name an endpoint.
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
# Endpoints and buckets that are known to have conditional writes.
_CHECKED: set[tuple[str, str]] = set()
# The most objects that one answer of a store lists.
_PAGE = 1000
# Rows of a batch of a listing: several pages of a store's answers.
_LISTED = 1 << 14


class ArrowStorage:
    """A file system of pyarrow.fs. A location `base/key` is the file system's path `prefix/key`."""

    __slots__ = ("_files", "_prefix", "base")
    remote = True

    def __init__(self, files: pafs.FileSystem, prefix: str, base: str) -> None:
        self._files = files
        self._prefix = prefix.rstrip("/")
        self.base = base

    def list_from(self, directory: str, start_name: str) -> list[interface.FileInfo]:
        """Return the entries of the directory with names >= start_name, sorted by name."""
        with backend_errors(directory):
            selector = pafs.FileSelector(self._path(directory), allow_not_found=False)
            infos = self._files.get_file_info(selector)
        return _sorted(
            interface.FileInfo(
                i.base_name,
                join(directory, i.base_name),
                i.size or 0,
                (i.mtime_ns or 0) // 1_000_000,
                _ARROW_KINDS.get(i.type, "special file"),
            )
            for i in infos
            if i.base_name >= start_name
        )

    def read(self, path: str, max_bytes: int | None = None) -> bytes:
        """Read the file. Raises StorageError for a file of more than `max_bytes`."""
        with backend_errors(path), self._files.open_input_stream(self._path(path), compression=None) as stream:
            data = bytes(stream.read(None if max_bytes is None else max_bytes + 1))
        if max_bytes is not None and len(data) > max_bytes:
            raise interface.too_large(path, max_bytes)
        return data

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Read `length` bytes at `offset`, or fewer at the end of the file."""
        interface.check_range(path, offset, length)
        with backend_errors(path), self._files.open_input_file(self._path(path)) as file:
            length = max(0, min(length, file.size() - offset))
            return bytes(file.read_at(length, offset)) if length else b""

    def read_joined(self, files: Sequence[interface.FileInfo]) -> tuple[memoryview, list[int]]:
        """Read the files into one buffer, and return it with the start of each file."""
        return interface.joined(read_side_by_side(self, files))

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        """Open the file for random access. The caller closes it."""
        with backend_errors(path):
            return self._files.open_input_file(self._path(path))

    def exists(self, path: str) -> bool:
        """Whether a file or directory exists at the location."""
        with backend_errors(path):
            return bool(self._files.get_file_info(self._path(path)).type != pafs.FileType.NotFound)

    def info(self, path: str) -> interface.FileInfo:
        """Return the entry that a listing has of a regular file."""
        with backend_errors(path):
            info = self._files.get_file_info(self._path(path))
        if info.type == pafs.FileType.NotFound:
            raise interface.not_found(path)
        if info.type != pafs.FileType.File:
            raise interface.not_a_file(path, _ARROW_KINDS.get(info.type, "special file"))
        return interface.FileInfo(info.base_name, path, int(info.size), (info.mtime_ns or 0) // 1_000_000)

    def size(self, path: str) -> int:
        """Return the size of the file in bytes."""
        return self.info(path).size

    def put_if_absent(self, path: str, data: bytes) -> None:
        """Raise StorageError: pyarrow's file systems cannot create a file without replacing an existing one."""
        raise StorageError(
            f"Cannot commit to {path}: pyarrow's file systems cannot create a file without replacing an existing one, "
            f"so concurrent writers could overwrite each other; install obstore ({install_command('cloud')})."
        )

    def put(self, path: str, data: bytes, durable: bool = True) -> None:
        """Write the file, replacing an existing one. On HDFS a reader may see a part of it meanwhile."""
        with backend_errors(path, "write"):
            self._files.create_dir(self._path(path).rpartition("/")[0], recursive=True)
            with self._files.open_output_stream(self._path(path), compression=None) as stream:
                stream.write(data)

    def publish(self, path: str) -> AbstractContextManager[str]:
        """Return a context manager with a local file to write, which is copied to `path` unless that exists."""

        def send(file: str) -> None:
            if not self.exists(path):
                self.put(path, _contents(file))

        return staged(send)

    def delete(self, path: str) -> None:
        """Delete the file. A missing file is not an error."""
        with suppress(FileNotFoundError), backend_errors(path, "delete"):
            self._files.delete_file(self._path(path))

    def delete_directory(self, path: str) -> None:
        """Delete the directory with everything below it. A missing directory is not an error."""
        with suppress(FileNotFoundError), backend_errors(path, "delete"):
            self._files.delete_dir(self._path(path))

    def delete_files(self, paths: Sequence[str]) -> None:
        """Delete many files with a pool of threads. Missing files are not an error."""
        interface.delete_side_by_side(self, paths, interface.IN_FLIGHT)

    def delete_empty_directory(self, path: str) -> bool:
        """Return False: pyarrow's file systems cannot delete a directory only if it is empty."""
        return False

    def _path(self, location: str) -> str:
        return f"{self._prefix}/{location[len(self.base) :].lstrip('/')}"


class ObjectStorage:
    """An object store of obstore. A location `base/key` is the store's key `key`."""

    __slots__ = ("_store", "base", "options")
    remote = True

    def __init__(self, store: Any, base: str, options: Mapping[str, str] | None = None) -> None:
        self._store = store
        self.base = base
        self.options = options

    def list_from(self, directory: str, start_name: str) -> list[interface.FileInfo]:
        """Return the entries of the directory with names >= start_name, sorted by name; a missing one has none."""
        if start_name.isdigit():
            # The store leaves out what is before a version of a log, which has few folders.
            return self._entries(directory, start_name, self._below(directory, start_name))
        listed = self._children(directory)
        found = {
            name: interface.FileInfo(name, join(directory, name), 0, 0, "directory")
            for prefix in listed["common_prefixes"]
            if (name := prefix.rstrip("/").rpartition("/")[2]) >= start_name
        }
        # An object takes precedence over a prefix of the same name.
        for item in listed["objects"]:
            name = item["path"].rpartition("/")[2]
            if name >= start_name:
                found[name] = _info(name, join(directory, name), item)
        return _sorted(found.values())

    def list_first(self, directory: str) -> list[interface.FileInfo] | None:
        """Return what `list_from` returns if the store lists all that is below the directory at once; else None."""
        found = self._below(directory, None, _PAGE)
        return None if len(found) == _PAGE else self._entries(directory, "", found)

    def list_between(self, directory: str, start_name: str, end_name: str) -> list[interface.FileInfo] | None:
        """Return the entries with names >= start_name and < end_name, if the store lists them at once; else None."""
        listed = self._below(directory, start_name, _PAGE)
        found = self._entries(directory, start_name, listed)
        between = [each for each in found if each.name < end_name]
        return between if len(listed) < _PAGE or len(between) < len(found) else None

    def _entries(self, directory: str, start_name: str, items: Iterable[Any]) -> list[interface.FileInfo]:
        """The entries of a directory with names >= start_name, sorted by name, of objects below it."""
        found: dict[str, interface.FileInfo] = {}
        for item in items:
            name, inside, _ = item["path"].removeprefix(self._key(directory)).lstrip("/").partition("/")
            if name >= start_name and not inside:
                found[name] = _info(name, join(directory, name), item)
            elif name >= start_name:
                found.setdefault(name, interface.FileInfo(name, join(directory, name), 0, 0, "directory"))
        return _sorted(found.values())

    def read(self, path: str, max_bytes: int | None = None) -> bytes:
        """Read the file. Raises StorageError for a file of more than `max_bytes`."""
        import obstore

        with backend_errors(path):
            answer = obstore.get(self._store, self._key(path))
            if max_bytes is not None and answer.meta["size"] > max_bytes:
                raise interface.too_large(path, max_bytes)
            return bytes(answer.bytes())

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Read `length` bytes at `offset`, or fewer at the end of the file."""
        import obstore

        interface.check_range(path, offset, length)
        if length == 0:
            return b""
        found = 0
        try:
            for _ in range(2):
                with backend_errors(path):
                    data = bytes(obstore.get_range(self._store, self._key(path), start=offset, length=length))
                if len(data) >= length:
                    return data
                found = len(data)
            raise interface.cut_short(path, offset + length, offset + found)
        except StorageError:
            rest = self.size(path) - offset
            if rest >= length:
                raise
            return self.read_range(path, offset, max(0, rest))

    def read_joined(self, files: Sequence[interface.FileInfo]) -> tuple[memoryview, list[int]]:
        """Read the files into one buffer, and return it with the start of each file."""
        return interface.joined(read_side_by_side(self, files))

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        """Open the file for random access. The caller closes it. Small files are read whole, of others the end."""
        tail = self._tail(path, size) if size else None
        length = self.size(path) if size is None or tail is None else size
        if tail and len(tail) == length:
            return pa.BufferReader(tail)
        held = tail or b""
        start = length - len(held)

        def read_at(offset: int, wanted: int) -> bytes:
            if start <= offset and offset + wanted <= length:
                return held[offset - start : offset - start + wanted]
            return self.read_range(path, offset, wanted)

        def read_side_by_side(ranges: Sequence[Range]) -> list[bytes]:
            found = [b"" if offset < start else read_at(offset, wanted) for offset, wanted in ranges]
            far = [number for number, (offset, _) in enumerate(ranges) if offset < start]
            for number, data in zip(far, self._read_ranges(path, [ranges[each] for each in far]), strict=True):
                found[number] = data
            return found

        return RemoteInput(RangeFile(length, read_at), read_side_by_side)

    def _read_ranges(self, path: str, ranges: Sequence[Range]) -> list[bytes]:
        """Read ranges that do not overlap in parallel, with one request for each."""
        import obstore

        if len(ranges) < 2:
            return [self.read_range(path, *each) for each in ranges]
        with backend_errors(path):
            starts, lengths = [offset for offset, _ in ranges], [length for _, length in ranges]
            found = obstore.get_ranges(self._store, self._key(path), starts=starts, lengths=lengths, coalesce=0)
            read = [bytes(each) for each in found]
        pairs = zip(ranges, read, strict=True)
        return [data if len(data) >= each[1] else self.read_range(path, *each) for each, data in pairs]

    def _tail(self, path: str, size: int) -> bytes | None:
        """The last bytes of the file, or all bytes of a small one, by one request; None if it is not whole."""
        import obstore

        start = 0 if size <= _WHOLE_BYTES else size - _TAIL_BYTES
        try:
            with backend_errors(path):
                answer = obstore.get(self._store, self._key(path), options={"range": {"offset": start}})
                data = bytes(answer.bytes())
                return data if answer.meta["size"] == size and len(data) == size - start else None
        except FileNotFoundError:
            raise
        except StorageError:
            # The range begins after the end of the file.
            return None

    def exists(self, path: str) -> bool:
        """Whether an object exists at the location or below it."""
        try:
            self.size(path)
        except FileNotFoundError:
            listed = self._children(path)
            return bool(listed["objects"] or listed["common_prefixes"])
        return True

    def info(self, path: str) -> interface.FileInfo:
        """Return the entry that a listing has of an object."""
        import obstore

        with backend_errors(path):
            return _info(path.rpartition("/")[2], path, obstore.head(self._store, self._key(path)))

    def size(self, path: str) -> int:
        """Return the size of the object in bytes."""
        return self.info(path).size

    def put_if_absent(self, path: str, data: bytes) -> None:
        """Create the object by a conditional request, so exactly one of several writers succeeds."""
        import obstore

        with backend_errors(path, "write"):
            kill_point("before the request")
            obstore.put(self._store, self._key(path), data, mode="create", use_multipart=False)
            kill_point("after the request")

    def check_conditions(self, file: interface.FileInfo) -> None:
        """Raise StorageError if the store ignores conditions of requests, so that writers replace each other's commits.

        A store behind an endpoint of its own is asked once by each process: to create a file that exists, with the
        bytes that it has. Stores without one are those of Amazon, Google and Microsoft, which have the conditions.
        """
        named = [getattr(self._store, "config", {}).get("endpoint"), *map(os.environ.get, _ENDPOINTS)]
        endpoint = next(filter(None, named), None)
        if endpoint is None or (endpoint, self.base) in _CHECKED:
            return
        try:
            self.put_if_absent(file.path, interface.read_whole(self, file))
        except FileExistsError:
            _CHECKED.add((endpoint, self.base))
            return
        except FileNotFoundError:
            # The log has been cleaned up since it was listed; the next commit asks again.
            return
        raise StorageError(
            f"Cannot commit to {file.path.rpartition('/')[0]}: the store at {endpoint} ignores If-None-Match: *, so "
            f"concurrent writers would replace each other's commits; use a store or a release of it with conditional "
            f"writes. Nothing was committed."
        )

    def put(self, path: str, data: bytes, durable: bool = True) -> None:
        """Write the object, replacing an existing one."""
        import obstore

        with backend_errors(path, "write"):
            obstore.put(self._store, self._key(path), data)

    def publish(self, path: str) -> AbstractContextManager[str]:
        """Return a context manager with a local file, which is uploaded unless `path` exists, in parts if large."""
        return staged(lambda file: self._send(path, file))

    @contextmanager
    def publish_growing(self, path: str) -> Iterator[tuple[str, Begin]]:
        """Yield a local file as `publish` does, and a function that uploads it while it grows (storage.uploads)."""
        uploads: list[PartsUpload] = []

        def send(file: str) -> None:
            if not uploads[0].finish():
                self._send(path, file)

        with staged(send) as file:
            uploads.append(PartsUpload(file, lambda parts: self._send_parts(path, parts)))
            try:
                yield file, uploads[0].begin
            except BaseException:
                uploads[0].stop()
                raise

    def _send(self, path: str, file: str) -> None:
        """Upload a local file unless `path` exists."""
        if os.path.getsize(encoded(file)) > PART_BYTES:
            self._send_parts(path, Path(os.fsdecode(encoded(file))))
            return
        with suppress(FileExistsError):
            self.put_if_absent(path, _contents(file))

    def _send_parts(self, path: str, file: Path | Iterator[mmap]) -> None:
        """Upload an object in parts unless `path` exists. After an error of the iterator no object exists."""
        import obstore

        # An upload in parts cannot be conditional.
        with suppress(FileNotFoundError):
            self.size(path)
            return
        with backend_errors(path, "write"), UPLOADS.one_more() as at_once:
            obstore.put(self._store, self._key(path), file, chunk_size=PART_BYTES, max_concurrency=at_once)

    def delete(self, path: str) -> None:
        """Delete the object. A missing object is not an error."""
        import obstore

        with suppress(FileNotFoundError), backend_errors(path, "delete"):
            obstore.delete(self._store, self._key(path))

    def delete_directory(self, path: str) -> None:
        """Delete all objects whose keys start with the directory."""
        import obstore

        with backend_errors(path, "delete"):
            for chunk in obstore.list(self._store, f"{self._key(path)}/"):
                obstore.delete(self._store, [item["path"] for item in chunk])

    def delete_files(self, paths: Sequence[str]) -> None:
        """Delete many objects, in bulk requests where the store has them. Missing objects are not an error."""
        import obstore

        for start in range(0, len(paths), _BULK_DELETES):
            some = paths[start : start + _BULK_DELETES]
            try:
                with backend_errors(some[0], "delete"):
                    obstore.delete(self._store, [self._key(path) for path in some])
            except FileNotFoundError:
                # The store reports a missing object, and may not have deleted the objects after it.
                interface.delete_side_by_side(self, some, interface.IN_FLIGHT)

    def delete_empty_directory(self, path: str) -> bool:
        """Return False: object stores have no directories."""
        return False

    def list_below(self, directory: str) -> Iterator[pa.RecordBatch]:
        """Yield the objects below a directory: `path` below it, `size`, and `modified_ms` in milliseconds."""
        import obstore

        key, before = self._key(directory), None
        with backend_errors(directory):
            for listed in obstore.list(self._store, key and f"{key}/", chunk_size=_LISTED, return_arrow=True):
                batch = pa.record_batch(listed)
                if before is not None and pc.index(batch["path"], before).as_py() >= 0:
                    raise StorageError(f"Cannot read {directory}: the store repeats its listing; check the endpoint.")
                before = batch["path"][0] if len(batch) else before
                milliseconds = batch["last_modified"].cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64())
                paths = pc.utf8_slice_codeunits(batch["path"], len(key) + 1 if key else 0)
                columns = [paths, batch["size"].cast(pa.int64()), milliseconds]
                yield pa.RecordBatch.from_arrays(columns, ["path", "size", "modified_ms"])

    def _key(self, location: str) -> str:
        return location[len(self.base) :].lstrip("/")

    def _children(self, directory: str) -> Any:
        """The objects and prefixes directly below a directory."""
        import obstore

        key = self._key(directory) or None
        return _in_time(directory, lambda: obstore.list_with_delimiter_async(self._store, key))

    def _below(self, directory: str, start_name: str | None, most: int | None = None) -> Sequence[Any]:
        """The objects below a directory after a name. most: The first ones only."""
        import obstore

        async def listed() -> Any:
            key = f"{self._key(directory)}/".lstrip("/")
            after = None if start_name is None else f"{key}{start_name}"
            found = obstore.list(self._store, key or None, offset=after, chunk_size=most or _LISTED)
            if most is None:
                return await found.collect_async()
            async for page in found:
                return page
            return ()

        found: Sequence[Any] = _in_time(directory, listed)
        return found


def _in_time(directory: str, listing: Callable[[], Awaitable[Any]]) -> Any:
    """What a store lists of a directory. Raises StorageError if it lists without an end."""
    import asyncio

    seconds = options.listing_seconds

    async def listed() -> Any:
        try:
            return await asyncio.wait_for(listing(), seconds)
        except TimeoutError as error:
            raise StorageError(
                f"Cannot read {directory}: the store has not listed it within {seconds} seconds; check the "
                f"endpoint, or set deltaskip.options.listing_seconds for a folder of very many files."
            ) from error

    # The caller's thread may already have an event loop.
    with backend_errors(directory), ThreadPoolExecutor(1, "deltaskip") as pool:
        return pool.submit(asyncio.run, listed()).result()


def _info(name: str, path: str, item: Any) -> interface.FileInfo:
    modified_ms = int(item["last_modified"].timestamp() * 1000)
    return interface.FileInfo(name, path, item["size"], modified_ms, tag=item["e_tag"])


_ARROW_KINDS = {pafs.FileType.File: "file", pafs.FileType.Directory: "directory"}


def _sorted(entries: Iterable[interface.FileInfo]) -> list[interface.FileInfo]:
    return sorted(entries, key=lambda info: info.name)


def read_side_by_side(
    storage: interface.Storage, files: Sequence[interface.FileInfo], threads: int = interface.IN_FLIGHT
) -> list[bytes]:
    """Read the files with a pool of threads. Raises StorageError for fewer bytes than were listed."""
    if len(files) < 2:
        return [interface.read_whole(storage, file) for file in files]
    with ThreadPoolExecutor(min(threads, len(files))) as pool:
        return list(pool.map(partial(interface.read_whole, storage), files))


def _contents(file: str) -> bytes:
    with open(encoded(file), "rb") as opened:
        return opened.read()


@contextmanager
def staged(send: Callable[[str], None]) -> Iterator[str]:
    """Yield a temporary local file, send it when the block ends, and always remove it."""
    handle, name = tempfile.mkstemp(prefix="deltaskip-")
    os.close(handle)
    try:
        yield of_process(name)
        send(of_process(name))
    finally:
        os.unlink(name)
