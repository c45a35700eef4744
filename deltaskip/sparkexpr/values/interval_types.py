"""Types of intervals, and the texts and numbers that Spark casts their values to.

A day-time value is a count of microseconds, a year-month value a count of months; a value of the type `interval`, which
make_interval returns, has months, days and microseconds.
# Spark 4.1, DayTimeIntervalType, YearMonthIntervalType, CalendarIntervalType, IntervalUtils
"""

from __future__ import annotations

from decimal import Decimal

from deltaskip.sparkexpr.types.data_types import INTEGRAL_BITS, STRING, DataType, DecimalType, UnknownType
from deltaskip.sparkexpr.values.calendar import UNIT_MICROS
from deltaskip.sparkexpr.values.numerals import of_unscaled

_UNITS = (("YEAR", "MONTH"), ("DAY", "HOUR", "MINUTE", "SECOND"))
_FIELDS: dict[DataType, tuple[str, ...]] = {}
for _family in _UNITS:
    for _at, _first in enumerate(_family):
        for _end in range(_at, len(_family)):
            _last = _family[_end]
            _words = _first if _end == _at else f"{_first} to {_last}"
            _FIELDS[UnknownType(f'"interval {_words.lower()}"')] = _family[_at : _end + 1]

_BY_ENDS = {(units[0], units[-1]): type_ for type_, units in _FIELDS.items()}
DAYS, DAY_TIME = _BY_ENDS["DAY", "DAY"], _BY_ENDS["DAY", "SECOND"]
YEAR_MONTH = _BY_ENDS["YEAR", "MONTH"]
CALENDAR: DataType = UnknownType('"interval"')
YEAR_MONTHS = frozenset(type_ for type_, units in _FIELDS.items() if units[0] in _UNITS[0])
INTERVALS = frozenset((*_FIELDS, CALENDAR))


def interval_type(first: str, last: str) -> DataType:
    """Return the type of the intervals from a unit to a shorter or the same unit, such as DAY and SECOND."""
    return _BY_ENDS[first, last]


def met_interval(left: DataType, right: DataType) -> DataType | None:
    """Return the type that has the units of two types of intervals; None if Spark has no common type."""
    if left == right or CALENDAR in (left, right) or (left in YEAR_MONTHS) != (right in YEAR_MONTHS):
        return left if left == right else None
    family = _UNITS[left not in YEAR_MONTHS]
    units = sorted({*_FIELDS[left], *_FIELDS[right]}, key=family.index)
    return _BY_ENDS[units[0], units[-1]]


def interval_castable(source: DataType, target: DataType) -> bool:
    """Whether Spark accepts the cast of an interval."""
    if target == STRING or source == target:
        return True
    numeric = target in INTEGRAL_BITS or isinstance(target, DecimalType)
    return source != CALENDAR and (numeric or (target in _FIELDS and met_interval(source, target) is not None))


def interval_number(value: int, type_: DataType) -> Decimal:
    """Return the value in the shortest unit of its type: seconds have a fraction, others are cut to whole units."""
    last = _FIELDS[type_][-1]
    if last == "SECOND":
        return of_unscaled(value, 6)
    size = abs(value) // {"YEAR": 12, "MONTH": 1}.get(last, UNIT_MICROS.get(last, 1))
    return of_unscaled(-size if value < 0 else size, 0)


def interval_words(value: object, type_: DataType) -> str:
    """Return the text that Spark casts an interval to."""
    if isinstance(value, tuple):
        return _unit_words(*value)
    assert isinstance(value, int)
    sign, size, units = "-" if value < 0 else "", abs(value), _FIELDS[type_]
    name = units[0] if len(units) == 1 else f"{units[0]} TO {units[-1]}"
    if type_ in YEAR_MONTHS:
        number = {"YEAR": f"{size // 12}", "MONTH": f"{size}"}.get(name, f"{size // 12}-{size % 12}")
        return f"INTERVAL '{sign}{number}' {name}"
    text = ""
    for unit in units:
        count, size = divmod(size, UNIT_MICROS[unit])
        separator = " " if text and units[0] == "DAY" and unit == "HOUR" else ":" if text else ""
        text += separator + (str(count) if unit == "DAY" else f"{count:02d}")
        if unit == "SECOND" and size:
            text += f".{size:06d}".rstrip("0")
    return f"INTERVAL '{sign}{text}' {name}"


def _unit_words(months: int, days: int, micros: int) -> str:
    """The text of a value of the type `interval`, such as `1 years 2 months`; a part of zero is left out."""

    def parts(count: int, *sizes: int) -> list[int]:
        found, rest, sign = [], abs(count), -1 if count < 0 else 1
        for size in sizes:
            part, rest = divmod(rest, size)
            found.append(sign * part)
        return found

    hours, minutes, rest = parts(micros, UNIT_MICROS["HOUR"], UNIT_MICROS["MINUTE"], 1)
    years, month = parts(months, 12, 1)
    seconds = f"{of_unscaled(rest, 6):f}".rstrip("0").rstrip(".") if rest else ""
    named = {"years": years, "months": month, "days": days, "hours": hours, "minutes": minutes, "seconds": seconds}
    return " ".join(f"{count} {unit}" for unit, count in named.items() if count) or "0 seconds"
