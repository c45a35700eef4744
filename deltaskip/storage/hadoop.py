"""File systems of Hadoop, through the JVM of the running Spark: HDFS first of all.

Configuration, credentials and name services are those of the Spark session. A file is committed as delta-spark commits
it to HDFS: written under a temporary name in its own folder and renamed without overwriting, which the name node does
at once or not at all.

Measured with PySpark 4.1: a call of the JVM takes 0.1 to 0.2 ms, and an answer of more than 8 KiB of text, as which
bytes travel, 40 ms more, since py4j leaves Nagle's algorithm on. So what is larger than _SMALL_BYTES comes in a
temporary file on this machine, at some 300 MB/s instead of 20, a listing of any length at once too.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any
from uuid import uuid4

import pyarrow as pa

from deltaskip.errors import StorageError
from deltaskip.storage.hadoop_errors import EndOfFile, naming
from deltaskip.storage.hadoop_status import file_infos
from deltaskip.storage.interface import FileInfo, check_range, joined, not_found
from deltaskip.storage.kill_points import kill_point
from deltaskip.storage.location import parent, split_authority
from deltaskip.storage.range_file import RangeFile
from deltaskip.storage.remote import read_side_by_side, staged

__all__ = ["HadoopStorage", "session_storage"]

# As text a third more.
_SMALL_BYTES = 4 << 10
_SENT_BYTES = 64 << 10
_BUFFER_BYTES = 256 << 10
# More of them wait for Python's lock.
_THREADS = 8

# Where the rename of FileContext fails if the target exists, in one step with renaming: on HDFS, also within a view.
# The class is named, not the scheme, which may be bound to a file system that mounts others. Not webhdfs, whose server
# may be an HttpFS: that takes the rename for the older one, whose result, "not renamed", nobody looks at.
_ATOMIC_RENAME = "org.apache.hadoop.hdfs.DistributedFileSystem"
_VIEW = "org.apache.hadoop.fs.viewfs.ViewFileSystem"

# HDFS's client asks whether a closed file has its first replica, and if not yet, by default sleeps for 400 ms: a small
# file is nearly always a little too late. It is asked sooner, and no less long.
_CLOSE_DELAY = "dfs.client.block.write.locateFollowingBlock.initial.delay.ms"
_CLOSE_RETRIES = "dfs.client.block.write.locateFollowingBlock.retries"
_CLOSE_DELAY_MS = 10
_USUAL_RETRIES, _MORE_RETRIES = 5, 6


class HadoopStorage:
    """A file system of Hadoop; locations are its URIs, unencoded.

    gateway: py4j's, to a JVM with Hadoop in it. configuration: the org.apache.hadoop.conf.Configuration there.
    base: `scheme://authority`; without authority it becomes that of the configuration's default file system.
    Raises StorageError where the configuration knows no such file system.
    """

    __slots__ = ("_classes", "_configuration", "_context", "_files", "_gateway", "base")
    remote = True

    def __init__(self, gateway: Any, configuration: Any, base: str) -> None:
        self._gateway = gateway
        self._configuration = configuration
        self._context: Any = None
        self._classes: dict[str, Any] = {}
        with naming(base, "open"):
            self._files = self._class("org.apache.hadoop.fs.FileSystem").get(self._uri(base), configuration)
            self.base = f"{base}{self._files.getUri().getAuthority() or ''}" if base.endswith("://") else base

    def located(self, location: str) -> str:
        """The location with this storage's base, for one that left the authority to the configuration."""
        return f"{self.base}/{split_authority(location)[1]}"

    def list_from(self, directory: str, start_name: str) -> list[FileInfo]:
        """Files directly in the folder with names >= start_name, sorted by name."""
        with naming(directory):
            statuses = self._files.listStatus(self._path(directory))
            # An array of another class would be no argument for a method that takes an array of Writable.
            count = len(statuses)
            array = self._gateway.new_array(self._class("org.apache.hadoop.io.Writable"), count)
            self._class("java.lang.System").arraycopy(statuses, 0, array, 0, count)
            written = self._class("org.apache.hadoop.io.ArrayWritable")(array.getClass().getComponentType(), array)
            data = self._handed_over(directory, lambda output: self._write_out(written, output))
        return file_infos(data, directory, start_name)

    def read(self, path: str) -> bytes:
        """The whole file."""
        with naming(path), self._opened(path) as stream:
            data = bytes(stream.readNBytes(_SMALL_BYTES + 1))
            if len(data) <= _SMALL_BYTES:
                return data
            stream.seek(0)
            copy = self._class("org.apache.hadoop.io.IOUtils").copyBytes
            return self._handed_over(path, lambda output: copy(stream, output, _BUFFER_BYTES, False))

    def read_range(self, path: str, offset: int, length: int) -> bytes:
        """`length` bytes from `offset`; fewer where the file ends before."""
        check_range(path, offset, length)
        with naming(path), self._opened(path) as stream:
            return self._read_at(path, stream, offset, length)

    def read_joined(self, files: Sequence[FileInfo]) -> tuple[memoryview, list[int]]:
        """The whole files one after another, and where each starts."""
        return joined(read_side_by_side(self, [file.path for file in files], _THREADS))

    def open_input(self, path: str) -> pa.NativeFile:
        """The file for random access; the caller closes it."""
        size = self.size(path)
        with naming(path):
            stream = self._files.open(self._path(path))

        def read_at(offset: int, length: int) -> bytes:
            with naming(path):
                return self._read_at(path, stream, offset, length)

        return pa.PythonFile(RangeFile(size, read_at, stream.close), mode="r")

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder."""
        try:
            with naming(path):
                return bool(self._files.exists(self._path(path)))
        except (FileNotFoundError, NotADirectoryError):
            return False

    def size(self, path: str) -> int:
        """Size of the file in bytes."""
        with naming(path):
            status = self._files.getFileStatus(self._path(path))
            if status.isDirectory():
                raise not_found(path)
            return int(status.getLen())

    def put_if_absent(self, path: str, data: bytes) -> None:
        """Create the file: a synced temporary one beside it, renamed unless there is one of its name."""
        self._check_rename(path)
        with naming(path, "write"), self._written(path, lambda stream: self._send(stream, data)) as temporary:
            self._rename(temporary, path, "NONE")

    def put(self, path: str, data: bytes, durable: bool = True) -> None:
        """Write the file: a synced temporary one beside it, renamed over it."""
        self._check_rename(path)
        with naming(path, "write"), self._written(path, lambda stream: self._send(stream, data)) as temporary:
            self._rename(temporary, path, "OVERWRITE")

    def publish(self, path: str) -> AbstractContextManager[str]:
        """A local file to write, copied to a temporary one beside `path` and renamed unless there is one by then."""

        def send(file: str) -> None:
            self._check_rename(path)
            if self.exists(path):
                return
            with naming(path, "write"), self._written(path, lambda stream: self._send_file(stream, file)) as temporary:
                self._rename(temporary, path, "NONE")

        return _published(send)

    def delete(self, path: str) -> None:
        """Delete the file; that it is not there is no error."""
        with suppress(FileNotFoundError), naming(path, "delete"):
            self._files.delete(self._path(path), False)

    def _class(self, name: str) -> Any:
        """The Java class; by its full name, as py4j's `jvm.a.b` asks the JVM at every dot."""
        found = self._classes.get(name)
        if found is None:
            # Where there is a gateway, its module is loaded.
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
                raise StorageError(f"Hadoop has no file {location!r}: its name is no UTF-8; rename it.") from error
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
            with naming(path):
                stream.seek(offset)
                if length <= _SMALL_BYTES:
                    return bytes(stream.readNBytes(length))
                copy = self._class("org.apache.commons.io.IOUtils").copyLarge
                return self._handed_over(path, lambda output: copy(stream, output, 0, length))
        except EndOfFile:
            return b""

    def _handed_over(self, path: str, write: Callable[[Any], object]) -> bytes:
        """What `write` writes to an output stream in the JVM, by way of a local file."""
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
        """A stream of a local file in the JVM."""
        try:
            with naming(name):
                return self._class(kind)(name)
        except OSError as error:
            raise StorageError(
                f"The JVM of Spark cannot use the temporary file {name} on the way to {path} ({error}): run both as "
                f"one user on one machine, or let TMPDIR name a folder that both can write."
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
        """A synced file beside `path` under a name that every reader of the log passes over; gone after the block."""
        folder, _, name = path.rpartition("/")
        temporary = f"{folder}/.{name}.{uuid4()}.tmp"
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
            # What went wrong is to be told, not that tidying up after it went wrong, too.
            with suppress(OSError), naming(path, "write"):
                self._files.delete(self._path(temporary), False)
            kill_point("tidied")
            raise

    def _rename(self, temporary: str, path: str, option: str) -> None:
        self._check_view(path)
        options = self._array_of("org.apache.hadoop.fs.Options$Rename", lambda rename: getattr(rename, option))
        self._file_context().rename(self._path(temporary), self._path(path), options)
        kill_point("renamed")

    def _array_of(self, kind: str, value: Callable[[Any], Any]) -> Any:
        """An array of one value of a Java class, for a method that takes any number."""
        java_class = self._class(kind)
        array = self._gateway.new_array(java_class, 1)
        array[0] = value(java_class)
        return array

    def _file_context(self) -> Any:
        """The file system's other face, which renames without overwriting."""
        if self._context is None:
            own = self._class("org.apache.hadoop.conf.Configuration")(self._configuration)
            retries = own.getInt(_CLOSE_RETRIES, _USUAL_RETRIES)
            own.setInt(_CLOSE_DELAY, _CLOSE_DELAY_MS)
            own.setInt(_CLOSE_RETRIES, retries + _MORE_RETRIES)
            context = self._class("org.apache.hadoop.fs.FileContext")
            self._context = context.getFileContext(self._uri(self.base), own)
        return self._context

    def _check_rename(self, path: str) -> None:
        with naming(path, "write"):
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
            f"Cannot commit to {path}: {kind} is not known to rename a file only where there is none, so two writers "
            f"could overwrite each other; keep the table on HDFS, or on an object store that obstore serves."
        )


def session_storage(location: str) -> HadoopStorage | None:
    """The storage of the running classic Spark session that serves the location's scheme; None where there is none.

    pyspark is not imported: a session runs only where somebody else has done that.
    """
    context = getattr(getattr(sys.modules.get("pyspark"), "SparkContext", None), "_active_spark_context", None)
    java_context = getattr(context, "_jsc", None)
    if context is None or java_context is None:
        return None
    base, _ = split_authority(location)
    scheme = base.partition(":")[0]
    with naming(base, "open"):
        configuration = java_context.hadoopConfiguration()
        file_system = context._jvm.org.apache.hadoop.fs.FileSystem
        try:
            with naming(base, "open"):
                file_system.getFileSystemClass(scheme, configuration)
        except StorageError as error:
            if "No FileSystem for scheme" in str(error):
                return None
            raise
    return HadoopStorage(context._gateway, configuration, base)


@contextmanager
def _published(send: Callable[[str], None]) -> Iterator[str]:
    with suppress(FileExistsError), staged(send) as name:
        yield name
