"""Distinct values of the partition columns of a table, shared by all batches of its files.

A table has fewer partitions than files. Each raw string has one code; strings are parsed, and terms of a program
evaluated, once for each code.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import PartitionValueError, TimestampRange, parse_partition_value
from deltaskip.fork_safety import new_lock
from deltaskip.records import dataclass
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.types.lengths import char_padded, declares_char, with_lengths
from deltaskip.sparkexpr.values import ordered_floats
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, is_true, numpy_values, true_rows
from deltaskip.sparkexpr.values.calendar import instant_of, zone_of
from deltaskip.sparkexpr.values.zone_rules import rules_in_use

_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_NUMBER = r"^-?[0-9]{1,15}(\.[0-9]{1,15})?$"

_ZoneKey = tuple[str | None, tuple[str, ...]]


class PartitionColumn:
    """The distinct strings of one partition column with their codes. Grows with each batch; safe to share.

    Strings are parsed by column, once for each time zone and its rules.
    """

    def __init__(self, type_: t.DataType) -> None:
        self.type = type_
        self.texts: list[str | None] = []
        self._codes: dict[str | None, int] = {}
        self._read: dict[_ZoneKey, _PartitionValues] = {}
        self._values: dict[_ZoneKey, list[Any]] = {}
        self._lock = new_lock()

    def encode(self, texts: pa.Array) -> pa.Array:
        """int32 codes of raw strings."""
        coded = texts.dictionary_encode(null_encoding="encode")
        with self._lock:
            known = [self._code(text) for text in coded.dictionary.to_pylist()]
        return arrow_array(np.array(known, np.int32)[numpy_values(coded.indices)])

    def read(self, zone: str | None) -> _PartitionValues:
        """The value of each code.

        zone: of timestamps without one; None if unknown.
        """
        key = zone, rules_in_use()
        with self._lock:
            known = self._read.get(key)
            if known is None or len(known.array) < len(self.texts):
                news = _read_values(self.texts[0 if known is None else len(known.array) :], self.type, zone)
                known = self._read[key] = news if known is None else known.extended(news)
            return known

    def values(self, zone: str | None) -> list[Any]:
        """Value of each code: in the value domain, a TimestampRange, or a PartitionValueError; zone as in `read`."""
        read = self.read(zone)
        with self._lock:
            found = self._values.setdefault((zone, rules_in_use()), [])
            start = len(found)
            found += _domain_values(read.array[start:], self.type)
            for code in (np.flatnonzero(read.odd[start:]) + start).tolist():
                found[code] = _read_text(self.texts[code], self.type, zone)
        return found

    def typed(self, codes: pa.Array, zone: str) -> pa.Array:
        """The codes' values as an Arrow array of the column's type. Raises PartitionValueError."""
        read = self.read(zone)
        used = np.zeros(len(read.array), bool)
        used[numpy_values(codes)] = True
        for code in np.flatnonzero(used & read.odd).tolist():
            value = _read_text(self.texts[code], self.type, zone)
            if isinstance(value, PartitionValueError):
                raise value
        return read.array.take(codes)

    def _code(self, text: str | None) -> int:
        code = self._codes.get(text)
        if code is None:
            code = self._codes[text] = len(self.texts)
            self.texts.append(text)
        return code


def readings(value: Any, text: str | None, type_: t.DataType) -> tuple[Any, ...] | None:
    """The values that a partition value may represent when pruning; None if that is unknown, as for a range.

    "" is NULL by the protocol and the empty string to delta-spark: a string column is read both ways. Writers escape
    bytes differently, so for a binary column only NULL is certain.
    """
    if text == "" and type_ == t.STRING:
        return ("", None)
    if isinstance(value, PartitionValueError | TimestampRange) or (text is not None and type_ == t.BINARY):
        return None
    return (value,)


def equal_values(values: pa.Array, field: t.StructField) -> pa.Array:
    """Partition values in a form in which those of the same partition are identical in Arrow: equal in Spark's rows.

    -0.0 equals 0.0, and strings of type char(n) are equal when padded. NULL and the empty string differ, and so do
    strings that only a collation takes for equal: # delta-spark, OptimisticTransaction.filterFiles
    """
    return ordered_floats(values) if field.type in t.FLOATING else as_in_rows(values, field)


def as_in_rows(values: pa.Array, field: t.StructField) -> pa.Array:
    """The values of a partition column as in rows: strings of type char(n) are padded."""
    return char_padded(values, with_lengths(field).type) if declares_char(field) else values


def map_values(partition_values: pa.Array, key: str) -> pa.Array:
    """The string for `key` in each map (MapArray of string to string); null if the key or its value is missing."""
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


def _domain_values(array: pa.Array, type_: t.DataType) -> list[Any]:
    """The values in the value domain, in which times are integers."""
    if type_ == t.DATE:
        array = array.view(pa.int32())
    elif type_ in (t.TIMESTAMP, t.TIMESTAMP_NTZ, *t.NANOSECONDS):
        array = array.view(pa.int64())
    found: list[Any] = array.to_pylist()
    return found


@dataclass(frozen=True, slots=True)
class _PartitionValues:
    """The values of distinct strings.

    array: Values of the column's Arrow type; null for a string that represents none.
    odd: Whether the string may represent several values, or is malformed: for its meaning in pruning, see `readings`.
    """

    array: pa.Array
    odd: np.ndarray

    def extended(self, more: _PartitionValues) -> _PartitionValues:
        """These values and then `more`."""
        return _PartitionValues(pa.concat_arrays([self.array, more.array]), np.concatenate([self.odd, more.odd]))


def _read_values(texts: Sequence[str | None], type_: t.DataType, zone: str | None) -> _PartitionValues:
    """Return the values of strings as `parse_partition_value` reads them; zone: of timestamps without one, or None."""
    array = arrow_array(texts, pa.string())
    if type_ == t.STRING:
        return _PartitionValues(array, true_rows(pc.equal(array, arrow_scalar("", pa.string()))))
    values, usual = _usual(array, type_, zone)
    odd = np.zeros(len(array), bool)
    if type_ == t.TIMESTAMP and zone is None:
        # Local times are a range of instants, or malformed.
        odd = true_rows(pc.match_substring_regex(array, f"^{_DATE}[ T]{_TIME}$"))
    rest = np.flatnonzero(~usual & ~odd & numpy_values(array.is_valid()))
    if not len(rest):
        return _PartitionValues(values, odd)
    parsed = [_read_text(texts[at], type_, zone) for at in rest.tolist()]
    odd[rest] = [type_ == t.BINARY or isinstance(value, PartitionValueError | TimestampRange) for value in parsed]
    known = [None if isinstance(value, PartitionValueError | TimestampRange) else value for value in parsed]
    places = np.arange(len(array))
    places[rest] = len(array) + np.arange(len(rest))
    both = pa.concat_arrays([values, _array(known, type_)])
    return _PartitionValues(both.take(arrow_array(places)), odd)


def _read_text(text: str | None, type_: t.DataType, zone: str | None) -> Any:
    """Return the value of one string in the value domain, a TimestampRange, or the PartitionValueError."""
    try:
        return parse_partition_value(text, type_, zone)
    except PartitionValueError as error:
        return error


def _usual(texts: pa.Array, type_: t.DataType, zone: str | None) -> tuple[pa.Array, np.ndarray]:
    """The values of strings in the usual form of the type, null for all others, and a mask of these strings."""
    pattern = _pattern(type_, zone)
    nothing = np.zeros(len(texts), bool)
    if pattern is None:
        return pa.nulls(len(texts), t.arrow_type(type_)), nothing
    usual = is_true(pc.match_substring_regex(texts, pattern))
    some = texts if usual.false_count == 0 else pc.if_else(usual, texts, arrow_scalar(None, pa.string()))
    try:
        return _converted(some, type_, zone), numpy_values(usual)
    except pa.ArrowInvalid:
        # A string such as February 30, or an integer that is too large, has the usual form and no value.
        return pa.nulls(len(texts), t.arrow_type(type_)), nothing


def _pattern(type_: t.DataType, zone: str | None) -> str | None:
    if type_ in t.INTEGRAL_BITS:
        return "^-?[0-9]{1,18}$"
    if isinstance(type_, t.DecimalType):
        whole = type_.precision - type_.scale
        part = rf"(\.[0-9]{{1,{type_.scale}}})?" if type_.scale else ""
        return rf"^-?[0-9]{{1,{whole}}}{part}$" if whole else None
    if type_ in t.FLOATING:
        return _NUMBER
    if type_ == t.BOOLEAN:
        return "^(true|false)$"
    if type_ == t.DATE:
        return f"^{_DATE}$"
    if type_ == t.TIMESTAMP_NTZ:
        return f"^{_DATE} {_TIME}$"
    if type_ == t.TIMESTAMP:
        # While the session's time zone is not known, a string is an instant only if it has a time zone.
        return f"^{_DATE}[ T]{_TIME}Z$" if zone is None else f"^{_DATE}[ T]{_TIME}Z?$"
    return None


def _converted(texts: pa.Array, type_: t.DataType, zone: str | None) -> pa.Array:
    if type_ == t.TIMESTAMP:
        in_utc = pc.ends_with(texts, "Z")
        local = pc.cast(pc.utf8_rtrim(texts, "Z"), pa.timestamp("us"))
        if zone not in (None, "UTC") and pc.any(pc.invert(in_utc)).as_py():
            local = _instants(local, in_utc, zone)
        return local.view(pa.int64()).view(t.arrow_type(type_))
    if type_ in t.FLOATING:
        # Rounded once, to the width of the column.
        return pc.cast(texts, pa.float32() if t.arrow_type(type_) == pa.float32() else pa.float64())
    return pc.cast(texts, t.arrow_type(type_))


def _instants(local: pa.Array, in_utc: pa.Array, zone: str | None) -> pa.Array:
    found = zone_of(zone or "UTC")
    micros, utc = local.view(pa.int64()).to_pylist(), in_utc.to_pylist()
    pairs = zip(micros, utc, strict=True)
    instants = [at if at is None or known else instant_of(at, found) for at, known in pairs]
    return arrow_array(instants, pa.int64())


def _array(values: list[Any], type_: t.DataType) -> pa.Array:
    target = t.arrow_type(type_)
    if type_ == t.DATE:
        return arrow_array(values, pa.int32()).view(target)
    if type_ in (t.TIMESTAMP, t.TIMESTAMP_NTZ, *t.NAMED_TYPES):
        return arrow_array(values, pa.int32() if type_ == t.YEAR_MONTH else pa.int64()).view(target)
    return arrow_array(values, target)
