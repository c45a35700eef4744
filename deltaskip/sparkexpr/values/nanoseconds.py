"""Times of nanoseconds: their text, and comparisons of their columns with constants.

Values are counts of nanoseconds in 64 bits, from 1677 to 2262. Comparisons with constants and of
two columns are evaluated here.
# RFC Nanosecond Timestamps
"""

from __future__ import annotations

from collections.abc import Mapping

from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values import calendar

NANOS_PER_MICRO = 1_000
NANOS_OF: Mapping[t.DataType, t.DataType] = {t.TIMESTAMP: t.NANOS, t.TIMESTAMP_NTZ: t.NANOS_NTZ}
"""The type of the same times with nanoseconds."""
_FRACTION = regex(r"\.[0-9]{6}([0-9]{1,3})")


def parse_nanos(text: str, type_: t.DataType, zone: str | None) -> int | None:
    """Return the nanoseconds of a text; None if it is not of the type, or out of range.

    The text is as CAST reads timestamps, with up to nine digits after the point. type_: NANOS or NANOS_NTZ.
    zone: Time zone of instants whose text names none; None if that is not known.
    """
    found = calendar.read_timestamp(text)
    if found is None or (type_ == t.NANOS_NTZ and found.zone is not None):
        return None
    micros = found.local_micros
    if type_ == t.NANOS:
        named = found.zone or zone
        if named is None:
            return None
        try:
            micros = calendar.instant_of(micros, calendar.zone_of(named))
        except LookupError:
            return None
    digits = _FRACTION.search(text)
    nanos = micros * NANOS_PER_MICRO + (int(digits[1].ljust(3, "0")) if digits is not None else 0)
    return nanos if t.LONG_MIN <= nanos <= t.LONG_MAX else None


def format_nanos(nanos: int, type_: t.DataType, separator: str = " ") -> str:
    """Return the text of a time, with nine digits after the point, and Z after an instant."""
    micros, rest = divmod(nanos, NANOS_PER_MICRO)
    return f"{calendar.format_timestamp(micros, separator, 6)}{rest:03d}{'Z' if type_ == t.NANOS else ''}"


def compared_nanos(node: n.Compare | n.In, zone: str) -> n.Node | None:
    """Return a comparison of a column of nanoseconds with constants or another one of its type; None for others."""
    match node:
        case n.Compare(_, n.FieldRef() as one, n.FieldRef() as other) if one.type in t.NANOSECONDS:
            return node if one.type == other.type else None
        case n.Compare(op, n.FieldRef() as column, constant) if column.type in t.NANOSECONDS:
            found = _literal(constant, column.type, zone)
            return None if found is None else n.Compare(op, column, found)
        case n.Compare(op, constant, n.FieldRef() as column) if column.type in t.NANOSECONDS:
            found = _literal(constant, column.type, zone)
            return None if found is None else n.Compare(op, found, column)
        case n.In(n.FieldRef() as column, tuple(values)) if column.type in t.NANOSECONDS:
            literals = [_literal(each, column.type, zone) for each in values]
            known = [each for each in literals if each is not None]
            return n.In(column, tuple(known)) if len(known) == len(literals) else None
    return None


def _literal(constant: n.Node, type_: t.DataType, zone: str) -> n.Literal | None:
    match constant:
        case n.Literal(None):
            return n.Literal(None, type_)
        case n.Literal(str() as text, source) if source == t.STRING:
            nanos = parse_nanos(text, type_, zone)
        case n.Cast(n.Literal(str() as text), source) if (source, type_) == (t.TIMESTAMP, t.NANOS):
            # TIMESTAMP'…' without a time zone, which has microseconds.
            found = parse_nanos(text, type_, zone)
            nanos = None if found is None else found // NANOS_PER_MICRO * NANOS_PER_MICRO
        case n.Literal(int() as value, source) if source == type_:
            nanos = value
        case n.Literal(int() as value, source) if NANOS_OF.get(source) == type_:
            nanos = value * NANOS_PER_MICRO
        case n.Literal(int() as days, source) if source == t.DATE:
            local = days * calendar.MICROS_PER_DAY
            nanos = NANOS_PER_MICRO * (
                calendar.instant_of(local, calendar.zone_of(zone)) if type_ == t.NANOS else local
            )
        case _:
            return None
    return None if nanos is None or not t.LONG_MIN <= nanos <= t.LONG_MAX else n.Literal(nanos, type_)
