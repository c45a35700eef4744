"""Functions that compare the elements of arrays for equality, and `sequence` of numbers, dates and times.

# Spark 4.1, collectionOperations.scala
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.coerce import cast_to, common_type, is_orderable, type_of
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions import array_types
from deltaskip.sparkexpr.functions.function import Function, FunctionRow, Signature, Typed, by_row
from deltaskip.sparkexpr.nodes import Call, Node
from deltaskip.sparkexpr.preimages.monotone import listed_in
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.data_types import BOOLEAN, LONG, VOID, ArrayType, DataType
from deltaskip.sparkexpr.values import lists as ls
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, numpy_values, one_chunk, true_rows
from deltaskip.sparkexpr.values.calendar import MICROS_PER_DAY, Zone, instant_of, local_of
from deltaskip.sparkexpr.values.comparisons import compare_values
from deltaskip.sparkexpr.values.dates import add_months
from deltaskip.sparkexpr.values.interval_types import INTERVALS, YEAR_MONTHS
from deltaskip.sparkexpr.values.strings import MOST_ELEMENTS


def _contains_signature(result: DataType) -> Signature:
    """Accept an array and a value, cast to the common element type."""

    def signature(args: tuple[Node, ...]) -> Typed:
        found = array_types.with_value(args, widens_decimals=result == BOOLEAN) if len(args) == 2 else None
        if found is None or not is_orderable(found[0].element):
            return None
        if result == BOOLEAN and VOID in (type_of(args[0]), type_of(args[1])):
            return None
        return found[1], result

    return signature


def _contains(values: tuple[Any, ...], wanted: object) -> object:
    if any(each is not None and compare_values(each, wanted) == 0 for each in values):
        return True
    return None if None in values else False


def _position(values: tuple[Any, ...], wanted: object) -> int:
    equal = (at for at, each in enumerate(values, 1) if each is not None and compare_values(each, wanted) == 0)
    return next(equal, 0)


def _equal_elements(args: Sequence[v.Values]) -> tuple[ls.Lists, np.ndarray, pa.Array]:
    """The lists, a mask of the elements that are equal to the value of their row, and the elements."""
    array = v.column(args[0])
    lists = ls.lists_of(array)
    elements = ls.elements_of(array.values, lists)
    if pa.types.is_nested(elements.type):
        raise v.NotByColumn
    wanted = args[1] if v.is_constant(args[1]) else one_chunk(args[1].take(arrow_array(lists.owners())))
    left = elements
    if pa.types.is_floating(elements.type):
        wanted = v.ordered_floats(v.as_array(wanted, 1))
        left, wanted = v.ordered_floats(elements), wanted[0] if v.is_constant(args[1]) else wanted
    return lists, true_rows(pc.equal(left, wanted)), elements


def _contains_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    lists, equal, elements = _equal_elements(args)
    found = ls.flagged_elements(lists, equal) > 0
    there = lists.valid
    if elements.null_count:
        there = there & (found | (ls.flagged_elements(lists, numpy_values(elements.is_null())) == 0))
    if not v.is_constant(args[1]):
        there = there & array_types.valid_rows(args[1])
    values = arrow_array(found)
    return values if there.all() else pc.if_else(arrow_array(there), values, arrow_scalar(None, pa.bool_()))


def _position_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    lists, equal, _ = _equal_elements(args)
    found = np.zeros(len(lists.starts), np.int64)
    hits = np.flatnonzero(equal)[::-1]
    found[lists.owners()[hits]] = lists.numbers()[hits] + 1
    return v.made(found, pa.int64(), *args)


def _remove_signature(args: tuple[Node, ...]) -> Typed:
    found = array_types.with_value(args) if len(args) == 2 else None
    return None if found is None or not is_orderable(found[0].element) else (found[1], found[0])


def _remove_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    lists, equal, _ = _equal_elements(args)
    owners, kept = lists.owners(), ~equal
    elements = args[0].values.take(arrow_array(lists.places()[kept]))
    there = lists.valid if v.is_constant(args[1]) else lists.valid & array_types.valid_rows(args[1])
    kept_there = kept & there[owners]
    if not kept_there[kept].all():
        elements = args[0].values.take(arrow_array(lists.places()[kept_there]))
    return ls.listed(np.bincount(owners[kept_there], minlength=len(there)), there, elements)


def _of_two(result: Callable[[ArrayType, ArrayType], DataType]) -> Signature:
    """Accept two arrays of a common type with comparable elements. `result` returns the type of their result."""

    def signature(args: tuple[Node, ...]) -> Typed:
        arrays = [array for arg in args if (array := array_types.array_type(arg)) is not None]
        if len(args) != 2 or len(arrays) != 2:
            return None
        met = array_types.plain_wider(arrays[0].element, arrays[1].element)
        if met is None or not is_orderable(met):
            return None
        one, other = (ArrayType(met, array.contains_null) for array in arrays)
        return (cast_to(args[0], one), cast_to(args[1], other)), result(one, other)

    return signature


def _distinct(values: tuple[Any, ...]) -> tuple[Any, ...]:
    ls.check_zeros(values)
    found: dict[Any, Any] = {}
    for each in values:
        found.setdefault(ls.distinct_key(each), each)
    return tuple(found.values())


def _chosen(shared: bool, values: tuple[Any, ...], other: tuple[Any, ...]) -> object:
    """The distinct values that the other array has, or does not have."""
    ls.check_zeros(other)
    others = set(map(ls.distinct_key, other))
    return tuple([each for each in _distinct(values) if (ls.distinct_key(each) in others) is shared])


def _overlap(left: tuple[Any, ...], right: tuple[Any, ...]) -> object:
    others = {ls.distinct_key(each) for each in right if each is not None}
    if any(ls.distinct_key(each) in others for each in left if each is not None):
        return True
    return None if left and right and (None in left or None in right) else False


def _both(args: Sequence[v.Values]) -> tuple[np.ndarray, list[ls.Lists], list[pa.Array]]:
    """A mask of the rows without null arrays, the lists, which are empty in other rows, and their elements."""
    arrays = v.expanded(args)
    there, lists = ls.aligned(arrays)
    return there, lists, [ls.elements_of(a.values, each) for a, each in zip(arrays, lists, strict=True)]


def _set_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    """`array_distinct(array)`, `array_intersect(one, other)` and `array_except(one, other)`."""
    there, lists, elements = _both(args)
    if any(map(ls.has_negative_zero, elements)):
        raise v.NotByColumn
    codes, count = ls.coded(*elements)
    kept = ~ls.repeats(lists[0].lengths, codes[0], count)
    if len(args) == 2:
        inside = ls.among(lists[0].lengths, codes[0], lists[1].lengths, codes[1], count)
        kept &= inside if call.name == "array_intersect" else ~inside
    return ls.listed(ls.flagged_elements(lists[0], kept), there, elements[0].filter(arrow_array(kept)))


def _union_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    there, lists, elements = _both(args)
    parts = [
        (ls.Lists(np.cumsum(each.lengths) - each.lengths, each.lengths, there), given)
        for each, given in zip(lists, elements, strict=True)
    ]
    return _set_column([ls.chained(parts, there)], call, zone)


def _overlap_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    there, (left, right), elements = _both(args)
    (codes, others), count = ls.coded(*elements)
    nulls = [numpy_values(each.is_null()) for each in elements]
    hit = ls.among(left.lengths, codes, right.lengths, others, count) & ~nulls[0]
    found = np.zeros(len(there), np.bool_)
    found[left.owners()[hit]] = True
    unknown = np.zeros(len(there), np.bool_)
    for lists, null in zip((left, right), nulls, strict=True):
        unknown[lists.owners()[null]] = True
    unknown &= ~found & (left.lengths > 0) & (right.lengths > 0)
    return pc.if_else(arrow_array(there & ~unknown), arrow_array(found), arrow_scalar(None, pa.bool_()))


ARRAY_SETS: Mapping[str, FunctionRow] = {
    "array_contains": Function(
        _contains_signature(BOOLEAN), by_row(_contains), by_column=_contains_column, preimage=listed_in
    ),
    "array_position": Function(_contains_signature(LONG), by_row(_position), by_column=_position_column),
    "array_remove": Function(
        _remove_signature,
        by_row(lambda values, value: tuple([x for x in values if x is None or compare_values(x, value) != 0])),
        by_column=_remove_column,
    ),
    "array_distinct": Function(
        array_types.array_to(array_types.ordered_array), by_row(_distinct), by_column=_set_column
    ),
    "array_union": Function(
        _of_two(lambda one, other: ArrayType(one.element, one.contains_null or other.contains_null)),
        by_row(lambda one, other: _distinct((*one, *other))),
        by_column=_union_column,
    ),
    "array_intersect": Function(
        _of_two(lambda one, other: ArrayType(one.element, one.contains_null and other.contains_null)),
        by_row(partial(_chosen, True)),
        by_column=_set_column,
    ),
    "array_except": Function(_of_two(lambda one, other: one), by_row(partial(_chosen, False)), by_column=_set_column),
    "arrays_overlap": Function(_of_two(lambda one, other: BOOLEAN), by_row(_overlap), by_column=_overlap_column),
}


_MOST_MICROS = 1 << 62


def _signature(args: tuple[Node, ...]) -> Typed:
    if not 2 <= len(args) <= 3:
        return None
    types = [type_ for arg in args if (type_ := type_of(arg)) is not None]
    ends = [type_ for type_ in types[:2] if type_ != t.VOID]
    if len(types) < len(args) or not ends:
        return None
    if all(type_ in t.INTEGRAL_BITS or type_ == t.VOID for type_ in types):
        met = common_type(types)
        return None if met is None else (tuple(cast_to(arg, met) for arg in args), t.ArrayType(met, False))
    if all(type_ in t.DATETIMES for type_ in ends) and all(step in INTERVALS for step in types[2:]):
        met = common_type(types[:2])
        return None if met is None else ((*(cast_to(arg, met) for arg in args[:2]), *args[2:]), t.ArrayType(met, False))
    return None


def _sequence(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    assert isinstance(call.type, t.ArrayType)
    type_ = call.type.element
    start, stop = args[0], args[1]
    if type_ in t.INTEGRAL_BITS:
        step = args[2] if len(args) == 3 else 1 if start <= stop else -1
        _check(start, stop, step)
        if step == 0:
            return (start,)
        if (stop - start) // step >= MOST_ELEMENTS:
            raise Undecided("Very long arrays are left to Spark.")
        return tuple(range(start, stop + (1 if step > 0 else -1), step))
    months = 0
    days = 1 if start <= stop else -1
    micros = 0
    if len(args) == 3 and type_of(call.args[2]) in YEAR_MONTHS:
        months, days = args[2], 0
    elif len(args) == 3:
        # Spark rounds the days of a negative interval towards zero.
        days = abs(args[2]) // MICROS_PER_DAY * (1 if args[2] >= 0 else -1)
        micros = args[2] - days * MICROS_PER_DAY
    if type_ == t.DATE:
        if micros or not (months or days):
            raise EvaluationError("The step of a sequence of dates must be a whole number of days or months.")
        return _dates(start, stop, months, days)
    if type_ == t.TIMESTAMP and zone.rules is not None:
        raise Undecided("A sequence of timestamps in a time zone with clock changes is left to Spark.")
    return _times(start, stop, (months, days, micros), zone if type_ == t.TIMESTAMP else None)


def _check(start: int, stop: int, step: int) -> None:
    if not (start == stop or (step > 0 and start < stop) or (step < 0 and start > stop)):
        raise EvaluationError(f"A sequence does not lead from {start} to {stop} by {step}.")


def _dates(start: int, stop: int, months: int, days: int) -> tuple[int, ...]:
    step = months or days
    _check(start, stop, step)
    if abs(stop - start) // (28 * abs(months) or abs(days)) >= MOST_ELEMENTS:
        raise Undecided("Very long arrays are left to Spark.")
    found: list[int] = []
    at = start
    while at <= stop if step > 0 else at >= stop:
        found.append(at)
        count = len(found)
        at = add_months(start, count * months) if months else start + count * days
    return tuple(found)


def _times(start: int, stop: int, step: tuple[int, int, int], zone: Zone | None) -> tuple[int, ...]:
    months, days, micros = step
    length = months * 28 * MICROS_PER_DAY + days * MICROS_PER_DAY + micros
    if max(abs(start), abs(stop)) >= _MOST_MICROS:
        raise Undecided("Times near the limits are left to Spark.")
    _check(start, stop, length)
    if not length:
        return (start,)
    if abs(stop - start) // abs(length) >= MOST_ELEMENTS:
        raise Undecided("Very long arrays are left to Spark.")
    local = start if zone is None else local_of(start, zone)
    day, time = divmod(local, MICROS_PER_DAY)
    found: list[int] = []
    at = start
    while at <= stop if length > 0 else at >= stop:
        found.append(at)
        count = len(found)
        moved = (add_months(day, count * months) + count * days) * MICROS_PER_DAY + time
        at = (moved if zone is None else instant_of(moved, zone)) + count * micros
    return tuple(found)


SEQUENCES: Mapping[str, Function] = {"sequence": Function(_signature, _sequence)}
