"""Steps of dates and timestamps: casts, fields, truncation, arithmetic of days and months, formatting (see steps).

Local time is the instant plus an offset. A fixed zone has a constant offset. In another zone, the offset is between the
least and the greatest offset in the zone's history. Both are sampled every few days and widened by an hour, because the
editions of the time zone database differ. Around a clock change, Spark's optimizer may evaluate a cast through its
inverse (UnwrapCastInBinaryComparison). Both evaluations use an offset in this range.

* Day, year, truncation to a unit, and the string of years 0 to 9999 are non-decreasing in local time.
* Sums with days and parts of a day, and seconds, milliseconds and microseconds since 1970 are non-decreasing, too.
* A sum of a date and months is non-decreasing. A sum of a time and months keeps the time of day, even if several days
  of a long month become the last day of a shorter month: the sum is at least the start of the resulting day and less
  than its end, and both are non-decreasing (Monotone.most).
* The sum of an instant and months or days converts to local time, adds, and converts back. Each conversion uses some
  offset of the zone: a sum with days alone is x + days + (an offset - another offset), a ZoneShift. Without months and
  days, Spark adds to the instant.
* A string is read as a date or timestamp by its year of four digits, month and day of one or two digits, and the text
  after them; month and day may be missing. Blanks, a sign or zeros may precede, and a time alone is a time of today.
* Month, quarter, day, week and weekday repeat with the calendar after 400 years (146,097 days, a whole number of
  weeks). Hour, minute and second repeat after a day, an hour and a minute (Periodic).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.failures import EvaluationError
from deltaskip.sparkexpr.nodes import Call, Literal
from deltaskip.sparkexpr.preimages import steps as st
from deltaskip.sparkexpr.preimages.monotone import monotone
from deltaskip.sparkexpr.preimages.ordinals import LOCAL, Domain, Spans, domain_of, ordinal_of, span_of_prefix
from deltaskip.sparkexpr.types import data_types
from deltaskip.sparkexpr.values import calendar, dates
from deltaskip.sparkexpr.values.intervals import amount_of
from deltaskip.sparkexpr.values.time_patterns import PatternField, Section, formatted, pattern_items

_CYCLE_DAYS = 146_097
_BEYOND = 1 << 80
# For more days, strings are only restricted by their years.
_MOST_DAYS = 62
_HOUR = 3_600 * calendar.MICROS_PER_SECOND
_FIRST_YEAR, _LAST_YEAR = calendar.days_from_civil(0, 1, 1), calendar.days_from_civil(10_000, 1, 1)
_LOOK_EVERY_DAYS = 8
_LOOK_FROM, _LOOK_TO = calendar.days_from_civil(1840, 1, 1), calendar.days_from_civil(2045, 1, 1)
_FIELDS_OF_FORMATS = ("yyyy", "MM", "dd", "HH", "mm", "ss")

# Patterns of one field: the period, and the name of the field.
_FIELD_OF_PATTERN = {
    "MM": (calendar.MICROS_PER_DAY, "month"),
    "dd": (calendar.MICROS_PER_DAY, "dayofmonth"),
    "HH": (_HOUR, "hour"),
    "mm": (_HOUR // 60, "minute"),
    "ss": (calendar.MICROS_PER_SECOND, "second"),
}

_DATES = domain_of(data_types.DATE) or LOCAL
_INSTANTS = domain_of(data_types.TIMESTAMP) or LOCAL
_LONGS = domain_of(data_types.LONG) or LOCAL
_INTEGERS = domain_of(data_types.INTEGER) or LOCAL
_TEXTS = domain_of(data_types.STRING) or LOCAL
_MOST_SECONDS = calendar.INSTANT_MAX // calendar.MICROS_PER_SECOND
# Seconds as microseconds. Beyond 64 bits, from_unixtime wraps around to any time.
_INSTANT_OF_SECONDS = st.Monotone(
    _LONGS,
    lambda x: x * calendar.MICROS_PER_SECOND,
    (st.MonotonePiece(-_MOST_SECONDS, _MOST_SECONDS + 1),),
    unsure=((_LONGS.low, -_MOST_SECONDS), (_MOST_SECONDS + 1, _LONGS.stop)),
)


def date_cast(source: data_types.DataType, target: data_types.DataType, time_zone: str) -> tuple[st.Step, ...] | None:
    """Return the steps of a CAST between date, timestamp and timestamp_ntz, or to a string, outermost first."""
    least, most = offsets(time_zone)
    to_local, to_instant = st.ZoneShift(_INSTANTS, least, most), st.ZoneShift(LOCAL, -most, -least)
    match source, target:
        case (s, t) if s == data_types.TIMESTAMP and t == data_types.DATE:
            return st.Floor(LOCAL, calendar.MICROS_PER_DAY), to_local
        case (s, t) if s == data_types.TIMESTAMP and t == data_types.TIMESTAMP_NTZ:
            return (to_local,)
        case (s, t) if s == data_types.TIMESTAMP and t == data_types.STRING:
            return _text_of_local(LOCAL), to_local
        case (s, t) if s == data_types.TIMESTAMP_NTZ and t == data_types.DATE:
            return (st.Floor(_INSTANTS, calendar.MICROS_PER_DAY),)
        case (s, t) if s == data_types.TIMESTAMP_NTZ and t == data_types.TIMESTAMP:
            return (st.ZoneShift(_INSTANTS, -most, -least),)
        case (s, t) if s == data_types.TIMESTAMP_NTZ and t == data_types.STRING:
            return (_text_of_local(_INSTANTS),)
        case (s, t) if s == data_types.DATE and t == data_types.TIMESTAMP_NTZ:
            return (st.Times(_DATES, calendar.MICROS_PER_DAY),)
        case (s, t) if s == data_types.DATE and t == data_types.TIMESTAMP:
            return to_instant, st.Times(_DATES, calendar.MICROS_PER_DAY)
        case (s, t) if s == data_types.DATE and t == data_types.STRING:
            return (_within_years(_DATES, 1, lambda x: calendar.format_date(x).encode()),)
    return None


def text_cast(target: data_types.DataType) -> st.Step | None:
    """Return the step of a CAST of a string to a date or timestamp, by the beginnings of the strings for each day."""
    if target not in data_types.DATETIMES:
        return None
    # A time zone in the string moves the instant by less than a day, and the session's time zone by less than a day.
    unit, around = (1, 0) if target == data_types.DATE else (calendar.MICROS_PER_DAY, 2)
    return st.Enclosed(
        _TEXTS,
        lambda low, stop: _texts_of_days(low // unit - around, (stop - 1) // unit + around, unit > 1),
        nulls=_TEXTS.all,
    )


def _texts_of_days(first: int, last: int, timed: bool) -> Iterator[tuple[bytes, bytes]]:
    """The spans of strings that may be read as one of the given days.

    Also the spans of strings that begin with blanks, a sign or zeros, or that have no day.
    """
    if not calendar.days_from_civil(1000, 1, 1) <= first <= last < _LAST_YEAR:
        yield _TEXTS.low, _TEXTS.stop
        return
    yield b"", b"!"
    yield from map(span_of_prefix, (b"\x7f", b"+", b"0"))
    if timed:
        yield from map(span_of_prefix, (b"T", *(b"%d:" % hour for hour in range(1, 24))))
    years = calendar.civil_from_days(first)[0], calendar.civil_from_days(last)[0]
    if last - first > _MOST_DAYS:
        yield b"%d" % years[0], span_of_prefix(b"%d" % years[1])[1]
        return
    for days in range(first, last + 1):
        year, month, day = calendar.civil_from_days(days)
        if day == month == 1:
            yield from _without_more(b"%d" % year)
        for start in (b"%d-%02d" % (year, month), b"%d-%d" % (year, month)):
            yield span_of_prefix(start + b"-%02d" % day)
            yield span_of_prefix(start + b"-%d" % day)
            if day == 1:
                yield from _without_more(start)


def _without_more(text: bytes) -> Spans:
    """The strings that begin with `text` and have no `-` directly after it."""
    begin, end = span_of_prefix(text + b"-")
    return (text, begin), (end, span_of_prefix(text)[1])


def by_step(*steps: st.Step) -> st.Preimage:
    """Return the preimage of a function of one argument with the same steps for every call, outermost first."""
    return lambda call, compute, time_zone: (call.args[0], steps) if len(call.args) == 1 else None


def cyclic_field(name: str) -> st.Preimage:
    """Return the preimage of a field of a date that repeats with the calendar."""
    return lambda call, compute, time_zone: (call.args[0], (_field_step(name),))


def of_field_text(name: str, texts: Sequence[str], first: int) -> st.Preimage:
    """Return the preimage of the string of a cyclic field. texts: The strings of the numbers from `first` on."""
    places = {text.encode(): first + place for place, text in enumerate(texts)}
    text = st.Invertible(Domain(first, first + len(texts)), _TEXTS, places.get)
    return lambda call, compute, time_zone: (call.args[0], (text, _field_step(name)))


def time_field_steps(call: Call, compute: Any, time_zone: str) -> st.Inverted:
    """Return the preimage of `hour`, `minute` and `second`."""
    [operand] = call.args
    seconds, cells = dates.TIME_FIELDS[call.name]
    grain, numbers = seconds * calendar.MICROS_PER_SECOND, np.arange(cells, dtype=np.int64)
    if type_of(operand) == data_types.TIMESTAMP_NTZ:
        return operand, (st.Periodic(_INSTANTS, grain, numbers),)
    return operand, (st.Periodic(LOCAL, grain, numbers), st.ZoneShift(_INSTANTS, *offsets(time_zone)))


def year_of_week(call: Call, compute: Any, time_zone: str) -> st.Inverted:
    """Return the preimage of `date_part('YEAROFWEEK', date)`."""
    match call.args:
        case (Literal("YEAROFWEEK"), operand):
            return operand, (st.rising(_DATES, dates.year_of_week, near=lambda r: calendar.days_from_civil(r, 1, 1)),)
    return None


def date_truncated(call: Call, compute: Any, time_zone: str) -> st.Inverted:
    """Return the preimage of `trunc(date, unit)`."""
    match call.args:
        case (operand, Literal(str() as unit)) if dates.truncated_date(0, unit) is not None:
            return operand, (st.rising(_DATES, lambda x: dates.truncated_date(x, unit), near=_itself),)
    return None


def time_truncated(call: Call, compute: Any, time_zone: str) -> st.Inverted:
    """Return the preimage of `date_trunc(unit, timestamp)`."""
    utc = calendar.zone_of("UTC")
    unit, operand = call.args
    if not isinstance(unit, Literal) or not isinstance(unit.value, str):
        return None
    name = unit.value
    if dates.truncated_timestamp(name, 0, utc) is None:
        return None
    step = st.rising(LOCAL, lambda x: dates.truncated_timestamp(name, x, utc), near=_itself)
    if name.upper() in ("SECOND", "MILLISECOND", "MICROSECOND"):
        return operand, (step, st.identity_step(_INSTANTS))
    least, most = offsets(time_zone)
    return operand, (st.ZoneShift(LOCAL, -most, -least), step, st.ZoneShift(_INSTANTS, least, most))


def time_written(call: Call, compute: Any, time_zone: str) -> st.Inverted:
    """Return the preimage of `date_format(timestamp, pattern)`, if the strings sort as times do or have one field."""
    match call.args:
        case (operand, Literal(str() as pattern)):
            steps = _text_of_instant(pattern, time_zone)
            return None if steps is None else (operand, steps)
    return None


def seconds_written(call: Call, compute: Any, time_zone: str) -> st.Inverted:
    """Return the preimage of `from_unixtime(seconds, pattern)`."""
    match call.args:
        case (operand, Literal(str() as pattern)):
            steps = _text_of_instant(pattern, time_zone)
            return None if steps is None else (operand, (*steps, _INSTANT_OF_SECONDS))
    return None


def units_since_1970(unit: int) -> st.Preimage:
    """Return the preimage of the number of units since 1970. unit: The unit, in microseconds."""
    return by_step(st.Floor(_INSTANTS, unit))


def instant_of_units(unit: int) -> st.Preimage:
    """Return the preimage of the timestamp a whole number of units after 1970. unit: The unit, in microseconds."""

    def inverted(call: Call, compute: Any, time_zone: str) -> st.Inverted:
        return (call.args[0], (st.Times(_LONGS, unit),)) if type_of(call.args[0]) == data_types.LONG else None

    return inverted


def same_number(call: Call, compute: Any, time_zone: str) -> st.Inverted:
    """Return the preimage of a function between a date or timestamp and its number of days or microseconds."""
    domain = domain_of(type_of(call.args[0]))
    return None if domain is None else (call.args[0], (st.identity_step(domain),))


def days_added(sign: int, numbers: st.Preimage | None = None) -> st.Preimage:
    """Return the preimage of a date plus `sign` * days; the preimage `numbers` if no argument is a date."""

    def inverted(call: Call, compute: Any, time_zone: str) -> st.Inverted:
        match call.args:
            case (operand, Literal(int() as days)) if type_of(operand) == data_types.DATE:
                return operand, (st.Shift(_DATES, sign * days),)
            case (Literal(int() as days), operand) if type_of(operand) == data_types.DATE and sign > 0:
                return operand, (st.Shift(_DATES, days),)
            case (Literal(int() as day, of), operand) if (
                of == data_types.DATE and type_of(operand) == data_types.INTEGER
            ):
                return operand, (
                    st.rising(_INTEGERS, lambda x: day + sign * x, sign < 0, near=lambda r: sign * (r - day)),
                )
            case (operand, Literal(int() as day, of)) if (
                of == data_types.DATE and type_of(operand) == data_types.INTEGER and sign > 0
            ):
                return operand, (st.Shift(_INTEGERS, day),)
        return None if numbers is None or call.type == data_types.DATE else numbers(call, compute, time_zone)

    return inverted


def days_between_steps(call: Call, compute: Any, time_zone: str) -> st.Inverted:
    """Return the preimage of `datediff(end, start)`."""
    match call.args:
        case (operand, Literal(int() as day)):
            return operand, (st.Shift(_DATES, -day),)
        case (Literal(int() as day), operand):
            return operand, (st.rising(_DATES, lambda x: day - x, falling=True, near=lambda r: day - r),)
    return None


def months_added(call: Call, compute: Any, time_zone: str) -> st.Inverted:
    """Return the preimage of `add_months(date, months)`."""
    match call.args:
        case (operand, Literal(int() as months)):
            return operand, (st.rising(_DATES, lambda x: _add_months(x, months), near=lambda r: r - months * 30),)
        case (Literal(int() as day), operand):
            return operand, (st.rising(_INTEGERS, lambda x: _add_months(day, x), near=lambda r: (r - day) // 30),)
    return None


def whole_seconds_steps(call: Call, compute: Any, time_zone: str) -> st.Inverted:
    """Return the preimage of `unix_timestamp(timestamp)`."""
    if len(call.args) != 1:
        return None
    return call.args[0], (st.rising(_INSTANTS, dates.whole_seconds, near=lambda r: r * calendar.MICROS_PER_SECOND),)


def interval_added(call: Call, compute: Any, time_zone: str) -> st.Inverted:
    """Return the preimage of a date or timestamp plus an interval."""
    match call.args:
        case (operand, Literal() as interval):
            return operand, _sum_steps(type_of(operand), interval, time_zone)
    return None


def date_made(call: Call, compute: Callable[..., object], time_zone: str) -> st.Inverted:
    """Return the preimage of `make_date(year, month, day)` with two constants, if every value makes a valid date."""
    match call.args:
        case (_, Literal(int() as month), Literal(int() as day)) if (month, day) != (2, 29):
            return monotone(inside=2000)(call, compute, time_zone)
        case (Literal(int()), _, Literal(int() as day)) if day <= 28:
            return monotone(at=1, inside=1, null_instead=True)(call, compute, time_zone)
        case (Literal(int()), Literal(int()), _):
            return monotone(at=2, inside=1, null_instead=True)(call, compute, time_zone)
    return None


def units_between(call: Call, compute: Callable[..., Any], time_zone: str) -> st.Inverted:
    """Return the preimage of `timestampdiff(unit, start, end)` with a constant: whole units between local times."""
    match call.args:
        case (Literal(str() as unit), operand, Literal(int() as other)):
            falls = True
        case (Literal(str() as unit), Literal(int() as other), operand):
            falls = False
        case _:
            return None
    least, most = offsets(time_zone)
    utc, known_time = calendar.zone_of("UTC"), calendar.local_of(other, calendar.zone_of(time_zone))

    def f(x: int) -> Any:
        given = (x, known_time) if falls else (known_time, x)
        return ordinal_of(data_types.LONG, compute((unit, *given), call, utc))

    # Spark has no result for times beyond the limits of local times.
    first, stop = (
        -calendar.INSTANT_MAX + 4 * calendar.MICROS_PER_DAY,
        calendar.INSTANT_MAX - 4 * calendar.MICROS_PER_DAY,
    )
    pieces = (st.MonotonePiece(first, stop, not falls),)
    known = st.Monotone(LOCAL, f, pieces, unsure=((LOCAL.low, first), (stop, LOCAL.stop)))
    return operand, (known, st.ZoneShift(_INSTANTS, least, most))


def offsets(time_zone: str) -> tuple[int, int]:
    """Return the least and the greatest offset of the zone from UTC, in microseconds."""
    return _offsets(calendar.zone_of(time_zone))


@cache
def _offsets(zone: calendar.Zone) -> tuple[int, int]:
    if zone.rules is None or zone.name.startswith("Etc/"):
        fixed = calendar.local_of(0, zone)
        return fixed, fixed
    days = range(_LOOK_FROM, _LOOK_TO, _LOOK_EVERY_DAYS)
    seen = {calendar.local_of(day * calendar.MICROS_PER_DAY, zone) - day * calendar.MICROS_PER_DAY for day in days}
    return min(seen) - _HOUR, max(seen) + _HOUR


@cache
def _field_step(name: str) -> st.Periodic:
    # The calendar repeats after 400 years.
    return st.Periodic(_DATES, 1, dates.date_field(name, np.arange(_CYCLE_DAYS, dtype=np.int64)))


def _itself(result: int) -> int:
    return result


def _add_months(days: int, months: int) -> int:
    try:
        return dates.add_months(days, months)
    except EvaluationError:
        return _BEYOND if months > 0 else -_BEYOND


def _descends(pattern: str) -> bool:
    """Whether the strings of a pattern sort as times do: the year, then each smaller unit once, without a gap."""
    try:
        items = pattern_items(pattern)
    except EvaluationError:
        return False
    if any(isinstance(item, Section) for item in items):
        return False
    fields = [item.letter.replace("L", "M") * item.count for item in items if isinstance(item, PatternField)]
    if len(fields) == len(_FIELDS_OF_FORMATS) + 1 and fields[-1].startswith("S"):
        # The last field is a truncated fraction.
        fields.pop()
    return bool(fields) and tuple(fields) == _FIELDS_OF_FORMATS[: len(fields)]


def _text_of_instant(pattern: str, time_zone: str) -> tuple[st.Step, ...] | None:
    """The steps of formatting an instant. None unless the strings sort as times do, or have one cyclic field."""
    to_local = st.ZoneShift(_INSTANTS, *offsets(time_zone))
    if _descends(pattern):
        return _within_years(LOCAL, calendar.MICROS_PER_DAY, lambda x: formatted(x, pattern).encode()), to_local
    if pattern in _FIELD_OF_PATTERN:
        grain, field = _FIELD_OF_PATTERN[pattern]
        text = st.Invertible(
            Domain(0, 60), _TEXTS, lambda text: int(text) if len(text) == 2 and text.isdigit() else None
        )
        cells = st.Periodic(LOCAL, grain, np.arange(24 if field == "hour" else 60, dtype=np.int64))
        days = (
            (_field_step(field), st.Floor(LOCAL, calendar.MICROS_PER_DAY))
            if grain == calendar.MICROS_PER_DAY
            else (cells,)
        )
        return text, *days, to_local
    return None


def between_zones(call: Call, compute: Any, time_zone: str) -> st.Inverted:
    """Return the preimage of a timestamp that is converted from one time zone to another."""
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
    steps: list[st.Step] = []
    try:
        if target:
            steps.append(st.ZoneShift(LOCAL if source else _INSTANTS, *offsets(target)))
        if source:
            least, most = offsets(source)
            steps.append(st.ZoneShift(_INSTANTS, -most, -least))
    except LookupError:
        return None
    return operand, tuple(steps)


def _sum_steps(type_: data_types.DataType | None, interval: Literal, time_zone: str) -> tuple[st.Step, ...]:
    """The steps of a date or timestamp plus an interval."""
    months, days, micros = amount_of(interval)
    if type_ == data_types.DATE:
        later = st.rising(_DATES, lambda x: _add_months(x, months), near=lambda r: r - months * 30)
        return (st.Shift(LOCAL, days), later) if months else (st.Shift(_DATES, days),)
    zoned = type_ == data_types.TIMESTAMP and bool(months or days)
    least, most = offsets(time_zone) if zoned else (0, 0)
    amount, spread = days * calendar.MICROS_PER_DAY + micros, most - least
    source = LOCAL if months else _INSTANTS
    last: st.Step = (
        st.ZoneShift(source, amount - spread, amount + spread) if spread and days else st.Shift(source, amount)
    )
    if not months:
        return (last,)
    later = st.rising(
        LOCAL,
        lambda x: _months_later(x, months),
        most=lambda x: _months_later(x, months) + calendar.MICROS_PER_DAY - 1,
        near=lambda r: r - months * 30 * calendar.MICROS_PER_DAY,
    )
    if not zoned:
        return last, replace(later, source=_INSTANTS, pieces=(st.MonotonePiece(_INSTANTS.low, _INSTANTS.stop),))
    return last, st.ZoneShift(LOCAL, -most, -least), later, st.ZoneShift(_INSTANTS, least, most)


def _months_later(local: int, months: int) -> int:
    return _add_months(local // calendar.MICROS_PER_DAY, months) * calendar.MICROS_PER_DAY


def next_day_steps(call: Call, compute: Any, time_zone: str) -> st.Inverted:
    """Return the preimage of `next_day`. It never falls, except in the first week, where it is not known."""
    operand, day = call.args
    weekday = dates.WEEKDAYS.get(str(day.value).upper()) if isinstance(day, Literal) else None
    if weekday is None:
        return None
    known, unsure = (st.MonotonePiece(dates.FIRST_WEEK, _DATES.stop),), ((_DATES.low, dates.FIRST_WEEK),)
    return operand, (st.Monotone(_DATES, lambda x: dates.next_day(x, weekday), known, unsure=unsure, near=_itself),)


def _text_of_local(source: Domain) -> st.Step:
    """The step of a local time to a string. Fractions without trailing zeros sort as their numbers do."""
    return _within_years(source, calendar.MICROS_PER_DAY, lambda x: calendar.format_timestamp(x).encode())


def _within_years(source: Domain, per_day: int, f: Callable[[int], Any]) -> st.Step:
    """The step of a function to strings that sort as times do for years of four digits; other results are unknown."""
    first, stop = _FIRST_YEAR * per_day, _LAST_YEAR * per_day
    return st.Monotone(source, f, (st.MonotonePiece(first, stop),), unsure=((source.low, first), (stop, source.stop)))


YEARS = by_step(
    st.rising(_DATES, lambda x: dates.date_field("year", x), near=lambda r: calendar.days_from_civil(r, 1, 1))
)
"""The preimage of `year`."""

LAST_DAYS = by_step(st.rising(_DATES, dates.last_day, near=_itself))
"""The preimage of `last_day`."""
