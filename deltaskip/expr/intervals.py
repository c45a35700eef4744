"""Interval literals of Spark SQL, and dates and timestamps plus an interval.

The value of a literal is a number of microseconds for the day-time types, and of months for the year-month type.

# Spark 4.1, IntervalUtils, and BinaryArithmeticWithDatetimeResolver for the types of sums
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from deltaskip.expr.dates import add_months
from deltaskip.expr.failures import EvaluationError, Undecided
from deltaskip.expr.nodes import Literal
from deltaskip.schema.calendar import MICROS_PER_DAY, MICROS_PER_SECOND, Zone, instant_of, local_of, near_clock_change
from deltaskip.schema.types import DATE, TIMESTAMP, DataType, UnknownType

__all__ = [
    "DAYS",
    "DAY_TIME",
    "INTERVALS",
    "YEAR_MONTH",
    "added",
    "interval_between",
    "interval_in",
    "interval_of",
    "interval_text",
    "moved",
]

DAYS = UnknownType('"interval day"')
DAY_TIME = UnknownType('"interval day to second"')
YEAR_MONTH = UnknownType('"interval year to month"')
INTERVALS: tuple[DataType, ...] = (DAYS, DAY_TIME, YEAR_MONTH)

_MICROS = {
    "WEEK": 7 * MICROS_PER_DAY,
    "DAY": MICROS_PER_DAY,
    "HOUR": 3600 * MICROS_PER_SECOND,
    "MINUTE": 60 * MICROS_PER_SECOND,
    "SECOND": MICROS_PER_SECOND,
    "MILLISECOND": 1000,
    "MICROSECOND": 1,
}
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_NUMBER = re.compile(r"\s*([+-]?)([0-9]{1,18})(?:\.([0-9]{0,9}))?\s*", re.ASCII)
_PAIR = re.compile(r"([+-]?[0-9]+(?:\.[0-9]*)?)\s+([A-Za-z]+)", re.ASCII)
_CLOCK_UNITS = ("DAY", "HOUR", "MINUTE", "SECOND")
_MOST = {"HOUR": 23, "MINUTE": 59, "SECOND": 59}


def interval_of(parts: Sequence[tuple[str, str]]) -> Literal | None:
    """Return the literal of numbers with units, such as ("7", "days"); None if Spark may not accept it.

    Args:
        parts: Each number as text, and its unit in any letter case, singular or plural.
    """
    micros = months = 0
    units = []
    for text, name in parts:
        unit = name.upper().removesuffix("S")
        match = _NUMBER.fullmatch(text)
        if match is None or (match[3] is not None and unit != "SECOND"):
            return None
        sign, fraction = -1 if match[1] == "-" else 1, int((match[3] or "").ljust(6, "0")[:6])
        if unit in _MICROS:
            micros += sign * (int(match[2]) * _MICROS[unit] + fraction)
        elif unit in ("YEAR", "MONTH"):
            months += sign * int(match[2]) * _MONTHS[unit]
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
        return _literal((-1 if match[1] == "-" else 1) * (int(match[2]) * 12 + int(match[3])), 0, ["MONTH"])
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
        micros += int(whole) * _MICROS[unit] + int(fraction.ljust(6, "0")[:6] or 0)
    return _literal(0, -micros if match[1] == "-" else micros, units)


def added(quantity: int, unit: str) -> Literal | None:
    """Return the interval that `timestampadd(unit, quantity, …)` adds; None for other units."""
    name = unit.upper()
    if name in _MONTHS:
        return _literal(quantity * _MONTHS[name], 0, ["MONTH"])
    return _literal(0, quantity * _MICROS[name], [name]) if name in _MICROS else None


def moved(value: int, type_: DataType, interval: Literal, zone: Zone) -> int:
    """Return a date or timestamp plus an interval. A date takes DAYS or YEAR_MONTH only.

    Raises EvaluationError where Spark fails or may have another result: beyond the range, and near clock changes.
    """
    amount = interval.value
    assert isinstance(amount, int)
    if type_ == DATE:
        if interval.type == YEAR_MONTH:
            return add_months(value, amount)
        return _checked(value + amount // MICROS_PER_DAY, 31)
    in_zone = type_ == TIMESTAMP
    local = local_of(value, zone) if in_zone else value
    days, time = divmod(local, MICROS_PER_DAY)
    rest = 0
    if interval.type == YEAR_MONTH:
        days = add_months(days, amount)
    else:
        whole = abs(amount) // MICROS_PER_DAY * (1 if amount >= 0 else -1)
        days, rest = days + whole, amount - whole * MICROS_PER_DAY
        if not whole:
            return _checked(value + rest, 63)
    found = days * MICROS_PER_DAY + time
    if in_zone:
        if near_clock_change(found, zone):
            raise Undecided("A time near a clock change plus an interval is left to Spark.")
        found = instant_of(found, zone)
    return _checked(found + rest, 63)


def interval_text(interval: Literal) -> str:
    """Return the literal as Spark SQL."""
    amount = interval.value
    assert isinstance(amount, int)
    sign, size = "-" if amount < 0 else "", abs(amount)
    if interval.type == YEAR_MONTH:
        return f"INTERVAL '{sign}{size // 12}-{size % 12}' YEAR TO MONTH"
    days, micros = divmod(size, MICROS_PER_DAY)
    if interval.type == DAYS:
        return f"INTERVAL '{sign}{days}' DAY"
    seconds, fraction = divmod(micros, MICROS_PER_SECOND)
    clock = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{fraction:06d}".rstrip("0").rstrip(".")
    return f"INTERVAL '{sign}{days} {clock}' DAY TO SECOND"


def _field(unit: str, units: Sequence[str]) -> str:
    """The pattern of a unit's number, with the separator before it."""
    at = units.index(unit)
    separator = "" if at == 0 else r"\s+" if units[at - 1] == "DAY" else ":"
    digits = r"([0-9]{1,9})" if at == 0 else r"([0-9]{1,2})"
    return separator + (digits[:-1] + r"(?:\.[0-9]{1,9})?)" if unit == "SECOND" else digits)


def _literal(months: int, micros: int, units: Sequence[str]) -> Literal | None:
    """The literal, unless it mixes months with shorter units or is out of range."""
    of_months = [unit for unit in units if unit in _MONTHS]
    if of_months:
        fits = len(of_months) == len(units) and -(2**31) <= months < 2**31
        return Literal(months, YEAR_MONTH) if fits else None
    type_ = DAYS if all(unit in ("DAY", "WEEK") for unit in units) else DAY_TIME
    return Literal(micros, type_) if units and -(2**63) <= micros < 2**63 else None


def _checked(value: int, bits: int) -> int:
    if not -(1 << bits) <= value < 1 << bits:
        raise EvaluationError("The sum with an interval is out of range.")
    return value
