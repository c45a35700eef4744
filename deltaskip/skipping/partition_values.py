"""Distinct values of the partition columns of a table, shared by all batches of its files.

A table has fewer partitions than files. Each raw text gets one code; texts are read, and terms of a program evaluated,
once for each code.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import PartitionValueError, TimestampRange
from deltaskip.schema.arrow_values import arrow_array, arrow_scalar, numpy_values
from deltaskip.schema.types import BINARY, DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType
from deltaskip.skipping.partition_texts import PartitionValues, read_text, read_values

__all__ = ["PartitionColumn", "map_values", "readings"]


class PartitionColumn:
    """The distinct texts of one partition column with their codes. Grows with each batch; safe to share.

    Texts are read by column, once for each time zone.
    """

    def __init__(self, type_: DataType) -> None:
        self.type = type_
        self.texts: list[str | None] = []
        self._codes: dict[str | None, int] = {}
        self._read: dict[str | None, PartitionValues] = {}
        self._values: dict[str | None, list[Any]] = {}
        self._lock = Lock()

    def encode(self, texts: pa.Array) -> pa.Array:
        """int32 codes of raw texts."""
        coded = texts.dictionary_encode(null_encoding="encode")
        with self._lock:
            known = [self._code(text) for text in coded.dictionary.to_pylist()]
        return arrow_array(np.array(known, np.int32)[numpy_values(coded.indices)])

    def read(self, zone: str | None) -> PartitionValues:
        """The value of each code.

        zone: of timestamps without one; None if unknown.
        """
        with self._lock:
            known = self._read.get(zone)
            if known is None or len(known.array) < len(self.texts):
                news = read_values(self.texts[0 if known is None else len(known.array) :], self.type, zone)
                known = self._read[zone] = news if known is None else known.extended(news)
            return known

    def ordered(self, zone: str | None) -> pa.Array:
        """The value of each code, of which two are the same in Arrow if they are equal in Spark; zone as in `read`."""
        return self.read(zone).ordered(self.type)

    def values(self, zone: str | None) -> list[Any]:
        """Value of each code: in the value domain, a TimestampRange, or a PartitionValueError; zone as in `read`."""
        read = self.read(zone)
        with self._lock:
            found = self._values.setdefault(zone, [])
            start = len(found)
            found += _domain_values(read.array[start:], self.type)
            for code in (np.flatnonzero(read.odd[start:]) + start).tolist():
                found[code] = read_text(self.texts[code], self.type, zone)
        return found

    def typed(self, codes: pa.Array, zone: str) -> pa.Array:
        """The codes' values as an Arrow array of the column's type. Raises PartitionValueError."""
        read = self.read(zone)
        used = np.zeros(len(read.array), bool)
        used[numpy_values(codes)] = True
        for code in np.flatnonzero(used & read.odd).tolist():
            value = read_text(self.texts[code], self.type, zone)
            if isinstance(value, PartitionValueError):
                raise value
        return read.array.take(codes)

    def _code(self, text: str | None) -> int:
        code = self._codes.get(text)
        if code is None:
            code = self._codes[text] = len(self.texts)
            self.texts.append(text)
        return code


def readings(value: Any, text: str | None, type_: DataType) -> tuple[Any, ...] | None:
    """The values that a partition value may represent when pruning; None if that is unknown.

    "" is NULL by the protocol and the empty string to delta-spark: a string column is read both ways. Writers escape
    bytes differently, so of a binary value only NULL is certain.
    """
    if text == "" and type_ == STRING:
        return ("", None)
    if isinstance(value, PartitionValueError | TimestampRange) or (text is not None and type_ == BINARY):
        return None
    return (value,)


def map_values(partition_values: pa.Array, key: str) -> pa.Array:
    """The text for `key` in each map (MapArray of string to string); null if the key or its value is missing."""
    n = len(partition_values)
    wanted = arrow_scalar(key, partition_values.type.key_type)
    keys, items = partition_values.keys, partition_values.items
    offsets = partition_values.offsets
    first = offsets[0].as_py() if n else 0
    total = (offsets[n].as_py() if n else 0) - first
    width = total // n if n else 0
    if n and partition_values.null_count == 0 and width * n == total and width:
        # The common layout: every map has the same keys in the same order, so each key is a stride of the children.
        if not np.all(np.diff(numpy_values(offsets)) == width):
            width = 0
        for position in range(width):
            strided = _strided(keys, first + position, width, n)
            if pc.all(pc.equal(strided, wanted)).as_py():
                return _strided(items, first + position, width, n)
    return pc.map_lookup(partition_values, wanted, "first")


def _strided(values: pa.Array, start: int, step: int, count: int) -> pa.Array:
    if step == 1:
        return values.slice(start, count)
    return values.take(arrow_array(np.arange(start, start + step * count, step, dtype=np.int64)))


def _domain_values(array: pa.Array, type_: DataType) -> list[Any]:
    """The values in the value domain, in which times are integers."""
    if type_ == DATE:
        array = array.view(pa.int32())
    elif type_ in (TIMESTAMP, TIMESTAMP_NTZ):
        array = array.view(pa.int64())
    found: list[Any] = array.to_pylist()
    return found
