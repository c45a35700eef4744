"""Arithmetic of decimals with Python's integers, as kernels.decimals computes it."""

from collections.abc import Sequence
from fractions import Fraction

DONE, LEFT_OVER, BY_ZERO = 0, 1, 2

Result = tuple[int | None, int]
"""The unscaled integer, None for null, and the state."""


def compute(
    left: Sequence[int | None],
    right: Sequence[int | None],
    left_scale: int,
    right_scale: int,
    op: str,
    precision: int,
    scale: int,
) -> list[Result]:
    """See kernels.decimals.compute; rows that more than 127 bits would decide are computed, too."""

    def one(a: int | None, b: int | None) -> Result:
        if a is None or b is None:
            return None, DONE
        if op in ("/", "%", "div") and b == 0:
            return None, BY_ZERO
        x, y = Fraction(a, 10**left_scale), Fraction(b, 10**right_scale)
        match op:
            case "+":
                exact = x + y
            case "-":
                exact = x - y
            case "*":
                exact = x * y
            case "/":
                exact = x / y
            case "%":
                exact = x - _towards_zero(x / y) * y
            case _:
                exact = Fraction(_towards_zero(x / y))
        return _fitting(_half_up(exact * 10**scale), precision)

    return [one(a, b) for a, b in zip(left, right, strict=True)]


def rescale(
    values: Sequence[int | None], old_scale: int, precision: int, scale: int, rounding: str, zeros: int = 0
) -> list[Result]:
    """See kernels.decimals.rescale."""

    def one(value: int | None) -> Result:
        if value is None:
            return None, DONE
        exact = Fraction(value, 10 ** (old_scale + zeros)) * 10**scale
        if rounding == "half up":
            return _fitting(_half_up(exact) * 10**zeros, precision)
        if rounding == "half even":
            return _fitting(round(exact) * 10**zeros, precision)
        if rounding == "towards zero":
            return _fitting(int(exact) * 10**zeros, precision)
        below = exact.numerator // exact.denominator
        return _fitting((below if rounding == "floor" or exact == below else below + 1) * 10**zeros, precision)

    return [one(value) for value in values]


def _fitting(value: int, precision: int) -> Result:
    return (value, DONE) if abs(value) < 10**precision else (None, LEFT_OVER)


def _half_up(value: Fraction) -> int:
    units = (2 * abs(value.numerator) + value.denominator) // (2 * value.denominator)
    return units if value >= 0 else -units


def _towards_zero(value: Fraction) -> int:
    whole = abs(value.numerator) // value.denominator
    return whole if value >= 0 else -whole
