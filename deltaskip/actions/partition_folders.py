"""Names of partition folders, as in Hive and Spark.

# PROTOCOL, Data Files: "data files can be stored in the root directory of the table or in any non-hidden subdirectory"
The names are only a convention: readers use the partition values in the log.
"""

from __future__ import annotations

import hashlib
import secrets
import string
from collections.abc import Iterable, Iterator, Sequence

from deltaskip.actions.partition_values import Value, serialize_partition_value
from deltaskip.lazy_regex import regex
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.types import TIMESTAMP, DataType, MappingMode, StructField
from deltaskip.sparkexpr.values.calendar import format_timestamp, local_of, zone_of

HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
"""The value for null in the name of a folder."""

# Spark 4.1, ExternalCatalogUtils.charToEscape, and NUL, which no file system accepts.
_HIVE_ESCAPED = {ord(c): f"%{ord(c):02X}" for c in [*map(chr, range(0x20)), *"\"#%'*/:=?\\\x7f{[]^"]}
# The greatest length of a file name on common file systems, in bytes.
_LONGEST_NAME = 255
_HIVE_ESCAPE = regex("%([0-9A-Fa-f]{2})")
_ALPHANUMERIC = string.ascii_letters + string.digits


def hive_folder(name: str, text: str | None) -> str:
    """Return the folder `name=text`, with the characters that Hive escapes as `%XX`; null and "" are HIVE_NULL.

    A name that is too long for file systems is truncated and ends in a digest; the value is in the log.
    """
    folder = f"{name.translate(_HIVE_ESCAPED)}={text.translate(_HIVE_ESCAPED) if text else HIVE_NULL}"
    raw = folder.encode("utf-8", "surrogatepass")
    if len(raw) <= _LONGEST_NAME:
        return folder
    digest = hashlib.sha256(raw).hexdigest()[:32]
    return f"{raw[: _LONGEST_NAME - 33].decode('utf-8', 'ignore')}-{digest}"


def folder_pairs(folders: Iterable[str]) -> Iterator[tuple[str, str | None]]:
    """Yield the unescaped name and value of each folder `name=value`; the value is None for HIVE_NULL."""
    for folder in folders:
        name, equals, value = folder.partition("=")
        if name and equals:
            yield _unescaped(name), None if value == HIVE_NULL else _unescaped(value)


def _unescaped(text: str) -> str:
    """A name or value of a folder with `%XX` decoded; a `%` without two hexadecimal digits is kept."""
    return _HIVE_ESCAPE.sub(lambda found: chr(int(found[1], 16)), text) if "%" in text else text


def partition_folder(columns: Sequence[StructField], values: Sequence[Value], time_zone: str = "UTC") -> str:
    """Return the folder of a partition relative to the table's root, in Hive's layout: `day=2024-01-01/p=a%2Fb`.

    It is a path in the file system; `encode_path` converts it to a path in the log.

    Args:
        columns: The partition columns, in order.
        values: The partition's value of each column.
        time_zone: The time zone in which timestamps are written. Spark uses the session's time zone.

    Raises:
        PartitionValueError: A value cannot be written as text.
    """
    named = zip(columns, values, strict=True)
    return "/".join(hive_folder(column.name, _folder_text(value, column.type, time_zone)) for column, value in named)


def random_folder(length: int) -> str:
    """Return a random folder name of `length` letters and digits, for tables whose paths hide partition values.

    # PROTOCOL, Column Mapping: physical names and random prefixes keep paths free of logical names.
    """
    return "".join(secrets.choice(_ALPHANUMERIC) for _ in range(length))


def random_prefix(properties: TableProperties, mapping_mode: MappingMode) -> int | None:
    """Return the length of random folder names for a table's new files; None if the table has partition folders.

    As in delta-spark, a table has random folders if it has column mapping or if its property requests them.
    """
    if mapping_mode == "none" and not properties.randomize_file_prefixes:
        return None
    return properties.random_prefix_length


def _folder_text(value: Value, data_type: DataType, time_zone: str) -> str | None:
    if data_type == TIMESTAMP and isinstance(value, int):
        return format_timestamp(local_of(value, zone_of(time_zone)))
    return serialize_partition_value(value, data_type)
