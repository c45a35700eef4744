"""Spark's order of two values of one type."""

from __future__ import annotations

from decimal import Decimal

from deltaskip.expr.failures import Undecided
from deltaskip.expr.strings import compare_strings
from deltaskip.schema.floats import compare_floats

__all__ = ["compare_values"]


def compare_values(left: object, right: object) -> int:
    """-1, 0 or 1 for two values of one type in Spark's order: bytes unsigned, strings by UTF-8, NaN greatest."""
    match left, right:
        case (float(), float()):
            return compare_floats(left, right)
        case (str(), str()):
            return compare_strings(left, right)
        case (bytes(), bytes()):
            return (left > right) - (left < right)
        case (int(), int()):
            return (left > right) - (left < right)
        case (Decimal(), Decimal()):
            return (left > right) - (left < right)
    raise Undecided(f"{left!r} and {right!r} cannot be compared.")
