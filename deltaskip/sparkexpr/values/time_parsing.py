"""Parses dates and times by a pattern, like Spark's to_timestamp(text, pattern).

A pattern becomes a list of readers. Each reads the number of a field; adjacent numbers share their digits as in
java.time. The strict resolver makes a date, a time and an offset of the numbers. Missing fields default to
1970-01-01 00:00:00.

# Spark 4.1, DateTimeFormatterHelper.scala; java.time.format.DateTimeFormatterBuilder and Parsed, strict
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import TypeAlias

from deltaskip.errors import shown
from deltaskip.records import dataclass
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.values import calendar
from deltaskip.sparkexpr.values import time_patterns as patterns

# The valid range of each field that is checked alone.
_RANGES = {
    "hour": (0, 23),
    "hour of half": (0, 11),
    "clock hour": (1, 24),
    "clock hour of half": (1, 12),
    "half": (0, 1),
    "minute": (0, 59),
    "second": (0, 59),
    "month": (1, 12),
    "day": (1, 31),
    "day of year": (1, 366),
    "year of era": (1, 999_999_999),
    "year": (-999_999_999, 999_999_999),
}
_NUMBERS = {
    "M": "month",
    "L": "month",
    "d": "day",
    "D": "day of year",
    "H": "hour",
    "K": "hour of half",
    "k": "clock hour",
    "h": "clock hour of half",
    "m": "minute",
    "s": "second",
}
_MOST_DIGITS = 19
# Letters whose upper or lower case differs between Java and Python.
_ODD_LETTERS = "\u0130\u0131\u017f\u212a\u1e9e"


class _Unlike(Exception):
    """The string does not match the pattern."""


@dataclass(frozen=True, slots=True)
class _FieldDigits:
    """Digits of a field. after: Digits that are reserved for the numbers directly after this field."""

    field: str
    least: int
    most: int
    signs: str = ""
    after: int = 0
    century: bool = False


@dataclass(frozen=True, slots=True)
class _Fraction:
    """Digits of the fraction of a second."""

    most: int


@dataclass(frozen=True, slots=True)
class _Words:
    """Names of a field, the longest first, and their values."""

    field: str
    names: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class _Offset:
    """Hours, minutes and seconds from UTC. parts: The least and the greatest number of them."""

    zero: str
    parts: tuple[int, int]
    colon: bool


@dataclass(frozen=True, slots=True)
class _Optional:
    """Readers of an optional section."""

    readers: tuple[_Reader, ...]


_Reader: TypeAlias = str | _FieldDigits | _Fraction | _Words | _Offset | _Optional
_Found = dict[str, int]


def parsed_time(text: str, pattern: str, zone: calendar.Zone | None) -> int:
    """Return the instant, or the local microseconds, that a string represents.

    zone: The session's time zone; None for local microseconds, which ignore an offset in the string.

    Raises EvaluationError if Spark refuses the pattern, or the string does not match it, and Undecided if the result
    depends on the version of Java, on names of time zones, or on the limits of timestamps.
    """
    readers = _readers(pattern)
    if any(letter in text for letter in _ODD_LETTERS):
        raise Undecided(f"{shown(text)} as a timestamp is left to Spark.")
    found: _Found = {}
    try:
        end = _read(readers, text, 0, found)
        if end < len(text):
            raise _Unlike
        local, offset = _resolved(found)
    except _Unlike as error:
        reason = f"{shown(text)} does not have the form of {shown(pattern)} (CANNOT_PARSE_TIMESTAMP)."
        raise EvaluationError(reason) from error
    if zone is not None:
        local = calendar.instant_of(local, zone) if offset is None else local - offset * calendar.MICROS_PER_SECOND
    if not calendar.INSTANT_MIN + calendar.MICROS_PER_DAY <= local <= calendar.INSTANT_MAX - calendar.MICROS_PER_DAY:
        raise Undecided(f"{shown(text)} is near the limits of timestamps, which is left to Spark.")
    return local


@lru_cache(maxsize=512)
def _readers(pattern: str) -> tuple[_Reader, ...]:
    found: list[_Reader] = []
    _add(patterns.pattern_items(pattern, parsing=True), found, pattern)
    return tuple(found)


def _add(items: Sequence[patterns.PatternItem], readers: list[_Reader], pattern: str) -> None:
    """Append the readers of pattern items. A number reserves digits for the numbers directly after it."""
    active: int | None = None
    for item in items:
        match item:
            case patterns.Section(inner):
                section: list[_Reader] = []
                _add(inner, section, pattern)
                readers.append(_Optional(tuple(section)))
                active = None
                continue
            case str():
                readers.append(item)
                active = None
                continue
        reader = _reader(item, pattern)
        fixed = isinstance(reader, _FieldDigits) and reader.least == reader.most and not reader.signs
        fixed |= isinstance(reader, _Fraction) and reader.most == 1
        before = None if active is None else readers[active]
        if not fixed and not isinstance(reader, _FieldDigits):
            active = None
        elif active is None or not isinstance(before, _FieldDigits):
            active = len(readers)
        elif fixed:
            width = reader.most if isinstance(reader, _FieldDigits | _Fraction) else 0
            readers[active] = replace(before, after=before.after + width)
        else:
            readers[active] = replace(before, after=-1)
            active = len(readers)
        readers.append(reader)


def _reader(field: patterns.PatternField, pattern: str) -> _Reader:
    letter, count = field.letter, field.count
    match letter:
        case "S":
            return _Fraction(count)
        case "y":
            name = "year of era" if field.era else "year"
            if count == 2:
                return _FieldDigits(name, 2, 2, century=True)
            return _FieldDigits(name, count, _MOST_DIGITS, "-" if count < 4 else "+-")
        case "M" | "L" if count > 2:
            return _Words("month", patterns.names_of("M", count))
        case "G":
            return _Words("era", patterns.names_of("G", count))
        case "a":
            return _Words("half", (("AM", 0), ("PM", 1)))
        case "D" if count > 1:
            return _FieldDigits("day of year", count, 3)
        case "X" | "x" | "Z" if (letter, count) != ("Z", 4):
            form = 2 if letter == "Z" and count < 4 else count
            parts = ((1, 2), (2, 2), (2, 2), (2, 3), (2, 3))[form - 1]
            return _Offset(patterns.offset_zero(field), parts, form in (3, 5))
    if letter not in _NUMBERS:
        raise Undecided(f"The pattern {shown(pattern)} is left to Spark.")
    if count == 1:
        return _FieldDigits(_NUMBERS[letter], 1, _MOST_DIGITS, "-")
    return _FieldDigits(_NUMBERS[letter], count, count)


def _read(readers: Sequence[_Reader], text: str, at: int, found: _Found) -> int:
    """Read the text from the index `at`; return the index after the last reader."""
    for reader in readers:
        match reader:
            case str():
                if not _same(text[at : at + len(reader)], reader):
                    raise _Unlike
                at += len(reader)
            case _FieldDigits():
                at = _number(reader, text, at, found)
            case _Fraction(most):
                digits = _digits(text, at, most)
                if not digits:
                    raise _Unlike
                _put(found, "nanos", int(digits.ljust(9, "0")))
                at += len(digits)
            case _Words(field, names):
                known = [(name, value) for name, value in names if _same(text[at : at + len(name)], name)]
                if not known:
                    raise _Unlike
                _put(found, field, known[0][1])
                at += len(known[0][0])
            case _Offset():
                at = _offset(reader, text, at, found)
            case _Optional(inner):
                inside = dict(found)
                try:
                    at = _read(inner, text, at, inside)
                except _Unlike:
                    continue
                found.update(inside)
    return at


def _number(reader: _FieldDigits, text: str, at: int, found: _Found) -> int:
    start, sign = at, text[at : at + 1]
    if not sign or (sign in "+-" and sign not in reader.signs):
        raise _Unlike
    at += sign in "+-"
    most = reader.most
    if reader.after < 0 and reader.least == reader.most:
        most = reader.least
    digits = _digits(text, at, most + max(reader.after, 0))
    if len(digits) < reader.least:
        raise _Unlike
    if reader.after > 0:
        digits = digits[: max(reader.least, len(digits) - reader.after)]
    value = int(digits)
    if sign == "-" and not value:
        raise _Unlike
    if reader.signs == "+-" and sign != "-" and (len(digits) > reader.least) != (sign == "+"):
        # A year has a plus sign only if it has more digits than the pattern requires.
        raise _Unlike
    if reader.century:
        value += 2000
    _put(found, reader.field, -value if sign == "-" else value)
    return start + (sign in "+-") + len(digits)


def _offset(reader: _Offset, text: str, at: int, found: _Found) -> int:
    zero = reader.zero
    if at == len(text):
        raise _Unlike
    if _same(text[at : at + len(zero)], zero):
        _put(found, "offset", 0)
        return at + len(zero)
    sign = text[at]
    if sign not in "+-":
        raise _Unlike
    at += 1
    total, (least, most) = 0, reader.parts
    for part in range(most):
        colon = 1 if part and reader.colon else 0
        digits = _digits(text, at + colon, 2)
        if (colon and text[at : at + 1] != ":") or len(digits) < 2 or int(digits) > 59:
            if part < least:
                raise _Unlike
            break
        if part == 0 and int(digits) > 23:
            raise _Unlike
        total += int(digits) * (3600, 60, 1)[part]
        at += colon + 2
    _put(found, "offset", -total if sign == "-" else total)
    return at


def _digits(text: str, at: int, most: int) -> str:
    """At most `most` digits from the index `at`."""
    end = at
    while end < min(len(text), at + most) and "0" <= text[end] <= "9":
        end += 1
    return text[at:end]


def _same(text: str, wanted: str) -> bool:
    """Whether two strings are equal, ignoring case."""
    return text == wanted or (len(text) == len(wanted) and text.lower() == wanted.lower())


def _put(found: _Found, field: str, value: int) -> None:
    if found.setdefault(field, value) != value:
        raise _Unlike


def _resolved(found: _Found) -> tuple[int, int | None]:
    """Local microseconds and the offset that the fields represent."""
    offset = found.pop("offset", None)
    if offset is not None and abs(offset) * calendar.MICROS_PER_SECOND > calendar.GREATEST_OFFSET_MICROS:
        raise _Unlike
    days, resolved = _day(found)
    nanos = _time(found)
    _check_rest(found, days if resolved else None)
    return days * calendar.MICROS_PER_DAY + nanos // 1000, offset


def _day(found: _Found) -> tuple[int, bool]:
    """The days since 1970-01-01, and whether the string had every field of the date."""
    if "year of era" in found:
        year = _checked(found, "year of era")
        if "era" in found:
            _put(found, "year", year if found.pop("era") == 1 else 1 - year)
            del found["year of era"]
    year = _checked(found, "year", 1970)
    if "year" in found and "month" in found and "day" in found:
        return _civil(year, _checked(found, "month"), _checked(found, "day")), True
    if "day of year" in found:
        day = _checked(found, "day of year")
        if day == 366 and calendar.days_in_month(year, 2) == 28:
            raise _Unlike
        days = calendar.days_from_civil(year, 1, 1) + day - 1
        _, month, day = calendar.civil_from_days(days)
        if found.get("month", month) != month or found.get("day", day) != day:
            raise _Unlike
        return days, "year" in found
    return _civil(year, _checked(found, "month", 1), _checked(found, "day", 1)), False


def _civil(year: int, month: int, day: int) -> int:
    if day > calendar.days_in_month(year, month):
        raise _Unlike
    return calendar.days_from_civil(year, month, day)


def _check_rest(found: _Found, days: int | None) -> None:
    """Raise if a day of the year contradicts the date."""
    if days is not None and "day of year" in found:
        year, _, _ = calendar.civil_from_days(days)
        if found["day of year"] != days - calendar.days_from_civil(year, 1, 1) + 1:
            raise _Unlike


def _time(found: _Found) -> int:
    """The nanoseconds since midnight."""
    for field in ("clock hour", "clock hour of half", "hour", "hour of half", "half", "minute", "second"):
        if field in found:
            _checked(found, field)
    if "clock hour" in found:
        _put(found, "hour", found["clock hour"] % 24)
    if "clock hour of half" in found:
        _put(found, "hour of half", found["clock hour of half"] % 12)
    half, of_half = found.get("half"), found.get("hour of half")
    if half is not None and of_half is not None:
        _put(found, "hour", half * 12 + of_half)
    minute, second, nanos = (found.get(field) for field in ("minute", "second", "nanos"))
    hour = found.get("hour")
    if hour is not None:
        # The fields make a time if none is missing between two others; only then must the hour fit its half of the day.
        whole = not (minute is None and (second is not None or nanos is not None)) and not (
            minute is not None and second is None and nanos is not None
        )
        if whole and (half not in (None, hour // 12) or of_half not in (None, hour % 12)):
            raise _Unlike
    else:
        hour = of_half if of_half is not None else 12 if half == 1 else 0
    return ((hour * 60 + (minute or 0)) * 60 + (second or 0)) * 1_000_000_000 + (nanos or 0)


def _checked(found: _Found, field: str, default: int = 0) -> int:
    """The value of a field. Raises _Unlike if it is out of range."""
    value = found.get(field, default)
    low, high = _RANGES[field]
    if field in found and not low <= value <= high:
        raise _Unlike
    return value
