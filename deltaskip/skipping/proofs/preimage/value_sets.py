"""Sets of a column's values: spans of ordinals, and cycles in them.

Each type with min and max statistics has an order-preserving map from its values to ordinals: integers, or UTF-8 bytes
for strings. Sets consist of half-open spans of ordinals, so a monotone function needs only thresholds (the first value
from which on a condition holds) to map a span back to its argument.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Collection, Iterable
from dataclasses import replace
from decimal import Context, Decimal
from typing import Any

from deltaskip.records import dataclass
from deltaskip.schema.types import (
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
)

__all__ = [
    "INFINITY",
    "LOCAL",
    "NAN",
    "Cycle",
    "Domain",
    "Spans",
    "Values",
    "complement",
    "domain_of",
    "following",
    "has_nan",
    "holds",
    "intersect",
    "meet",
    "merged",
    "ordinal_of",
    "points_of",
    "satisfying",
    "value_at",
]

Spans = tuple[tuple[Any, Any], ...]
"""Half-open spans of ordinals, ascending and disjoint."""

INFINITY = 0x7FF0_0000_0000_0000
"""Ordinal of a positive infinite double; ordinals of negative doubles are negated, so -0.0 and 0.0 are one."""

NAN = INFINITY + 1
"""Ordinal of NaN, Spark's greatest number."""

_EXACT = Context(prec=120)
_MOST_CELLS = 20_000
_MOST_SPANS = 64


@dataclass(frozen=True, slots=True)
class Domain:
    """Ordinals [low, stop) of a type's values."""

    low: Any
    stop: Any

    @property
    def all(self) -> Spans:
        """The whole domain as spans."""
        return ((self.low, self.stop),)


_DOUBLES = Domain(-INFINITY, NAN + 1)
_TEXTS = Domain(b"", b"\xff")
LOCAL = Domain(-(1 << 63) - (1 << 40), (1 << 63) + (1 << 40))
"""Local microseconds of every instant in every zone."""

_COUNTED = (BYTE, SHORT, INTEGER, LONG, DATE, TIMESTAMP, TIMESTAMP_NTZ)

_DOMAINS: dict[DataType, Domain] = {
    BOOLEAN: Domain(0, 2),
    **{t: Domain(-(1 << bits), 1 << bits) for t, bits in ((BYTE, 7), (SHORT, 15), (INTEGER, 31), (LONG, 63))},
    DATE: Domain(-(1 << 31), 1 << 31),
    TIMESTAMP: Domain(-(1 << 63), 1 << 63),
    TIMESTAMP_NTZ: Domain(-(1 << 63), 1 << 63),
    FLOAT: _DOUBLES,
    DOUBLE: _DOUBLES,
    STRING: _TEXTS,
}


@dataclass(frozen=True, slots=True)
class Cycle:
    """Ordinals x in certain cells of a cycle: (x + o) // grain, modulo the number of cells, is a hit for some o.

    low <= o <= high: possible offsets of a time zone. hits: one byte per cell, 1 or 0, not all equal.
    exempt: Further ordinals of the set, whatever their cell.
    """

    grain: int
    low: int
    high: int
    hits: bytes
    exempt: Spans = ()


@dataclass(frozen=True, slots=True)
class Values:
    """Values of an expression or column: those in `spans` and in all of `cycles`, and NULL if `null`.

    exact: The set contains no other values than the wanted ones.
    """

    spans: Spans
    null: bool = False
    exact: bool = True
    cycles: tuple[Cycle, ...] = ()


def domain_of(type_: DataType | None) -> Domain | None:
    """Return the ordinals of a type; None for types without bounds."""
    if isinstance(type_, DecimalType):
        limit: int = 10**type_.precision
        return Domain(1 - limit, limit)
    return None if type_ is None else _DOMAINS.get(type_)


def ordinal_of(type_: DataType, value: Any) -> Any:
    """Return the ordinal of a value that is not NULL; None if the value is not of the type."""
    match value:
        case bool():
            return int(value) if type_ == BOOLEAN else None
        case int() if type_ not in (FLOAT, DOUBLE):
            return value
        case float() | int():
            return _float_ordinal(float(value))
        case str():
            return value.encode() if type_ == STRING else None
        case Decimal() if isinstance(type_, DecimalType):
            scaled = value.scaleb(type_.scale, _EXACT)
            return int(scaled) if scaled == scaled.to_integral_value() else None
    return None


def value_at(type_: DataType, ordinal: Any) -> Any:
    """Return the value of an ordinal, in the value domain."""
    if type_ in (FLOAT, DOUBLE):
        return _float_at(ordinal)
    if isinstance(type_, DecimalType):
        return Decimal((int(ordinal < 0), tuple(int(d) for d in str(abs(ordinal))), -type_.scale))
    if type_ == BOOLEAN:
        return bool(ordinal)
    return ordinal.decode() if type_ == STRING else ordinal


def satisfying(type_: DataType, op: str, value: Any) -> Values | None:
    """Return the values x of `type_` for which `x op value` is TRUE; op is = != < <= > >=, `value` is not NULL."""
    domain = domain_of(type_)
    at = None if domain is None else ordinal_of(type_, value)
    if domain is None or at is None:
        return None
    after = following(at)
    match op:
        case "=":
            spans: Spans = ((at, after),)
        case "!=":
            spans = ((domain.low, at), (after, domain.stop))
        case "<":
            spans = ((domain.low, at),)
        case "<=":
            spans = ((domain.low, after),)
        case ">":
            spans = ((after, domain.stop),)
        case ">=":
            spans = ((at, domain.stop),)
        case _:
            return None
    return Values(intersect(merged(spans), domain.all))


def points_of(type_: DataType, values: Collection[Any]) -> Values | None:
    """Return the set of those `values` (none is NULL) that are of the type."""
    domain = domain_of(type_)
    if domain is None:
        return None
    if type_ in _COUNTED and all(type(value) is int for value in values):
        ordinals = set(values)
    else:
        ordinals = {ordinal_of(type_, value) for value in values}
    if None in ordinals:
        return None
    return Values(merged((at, following(at)) for at in ordinals if domain.low <= at < domain.stop))


def merged(spans: Iterable[tuple[Any, Any]]) -> Spans:
    """Return the union of spans in any order."""
    found: list[tuple[Any, Any]] = []
    for low, stop in sorted(span for span in spans if span[0] < span[1]):
        if found and low <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], stop))
        else:
            found.append((low, stop))
    return tuple(found)


def intersect(one: Spans, other: Spans) -> Spans:
    """Return the intersection."""
    if one and len(other) == 1 and other[0][0] <= one[0][0] and one[-1][1] <= other[0][1]:
        return one
    found: list[tuple[Any, Any]] = []
    i = j = 0
    while i < len(one) and j < len(other):
        low, stop = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if low < stop:
            found.append((low, stop))
        if one[i][1] <= other[j][1]:
            i += 1
        else:
            j += 1
    return tuple(found)


def complement(spans: Spans, domain: Domain) -> Spans:
    """Return the rest of the domain."""
    found: list[tuple[Any, Any]] = []
    at = domain.low
    for low, stop in spans:
        if at < low:
            found.append((at, low))
        at = max(at, stop)
    if at < domain.stop:
        found.append((at, domain.stop))
    return tuple(found)


def meet(one: Values, other: Values) -> Values:
    """Return the intersection; a cycle within short spans becomes spans."""
    cycles = dict.fromkeys((*one.cycles, *other.cycles))
    met = Values(
        intersect(one.spans, other.spans), one.null and other.null, one.exact and other.exact, _combined(tuple(cycles))
    )
    for cycle in met.cycles:
        spans = _cells_within(cycle, met.spans) if any(cycle.hits) else cycle.exempt
        if spans is not None:
            rest = tuple(c for c in met.cycles if c != cycle)
            met = replace(met, spans=intersect(met.spans, spans), cycles=rest)
    return met


def has_nan(values: Values) -> bool:
    """Return whether a set of floats or doubles contains NaN."""
    return bool(values.spans) and values.spans[-1][1] > NAN


def following(ordinal: Any) -> Any:
    """Return the least ordinal above: for bytes, the string followed by a NUL."""
    return ordinal + b"\0" if isinstance(ordinal, bytes) else ordinal + 1


def holds(values: Values, ordinal: Any) -> bool:
    """Return whether a value that is not NULL may be in the set."""
    if not any(low <= ordinal < stop for low, stop in values.spans):
        return False
    return all(bool(_cells_within(cycle, ((ordinal, ordinal + 1),))) for cycle in values.cycles)


def _combined(cycles: tuple[Cycle, ...]) -> tuple[Cycle, ...]:
    """Combine cycles of the same cells into one; cycles with inexact cells (low < high) are left as they are."""
    found: list[Cycle] = []
    for cycle in cycles:
        for i, known in enumerate(found):
            alike = (known.grain, known.low, len(known.hits)) == (cycle.grain, cycle.low, len(cycle.hits))
            if alike and known.exempt == cycle.exempt and known.low == known.high == cycle.high:
                found[i] = replace(known, hits=bytes(a & b for a, b in zip(known.hits, cycle.hits, strict=True)))
                break
        else:
            found.append(cycle)
    return tuple(found)


def _cells_within(cycle: Cycle, spans: Spans) -> Spans | None:
    """The spans of the hits that overlap `spans`; None if there are too many."""
    found: list[tuple[int, int]] = list(intersect(cycle.exempt, spans))
    cells = 0
    for low, stop in spans:
        first, last = (low + cycle.low) // cycle.grain, (stop - 1 + cycle.high) // cycle.grain
        cells += last - first + 1
        if cells > _MOST_CELLS:
            return None
        for cell in range(first, last + 1):
            if cycle.hits[cell % len(cycle.hits)]:
                found.append((cell * cycle.grain - cycle.high, (cell + 1) * cycle.grain - cycle.low))
    reach = merged(found)
    return reach if len(reach) <= _MOST_SPANS else None


def _float_ordinal(value: float) -> int:
    if math.isnan(value):
        return NAN
    bits: int = struct.unpack("<q", struct.pack("<d", abs(value)))[0]
    return -bits if value < 0 else bits


def _float_at(ordinal: int) -> float:
    if ordinal >= NAN:
        return math.nan
    value: float = struct.unpack("<d", struct.pack("<q", abs(ordinal)))[0]
    return -value if ordinal < 0 else value
