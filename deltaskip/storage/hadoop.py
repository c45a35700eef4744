"""Hadoop file systems, in particular HDFS, through the JVM of the running Spark session.

Configuration, credentials and name services come from the Spark session. Files are committed as delta-spark does on
HDFS: written under a temporary name in the same directory and renamed without overwriting, which is atomic in
the name node.

Measured with PySpark 4.1: a call to the JVM takes 0.1 to 0.2 ms. A response of more than 8 KiB of text (bytes are sent
as text) takes 40 ms more, because py4j leaves Nagle's algorithm on. So data larger than _SMALL_BYTES, and listings of
any length, are passed in a temporary file on this machine, at about 300 MB/s instead of 20.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from tempfile import gettempdir
from typing import Any

import pyarrow as pa

from deltaskip.errors import DeltaSkipError, StorageError
from deltaskip.redaction import redacted
from deltaskip.storage import interface
from deltaskip.storage.kill_points import kill_point
from deltaskip.storage.location import join, parent, split_authority
from deltaskip.storage.range_file import RangeFile
from deltaskip.storage.remote import read_side_by_side, staged
from deltaskip.storage.remote_errors import reason_of
from deltaskip.storage.temporary_names import temporary_name

# Base64 text is a third larger.
_SMALL_BYTES = 4 << 10
_SENT_BYTES = 64 << 10
_BUFFER_BYTES = 256 << 10
# More threads would wait for the GIL.
_THREADS = 8
_TYPE, _PATH, _LENGTH, _MODIFIED = 1, 2, 3, 7
_KINDS = {1: "directory", 2: "file", 3: "link that cannot be followed"}
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5

# File systems whose FileContext.rename fails atomically if the target exists: HDFS, also within a view. The class
# counts, not the scheme, which may be bound to a file system that mounts others. Not webhdfs, whose server may be an
# HttpFS: that runs the older rename, whose result "not renamed" is ignored.
_ATOMIC_RENAME = "org.apache.hadoop.hdfs.DistributedFileSystem"
_VIEW = "org.apache.hadoop.fs.viewfs.ViewFileSystem"

# HDFS's client polls for the first replica of a closed file, and by default sleeps for 400 ms if there is none yet,
# which is nearly always so for a small file. These settings poll earlier, for the same time in total.
_CLOSE_DELAY = "dfs.client.block.write.locateFollowingBlock.initial.delay.ms"
_CLOSE_RETRIES = "dfs.client.block.write.locateFollowingBlock.retries"
_CLOSE_DELAY_MS = 10
_USUAL_RETRIES, _MORE_RETRIES = 5, 6
_NOT_FOUND = ("java.io.FileNotFoundException", "java.nio.file.NoSuchFileException")
_TAKEN = ("org.apache.hadoop.fs.FileAlreadyExistsException", "java.nio.file.FileAlreadyExistsException")
_REFUSED = ("org.apache.hadoop.security.AccessControlException", "java.nio.file.AccessDeniedException")
# Exceptions that only wrap their cause: the client of HDFS raises the second for an unknown host.
_WRAPPERS = (
    "java.io.UncheckedIOException",
    "java.lang.IllegalArgumentException",
    "java.lang.RuntimeException",
    "java.lang.reflect.InvocationTargetException",
    "java.util.concurrent.ExecutionException",
)
_MOST_CAUSES = 5


class HadoopStorage:
    """A Hadoop file system. Locations are its URIs without percent-encoding.

    Args:
        gateway: py4j's gateway to a JVM with Hadoop.
        configuration: The org.apache.hadoop.conf.Configuration in that JVM.
        base: `scheme://authority`. Without an authority, the configuration's default file system provides it.
        location: The location that is opened, for errors.

    Raises:
        StorageError: The configuration does not support the file system.
    """

    __slots__ = ("_classes", "_configuration", "_context", "_files", "_gateway", "base")
    remote = True

    def __init__(self, gateway: Any, configuration: Any, base: str, location: str | None = None) -> None:
        self._gateway = gateway
        self._configuration = configuration
        self._context: Any = None
        self._classes: dict[str, Any] = {}
        with hadoop_errors(location or base, "open"):
            self._files = self._class("org.apache.hadoop.fs.FileSystem").get(self._uri(base), configuration)
            self.base = f"{base}{self._files.getUri().getAuthority() or ''}" if base.endswith("://") else base

    def located(self, location: str) -> str:
        """Return the location with this storage's base, including the authority of the configuration."""
        return f"{self.base}/{split_authority(location)[1]}"

    def list_from(self, directory: str, start_name: str) -> list[interface.FileInfo]:
        """Return the entries of the directory with names >= start_name, sorted by name."""
        with hadoop_errors(directory):
            statuses = self._files.listStatus(self._path(directory))
            # The constructor takes an array of Writable, not of another class.
            count = len(statuses)
            array = self._gateway.new_array(self._class("org.apache.hadoop.io.Writable"), count)
            self._class("java.lang.System").arraycopy(statuses, 0, array, 0, count)
            written = self._class("org.apache.hadoop.io.ArrayWritable")(array.getClass().getComponentType(), array)
            data = self._handed_over(directory, lambda output: self._write_out(written, output))
        return file_infos(data, directory, start_name)

    def read(self, path: str, max_bytes: int | None = None) -> bytes:
        """Read the file. Raises StorageError for a file of more than `max_bytes`."""
        with hadoop_errors(path), self._opened(path) as stream:
            data = bytes(stream.readNBytes(_SMALL_BYTES + 1))
            whole = len(data) <= _SMALL_BYTES
            if max_bytes is not None and (len(data) if whole else self.size(path)) > max_bytes:
                raise interface.too_large(path, max_bytes)
            if whole:
                return data
            stream.seek(0)
            copy = self._class("org.apache.hadoop.io.IOUtils").copyBytes
            return self._handed_over(path, lambda output: copy(stream, output, _BUFFER_BYTES, False))

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """Read `length` bytes at `offset`, or fewer at the end of the file."""
        interface.check_range(path, offset, length)
        with hadoop_errors(path), self._opened(path) as stream:
            return self._read_at(path, stream, offset, length)

    def read_joined(self, files: Sequence[interface.FileInfo]) -> tuple[memoryview, list[int]]:
        """Read the files into one buffer, and return it with the start of each file."""
        return interface.joined(read_side_by_side(self, files, _THREADS))

    def open_input(self, path: str, size: int | None = None) -> pa.NativeFile:
        """Open the file for random access. The caller closes it."""
        length = self.size(path)
        with hadoop_errors(path):
            stream = self._files.open(self._path(path))

        def read_at(offset: int, length: int) -> bytes:
            with hadoop_errors(path):
                return self._read_at(path, stream, offset, length)

        return pa.PythonFile(RangeFile(length, read_at, stream.close), mode="r")

    def exists(self, path: str) -> bool:
        """Whether a file or directory exists at the location."""
        try:
            with hadoop_errors(path):
                return bool(self._files.exists(self._path(path)))
        except (FileNotFoundError, NotADirectoryError):
            return False

    def info(self, path: str) -> interface.FileInfo:
        """Return the entry that a listing has of a regular file."""
        with hadoop_errors(path):
            status = self._files.getFileStatus(self._path(path))
            if status.isDirectory():
                raise interface.not_a_file(path, "directory")
            size, modified_ms = int(status.getLen()), int(status.getModificationTime())
            return interface.FileInfo(path.rpartition("/")[2], path, size, modified_ms)

    def size(self, path: str) -> int:
        """Return the size of the file in bytes."""
        return self.info(path).size

    def put_if_absent(self, path: str, data: bytes) -> None:
        """Create the file atomically: write and sync a temporary file beside it, then rename it without overwriting."""
        self._check_rename(path)
        with hadoop_errors(path, "write"), self._written(path, lambda stream: self._send(stream, data)) as temporary:
            self._rename(temporary, path, "NONE")

    def put(self, path: str, data: bytes, durable: bool = True) -> None:
        """Write the file atomically: write and sync a temporary file beside it, then rename it."""
        self._check_rename(path)
        with hadoop_errors(path, "write"), self._written(path, lambda stream: self._send(stream, data)) as temporary:
            self._rename(temporary, path, "OVERWRITE")

    def publish(self, path: str) -> AbstractContextManager[str]:
        """Return a context manager with a local file to write, which is copied to `path` unless that exists."""

        def send(file: str) -> None:
            self._check_rename(path)
            if self.exists(path):
                return
            with (
                hadoop_errors(path, "write"),
                self._written(path, lambda stream: self._send_file(stream, file)) as temporary,
            ):
                self._rename(temporary, path, "NONE")

        return _published(send)

    def delete(self, path: str) -> None:
        """Delete the file. A missing file is not an error."""
        with suppress(FileNotFoundError), hadoop_errors(path, "delete"):
            self._files.delete(self._path(path), False)

    def delete_directory(self, path: str) -> None:
        """Delete the directory with everything below it. A missing directory is not an error."""
        with suppress(FileNotFoundError), hadoop_errors(path, "delete"):
            self._files.delete(self._path(path), True)

    def delete_files(self, paths: Sequence[str]) -> None:
        """Delete many files with a pool of threads. Missing files are not an error."""
        interface.delete_side_by_side(self, paths, _THREADS)

    def delete_empty_directory(self, path: str) -> bool:
        """Delete the directory if it is empty. Return whether it was deleted."""
        try:
            with hadoop_errors(path, "delete"):
                statuses = self._files.listStatus(self._path(path))
                # Hadoop refuses to delete a directory that is not empty.
                return not len(statuses) and bool(self._files.delete(self._path(path), False))
        except (FileNotFoundError, NotADirectoryError):
            return False

    def _class(self, name: str) -> Any:
        """Return the Java class by its full name; py4j's `jvm.a.b` would call the JVM at every dot."""
        found = self._classes.get(name)
        if found is None:
            # The gateway's module is loaded, since there is a gateway.
            java_class = sys.modules["py4j.java_gateway"].JavaClass
            found = self._classes[name] = java_class(name, self._gateway._gateway_client)
        return found

    def _uri(self, base: str) -> Any:
        return self._class("java.net.URI").create(f"{base}/")

    def _path(self, location: str) -> Any:
        if not location.isascii():
            try:
                location.encode()
            except UnicodeEncodeError as error:
                raise StorageError(
                    f"Hadoop cannot name the file {location!r}, which is not valid UTF-8; rename the file."
                ) from error
        if location == self.base:
            location = f"{location}/"
        return self._class("org.apache.hadoop.fs.Path")(location)

    @contextmanager
    def _opened(self, path: str) -> Iterator[Any]:
        stream = self._files.open(self._path(path))
        try:
            yield stream
        finally:
            stream.close()

    def _read_at(self, path: str, stream: Any, offset: int, length: int) -> bytes:
        if length <= 0:
            return b""
        try:
            with hadoop_errors(path):
                stream.seek(offset)
                if length <= _SMALL_BYTES:
                    return bytes(stream.readNBytes(length))
                copy = self._class("org.apache.commons.io.IOUtils").copyLarge
                return self._handed_over(path, lambda output: copy(stream, output, 0, length))
        except EndOfFile:
            return b""

    def _handed_over(self, path: str, write: Callable[[Any], object]) -> bytes:
        """Return the bytes that `write` writes to an output stream in the JVM, passed through a local file."""
        handle, name = tempfile.mkstemp(prefix="deltaskip-")
        try:
            output = self._local(path, "java.io.FileOutputStream", name)
            try:
                write(output)
            finally:
                output.close()
            with open(handle, "rb", buffering=0, closefd=False) as file:
                return file.readall()
        finally:
            os.close(handle)
            os.unlink(name)

    def _write_out(self, written: Any, output: Any) -> None:
        buffered = self._class("java.io.DataOutputStream")(self._class("java.io.BufferedOutputStream")(output))
        written.write(buffered)
        buffered.flush()

    def _local(self, path: str, kind: str, name: str) -> Any:
        """Open a local file as a stream in the JVM."""
        try:
            with hadoop_errors(name):
                return self._class(kind)(name)
        except OSError as error:
            raise StorageError(
                f"The JVM of Spark cannot open the temporary file {name} for {path} ({error}): run Python and the JVM "
                f"as one user on one machine, or set TMPDIR to a directory that both can write."
            ) from error

    def _send(self, stream: Any, data: bytes) -> None:
        if len(data) <= _SENT_BYTES:
            stream.write(bytearray(data))
            return
        with tempfile.NamedTemporaryFile(prefix="deltaskip-") as file:
            file.write(data)
            file.flush()
            self._send_file(stream, file.name)

    def _send_file(self, stream: Any, name: str) -> None:
        source = self._local(name, "java.io.FileInputStream", name)
        try:
            self._class("org.apache.hadoop.io.IOUtils").copyBytes(source, stream, _BUFFER_BYTES, False)
        finally:
            source.close()

    @contextmanager
    def _written(self, path: str, send: Callable[[Any], None]) -> Iterator[str]:
        """Yield a synced file beside `path` whose name readers of the log ignore. An error deletes it."""
        folder, _, name = path.rpartition("/")
        temporary = f"{folder}/{temporary_name(name)}"
        create = self._class("org.apache.hadoop.fs.CreateFlag").CREATE
        options = self._array_of("org.apache.hadoop.fs.Options$CreateOpts", lambda options: options.createParent())
        flags = self._class("java.util.EnumSet").of(create)
        try:
            stream = self._file_context().create(self._path(temporary), flags, options)
            try:
                kill_point("opened")
                send(stream)
                kill_point("written")
                stream.hsync()
            finally:
                stream.close()
            kill_point("synced")
            yield temporary
        except BaseException:
            # The first error is raised, not an error of the clean-up.
            with suppress(OSError), hadoop_errors(path, "write"):
                self._files.delete(self._path(temporary), False)
            kill_point("tidied")
            raise

    def _rename(self, temporary: str, path: str, option: str) -> None:
        self._check_view(path)
        options = self._array_of("org.apache.hadoop.fs.Options$Rename", lambda rename: getattr(rename, option))
        self._file_context().rename(self._path(temporary), self._path(path), options)
        kill_point("renamed")

    def _array_of(self, kind: str, value: Callable[[Any], Any]) -> Any:
        """Return a Java array of one value, for a varargs method."""
        java_class = self._class(kind)
        array = self._gateway.new_array(java_class, 1)
        array[0] = value(java_class)
        return array

    def _file_context(self) -> Any:
        """Return the FileContext of the file system, which renames without overwriting."""
        if self._context is None:
            own = self._class("org.apache.hadoop.conf.Configuration")(self._configuration)
            retries = own.getInt(_CLOSE_RETRIES, _USUAL_RETRIES)
            own.setInt(_CLOSE_DELAY, _CLOSE_DELAY_MS)
            own.setInt(_CLOSE_RETRIES, retries + _MORE_RETRIES)
            context = self._class("org.apache.hadoop.fs.FileContext")
            self._context = context.getFileContext(self._uri(self.base), own)
        return self._context

    def _check_rename(self, path: str) -> None:
        with hadoop_errors(path, "write"):
            kind = self._files.getClass().getName()
        if kind not in (_ATOMIC_RENAME, _VIEW):
            raise self._not_atomic(path, kind)

    def _check_view(self, path: str) -> None:
        if self._files.getClass().getName() == _VIEW:
            target = self._file_context().resolvePath(self._path(parent(path))).toUri().getScheme()
            if target != "hdfs":
                raise self._not_atomic(path, f"{_VIEW} of {target}")

    def _not_atomic(self, path: str, kind: str) -> StorageError:
        return StorageError(
            f"Cannot commit to {path}: {kind} is not known to rename files atomically without overwriting, so "
            f"concurrent writers could overwrite each other; store the table on HDFS or an object store."
        )


def session_storage(location: str) -> HadoopStorage | None:
    """Return the storage of the location in the running classic Spark session.

    None if no session runs or it does not support the scheme. pyspark is not imported: a session runs only if the user
    has imported it.
    """
    context = getattr(getattr(sys.modules.get("pyspark"), "SparkContext", None), "_active_spark_context", None)
    java_context = getattr(context, "_jsc", None)
    if context is None or java_context is None:
        return None
    base, _ = split_authority(location)
    scheme = base.partition(":")[0]
    with hadoop_errors(location, "open"):
        configuration = java_context.hadoopConfiguration()
        file_system = context._jvm.org.apache.hadoop.fs.FileSystem
        try:
            with hadoop_errors(location, "open"):
                file_system.getFileSystemClass(scheme, configuration)
        except StorageError as error:
            if "No FileSystem for scheme" in str(error):
                return None
            raise
    return HadoopStorage(context._gateway, configuration, base, location)


@contextmanager
def _published(send: Callable[[str], None]) -> Iterator[str]:
    with suppress(FileExistsError), staged(send) as name:
        yield name


def file_infos(data: bytes, directory: str, start_name: str) -> list[interface.FileInfo]:
    """Return the entries of a directory listing with names >= start_name, sorted by name.

    The listing is an array of FileStatus, serialized by ArrayWritable.write: the number of statuses and, for each, its
    size and a FileStatusProto of that many bytes. Numbers are 4-byte big-endian. The message has (Hadoop 3,
    FSProtos.proto) 1 type, 2 path, 3 length in bytes, 7 modification time in ms.

    Raises NotADirectory if a status describes `directory` itself, and StorageError if the bytes are not a listing.
    """
    found = []
    at = 4
    for _ in range(int.from_bytes(data[:4], "big")):
        end = at + 4 + int.from_bytes(data[at : at + 4], "big")
        try:
            kind, path, size, modified_ms = _status(data, at + 4, end)
        except (IndexError, ValueError) as error:
            raise StorageError(
                f"Cannot read {directory}: the format of its listing is not supported ({error})."
            ) from error
        name = path.rpartition("/")[2]
        if name >= start_name:
            found.append(
                interface.FileInfo(name, join(directory, name), size, modified_ms, _KINDS.get(kind, "special file"))
            )
        at = end
        if path.rstrip("/") == directory.rstrip("/"):
            raise interface.not_a_directory(directory)
    return sorted(found, key=lambda info: info.name)


def _status(data: bytes, at: int, end: int) -> tuple[int, str, int, int]:
    if end > len(data):
        raise ValueError("it is truncated")
    path = b""
    numbers = {_TYPE: 0, _LENGTH: 0, _MODIFIED: 0}
    while at < end:
        key, at = _varint(data, at)
        field, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            if field in numbers:
                numbers[field] = value
                if field == _MODIFIED:
                    # Fields are written in order, and the later ones are not needed.
                    break
        elif wire == _BYTES:
            length, at = _varint(data, at)
            if field == _PATH:
                path = data[at : at + length]
            at += length
        elif wire in (_FIXED_32, _FIXED_64):
            at += 4 if wire == _FIXED_32 else 8
        else:
            raise ValueError(f"wire type {wire}")
    return numbers[_TYPE], path.decode(), numbers[_LENGTH], numbers[_MODIFIED]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


class EndOfFile(StorageError):
    """A position is past the end of the file."""


@contextmanager
def hadoop_errors(path: str, act: str = "read") -> Iterator[None]:
    """Convert py4j errors to FileNotFound, FileExists, NotADirectory or StorageError, all with the location."""
    try:
        yield
    except DeltaSkipError:
        raise
    except ConnectionError as error:
        raise _gone(path, act, error) from error
    except OSError as error:
        raise StorageError(
            f"Cannot {act} {path} through temporary files in {gettempdir()}: {error.strerror or reason_of(error)}; "
            f"set TMPDIR to another directory."
        ) from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("py4j", "pyspark"):
            raise
        java = _java_exception(error)
        if java is None:
            raise _gone(path, act, error) from error
        with hadoop_errors(path, act):
            kind, message = _cause(java)
        raise _named(kind, message, path, act) from error


def _java_exception(error: Exception) -> Any:
    """The exception in the JVM. PySpark converts some of py4j's errors to its classes, and keeps the origin."""
    origin = getattr(error, "_origin", error)
    # A JavaObject has every attribute.
    return getattr(origin, "java_exception", None) if isinstance(origin, Exception) else origin


def _cause(java: Any) -> tuple[str, str | None]:
    """Class and message of a Java exception, or of its cause if it only wraps another exception."""
    for _ in range(_MOST_CAUSES):
        kind, cause = java.getClass().getName(), java.getCause()
        if kind not in _WRAPPERS or cause is None:
            break
        java = cause
    return kind, java.getMessage()


def _gone(path: str, act: str, error: Exception) -> StorageError:
    return StorageError(
        f"Cannot {act} {path}: the JVM of Spark does not respond ({reason_of(error)}); start a new Spark session and "
        f"open the table again."
    )


def _named(kind: str, message: str | None, path: str, act: str) -> OSError:
    lines = redacted(message or "").strip().splitlines()
    reason = lines[0].rstrip(".: ") if lines else kind
    match kind:
        case name if name in _NOT_FOUND:
            return interface.not_found(path)
        case name if name in _TAKEN:
            return interface.file_exists(path)
        case "org.apache.hadoop.fs.ParentNotDirectoryException":
            return interface.not_a_directory(path)
        case "java.io.EOFException":
            return EndOfFile(f"Cannot {act} {path}: the position is past its end ({reason}).")
        case name if name in _REFUSED:
            return StorageError(
                f"No permission to {act} {path} ({reason}): ask its owner for access, or run Spark as a user with "
                f"access."
            )
        case "java.net.UnknownHostException":
            return StorageError(
                f"Cannot {act} {path}: there is no host {reason!r}; check the location, or the name services in the "
                f"Hadoop configuration of the Spark session."
            )
        case "java.net.ConnectException" | "java.net.NoRouteToHostException":
            return StorageError(
                f"Cannot {act} {path}: {reason}; check that its name node runs, and the host and port of the location."
            )
        case _ if reason == "Filesystem closed":
            return StorageError(f"Cannot {act} {path}: its file system was closed; open the table again.")
        case _:
            return StorageError(f"Cannot {act} {path}: {kind.rpartition('.')[2]}: {reason}.")
