"""Sets of a column's values: spans of ordinals (expr.preimages.ordinals), and cycles in them.

Sets consist of half-open spans of ordinals, so a monotone function needs only thresholds (the first value from which on
a condition holds) to map a span back to its argument.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.records import dataclass
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.preimages import NAN, Domain, Spans, domain_of, following, ordinal_of
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values

_COUNTED = (t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ)
_MOST_CELLS = 20_000
_MOST_SPANS = 64
_CHUNK = 4096


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
class ValueSet:
    """Values of an expression or column: those in `spans` and in all of `cycles`, and NULL if `null`.

    exact: The set contains no other values than the wanted ones.
    """

    spans: Spans
    null: bool = False
    exact: bool = True
    cycles: tuple[Cycle, ...] = ()


def satisfying(type_: t.DataType, op: str, value: Any) -> ValueSet | None:
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
    return ValueSet(intersect(merged(spans), domain.all))


def points_of(type_: t.DataType, values: Collection[Any]) -> ValueSet | None:
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
    return ValueSet(merged((at, following(at)) for at in ordinals if domain.low <= at < domain.stop))


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


def meet(one: ValueSet, other: ValueSet) -> ValueSet:
    """Return the intersection; a cycle within short spans becomes spans."""
    cycles = dict.fromkeys((*one.cycles, *other.cycles))
    met = ValueSet(
        intersect(one.spans, other.spans), one.null and other.null, one.exact and other.exact, _combined(tuple(cycles))
    )
    for cycle in met.cycles:
        spans = _cells_within(cycle, met.spans) if any(cycle.hits) else cycle.exempt
        if spans is not None:
            rest = tuple(c for c in met.cycles if c != cycle)
            met = replace(met, spans=intersect(met.spans, spans), cycles=rest)
    return met


def has_nan(values: ValueSet) -> bool:
    """Return whether a set of floats or doubles contains NaN."""
    return bool(values.spans) and values.spans[-1][1] > NAN


def holds(values: ValueSet, ordinal: Any) -> bool:
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
                found[i] = replace(known, hits=_both(known.hits, cycle.hits))
                break
        else:
            found.append(cycle)
    return tuple(found)


def _both(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one, "little") & int.from_bytes(other, "little")).to_bytes(len(one), "little")


def _cells_within(cycle: Cycle, spans: Spans) -> Spans | None:
    """The spans of the hits that overlap `spans`; None if there are too many."""
    found: list[tuple[int, int]] = list(intersect(cycle.exempt, spans))
    cells, length = 0, len(cycle.hits)
    for low, stop in spans:
        first, last = (low + cycle.low) // cycle.grain, (stop - 1 + cycle.high) // cycle.grain
        cells += last - first + 1
        if cells > _MOST_CELLS:
            return None
        cell = first
        while cell <= last:
            start, at = cell - cell % length, cell % length
            hit = cycle.hits.find(1, at)
            miss = length if hit < 0 else cycle.hits.find(0, hit)
            cell = start + (length if miss < 0 else miss)
            if hit >= 0 and start + hit <= last:
                stop_cell = min(cell, last + 1)
                found.append(((start + hit) * cycle.grain - cycle.high, stop_cell * cycle.grain - cycle.low))
    reach = merged(found)
    return reach if len(reach) <= _MOST_SPANS else None


class PointSpans(Sequence[tuple[Any, Any]]):
    """Ascending, disjoint spans: from each of `lows` to each of `lasts`, both included (int64 or binary arrays).

    `points_only`: every span is one point.
    """

    __slots__ = ("lasts", "lows", "points_only")

    def __init__(self, lows: pa.Array, lasts: pa.Array) -> None:
        self.lows = lows
        self.lasts = lasts
        self.points_only = lows is lasts or bool(lows.equals(lasts))

    def __len__(self) -> int:
        return len(self.lows)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for start in range(0, len(self), _CHUNK):
            lows, lasts = (each.slice(start, _CHUNK).to_pylist() for each in (self.lows, self.lasts))
            yield from zip(lows, map(following, lasts), strict=True)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return tuple(self)[at]
        at = at if at >= 0 else len(self) + at
        if not 0 <= at < len(self):
            raise IndexError(at)
        return self.lows[at].as_py(), following(self.lasts[at].as_py())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PointSpans):
            return bool(self.lows.equals(other.lows) and self.lasts.equals(other.lasts))
        return isinstance(other, tuple) and len(other) == len(self) and tuple(self) == other

    def __hash__(self) -> int:
        return hash((len(self), self[0], self[-1]))


def spans_of_points(values: pa.Array) -> Spans:
    """Return the spans of integers (int64) or texts (string) in any order, none of them null."""
    if pa.types.is_string(values.type):
        distinct = pc.unique(values.view(pa.binary()))
        points = distinct.take(pc.array_sort_indices(distinct))
        return cast(Spans, PointSpans(points, points))
    numbers = np.sort(numpy_values(values))
    numbers = numbers[np.concatenate([[True], numbers[1:] != numbers[:-1]])]
    ends = np.flatnonzero(np.diff(numbers) != 1)
    lows = numbers[np.concatenate([[0], ends + 1]).astype(np.int64)]
    lasts = numbers[np.concatenate([ends, [len(numbers) - 1]]).astype(np.int64)]
    found = PointSpans(arrow_array(lows), arrow_array(lasts))
    return cast(Spans, found) if len(found) > 1 else tuple(found)
