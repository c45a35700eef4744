"""Locations: how storage names a file or folder.

A location is plain text, never percent-encoded: an absolute path (`/data/my events`) for the local file system, else
`scheme://authority/key`. Paths of the log are URI references; `actions.hadoop_path` makes a location of them.
"""

import os
import re
from urllib.parse import quote, unquote

__all__ = [
    "is_local",
    "join",
    "parent",
    "parse_location",
    "scheme_of",
    "split_authority",
    "uri_of",
]

# Two letters at least, so that `C:/x` is no scheme; `/` must follow, so that `time=03:06` and `a:b.parquet` are none.
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):/")
_PATH_SAFE = "/:@!$&'()*+,;=~-._"


def parse_location(table: str | os.PathLike[str]) -> str:
    """The location of what a user typed: a path (relative to the working directory), a `file:` URI or a remote URI.

    `file:` URIs are percent-decoded; remote URIs are taken as they stand, as object keys may hold any character.
    """
    text = os.fspath(table)
    scheme = scheme_of(text)
    if scheme is None:
        return os.path.abspath(os.path.expanduser(text))
    if scheme == "file":
        return os.path.normpath(_local_path(text))
    return text.rstrip("/")


def scheme_of(text: str) -> str | None:
    """The lower-case scheme of an absolute URI; None for a path."""
    found = _SCHEME.match(text)
    return found.group(1).lower() if found else None


def is_local(location: str) -> bool:
    """Whether the location lies in the local file system."""
    return scheme_of(location) is None


def split_authority(location: str) -> tuple[str, str]:
    """`scheme://authority` and the key below it, without leading slash, of a remote location."""
    scheme, _, rest = location.partition("://")
    if not rest:
        scheme, _, rest = location.partition(":")
        rest = rest.lstrip("/")
        return f"{scheme}://", rest
    authority, _, key = rest.partition("/")
    return f"{scheme}://{authority}", key


def join(location: str, *names: str) -> str:
    """The location of `names` below `location`; the names are plain text."""
    return "/".join([location.rstrip("/"), *names])


def parent(location: str) -> str:
    """The location one level up; itself at the top."""
    if is_local(location):
        return os.path.dirname(location)
    base, key = split_authority(location)
    above = key.rpartition("/")[0]
    return f"{base}/{above}" if above else base


def uri_of(location: str) -> str:
    """The absolute RFC 3986 URI of a location, percent-encoded."""
    if is_local(location):
        return "file://" + quote(os.fsencode(location), safe=_PATH_SAFE)
    base, key = split_authority(location)
    return f"{base}/{quote(key, safe=_PATH_SAFE)}" if key else base


def _local_path(uri: str) -> str:
    rest = uri.partition(":")[2]
    if rest.startswith("//"):
        rest = "/" + rest[2:].partition("/")[2]
    return _decode(rest)


def _decode(text: str) -> str:
    """`text` percent-decoded once; bytes that are not UTF-8 become surrogate escapes, as the file system's names do."""
    return unquote(text, errors="surrogateescape") if "%" in text else text
