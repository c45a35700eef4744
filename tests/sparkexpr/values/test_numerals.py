"""Numbers from texts of any length."""

from decimal import ROUND_HALF_UP, Context, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deltaskip.sparkexpr.values.numerals import decimal_of, integer_of

_EXACT = Context(prec=5000)
_NUMBERS = st.from_regex(r"[+-]?([0-9]{1,40}(\.[0-9]{0,40})?|\.[0-9]{1,40})(e[+-]?[0-9]{1,3})?", fullmatch=True)


@given(_NUMBERS, st.integers(0, 3000), st.integers(0, 3000))
def test_zeros_around_a_number_change_nothing(text: str, before: int, after: int) -> None:
    mantissa, mark, exponent = text.partition("e")
    sign = mantissa[: len(mantissa) - len(mantissa.lstrip("+-"))]
    point = "" if "." in mantissa else "."
    padded = f"{sign}{'0' * before}{mantissa[len(sign) :]}{point}{'0' * after}{mark}{exponent}"
    assert decimal_of(padded) == Decimal(text)
    assert decimal_of(padded).is_signed() == Decimal(text).is_signed()


@given(st.text("0123456789", min_size=1201, max_size=4000), st.integers(-60, 60))
def test_long_numbers_round_as_their_digits_do(digits: str, scale: int) -> None:
    text = f"{digits}e{-len(digits)}"
    exact = _EXACT.create_decimal(text)
    assert float(decimal_of(text)) == float(exact)
    unit = Decimal(1).scaleb(-abs(scale))
    assert decimal_of(text).quantize(unit, ROUND_HALF_UP, _EXACT) == exact.quantize(unit, ROUND_HALF_UP, _EXACT)


@pytest.mark.parametrize("sign", ["", "+", "-"])
@pytest.mark.parametrize("zeros", [0, 5000])
def test_integers_of_any_length(sign: str, zeros: int) -> None:
    assert integer_of(f"{sign}{'0' * zeros}7") == (-7 if sign == "-" else 7)
    assert abs(integer_of(f"{sign}{'0' * zeros}{'9' * 5000}")) == 10**300


def test_numbers_beyond_every_type_stay_beyond() -> None:
    assert decimal_of("1e999999999") > 10**400
    assert 0 < decimal_of("1e-999999999") < Decimal("1e-400")
    assert decimal_of("-1e99999999999999999999") < -(10**400)
    assert decimal_of("0." + "0" * 9000 + "1e9001") == 1
    assert decimal_of("0e99999999999999999999") == 0
