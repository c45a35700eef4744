"""Distinct values of the partition columns of a table, shared by all batches of its files.

A table has few partitions and very many files. Each raw text gets one code; texts are parsed, and terms of a program
evaluated, once per code.
"""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import PartitionValueError, TimestampRange, parse_partition_value
from deltaskip.schema.arrow import arrow_type
from deltaskip.schema.arrow_values import arrow_array, arrow_scalar, numpy_values
from deltaskip.schema.types import BINARY, STRING, DataType

__all__ = ["PartitionColumn", "map_values", "readings"]


class PartitionColumn:
    """The distinct texts of one partition column with their codes. Grows with each batch; safe to share."""

    def __init__(self, type_: DataType) -> None:
        self.type = type_
        self.texts: list[str | None] = []
        self._codes: dict[str | None, int] = {}
        self._values: dict[str | None, list[Any]] = {}
        self._numbers: dict[str | None, pa.Int64Array | None] = {}
        self._lock = Lock()

    def encode(self, texts: pa.Array) -> pa.Array:
        """int32 codes of raw texts."""
        coded = texts.dictionary_encode(null_encoding="encode")
        with self._lock:
            known = [self._code(text) for text in coded.dictionary.to_pylist()]
        return arrow_array(np.array(known, np.int32)[numpy_values(coded.indices)])

    def values(self, zone: str | None, start: int = 0) -> list[Any]:
        """Value of each code from `start` on: in the value domain, a TimestampRange, or a PartitionValueError.

        zone: of timestamps without one; None if unknown.
        """
        found = self._values.setdefault(zone, [])
        with self._lock:
            for text in self.texts[len(found) :]:
                found.append(_parsed(text, self.type, zone))
        return found[start:]

    def numbers(self, zone: str | None) -> pa.Int64Array | None:
        """Value of each code of an integral, date or timestamp column; None if one of them is not a single value."""
        values = self.values(zone)
        numbers = self._numbers.get(zone, pa.nulls(0, pa.int64()))
        if numbers is None or len(numbers) == len(values):
            return numbers
        news = values[len(numbers) :]
        odd = any(isinstance(value, PartitionValueError | TimestampRange) for value in news)
        numbers = None if odd else pa.concat_arrays([numbers, arrow_array(news, pa.int64())])
        self._numbers[zone] = numbers
        return numbers

    def typed(self, codes: pa.Array, zone: str) -> pa.Array:
        """The codes' values as an Arrow array of the column's type. Raises PartitionValueError."""
        values = self.values(zone)
        used = np.zeros(len(values), bool)
        used[numpy_values(codes)] = True
        for position in np.flatnonzero(used).tolist():
            if isinstance(values[position], PartitionValueError):
                raise values[position]
        return self._dictionary(zone, len(values)).take(codes)

    def _code(self, text: str | None) -> int:
        code = self._codes.get(text)
        if code is None:
            code = self._codes[text] = len(self.texts)
            self.texts.append(text)
        return code

    def _dictionary(self, zone: str, length: int) -> pa.Array:
        values = [None if isinstance(v, PartitionValueError) else v for v in self.values(zone)[:length]]
        target = arrow_type(self.type)
        if pa.types.is_date32(target):
            return arrow_array(values, pa.int32()).view(target)
        if pa.types.is_timestamp(target):
            return arrow_array(values, pa.int64()).view(target)
        return arrow_array(values, target)


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


def _parsed(text: str | None, type_: DataType, zone: str | None) -> Any:
    try:
        return parse_partition_value(text, type_, zone)
    except PartitionValueError as error:
        return error
