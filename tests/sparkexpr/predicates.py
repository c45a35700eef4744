"""A small table of every primitive type with awkward values, and random predicates over it in Spark SQL."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal

import pyarrow as pa

from deltaskip.sparkexpr.types.ddl import parse_columns

SCHEMA = parse_columns(
    "b BOOLEAN, y TINYINT, h SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, dec DECIMAL(10,2), big DECIMAL(38,10),"
    "s STRING, bin BINARY, dt DATE, ts TIMESTAMP, n TIMESTAMP_NTZ, st STRUCT<a: INT, s: STRING>"
)

_DAY = 86_400_000_000
_COLUMNS: dict[str, tuple[pa.DataType, list[object]]] = {
    "b": (pa.bool_(), [None, True, False]),
    "y": (pa.int8(), [None, 0, 1, -1, 127, -128, 5]),
    "h": (pa.int16(), [None, 0, 1, -1, 32767, -32768, 45]),
    "i": (pa.int32(), [None, 0, 1, -1, 2**31 - 1, -(2**31), 25, 10]),
    "l": (pa.int64(), [None, 0, 1, -1, 2**63 - 1, -(2**63), 2**53 + 1, 25]),
    "f": (pa.float32(), [None, 0.0, -0.0, 1.5, -2.25, math.nan, math.inf, -math.inf, 0.10000000149011612, 1e10]),
    "d": (pa.float64(), [None, 0.0, -0.0, 1.5, -2.25, math.nan, math.inf, -math.inf, 0.1, 1e300, 25.0]),
    "dec": (pa.decimal128(10, 2), [None, *map(Decimal, ("0.00", "1.50", "-1.50", "25.00", "99999999.99"))]),
    "big": (pa.decimal128(38, 10), [None, *map(Decimal, ("0", "1.5", "-0.0000000001",
        "9999999999999999999999999999"))]),
    "s": (pa.string(), [None, "", "a", "k3", "k34", "K3", "5", " 7 ", "1.5", "true", "2024-01-15", "é", "a%b", "ab\nc",
        "2024-01-15 10:11:12.5", "x😀y", "\uffff", "NaN", "ß", "a_b\\"]),
    "bin": (pa.binary(), [None, b"", b"\x00", b"a", b"\xff", b"k3"]),
    "dt": (pa.date32(), [None, 0, -1, 19737, 19723, 19782, -141428, -719162, 2932896]),
    "ts": (pa.timestamp("us", "UTC"), [None, 0, -1, 1705313472500000, 1711846800000000, 1711848600000000,
        1729987200000000, 1729990800000001, -2208988800000000, -5000000000000001, 1704067199999999, -_DAY * 200_000]),
    "n": (pa.timestamp("us"), [None, 0, -1, 1705313472500000, 1711850400000000, 1729994400000000, 1704067199999999]),
}  # fmt: skip
ROWS = 24


def rows() -> list[dict[tuple[str, ...], object]]:
    """Rows by logical path, in the value domain; every value of a column stands in some row."""
    found: list[dict[tuple[str, ...], object]] = []
    for index in range(ROWS):
        row: dict[tuple[str, ...], object] = {
            (name,): values[(index * (1 + number % 3) + number) % len(values)]
            for number, (name, (_, values)) in enumerate(_COLUMNS.items())
        }
        present = index % 5 != 0
        row["st", "a"] = row["i",] if present else None
        row["st", "s"] = row["s",] if present else None
        found.append(row)
    return found


def arrow_table() -> pa.Table:
    """The rows as Arrow, with their number in `id`."""
    table_rows = rows()
    arrays = {"id": pa.array(range(ROWS), pa.int32())}
    for name, (type_, _) in _COLUMNS.items():
        arrays[name] = _array([row[name,] for row in table_rows], type_)
    fields = [_array([row["st", f] for row in table_rows], t) for f, t in (("a", pa.int32()), ("s", pa.string()))]
    absent = pa.array([index % 5 == 0 for index in range(ROWS)])
    arrays["st"] = pa.StructArray.from_arrays(fields, ["a", "s"], mask=absent)
    return pa.table(arrays)


def _array(values: Sequence[object], type_: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(type_):
        return pa.array(values, pa.int64()).cast(type_)
    if pa.types.is_date(type_):
        return pa.array(values, pa.int32()).cast(type_)
    if pa.types.is_decimal(type_):
        unit = Decimal(1).scaleb(-type_.scale)
        values = [v.quantize(unit, context=Context(prec=50)) if isinstance(v, Decimal) else None for v in values]
    return pa.array(values, type_)


@dataclass
class Maker:
    """Writes random Spark SQL from the choices of `random`."""

    random: random.Random

    def one(self, *choices: Callable[[int], str] | str, depth: int = 0) -> str:
        chosen = self.random.choice(choices)
        return chosen if isinstance(chosen, str) else chosen(depth)

    def predicate(self, depth: int = 3) -> str:
        """A boolean expression."""
        if depth <= 0 or self.random.random() < 0.35:
            return self.leaf(max(depth, 1))
        below = depth - 1
        match self.random.randrange(6):
            case 0 | 1:
                return f"({self.predicate(below)} AND {self.predicate(below)})"
            case 2 | 3:
                return f"({self.predicate(below)} OR {self.predicate(below)})"
            case 4:
                return f"(NOT {self.predicate(below)})"
        return f"({self.predicate(below)} {self.one('IS TRUE', 'IS NOT FALSE', 'IS NULL', '<=> false', '= true')})"

    def leaf(self, depth: int) -> str:
        kind = self.random.choice((self.number, self.number, self.text, self.date, self.time, self.local))
        operand = kind(depth)
        match self.random.randrange(9):
            case 0:
                values = ", ".join(self.one(kind, "NULL") for _ in range(self.random.randint(1, 3)))
                return f"({operand} {self.one('IN', 'NOT IN')} ({values}))"
            case 1:
                return f"({operand} {self.one('BETWEEN', 'NOT BETWEEN')} {kind(0)} AND {kind(0)})"
            case 2:
                return f"({operand} {self.one('IS NULL', 'IS NOT NULL')})"
            case 3:
                return self.one(self.pattern, "b", "(b = false)", "(NOT b)", "isnan(d)", "(bin > X'00')", "(bin = 'a')")
            case 4:
                other = self.random.choice((self.number, self.text, self.date, self.time, self.local))
                return f"({operand} {self.op()} {other(0)})"
        return f"({operand} {self.op()} {kind(depth - 1)})"

    def op(self) -> str:
        return self.one("=", "<", "<=", ">", ">=", "!=", "<=>")

    def pattern(self, depth: int) -> str:
        pattern = self.one("'k3%'", "'%3'", "'k_'", "'a%b'", "'a\\\\%b'", "'_'", "'%'", "''", "'K3%'", "'%c'", "NULL")
        like = f"({self.text(0)} {self.one('LIKE', 'NOT LIKE', 'ILIKE')} {pattern})"
        prefix = self.one("'k'", "''", "s")
        return self.one(like, f"startswith({self.text(0)}, {prefix})", f"contains(s, {self.text(0)})")

    def number(self, depth: int) -> str:
        if depth <= 0:
            columns, numbers = "y h i l f d dec big st.a", "0 1 25 -1L 1.5 2.50BD 1.5D 5000000000 0.1F"
            special = ("CAST('NaN' AS DOUBLE)", "99999999999999999999.5", "CAST(NULL AS INT)")
            return self.one(*columns.split(), *numbers.split(), *special)
        below = depth - 1
        match self.random.randrange(9):
            case 0 | 1:
                return f"({self.number(below)} {self.one('+', '-', '*', '/', '%')} {self.number(below)})"
            case 2:
                return f"(- {self.number(below)})"
            case 3:
                return f"{self.one('floor', 'ceil', 'abs')}({self.number(below)})"
            case 4:
                types = ("INT", "BIGINT", "SMALLINT", "TINYINT", "DOUBLE", "FLOAT", "DECIMAL(10,2)", "DECIMAL(38,10)")
                operand = self.one(self.number, self.number, "b", "s")
                return f"{self.one('CAST', 'CAST', 'TRY_CAST')}({operand} AS {self.one(*types)})"
            case 5:
                fields = ("year", "month", "day", "quarter", "dayofweek", "weekofyear", "dayofyear")
                return f"{self.one(*fields)}({self.moment()})"
            case 6:
                return f"{self.one('hour', 'minute', 'second')}({self.one('ts', 'n', 'dt')})"
            case 7:
                return f"coalesce({self.number(below)}, {self.number(0)})"
        return f"{self.one('length', 'length', 'octet_length')}({self.text(below)})"

    def moment(self) -> str:
        return self.one("dt", "ts", "n")

    def text(self, depth: int) -> str:
        if depth <= 0:
            return self.one("s", "s", "st.s", "'k3'", "'a'", "''", "'5'", "'2024-01-15'", "'é'", "CAST(NULL AS STRING)")
        below = self.text(depth - 1)
        position = self.one("1", "2", "0", "-2", "-9")
        length = self.one("1", "2", "0", "-1", "9")
        cast = f"CAST({self.one('i', 'l', 'dec', 'b', 'dt', 'ts', 'n', 'big')} AS STRING)"
        return self.one(
            f"upper({below})",
            f"lower({below})",
            f"substring({below}, {position}, {length})",
            f"left({below}, {position})",
            f"right({below}, {position})",
            f"trim({below})",
            f"({below} || {self.text(0)})",
            f"concat({below}, i)",
            cast,
            f"CASE WHEN {self.leaf(0)} THEN {below} ELSE 'z' END",
            f"nullif({below}, 'a')",
            f"substring({below}, {position})",
        )

    def date(self, depth: int) -> str:
        if depth <= 0:
            return self.one(
                "dt", "DATE'2024-01-15'", "DATE'1970-01-01'", "CAST('2023-5-1' AS DATE)", "CAST(NULL AS DATE)"
            )
        below = self.date(depth - 1)
        unit = self.one("'YEAR'", "'MM'", "'week'", "'x'")
        months = self.one("1", "-1", "13", "y")
        return self.one(
            "CAST(ts AS DATE)",
            "CAST(n AS DATE)",
            "to_date(ts)",
            f"trunc({below}, {unit})",
            f"last_day({below})",
            f"add_months({below}, {months})",
            f"date_add({below}, 1)",
            f"({below} + 1)",
        )

    def time(self, depth: int) -> str:
        if depth <= 0:
            return self.one(
                "ts",
                "TIMESTAMP'2024-01-15 10:11:12.5'",
                "TIMESTAMP'2024-03-31 02:30:00'",
                "TIMESTAMP'1970-01-01 00:00:00 UTC'",
                "TIMESTAMP'2024-10-27 02:30:00'",
                "TIMESTAMP'1890-01-01'",
            )
        units = ("'YEAR'", "'month'", "'WEEK'", "'DAY'", "'hour'", "'MINUTE'", "'SECOND'", "'millisecond'", "'q'")
        truncated = f"date_trunc({self.one(*units)}, {self.one('ts', 'n', 'dt')})"
        return self.one(truncated, "CAST(n AS TIMESTAMP)", "CAST(dt AS TIMESTAMP)")

    def local(self, depth: int) -> str:
        if depth <= 0:
            return self.one("n", "TIMESTAMP_NTZ'2024-01-15 10:11:12.5'", "TIMESTAMP_NTZ'1970-01-01'")
        return self.one("CAST(ts AS TIMESTAMP_NTZ)", "CAST(dt AS TIMESTAMP_NTZ)", "n")
