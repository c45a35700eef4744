"""Dates, timestamps and time zones as Spark reckons them: proleptic Gregorian, microseconds, java.time's rules.

Dates are days since 1970-01-01, timestamps microseconds since the epoch; both reach beyond Python's years 1 to 9999.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

__all__ = [
    "MICROS_PER_DAY",
    "MICROS_PER_SECOND",
    "Zone",
    "civil_from_days",
    "days_from_civil",
    "days_in_month",
    "format_date",
    "format_timestamp",
    "has_zone",
    "instant_of",
    "is_special_date",
    "local_of",
    "near_clock_change",
    "parse_date",
    "parse_timestamp",
    "parse_timestamp_ntz",
    "zone_of",
]

MICROS_PER_SECOND = 1_000_000
MICROS_PER_DAY = 86_400 * MICROS_PER_SECOND

_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1
# The Gregorian calendar, and with it every rule of a zone, repeats after 400 years.
_CYCLE = 146_097 * MICROS_PER_DAY
_EPOCH = datetime(1970, 1, 1)
_FIRST = -62_135_596_800 * MICROS_PER_SECOND + 2 * MICROS_PER_DAY
_LAST = 253_402_300_800 * MICROS_PER_SECOND - 2 * MICROS_PER_DAY

# What UTF8String.trimAll removes: white space and ISO control characters of one byte.
_BLANK = "".join(map(chr, range(0x21))) + "\x7f"

_DATE = re.compile(r"([+-]?)([0-9]{4,7})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:[ T].*)?)?)?", re.DOTALL)
_TIME = r"([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?([^0-9.].*)?)?)?"
_TIMESTAMP = re.compile(rf"([+-]?)([0-9]{{4,6}})(?:-([0-9]{{1,2}})(?:-([0-9]{{1,2}})(?:[ T]{_TIME})?)?)?", re.DOTALL)
_TIME_ALONE = re.compile(rf"T{_TIME}|[0-9]{{1,2}}:[0-9]{{1,2}}(:.*)?", re.DOTALL)
_SPECIAL = re.compile(r"(epoch|now|today|tomorrow|yesterday)\b.*", re.DOTALL | re.IGNORECASE)
_OFFSET = re.compile(r"([+-])(?:([0-9]{1,2})|([0-9]{2}):?([0-9]{2})|([0-9]{2}):([0-9]{2}):([0-9]{2})|([0-9]{6}))")

# java.time.ZoneId.SHORT_IDS, which Spark accepts beside the names of the time zone database.
_SHORT_IDS = {
    "ACT": "Australia/Darwin",
    "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires",
    "ART": "Africa/Cairo",
    "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo",
    "BST": "Asia/Dhaka",
    "CAT": "Africa/Harare",
    "CNT": "America/St_Johns",
    "CST": "America/Chicago",
    "CTT": "Asia/Shanghai",
    "EAT": "Africa/Addis_Ababa",
    "ECT": "Europe/Paris",
    "EST": "-05:00",
    "HST": "-10:00",
    "IET": "America/Indiana/Indianapolis",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
    "MIT": "Pacific/Apia",
    "MST": "-07:00",
    "NET": "Asia/Yerevan",
    "NST": "Pacific/Auckland",
    "PLT": "Asia/Karachi",
    "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico",
    "PST": "America/Los_Angeles",
    "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}


@dataclass(frozen=True, slots=True)
class Zone:
    """A time zone: a fixed offset in seconds, or rules of the time zone database."""

    name: str
    offset: int | None
    rules: ZoneInfo | None


@cache
def zone_of(name: str) -> Zone:
    """The zone that Spark understands by `name`. Raises LookupError for an unknown one."""
    text = re.sub(r"([+-])([0-9]):", r"\g<1>0\2:", name, count=1)
    text = re.sub(r"([+-][0-9]{2}):([0-9])$", r"\1:0\2", text)
    text = _SHORT_IDS.get(text, text)
    if text in ("Z", "UTC", "GMT", "UT"):
        return Zone(name, 0, None)
    prefix = re.match(r"(?:UTC|GMT|UT)?(?=[+-])", text)
    if prefix is not None:
        return Zone(name, _offset_seconds(text[prefix.end() :], name), None)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9~/._+-]+", text):
        raise LookupError(f"{name!r} is not a time zone.")
    try:
        return Zone(name, None, ZoneInfo(text))
    except (LookupError, ValueError, OSError) as error:
        raise LookupError(f"{name!r} is not a time zone.") from error


def local_of(micros: int, zone: Zone) -> int:
    """Local microseconds in `zone` of the instant `micros`."""
    if zone.rules is None:
        return micros + (zone.offset or 0) * MICROS_PER_SECOND
    moment = (_EPOCH + timedelta(microseconds=_within_years(micros))).replace(tzinfo=UTC)
    return micros + _seconds(moment.astimezone(zone.rules).utcoffset()) * MICROS_PER_SECOND


def instant_of(local: int, zone: Zone) -> int:
    """The instant of a local time in `zone`: the earlier one of an overlap, moved on by the length of a gap."""
    if zone.rules is None:
        return local - (zone.offset or 0) * MICROS_PER_SECOND
    moment = (_EPOCH + timedelta(microseconds=_within_years(local))).replace(tzinfo=zone.rules)
    return local - _seconds(moment.utcoffset()) * MICROS_PER_SECOND


def near_clock_change(micros: int, zone: Zone) -> bool:
    """Whether the zone's clocks are changed within two days of an instant or local time."""
    if zone.rules is None:
        return False
    around = 2 * MICROS_PER_DAY
    return local_of(micros - around, zone) + 2 * around != local_of(micros + around, zone)


def days_from_civil(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 of a date of the proleptic Gregorian calendar."""
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970-01-01."""
    era, of_era = divmod(days + 719_468, 146_097)
    year = (of_era - of_era // 1_460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    shifted_month = (5 * of_year + 2) // 153
    month = (shifted_month + 2) % 12 + 1
    return year + era * 400 + (month <= 2), month, of_year - (153 * shifted_month + 2) // 5 + 1


def days_in_month(year: int, month: int) -> int:
    """Number of days of a month."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def parse_date(text: str) -> int | None:
    """Days of `[+-]y…y[-m[m][-d[d][T…]]]` as CAST(… AS DATE) reads it; None where Spark finds no date."""
    match = _DATE.fullmatch(text.strip(_BLANK))
    if match is None:
        return None
    sign, year, month, day = match.groups()
    return _days(sign, year, month, day)


def parse_timestamp(text: str, zone: Zone) -> int | None:
    """The instant that CAST(… AS TIMESTAMP) reads in `zone`, or None where Spark finds none.

    Raises LookupError for a time without a date: Spark takes today's.
    """
    fields = _timestamp_fields(text)
    if fields is None:
        return None
    local, zone_text = fields
    try:
        used = zone if zone_text is None else zone_of(zone_text)
    except LookupError:
        return None
    return _if_long(instant_of(local, used))


def parse_timestamp_ntz(text: str, allow_zone: bool = True) -> int | None:
    """Local microseconds that CAST(… AS TIMESTAMP_NTZ) reads; a zone in the text is dropped, or refused."""
    if _TIME_ALONE.fullmatch(text.strip(_BLANK)):
        return None
    fields = _timestamp_fields(text)
    if fields is None or (fields[1] is not None and not allow_zone):
        return None
    try:
        if fields[1] is not None:
            zone_of(fields[1])
    except LookupError:
        return None
    return _if_long(fields[0])


def has_zone(text: str) -> bool:
    """Whether a timestamp's text names its zone."""
    fields = _timestamp_fields(text)
    return fields is not None and fields[1] is not None


def is_special_date(text: str) -> bool:
    """Whether a typed literal's text is one of the moving names: now, today, yesterday, tomorrow, epoch."""
    return _SPECIAL.fullmatch(text.strip(_BLANK)) is not None


def format_date(days: int) -> str:
    """`yyyy-MM-dd` as CAST(… AS STRING) writes it: a sign before years outside 0 to 9999."""
    year, month, day = civil_from_days(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"


def format_timestamp(local: int) -> str:
    """`yyyy-MM-dd HH:mm:ss[.f…]` of local microseconds, without trailing zeros in the fraction."""
    days, micros = divmod(local, MICROS_PER_DAY)
    seconds, fraction = divmod(micros, MICROS_PER_SECOND)
    tail = f".{fraction:06d}".rstrip("0") if fraction else ""
    return f"{format_date(days)} {seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}{tail}"


def _timestamp_fields(text: str) -> tuple[int, str | None] | None:
    trimmed = text.strip(_BLANK)
    if _TIME_ALONE.fullmatch(trimmed):
        raise LookupError(f"{text!r} is a time without a date.")
    match = _TIMESTAMP.fullmatch(trimmed)
    if match is None:
        return None
    sign, year, month, day, hour, minute, second, fraction, zone = match.groups()
    days = _days(sign, year, month, day)
    clock = (int(hour or 0), int(minute or 0), int(second or 0))
    if days is None or clock[0] > 23 or clock[1] > 59 or clock[2] > 59:
        return None
    seconds = days * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
    micros = int((fraction or "")[:6].ljust(6, "0"))
    return seconds * MICROS_PER_SECOND + micros, None if zone is None else zone.strip(_BLANK[:0x21])


def _days(sign: str, year: str, month: str | None, day: str | None) -> int | None:
    y, m, d = int(sign + year), int(month or 1), int(day or 1)
    if not 1 <= m <= 12 or not 1 <= d <= days_in_month(y, m):
        return None
    return days_from_civil(y, m, d)


def _offset_seconds(text: str, name: str) -> int:
    match = _OFFSET.fullmatch(text)
    if match is None:
        raise LookupError(f"{name!r} is not a time zone.")
    sign, alone, *pairs, six = match.groups()
    parts = [alone or "0", "0", "0"]
    if six is not None:
        parts = [six[:2], six[2:4], six[4:]]
    elif any(pairs):
        parts = [p for p in pairs if p is not None]
    hours, minutes, seconds = (int(p) for p in [*parts, "0"][:3])
    total = hours * 3600 + minutes * 60 + seconds
    if total > 18 * 3600 or minutes > 59 or seconds > 59:
        raise LookupError(f"{name!r} is not a time zone.")
    return -total if sign == "-" else total


def _within_years(micros: int) -> int:
    """`micros` moved by whole cycles of 400 years to where Python has dates; a zone's rules are the same there."""
    if micros < _FIRST:
        return micros + -(-(_FIRST - micros) // _CYCLE) * _CYCLE
    if micros > _LAST:
        return micros - -(-(micros - _LAST) // _CYCLE) * _CYCLE
    return micros


def _seconds(offset: timedelta | None) -> int:
    return 0 if offset is None else offset.days * 86_400 + offset.seconds


def _if_long(micros: int) -> int | None:
    return micros if _LONG_MIN <= micros <= _LONG_MAX else None
