"""Preimages: which values of a column make `f(column) op literal` TRUE, for monotone f.

`f` is a chain of casts from the column to the type of the comparison. Where every cast is non-decreasing on the
column's whole domain, {x : f(x) < v} is {x : x < t} with t the smallest x such that f(x) >= v, and likewise for the
other operators; t is found by bisection with f itself, so rounding (long to double) needs no case of its own. A range
in the column's own domain is then compared with the column's statistics.

Casts between dates, timestamps and NTZ timestamps depend on the session's zone. Around a clock change they are not
monotone, and Spark's optimizer answers there as if they were, so in a zone with changes the local time stands for the
instant and the range is widened by more than any zone's offset: both readings lie within it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np

from deltaskip.expr.nodes import Cast, FieldRef, Node
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

__all__ = ["Everything", "Nothing", "Range", "column_under", "compare", "preimage"]

_MICROS_PER_DAY = 86_400_000_000
_SLACK_DAYS = 3
_INTEGERS: dict[DataType, tuple[int, int]] = {
    BYTE: (-(1 << 7), (1 << 7) - 1),
    SHORT: (-(1 << 15), (1 << 15) - 1),
    INTEGER: (-(1 << 31), (1 << 31) - 1),
    LONG: (-(1 << 63), (1 << 63) - 1),
    BOOLEAN: (0, 1),
    DATE: (-(1 << 31), (1 << 31) - 1),
    TIMESTAMP: (-(1 << 63), (1 << 63) - 1),
    TIMESTAMP_NTZ: (-(1 << 63), (1 << 63) - 1),
}
_DIGITS = {BYTE: 3, SHORT: 5, INTEGER: 10, LONG: 20}
_WIDTH = [BYTE, SHORT, INTEGER, LONG]


@dataclass(frozen=True, slots=True)
class Range:
    """low <= x <= high in the column's kernel domain; None is unbounded. `outside` means the complement."""

    low: Any
    high: Any
    low_open: bool = False
    high_open: bool = False
    outside: bool = False


@dataclass(frozen=True, slots=True)
class Nothing:
    """No value of the column satisfies the comparison."""


@dataclass(frozen=True, slots=True)
class Everything:
    """Every value of the column that is not NULL satisfies the comparison."""


def column_under(node: Node) -> FieldRef | None:
    """The column that `node` is a chain of casts of, if it is one."""
    while isinstance(node, Cast) and not node.safe:
        node = node.child
    return node if isinstance(node, FieldRef) else None


def preimage(node: Node, op: str, value: Any, time_zone: str) -> Range | Nothing | Everything | None:
    """The values x of the column under `node` for which `node op value` is TRUE, or None where that is not known.

    op: = != < <= > >=, `value` in the value domain of node's type and not None. Decimal columns are answered in
    unscaled integers at the column's scale, strings in UTF-8 bytes.
    """
    column = column_under(node)
    if column is None:
        return None
    if column.type == STRING:
        return _plain(op, value.encode()) if node == column and isinstance(value, str) else None
    if column.type in (FLOAT, DOUBLE):
        exact = all(step in (FLOAT, DOUBLE) for step in _steps(node)) and _widens_only(node)
        return _plain(op, float(value)) if exact and isinstance(value, int | float) else None
    domain = _domain(column.type)
    mapping = _chain(node)
    if domain is None or mapping is None:
        return None
    found = _by_bisection(mapping, domain, op, value)
    return found if _is_utc(time_zone) or not _crosses_zones(node) else _widened(found, op, column.type, domain)


def compare(a: Any, b: Any) -> int:
    """-1, 0 or 1 in Spark's order of one type's values: NaN is greatest and equal to itself, -0.0 equals 0.0."""
    a_nan, b_nan = a != a, b != b
    if a_nan or b_nan:
        return int(a_nan) - int(b_nan)
    return int(a > b) - int(a < b)


def _plain(op: str, value: Any) -> Range | None:
    match op:
        case "=":
            return Range(value, value)
        case "!=":
            return Range(value, value, outside=True)
        case "<":
            return Range(None, value, high_open=True)
        case "<=":
            return Range(None, value)
        case ">":
            return Range(value, None, low_open=True)
        case ">=":
            return Range(value, None)
        case _:
            return None


def _steps(node: Node) -> list[DataType]:
    """Types along the chain of casts, the column's first."""
    types: list[DataType] = []
    while isinstance(node, Cast):
        types.append(node.type)
        node = node.child
    return [*([node.type] if isinstance(node, FieldRef) else []), *reversed(types)]


def _widens_only(node: Node) -> bool:
    steps = _steps(node)
    return all(not (a == DOUBLE and b == FLOAT) for a, b in pairwise(steps))


def _domain(type_: DataType) -> tuple[int, int] | None:
    if isinstance(type_, DecimalType):
        limit = 10**type_.precision - 1
        return -limit, limit
    return _INTEGERS.get(type_)


def _chain(node: Node) -> Callable[[int], Any] | None:
    """f from the column's kernel domain to the value domain of node's type, or None if a step is not monotone."""
    match node:
        case FieldRef(type=DecimalType(_, scale)):
            return lambda x: Decimal(x).scaleb(-scale) if abs(x) < 10**27 else _decimal(x, scale)
        case FieldRef(type=t):
            return bool if t == BOOLEAN else (lambda x: x)
        case Cast(child, to):
            inner = _chain(child)
            step = _monotone_cast(_type_of(child), to)
            if inner is None or step is None:
                return None
            return lambda x: step(inner(x))
        case _:
            return None


def _decimal(unscaled: int, scale: int) -> Decimal:
    sign, digits = int(unscaled < 0), tuple(int(d) for d in str(abs(unscaled)))
    return Decimal((sign, digits, -scale))


def _type_of(node: Node) -> DataType:
    assert isinstance(node, FieldRef | Cast)
    return node.type


def _monotone_cast(source: DataType, target: DataType) -> Callable[[Any], Any] | None:
    """The cast as a non-decreasing function that cannot fail on any value of `source`, or None."""
    if source == target:
        return lambda x: x
    if source in _DIGITS:
        if target in _WIDTH and _WIDTH.index(target) > _WIDTH.index(source):
            return lambda x: x
        if isinstance(target, DecimalType) and target.precision - target.scale >= _DIGITS[source]:
            return Decimal
        return _to_floating(target)
    if isinstance(source, DecimalType):
        if isinstance(target, DecimalType):
            widens = target.scale >= source.scale and target.precision - target.scale >= source.precision - source.scale
            return (lambda x: x) if widens else None
        return float if target == DOUBLE else None
    if source == DATE and target in (TIMESTAMP, TIMESTAMP_NTZ):
        return lambda days: days * _MICROS_PER_DAY
    if {source, target} == {TIMESTAMP, TIMESTAMP_NTZ}:
        return lambda x: x
    return None


def _to_floating(target: DataType) -> Callable[[Any], Any] | None:
    if target == DOUBLE:
        return float
    if target == FLOAT:
        return lambda x: float(np.float32(np.int64(x)))
    return None


def _is_utc(time_zone: str) -> bool:
    return time_zone in ("UTC", "Etc/UTC", "Z", "GMT", "Etc/GMT", "+00:00")


def _crosses_zones(node: Node) -> bool:
    """Whether a cast of the chain turns local time into an instant or the reverse."""
    steps = _steps(node)
    return any((b == TIMESTAMP) != (a == TIMESTAMP) for a, b in pairwise(steps))


def _widened(
    found: Range | Nothing | Everything | None, op: str, type_: DataType, domain: tuple[int, int]
) -> Range | Nothing | Everything | None:
    """The range with room for any zone's offset and a clock change at each end."""
    slack = _SLACK_DAYS * (1 if type_ == DATE else _MICROS_PER_DAY)
    match found:
        case Range(low, high, outside=False):
            lower = None if low is None else max(low - slack, domain[0])
            higher = None if high is None else min(high + slack, domain[1])
            return Range(lower, higher)
        case None:
            return None
        case _:
            return Everything()


def _by_bisection(
    f: Callable[[int], Any], domain: tuple[int, int], op: str, value: Any
) -> Range | Nothing | Everything | None:
    low, high = domain
    at_least = _first(f, low, high, lambda y: compare(y, value) >= 0)
    above = _first(f, low, high, lambda y: compare(y, value) > 0)
    match op:
        case "=":
            return _range(at_least, above - 1, domain)
        case "!=":
            inside = _range(at_least, above - 1, domain)
            match inside:
                case Nothing():
                    return Everything()
                case Everything():
                    return Nothing()
                case Range(a, b):
                    return Range(a, b, outside=True)
            return None
        case "<":
            return _range(low, at_least - 1, domain)
        case "<=":
            return _range(low, above - 1, domain)
        case ">":
            return _range(above, high, domain)
        case ">=":
            return _range(at_least, high, domain)
        case _:
            return None


def _range(a: int, b: int, domain: tuple[int, int]) -> Range | Nothing | Everything:
    if a > b:
        return Nothing()
    if (a, b) == domain:
        return Everything()
    return Range(None if a == domain[0] else a, None if b == domain[1] else b)


def _first(f: Callable[[int], Any], low: int, high: int, holds: Callable[[Any], bool]) -> int:
    """The smallest x in [low, high] for which holds(f(x)), or high + 1; holds is monotone in x."""
    high += 1
    while low < high:
        middle = (low + high) // 2
        if holds(f(middle)):
            high = middle
        else:
            low = middle + 1
    return low
