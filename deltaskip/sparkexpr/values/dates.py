"""Functions on dates and timestamps: fields, truncation, addition of days and months.

# Spark 4.1, DateTimeUtils.scala
"""

from __future__ import annotations

from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.values import calendar
from deltaskip.sparkexpr.values.calendar import Whole

DATE_FIELDS = ("year", "quarter", "month", "weekofyear", "dayofmonth", "dayofweek", "weekday", "dayofyear")
TIME_FIELDS = {"hour": (3600, 24), "minute": (60, 60), "second": (1, 60)}
"""The seconds of each field of a time, and its number of values."""
DAY_NAMES = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
FIRST_WEEK = 7 - 2**31
"""Before this day, sums in 32 bits wrap around when Spark computes `next_day`."""
WEEKDAYS = {
    name: at
    for at, day in enumerate(("MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"))
    for name in (day, day[:3], day[:2])
}
"""The names of the days of the week, and their numbers; Monday is the first."""
MONTH_NAMES = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

_MONTHS = {"YEAR": 12, "YYYY": 12, "YY": 12, "QUARTER": 3, "MONTH": 1, "MM": 1, "MON": 1}
TIME_UNITS = {"DD": calendar.MICROS_PER_DAY, **{unit: calendar.UNIT_MICROS[unit] for unit in ("DAY", "HOUR", "MINUTE")}}
"""Units that date_trunc counts from local midnight, in microseconds."""
INSTANT_UNITS = {unit: calendar.UNIT_MICROS[unit] for unit in ("SECOND", "MILLISECOND", "MICROSECOND")}
"""Units that begin at the same instant in every time zone, in microseconds."""


def date_field(name: str, days: Whole) -> Whole:
    """The value of a field of DATE_FIELDS."""
    match name:
        case "weekday":
            return (days + 3) % 7
        case "dayofweek":
            return (days + 4) % 7 + 1
        case "weekofyear":
            thursday = days - (days + 3) % 7 + 3
            return (date_field("dayofyear", thursday) - 1) // 7 + 1
    year, month, day = calendar.civil_from_days(days)
    match name:
        case "year":
            return year
        case "quarter":
            return (month + 2) // 3
        case "month":
            return month
        case "dayofmonth":
            return day
        case "dayofyear":
            return days - calendar.days_from_civil(year, month * 0 + 1, 1) + 1
    raise EvaluationError(f"{name} is not a field of a date.")


def year_of_week(days: Whole) -> Whole:
    """The year of the date's week, which is that of its Thursday."""
    year, _, _ = calendar.civil_from_days(days - (days + 3) % 7 + 3)
    return year


def time_field(name: str, local: Whole) -> Whole:
    """The value of a field of TIME_FIELDS for local microseconds."""
    seconds, count = TIME_FIELDS[name]
    return local // (seconds * calendar.MICROS_PER_SECOND) % count


def checked_date(days: int | None) -> int | None:
    """Return `days` if a date can hold it; else raise Undecided: Spark raises for some units, and wraps for others."""
    if days is not None and _as_int(days) != days:
        raise Undecided("A date beyond the first or last one is left to Spark.")
    return days


def truncated_date(days: Whole, unit: str) -> Whole | None:
    """`trunc(date, unit)`; NULL for an unknown unit. It may be below the first day that a date can hold."""
    if unit.upper() == "WEEK":
        return days - (days + 3) % 7
    count = _MONTHS.get(unit.upper())
    if count is None:
        return None
    year, month, _ = calendar.civil_from_days(days)
    return calendar.days_from_civil(year, (month - 1) // count * count + 1, 1)


def truncated_timestamp(unit: str, micros: int, zone: calendar.Zone) -> int | None:
    """`date_trunc(unit, timestamp)` in `zone`; NULL for an unknown unit."""
    name = unit.upper()
    if name in INSTANT_UNITS:
        found = micros - micros % INSTANT_UNITS[name]
        if found < -(2**63):
            raise Undecided("Where a timestamp wraps around is left to Spark.")
        return found
    local = calendar.local_of(micros, zone)
    if name in TIME_UNITS:
        truncated = local - local % TIME_UNITS[name]
        # In the repeated hour of a clock change the offset is unchanged.
        kept = truncated - (local - micros)
        return kept if calendar.local_of(kept, zone) == truncated else calendar.instant_of(truncated, zone)
    days = truncated_date(local // calendar.MICROS_PER_DAY, name)
    return None if days is None else calendar.instant_of(days * calendar.MICROS_PER_DAY, zone)


def checked_micros(micros: int | None) -> int | None:
    """Return `micros` if a timestamp can hold it; else raise EvaluationError, as Spark does."""
    if micros is not None and not -(2**63) <= micros < 2**63:
        raise EvaluationError("The timestamp is out of range.")
    return micros


def last_day(days: Whole) -> Whole:
    """The last day of the date's month. It may be above the last day that a date can hold."""
    year, month, _ = calendar.civil_from_days(days)
    return calendar.days_from_civil(year + month // 12, month % 12 + 1, 1) - 1


def next_day(days: Whole, weekday: int) -> Whole:
    """The next date with the given day of the week. It may be above the last day that a date can hold."""
    return days + (weekday - (days + 3) - 1) % 7 + 1


def add_months(days: int, months: int) -> int:
    """`add_months(date, months)`. Raises EvaluationError if the date is out of range."""
    found = months_later(days, months)
    if not -(2**31) <= found < 2**31:
        raise EvaluationError("The date is out of range.")
    return found


def months_later(days: Whole, count: Whole | int) -> Whole:
    """The date `count` months later. A day beyond the end of the month becomes its last day."""
    year, month, day = calendar.civil_from_days(days)
    months = month - 1 + count
    first = calendar.days_from_civil(year + months // 12, months % 12 + 1, 1)
    length = last_day(first) - first + 1
    return first + day - 1 - (day > length) * (day - length)


def add_days(days: int, count: int) -> int:
    """`date_add(date, count)`. Java adds in 32 bits, without an error."""
    return _as_int(days + count)


def days_between(end: int, start: int) -> int:
    """`datediff(end, start)`. Java subtracts in 32 bits, without an error."""
    return _as_int(end - start)


def whole_seconds(micros: Whole) -> Whole:
    """`unix_timestamp(timestamp)`: towards zero, unlike CAST(timestamp AS BIGINT)."""
    return towards_zero(micros, calendar.MICROS_PER_SECOND)


def towards_zero(number: Whole, by: int) -> Whole:
    """A quotient, rounded towards zero."""
    size = abs(number) // abs(by)
    return size - 2 * size * ((number < 0) ^ (by < 0))


def _as_int(value: int) -> int:
    """`value` as Java keeps it in 32 bits."""
    return (value + 2**31) % 2**32 - 2**31
