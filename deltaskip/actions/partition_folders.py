"""Folders of partitions: the names that Hive and Spark give them, and their form in the log.

# PROTOCOL, Data Files: "data files can be stored in the root directory of the table or in any non-hidden subdirectory"
The names are a convention only: readers take partition values from the log.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import string
import unicodedata
from collections.abc import Sequence

import pyarrow as pa

from deltaskip.actions.partition_values import PartitionValueError, Value, serialize_partition_value
from deltaskip.schema.arrow_values import arrow_array, domain_values, one_chunk
from deltaskip.schema.calendar import format_timestamp, local_of, zone_of
from deltaskip.schema.properties import MappingMode, TableProperties
from deltaskip.schema.types import TIMESTAMP, DataType, StructField
from deltaskip.storage import is_local, split_authority

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
"""The value in a folder's name that stands for null."""

# Spark 4.1, ExternalCatalogUtils.charToEscape, and NUL, which no file system accepts.
_HIVE_ESCAPED = {ord(c): f"%{ord(c):02X}" for c in [*map(chr, range(0x20)), *"\"#%'*/:=?\\\x7f{[]^"]}
# Characters of a path that java.net.URI leaves as they are, of those in ASCII.
_URI_PLAIN = frozenset(string.ascii_letters + string.digits + "_-!.~'()*;:@&=+$,/")
# The longest name of a file on common file systems, in bytes.
_LONGEST_NAME = 255
_HIVE_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
_ALPHANUMERIC = string.ascii_letters + string.digits


def partition_texts(values: pa.Array | pa.ChunkedArray, data_type: DataType) -> pa.Array:
    """Return the log's text of each partition value, a string array; null for null and for the empty string.

    Args:
        values: The values, of arrow_type(data_type).
        data_type: The type of the partition column.

    Raises:
        PartitionValueError: The log has no text for a value, or the type cannot partition a table.
    """
    encoded = one_chunk(values).dictionary_encode()
    texts = [serialize_partition_value(value, data_type) for value in domain_values(encoded.dictionary)]
    return arrow_array(texts, pa.string()).take(encoded.indices)


def hive_folder(name: str, text: str | None) -> str:
    """Return the folder `name=text`, with the characters that Hive escapes as `%XX`; null and "" are HIVE_NULL.

    A name longer than a file system accepts ends in a digest, as the value is in the log.
    """
    folder = f"{name.translate(_HIVE_ESCAPED)}={text.translate(_HIVE_ESCAPED) if text else HIVE_NULL}"
    raw = folder.encode("utf-8", "surrogatepass")
    if len(raw) <= _LONGEST_NAME:
        return folder
    digest = hashlib.sha256(raw).hexdigest()[:32]
    return f"{raw[: _LONGEST_NAME - 33].decode('utf-8', 'ignore')}-{digest}"


def hive_unescaped(text: str) -> str:
    """Return a name or value of a folder without escapes; a lone `%` stands for itself."""
    return _HIVE_ESCAPE.sub(lambda found: chr(int(found[1], 16)), text) if "%" in text else text


def partition_folder(columns: Sequence[StructField], values: Sequence[Value], time_zone: str = "UTC") -> str:
    """Return the folder of a partition below the table's root, in Hive's layout: `day=2024-01-01/p=a%2Fb`.

    It is a path of the file system; `encode_path` returns its form in the log.

    Args:
        columns: The partition columns, in order.
        values: The partition's value of each column.
        time_zone: The time zone in which timestamps are written, as Spark writes them in the session's.

    Raises:
        PartitionValueError: A value has no text.
    """
    named = zip(columns, values, strict=True)
    return "/".join(hive_folder(column.name, _folder_text(value, column.type, time_zone)) for column, value in named)


def random_folder(length: int) -> str:
    """Return a random folder of `length` letters and digits, for tables whose paths must not show partition values.

    # PROTOCOL, Column Mapping: physical names and random prefixes keep paths free of logical names.
    """
    return "".join(secrets.choice(_ALPHANUMERIC) for _ in range(length))


def random_prefix(properties: TableProperties, mapping_mode: MappingMode) -> int | None:
    """Return the length of the random folders of a table's new files; None if it has folders of partitions.

    As delta-spark decides it: tables with column mapping have random folders, and those that ask for them.
    """
    if mapping_mode == "none" and not properties.randomize_file_prefixes:
        return None
    return properties.random_prefix_length


def encode_path(path: str) -> str:
    """Return the relative path of a file as the URI in the log, with the characters that java.net.URI quotes as `%XX`.

    A colon in the first segment is quoted, too: before it would be a scheme (RFC 3986, 4.2). Letters of other scripts
    stay as they are. `decode_path` returns `path` for it.
    """
    first, slash, rest = path.partition("/")
    return _quoted(first).replace(":", "%3A") + slash + _quoted(rest)


def _quoted(path: str) -> str:
    """The path with the characters that java.net.URI quotes as `%XX`."""
    if path.isascii() and _URI_PLAIN.issuperset(path):
        return path
    return "".join(c if _is_plain(c) else "".join(f"%{byte:02X}" for byte in _utf8(c)) for c in path)


def encode_location(location: str) -> str:
    """Return the location of a file in its storage as the absolute URI that the log has: `file:/data/a%20b`.

    It is spelled as Hadoop spells it, with one slash and letters of other scripts as they are: delta-spark compares the
    text with that of the files that it has read.
    """
    if is_local(location):
        return f"file:{_quoted(location)}"
    base, key = split_authority(location)
    return f"{base}/{_quoted(key)}"


def _folder_text(value: Value, data_type: DataType, time_zone: str) -> str | None:
    if data_type == TIMESTAMP and isinstance(value, int):
        return format_timestamp(local_of(value, zone_of(time_zone)))
    return serialize_partition_value(value, data_type)


def _is_plain(character: str) -> bool:
    """Whether a URI may contain the character: plain ASCII, or another one that is neither a blank nor a control."""
    if character <= "\x7f":
        return character in _URI_PLAIN
    return unicodedata.category(character) not in ("Cc", "Zs", "Zl", "Zp", "Cs")


def _utf8(character: str) -> bytes:
    try:
        return character.encode()
    except UnicodeEncodeError as error:
        raise PartitionValueError(f"{character!r} is not valid Unicode text") from error
