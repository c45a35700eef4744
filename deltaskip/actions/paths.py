"""Paths in the log: encoding, decoding (exactly once), canonical keys and absolute URIs.

# PROTOCOL, Add File: "The path is a URI as specified by RFC 2396 URI Generic Syntax, which needs to be decoded to get
# the data file path."
Writers do not always encode paths: text that is invalid in a URI (a space, a colon in the first segment, a lone percent
sign) is literal.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions.partition_values import PartitionValueError
from deltaskip.kernels.paths import all_plain, prefixed
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, is_true, one_chunk
from deltaskip.storage import is_local, split_authority

# Only `scheme:/` starts an absolute URI: `time=2021-01-01 00:00:00/f.parquet` and `a:b/f.parquet` are relative.
_URI = regex(r"([A-Za-z][A-Za-z0-9+.\-]*):(?=/)(?://([^/]*))?(.*)", re.DOTALL)
_GLOB = regex(r"[{}\[\]*?\\]")
_LOCAL = regex(r"file:(?://(?:localhost)?)?(?=/)", re.IGNORECASE)
_LOCAL_AUTHORITIES = ("", "localhost")
# These schemes name the same bucket.
S3_SCHEMES = ("s3", "s3a", "s3n")

# The ASCII characters of a path that java.net.URI does not quote.
_URI_PLAIN = frozenset(string.ascii_letters + string.digits + "_-!.~'()*;:@&=+$,/")
# RFC 3986, pchar and "/".
_PATH_SAFE = "/!$&'()*+,;=:@~"
# A path that does not match is already decoded and canonical.
_ODD = r"%|//|:|^/|(^|/)\.\.?(/|$)"


def decode_path(raw: str) -> str:
    """Percent-decode a logged path once. Raises ValueError if its octets are not UTF-8."""
    if "%" not in raw:
        return raw
    try:
        return unquote(raw, errors="strict")
    except UnicodeDecodeError as error:
        raise ValueError(f"the path {raw!r} does not decode to UTF-8") from error


def encode_path(path: str) -> str:
    """Return the relative path of a file as a URI for the log, with the characters that java.net.URI quotes as `%XX`.

    A colon in the first segment is also quoted, because the text before it would be a scheme (RFC 3986, 4.2).
    `decode_path` converts the result back to `path`.

    Letters beyond ASCII are unchanged, as in delta-spark: its VACUUM (4.4) compares texts, and deletes the file of
    `p=%C3%A9/f` in the folder `p=é` although the log has it.
    """
    first, slash, rest = path.partition("/")
    return _quoted(first).replace(":", "%3A") + slash + _quoted(rest)


def _quoted(path: str) -> str:
    """The path with the characters that java.net.URI quotes as `%XX`."""
    if path.isascii() and _URI_PLAIN.issuperset(path):
        return path
    return "".join(c if _is_plain(c) else "".join(f"%{byte:02X}" for byte in _utf8(c)) for c in path)


def encode_location(location: str) -> str:
    """Return the location of a file in its storage as an absolute URI for the log: `file:/data/a%20b`.

    It has Hadoop's spelling, with one slash and unquoted letters beyond ASCII: delta-spark compares the string with the
    paths of files that it has read.
    """
    if is_local(location):
        return f"file:{_quoted(location)}"
    base, key = split_authority(location)
    return f"{base}/{_quoted(key)}"


def encode_locations(locations: pa.Array) -> pa.Array:
    """Apply encode_location to each value of a string array, unless it is a URI with no character to quote."""
    return _changed(
        locations, pc.match_substring_regex(locations, r"^/|[^A-Za-z0-9_\-!.~'()*;:@&=+$,/]"), encode_location
    )


def canonical_path(raw: str) -> str:
    """Return the key of the data file, which is equal for all spellings of its path. It is not a path to open.

    As in delta-spark, `.`, `..` and repeated slashes are resolved, and `/x`, `file:/x` and `file:///x` are equal; other
    schemes keep scheme and authority. Unlike in delta-spark, which compares undecoded paths, `%41` and `A` are equal,
    because by the protocol the decoded path names the file. Raises ValueError like decode_path.
    """
    scheme, authority, path = _split(raw)
    path = _normalized(decode_path(path))
    if scheme is None and not path.startswith("/"):
        # A decoded colon must not turn a relative path into the absolute key of another path.
        return f"./{path}" if _URI.match(path) else path
    if scheme is None or _is_local(scheme, authority):
        return f"file:{path}"
    return f"{scheme}://{authority}{path}"


def relative_path(table_root_uri: str, raw: str) -> str | None:
    """Return the decoded path, relative to the table's root, of an absolute logged path; None for any other path.

    A path that leaves the table by `..` counts as absolute, because it may lead back into the table.
    """
    scheme, _, path = _split(raw)
    if scheme is None and not path.startswith("/") and not canonical_path(raw).startswith("../"):
        return None
    scheme, authority, path = _located(table_root_uri, raw)
    root_scheme, root_authority, root = _located(table_root_uri, ".")
    same = _store(scheme) == _store(root_scheme) and (authority == root_authority or _is_local(scheme, authority))
    return path[len(root) + 1 :] if same and path.startswith(f"{root}/") else None


@lru_cache(1 << 12)
def table_key(table_root_uri: str, raw: str) -> str:
    """Return the key of a data file, which is equal for its relative and its absolute path in the table."""
    below = relative_path(table_root_uri, raw)
    if below is None:
        return canonical_path(raw)
    return f"./{below}" if _URI.match(below) else below


def absolute_uri(table_root_uri: str, raw: str) -> str:
    """Return the data file's absolute URI, percent-encoded by RFC 3986; local files are `file:///…`.

    `table_root_uri` is a URI or an absolute local path, which is literal. A path that starts with a slash is on the
    table's file system. Raises ValueError like decode_path, and for a relative root.
    """
    scheme, authority, path = _located(table_root_uri, raw)
    encoded = quote(path, safe=_PATH_SAFE)
    return f"file://{encoded}" if _is_local(scheme, authority) else f"{scheme}://{authority}{encoded}"


def hadoop_path(table_root_uri: str, raw: str) -> str:
    """Return the data file's path for Spark's reader: decoded, and without a scheme for local files.

    Hadoop's Path(String) does not decode: the path must not be encoded. Raises ValueError like decode_path.
    """
    scheme, authority, path = _located(table_root_uri, raw)
    return path if _is_local(scheme, authority) else f"{scheme}://{authority}{path}"


def spark_path(uri: str) -> str:
    """Return the decoded Hadoop path of an absolute URI that is encoded by RFC 3986; local files are `file:/…`."""
    return unquote(_LOCAL.sub("file:", uri, count=1), errors="strict")


def is_local_path(path: str) -> bool:
    """Return whether a spark_path is on this machine's file system."""
    return path.startswith("file:")


def decode_paths(raw: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Apply decode_path to each value of a string array."""
    raw = one_chunk(raw)
    return raw if all_plain(raw) else _changed(raw, pc.match_substring(raw, "%"), decode_path)


def canonical_paths(raw: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Apply canonical_path to each value of a string array."""
    raw = one_chunk(raw)
    return raw if all_plain(raw) else _changed(raw, pc.match_substring_regex(raw, _ODD), canonical_path)


def table_keys(table_root_uri: str, raw: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Apply table_key to each value of a string array."""
    raw = one_chunk(raw)
    if all_plain(raw):
        return raw
    return _changed(raw, pc.match_substring_regex(raw, _ODD), lambda path: table_key(table_root_uri, path))


def listed_keys(paths: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Return the table_key of each path of a listing, which is relative to the table's root and not encoded."""
    paths = one_chunk(paths)
    return _changed(paths, pc.match_substring_regex(paths, r"^[A-Za-z][A-Za-z0-9+.\-]*:/"), "./{}".format)


def absolute_uris(table_root_uri: str, raw: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Apply absolute_uri to each value of a string array."""
    raw = one_chunk(raw)
    if all_plain(raw):
        return prefixed(absolute_uri(table_root_uri, "x")[:-1].encode(), raw)
    plain = pc.match_substring_regex(raw, r"^[A-Za-z0-9_.=/\-]*$")
    odd = pc.or_(pc.invert(plain), pc.match_substring_regex(raw, _ODD))
    root = absolute_uri(table_root_uri, "x")[:-1]
    joined = pc.binary_join_element_wise(arrow_scalar(root, raw.type), raw, arrow_scalar("", raw.type)).cast(raw.type)
    replacements = [absolute_uri(table_root_uri, path) for path in raw.filter(odd).to_pylist()]
    return pc.replace_with_mask(joined, is_true(odd), arrow_array(replacements, raw.type))


def hadoop_paths(table_root_uri: str, raw: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Apply hadoop_path to each value of a string array."""
    raw = one_chunk(raw)
    if all_plain(raw):
        return prefixed(hadoop_path(table_root_uri, "x")[:-1].encode(), raw)
    return arrow_array([hadoop_path(table_root_uri, path) for path in raw.to_pylist()], pa.string())


def may_hold_globs(table_root_uri: str, raw: pa.Array) -> bool:
    """Whether a hadoop_path of the logged paths `raw` may contain a special character of Hadoop's glob patterns."""
    return _GLOB.search(hadoop_path(table_root_uri, "x")) is not None or not all_plain(one_chunk(raw))


def escape_globs(path: str) -> str:
    """Escape the special characters of Hadoop's glob patterns in a hadoop_path, for `spark.read.parquet`."""
    return _GLOB.sub(r"\\\g<0>", path)


def _split(raw: str) -> tuple[str | None, str, str]:
    uri = _URI.fullmatch(raw)
    if uri is None:
        return None, "", raw
    return uri[1].lower(), uri[2] or "", uri[3]


def _located(table_root_uri: str, raw: str) -> tuple[str, str, str]:
    scheme, authority, path = _split(raw)
    if scheme is not None:
        return scheme, authority, _normalized(decode_path(path))
    root_scheme, root_authority, root = _split(table_root_uri)
    if root_scheme is None and not root.startswith("/"):
        raise ValueError(f"the table root {table_root_uri!r} is neither a URI nor an absolute path")
    decoded = decode_path(path)
    if not decoded.startswith("/"):
        # A root without a scheme is a path, not a URI: it is not encoded.
        root = root if root_scheme is None else decode_path(root)
        decoded = f"{root}/{decoded}"
    return root_scheme or "file", root_authority, _normalized(decoded)


def _store(scheme: str) -> str:
    return "s3" if scheme in S3_SCHEMES else scheme


def _is_local(scheme: str, authority: str) -> bool:
    return scheme == "file" and authority in _LOCAL_AUTHORITIES


def _normalized(path: str) -> str:
    """Remove empty, `.` and resolvable `..` segments, like java.net.URI.normalize."""
    if "//" not in path and "/." not in path and not path.startswith("."):
        return path
    kept: list[str] = []
    for segment in path.split("/"):
        if segment == ".." and kept and kept[-1] != "..":
            kept.pop()
        elif segment not in ("", "."):
            kept.append(segment)
    return ("/" if path.startswith("/") else "") + "/".join(kept)


def _changed(raw: pa.Array, mask: pa.Array, change: Callable[[str], str]) -> pa.Array:
    odd = [change(path) for path in raw.filter(mask).to_pylist()]
    return pc.replace_with_mask(raw, is_true(mask), arrow_array(odd, raw.type)) if odd else raw


def _is_plain(character: str) -> bool:
    """Whether java.net.URI does not quote the character: plain ASCII, or beyond ASCII neither blank nor control."""
    if character <= "\x7f":
        return character in _URI_PLAIN
    return unicodedata.category(character) not in ("Cc", "Zs", "Zl", "Zp", "Cs")


def _utf8(character: str) -> bytes:
    try:
        return character.encode()
    except UnicodeEncodeError as error:
        raise PartitionValueError(f"{character!r} is not valid Unicode text") from error
