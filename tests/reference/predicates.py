"""Random predicates as SQL text, from a table's schema and its values. The same seed gives the same predicates."""

import datetime
import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deltaskip.sparkexpr.types.data_types import (
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
    PrimitiveType,
    StructType,
)
from deltaskip.sparkexpr.types.resolve import leaves
from tests.skipping.random_tables import random_value

_INTEGERS = (BYTE, SHORT, INTEGER, LONG)
_KNOWN = frozenset({*_INTEGERS, FLOAT, DOUBLE, BOOLEAN, STRING, BINARY, DATE, TIMESTAMP, TIMESTAMP_NTZ})
_LONG_TEXT = re.compile(r"'[^']{30,}'")
_COMPARISONS = ("=", "!=", "<", "<=", ">", ">=", "<=>")


@dataclass(frozen=True, slots=True)
class Predicate:
    """plain: made of comparisons, IN, BETWEEN, IS NULL and LIKE of a prefix on bare columns, and of AND, OR, NOT.

    Not plain are binary columns, and texts so long that a maximum of their length may have been cut by its writer.
    """

    sql: str
    plain: bool


@dataclass(frozen=True, slots=True)
class _Column:
    sql: str
    type: DataType
    values: Sequence[Any]


def random_predicates(
    rng: random.Random, schema: StructType, rows: Sequence[Mapping[str, Any]], count: int
) -> list[Predicate]:
    """`count` predicates over the columns that are reached through structs; most literals are values of the rows."""
    columns = _columns(schema, rows)
    return [_predicate(rng, columns, 2) for _ in range(count)]


def sql_literal(value: Any, kind: DataType) -> str:
    """A literal of the value domain as Spark's SQL."""
    if value is None:
        return "NULL"
    match kind:
        case _ if kind == BOOLEAN:
            return str(value).upper()
        case _ if kind in (LONG, INTEGER):
            return f"{value}L" if kind == LONG and value % 2 else str(value)
        case _ if kind in (BYTE, SHORT):
            return f"{value}{'Y' if kind == BYTE else 'S'}"
        case _ if kind in (FLOAT, DOUBLE):
            name = "FLOAT" if kind == FLOAT else "DOUBLE"
            special = {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value)
            return f"CAST('{special or ('NaN' if value != value else repr(value))}' AS {name})"
        case DecimalType(precision, scale):
            return f"CAST('{value:f}' AS DECIMAL({precision},{scale}))"
        case _ if kind == BINARY:
            return f"X'{value.hex()}'"
        case _ if kind == DATE:
            return f"DATE'{_moment(value * 86_400_000_000).date().isoformat()}'"
        case _ if kind == TIMESTAMP:
            return f"TIMESTAMP'{_stamp(value)}Z'"
        case _ if kind == TIMESTAMP_NTZ:
            return f"TIMESTAMP_NTZ'{_stamp(value)}'"
        case _:
            return _text(value)


def _predicate(rng: random.Random, columns: Sequence[_Column], depth: int) -> Predicate:
    if depth and rng.random() < 0.5:
        kind = rng.random()
        children = [_predicate(rng, columns, depth - 1) for _ in range(1 if kind < 0.2 else rng.randint(2, 3))]
        plain = all(child.plain for child in children)
        if kind < 0.2:
            return Predicate(f"NOT ({children[0].sql})", plain)
        return Predicate((" AND " if kind < 0.6 else " OR ").join(f"({child.sql})" for child in children), plain)
    column = rng.choice(columns)
    if rng.random() < 0.22 and (derived := _derived(rng, column)):
        return Predicate(derived, False)
    sql = _leaf(rng, column)
    return Predicate(sql, column.type != BINARY and not _LONG_TEXT.search(sql))


def _leaf(rng: random.Random, column: _Column) -> str:
    def value() -> str:
        return _literal(rng, column)

    kind = rng.random()
    if kind < 0.13:
        return f"{column.sql} IS {rng.choice(['', 'NOT '])}NULL"
    if column.type == BOOLEAN and kind < 0.35:
        return column.sql
    if column.type == STRING and kind < 0.33:
        return f"{column.sql} LIKE {_text(_prefix(rng, column, escaped=True) + '%')}"
    if kind < 0.48:
        listed = ", ".join(value() for _ in range(rng.choice([1, 2, 3, 12])))
        return f"{column.sql} {rng.choice(['', '', 'NOT '])}IN ({listed})"
    if kind < 0.58:
        return f"{column.sql} {rng.choice(['', '', 'NOT '])}BETWEEN {value()} AND {value()}"
    op = rng.choice(_COMPARISONS)
    return f"{column.sql} {op} {value()}" if rng.random() < 0.75 else f"{value()} {op} {column.sql}"


def _derived(rng: random.Random, column: _Column) -> str | None:
    """A comparison of something computed from the column, in a way that cannot fail on any row."""
    name, op = column.sql, rng.choice(_COMPARISONS)
    forms: list[str] = [f"coalesce({name}, {_literal(rng, column)}) {op} {_literal(rng, column)}"]
    match column.type:
        case t if t == STRING:
            prefix = _text(_prefix(rng, column))
            forms += [
                f"substring({name}, 1, 2) {op} {prefix}",
                f"startswith({name}, {prefix})",
                f"{name} LIKE {_text('%' + _prefix(rng, column, escaped=True))}",
                f"length({name}) {op} {rng.randint(0, 3)}",
                f"upper({name}) {op} upper({prefix})",
                f"concat({name}, 'x') {op} concat({prefix}, 'x')",
            ]
        case t if t in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
            day = sql_literal(_sample(rng, column) // (1 if t == DATE else 86_400_000_000), DATE)
            forms += [
                f"year({name}) {op} year({day})",
                f"month({name}) {op} {rng.randint(1, 12)}",
                f"CAST({name} AS DATE) {op} {day}",
                f"to_date({name}) {op} {day}",
                f"date_trunc('MONTH', {name}) {op} date_trunc('MONTH', {day})",
                f"{name} {op} {day}",
            ]
        case t if t in (*_INTEGERS, FLOAT, DOUBLE) or isinstance(t, DecimalType):
            literal = _literal(rng, column)
            forms += [
                f"CAST({name} AS STRING) {op} CAST({literal} AS STRING)",
                f"CAST({name} AS DOUBLE) {op} CAST({literal} AS DOUBLE)",
                f"{name} {op} {rng.choice(['0', '1.5', '2.5E0D', '100', '-3'])}",
            ]
            if t in (BYTE, SHORT, INTEGER):
                forms.append(f"CAST({name} AS BIGINT) + 1 {op} CAST({literal} AS BIGINT)")
                forms.append(f"-CAST({name} AS BIGINT) {op} 3")
            if t in (FLOAT, DOUBLE):
                forms += [f"{name} + 1 {op} {literal}", f"isnan({name})"]
        case _:
            return None
    return rng.choice(forms)


def _columns(schema: StructType, rows: Sequence[Mapping[str, Any]]) -> list[_Column]:
    found = []
    for leaf in leaves(schema):
        if leaf.type not in _KNOWN and not isinstance(leaf.type, DecimalType):
            continue
        values = [v for v in (_at(row, leaf.logical) for row in rows) if v is not None]
        found.append(_Column(".".join(f"`{part}`" for part in leaf.logical), leaf.type, values))
    return found


def _at(row: Mapping[str, Any] | None, path: Sequence[str]) -> Any:
    for name in path:
        # A struct with a variant in it is rendered as text.
        row = row[name] if isinstance(row, Mapping) else None
    return row


def _sample(rng: random.Random, column: _Column) -> Any:
    if column.values and rng.random() < 0.8:
        return rng.choice(column.values)
    return random_value(rng, column.type if isinstance(column.type, DecimalType | PrimitiveType) else STRING)


def _literal(rng: random.Random, column: _Column) -> str:
    if rng.random() < 0.03:
        return "NULL"
    value = _sample(rng, column)
    if column.type == TIMESTAMP and rng.random() < 0.3:
        # Read in the session's time zone.
        return f"{rng.choice(['', 'TIMESTAMP'])}'{_stamp(value)}'"
    if column.type == DATE and rng.random() < 0.3:
        return sql_literal(value, DATE).removeprefix("DATE")
    return sql_literal(value, column.type)


def _prefix(rng: random.Random, column: _Column, escaped: bool = False) -> str:
    text = str(_sample(rng, column))[: rng.choice([0, 1, 2, 31, 32, 33, 40])]
    return "".join("\\" + c if escaped and c in "%_\\" else c for c in text)


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _moment(micros: int) -> datetime.datetime:
    return datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=micros)


def _stamp(micros: int) -> str:
    return _moment(micros).isoformat(sep=" ", timespec="microseconds")
