"""Functions on dates and timestamps: fields, truncation, addition of days and months.

# Spark 4.1, DateTimeUtils.scala
"""

from __future__ import annotations

from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.values import calendar

DATE_FIELDS = ("year", "quarter", "month", "weekofyear", "dayofmonth", "dayofweek", "weekday", "dayofyear")
TIME_FIELDS = ("hour", "minute", "second")
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

_UNITS = {
    "YEAR": "year",
    "YYYY": "year",
    "YY": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "MM": "month",
    "MON": "month",
    "WEEK": "week",
}
TIME_UNITS = {"DD": calendar.MICROS_PER_DAY, **{unit: calendar.UNIT_MICROS[unit] for unit in ("DAY", "HOUR", "MINUTE")}}
"""Units that date_trunc counts from local midnight, in microseconds."""
INSTANT_UNITS = {unit: calendar.UNIT_MICROS[unit] for unit in ("SECOND", "MILLISECOND", "MICROSECOND")}
"""Units that begin at the same instant in every time zone, in microseconds."""


def date_field(name: str, days: int) -> int:
    """The value of a field of DATE_FIELDS."""
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
        case "weekday":
            return (days + 3) % 7
        case "dayofweek":
            return (days + 4) % 7 + 1
        case "dayofyear":
            return days - calendar.days_from_civil(year, 1, 1) + 1
        case "weekofyear":
            return _iso_week(days)
    raise EvaluationError(f"{name} is not a field of a date.")


def time_field(name: str, local: int) -> int:
    """The value of a field of TIME_FIELDS for local microseconds."""
    seconds = local % calendar.MICROS_PER_DAY // calendar.MICROS_PER_SECOND
    match name:
        case "hour":
            return seconds // 3600
        case "minute":
            return seconds // 60 % 60
        case "second":
            return seconds % 60
    raise EvaluationError(f"{name} is not a field of a time.")


def checked_date(days: int | None) -> int | None:
    """Return `days` if a date can hold it; else raise Undecided: Spark raises for some units, and wraps for others."""
    if days is not None and _as_int(days) != days:
        raise Undecided("A date beyond the first or last one is left to Spark.")
    return days


def truncated_date(days: int, unit: str) -> int | None:
    """`trunc(date, unit)`; NULL for an unknown unit. It may be below the first day that a date can hold."""
    year, month, _ = calendar.civil_from_days(days)
    match _UNITS.get(unit.upper()):
        case "year":
            return calendar.days_from_civil(year, 1, 1)
        case "quarter":
            return calendar.days_from_civil(year, (month - 1) // 3 * 3 + 1, 1)
        case "month":
            return calendar.days_from_civil(year, month, 1)
        case "week":
            return days - (days + 3) % 7
    return None


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


def last_day(days: int) -> int:
    """The last day of the date's month. It may be above the last day that a date can hold."""
    year, month, _ = calendar.civil_from_days(days)
    return calendar.days_from_civil(year, month, calendar.days_in_month(year, month))


def next_day(days: int, weekday: int) -> int:
    """The next date with the given day of the week. It may be above the last day that a date can hold."""
    return days + (weekday - (days + 3) - 1) % 7 + 1


def add_months(days: int, months: int) -> int:
    """`add_months(date, months)`. A day beyond the end of the month becomes its last day."""
    year, month, day = calendar.civil_from_days(days)
    carried, month_index = divmod(month - 1 + months, 12)
    year, month = year + carried, month_index + 1
    return _checked_days(calendar.days_from_civil(year, month, min(day, calendar.days_in_month(year, month))))


def add_days(days: int, count: int) -> int:
    """`date_add(date, count)`. Java adds in 32 bits, without an error."""
    return _as_int(days + count)


def days_between(end: int, start: int) -> int:
    """`datediff(end, start)`. Java subtracts in 32 bits, without an error."""
    return _as_int(end - start)


def whole_seconds(micros: int) -> int:
    """`unix_timestamp(timestamp)`: towards zero, unlike CAST(timestamp AS BIGINT)."""
    return micros // calendar.MICROS_PER_SECOND if micros >= 0 else -(-micros // calendar.MICROS_PER_SECOND)


def _iso_week(days: int) -> int:
    thursday = days - (days + 3) % 7 + 3
    year, _, _ = calendar.civil_from_days(thursday)
    return (thursday - calendar.days_from_civil(year, 1, 1)) // 7 + 1


def _as_int(value: int) -> int:
    """`value` as Java keeps it in 32 bits."""
    return (value + 2**31) % 2**32 - 2**31


def _checked_days(days: int) -> int:
    if not -(2**31) <= days < 2**31:
        raise EvaluationError("The date is out of range.")
    return days
