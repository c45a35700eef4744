"""The grid of the edges of types: expressions over one column, and the column's values at which they are evaluated.

Every function of `FUNCTIONS`, every arithmetic operator and every cast between primitive types occurs in it: a function
without a row in `ARGUMENTS`, or a type without edges, fails a test. The answers of Spark 4.1 are in
spark_edges.json.gz, those of later versions, where they differ, beside it; tests.expr.spark_edges renews them.
"""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from deltaskip.errors import PredicateError
from deltaskip.expr import bind_expression, parse_sql
from deltaskip.expr.coerce import INTEGRAL_BITS, castable, type_of
from deltaskip.expr.functions import FUNCTIONS
from deltaskip.expr.nodes import Call, Cast, Compare, Node
from deltaskip.schema.json import simple_string
from deltaskip.schema.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
    StructField,
    StructType,
)

VERSIONS = ("4.1", "4.3")
"""Versions of Spark with stored answers; the first has all, the others those that differ from it."""

ERROR = 0
"""Spark raises. Other answers are None, for NULL, and texts (see `encoded`)."""

ZONES = ("UTC", "Europe/Berlin", "America/Los_Angeles")

_NINES = "9" * 38
_INSTANTS = [
    0,
    1,
    -1,
    999_999,
    -500_000,
    -999_999,
    -1_000_000,
    -1_000_001,
    1_500_000,
    -(2**63),
    -(2**63) + 1,
    2**63 - 1,
    2**63 - 2,
    2**53 - 1,
    2**53 + 1,
    -(2**53) - 1,
    3 * 2**52 + 1,
    2**59 + 77,
    8_999_999_999_999_999,
    9_223_372_036_854_775,
    9_223_372_036_854_776,
    -9_223_372_036_854_776,
    -12_219_292_800_000_000,
    -12_219_292_800_000_001,
    -12_219_379_200_500_000,
    -12_220_156_799_999_999,
    -62_135_596_800_000_000,
    -62_135_596_800_000_001,
    -62_167_219_200_000_000,
    -62_167_219_200_000_001,
    253_402_300_799_999_999,
    253_402_300_800_000_000,
    253_402_300_800_000_001,
    -2_208_988_800_000_000,
    -2_208_988_800_000_001,
    -3_000_000_000_000_001,
    1_711_846_799_999_999,
    1_711_846_800_000_000,
    1_711_850_400_000_000,
    1_729_990_799_999_999,
    1_729_990_800_000_000,
    1_729_992_600_500_000,
    1_729_994_400_000_000,
    1_710_064_800_000_000,
    1_730_624_400_000_001,
    1_704_067_199_999_999,
    1_709_164_800_000_000,
]


def _integers(bits: int, *more: int) -> list[Any]:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    return [0, 1, -1, 2, 7, -7, 100, low, low + 1, high - 1, high, high // 2 + 1, *more]


def _decimals(precision: int, scale: int, *more: str) -> list[Any]:
    unit = Decimal((0, (1,), -scale))
    nines = Decimal((0, (9,) * precision, -scale))
    found = [
        Decimal(0),
        unit,
        -unit,
        nines,
        nines.copy_negate(),
        Decimal((0, (9,) * (precision - 1), -scale)),
        *map(Decimal, more),
    ]
    if precision > scale:
        found += [Decimal(1), Decimal(-1)]
    return [Decimal(f"{value:.{scale}f}") if value.as_tuple().exponent > -scale else value for value in found]


EDGES: dict[DataType, list[Any]] = {
    BOOLEAN: [False, True],
    BYTE: _integers(8),
    SHORT: _integers(16),
    INTEGER: _integers(32, 2**24 + 1, 16_777_219),
    LONG: _integers(
        64,
        2**53 - 1,
        2**53 + 1,
        -(2**53) - 1,
        2**31,
        -(2**31) - 1,
        2**63 - 513,
        9_223_372_036_854,
        9_223_372_036_855,
        -9_223_372_036_855,
        253_402_300_800,
        2**24 + 1,
        2**62 + 2**38 + 1,
    ),
    FLOAT: [
        0.0,
        -0.0,
        1.5,
        -2.5,
        0.5,
        -0.5,
        math.nan,
        math.inf,
        -math.inf,
        3.4028234663852886e38,
        -3.4028234663852886e38,
        1.401298464324817e-45,
        0.10000000149011612,
        16_777_216.0,
        2.0**31,
        -(2.0**31),
        2.0**63,
        -(2.0**63),
        1e10,
        2_147_483_520.0,
        1.0000000150474662e30,
        126.9000015258789,
        128.0,
        -128.5,
    ],
    DOUBLE: [
        0.0,
        -0.0,
        1.5,
        -2.5,
        0.5,
        -0.5,
        math.nan,
        math.inf,
        -math.inf,
        1.7976931348623157e308,
        -1.7976931348623157e308,
        5e-324,
        2.2250738585072014e-308,
        0.1,
        2.0**53 - 1,
        2.0**53,
        2.0**53 + 2,
        2.0**31,
        2_147_483_647.5,
        -2_147_483_648.5,
        2.0**63,
        -(2.0**63),
        9.223372036854775e18,
        -9.223372036854778e18,
        1e23,
        2e23,
        8.41e21,
        8.42e21,
        2.2e-322,
        2.0e-3,
        127.9,
        128.0,
        -128.9,
        -129.0,
        1e20,
        0.49999999999999994,
        1e15 + 0.3,
        2.98023223876953125e-8,
        1.0e22,
        4.35,
        123456.785,
        3.4028235677973366e38,
        3.4028235677973362e38,
        1e-45,
    ],
    DecimalType(5, 2): _decimals(5, 2, "127.99", "128", "-128.99", "-129", "0.5", "-0.5", "1.25"),
    DecimalType(18, 0): _decimals(18, 0, "2147483647", "2147483648", "-2147483649", "9007199254740993"),
    DecimalType(20, 20): _decimals(20, 20, "0.5", "0.00000000000000000005"),
    DecimalType(21, 20): _decimals(21, 20, "0.5", "0.99999999999999999999", "-0.99999999999999999999", "1.5"),
    DecimalType(20, 2): _decimals(
        20,
        2,
        "2147483647.99",
        "2147483648",
        "-2147483648.99",
        "9007199254740993.01",
        "127.99",
        "128",
        "32767.99",
        "0.5",
    ),
    DecimalType(38, 0): _decimals(
        38,
        0,
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "9223372036854775809",
        "18446744073709551617",
        "9007199254740993",
        "12345678901234567890123456789012345675",
        "-12345678901234567890123456789012345",
        "9999999999999999999999999999999999",
        "2147483648",
        "4294967297",
    ),
    DecimalType(38, 10): _decimals(
        38,
        10,
        "9223372036854775807.9999999999",
        "1234567890123456789012345678.0123456785",
        "0.5",
        "-0.5",
        "-1234567890123456789012345.0123456785",
        "127.9999999999",
        "2147483647.9999999999",
        "9007199254740993.0000000001",
    ),
    DecimalType(38, 38): _decimals(38, 38, "0.5", "0.12345678901234567890123456789012345675"),
    STRING: [
        "",
        "a",
        "A",
        "ab",
        "k3",
        "\U0001f600",
        "x\U0001f600y",
        "\uffff",
        "\uffff\U0001f600",
        "\u00e9",
        "e\u0301",
        "\u00df",
        "\u0130",
        "\u03a3",
        "a%b",
        "a_b\\",
        " 7 ",
        "\t7\n",
        "\u00a07",
        "5",
        "+5",
        "-0",
        "127",
        "128",
        "2147483648",
        "9223372036854775808",
        "1.5",
        "1e3",
        "1.5e400",
        "1e-400",
        "-1e400",
        "0x1p3",
        "1.5f",
        "2d",
        "NaN",
        "nan",
        "-NaN",
        "Infinity",
        "+inf",
        "true",
        "T",
        "yes",
        "2024-02-29",
        "2024-02-30",
        "2024-2-3",
        "+12345-01-01",
        "-0044-03-15",
        "1582-10-10",
        "2024-03-31 02:30:00",
        "2024-10-27 02:30:00",
        "2024-01-15 10:11:12.1234567",
        "2024-01-15T10:11:12Z",
        "2024-01-15 10:11:12+25:00",
        "99999999999999999999999999999999999999",
        "0.000000000000000000000000000000000000005",
        "\u0661",
        "9" * 40,
        "a b  ",
        "  a",
        "1.",
        ".5",
        ".",
        "5 5",
        "\0a",
        "1_000",
        "294247-01-10 04:00:54.775807",
        "294247-01-10 04:00:54.775808",
        "5881580-07-11",
        "5881580-07-12",
    ],
    BINARY: [b"", b"\0", b"a", b"\xff", b"k3", "\u00e9".encode(), b"\xf0\x9f\x98", b"ab\xff"],
    DATE: [
        0,
        1,
        -1,
        19_782,
        19_723,
        19_722,
        -(2**31),
        -(2**31) + 1,
        2**31 - 1,
        2**31 - 2,
        -141_427,
        -141_428,
        -141_438,
        -719_162,
        -719_163,
        -719_528,
        -719_529,
        2_932_896,
        2_932_897,
        -25_567,
        106_751_991,
        106_751_992,
        -106_751_991,
        -106_751_992,
        19_813,
        20_023,
        15_338,
        11_016,
        -25_509,
        -676_022,
    ],
    TIMESTAMP: _INSTANTS,
    TIMESTAMP_NTZ: _INSTANTS,
}

_WHOLE = ("0", "1", "-1", "2", "3", "-7", "100", "2147483647", "-2147483648")
_LONGS = ("-3L", "9223372036854775807L", "-9223372036854775807L", "4611686018427387905L")
_REALS = ("0.5D", "-3D", "1e308D", "0.0D", "1e-300D", "double('NaN')", "float('0.1')")
_DECIMALS = ("0.3BD", "-2.5BD", "3BD", "99999999999999999999.9BD", "0.00000000000000000001BD", f"{_NINES}BD")
_DAYS = ("0", "1", "-1", "10", "-400", "2147483647", "-2147483648")
_DATES = (
    "DATE'1970-01-01'",
    "DATE'1582-10-15'",
    "DATE'9999-12-31'",
    "DATE'-200000-01-01'",
    "CAST('5881580-07-11' AS DATE)",
)
_TEXTS = ("'a'", "''", "'%'", "'\U0001f600'", "'e'", "'\\uffff'")
_NUMBERS = (*_WHOLE, *_LONGS, *_REALS, *_DECIMALS)
_LEFT_OUT = frozenset(_NUMBERS) - {"0", "2", "-7", "2147483647", "-3L", "0.5D", "-2.5BD", f"{_NINES}BD"}
_SHORTER = (
    BYTE,
    SHORT,
    FLOAT,
    DecimalType(18, 0),
    DecimalType(20, 20),
    DecimalType(21, 20),
    DecimalType(20, 2),
    DecimalType(38, 38),
    STRING,
    DATE,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    BOOLEAN,
)
_UNITS = (
    "YEAR",
    "QUARTER",
    "MONTH",
    "WEEK",
    "DAY",
    "HOUR",
    "MINUTE",
    "SECOND",
    "MILLISECOND",
    "MICROSECOND",
    "nothing",
)
_FORMATS = ("yyyy-MM-dd", "yyyy", "yyyy-MM-dd HH:mm:ss", "MM-dd", "yyyyMMdd", "dd/MM/yyyy HH")

_ONE = ("{0}({c})",)
_BOTH = tuple(f"{{c}} {{0}} {k}" for k in _NUMBERS) + tuple(f"{k} {{0}} {{c}}" for k in _NUMBERS)
_WITH_TEXT = tuple(f"{{0}}({{c}}, {k})" for k in _TEXTS) + tuple(f"{{0}}({k}, {{c}})" for k in _TEXTS[:4])

ARGUMENTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        "+-", (*_BOTH, *(f"{{c}} {{0}} {k}" for k in (*_DATES, "{c}")), *(f"{k} {{0}} {{c}}" for k in _DATES))
    ),
    **dict.fromkeys(("*", "/", "%", "div"), (*_BOTH, "{c} {0} {c}")),
    "pmod": tuple(f"pmod({{c}}, {k})" for k in _NUMBERS)
    + tuple(f"pmod({k}, {{c}})" for k in (*_WHOLE, *_LONGS))
    + ("pmod(c, -128Y)", "pmod(-3Y, {c})", "pmod({c}, -32768S)"),
    "round": tuple(
        f"round({{c}}, {k})" for k in ("0", "1", "-1", "-2", "5", "-9", "-10", "-18", "-19", "-38", "2147483647")
    )
    + _ONE,
    **dict.fromkeys(("contains", "endswith", "instr", "locate", "position"), _WITH_TEXT),
    "coalesce": ("coalesce({c}, {c})", "coalesce({c}, 1)", "coalesce({c}, 'a')"),
    "replace": tuple(
        f"replace({{c}}, {k}, {v})" for k, v in (("'a'", "'b'"), ("''", "'x'"), ("'\U0001f600'", "''"), ("'aa'", "'a'"))
    ),
    "substring": tuple(
        f"substring({{c}}, {k})"
        for k in (
            "0",
            "1",
            "-1",
            "2",
            "0, 1",
            "1, 1",
            "1, 2",
            "-2, 1",
            "2, 2147483647",
            "-2147483648, 2147483647",
            "1, -1",
            "1, 2147483647",
            "0, 2147483647",
            "2147483647, 2147483647",
            "-1, 2147483647",
            "-3, 2",
            "-100, 100",
            "0, 2",
            "1, 0",
        )
    ),
    **dict.fromkeys(
        ("left", "right"), tuple(f"{{0}}({{c}}, {k})" for k in ("0", "1", "2", "-1", "2147483647", "-2147483648"))
    ),
    "concat": (
        "concat({c}, 'a')",
        "concat('a', {c})",
        "concat('\U0001f600', {c}, '')",
        "concat({c}, {c})",
        "concat({c})",
    ),
    **dict.fromkeys(
        ("date_add", "date_sub"),
        tuple(f"{{0}}({{c}}, {k})" for k in _DAYS) + tuple(f"{{0}}({k}, {{c}})" for k in _DATES[::4]),
    ),
    "add_months": tuple(
        f"add_months({{c}}, {k})" for k in ("0", "1", "-1", "13", "2147483647", "-2147483648", "100000000")
    )
    + tuple(f"add_months({k}, {{c}})" for k in _DATES[:3]),
    "datediff": tuple(f"datediff({{c}}, {k})" for k in _DATES) + tuple(f"datediff({k}, {{c}})" for k in _DATES),
    "trunc": tuple(f"trunc({{c}}, '{k}')" for k in (*_UNITS[:5], "nothing")),
    "date_trunc": tuple(f"date_trunc('{k}', {{c}})" for k in _UNITS),
    "date_format": tuple(f"date_format({{c}}, '{k}')" for k in _FORMATS),
}
"""Calls of functions with more than one argument: {0} is the function, {c} the column. All others take the column."""

CAST_TARGETS = (
    BOOLEAN,
    BYTE,
    SHORT,
    INTEGER,
    LONG,
    FLOAT,
    DOUBLE,
    STRING,
    BINARY,
    DATE,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DecimalType(5, 2),
    DecimalType(10, 0),
    DecimalType(18, 0),
    DecimalType(20, 2),
    DecimalType(38, 0),
    DecimalType(38, 6),
    DecimalType(38, 18),
    DecimalType(38, 38),
)

_OTHER = (
    "{c} LIKE 'a%'",
    "{c} LIKE '_'",
    "{c} LIKE 'x_y'",
    "{c} LIKE '%\\\\%%'",
    "{c} ILIKE 'A%'",
    "startswith({c}, 'a')",
    "startswith({c}, '')",
    "{c} = {c}",
    "{c} <=> {c}",
    "{c} < {c}",
)
_COMPOSED = (
    "({c} + 1) % 5",
    "({c} - 2147483647) % 7",
    "pmod({c} + 100, 7)",
    "pmod({c} + 9223372036854775807L, 1000)",
    "({c} + 100Y) % 3",
    "{c} * 12",
    "{c} * 12 - 2147483647",
    "{c} * -12Y",
    "abs({c} - 2147483647)",
    "-({c} + 1)",
    "month(date_add({c}, 10))",
    "dayofweek(date_sub({c}, 2147483647))",
    "weekofyear({c} - 400)",
    "datediff(date_add({c}, -2147483648), DATE'1970-01-01')",
    "year(date_add({c}, 2147483647))",
)
_COMPARED: dict[DataType, tuple[str, ...]] = {
    DOUBLE: ("9007199254740993L", "0.1BD", "float('0.1')"),
    FLOAT: ("16777217", "0.1D", "0.1BD"),
    LONG: ("9007199254740992D", "9223372036854775807BD", "9223372036854775808BD", "0.5D"),
    INTEGER: ("2147483648L", "16777216D", "float('16777216')", "2147483647.5BD"),
    DATE: ("TIMESTAMP'1970-01-01 00:00:00'", "TIMESTAMP_NTZ'9999-12-31 00:00:00'"),
    TIMESTAMP: ("DATE'1970-01-01'", "TIMESTAMP_NTZ'2024-10-27 02:30:00'"),
    TIMESTAMP_NTZ: ("DATE'1970-01-01'", "TIMESTAMP'2024-03-31 02:30:00'"),
    DecimalType(38, 0): ("9223372036854775807L", "0.5BD", "1e20D"),
    STRING: ("5", "1.5D", "DATE'2024-02-29'", "true"),
}


@dataclass(frozen=True, slots=True)
class Case:
    """An expression over the column `c` of a type, in a session's time zone."""

    type: DataType
    sql: str
    zone: str = "UTC"

    @property
    def key(self) -> str:
        """The name of the case in the file of answers."""
        return f"{simple_string(self.type)}|{self.zone}|{self.sql}"


@cache
def cases() -> tuple[Case, ...]:
    """Every expression of the grid that deltaskip types, and therefore may evaluate or invert."""
    found: dict[Case, None] = {}
    for type_ in EDGES:
        texts = [text for name in FUNCTIONS for text in calls(name)]
        texts += [f"CAST({{c}} AS {simple_string(target)})" for target in CAST_TARGETS if castable(type_, target)]
        if type_ in INTEGRAL_BITS:
            texts.append("CAST(CAST({c} AS FLOAT) AS DOUBLE)")
        texts += [text for text in _OTHER if type_ == STRING or "=" in text or "<" in text]
        texts += _COMPOSED if type_ not in (STRING, FLOAT, DOUBLE) else ()
        texts += [f"{{c}} {op} {k}" for k in _COMPARED.get(type_, ()) for op in ("=", "<", ">=")]
        for text in texts:
            if type_ in _SHORTER and any(k in text.split() for k in _LEFT_OUT):
                continue
            sql = text.replace("{c}", "c")
            node = bound(Case(type_, sql))
            if node is None:
                continue
            for zone in ZONES if _reads_zone(type_, node) else ZONES[:1]:
                found[Case(type_, sql, zone)] = None
    return tuple(found)


def calls(name: str) -> Iterator[str]:
    """The calls of a function, with {c} for the column."""
    for template in ARGUMENTS.get(name, _ONE):
        text = template.replace("{0}", name)
        yield "-{c}" if text == "negative({c})" else "+{c}" if text == "positive({c})" else text


def bound(case: Case) -> Node | None:
    """The expression as bound; None where Spark refuses it, or deltaskip has no type for it."""
    schema = StructType((StructField("c", case.type),))
    try:
        node = bind_expression(parse_sql(case.sql), schema, time_zone=case.zone)
    except PredicateError:
        return None
    return None if type_of(node) is None else node


def encoded(value: Any, type_: DataType) -> str | None:
    """A value of the value domain as text: one text for values that Spark does not tell apart."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case bytes():
            return value.hex()
        case Decimal():
            return f"{value:f}"
    return repr(value) if type_ in (FLOAT, DOUBLE) else str(value)


def decoded(text: str | None, type_: DataType) -> Any:
    """The value of a text that `encoded` returned."""
    if text is None:
        return None
    if type_ == BOOLEAN:
        return text == "true"
    if type_ == BINARY:
        return bytes.fromhex(text)
    if isinstance(type_, DecimalType):
        return Decimal(text)
    if type_ in (FLOAT, DOUBLE):
        return float(text)
    return text if type_ == STRING else int(text)


def file_of(version: str) -> Path:
    """The file with the answers of a version of Spark."""
    name = "spark_edges.json.gz" if version == VERSIONS[0] else f"spark_edges_{version}.json.gz"
    return Path(__file__).with_name(name)


@cache
def stored(version: str) -> dict[str, dict[str, Any] | None]:
    """What the file of a version contains: None for a case that only this version refuses."""
    found: dict[str, dict[str, Any] | None] = json.loads(gzip.decompress(file_of(version).read_bytes()))
    return found


@cache
def answers(version: str = VERSIONS[0]) -> dict[str, dict[str, Any]]:
    """Spark's answers by the key of the case: its result type, and for each edge the answer with ANSI on and off."""
    found = {**stored(VERSIONS[0]), **stored(version)}
    return {key: known for key, known in found.items() if known is not None}


def _reads_zone(type_: DataType, node: Node) -> bool:
    result = type_of(node)
    if type_ == TIMESTAMP:
        timeless = isinstance(node, Cast) and result not in (DATE, TIMESTAMP_NTZ, STRING)
        return (not timeless and not isinstance(node, Compare | Call)) or _is_local(node)
    return type_ in (DATE, TIMESTAMP_NTZ, STRING) and (result == TIMESTAMP or _is_local(node))


def _is_local(node: Node) -> bool:
    local = ("hour", "minute", "second", "date_trunc", "date_format", "year", "month", "dayofmonth", "unix_timestamp")
    return isinstance(node, Compare) or (isinstance(node, Call) and node.name in local)
