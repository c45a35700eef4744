"""Steps of dates and timestamps: casts, fields, truncation, arithmetic of days and months, texts (see functions).

Local time is the instant plus an offset. In a fixed zone the offset is one number. In other zones it is between the
least and the greatest offset in the zone's history; these are found by sampling every few days, and widened by an hour
for other editions of the time zone database. Around a clock change Spark's optimizer may evaluate a cast through its
inverse (UnwrapCastInBinaryComparison): both ways use an offset between the two, so both are covered.

* Day, year, truncation to a unit, and text of years 0 to 9999 are non-decreasing in local time.
* So are sums with days and with parts of a day, and seconds, milliseconds and microseconds since 1970.
* A sum with months is non-decreasing for dates. Of times it keeps the time of day, also where several days of a long
  month become the last day of a shorter one: it is at least the start of the found day and less than its end, and both
  are non-decreasing (Monotone.most).
* An instant plus months or days is computed in local time: to local time, the sum, and back. Each way uses some offset
  of the zone, so that a sum with days alone is x + days + (one offset - another): a ZoneShift. Without both it
  is computed on the instant.
* Month, quarter, day, week and weekday repeat with the calendar after 400 years (146,097 days, a whole number of
  weeks); hour, minute and second after a day, an hour and a minute: Periodic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from deltaskip.expr import dates
from deltaskip.expr.coerce import type_of
from deltaskip.expr.failures import EvaluationError
from deltaskip.expr.intervals import amount_of
from deltaskip.expr.nodes import Call, Literal, Node
from deltaskip.expr.time_patterns import PatternField, Section, formatted, pattern_items
from deltaskip.schema.calendar import (
    INSTANT_MAX,
    MICROS_PER_DAY,
    MICROS_PER_SECOND,
    civil_from_days,
    days_from_civil,
    format_date,
    format_timestamp,
    local_of,
    zone_of,
)
from deltaskip.schema.types import DATE, LONG, STRING, TIMESTAMP, TIMESTAMP_NTZ, DataType
from deltaskip.skipping.proofs.preimage.functions import (
    Floor,
    Monotone,
    MonotonePiece,
    Periodic,
    Shift,
    Step,
    Times,
    ZoneShift,
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
_LONGS = domain_of(LONG) or LOCAL
_MOST_SECONDS = INSTANT_MAX // MICROS_PER_SECOND
# Seconds as microseconds. Beyond 64 bits, from_unixtime wraps around to any time.
_INSTANT_OF_SECONDS = Monotone(
    _LONGS,
    lambda x: x * MICROS_PER_SECOND,
    (MonotonePiece(-_MOST_SECONDS, _MOST_SECONDS + 1),),
    unsure=((_LONGS.low, -_MOST_SECONDS), (_MOST_SECONDS + 1, _LONGS.stop)),
)


_YEARS = rising(_DATES, lambda x: dates.date_field("year", x), near=lambda r: days_from_civil(r, 1, 1))


def date_cast(source: DataType, target: DataType, time_zone: str) -> tuple[Step, ...] | None:
    """Return the steps of a CAST between date, timestamp and timestamp_ntz, or from them to text, outermost first."""
    least, most = offsets(time_zone)
    to_local, to_instant = ZoneShift(_INSTANTS, least, most), ZoneShift(LOCAL, -most, -least)
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
            return (ZoneShift(_INSTANTS, -most, -least),)
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
            return operand, _text_of_instant(pattern, time_zone)
        case Call("from_unixtime", (operand, Literal(str() as pattern))) if _descends(pattern):
            return operand, (*_text_of_instant(pattern, time_zone), _INSTANT_OF_SECONDS)
        case Call("unix_micros" | "timestamp_micros" | "unix_date" | "date_from_unix_date", (operand,)):
            domain = domain_of(type_of(operand))
            return None if domain is None else (operand, (identity(domain),))
        case Call("unix_seconds" | "unix_millis" as name, (operand,)):
            return operand, (Floor(_INSTANTS, 1000 if name == "unix_millis" else MICROS_PER_SECOND),)
        case Call("timestamp_seconds" | "timestamp_millis" as name, (operand,)) if type_of(operand) == LONG:
            return operand, (Times(_LONGS, 1000 if name == "timestamp_millis" else MICROS_PER_SECOND),)
        case Call("from_utc_timestamp" | "to_utc_timestamp" | "convert_timezone"):
            return _between_zones(call, time_zone)
        case Call("add_interval", (operand, Literal() as interval)):
            return operand, _sum_steps(type_of(operand), interval, time_zone)
        case Call("next_day", (operand, Literal(str()) as day)):
            return _next_day(operand, day)
        case Call("date_part", (Literal("YEAROFWEEK"), operand)):
            return operand, (rising(_DATES, _year_of_week, near=lambda r: days_from_civil(r, 1, 1)),)
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
        case Call("unix_timestamp" | "to_unix_timestamp", (operand,)):
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
    return operand, (Periodic(LOCAL, grain, numbers), ZoneShift(_INSTANTS, *offsets(time_zone)))


def _date_trunc(unit: str, operand: Node, time_zone: str) -> tuple[Node, tuple[Step, ...]] | None:
    utc = zone_of("UTC")
    if dates.truncated_timestamp(unit, 0, utc) is None:
        return None
    step = rising(LOCAL, lambda x: dates.truncated_timestamp(unit, x, utc), near=_itself)
    if unit.upper() in ("SECOND", "MILLISECOND", "MICROSECOND"):
        return operand, (step, identity(_INSTANTS))
    least, most = offsets(time_zone)
    return operand, (ZoneShift(LOCAL, -most, -least), step, ZoneShift(_INSTANTS, least, most))


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
        items = pattern_items(pattern)
    except EvaluationError:
        return False
    if any(isinstance(item, Section) for item in items):
        return False
    fields = [item.letter.replace("L", "M") * item.count for item in items if isinstance(item, PatternField)]
    if len(fields) == len(_FIELDS_OF_FORMATS) + 1 and fields[-1].startswith("S"):
        # A fraction, cut off.
        fields.pop()
    return bool(fields) and tuple(fields) == _FIELDS_OF_FORMATS[: len(fields)]


def _text_of_instant(pattern: str, time_zone: str) -> tuple[Step, ...]:
    """The text of an instant by a pattern that descends."""
    text = _within_years(LOCAL, MICROS_PER_DAY, lambda x: formatted(x, pattern).encode())
    return text, ZoneShift(_INSTANTS, *offsets(time_zone))


def _between_zones(call: Call, time_zone: str) -> tuple[Node, tuple[Step, ...]] | None:
    """A time whose clock is set from one zone to another."""
    match call:
        case Call("from_utc_timestamp", (operand, Literal(str() as target))):
            source: str | None = None
        case Call("to_utc_timestamp", (operand, Literal(str() as source))):
            target = ""
        case Call("convert_timezone", (Literal(str() as source), Literal(str() as target), operand)):
            pass
        case Call("convert_timezone", (Literal(str() as target), operand)):
            source = time_zone
        case _:
            return None
    steps: list[Step] = []
    try:
        if target:
            steps.append(ZoneShift(LOCAL if source else _INSTANTS, *offsets(target)))
        if source:
            least, most = offsets(source)
            steps.append(ZoneShift(_INSTANTS, -most, -least))
    except LookupError:
        return None
    return operand, tuple(steps)


def _sum_steps(type_: DataType | None, interval: Literal, time_zone: str) -> tuple[Step, ...]:
    """The steps of a date or timestamp plus an interval."""
    months, days, micros = amount_of(interval)
    if type_ == DATE:
        later = rising(_DATES, lambda x: _add_months(x, months), near=lambda r: r - months * 30)
        return (Shift(LOCAL, days), later) if months else (Shift(_DATES, days),)
    zoned = type_ == TIMESTAMP and bool(months or days)
    least, most = offsets(time_zone) if zoned else (0, 0)
    amount, spread = days * MICROS_PER_DAY + micros, most - least
    source = LOCAL if months else _INSTANTS
    last: Step = ZoneShift(source, amount - spread, amount + spread) if spread and days else Shift(source, amount)
    if not months:
        return (last,)
    later = rising(
        LOCAL,
        lambda x: _months_later(x, months),
        most=lambda x: _months_later(x, months) + MICROS_PER_DAY - 1,
        near=lambda r: r - months * 30 * MICROS_PER_DAY,
    )
    if not zoned:
        return last, replace(later, source=_INSTANTS, pieces=(MonotonePiece(_INSTANTS.low, _INSTANTS.stop),))
    return last, ZoneShift(LOCAL, -most, -least), later, ZoneShift(_INSTANTS, least, most)


def _months_later(local: int, months: int) -> int:
    return _add_months(local // MICROS_PER_DAY, months) * MICROS_PER_DAY


def _next_day(operand: Node, day: Literal) -> tuple[Node, tuple[Step, ...]] | None:
    """The next Monday, say, never falls, except in the first week, where it is not known."""
    weekday = dates.WEEKDAYS.get(str(day.value).upper())
    if weekday is None:
        return None
    known, unsure = (MonotonePiece(dates.FIRST_WEEK, _DATES.stop),), ((_DATES.low, dates.FIRST_WEEK),)
    return operand, (Monotone(_DATES, lambda x: dates.next_day(x, weekday), known, unsure=unsure, near=_itself),)


def _year_of_week(days: int) -> int:
    year, _, _ = civil_from_days(days - (days + 3) % 7 + 3)
    return year


def _text_of_local(source: Domain) -> Step:
    """A fraction without trailing zeros sorts as the number does."""
    return _within_years(source, MICROS_PER_DAY, lambda x: format_timestamp(x).encode())


def _within_years(source: Domain, per_day: int, f: Callable[[int], Any]) -> Step:
    """Texts sort as times do while years have four digits; nothing is known about other times."""
    first, stop = _FIRST_YEAR * per_day, _LAST_YEAR * per_day
    return Monotone(source, f, (MonotonePiece(first, stop),), unsure=((source.low, first), (stop, source.stop)))


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
