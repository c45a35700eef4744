"""Dates, timestamps and time zones with Spark's semantics: proleptic Gregorian calendar, microseconds, java.time rules.

A date is a number of days since 1970-01-01, a timestamp a number of microseconds since the epoch. Both cover more years
than Python's `datetime` (1 to 9999). Every module that reads or writes the text of a date, timestamp or time zone uses
these functions.
"""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from io import BytesIO
from typing import TYPE_CHECKING, TypeVar
from zoneinfo import ZoneInfo

from deltaskip.errors import shown
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr.values.zone_rules import UnknownZone, region, rules_in_use

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MICROS_PER_SECOND = 1_000_000
MICROS_PER_MINUTE = 60 * MICROS_PER_SECOND
MICROS_PER_HOUR = 60 * MICROS_PER_MINUTE
MICROS_PER_DAY = 24 * MICROS_PER_HOUR

UNIT_MICROS = {
    "WEEK": 7 * MICROS_PER_DAY,
    "DAY": MICROS_PER_DAY,
    "HOUR": MICROS_PER_HOUR,
    "MINUTE": MICROS_PER_MINUTE,
    "SECOND": MICROS_PER_SECOND,
    "MILLISECOND": 1000,
    "MICROSECOND": 1,
}
UNIT_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
"""Units of time in microseconds, and units of the calendar in months."""

# The greatest offset from UTC in java.time. Real time zones had offsets of up to 15:56 before 1845.
GREATEST_OFFSET_MICROS = 18 * MICROS_PER_HOUR

# The range of a timestamp: 64 bits of microseconds.
INSTANT_MIN, INSTANT_MAX = -(2**63), 2**63 - 1

# Characters that Spark's UTF8String.trimAll removes: white space and ISO control characters of one byte.
TRIM_ALL = "".join(map(chr, range(0x21))) + "\x7f"

# Characters that Java's String.trim removes.
JAVA_TRIM = TRIM_ALL[:0x21]

# The range of a date: 32 bits of days.
_DAY_MIN, _DAY_MAX = -(2**31), 2**31 - 1
# The Gregorian calendar and the rules of every time zone repeat after 400 years.
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097
_CYCLE = _CYCLE_DAYS * MICROS_PER_DAY
# Days from 0000-03-01, the first day of a cycle, to 1970-01-01.
_EPOCH_DAY = 719_468
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH = datetime(1970, 1, 1)
_FIRST = -62_135_596_800 * MICROS_PER_SECOND + 2 * MICROS_PER_DAY
# 2500-01-01: the rules of a session have the changes of these years, LAST_YEAR.
_LAST = 16_725_225_600 * MICROS_PER_SECOND

_DATE = regex(r"([+-]?)([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_TIME = r"([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?([^0-9.].*)?)?)?"
_TIMESTAMP = regex(rf"([+-]?)([0-9]{{4,6}})(?:-([0-9]{{1,2}})(?:-([0-9]{{1,2}})(?:[ T]{_TIME})?)?)?", re.DOTALL)
_TIME_ALONE = regex(rf"T{_TIME}|[0-9]{{1,2}}:[0-9]{{1,2}}(:.*)?", re.DOTALL)
_SPECIAL = regex(r"(epoch|now|today|tomorrow|yesterday)\b.*", re.DOTALL | re.IGNORECASE)
_OFFSET = regex(r"([+-])(?:([0-9]{1,2})|([0-9]{2}):?([0-9]{2})|([0-9]{2}):([0-9]{2}):([0-9]{2})|([0-9]{6}))")

# Names that Python may find in its time zone database but java.time does not accept.
_NOT_IN_JAVA = regex(r"(?:posix|right)/.*|Factory|ROC|localtime|posixrules")


Whole = TypeVar("Whole", int, "npt.NDArray[np.int64]")
"""One date or time, or an array of them."""


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone: a fixed offset in seconds, or rules of the time zone database."""

    name: str
    offset: int | None
    rules: ZoneInfo | None


@dataclass(frozen=True, slots=True)
class TimestampText:
    """A parsed timestamp: local time in microseconds, and the name of the time zone, if given."""

    local_micros: int
    zone: str | None


def current_ms() -> int:
    """Return the present time in milliseconds since the epoch, as in the log."""
    return time.time_ns() // 1_000_000


def current_micros() -> int:
    """Return the present time in microseconds since the epoch."""
    return time.time_ns() // 1000


def zone_of(name: str) -> Zone:
    """Return the time zone that Spark resolves `name` to, with the rules of `zone_rules`.

    Raises UnknownZone for what may be a region without rules in this process, and LookupError for what Spark refuses.
    """
    return _zone_of(name, rules_in_use())


@lru_cache(maxsize=256)
def _zone_of(name: str, rules: tuple[str, ...]) -> Zone:
    text = re.sub(r"([+-])([0-9]):", r"\g<1>0\2:", name, count=1)
    text = re.sub(r"([+-][0-9]{2}):([0-9])$", r"\1:0\2", text)
    if text in ("Z", "UTC", "GMT", "UT"):
        return Zone(name, 0, None)
    prefix = re.match(r"(?:UTC|GMT|UT)?(?=[+-])", text)
    if prefix is not None:
        return Zone(name, _offset_seconds(text[prefix.end() :], name), None)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9~/._+-]+", text) or _NOT_IN_JAVA.fullmatch(text):
        raise LookupError(f"{shown(name)} is not a time zone.")
    known, file = region(text)
    if known.startswith(("+", "-")):
        return Zone(name, _offset_seconds(known, name), None)
    return Zone(name, None, ZoneInfo.from_file(BytesIO(file), key=known))


def local_of(micros: int, zone: Zone) -> int:
    """Local microseconds in `zone` at the instant `micros`."""
    if zone.rules is None:
        return micros + (zone.offset or 0) * MICROS_PER_SECOND
    moment = (_EPOCH + timedelta(microseconds=_within_years(micros))).replace(tzinfo=UTC)
    return micros + _seconds(moment.astimezone(zone.rules).utcoffset()) * MICROS_PER_SECOND


def instant_of(local: int, zone: Zone) -> int:
    """The instant of a local time in `zone`: in an overlap the earlier instant, in a gap later by the gap's length."""
    if zone.rules is None:
        return local - (zone.offset or 0) * MICROS_PER_SECOND
    moment = (_EPOCH + timedelta(microseconds=_within_years(local))).replace(tzinfo=zone.rules)
    return local - _seconds(moment.utcoffset()) * MICROS_PER_SECOND


def near_clock_change(micros: int, zone: Zone) -> bool:
    """Whether the offset of the zone changes within two days of an instant or local time."""
    if zone.rules is None:
        return False
    around = 2 * MICROS_PER_DAY
    return local_of(micros - around, zone) + 2 * around != local_of(micros + around, zone)


def days_from_civil(year: Whole, month: Whole, day: Whole | int) -> Whole:
    """Days since 1970-01-01 of a date, or of arrays of dates, in the proleptic Gregorian calendar."""
    # In years that start in March, the leap day is the last day.
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, _CYCLE_YEARS)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    found: Whole = era * _CYCLE_DAYS + of_era * 365 + of_era // 4 - of_era // 100 + of_year - _EPOCH_DAY
    return found


def civil_from_days(days: Whole) -> tuple[Whole, Whole, Whole]:
    """Year, month and day of a number, or of an array of 64-bit numbers, of days since 1970-01-01."""
    era, of_era = divmod(days + _EPOCH_DAY, _CYCLE_DAYS)
    year = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted_month = (5 * of_year + 2) // 153
    month = (shifted_month + 2) % 12 + 1
    return year + era * _CYCLE_YEARS + (month <= 2), month, of_year - (153 * shifted_month + 2) // 5 + 1


def days_in_month(year: int, month: int) -> int:
    """Number of days in a month."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def parse_date(text: str) -> int | None:
    """Days of `[+-]y…y[-m[m][-d[d][(blank|T)…]]]` as CAST(… AS DATE) reads it; None if the cast returns NULL."""
    match = _DATE.fullmatch(text.strip(TRIM_ALL))
    if match is None:
        return None
    sign, year, month, day = match.groups()
    days = _days(sign, year, month, day)
    return days if days is not None and _DAY_MIN <= days <= _DAY_MAX else None


def read_timestamp(text: str) -> TimestampText | None:
    """Split the text of a timestamp into local time and time zone, with the grammar of CAST(… AS TIMESTAMP).

    The grammar is `date[(blank|T)h[h][:m[m][:s[s][.fraction][zone]]]]`. Digits below a microsecond are dropped.
    Neither the name of the zone nor the range of 64 bits is checked.
    None if the text does not match, as for a time without a date.
    """
    match = _TIMESTAMP.fullmatch(text.strip(TRIM_ALL))
    if match is None:
        return None
    sign, year, month, day, hour, minute, second, fraction, zone = match.groups()
    days = _days(sign, year, month, day)
    clock = (int(hour or 0), int(minute or 0), int(second or 0))
    if days is None or clock[0] > 23 or clock[1] > 59 or clock[2] > 59:
        return None
    seconds = days * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
    micros = int((fraction or "")[:6].ljust(6, "0"))
    return TimestampText(seconds * MICROS_PER_SECOND + micros, None if zone is None else zone.strip(JAVA_TRIM))


def parse_timestamp(text: str, zone: Zone) -> int | None:
    """The instant that CAST(… AS TIMESTAMP) reads in the session time zone `zone`; None if the cast returns NULL.

    Raises:
        LookupError: The cast depends on more than the text: on the current date for a time without a date, or on the
            rules of a time zone that this process does not have (UnknownZone).
    """
    if is_time_of_day(text):
        raise LookupError(f"{shown(text)} is a time without a date.")
    found = read_timestamp(text)
    if found is None:
        return None
    used = zone if found.zone is None else _zone_or_none(found.zone)
    return None if used is None else _if_long(instant_of(found.local_micros, used))


def parse_timestamp_ntz(text: str, allow_zone: bool = True) -> int | None:
    """Local microseconds that CAST(… AS TIMESTAMP_NTZ) reads; None if the cast returns NULL.

    The cast ignores a time zone, but returns NULL if it does not exist, or not `allow_zone`. Raises UnknownZone.
    """
    found = read_timestamp(text)
    if found is None or (found.zone is not None and (not allow_zone or _zone_or_none(found.zone) is None)):
        return None
    return _if_long(found.local_micros)


def has_zone(text: str) -> bool:
    """Whether the text of a timestamp contains a time zone."""
    found = read_timestamp(text)
    return found is not None and found.zone is not None


def is_time_of_day(text: str) -> bool:
    """Whether the text is a time without a date, to which CAST(… AS TIMESTAMP) adds the current date."""
    return _TIME_ALONE.fullmatch(text.strip(TRIM_ALL)) is not None


def is_special_date(text: str) -> bool:
    """Whether the text of a typed literal is now, today, yesterday, tomorrow or epoch."""
    return _SPECIAL.fullmatch(text.strip(TRIM_ALL)) is not None


def format_date(days: int) -> str:
    """`yyyy-MM-dd` as CAST(… AS STRING) writes it: years outside 0 to 9999 have a sign."""
    year, month, day = civil_from_days(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"


def format_timestamp(local: int, separator: str = " ", digits: int | None = None) -> str:
    """Format local microseconds as `yyyy-MM-dd HH:mm:ss[.f…]`.

    separator: Text between date and time. digits: Number of digits of the truncated fraction, from 1 to 6. None writes
    the fewest exact digits, like CAST(… AS STRING).
    """
    days, micros = divmod(local, MICROS_PER_DAY)
    seconds, fraction = divmod(micros, MICROS_PER_SECOND)
    tail = f".{fraction:06d}"
    tail = tail.rstrip("0").rstrip(".") if digits is None else tail[: digits + 1]
    return f"{format_date(days)}{separator}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{tail}"


def _zone_or_none(name: str) -> Zone | None:
    """The time zone; None for a name that Spark does not accept. Raises UnknownZone."""
    try:
        return zone_of(name)
    except UnknownZone:
        raise
    except LookupError:
        return None


def _days(sign: str, year: str, month: str | None, day: str | None) -> int | None:
    y, m, d = int(sign + year), int(month or 1), int(day or 1)
    if not 1 <= m <= 12 or not 1 <= d <= days_in_month(y, m):
        return None
    return days_from_civil(y, m, d)


def _offset_seconds(text: str, name: str) -> int:
    match = _OFFSET.fullmatch(text)
    if match is None:
        raise LookupError(f"{shown(name)} is not a time zone.")
    sign, alone, *pairs, six = match.groups()
    parts = [alone or "0", "0", "0"]
    if six is not None:
        parts = [six[:2], six[2:4], six[4:]]
    elif any(pairs):
        parts = [p for p in pairs if p is not None]
    hours, minutes, seconds = (int(p) for p in [*parts, "0"][:3])
    total = hours * 3600 + minutes * 60 + seconds
    if total * MICROS_PER_SECOND > GREATEST_OFFSET_MICROS or minutes > 59 or seconds > 59:
        raise LookupError(f"{shown(name)} is not a time zone.")
    return -total if sign == "-" else total


def _within_years(micros: int) -> int:
    """`micros` shifted by cycles of 400 years, after which the rules of a zone repeat, into the years of `datetime`."""
    if micros < _FIRST:
        return micros + -(-(_FIRST - micros) // _CYCLE) * _CYCLE
    if micros > _LAST:
        return micros - -(-(micros - _LAST) // _CYCLE) * _CYCLE
    return micros


def _seconds(offset: timedelta | None) -> int:
    return 0 if offset is None else offset.days * 86_400 + offset.seconds


def _if_long(micros: int) -> int | None:
    return micros if INSTANT_MIN <= micros <= INSTANT_MAX else None
