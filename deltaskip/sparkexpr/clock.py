"""Functions of the clock, such as `now()` and `current_date()`, whose values are not known before the query runs.

A plan is made before Spark runs the query, and the planner's clock may be ahead of Spark's clock. So `now()` may be any
instant from a few minutes before the plan on (SLACK), and an expression that is monotone in the time lies between its
values at the ends. `Clock.weakest` replaces each leaf by a condition without the clock that is TRUE wherever the leaf
is TRUE at some possible instant: in `ts > now() - INTERVAL 7 DAYS` the right side becomes its least value, and
`ts < now()` has no useful bound.

Soundness: let `low(e)` and `high(e)` be the values of `e` at the end where it is least and greatest; every function on
the way to the clock is monotone in that argument. Then `a < b` at some instant gives `low(a) < high(b)`, and `a = b`
gives `low(a) <= high(b)` and `high(a) >= low(b)`. Three operations are not monotone:

* Local times go back at clock changes, by LONGEST_CHANGE at most. Near a change, conversions between instants and local
  times widen the value by as much; in an unknown time zone, by its greatest offset.
* Sums of columns and the clock wrap around at the ends of their type. An argument that wraps at some instant wraps at
  the last instant as well, and the preimage of every result contains the arguments that wrap (proofs.preimage). So a
  leaf with columns and the clock becomes the OR of the leaf at both ends.
* Formatted times with years beyond 9999 are refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace

from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.recursion import deep
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.coerce import is_numeric, type_of
from deltaskip.sparkexpr.evaluation.rows import evaluate
from deltaskip.sparkexpr.failures import EvaluationError
from deltaskip.sparkexpr.functions.by_name import FUNCTIONS, PRESENT
from deltaskip.sparkexpr.functions.spark_functions import LITERAL_FUNCTIONS
from deltaskip.sparkexpr.normalize import FALSE_LITERAL, TRUE_LITERAL
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values import calendar
from deltaskip.sparkexpr.values.intervals import amount_of, moved

SLACK = 10 * 60 * calendar.MICROS_PER_SECOND
"""How far this machine's clock may be ahead of the clock of Spark's driver, in microseconds."""

# No query runs after the year 9000.
_LATEST = 221_845_392_000 * calendar.MICROS_PER_SECOND
_LONGEST_CHANGE = 3 * 3600 * calendar.MICROS_PER_SECOND
_SCALES = ("*", "/", "div")
# Patterns whose formatted strings sort in the order of the times.
_ORDERED = regex(
    r"yyyy(?:[^A-Za-z0-9']?MM(?:[^A-Za-z0-9']?dd(?:[^A-Za-z0-9']?HH(?:[^A-Za-z0-9']?mm(?:[^A-Za-z0-9']?ss)?)?)?)?)?"
)
_DIGITS = regex(r"[A-Za-z]+")
_YEAR = regex(r"[0-9]{4}(?:[^0-9].*|[0-9]{2,10})?", re.DOTALL)


def reads_clock(node: n.Node) -> bool:
    """Return whether the node contains a function of the clock. Does not visit literals, which may be many."""
    return not isinstance(node, n.Literal | n.FieldRef) and _reads_clock(node)


@n.kept
def _reads_clock(node: n.Node) -> bool:
    is_clock = isinstance(node, n.Call) and not node.args and node.name in PRESENT
    return is_clock or any(reads_clock(child) for child in n.children_of(node))


def special_time(text: str, type_: t.DataType) -> n.Node | None:
    """Return Spark's replacement for a cast of 'today', 'now', 'yesterday', 'tomorrow' or 'epoch'; None for others."""
    word = text.strip().lower()
    if word == "epoch":
        return n.Literal(0, type_)
    if word == "now" and type_ != t.DATE:
        return n.Call("now" if type_ == t.TIMESTAMP else "localtimestamp", (), type_)
    days = {"now": 0, "today": 0, "yesterday": -1, "tomorrow": 1}.get(word)
    if days is None:
        return None
    today = n.Call("current_date", (), t.DATE)
    day = today if not days else n.Call("date_add", (today, n.Literal(days, t.INTEGER)), t.DATE)
    return day if type_ == t.DATE else n.Cast(day, type_)


@deep
def at_time(node: n.Node, now_micros: int, time_zone: str, columns: Collection[str]) -> n.Node:
    """Replace the functions of an unbound expression that return the time of a statement by the time `now_micros`.

    columns: Names of columns, which take precedence over functions without parentheses.
    """
    match node:
        case n.Column((name,)) if name.lower() not in LITERAL_FUNCTIONS or name.lower() in map(str.lower, columns):
            return node
        case n.Call(name, ()) | n.Column((name,)) if (type_ := PRESENT.get(name.lower())) is not None:
            if type_ == t.LONG:
                return n.Literal(now_micros // calendar.MICROS_PER_SECOND, t.LONG)
            if type_ == t.TIMESTAMP:
                return n.Literal(now_micros, t.TIMESTAMP)
            local = calendar.local_of(now_micros, calendar.zone_of(time_zone))
            return n.Literal(local // calendar.MICROS_PER_DAY if type_ == t.DATE else local, type_)
        case _:
            return n.transform(node, lambda each: at_time(each, now_micros, time_zone, columns))


@dataclass(frozen=True, slots=True)
class Clock:
    """The instants at which a query may run.

    planned_at: The time of the plan, in microseconds since the epoch.
    time_zone: The session's time zone; None if unknown.
    """

    planned_at: int
    time_zone: str | None

    def weakest(self, leaf: n.Node) -> n.Node | None:
        """Return a condition without the clock that is TRUE wherever `leaf` is TRUE at some instant, or None."""
        try:
            return self._weakest(leaf)
        except (_Unordered, EvaluationError):
            return None

    def bounds(self, leaf: n.Node) -> bool:
        """Whether the weakest condition depends on the time of the plan, so that later plans may prune other files."""
        later = replace(self, planned_at=self.planned_at + 3650 * calendar.MICROS_PER_DAY)
        return self.weakest(leaf) != later.weakest(leaf)

    def _weakest(self, leaf: n.Node) -> n.Node:
        match leaf:
            case n.Compare(op, left, right):
                return self._compared(op, left, right)
            case n.In(child, values):
                return n.Or(tuple(self._compared("=", child, value) for value in values))
            case n.IsNull(child) if not any(isinstance(part, n.FieldRef) for part in n.operations(child)):
                self._ends(child)
                return FALSE_LITERAL
            case n.Not(n.IsNull(child)) if not any(isinstance(part, n.FieldRef) for part in n.operations(child)):
                self._ends(child)
                return TRUE_LITERAL
        raise _Unordered

    def _compared(self, op: str, left: n.Node, right: n.Node) -> n.Node:
        match op:
            case "<" | "<=":
                return _either(op, self._sides(left, True), self._sides(right, False))
            case ">" | ">=":
                return _either(op, self._sides(left, False), self._sides(right, True))
            case "!=":
                steady = [side for side in (left, right) if not reads_clock(side)]
                return n.Not(n.IsNull(steady[0])) if steady else TRUE_LITERAL
            case "<=>" if _mixes(left) or _mixes(right):
                raise _Unordered
        return n.And((self._compared("<=", left, right), self._compared(">=", left, right)))

    def _sides(self, node: n.Node, least: bool) -> list[n.Node]:
        """The least or greatest value of a side of a comparison; both values if it may wrap around."""
        return list(self._ends(node)) if _mixes(node) else [self._end(node, least)]

    def _ends(self, node: n.Node) -> tuple[n.Node, n.Node]:
        """The least and the greatest value of the node, without the clock."""
        return self._end(node, True), self._end(node, False)

    @deep
    def _end(self, node: n.Node, least: bool) -> n.Node:
        if not reads_clock(node):
            return node
        match node:
            case n.Call(name, ()) if name in PRESENT:
                return self._read(PRESENT[name], least)
            case n.Cast(child, target):
                return self._cast(child, target, least)
            case n.Call(name, (one, other), type_) if name in _SCALES:
                if reads_clock(other) or not _is_positive(other):
                    raise _Unordered
                return self._computed(n.Call(name, (self._end(one, least), other), type_))
            case n.Call(name, args, type_) if (row := FUNCTIONS.get(name)) and len(args) == len(row.directions):
                if type_ == t.STRING:
                    self._check_texts(node)
                ends = [
                    self._argument(arg, direction, least) for arg, direction in zip(args, row.directions, strict=True)
                ]
                computed = n.Call(name, tuple(ends), type_)
                return self._in_zone(computed, least) if row.zoned and len(args) > 1 else self._computed(computed)
        raise _Unordered

    def _argument(self, arg: n.Node, direction: int, least: bool) -> n.Node:
        if not reads_clock(arg):
            return arg
        if not direction:
            raise _Unordered
        return self._end(arg, least == (direction > 0))

    def _read(self, type_: t.DataType, least: bool) -> n.Literal:
        """The least or greatest value of a function of the clock."""
        instant = self.planned_at - SLACK if least else _LATEST
        if type_ == t.LONG:
            return n.Literal(instant // calendar.MICROS_PER_SECOND, t.LONG)
        if type_ == t.TIMESTAMP:
            return n.Literal(instant, t.TIMESTAMP)
        local = self._local(instant, least)
        return n.Literal(local // calendar.MICROS_PER_DAY if type_ == t.DATE else local, type_)

    def _local(self, instant: int, least: bool) -> int:
        return calendar.local_of(self._widened(instant, least), calendar.zone_of(self.time_zone or "UTC"))

    def _widened(self, value: int, least: bool) -> int:
        """An instant or local time to convert, moved earlier or later by the most that local time can go back."""
        if self.time_zone is None:
            by = calendar.GREATEST_OFFSET_MICROS
        else:
            by = _LONGEST_CHANGE if calendar.near_clock_change(value, calendar.zone_of(self.time_zone)) else 0
        return value - by if least else value + by

    def _cast(self, child: n.Node, target: t.DataType, least: bool) -> n.Node:
        source = type_of(child)
        if source == t.STRING and target in t.INTEGRAL_BITS:
            match child:
                case n.Call("date_format", (_, n.Literal(str() as pattern))) if _DIGITS.fullmatch(pattern):
                    return self._computed(n.Cast(self._end(child, least), target))
            raise _Unordered
        if source in t.DATETIMES and target == t.STRING:
            self._check_texts(n.Cast(child, target))
        elif not _rises(source, target):
            raise _Unordered
        end = self._end(child, least)
        if t.TIMESTAMP in (source, target) and source in t.DATETIMES and target in (*t.DATETIMES, t.STRING):
            return self._in_zone(n.Cast(end, target), least)
        return self._computed(n.Cast(end, target))

    def _in_zone(self, node: n.Node, least: bool) -> n.Node:
        """The value of a function that depends on the time zone, with its constant argument and its result widened."""
        [source, *rest] = [child for child in n.children_of(node) if type_of(child) in t.DATETIMES]
        if rest or not isinstance(source, n.Literal) or not isinstance(source.value, int):
            raise _Unordered
        given = source
        if source.type == t.TIMESTAMP:
            given = n.Literal(self._widened(source.value, least), t.TIMESTAMP)
        found = self._computed(_with(node, source, given), least)
        if isinstance(found, n.Literal) and found.type == t.TIMESTAMP and isinstance(found.value, int):
            return n.Literal(self._widened(found.value, least), t.TIMESTAMP)
        return found

    def _check_texts(self, node: n.Node) -> None:
        """Raise unless all formatted times between the ends have years of four digits and so sort as the times do."""
        child = n.children_of(node)[0]
        if isinstance(node, n.Call) and not (
            isinstance(node.args[1], n.Literal) and _ORDERED.fullmatch(str(node.args[1].value))
        ):
            raise _Unordered
        for end in self._ends(child):
            text = self._computed(_with(node, child, end))
            if not (isinstance(text, n.Literal) and isinstance(text.value, str) and _YEAR.fullmatch(text.value)):
                raise _Unordered

    def _computed(self, node: n.Node, least: bool = True) -> n.Node:
        """The value of a function of constants; a function of columns unchanged."""
        children = n.children_of(node)
        type_ = type_of(node)
        if type_ is None or any(isinstance(child, n.Opaque) for child in children):
            raise _Unordered
        if not all(isinstance(child, n.Literal) for child in children):
            if isinstance(node, n.Call) and node.name not in FUNCTIONS:
                raise _Unordered
            return node
        match node:
            case n.Call("add_interval", (n.Literal(int() as value, of), n.Literal() as interval)):
                return n.Literal(self._moved(value, of, interval, least), type_)
        return n.Literal(evaluate(node, {}, self.time_zone or "UTC"), type_)

    def _moved(self, value: int, type_: t.DataType, interval: n.Literal, least: bool) -> int:
        """A time plus an interval; near a clock change, widened by the change."""
        zone = calendar.zone_of(self.time_zone or "UTC")
        found = moved(value, type_, interval, zone)
        if type_ != t.TIMESTAMP or not any(amount_of(interval)[:2]) or not calendar.near_clock_change(found, zone):
            return found
        return found - _LONGEST_CHANGE if least else found + _LONGEST_CHANGE


class _Unordered(Exception):
    """The expression is not known to be monotone in the time."""


def _either(op: str, lefts: list[n.Node], rights: list[n.Node]) -> n.Node:
    """An expression that is TRUE if `op` holds for some left side and some right side."""
    found: dict[n.Node, None] = {}
    for left in lefts:
        for right in rights:
            compared: n.Node = n.Compare(op, left, right)
            if isinstance(left, n.Literal) and isinstance(right, n.Literal):
                compared = n.Literal(evaluate(compared, {}), t.BOOLEAN)
            found[compared] = None
    return next(iter(found)) if len(found) == 1 else n.Or(tuple(found))


def _rises(source: t.DataType | None, target: t.DataType) -> bool:
    """Whether a cast of times and numbers is monotone: all ANSI casts are, except from local times to numbers."""
    if target in t.DATETIMES:
        return source in t.DATETIMES or is_numeric(source)
    return is_numeric(target) and (is_numeric(source) or source == t.TIMESTAMP)


def _mixes(node: n.Node) -> bool:
    """Whether the node reads both the clock and columns."""
    return reads_clock(node) and any(isinstance(part, n.FieldRef) for part in n.operations(node))


def _is_positive(node: n.Node) -> bool:
    if isinstance(node, n.Cast):
        return _is_positive(node.child)
    return (
        isinstance(node, n.Literal) and is_numeric(node.type) and node.value is not None and float(str(node.value)) > 0
    )


def _with(node: n.Node, old: n.Node, new: n.Node) -> n.Node:
    match node:
        case n.Cast(_, target, safe):
            return n.Cast(new, target, safe)
        case n.Call(name, args, type_):
            return n.Call(name, tuple(new if arg is old else arg for arg in args), type_)
    raise _Unordered
