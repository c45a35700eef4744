"""Locations: the names of files and directories in a storage.

A location is plain text without percent-encoding: an absolute path (`/data/my events`) in the local file system, else
`scheme://authority/key`. Paths of the log are URI references, which `actions.hadoop_path` converts to locations.
"""

import os
from urllib.parse import quote, unquote

from deltaskip.errors import StorageError
from deltaskip.lazy_regex import regex
from deltaskip.path_bytes import absolute_path, encoded, normal_path

LOG_FOLDER = "_delta_log"
"""The folder of a table's log."""

HADOOP_SCHEMES = frozenset(("hdfs", "viewfs", "webhdfs", "swebhdfs"))
"""Schemes that are read through the running Spark session; pyarrow can read some of them through libhdfs."""

# At least two letters, so `C:/x` has no scheme, and a `/` after it, so `time=03:06` and `a:b.parquet` have none.
_SCHEME = regex(r"([A-Za-z][A-Za-z0-9+.\-]+):/")
_PATH_SAFE = "/:@!$&'()*+,;=~-._"


def parse_location(table: str | os.PathLike[str]) -> str:
    """Return the location of a path (relative to the working directory), a `file:` URI or a remote URI.

    `file:` URIs are percent-decoded. Remote URIs are unchanged, since object keys may contain any character. Raises
    StorageError for a file of another host, and for a scheme without anything after it.
    """
    text = os.fspath(table)
    scheme = scheme_of(text)
    if scheme is None:
        return absolute_path(text)
    if scheme == "file":
        return normal_path(_local_path(text))
    location = text.rstrip("/")
    if location.endswith(":"):
        raise StorageError(f"{text} names no folder: write {scheme}://, and after it the bucket or host and a path.")
    return location


def scheme_of(text: str) -> str | None:
    """Return the lower-case scheme of an absolute URI, or None for a path."""
    found = _SCHEME.match(text)
    return found.group(1).lower() if found else None


def is_local(location: str) -> bool:
    """Whether the location is in the local file system."""
    return scheme_of(location) is None


def split_authority(location: str) -> tuple[str, str]:
    """Split a remote location into `scheme://authority` and the key below it, without leading slash."""
    scheme, _, rest = location.partition("://")
    if not rest:
        scheme, _, rest = location.partition(":")
        rest = rest.lstrip("/")
        return f"{scheme}://", rest
    authority, _, key = rest.partition("/")
    return f"{scheme}://{authority}", key


def join(location: str, *names: str) -> str:
    """Return the location of `names` below `location`. The names are plain text."""
    return "/".join([location.rstrip("/"), *names])


def parent(location: str) -> str:
    """Return the location one level up, or the location itself at the top."""
    if is_local(location):
        return os.path.dirname(location)
    base, key = split_authority(location)
    above = key.rpartition("/")[0]
    return f"{base}/{above}" if above else base


def uri_of(location: str) -> str:
    """Return the absolute RFC 3986 URI of a location, percent-encoded."""
    if is_local(location):
        return "file://" + quote(encoded(location), safe=_PATH_SAFE)
    base, key = split_authority(location)
    return f"{base}/{quote(key, safe=_PATH_SAFE)}" if key else base


def address_of(location: str) -> str:
    """Return the text that names a location to `parse_location`: a URI, whose key is not encoded in object stores."""
    return uri_of(location) if is_local(location) else location


def _local_path(uri: str) -> str:
    rest = uri.partition(":")[2]
    if rest.startswith("//"):
        host, _, path = rest[2:].partition("/")
        if host.lower() not in ("", "localhost"):
            raise StorageError(f"{uri} names a file of the host {host}: write file:///PATH for one of this machine.")
        rest = "/" + path
    return _decode(rest)


def _decode(text: str) -> str:
    """Percent-decode `text` once. Bytes that are not UTF-8 become surrogate escapes, as in names of local files."""
    return unquote(text, errors="surrogateescape") if "%" in text else text
