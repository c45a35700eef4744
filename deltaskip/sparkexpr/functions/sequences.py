"""`sequence(start, stop, step)` of numbers, dates and times.

# Spark 4.1, collectionOperations.scala: Sequence
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from deltaskip.sparkexpr.coerce import cast_to, common_type, type_of
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.functions.function import Function, Typed
from deltaskip.sparkexpr.nodes import Call, Node
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.sparkexpr.values.calendar import MICROS_PER_DAY, Zone, instant_of, local_of
from deltaskip.sparkexpr.values.dates import add_months
from deltaskip.sparkexpr.values.interval_types import INTERVALS, YEAR_MONTHS
from deltaskip.sparkexpr.values.lists import listed
from deltaskip.sparkexpr.values.strings import MOST_ELEMENTS

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


def _column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    """Sequences of integers, or of dates one day apart, for all rows."""
    assert isinstance(call.type, t.ArrayType)
    if call.type.element not in t.INTEGRAL_BITS and (call.type.element != t.DATE or len(args) == 3):
        raise v.NotByColumn
    rows = v.rows_of(args)
    start, stop = (np.broadcast_to(np.asarray(v.numbers(each), np.int64), rows) for each in args[:2])
    known = v.valid(*args)
    there = np.ones(rows, np.bool_) if known is None else known
    if max(int(np.abs(start[there]).max(initial=0)), int(np.abs(stop[there]).max(initial=0))) >= 1 << 61:
        raise v.NotByColumn
    step = np.where(start <= stop, 1, -1)
    if len(args) == 3:
        step = np.broadcast_to(np.asarray(v.numbers(args[2]), np.int64), rows)
    wrong = there & ((step == 0) | ((stop - start > 0) & (step < 0)) | ((stop - start < 0) & (step > 0)))
    if wrong.any():
        raise v.NotByColumn
    lengths = np.where(there, (stop - start) // np.where(step == 0, 1, step) + 1, 0)
    if lengths.max(initial=0) >= MOST_ELEMENTS or lengths.sum() > v.MOST_TOGETHER >> 3:
        raise v.NotByColumn
    ends = np.cumsum(lengths)
    number = np.arange(ends[-1] if rows else 0) - np.repeat(ends - lengths, lengths)
    found = np.repeat(start, lengths) + number * np.repeat(step, lengths)
    element = arrow_type(call.type.element)
    inner = arrow_array(found).cast(pa.int32() if element == pa.date32() else element)
    return listed(lengths, there, inner.view(element))


SEQUENCES: Mapping[str, Function] = {"sequence": Function(_signature, _sequence, by_column=_column)}
