"""Rows as Python values, for messages."""

from decimal import Decimal

from deltaskip.rows.shown_rows import row_of_json
from deltaskip.sparkexpr.types.ddl import parse_columns


def test_decimals_of_38_digits_are_read_from_the_json_of_a_row() -> None:
    text = '{"n": 12345678901234567890.5, "m": -99999999999999999999.999999999999999999}'
    row = row_of_json(text, parse_columns("n DECIMAL(38,18), m DECIMAL(38,18)"))
    assert row == {
        "n": Decimal("12345678901234567890.500000000000000000"),
        "m": Decimal("-99999999999999999999.999999999999999999"),
    }
