"""Names of local files: bytes in UTF-8, whatever encoding the process has for names.

The log of a table and all its other readers name files in UTF-8. Python encodes names as the locale says: in a process
with another encoding, such as LC_ALL=de_DE, a name would lead to another file. So this package passes bytes to system
calls (see `test_architecture.py`).
"""

import os
import re


def encoded(path: str) -> bytes:
    """Return the name of a file for system calls. Raises UnicodeEncodeError for an unpaired surrogate.

    Surrogate escapes (PEP 383) stand for bytes that are not UTF-8.
    """
    return path.encode("utf-8", "surrogateescape")


def decoded(path: bytes) -> str:
    """Return a name that a system call returned."""
    return path.decode("utf-8", "surrogateescape")


def of_process(path: str) -> str:
    """Return a name that Python has decoded, such as of a temporary file."""
    return decoded(os.fsencode(path))


def absolute_path(path: str) -> str:
    """Return a path without `~` and `..`, relative to the working directory."""
    return normal_path(decoded(os.path.abspath(os.path.expanduser(encoded(path)))))


def normal_path(path: str) -> str:
    """Return an absolute path without `..`, and with one slash at the start.

    POSIX lets two slashes there have a meaning of their own, and Python keeps them; to Hadoop they begin a host.
    """
    return re.sub("^//+", "/", os.path.normpath(path))


def working_directory() -> str | None:
    """Return the working directory; None if it was deleted, as that of a daemon may be."""
    try:
        return absolute_path(".")
    except FileNotFoundError:
        return None


def real_path(path: str) -> str:
    """Return an absolute path without links."""
    return decoded(os.path.realpath(encoded(path)))
