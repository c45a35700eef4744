"""Paths of data files in the two forms that Spark uses for one file.

Hadoop's `Path(String)` does not decode, so paths are passed in decoded. `_metadata.file_path` is `Path.toUri`: encoded,
but not as in RFC 3986.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from urllib.parse import unquote

from deltaskip.errors import UnsupportedFeature

_LOCAL = re.compile(r"file:(?://(?:localhost)?)?(?=/)", re.IGNORECASE)
_AUTHORITY = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:(?://[^/]*)?")
# java.net.URI: unreserved, "@", ":", "&", "=", "+", "$", ",", ";" and "/" are not escaped in a path.
_PLAIN = re.compile(r"[A-Za-z0-9_\-!.~'()*:@&=+$,;/]*")
_GLOB = re.compile(r"[{}\[\]*?\\]")
_SPACES = frozenset(("Zs", "Zl", "Zp"))


def spark_path(uri: str) -> str:
    """The path in Hadoop of an absolute, RFC 3986 encoded URI: decoded, for local files `file:/…`."""
    return unquote(_LOCAL.sub("file:", uri, count=1), errors="strict")


def metadata_path(path: str) -> str:
    """The `_metadata.file_path` of a file that was read as `path` (java.net.URI's quoting of a decoded path)."""
    authority = _AUTHORITY.match(path)
    start = authority.end() if authority is not None else 0
    if _PLAIN.fullmatch(path, start):
        return path
    return path[:start] + "".join(map(_quoted, path[start:]))


def needs_own_scan(path: str) -> bool:
    """Whether the file can be read only by a separate scan, unescaped and with __globPaths__=false.

    Hadoop's globbing parses a path segment with a colon as a URI. And without globbing Spark
    (4.1, DataSource.checkAndGlobPathIfNecessary) replaces every path that looks like a pattern by *all* paths of the
    scan, which duplicates rows unless it is the only path.
    """
    authority = _AUTHORITY.match(path)
    return ":" in path[authority.end() if authority is not None else 0 :] and _GLOB.search(path) is not None


def is_hidden(path: str) -> bool:
    """Whether Spark skips the file although its path is given (HadoopFSUtils.shouldFilterOutPathName)."""
    name = path.rpartition("/")[2]
    if name.startswith(("_common_metadata", "_metadata")):
        return False
    return name.startswith(".") or name.endswith("._COPYING_") or (name.startswith("_") and "=" not in name)


def check_not_hidden(paths: Iterable[str], table_root: str) -> None:
    """Raise UnsupportedFeature for the first of these paths that Spark skips."""
    hidden = next(filter(is_hidden, paths), None)
    if hidden is not None:
        raise UnsupportedFeature(
            f"Spark skips the data file {hidden} of {table_root} because its name marks it as hidden; rewrite it under "
            f"another name."
        )


def is_local(path: str) -> bool:
    """Whether a spark_path is on this machine's file system."""
    return path.startswith("file:")


def local_name(path: str) -> bytes:
    """The name in the file system of a local spark_path."""
    return path.removeprefix("file:").encode()


def _quoted(character: str) -> str:
    if character < "\x80":
        plain = _PLAIN.fullmatch(character) is not None
    else:
        plain = character > "\x9f" and unicodedata.category(character) not in _SPACES
    return character if plain else "".join(f"%{octet:02X}" for octet in character.encode())
