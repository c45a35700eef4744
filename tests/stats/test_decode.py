"""Bounds out of JSON texts: the fast ways give what the slow ones do."""

from decimal import Decimal

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from deltaskip.kernels.stats_json import NUMBER, STRING
from deltaskip.sparkexpr.types.data_types import DATE, TIMESTAMP, TIMESTAMP_NTZ, DataType, DecimalType
from deltaskip.stats.believed_bounds import decimal_bound
from deltaskip.stats.decode import from_text
from deltaskip.stats.layout import Side, StatField
from tests.looped import looped

_TEXTS = st.one_of(
    st.integers(-(10**20), 10**20).map(str),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.tuples(st.sampled_from(["", "-"]), st.integers(0, 10**16), st.text("0123456789", min_size=1, max_size=18)).map(
        lambda parts: f"{parts[0]}{parts[1]}.{parts[2]}"
    ),
    st.sampled_from(["0", "-0", "0.0", "00.5", "1e3", "1E-3", "1.", ".5", "-", "", "1_000"]),
)


@given(
    st.lists(st.none() | _TEXTS, max_size=20),
    st.tuples(st.integers(1, 38), st.integers(0, 38)).filter(lambda t: t[1] <= t[0]),
    st.sampled_from(["min", "max"]),
)
@example(["1234.56", None, "99999999999.9", "999999999999999.9"], (18, 2), "max")
@example(["1234", "123456789012345", "1234567890123456"], (20, 0), "min")
def test_decimals_of_json_are_widened_as_one_by_one(
    texts: list[str | None], digits: tuple[int, int], side: Side
) -> None:
    type_ = DecimalType(*digits)
    kinds = pa.array([NUMBER] * len(texts), pa.uint8())
    found = from_text(pa.array(texts, pa.string()), kinds, _field(type_), side)
    expected = [None if text is None else decimal_bound(text, type_, side) for text in texts]
    if type_.scale == 0 and type_.precision >= 19:
        end = Decimal(-(1 << 63) if side == "min" else (1 << 63) - 1)
        expected = [None if bound == end else bound for bound in expected]
    assert found.to_pylist() == expected


def test_a_text_between_two_values_of_the_type_bounds_nothing() -> None:
    """Unless a double that stands for one of them is printed so: no writer has seen such a value."""
    texts = ["12.345", "0.001", "123.45000000000000000001", "0.30000000000000004", "-0.29999999999999999", "1.2e1"]
    value = [None, None, None, Decimal("0.30"), Decimal("-0.30"), Decimal("12.00")]
    arrays = pa.array(texts), pa.array([NUMBER] * len(texts), pa.uint8())
    for precision in (10, 15, 18):
        for side in ("min", "max"):
            assert from_text(*arrays, _field(DecimalType(precision, 2)), side).to_pylist() == value


# 2020-01-02T10:11:12 UTC in microseconds; a maximum on a whole millisecond is widened by 999 more.
NOON = 1_577_959_872_000_000


@looped(
    "type_, text, low, high",
    [
        (TIMESTAMP, "2020-01-02T10:11:12.000Z", NOON, NOON + 999),
        (TIMESTAMP, "2020-01-02 10:11:12+01:00", NOON - 3_600_000_000, NOON - 3_600_000_000 + 999),
        (TIMESTAMP, "2020-01-02T10:11:12.000001UTC", NOON + 1, NOON + 1),
        # Offsets that do not exist, which Spark does not read.
        (TIMESTAMP, "2020-01-02T10:11:12+99:99", None, None),
        (TIMESTAMP, "2020-01-02T10:11:12+01:0000", None, None),
        # Digits of another script, which int() reads and Spark does not.
        (TIMESTAMP, "2020-01-02T10:11:1٢Z", None, None),
        (DATE, "2020-01-0٢", None, None),
        # Beyond 64 bits.
        (TIMESTAMP_NTZ, "999999-01-02T10:11:12", None, None),
        (TIMESTAMP, "999999-01-02T10:11:12Z", None, None),
        # What Spark would complete may have been cut.
        (TIMESTAMP, "2020-1-2T10:11:12Z", None, None),
        (TIMESTAMP_NTZ, "2020-01-02", None, None),
        (DATE, "2020-01", None, None),
        (DATE, "2020-01-02", 18263, 18263),
    ],
)
def test_dates_and_timestamps_are_bounds_in_full(type_: DataType, text: str, low: int | None, high: int | None) -> None:
    arrays = pa.array([text, None]), pa.array([STRING] * 2, pa.uint8())
    assert from_text(*arrays, _field(type_), "min").to_pylist() == [low, None]
    assert from_text(*arrays, _field(type_), "max").to_pylist() == [high, None]


def _field(type_: DataType) -> StatField:
    return StatField(("x",), type_, "x")
