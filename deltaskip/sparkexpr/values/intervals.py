"""Interval literals of Spark SQL, and sums of a date or timestamp and an interval.

The value of a literal is a count of microseconds for the day-time types, and a count of months for the year-month type.
A value of make_interval has months, days and microseconds; it is only used in a sum with a date or timestamp.

# Spark 4.1, IntervalUtils, and BinaryArithmeticWithDatetimeResolver for the types of sums
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr.coerce import cast_to, implicit_cast, type_of
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.nodes import Call, Literal, Node
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values import calendar
from deltaskip.sparkexpr.values.dates import add_days, add_months
from deltaskip.sparkexpr.values.interval_types import (
    CALENDAR,
    DAYS,
    INTERVALS,
    YEAR_MONTHS,
    interval_type,
    interval_words,
)
from deltaskip.sparkexpr.values.numerals import EXACT, exactly, of_unscaled

_NUMBER = regex(r"\s*([+-]?)([0-9]{1,18})(?:\.([0-9]{0,9}))?\s*", re.ASCII)
_PAIR = regex(r"([+-]?[0-9]+(?:\.[0-9]*)?)\s+([A-Za-z]+)", re.ASCII)
_CLOCK_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND")
_STORED_UNITS = {"WEEK": "DAY", "MILLISECOND": "SECOND", "MICROSECOND": "SECOND"}
# The greatest number of arguments of the functions that make intervals.
_MAKING = {"make_interval": 7, "try_make_interval": 7, "make_dt_interval": 4, "make_ym_interval": 2}
_MOST = {"HOUR": 23, "MINUTE": 59, "SECOND": 59}


def interval_of(parts: Sequence[tuple[str, str]]) -> Literal | None:
    """Return the literal of numbers with units, such as ("7", "days"); None if Spark may not accept it.

    Units are in any letter case, singular or plural.
    """
    micros = months = 0
    units = []
    for text, name in parts:
        unit = name.upper().removesuffix("S")
        match = _NUMBER.fullmatch(text)
        if match is None or (match[3] is not None and unit != "SECOND"):
            return None
        sign, fraction = -1 if match[1] == "-" else 1, int((match[3] or "").ljust(6, "0")[:6])
        if unit in calendar.UNIT_MICROS:
            micros += sign * (int(match[2]) * calendar.UNIT_MICROS[unit] + fraction)
        elif unit in ("YEAR", "MONTH"):
            months += sign * int(match[2]) * calendar.UNIT_MONTHS[unit]
        else:
            return None
        units.append(unit)
    return _literal(months, micros, units)


def interval_in(text: str) -> Literal | None:
    """Return the literal of INTERVAL '7 days 2 hours'; None if Spark may not accept it."""
    text = text.strip()
    words = text[8:].strip() if text[:9].lower() == "interval " else text
    parts = _PAIR.findall(words)
    return interval_of(parts) if parts and _PAIR.sub("", words).strip() == "" else None


def interval_between(text: str, first: str, last: str) -> Literal | None:
    """Return the literal of INTERVAL 'text' first TO last, such as '1 02:03:04' DAY TO SECOND.

    None if Spark may not accept it.
    """
    first, last = first.upper(), last.upper()
    if (first, last) == ("YEAR", "MONTH"):
        match = re.fullmatch(r"\s*([+-]?)([0-9]{1,9})-([0-9]{1,2})\s*", text, re.ASCII)
        if match is None or int(match[3]) > 11:
            return None
        return _literal((-1 if match[1] == "-" else 1) * (int(match[2]) * 12 + int(match[3])), 0, ["YEAR", "MONTH"])
    if first not in _CLOCK_UNITS or last not in _CLOCK_UNITS or first == last:
        return None
    units = _CLOCK_UNITS[_CLOCK_UNITS.index(first) : _CLOCK_UNITS.index(last) + 1]
    form = r"\s*([+-]?)" + "".join(_field(unit, units) for unit in units) + r"\s*"
    match = re.fullmatch(form, text, re.ASCII) if units else None
    if match is None:
        return None
    micros = 0
    for at, unit in enumerate(units):
        whole, _, fraction = match[at + 2].partition(".")
        if at and int(whole) > _MOST[unit]:
            return None
        micros += int(whole) * calendar.UNIT_MICROS[unit] + int(fraction.ljust(6, "0")[:6] or 0)
    return _literal(0, -micros if match[1] == "-" else micros, units)


def made_interval(name: str, args: Sequence[Node]) -> Literal | None:
    """Return the value of make_interval, make_dt_interval or make_ym_interval.

    None for other functions, for arguments that are not numeric literals, and if Spark fails or returns NULL.
    """
    values = [arg.value if isinstance(arg, Literal) else None for arg in args]
    if len(values) > _MAKING.get(name, -1):
        return None
    whole, seconds = values, Decimal(0)
    most = _MAKING[name] - (name != "make_ym_interval")
    if len(values) > most:
        whole, last = values[:most], values[most]
        if isinstance(last, bool) or not isinstance(last, int | Decimal):
            return None
        seconds = exactly(last)
    if any(not isinstance(value, int) or isinstance(value, bool) or abs(value) >= 2**31 for value in whole):
        return None
    counts = [value for value in whole if isinstance(value, int)] + [0] * (most - len(whole))
    if seconds.copy_abs() >= 10**12:
        return None
    micros = int(seconds.quantize(Decimal("0.000001"), ROUND_HALF_UP, EXACT).scaleb(6, EXACT))
    if name == "make_ym_interval":
        return _literal(counts[0] * 12 + counts[1], 0, ["YEAR", "MONTH"])
    *_, days, hours, minutes = counts
    micros += hours * calendar.UNIT_MICROS["HOUR"] + minutes * calendar.UNIT_MICROS["MINUTE"]
    if name == "make_dt_interval":
        return _literal(0, days * calendar.MICROS_PER_DAY + micros, ["DAY", "SECOND"])
    months, days = counts[0] * 12 + counts[1], counts[2] * 7 + days
    return Literal((months, days, micros), CALENDAR) if max(abs(months), abs(days)) < 2**31 else None


def added_interval(quantity: int, unit: str) -> Literal | None:
    """Return the interval that `timestampadd(unit, quantity, …)` adds; None for other units, and out of range."""
    name = unit.upper().replace("DAYOFYEAR", "DAY")
    if name in calendar.UNIT_MONTHS:
        return _literal(quantity * calendar.UNIT_MONTHS[name], 0, ["MONTH"])
    found = _literal(0, quantity * calendar.UNIT_MICROS[name], [name]) if name in calendar.UNIT_MICROS else None
    # Hours and shorter units are added to the instant, even if the sum is more than a day.
    return found if found is None or found.type == DAYS else Literal((0, 0, found.value), CALENDAR)


def sum_with_interval(node: Call) -> Node | None:
    """Return a date or timestamp plus or minus an interval literal; None for other calls."""
    match node:
        case Call("+" | "-" as name, (time, right)) if (found := _constant(right)) is not None:
            interval = _negated(found) if name == "-" else found
        case Call("+", (left, time)) if (found := _constant(left)) is not None:
            interval = found
        case Call("timestampadd", (Literal(str() as unit), Literal(int() as count, of), time)) if of in t.INTEGRAL_BITS:
            counted = added_interval(count, unit)
            if counted is None:
                return None
            interval = counted
        case _:
            return None
    type_ = type_of(time)
    if node.name == "timestampadd" and type_ not in (t.TIMESTAMP, t.TIMESTAMP_NTZ):
        time = implicit_cast(time, t.TIMESTAMP) or time
    elif type_ == t.DATE and interval.type not in (DAYS, CALENDAR, *YEAR_MONTHS):
        time = cast_to(time, t.TIMESTAMP)
    type_ = type_of(time)
    return Call("add_interval", (time, interval), type_) if type_ in t.DATETIMES else None


def _constant(node: Node) -> Literal | None:
    """Return a constant interval; None for other nodes."""
    match node:
        case Call("make_interval" | "try_make_interval" as name, args):
            return made_interval(name, args)
        case Literal(value, type_) if type_ in INTERVALS and value is not None:
            return node
    return None


def _negated(interval: Literal) -> Literal:
    """Return the interval with the opposite sign."""
    if interval.type == CALENDAR:
        return Literal(tuple(-part for part in amount_of(interval)), CALENDAR)
    assert isinstance(interval.value, int)
    return Literal(-interval.value, interval.type)


def amount_of(interval: Literal) -> tuple[int, int, int]:
    """Return the months, days and microseconds of an interval."""
    match interval.value:
        case (int() as months, int() as days, int() as micros):
            return months, days, micros
        case int() as amount if interval.type in YEAR_MONTHS:
            return amount, 0, 0
        case int() as amount:
            days = abs(amount) // calendar.MICROS_PER_DAY * (1 if amount >= 0 else -1)
            return 0, days, amount - days * calendar.MICROS_PER_DAY
    raise Undecided("The interval is not known.")


def moved(value: int, type_: t.DataType, interval: Literal, zone: calendar.Zone) -> int:
    """Return a date or timestamp plus an interval.

    Months and days are added to the local time. A local time in a gap moves later by the length of the gap, and a local
    time that occurs twice keeps its offset from UTC.

    Raises EvaluationError if Spark fails: the sum is out of range, or a date plus the interval has a time of day.
    """
    months, days, micros = amount_of(interval)
    if type_ == t.DATE:
        if micros:
            raise EvaluationError("A date plus an interval with a time of day is no date.")
        if interval.type == DAYS:
            return add_days(value, days)
        return _checked(add_months(value, months) + days, 31)
    for count, in_months in ((months, True), (days, False)):
        if count:
            value = _moved_local(value, count, in_months, zone if type_ == t.TIMESTAMP else None)
    return _checked(value + micros, 63)


def _moved_local(value: int, count: int, in_months: bool, zone: calendar.Zone | None) -> int:
    """A timestamp `count` months or days later."""
    local = value if zone is None else calendar.local_of(value, zone)
    day, time = divmod(local, calendar.MICROS_PER_DAY)
    found = (add_months(day, count) if in_months else day + count) * calendar.MICROS_PER_DAY + time
    if zone is None:
        return found
    kept = found - (local - value)
    return kept if calendar.local_of(kept, zone) == found else calendar.instant_of(found, zone)


def interval_text(interval: Literal) -> str:
    """Return the literal as Spark SQL."""
    if interval.type == CALENDAR:
        months, days, micros = amount_of(interval)
        return f"make_interval(0, {months}, 0, {days}, 0, 0, {of_unscaled(micros, 6):f})"
    return interval_words(interval.value, interval.type)


def _field(unit: str, units: Sequence[str]) -> str:
    """The pattern of a unit's number, with the separator before it."""
    at = units.index(unit)
    separator = "" if at == 0 else r"\s+" if units[at - 1] == "DAY" else ":"
    digits = r"([0-9]{1,9})" if at == 0 else r"([0-9]{1,2})"
    return separator + (digits[:-1] + r"(?:\.[0-9]{1,9})?)" if unit == "SECOND" else digits)


def _literal(months: int, micros: int, units: Sequence[str]) -> Literal | None:
    """The literal; None if it mixes months with shorter units or is out of range."""
    units = [_STORED_UNITS.get(unit, unit) for unit in units]
    of_months = [unit for unit in units if unit in ("YEAR", "MONTH")]
    if of_months:
        fits = len(of_months) == len(units) and -(2**31) <= months < 2**31
        return Literal(months, interval_type(max(units), min(units))) if fits else None
    places = sorted(map(_CLOCK_UNITS.index, units))
    if not places or not -(2**63) <= micros < 2**63:
        return None
    return Literal(micros, interval_type(_CLOCK_UNITS[places[0]], _CLOCK_UNITS[places[-1]]))


def _checked(value: int, bits: int) -> int:
    if not -(1 << bits) <= value < 1 << bits:
        raise EvaluationError("The sum with an interval is out of range.")
    return value
