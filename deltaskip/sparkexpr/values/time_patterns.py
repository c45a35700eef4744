"""Parses datetime patterns such as 'yyyy-MM-dd HH:mm' as Spark does, and formats times with them.

Spark checks a pattern first (it refuses weeks and narrow text), and then java.time makes a formatter. The locale is
en_US.

# Spark 4.1, DateTimeFormatterHelper.scala; java.time.format.DateTimeFormatterBuilder
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

from deltaskip.errors import shown
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.values import calendar

_WEEKS, _REFUSED, _REFUSED_IN_PARSING = frozenset("YWwuec"), frozenset("ABnNp"), frozenset("EFqQ")
_TOO_LONG = regex("G{5}|M{5}|L{5}|E{5}|Q{5}|q{5}|y{7}")
# The most repetitions of each letter. Java refuses other letters, and F differs between versions of Java.
_MOST = {
    **dict.fromkeys("GMLEQqO", 4),
    **dict.fromkeys("dhHkKms", 2),
    **dict.fromkeys("XxZ", 5),
    "D": 3,
    "y": 6,
    "S": 9,
    "a": 1,
    "V": 2,
    "z": 4,
}
_ONLY = {"V": (2,), "O": (1, 4)}

DAY_LETTERS = frozenset("GyMLdDEQq")
"""Letters of date fields."""
OFFSET_LETTERS = frozenset("XxZO")
"""Letters of the offset from UTC."""

_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ERAS = (("BC", "Before Christ"), ("AD", "Anno Domini"))
_QUARTERS = ("1st quarter", "2nd quarter", "3rd quarter", "4th quarter")
_HOUR = 3600


@dataclass(frozen=True, slots=True)
class PatternField:
    """A letter and its number of repetitions. era: Whether the pattern has an era, from which years count."""

    letter: str
    count: int
    era: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """An optional part in brackets. A string may lack it; formatting always writes it."""

    items: tuple[PatternItem, ...]


PatternItem: TypeAlias = str | PatternField | Section
"""A part of a pattern; a str is literal text."""


@lru_cache(maxsize=512)
def pattern_items(pattern: str, parsing: bool = False) -> tuple[PatternItem, ...]:
    """Return the parts of a pattern. If `parsing`, quotes in a pattern with a fraction follow other rules.

    Raises EvaluationError if Spark refuses the pattern, and Undecided if the result depends on the version of Java or
    on names of time zones.
    """
    era = _check(pattern, parsing)
    stack: list[list[PatternItem]] = [[]]
    for kind, text in _split(pattern, parsing):
        if kind == "literal":
            stack[-1].append(text)
        elif text == "[":
            stack.append([])
        elif text == "]":
            if len(stack) == 1:
                raise _refused(pattern, "a bracket is not open")
            _close(stack)
        else:
            stack[-1].append(_field(text, era, pattern))
    while len(stack) > 1:
        _close(stack)
    return tuple(stack[0])


def formatted(local: int, pattern: str, offset: int = 0, zone: calendar.Zone | None = None) -> str:
    """Format local microseconds. Raises as `pattern_items`.

    offset: Seconds from UTC. zone: The session's time zone, for patterns with its name.
    """
    days, micros = divmod(local, calendar.MICROS_PER_DAY)
    day, time = DateText(days), TimeText(micros)

    def text(items: tuple[PatternItem, ...]) -> Iterator[str]:
        for item in items:
            match item:
                case str():
                    yield item
                case Section(inner):
                    yield from text(inner)
                case PatternField(letter) if letter in DAY_LETTERS:
                    yield day.text(item)
                case PatternField(letter) if letter in OFFSET_LETTERS:
                    yield offset_text(item, offset)
                case PatternField("V" | "z"):
                    yield zone_text(item, zone)
                case PatternField():
                    yield time.text(item)

    return "".join(text(pattern_items(pattern)))


class DateText:
    """Formats the fields of a date."""

    __slots__ = ("day", "days", "month", "year")

    def __init__(self, days: int) -> None:
        self.days = days
        self.year, self.month, self.day = calendar.civil_from_days(days)

    def text(self, field: PatternField) -> str:
        """The text of a field."""
        count = field.count
        match field.letter:
            case "G":
                return _ERAS[self.year > 0][count == 4]
            case "y":
                return year_text(self.year if not field.era or self.year > 0 else 1 - self.year, count)
            case "M" | "L":
                name = _MONTHS[self.month - 1]
                return _number(self.month, count) if count < 3 else name[:3] if count == 3 else name
            case "d":
                return _number(self.day, count)
            case "D":
                return _number(self.days - calendar.days_from_civil(self.year, 1, 1) + 1, count)
            case "E":
                name = _DAYS[(self.days + 3) % 7]
                return name if count == 4 else name[:3]
        return quarter_texts(count)[(self.month - 1) // 3]


class TimeText:
    """Formats the fields of a time of day."""

    __slots__ = ("fraction", "seconds")

    def __init__(self, micros: int) -> None:
        self.seconds, self.fraction = divmod(micros, calendar.MICROS_PER_SECOND)

    def text(self, field: PatternField) -> str:
        """The text of a field."""
        hour, count = self.seconds // _HOUR, field.count
        match field.letter:
            case "S":
                return f"{self.fraction:06d}000"[:count]
            case "a":
                return "AM" if hour < 12 else "PM"
            case "H":
                return _number(hour, count)
            case "h":
                return _number((hour + 11) % 12 + 1, count)
            case "k":
                return _number((hour + 23) % 24 + 1, count)
            case "K":
                return _number(hour % 12, count)
            case "m":
                return _number(self.seconds // 60 % 60, count)
        return _number(self.seconds % 60, count)


def names_of(letter: str, count: int) -> tuple[tuple[str, int], ...]:
    """Return the names of eras (G) or months (M) with their numbers, the longest first."""
    if letter == "G":
        return tuple((each[count == 4], at) for at, each in enumerate(_ERAS))
    names = [(name if count == 4 else name[:3], month) for month, name in enumerate(_MONTHS, 1)]
    return tuple(sorted(names, key=lambda each: -len(each[0])))


def year_text(year: int, count: int) -> str:
    """Return the text of a year for a pattern with `count` letters."""
    if count == 2:
        return f"{abs(year) % 100:02d}"
    sign = "-" if year < 0 else "+" if count > 3 and year >= 10**count else ""
    return f"{sign}{abs(year):0{count}d}"


def quarter_texts(count: int) -> tuple[str, ...]:
    """Return the names of the four quarters for a pattern with `count` letters."""
    if count == 4:
        return _QUARTERS
    return tuple(f"Q{n}" if count == 3 else _number(n, count) for n in range(1, 5))


def offset_text(field: PatternField, offset: int) -> str:
    """Return the text of an offset from UTC in seconds."""
    letter, count = field.letter, field.count
    sign, (minutes, seconds) = "-" if offset < 0 else "+", divmod(abs(offset), 60)
    hours, minutes = divmod(minutes, 60)
    if letter == "O" or (letter == "Z" and count == 4):
        if not offset:
            return "GMT"
        rest = f":{seconds:02d}" if seconds else ""
        if letter == "O" and count == 1:
            return f"GMT{sign}{hours}" + (f":{minutes:02d}{rest}" if minutes or seconds else "")
        return f"GMT{sign}{hours:02d}:{minutes:02d}{rest}"
    form = 2 if letter == "Z" and count < 4 else count
    colon = ":" if form in (3, 5) else ""
    found = f"{sign}{hours:02d}"
    if form > 1 or minutes:
        found += f"{colon}{minutes:02d}"
    if form > 3 and seconds:
        found += f"{colon}{seconds:02d}"
    # If only hours and minutes are written, an offset of less than a minute counts as zero.
    if not (hours or minutes or (form > 3 and seconds)):
        return offset_zero(field)
    return found


def offset_zero(field: PatternField) -> str:
    """Return the text of a zero offset from UTC."""
    if field.letter == "x":
        return "+00" if field.count == 1 else "+00:00" if field.count % 2 else "+0000"
    return "+0000" if field.letter == "Z" and field.count < 4 else "Z"


def zone_text(field: PatternField, zone: calendar.Zone | None) -> str:
    """Return the name of a time zone. Raises Undecided if the name depends on the version of Java."""
    if zone is not None and field.letter == "V" and zone.rules is not None and zone.rules.key:
        return zone.rules.key
    if zone is not None and zone.name == "UTC":
        return "Coordinated Universal Time" if field.letter == "z" and field.count == 4 else "UTC"
    raise Undecided("The name of a time zone is left to Spark.")


def _check(pattern: str, parsing: bool) -> bool:
    """Whether a pattern has an era. Raises EvaluationError for letters that Spark refuses outside of quotes."""
    plain = pattern.split("'")[::2]
    for part in plain:
        letters = set(part)
        if letters & _WEEKS or letters & _REFUSED or (parsing and letters & _REFUSED_IN_PARSING):
            raise _refused(pattern, "weeks, day periods and the like have no letter")
        if _TOO_LONG.search(part):
            raise _refused(pattern, "a letter is repeated too often")
    return any("G" in part for part in plain)


def _split(pattern: str, parsing: bool) -> Iterator[tuple[str, str]]:
    """Yield the literal texts and the repeated letters of a pattern, each with its kind."""
    if parsing and "S" in pattern:
        # Spark makes the formatter itself, for fractions of any length.
        parts = pattern.rstrip("'").split("'")
        for at, part in enumerate(parts):
            if not part and at:
                yield "literal", "'"
            elif at % 2:
                yield "literal", part
            else:
                yield from _plain(part, pattern)
        return
    at = 0
    while at < len(pattern):
        end = pattern.find("'", at)
        yield from _plain(pattern[at : end if end >= 0 else None], pattern)
        if end < 0:
            return
        start = at = end + 1
        while True:
            at = pattern.find("'", at)
            if at < 0:
                raise _refused(pattern, "a quote is not closed")
            if pattern[at + 1 : at + 2] != "'":
                break
            at += 2
        text = pattern[start:at]
        yield "literal", text.replace("''", "'") if text else "'"
        at += 1


def _plain(part: str, pattern: str) -> Iterator[tuple[str, str]]:
    for match in re.finditer(r"([A-Za-z])\1*|.", part, re.DOTALL):
        text = match[0]
        if text in "{}#":
            raise _refused(pattern, f"{text} is reserved")
        yield ("letters" if match[1] or text in "[]" else "literal"), text


def _field(text: str, era: bool, pattern: str) -> PatternField:
    letter, count = text[0], len(text)
    if letter in "vgF":
        raise Undecided(f"The pattern {shown(pattern)} is left to Spark.")
    if count > _MOST.get(letter, 0) or count not in _ONLY.get(letter, (count,)):
        raise _refused(pattern, f"{text} is no field")
    return PatternField(letter, count, era and letter == "y")


def _close(stack: list[list[PatternItem]]) -> None:
    section = Section(tuple(stack.pop()))
    stack[-1].append(section)


def _number(value: int, count: int) -> str:
    return f"{value:0{count}d}"


def _refused(pattern: str, why: str) -> EvaluationError:
    return EvaluationError(f"{shown(pattern)} is not a pattern of dates and times: {why} (INVALID_DATETIME_PATTERN).")


def local_and_offset(micros: int, zone: calendar.Zone) -> tuple[int, int]:
    """Return the local microseconds of an instant, and the offset in seconds."""
    local = calendar.local_of(micros, zone)
    return local, (local - micros) // calendar.MICROS_PER_SECOND
