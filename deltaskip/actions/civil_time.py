"""Dates and timestamps as text, in the proleptic Gregorian calendar and for any year, as Spark reads them.

Python's datetime ends at the years 1 and 9999; Spark's types do not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

__all__ = [
    "INSTANT_MAX",
    "INSTANT_MIN",
    "InstantText",
    "ZoneUnknown",
    "date_text",
    "instant_in_zone",
    "parse_date",
    "parse_timestamp",
    "timestamp_text",
]

INSTANT_MIN = -(2**63)
INSTANT_MAX = 2**63 - 1

_DAY_MICROS = 86_400_000_000
_DAY_MIN, _DAY_MAX = -(2**31), 2**31 - 1
# The Gregorian calendar repeats after 400 years, weekdays included.
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
# 0001-01-01 and 9999-12-31, where datetime ends.
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896

_DAY = r"([+-]?[0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})%s)?)?"
_DATE = re.compile(_DAY % r"(?:[ T].*)?", re.ASCII | re.DOTALL)
_SECOND = r":([0-9]{1,2})(?:\.([0-9]*))?( ?[A-Za-z+\-].*)?"
_TIMESTAMP = re.compile(
    _DAY % rf"(?:[ T]([0-9]{{1,2}})(?::([0-9]{{1,2}})(?:{_SECOND})?)?)?",
    re.ASCII | re.DOTALL,
)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])([0-9]{1,2})(?::?([0-9]{2})(?::?([0-9]{2}))?|:([0-9]))?", re.ASCII)
_MONTH_DAYS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class ZoneUnknown(ValueError):
    """A time zone that is neither an offset nor a name of the time zone database."""


@dataclass(frozen=True, slots=True)
class InstantText:
    """A parsed timestamp: microseconds since the epoch by its own clock, and the zone that it names, if any."""

    local_micros: int
    zone: str | None


def parse_date(text: str) -> int | None:
    """Days since 1970-01-01, or None where Spark reads no date.

    `[+-]y…y[-m[-d]]` with 4 to 7 digits of year; what follows a blank or T after the day is ignored.
    """
    found = _DATE.fullmatch(text)
    days = None if found is None else _days_of(found[1], found[2], found[3])
    return days if days is not None and _DAY_MIN <= days <= _DAY_MAX else None


def parse_timestamp(text: str) -> InstantText | None:
    """The clock time and zone in `text`, or None where Spark reads no timestamp (or only a time of day).

    `date[(blank|T)h[:m[:s[.fraction][zone]]]]`; fractions beyond microseconds are cut off. The time may lie outside the
    64 bits of a timestamp.
    """
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    days = _days_of(found[1], found[2], found[3])
    hour, minute, second = (int(found[i] or 0) for i in (4, 5, 6))
    if days is None or hour > 23 or minute > 59 or second > 59:
        return None
    micros = int((found[7] or "")[:6].ljust(6, "0"))
    local = days * _DAY_MICROS + ((hour * 60 + minute) * 60 + second) * 1_000_000 + micros
    return InstantText(local, (found[8] or "").strip() or None)


def instant_in_zone(local_micros: int, zone: str) -> int:
    """Microseconds since the epoch, UTC, when the clocks of `zone` show `local_micros`.

    As java.time: the earlier instant where clocks were set back, and later by the gap where they were set forward.
    Raises ZoneUnknown for a zone that does not exist.
    """
    return local_micros - _utc_offset_micros(local_micros, zone)


def date_text(days: int) -> str:
    """`yyyy-MM-dd`; years beyond 9999 have a plus sign, as in Spark."""
    year, month, day = _civil(days)
    if year > 9999:
        return f"+{year}-{month:02}-{day:02}"
    return f"{'-' if year < 0 else ''}{abs(year):04}-{month:02}-{day:02}"


def timestamp_text(micros: int, separator: str, always_micros: bool) -> str:
    """`yyyy-MM-dd{separator}HH:mm:ss.SSSSSS`; without always_micros a zero fraction is left out."""
    days, rest = divmod(micros, _DAY_MICROS)
    seconds, fraction = divmod(rest, 1_000_000)
    clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    tail = f".{fraction:06}" if fraction or always_micros else ""
    return f"{date_text(days)}{separator}{clock}{tail}"


def _days_of(year_text: str, month_text: str | None, day_text: str | None) -> int | None:
    year, month, day = int(year_text), int(month_text or 1), int(day_text or 1)
    if not 1 <= month <= 12 or not 1 <= day <= _MONTH_DAYS[month - 1] + (month == 2 and _is_leap(year)):
        return None
    return _days(year, month, day)


def _is_leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def _days(year: int, month: int, day: int) -> int:
    # Years that start in March put the leap day last; day 0 is 0000-03-01, 719468 days before 1970.
    shifted = year - (month <= 2)
    cycle, year_of_cycle = divmod(shifted, _CYCLE_YEARS)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return cycle * _CYCLE_DAYS + year_of_cycle * 365 + year_of_cycle // 4 - year_of_cycle // 100 + day_of_year - 719_468


def _civil(days: int) -> tuple[int, int, int]:
    cycle, day = divmod(days + 719_468, _CYCLE_DAYS)
    year = (day - day // 1460 + day // 36_524 - day // 146_096) // 365
    day_of_year = day - (365 * year + year // 4 - year // 100)
    shifted = (5 * day_of_year + 2) // 153
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year + cycle * _CYCLE_YEARS + (month <= 2), month, day_of_year - (153 * shifted + 2) // 5 + 1


def _utc_offset_micros(local_micros: int, zone: str) -> int:
    fixed = _fixed_offset_seconds(zone)
    if fixed is not None:
        return fixed * 1_000_000
    days, rest = divmod(local_micros, _DAY_MICROS)
    # Outside datetime's years the same day of another cycle stands in: local mean time before, the last rules after.
    if days < _FIRST_DAY:
        days = _FIRST_DAY + (days - _FIRST_DAY) % _CYCLE_DAYS
    elif days > _LAST_DAY:
        days = _LAST_DAY - (_LAST_DAY - days) % _CYCLE_DAYS
    clock = datetime(1970, 1, 1) + timedelta(days=days, microseconds=rest)
    offset = clock.replace(tzinfo=_zone(zone)).utcoffset()
    return 0 if offset is None else offset // timedelta(microseconds=1)


@lru_cache(maxsize=256)
def _fixed_offset_seconds(zone: str) -> int | None:
    """Seconds east of UTC where the zone is written as an offset, None where it is a region."""
    if zone in ("Z", "UTC", "GMT", "UT"):
        return 0
    found = _OFFSET.fullmatch(zone)
    if found is None:
        return None
    hours, minutes, seconds = int(found[2]), int(found[3] or found[5] or 0), int(found[4] or 0)
    total = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or total > 18 * 3600:
        raise ZoneUnknown(f"there is no time zone {zone!r}")
    return -total if found[1] == "-" else total


@lru_cache(maxsize=256)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError) as error:
        raise ZoneUnknown(f"there is no time zone {name!r}") from error
