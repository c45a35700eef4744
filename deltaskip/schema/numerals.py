"""Numbers from text of any length, in bounded time and memory.

Python refuses integers of more than 4,300 digits, and computes with the power of ten of every exponent. This module
first shortens a text to a number that has the same place among the values of every type.
"""

from __future__ import annotations

from decimal import Context, Decimal

EXACT = Context(prec=160, Emax=10_000, Emin=-10_000)
"""The context in which decimals are computed. Sums and products of two decimals of 38 digits are exact, and quotients
have enough digits to be rounded as the exact ones; Python's own context rounds to 28."""

_SHORT = 300
"""Texts up to this length are read as they are."""

_DIGITS = 1_200
"""Significant digits that are kept. No limit between two doubles, and no decimal of 38 digits, has more than 800."""

_FAR = 10_000
"""Numbers from 10**_FAR on are beyond every type; those below 10**-_FAR round to 0 in every type."""


def integer_of(text: str) -> int:
    """Return the integer of `[+-]?[0-9]+`. One of more than 300 significant digits is replaced by ±10**300."""
    if len(text) <= _SHORT:
        return int(text)
    digits = text.lstrip("+-").lstrip("0")
    magnitude = int(digits or "0") if len(digits) <= _SHORT else 10**_SHORT
    return -magnitude if text.startswith("-") else magnitude


def decimal_of(text: str) -> Decimal:
    """Return the decimal of a number in ASCII: sign, digits, point and exponent.

    It is exact up to 1,200 significant digits; more digits are replaced by one that rounds as they do. A number beyond
    10**±10,000 is replaced by another one that is.
    """
    mantissa, _, exponent = text.lower().partition("e")
    if len(text) <= _SHORT and abs(integer_of(exponent or "0")) < _FAR - _SHORT:
        return Decimal(text)
    whole, _, part = mantissa.lstrip("+-").partition(".")
    sign = int(mantissa.startswith("-"))
    digits = (whole + part).lstrip("0")
    if not digits:
        return Decimal((sign, (0,), 0))
    # The exponent of the last digit; the first digit's is `last + len(digits) - 1`.
    last = integer_of(exponent or "0") - len(part)
    first = last + len(digits) - 1
    if abs(first) >= _FAR:
        return Decimal((sign, (1,), _FAR if first > 0 else -_FAR))
    if len(digits) > _DIGITS:
        rest = digits[_DIGITS:].strip("0")
        last += len(digits) - _DIGITS - 1
        digits = digits[:_DIGITS] + ("1" if rest else "0")
    return Decimal(f"{'-' if sign else ''}{digits}e{last}")


def of_unscaled(unscaled: int, scale: int) -> Decimal:
    """Return the decimal that stands as an unscaled integer, such as 1.50 for 150 and 2."""
    return Decimal(unscaled).scaleb(-scale, EXACT)
