"""Partition columns in a predicate: evaluated with the oracle, once for each distinct tuple of values.

Values come from the log's text, never from directory names (PROTOCOL, Partition Value Serialization).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions.partition_values import PartitionValueError, TimestampRange, parse_partition_value
from deltaskip.expr.evaluate import evaluate
from deltaskip.expr.failures import EvaluationError
from deltaskip.expr.nodes import FieldRef
from deltaskip.kernels.lane import Lane, take_lane
from deltaskip.schema.types import BINARY, STRING
from deltaskip.skipping.program import PartitionTerm

__all__ = ["Codes", "PartitionCache", "encoded", "map_values", "partition_lane"]

_UNKNOWN = object()

PartitionCache = dict[tuple[PartitionTerm, tuple[str | None, ...]], bool]
"""Outcome of a term for a tuple of partition texts; shared by all batches of one scan."""


@dataclass(frozen=True, slots=True)
class Codes:
    """A partition column of a batch: an int32 code a file, and the raw text that each code stands for (None: null)."""

    codes: pa.Array
    texts: tuple[str | None, ...]

    @property
    def nbytes(self) -> int:
        """Size for a cache."""
        return int(self.codes.nbytes) + 64 * len(self.texts)


def encoded(texts: pa.Array) -> Codes:
    """Raw partition values as codes."""
    coded = texts.dictionary_encode(null_encoding="encode")
    return Codes(pc.cast(coded.indices, pa.int32()), tuple(coded.dictionary.to_pylist()))


def partition_lane(
    term: PartitionTerm, codes: Callable[[FieldRef], Codes], time_zone: str | None, cache: PartitionCache
) -> Lane:
    """Keep lane of `term`: files whose partition values make its predicate TRUE, or leave it unknown.

    codes: the raw partition values of a column, one a file. time_zone: that of zone-less timestamps; None if unknown.
    """
    combined, tuples = _distinct_tuples([codes(column) for column in term.columns])
    keep = bytearray()
    for values in tuples:
        key = (term, values)
        if key not in cache:
            cache[key] = _may_match(term, values, time_zone)
        keep.append(cache[key])
    return take_lane(combined, bytes(keep), True)


def map_values(partition_values: pa.Array, key: str) -> pa.Array:
    """The text under `key` of each map (MapArray of string to string); null where the key or its value is absent."""
    n = len(partition_values)
    keys, items = partition_values.keys, partition_values.items
    offsets = partition_values.offsets
    first = offsets[0].as_py() if n else 0
    total = (offsets[n].as_py() if n else 0) - first
    width = total // n if n else 0
    if n and partition_values.null_count == 0 and width * n == total and width:
        # The common layout: every map has the same keys in the same order, so each key is a stride of the children.
        steps = pa.array(np.arange(first, first + total, width, dtype=np.int64))
        lengths_equal = np.all(np.diff(offsets.to_numpy(zero_copy_only=False)) == width)
        for position in range(width if lengths_equal else 0):
            at = pc.add(steps, pa.scalar(position, pa.int64()))
            if pc.all(pc.equal(keys.take(at), key)).as_py():
                return items.take(at)
    return pc.map_lookup(partition_values, pa.scalar(key, partition_values.type.key_type), "first")


def _distinct_tuples(columns: list[Codes]) -> tuple[pa.Array, list[tuple[str | None, ...]]]:
    """int32 codes and the tuple of texts that each code stands for."""
    if len(columns) == 1:
        return columns[0].codes, [(text,) for text in columns[0].texts]
    combined = np.zeros(len(columns[0].codes), dtype=np.int64)
    for column in columns:
        combined = combined * max(len(column.texts), 1) + column.codes.to_numpy(zero_copy_only=False)
    distinct, codes = np.unique(combined, return_inverse=True)
    tuples: list[tuple[str | None, ...]] = []
    for code in distinct.tolist():
        values: list[str | None] = []
        for column in reversed(columns):
            code, position = divmod(code, max(len(column.texts), 1))
            values.append(column.texts[position])
        tuples.append(tuple(reversed(values)))
    return pa.array(codes.astype(np.int32)), tuples


def _may_match(term: PartitionTerm, texts: tuple[str | None, ...], time_zone: str | None) -> bool:
    readings: list[Mapping[tuple[str, ...], Any]] = [{}]
    for column, text in zip(term.columns, texts, strict=True):
        values = _readings(column, text, time_zone)
        if values is None:
            return True
        readings = [{**row, column.logical: value} for row in readings for value in values]
    return any(_is_true(term, row, time_zone or "UTC") for row in readings)


def _readings(column: FieldRef, text: str | None, time_zone: str | None) -> tuple[Any, ...] | None:
    """The values that a partition text may stand for; None where that cannot be told.

    "" is NULL by the protocol and the empty string to delta-spark: a string column is read both ways. Writers do not
    agree on how bytes are escaped, so of a binary value only NULL is certain.
    """
    if text == "" and column.type == STRING:
        return ("", None)
    if text is not None and column.type == BINARY:
        return None
    try:
        value = parse_partition_value(text, column.type, time_zone)
    except PartitionValueError:
        return None
    return None if isinstance(value, TimestampRange) else (value,)


def _is_true(term: PartitionTerm, row: Mapping[tuple[str, ...], Any], time_zone: str) -> bool:
    try:
        return evaluate(term.node, row, time_zone) is True
    except EvaluationError:
        return True
