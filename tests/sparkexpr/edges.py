"""The grid of the edges of types: expressions over one column, and the column's values at which they are evaluated.

Every function of `FUNCTIONS`, every arithmetic operator and every cast between primitive types occurs in it: a function
without a row in `ARGUMENTS`, or a type without edges, fails a test. The answers of Spark 4.1 are in
spark_edges.json.gz, those of later versions, where they differ, beside it; tests.sparkexpr.spark_edges renews them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import castable, type_of
from deltaskip.sparkexpr.evaluation import left_to_spark
from deltaskip.sparkexpr.functions import FUNCTIONS, REPLACED
from deltaskip.sparkexpr.functions.shapes import SHAPES
from deltaskip.sparkexpr.nodes import Call, Cast, Compare, Node
from deltaskip.sparkexpr.types.json import simple_string
from tests.sparkexpr.arguments import nested, numbers, patterns, text, times
from tests.sparkexpr.edge_values import EDGES
from tests.sparkexpr.stored import read_stored

VERSIONS = ("4.1", "4.3")
"""Versions of Spark with stored answers; the first has all, the others those that differ from it."""

ERROR = 0
"""Spark raises. Other answers are None, for NULL, and texts (see `encoded`)."""

ZONES = ("UTC", "Europe/Berlin", "America/Los_Angeles")

_NINES = "9" * 38
_WHOLE = ("0", "1", "-1", "2", "3", "-7", "100", "2147483647", "-2147483648")
_LONGS = ("-3L", "9223372036854775807L", "-9223372036854775807L", "4611686018427387905L")
_REALS = ("0.5D", "-3D", "1e308D", "0.0D", "1e-300D", "double('NaN')", "float('0.1')")
_DECIMALS = ("0.3BD", "-2.5BD", "3BD", "99999999999999999999.9BD", "0.00000000000000000001BD", f"{_NINES}BD")
_DAYS = ("0", "1", "-1", "10", "-400", "2147483647", "-2147483648")
_DATES = (
    *(f"DATE'{day}'" for day in ("1970-01-01", "1582-10-15", "9999-12-31", "-200000-01-01")),
    "CAST('5881580-07-11' AS DATE)",
)
_TEXTS = ("'a'", "''", "'%'", "'\U0001f600'", "'e'", "'\\uffff'")
_NUMBERS = (*_WHOLE, *_LONGS, *_REALS, *_DECIMALS)
_LEFT_OUT = frozenset(_NUMBERS) - {"0", "2", "-7", "2147483647", "-3L", "0.5D", "-2.5BD", f"{_NINES}BD"}
_SHORTER = (
    *(t.BYTE, t.SHORT, t.FLOAT, t.STRING, *t.DATETIMES, t.BOOLEAN),
    *(t.DecimalType(*digits) for digits in ((18, 0), (20, 20), (21, 20), (20, 2), (38, 38))),
)
_UNITS = (
    "YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND", "MICROSECOND", "nothing",
)  # fmt: skip

_ONE = ("{0}({c})",)
_BOTH = tuple(f"{{c}} {{0}} {k}" for k in _NUMBERS) + tuple(f"{k} {{0}} {{c}}" for k in _NUMBERS)
_WITH_TEXT = tuple(f"{{0}}({{c}}, {k})" for k in _TEXTS) + tuple(f"{{0}}({k}, {{c}})" for k in _TEXTS[:4])

ARGUMENTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys("+-", (*_BOTH, *(f"{{c}} {{0}} {k}" for k in (*_DATES, "{c}")),
        *(f"{k} {{0}} {{c}}" for k in _DATES))),
    **dict.fromkeys(("*", "/", "%", "div"), (*_BOTH, "{c} {0} {c}")),
    "pmod": tuple(f"pmod({{c}}, {k})" for k in _NUMBERS) + tuple(f"pmod({k}, {{c}})" for k in (*_WHOLE, *_LONGS)) + (
        "pmod(c, -128Y)", "pmod(-3Y, {c})", "pmod({c}, -32768S)"),
    "round": tuple(f"round({{c}}, {k})" for k in ("0", "1", "-1", "-2", "5", "-9", "-10", "-18", "-19", "-38",
        "2147483647")) + _ONE,
    "instr": _WITH_TEXT,
    "coalesce": ("coalesce({c}, {c})", "coalesce({c}, 1)", "coalesce({c}, 'a')"),
    **dict.fromkeys("&|^", tuple(f"{{c}} {{0}} {k}" for k in ("0", "-1", "255", "{c}", *_LONGS[:2]))),
    "~": ("~{c}",),
    **dict.fromkeys(("shiftleft", "shiftright", "shiftrightunsigned"), (
        *tuple(f"{{0}}({{c}}, {k})" for k in ("0", "1", "31", "33", "63", "-1")), "{0}(-7, {c})", "{0}(-7L, {c})")),
    **dict.fromkeys(("try_add", "try_subtract", "try_multiply", "try_divide", "try_mod"),
        tuple(f"{{0}}({{c}}, {k})" for k in ("0", "-1", "2147483647", "9223372036854775807L", "0.3BD", "0.5D", "{c}"))),
    **dict.fromkeys(("greatest", "least"), tuple(f"{{0}}({{c}}, {k})" for k in ("{c}", "NULL", "0", "-3L", "0.3BD",
        "double('NaN')", "'a'", _DATES[0]))),
    **dict.fromkeys(("from_utc_timestamp", "to_utc_timestamp"), ("{0}({c}, 'Europe/Berlin')", "{0}({c}, '+05:00')",
        "{0}({c}, 'x')")),
    "make_date": ("make_date({c}, 2, 29)", "make_date(2024, {c}, 1)", "make_date(2023, 2, {c})"),
    "concat": ("concat({c}, 'a')", "concat('a', {c})", "concat('\U0001f600', {c}, '')", "concat({c}, {c})",
        "concat({c})"),
    **dict.fromkeys(("date_add", "date_sub"), tuple(f"{{0}}({{c}}, {k})" for k in _DAYS) + tuple(
        f"{{0}}({k}, {{c}})" for k in _DATES[::4])),
    "add_months": tuple(f"add_months({{c}}, {k})" for k in ("0", "1", "-1", "13", "2147483647", "-2147483648",
        "100000000")) + tuple(f"add_months({k}, {{c}})" for k in _DATES[:3]),
    "datediff": tuple(f"datediff({{c}}, {k})" for k in _DATES) + tuple(f"datediff({k}, {{c}})" for k in _DATES),
    "trunc": tuple(f"trunc({{c}}, '{k}')" for k in (*_UNITS[:5], "nothing")),
    "date_trunc": tuple(f"date_trunc('{k}', {{c}})" for k in _UNITS),
    **text.ARGUMENTS,
    **patterns.ARGUMENTS,
    **numbers.ARGUMENTS,
    **times.ARGUMENTS,
}  # fmt: skip
ARGUMENTS.update({name: (*ARGUMENTS.get(name, ()), *calls) for name, calls in nested.ARGUMENTS.items()})
"""Calls of functions with more than one argument: {0} is the function, {c} the column. All others take the column."""

CAST_TARGETS: tuple[t.DataType, ...] = (
    *(t.BOOLEAN, *t.INTEGRAL_BITS, t.FLOAT, t.DOUBLE, t.STRING, t.BINARY, *t.DATETIMES),
    *(t.DecimalType(*digits) for digits in ((5, 2), (10, 0), (18, 0), (20, 2), (38, 0), (38, 6), (38, 18), (38, 38))),
)

# Without spark.sql.geospatial.enabled, Spark refuses its functions of shapes, which skipping/proofs has.
_NAMES = (
    *(name for name in FUNCTIONS if name not in SHAPES),
    *(name for name in ARGUMENTS if name in REPLACED),
)

_OTHER = (
    "{c} LIKE 'a%'", "{c} LIKE '_'", "{c} LIKE 'x_y'", "{c} LIKE '%\\\\%%'", "{c} ILIKE 'A%'", "startswith({c}, 'a')",
    "startswith({c}, '')", "{c} = {c}", "{c} <=> {c}", "{c} < {c}",
)  # fmt: skip
_COMPOSED = (
    "({c} + 1) % 5", "({c} - 2147483647) % 7", "pmod({c} + 100, 7)", "pmod({c} + 9223372036854775807L, 1000)",
    "({c} + 100Y) % 3", "{c} * 12", "{c} * 12 - 2147483647", "{c} * -12Y", "abs({c} - 2147483647)", "-({c} + 1)",
    "month(date_add({c}, 10))", "dayofweek(date_sub({c}, 2147483647))", "weekofyear({c} - 400)",
    "datediff(date_add({c}, -2147483648), DATE'1970-01-01')", "year(date_add({c}, 2147483647))",
)  # fmt: skip
_COMPARED: dict[t.DataType, tuple[str, ...]] = {
    t.DOUBLE: ("9007199254740993L", "0.1BD", "float('0.1')"),
    t.FLOAT: ("16777217", "0.1D", "0.1BD"),
    t.LONG: ("9007199254740992D", "9223372036854775807BD", "9223372036854775808BD", "0.5D"),
    t.INTEGER: ("2147483648L", "16777216D", "float('16777216')", "2147483647.5BD"),
    t.DATE: ("TIMESTAMP'1970-01-01 00:00:00'", "TIMESTAMP_NTZ'9999-12-31 00:00:00'"),
    t.TIMESTAMP: ("DATE'1970-01-01'", "TIMESTAMP_NTZ'2024-10-27 02:30:00'"),
    t.TIMESTAMP_NTZ: ("DATE'1970-01-01'", "TIMESTAMP'2024-03-31 02:30:00'"),
    t.DecimalType(38, 0): ("9223372036854775807L", "0.5BD", "1e20D"),
    t.STRING: ("5", "1.5D", "DATE'2024-02-29'", "true"),
}


@dataclass(frozen=True, slots=True)
class Case:
    """An expression over the column `c` of a type, in a session's time zone."""

    type: t.DataType
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
        names = [name for name in _NAMES if type_ in nested.TYPES or name not in nested.NAMES]
        texts = [call for name in names if type_ in text.ONLY.get(name, EDGES) for call in calls(name)]
        texts += [f"CAST({{c}} AS {simple_string(target)})" for target in CAST_TARGETS if castable(type_, target)]
        if type_ in t.INTEGRAL_BITS:
            texts.append("CAST(CAST({c} AS FLOAT) AS DOUBLE)")
        texts += [text for text in _OTHER if type_ == t.STRING or "=" in text or "<" in text]
        texts += _COMPOSED if type_ not in (t.STRING, t.FLOAT, t.DOUBLE) else ()
        texts += [f"{{c}} {op} {k}" for k in _COMPARED.get(type_, ()) for op in ("=", "<", ">=")]
        for call in texts:
            if type_ in t.DATETIMES and call in patterns.NOT_OF_TIMES:
                continue
            if type_ in _SHORTER and any(k in call.split() for k in _LEFT_OUT):
                continue
            sql = call.replace("{c}", "c")
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


@cache
def bound(case: Case, ansi: bool = True) -> Node | None:
    """The expression as bound; None where Spark refuses it, or deltaskip has no value for it, or for a part of it."""
    schema = t.StructType((t.StructField("c", case.type),))
    try:
        node = bind_expression(parse_sql(case.sql), schema, time_zone=case.zone, ansi=ansi)
    except PredicateError:
        return None
    return None if type_of(node) is None or left_to_spark(node) is not None else node


def encoded(value: Any, type_: t.DataType) -> str | None:
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
        case tuple() | list() if isinstance(type_, t.ArrayType):
            return f"[{', '.join(str(encoded(each, type_.element)) for each in value)}]"
    return repr(value) if type_ in (t.FLOAT, t.DOUBLE) else str(value)


def decoded(text: str | None, type_: t.DataType) -> Any:
    """The value of a text that `encoded` returned."""
    if text is None:
        return None
    if type_ == t.BOOLEAN:
        return text == "true"
    if type_ == t.BINARY:
        return bytes.fromhex(text)
    if isinstance(type_, t.DecimalType):
        return Decimal(text)
    if type_ in (t.FLOAT, t.DOUBLE):
        return float(text)
    return text if type_ == t.STRING else int(text)


def file_of(version: str) -> Path:
    """The file with the answers of a version of Spark."""
    name = "spark_edges.json.gz" if version == VERSIONS[0] else f"spark_edges_{version}.json.gz"
    return Path(__file__).with_name(name)


@cache
def stored(version: str) -> dict[str, dict[str, Any] | None]:
    """What the file of a version contains: None for a case that only this version refuses."""
    found: dict[str, dict[str, Any] | None] = read_stored(file_of(version))
    return found


@cache
def answers(version: str = VERSIONS[0]) -> dict[str, dict[str, Any]]:
    """Spark's answers by the key of the case: its result type, and for each edge the answer with ANSI on and off."""
    found = {**stored(VERSIONS[0]), **stored(version)}
    return {key: known for key, known in found.items() if known is not None}


def _reads_zone(type_: t.DataType, node: Node) -> bool:
    result = type_of(node)
    if type_ == t.TIMESTAMP:
        timeless = isinstance(node, Cast) and result not in (t.DATE, t.TIMESTAMP_NTZ, t.STRING)
        return (not timeless and not isinstance(node, Compare | Call)) or _is_local(node)
    if isinstance(node, Call) and node.name in times.ZONED:
        return True
    return type_ in (t.DATE, t.TIMESTAMP_NTZ, t.STRING) and (result == t.TIMESTAMP or _is_local(node))


def _is_local(node: Node) -> bool:
    local = ("hour", "minute", "second", "date_trunc", "date_format", "year", "month", "dayofmonth", "unix_timestamp")
    return isinstance(node, Compare) or (isinstance(node, Call) and (node.name in local or FUNCTIONS[node.name].zoned))
