"""Spark's order of two values of one type.

Arrays and structs are compared by their elements and fields, where NULL is the least, and arrays then by length.

# Spark 4.1, PhysicalArrayType, PhysicalStructType
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from deltaskip.sparkexpr.failures import Undecided
from deltaskip.sparkexpr.values.floats import compare_floats
from deltaskip.sparkexpr.values.strings import compare_strings


def extreme(values: Iterable[object], sign: int) -> object:
    """The first greatest value if `sign` is 1, the first least if it is -1; NULLs are ignored. NULL of no values."""
    found = None
    for value in values:
        if value is not None and (found is None or compare_values(value, found) == sign):
            found = value
    return found


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
        case (tuple(), tuple()):
            return _compare_each(left, right)
    raise Undecided(f"{left!r} and {right!r} cannot be compared.")


def _compare_each(left: tuple[object, ...], right: tuple[object, ...]) -> int:
    for one, other in zip(left, right, strict=False):
        some_null = one is None or other is None
        found = (other is None) - (one is None) if some_null else compare_values(one, other)
        if found:
            return found
    return (len(left) > len(right)) - (len(left) < len(right))
