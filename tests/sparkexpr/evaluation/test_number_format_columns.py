"""Numbers in formats by column: the values and the errors of each row."""

import random
from decimal import Decimal
from typing import Any

from deltaskip.sparkexpr.types.ddl import parse_columns
from tests.each import each
from tests.sparkexpr.random_expressions import Rows

SCHEMA = parse_columns("x DOUBLE, f FLOAT, i BIGINT, d DECIMAL(22,4), e DECIMAL(38,18), s STRING, t STRING, u STRING")
FORMATS = [
    *("999.99", "000.00", "9,999.9", "0,000.9", "S99.9", "99.9S", "MI99", "99MI", "$99.9", "99PR", "$9,999.99PR"),
    *(
        "S$0,009.90", ".99", "99.", "9", "0", "999,999,999,999.99", "9G999D99", "S.9", "0,09PR",
        "99999999999999999999.9",
    ),
]  # fmt: skip
PATTERNS = ["#,##0.00", "000.##", "#.#", "#,#0", ""]
EXPRESSIONS = [
    *[f"format_number({name}, {places})" for name in ("x", "f", "i", "d", "e") for places in (0, 1, 2, 4, 15, -1)],
    *[f"format_number({name}, '{text}')" for name in ("x", "i", "d") for text in PATTERNS],
    *[f"to_char({name}, '{text}')" for name in ("d", "i") for text in FORMATS],
    *[f"{name}(s, '{text}')" for name in ("to_number", "try_to_number") for text in FORMATS],
    *("conv(t, i, 10)", "t LIKE s", "t ILIKE u", "t LIKE s ESCAPE '9'", "u ILIKE t", "find_in_set(t, s)"),
    *[f"encode(u, '{name}')" for name in ("utf-16", "UTF-16LE", "utf-16be", "UTF-32", "US-ASCII", "ISO-8859-1", "x")],
]


def cells(chance: random.Random, rows: int) -> dict[str, list[Any]]:
    def text(letters: str) -> str | None:
        return None if chance.random() < 0.05 else "".join(chance.choice(letters) for _ in range(chance.randrange(9)))

    def whole(most: int) -> int:
        return chance.randrange(-(10**most), 10**most)

    each_row = range(rows)
    doubles = [
        *map(
            float,
            ["0", "-0", "0.5", "1.5", "2.5", "-0.125", "0.375", "1e15", "999999.995", "1e-7", "nan", "inf", "-1e300"],
        ),
        None,
    ]
    return {
        "x": doubles + [round(chance.uniform(-1, 1) * 10.0 ** (k % 20 - 3), 3) for k in each_row],
        "f": [0.1, -0.5, 16777216.0, 3.4e38, None] + [chance.uniform(-1e4, 1e4) for _ in each_row],
        "i": [None, 0, -1, 999, 1000, -(2**63), 2**63 - 1] + [whole(6) for _ in each_row],
        "d": [None] + [Decimal(whole(k % 9 + 1)).scaleb(-4) for k in each_row],
        "e": [None, Decimal("-0.0001")] + [Decimal(whole(20)).scaleb(-18) for _ in each_row],
        "s": ["1,234.5", "$12.30", "<1>", "-9", "9-", "\t1 2", "\u0661"]
        + [text("0019,.-+$<> %_a\\") for _ in each_row],
        "t": [text("019azZ- %_") for _ in each_row],
        "u": [text("aZ%_\u00e9\u00c9\u20ac\U0001f600") for _ in each_row],
    }


def test_values_by_column_are_those_of_each_row() -> None:
    each(EXPRESSIONS, Rows.with_values(SCHEMA, cells(random.Random(5), 120)).check)
