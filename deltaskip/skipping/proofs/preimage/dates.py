"""Steps of dates and timestamps: casts, fields, truncation, arithmetic of days and months, texts (see functions).

Local time is the instant plus an offset. In a fixed zone the offset is one number. In other zones it is between the
least and the greatest offset in the zone's history; these are found by sampling every few days, and widened by an hour
for other editions of the time zone database. Around a clock change Spark's optimizer may evaluate a cast through its
inverse (UnwrapCastInBinaryComparison): both ways use an offset between the two, so both are covered.

* Day, year, truncation to a unit, and text of years 0 to 9999 are non-decreasing in local time.
* Month, quarter, day, week and weekday repeat with the calendar after 400 years (146,097 days, a whole number of
  weeks); hour, minute and second after a day, an hour and a minute: Periodic.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from deltaskip.expr import dates
from deltaskip.expr.coerce import type_of
from deltaskip.expr.failures import EvaluationError
from deltaskip.expr.nodes import Call, Literal, Node
from deltaskip.expr.time_patterns import formatted
from deltaskip.schema.calendar import (
    MICROS_PER_DAY,
    MICROS_PER_SECOND,
    days_from_civil,
    format_date,
    format_timestamp,
    local_of,
    zone_of,
)
from deltaskip.schema.types import DATE, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType
from deltaskip.skipping.proofs.preimage.functions import (
    Clock,
    Floor,
    Monotone,
    Periodic,
    Piece,
    Shift,
    Step,
    Times,
    identity,
    rising,
)
from deltaskip.skipping.proofs.preimage.value_sets import LOCAL, Domain, domain_of

__all__ = ["date_call", "date_cast", "offsets"]

_CYCLE_DAYS = 146_097
_BEYOND = 1 << 80
_HOUR = 3_600 * MICROS_PER_SECOND
_FIRST_YEAR, _LAST_YEAR = days_from_civil(0, 1, 1), days_from_civil(10_000, 1, 1)
_LOOK_EVERY_DAYS = 8
_LOOK_FROM, _LOOK_TO = days_from_civil(1840, 1, 1), days_from_civil(2045, 1, 1)
_FIELDS_OF_FORMATS = ("yyyy", "MM", "dd", "HH", "mm", "ss")

_CYCLIC_FIELDS = ("quarter", "month", "dayofmonth", "dayofweek", "weekday", "dayofyear", "weekofyear")

_DATES = domain_of(DATE) or LOCAL
_INSTANTS = domain_of(TIMESTAMP) or LOCAL


_YEARS = rising(_DATES, lambda x: dates.date_field("year", x), near=lambda r: days_from_civil(r, 1, 1))


def date_cast(source: DataType, target: DataType, time_zone: str) -> tuple[Step, ...] | None:
    """Return the steps of a CAST between date, timestamp and timestamp_ntz, or from them to text, outermost first."""
    least, most = offsets(time_zone)
    to_local, to_instant = Clock(_INSTANTS, least, most), Clock(LOCAL, -most, -least)
    match source, target:
        case (s, t) if s == TIMESTAMP and t == DATE:
            return Floor(LOCAL, MICROS_PER_DAY), to_local
        case (s, t) if s == TIMESTAMP and t == TIMESTAMP_NTZ:
            return (to_local,)
        case (s, t) if s == TIMESTAMP and t == STRING:
            return _text_of_local(LOCAL), to_local
        case (s, t) if s == TIMESTAMP_NTZ and t == DATE:
            return (Floor(_INSTANTS, MICROS_PER_DAY),)
        case (s, t) if s == TIMESTAMP_NTZ and t == TIMESTAMP:
            return (Clock(_INSTANTS, -most, -least),)
        case (s, t) if s == TIMESTAMP_NTZ and t == STRING:
            return (_text_of_local(_INSTANTS),)
        case (s, t) if s == DATE and t == TIMESTAMP_NTZ:
            return (Times(_DATES, MICROS_PER_DAY),)
        case (s, t) if s == DATE and t == TIMESTAMP:
            return to_instant, Times(_DATES, MICROS_PER_DAY)
        case (s, t) if s == DATE and t == STRING:
            return (_within_years(_DATES, 1, lambda x: format_date(x).encode()),)
    return None


def date_call(call: Call, time_zone: str) -> tuple[Node, tuple[Step, ...]] | None:
    """Return the operand and the steps, outermost first, of a call on a date or timestamp and constants."""
    match call:
        case Call("year", (operand,)):
            return operand, (_YEARS,)
        case Call(name, (operand,)) if name in _CYCLIC_FIELDS:
            return operand, (_field_step(name),)
        case Call("hour" | "minute" | "second", (operand,)):
            return _time_field(call.name, operand, time_zone)
        case Call("trunc", (operand, Literal(str() as unit))) if dates.truncated_date(0, unit) is not None:
            return operand, (rising(_DATES, lambda x: dates.truncated_date(x, unit), near=_itself),)
        case Call("date_trunc", (Literal(str() as unit), operand)):
            return _date_trunc(unit, operand, time_zone)
        case Call("date_format", (operand, Literal(str() as pattern))) if _descends(pattern):
            least, most = offsets(time_zone)
            text = _within_years(LOCAL, MICROS_PER_DAY, lambda x: formatted(x, pattern).encode())
            return operand, (text, Clock(_INSTANTS, least, most))
        case Call("last_day", (operand,)):
            return operand, (rising(_DATES, dates.last_day, near=_itself),)
        case Call("add_months", (operand, Literal(int() as months))):
            return operand, (rising(_DATES, lambda x: _add_months(x, months), near=lambda r: r - months * 30),)
        case Call("date_add" | "+", (operand, Literal(int() as days))) if type_of(operand) == DATE:
            return operand, (Shift(_DATES, days),)
        case Call("date_sub" | "-", (operand, Literal(int() as days))) if type_of(operand) == DATE:
            return operand, (Shift(_DATES, -days),)
        case Call("+", (Literal(int() as days), operand)) if type_of(operand) == DATE:
            return operand, (Shift(_DATES, days),)
        case Call("datediff", (operand, Literal(int() as day))):
            return operand, (Shift(_DATES, -day),)
        case Call("datediff", (Literal(int() as day), operand)):
            return operand, (rising(_DATES, lambda x: day - x, falling=True, near=lambda r: day - r),)
        case Call("unix_timestamp", (operand,)):
            return operand, (rising(_INSTANTS, dates.whole_seconds, near=lambda r: r * MICROS_PER_SECOND),)
    return None


@cache
def offsets(time_zone: str) -> tuple[int, int]:
    """Return the least and the greatest offset of the zone from UTC, in microseconds."""
    zone = zone_of(time_zone)
    if zone.rules is None or time_zone.startswith("Etc/"):
        fixed = local_of(0, zone)
        return fixed, fixed
    days = range(_LOOK_FROM, _LOOK_TO, _LOOK_EVERY_DAYS)
    seen = {local_of(day * MICROS_PER_DAY, zone) - day * MICROS_PER_DAY for day in days}
    return min(seen) - _HOUR, max(seen) + _HOUR


def _time_field(name: str, operand: Node, time_zone: str) -> tuple[Node, tuple[Step, ...]]:
    grain, cells = {"hour": (_HOUR, 24), "minute": (_HOUR // 60, 60), "second": (MICROS_PER_SECOND, 60)}[name]
    numbers = np.arange(cells, dtype=np.int64)
    if type_of(operand) == TIMESTAMP_NTZ:
        return operand, (Periodic(_INSTANTS, grain, numbers),)
    return operand, (Periodic(LOCAL, grain, numbers), Clock(_INSTANTS, *offsets(time_zone)))


def _date_trunc(unit: str, operand: Node, time_zone: str) -> tuple[Node, tuple[Step, ...]] | None:
    utc = zone_of("UTC")
    if dates.truncated_timestamp(unit, 0, utc) is None:
        return None
    step = rising(LOCAL, lambda x: dates.truncated_timestamp(unit, x, utc), near=_itself)
    if unit.upper() in ("SECOND", "MILLISECOND", "MICROSECOND"):
        return operand, (step, identity(_INSTANTS))
    least, most = offsets(time_zone)
    return operand, (Clock(LOCAL, -most, -least), step, Clock(_INSTANTS, least, most))


@cache
def _field_step(name: str) -> Periodic:
    return Periodic(_DATES, 1, _fields(name))


def _itself(result: int) -> int:
    return result


def _add_months(days: int, months: int) -> int:
    try:
        return dates.add_months(days, months)
    except EvaluationError:
        return _BEYOND if months > 0 else -_BEYOND


def _descends(pattern: str) -> bool:
    """Whether the texts of a pattern sort as times do: year first, then each smaller unit once, without a gap."""
    try:
        sample = formatted(0, pattern)
    except EvaluationError:
        return False
    if not sample:
        return False
    found = re.findall("|".join(_FIELDS_OF_FORMATS), pattern)
    return bool(found) and tuple(found) == _FIELDS_OF_FORMATS[: len(found)]


def _text_of_local(source: Domain) -> Step:
    """A fraction without trailing zeros sorts as the number does."""
    return _within_years(source, MICROS_PER_DAY, lambda x: format_timestamp(x).encode())


def _within_years(source: Domain, per_day: int, f: Callable[[int], Any]) -> Step:
    """Texts sort as times do while years have four digits; nothing is known about other times."""
    first, stop = _FIRST_YEAR * per_day, _LAST_YEAR * per_day
    return Monotone(source, f, (Piece(first, stop),), unsure=((source.low, first), (stop, source.stop)))


def _fields(name: str) -> np.ndarray:
    """The values of a field for each day of the 400 years from 1970-01-01."""
    days = np.arange(_CYCLE_DAYS, dtype=np.int64)
    months: np.ndarray = days.astype("M8[D]").astype("M8[M]").astype(np.int64) % 12 + 1
    thursday = days - (days + 3) % 7 + 3
    found: np.ndarray
    match name:
        case "weekday":
            found = (days + 3) % 7
        case "dayofweek":
            found = (days + 4) % 7 + 1
        case "dayofmonth":
            found = days - _starts(days, "M") + 1
        case "dayofyear":
            found = days - _starts(days, "Y") + 1
        case "weekofyear":
            found = (thursday - _starts(thursday, "Y")) // 7 + 1
        case "quarter":
            found = (months + 2) // 3
        case _:
            found = months
    return found


def _starts(days: np.ndarray, unit: str) -> np.ndarray:
    first: np.ndarray = days.astype("M8[D]").astype(f"M8[{unit}]").astype("M8[D]").astype(np.int64)
    return first
