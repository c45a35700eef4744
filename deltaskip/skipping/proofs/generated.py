"""Predicates on generated columns that follow from predicates on their sources.

If a row makes the predicate TRUE, its source value s is in the set X of values that the predicate admits, and the
generated column g contains E(s), or NULL if the writer's session returned NULL: "g IS NULL or g in E(X)" is necessary.
If E is NULL only where its input is NULL, "g in E(X)" is necessary, and so is "g IS NOT NULL" without X, unless E(X)
contains the empty string, which the log stores as NULL; and if X is only NULL and E(NULL) is NULL, "g IS NULL" is
necessary.

* Points of X: E of each point, for any E.
* Spans of X under a monotone E: E(s) is between E of the two ends. E must have a value at both ends, so that nothing in
  between overflows (a session without ANSI mode wraps around); otherwise nothing follows.
* Fields that repeat (month, day, hour): E of every cell that a short span overlaps.
* Year, month, day and hour as several columns: their tuple is monotone.
* A predicate that reads E(s) itself: g replaces it.

If E depends on the time zone of the writer's session, local time is within a day of UTC: the ends move outwards by a
day. For dates it matters only where a zone skipped a day, as local midnight of that day is midnight of the next one.
Formatted times sort as times do in years 0 to 9999; earlier ones begin with "-", later ones with "+".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from deltaskip.skipping.proofs import transforms
from deltaskip.skipping.proofs.preimage.preimage import steps_of
from deltaskip.skipping.proofs.preimage.value_sets import ValueSet
from deltaskip.sparkexpr import EvaluationError, nodes
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.preimages import Domain, Periodic, Spans, domain_of, following, value_at
from deltaskip.sparkexpr.values.calendar import MICROS_PER_DAY, MICROS_PER_HOUR, days_from_civil

_MOST_POINTS = 1000
_MOST_SPANS = 64
_MOST_CELLS = 62 * 24
_COUNTED = (t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.DATE)
_CALENDAR = ("year", "month", "dayofmonth", "hour")
_FIRST_YEAR, _LAST_YEAR = days_from_civil(0, 1, 1), days_from_civil(10_000, 1, 1) - 1
# Days that some time zone skipped when it crossed the date line, and their neighbors.
_LEFT_OUT = frozenset(
    days_from_civil(*day) + n
    for day in ((1844, 12, 31), (1993, 8, 21), (1994, 12, 31), (1995, 1, 1), (2011, 12, 30))
    for n in (-1, 0, 1)
)


def derive(
    derived: Sequence[transforms.Derived],
    leaves: Sequence[nodes.Node],
    found: tuple[nodes.FieldRef, ValueSet] | None,
    time_zone: str = "UTC",
) -> Iterator[nodes.Node]:
    """Yield predicates on generated columns that are TRUE for each row that makes all of `leaves` TRUE.

    Args:
        derived: The generated columns.
        leaves: Leaves of one AND.
        found: The column that the leaves read, and the values that they admit, if known.
        time_zone: The session's time zone.
    """
    for one in derived:
        if _excludes_null(one, leaves, time_zone):
            yield nodes.Not(nodes.IsNull(one.column))
        expression = transforms.expression_of(one)
        for leaf in leaves:
            on_column = leaf if expression is None else nodes.with_node_replaced(leaf, expression, one.column)
            if on_column != leaf:
                yield _or_null([one], on_column)
    if found is None:
        return
    column, values = found
    of_column = [one for one in derived if one.source == column]
    for one in of_column:
        image = _image(one, values)
        if image is not None:
            yield _or_null([one], image, values.null)
        elif values.null and not values.spans and _is_null_of_null(one):
            yield nodes.IsNull(one.column)
    calendar = _calendar(of_column)
    if len(calendar) > 1 and not values.null:
        image = _tuples(calendar, values)
        if image is not None:
            yield _or_null(calendar, image)


def _excludes_null(one: transforms.Derived, leaves: Sequence[nodes.Node], time_zone: str) -> bool:
    """Whether every source value for which a partition column stores NULL makes one of the leaves not TRUE."""
    reading = [leaf for leaf in leaves if one.source in nodes.walk(leaf)]
    values = transforms.null_sources(one) if reading else None
    return values is not None and all(
        any(_is_not_true(leaf, one.source, each, time_zone) for leaf in reading) for each in values
    )


def _is_not_true(leaf: nodes.Node, source: nodes.FieldRef, value: Any, time_zone: str) -> bool:
    match leaf:
        case nodes.Compare(op, left, right) if op != "<=>" and value is None and source in (left, right):
            return True
    try:
        return evaluate(leaf, {source.logical: value}, time_zone) is not True
    except EvaluationError:
        # The leaf reads other columns, or only Spark can evaluate it.
        return False


def _or_null(columns: Sequence[transforms.Derived], condition: nodes.Node, of_null: bool = False) -> nodes.Node:
    """The condition, or NULL in a column that may be NULL. of_null: Whether the source may be NULL."""
    nulls = [nodes.IsNull(one.column) for one in columns if of_null or _may_be_null(one, condition)]
    return nodes.Or((*nulls, condition)) if nulls else condition


def _may_be_null(one: transforms.Derived, condition: nodes.Node) -> bool:
    """Whether a column may be NULL in a row whose source is not NULL and for which the rule satisfies the condition."""
    values = transforms.written_as_null(one)
    try:
        return values is None or any(evaluate(condition, {one.column.logical: value}) is True for value in values)
    except EvaluationError:
        return True


def _is_null_of_null(one: transforms.Derived) -> bool:
    try:
        return transforms.value_of(one, None) is None
    except EvaluationError:
        return False


def _image(one: transforms.Derived, values: ValueSet) -> nodes.Node | None:
    """A predicate that the generated column satisfies for every source value in the set; None without one."""
    domain = domain_of(one.source.type)
    if domain is None or values.spans == domain.all:
        return None
    conditions: list[nodes.Node] = []
    try:
        if values.null and (of_null := transforms.value_of(one, None)) is not None:
            conditions.append(_equal(one, [of_null]))
        points = None if transforms.reads_zone(one) else _points(one, values.spans)
        if points is not None:
            results = [transforms.value_of(one, point) for point in points]
            return nodes.Or((*conditions, _equal(one, results))) if conditions else _equal(one, results)
        for low, stop in _few(values.spans):
            condition = _of_span(one, low, stop, domain)
            if condition is None:
                return None
            conditions.append(condition)
    except EvaluationError:
        return None
    return conditions[0] if len(conditions) == 1 else nodes.Or(tuple(conditions)) if conditions else None


def _equal(one: transforms.Derived, results: Sequence[Any]) -> nodes.Node:
    """NULL among the results is left out: a generated NULL always matches."""
    distinct = list(dict.fromkeys(result for result in results if result is not None))
    return nodes.In(one.column, tuple(nodes.Literal(result, one.column.type) for result in distinct or [None]))


def _points(one: transforms.Derived, spans: Spans) -> list[Any] | None:
    """Every value in the spans; None if there are too many."""
    type_ = one.source.type
    found: list[Any] = []
    for low, stop in spans:
        if stop == following(low):
            found.append(value_at(type_, low))
            if type_ in t.FLOATING and low == 0:
                found.append(-0.0)
        elif type_ in _COUNTED and stop - low <= _MOST_POINTS:
            found.extend(range(low, stop))
        else:
            return None
        if len(found) > _MOST_POINTS:
            return None
    return found


def _few(spans: Spans) -> Spans:
    return spans if len(spans) <= _MOST_SPANS else ((spans[0][0], spans[-1][1]),)


def _of_span(one: transforms.Derived, low: Any, stop: Any, domain: Domain) -> nodes.Node | None:
    if one.source.type == t.STRING:
        return _of_texts(one, low, stop, domain)
    rises = transforms.direction(one)
    if rises is None:
        return _cells(one, low, stop)
    first, last = _ends(one, low, stop, domain)
    wrapping = transforms.wrapping_values(one)
    if wrapping is not None and first < wrapping[0]:
        wrapped = nodes.Compare("=", one.column, nodes.Literal(wrapping[1], one.column.type))
        if last < wrapping[0]:
            return wrapped
        inside = _of_span(one, wrapping[0], stop, domain)
        return None if inside is None else nodes.Or((inside, wrapped))
    if one.column.type == t.STRING and one.source.type in t.DATETIMES:
        rule = one.column if isinstance(one.rule, transforms.ColumnTransform) else one.rule
        if any(isinstance(part, nodes.Call) and part.name == "concat" for part in nodes.walk(rule)):
            return None
        return _texts_of_times(one, first, last)
    results = [transforms.value_of(one, value_at(one.source.type, end)) for end in (first, last)]
    if None in results:
        return None
    least, most = results if rises else results[::-1]
    if least > most:
        # One of the ends wrapped around.
        return None
    has_least, has_most = (low > domain.low, stop < domain.stop)
    if not rises:
        has_least, has_most = has_most, has_least
    if transforms.reads_zone(one) and one.column.type == t.TIMESTAMP:
        least, most = _moved(least, -MICROS_PER_DAY), _moved(most, MICROS_PER_DAY)
    return _between(one, least if has_least else None, most if has_most else None)


def _ends(one: transforms.Derived, low: Any, stop: Any, domain: Domain) -> tuple[Any, Any]:
    """The first and last ordinal of a span, moved outwards as far as a writer's time zone may require."""
    first, last = low, stop - 1
    if transforms.reads_zone(one):
        if one.source.type == t.DATE:
            last += last in _LEFT_OUT
        else:
            first, last = first - MICROS_PER_DAY, last + MICROS_PER_DAY
    return max(first, domain.low), min(last, domain.stop - 1)


def _between(one: transforms.Derived, least: Any, most: Any) -> nodes.Node | None:
    parts: list[nodes.Node] = []
    if least is not None:
        parts.append(nodes.Compare(">=", one.column, nodes.Literal(least, one.column.type)))
    if most is not None:
        parts.append(nodes.Compare("<=", one.column, nodes.Literal(most, one.column.type)))
    return None if not parts else parts[0] if len(parts) == 1 else nodes.And(tuple(parts))


def _texts_of_times(one: transforms.Derived, first: int, last: int) -> nodes.Node | None:
    unit = 1 if one.source.type == t.DATE else MICROS_PER_DAY
    start, end = _FIRST_YEAR * unit, (_LAST_YEAR + 1) * unit - 1
    if last < start or first > end:
        return None
    least, most = transforms.value_of(one, max(first, start)), transforms.value_of(one, min(last, end))
    inside = _between(one, least, most)
    outside: list[nodes.Node] = []
    if first < start:
        outside.append(nodes.StartsWith(one.column, nodes.Literal("-", t.STRING)))
    if last > end:
        outside.append(nodes.StartsWith(one.column, nodes.Literal("+", t.STRING)))
    return inside if inside is None or not outside else nodes.Or((inside, *outside))


def _of_texts(one: transforms.Derived, low: bytes, stop: bytes, domain: Domain) -> nodes.Node | None:
    """Ends that are not UTF-8 are a prefix with its last byte incremented: strings with the prefix are below."""
    if transforms.direction(one) is not True or one.column.type != t.STRING:
        return None
    least = transforms.value_of(one, low.decode()) if _is_text(low) else None
    if stop == domain.stop:
        return _between(one, least, None)
    if stop.endswith(b"\0"):
        return _between(one, least, transforms.value_of(one, stop[:-1].decode()))
    if low and stop == low[:-1] + bytes([low[-1] + 1]):
        # Exactly the strings with this prefix: E of each starts with E of the prefix, as E only truncates and prepends.
        return nodes.StartsWith(one.column, nodes.Literal(least, t.STRING)) if least is not None else None
    return _between(one, least, transforms.value_of(one, stop.decode()) if _is_text(stop) else None)


def _is_text(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _cells(one: transforms.Derived, low: int, stop: int) -> nodes.Node | None:
    """A field of times that repeats: its values in every hour of a short span."""
    if not _repeats(one.rule) or one.source.type not in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
        return None
    around = MICROS_PER_DAY if transforms.reads_zone(one) else 0
    first, last = (low - around) // MICROS_PER_HOUR, (stop - 1 + around) // MICROS_PER_HOUR
    if last - first >= _MOST_CELLS:
        return None
    return _equal(one, [transforms.value_of(one, cell * MICROS_PER_HOUR) for cell in range(first, last + 1)])


def _repeats(rule: object) -> bool:
    """Whether the rule is a field that repeats and has one value in every hour."""
    if not isinstance(rule, nodes.Call) or _field_name(rule) is None:
        return False
    found = steps_of(rule, "UTC")
    # The cells of fields of dates are days.
    return found is not None and any(
        isinstance(step, Periodic) and (step.grain == 1 or step.grain % MICROS_PER_HOUR == 0) for step in found[1]
    )


def _field_name(rule: object) -> str | None:
    """The name of a date or time field that is read from the source, cast or not."""
    if not isinstance(rule, nodes.Call) or len(rule.args) != 1:
        return None
    arg = rule.args[0]
    while isinstance(arg, nodes.Cast) and arg.type in t.DATETIMES and not arg.safe:
        arg = arg.child
    return rule.name if isinstance(arg, nodes.FieldRef) else None


def _calendar(derived: Sequence[transforms.Derived]) -> list[transforms.Derived]:
    """The columns that contain year, month, day and hour, starting with the year and without a gap."""
    found: list[transforms.Derived] = []
    for name in _CALENDAR:
        one = next((d for d in derived if _field_name(d.rule) == name and d.source.type in t.DATETIMES), None)
        if one is None:
            break
        found.append(one)
    return found


def _tuples(columns: Sequence[transforms.Derived], values: ValueSet) -> nodes.Node | None:
    domain = domain_of(columns[0].source.type)
    if domain is None or values.spans == domain.all or not values.spans:
        return None
    spans: list[nodes.Node] = []
    try:
        for low, stop in _few(values.spans):
            ends = [_ends(one, low, stop, domain) for one in columns]
            first, last = min(end[0] for end in ends), max(end[1] for end in ends)
            parts: list[nodes.Node] = []
            if low > domain.low:
                parts.append(_lexicographic(columns, [transforms.value_of(one, first) for one in columns], ">"))
            if stop < domain.stop:
                parts.append(_lexicographic(columns, [transforms.value_of(one, last) for one in columns], "<"))
            spans.append(parts[0] if len(parts) == 1 else nodes.And(tuple(parts)))
    except EvaluationError:
        return None
    return spans[0] if len(spans) == 1 else nodes.Or(tuple(spans))


def _lexicographic(columns: Sequence[transforms.Derived], bounds: Sequence[Any], op: str) -> nodes.Node:
    column, bound = columns[0].column, nodes.Literal(bounds[0], columns[0].column.type)
    if len(columns) == 1:
        return nodes.Compare(op + "=", column, bound)
    rest = _lexicographic(columns[1:], bounds[1:], op)
    return nodes.Or((nodes.Compare(op, column, bound), nodes.And((nodes.Compare("=", column, bound), rest))))


def _moved(micros: int, by: int) -> int:
    return max(t.LONG_MIN, min(t.LONG_MAX, micros + by))
