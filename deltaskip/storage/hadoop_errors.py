"""Conversion of the errors of py4j and Hadoop to those of this package."""

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import gettempdir
from typing import Any

from deltaskip.errors import DeltaSkipError, StorageError
from deltaskip.redaction import redacted
from deltaskip.storage.interface import file_exists, not_a_directory, not_found
from deltaskip.storage.remote_errors import first_line

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


class EndOfFile(StorageError):
    """A position is past the end of the file."""


@contextmanager
def naming(path: str, act: str = "read") -> Iterator[None]:
    """Convert errors of py4j to FileNotFound, FileExists, NotADirectory or StorageError, all with the location."""
    try:
        yield
    except DeltaSkipError:
        raise
    except ConnectionError as error:
        raise _gone(path, act, error) from error
    except OSError as error:
        raise StorageError(
            f"Cannot {act} {path} through temporary files in {gettempdir()}: {error.strerror or first_line(error)}; "
            f"set TMPDIR to another directory."
        ) from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("py4j", "pyspark"):
            raise
        java = _java_exception(error)
        if java is None:
            raise _gone(path, act, error) from error
        with naming(path, act):
            kind, message = _cause(java)
        raise _named(kind, message, path, act) from error


def _java_exception(error: Exception) -> Any:
    """The exception in the JVM. PySpark converts some of py4j's errors to its own, and keeps the origin."""
    origin = getattr(error, "_origin", error)
    # A JavaObject has every attribute.
    return getattr(origin, "java_exception", None) if isinstance(origin, Exception) else origin


def _cause(java: Any) -> tuple[str, str | None]:
    """Class and message of a Java exception; of the one inside if it only wraps another."""
    for _ in range(_MOST_CAUSES):
        kind, cause = java.getClass().getName(), java.getCause()
        if kind not in _WRAPPERS or cause is None:
            break
        java = cause
    return kind, java.getMessage()


def _gone(path: str, act: str, error: Exception) -> StorageError:
    return StorageError(
        f"Cannot {act} {path}: the JVM of Spark does not respond ({first_line(error)}); start a new Spark session and "
        f"open the table again."
    )


def _named(kind: str, message: str | None, path: str, act: str) -> OSError:
    lines = redacted(message or "").strip().splitlines()
    reason = lines[0].rstrip(".: ") if lines else kind
    match kind:
        case name if name in _NOT_FOUND:
            return not_found(path)
        case name if name in _TAKEN:
            return file_exists(path)
        case "org.apache.hadoop.fs.ParentNotDirectoryException":
            return not_a_directory(path)
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
