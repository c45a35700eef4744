"""Decimal arithmetic, and numbers of any length in bounded time and memory.

Operators of Decimal, and methods without a context, round and raise as the context of the thread says, which belongs to
the program: this package calls methods with a context of this module (see `test_architecture.py`).

Python refuses integers of more than 4,300 digits, and computes the power of ten for every exponent. This module first
shortens the text to a number with the same order relative to the values of every type.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal, DivisionByZero, InvalidOperation, Overflow


def context(
    digits: int,
    rounding: str = ROUND_HALF_EVEN,
    exponents: int = 10_000,
    traps: tuple[type[ArithmeticError], ...] = (InvalidOperation, DivisionByZero, Overflow),
) -> Context:
    """Return a context that takes nothing from decimal.DefaultContext, which programs may change.

    exponents: The greatest exponent, and the negative of the least.
    """
    return Context(digits, rounding, -exponents, exponents, 1, 0, [], [*traps])  # type: ignore[list-item]


EXACT = context(160)
"""The context of decimal arithmetic. Sums and products of two decimals of 38 digits are exact, and quotients have
enough digits to round like exact quotients; Python's default context rounds to 28 digits."""

_SHORT = 300
"""Text of up to this length is parsed directly."""

_DIGITS = 1_200
"""The significant digits that are kept. Midpoints between doubles and decimals of 38 digits have at most 800 digits."""

_FAR = 10_000
"""Numbers from 10**_FAR on are out of range for every type; numbers below 10**-_FAR round to 0 in every type."""


def exactly(value: str | float | Decimal) -> Decimal:
    """Return the decimal that equals a number. Raises decimal.InvalidOperation for a text that is no number."""
    return Decimal(value, EXACT)


def integer_of(text: str) -> int:
    """Return the integer of `[+-]?[0-9]+`. An integer of more than 300 significant digits becomes ±10**300."""
    if len(text) <= _SHORT:
        return int(text)
    digits = text.lstrip("+-").lstrip("0")
    magnitude = int(digits or "0") if len(digits) <= _SHORT else 10**_SHORT
    return -magnitude if text.startswith("-") else magnitude


def decimal_of(text: str) -> Decimal:
    """Return the decimal of a number in ASCII: sign, digits, point and exponent.

    It is exact up to 1,200 significant digits; further digits are replaced by one digit with the same rounding.
    A number beyond 10**±10,000 is replaced by another number beyond this limit.
    """
    mantissa, _, exponent = text.lower().partition("e")
    if len(text) <= _SHORT and abs(integer_of(exponent or "0")) < _FAR - _SHORT:
        return exactly(text)
    whole, _, part = mantissa.lstrip("+-").partition(".")
    sign = int(mantissa.startswith("-"))
    digits = (whole + part).lstrip("0")
    if not digits:
        return Decimal((sign, (0,), 0))
    # The exponent of the last digit. The first digit has the exponent `last + len(digits) - 1`.
    last = integer_of(exponent or "0") - len(part)
    first = last + len(digits) - 1
    if abs(first) >= _FAR:
        return Decimal((sign, (1,), _FAR if first > 0 else -_FAR))
    if len(digits) > _DIGITS:
        rest = digits[_DIGITS:].strip("0")
        last += len(digits) - _DIGITS - 1
        digits = digits[:_DIGITS] + ("1" if rest else "0")
    return exactly(f"{'-' if sign else ''}{digits}e{last}")


def of_unscaled(unscaled: int, scale: int) -> Decimal:
    """Return the decimal with an unscaled integer and a scale, such as 1.50 for 150 and 2."""
    return exactly(unscaled).scaleb(-scale, EXACT)
