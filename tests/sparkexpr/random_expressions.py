"""Random expressions over all functions of the table, and a table of every type with values at the edges."""

from __future__ import annotations

import math
import random
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deltaskip as ds
from deltaskip.errors import PredicateError
from deltaskip.rows.arrow_conversion import RunningCollations
from deltaskip.sparkexpr import EvaluationError, Undecided, parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation import evaluate, left_to_spark
from deltaskip.sparkexpr.evaluation.columns import Evaluator
from deltaskip.sparkexpr.nodes import Node, columns_of
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.types.ddl import parse_columns
from deltaskip.sparkexpr.types.json import simple_string
from deltaskip.sparkexpr.values.arrow_values import domain_values, one_chunk, typed_array
from tests.sparkexpr.edge_values import EDGES, decimals
from tests.sparkexpr.edges import _NAMES, CAST_TARGETS, calls

ZONES = ("UTC", "Europe/Berlin", "America/Los_Angeles", "America/New_York", "Australia/Lord_Howe")
COLLATIONS = ("UTF8_LCASE", "UNICODE", "UNICODE_CI")
ROWS = 24
_MOST_CHARACTERS = 300
_DEPTH = 4

_OPERATORS = (
    *(f"{{c}} {op} {other}" for op in ("=", "<", ">=", "<=>", "!=") for other in ("{c}", "1", "'a'")),
    *("{c} IS NULL", "{c} IS NOT NULL", "NOT {c}", "{c} AND {b}", "{c} OR {b}", "{b} AND {c}", "{c} IS TRUE"),
    *("{c} BETWEEN {c} AND {c}", "{c} NOT BETWEEN 1 AND 5", "{c} IN ({c}, {c}, NULL)", "{c} NOT IN (1, 2)"),
    *("if({b}, {c}, {c})", "CASE WHEN {b} THEN {c} WHEN {b} THEN {c} END", "CASE {c} WHEN {c} THEN 1 ELSE 2 END"),
    *("{c} LIKE 'a%'", "{c} LIKE '%_b%'", "{c} ILIKE '%A'", "{c} RLIKE '[a-c]+'", "startswith({c}, {c})"),
    *("array({c}, {c})", "array({c}, NULL, {c})", "struct({c} AS x, {c} AS y)", "map('k', {c}, 'l', {c})"),
    *(f"{{c}} COLLATE {name}" for name in COLLATIONS),
    *("{c}[0]", "{c}['k']", "{c}.x", "{c} + INTERVAL 1 MONTH", "{c} - INTERVAL '1 02:03:04' DAY TO SECOND"),
    *(f"CAST({{c}} AS {simple_string(target)})" for target in CAST_TARGETS),
    *(f"TRY_CAST({{c}} AS {simple_string(target)})" for target in CAST_TARGETS[::3]),
)

_MILD: dict[t.DataType, list[Any]] = {
    t.BYTE: [0, 1, 2, 3, 7, -1],
    t.SHORT: [0, 1, 2, 12, 100, -5],
    t.INTEGER: [0, 1, 2, 3, 5, 10, 31, -1, -3, 2024],
    t.LONG: [0, 1, 2, 4, 11, 60, -2, 1_700_000_000],
    t.FLOAT: [0.0, 1.0, 2.5, -0.5, 3.0],
    t.DOUBLE: [0.0, 1.0, 2.5, -0.75, 10.0, 0.1, 1e6],
    t.DecimalType(5, 2): [Decimal("0.00"), Decimal("1.00"), Decimal("2.50"), Decimal("-1.25"), Decimal("9.99")],
    t.DecimalType(20, 2): [Decimal("0.00"), Decimal("3.00"), Decimal("10.05"), Decimal("-0.01")],
    t.STRING: [
        "", "a", "abc", "a,b,c", "Name-7", "5", "-3", "1.5", "2024-01-31", "é", "x\U0001f600y", "k", "a b", "[1,2]",
    ],
    t.BINARY: [b"", b"a", b"abc", b"\xff\x00"],
    t.DATE: [0, 19_723, 19_782, 20_023, 19_813, -1],
    t.TIMESTAMP: [1_711_846_799_999_999, 1_711_850_400_000_000, 1_729_990_800_000_000, 1_704_067_200_000_000, 1, -1],
    t.TIMESTAMP_NTZ: [1_711_850_400_000_000, 1_729_990_800_000_000, 1_704_067_199_500_000, 86_399_999_999],
    t.ArrayType(t.INTEGER, True): [(), (1,), (3, None, 2), (5, 5, -1)],
    t.ArrayType(t.STRING, True): [(), ("a",), ("b", None, "a"), ("", "abc")],
    t.ArrayType(t.DOUBLE, True): [(), (0.0, -0.0), (math.nan, 1.5), (None,)],
}  # fmt: skip
_COLLATED = [
    "", "a", "A", "b", "B", "ab", "AB", "Ab", "\u00e9", "\u00c9", "e\u0301", "\u00df", "ss", "\u0130", "i", "i\u0307",
    "I",
]  # fmt: skip
_COLLATED += [
    "\u03c3", "\u03c2", "\u03a3", "a b", "a-b", "A B", "k", "K", "\u212a", "5", "\u0665", "\0a", "a\0", "\U0001f600",
    "\uffff",
]  # fmt: skip
_COLLATED_ORDER = RunningCollations()

# Their results may be larger than memory, for which Spark ends its process.
_LARGE = frozenset(("repeat", "space", "lpad", "rpad", "array_repeat", "array_insert", "sequence"))
_CALLED = tuple(name for name in _NAMES if name not in _LARGE)
_AS_WRITTEN = frozenset(("format_number",))

# What may stand for an argument in a call of the grid: its type by how it is written.
_ARGUMENT = re.compile(
    r"(?<![\w'{(.\[])(?:(?P<date>DATE'[^']*')|(?P<string>'[^'\\]{0,8}')|(?P<int>-?\d{1,10}))(?![\w'.\]])"
)
_WRITTEN = {"date": t.DATE, "string": t.STRING, "int": t.INTEGER}


def with_a_column() -> Iterator[tuple[str, t.DataType, Any]]:
    """The calls of the grid with `k` for one of the arguments, its type, and the value written there."""
    for name in _CALLED:
        for call in calls(name):
            for at in _ARGUMENT.finditer(call):
                type_ = _WRITTEN[at.lastgroup or ""]
                value = evaluate(bind_expression(parse_sql(at.group()), t.StructType(())), {})
                yield f"{call[: at.start()]}k{call[at.end() :]}", type_, value


class Made(NamedTuple):
    """An expression as Spark SQL, its type, how deep calls are nested in it, and the function called last."""

    sql: str
    type: t.DataType
    depth: int
    name: str = ""


def _values(chance: random.Random, collated: bool) -> dict[str, tuple[str, list[Any]]]:
    """The columns with their types as DDL: one of the edges of each type, one of common values, and random decimals."""
    found = {f"e{n}": (simple_string(type_), EDGES[type_]) for n, type_ in enumerate(EDGES)}
    found |= {f"c{n}": (simple_string(type_), _MILD[type_]) for n, type_ in enumerate(_MILD)}
    found["m"] = ("MAP<STRING, INT>", [(), (("k", 1),), (("k", None), ("a", 2))])
    found["st"] = ("STRUCT<x: INT, y: STRING>", [(1, "a"), (None, "b"), (2, None)])
    for n in range(4):
        precision = chance.randint(1, 38)
        scale = chance.randint(0, precision)
        found[f"d{n}"] = (f"DECIMAL({precision}, {scale})", decimals(precision, scale))
    if collated:
        texts = [*EDGES[t.STRING], *_MILD[t.STRING], *_COLLATED]
        found |= {f"s{n}": (f"STRING COLLATE {name}", texts) for n, name in enumerate(COLLATIONS)}
        found |= {f"t{n}": (f"STRING COLLATE {name}", _COLLATED) for n, name in enumerate(COLLATIONS)}
    return found


ERROR, UNDECIDED = "error", "undecided"
"""What an expression has for a row instead of a value: Spark raises, and only Spark knows the value."""


class Rows:
    """Rows of the table, and the values that expressions have for them."""

    def __init__(self, table: pa.Table, schema: t.StructType) -> None:
        self.table, self.schema = table, schema
        self.columns = {name: one_chunk(table[name]) for name in table.column_names}
        cells: dict[tuple[str, ...], list[Any]] = {}
        for field in schema.fields:
            cells[(field.name,)] = values = domain_values(self.columns[field.name])
            for at, name in enumerate(field.type.names if isinstance(field.type, t.StructType) else ()):
                cells[field.name, name] = [None if value is None else value[at] for value in values]
        self.each = [{name: values[at] for name, values in cells.items()} for at in range(len(table))]

    @classmethod
    def of(cls, chance: random.Random, collated: bool = False, count: int = ROWS) -> Rows:
        """Return random rows: a tenth of the values are NULL."""
        columns = _values(chance, collated)
        schema = parse_columns(", ".join(f"{name} {ddl}" for name, (ddl, _) in columns.items()))
        arrays = {}
        for field, (name, (_, values)) in zip(schema.fields, columns.items(), strict=True):
            given = [None if chance.random() < 0.1 else chance.choice(values) for _ in range(count)]
            arrays[name] = typed_array(given, arrow_type(field.type))
        return cls(pa.table(arrays), schema)

    @classmethod
    def with_values(cls, schema: t.StructType, values: Mapping[str, Sequence[Any]]) -> Rows:
        """Return rows with the values of each column, from the start again where a column has fewer than another."""
        count = max(map(len, values.values()))
        arrays = {
            field.name: typed_array(list(islice(cycle(values[field.name]), count)), arrow_type(field.type))
            for field in schema.fields
        }
        return cls(pa.table(arrays), schema)

    def check(self, text: str, zone: str = "UTC") -> None:
        """Check that an expression has the values and the errors by column that it has row by row."""
        node = bind_expression(parse_sql(text), self.schema, time_zone=zone)
        assert type_of(node) is not None, "it is left to Spark"
        found, alone = self.by_column(node, zone), self.by_row(node, zone)
        assert found == alone, self.told(node, found, alone)

    def by_column(self, node: Node, zone: str) -> list[Any]:
        """The values of all rows: those without one each by itself, the others together.

        Checks that all rows together fail if one of them does.
        """
        columns = {name: self.columns[name] for name in {path[0] for path in columns_of(node)}}
        evaluator = Evaluator(node, zone, _COLLATED_ORDER)

        def some(places: Sequence[int]) -> list[Any]:
            whole = len(places) == len(self.table)
            taken = columns if whole else {name: array.take(pa.array(places)) for name, array in columns.items()}
            try:
                values = evaluator.values(taken, len(places))
                values.validate(full=True)
                assert values.type == arrow_type(type_of(node) or t.VOID)
                return list(map(shown, domain_values(values)))
            except EvaluationError as error:
                if len(places) == 1:
                    return [UNDECIDED if isinstance(error, Undecided) else ERROR]
            half = len(places) // 2
            return some(places[:half]) + some(places[half:])

        found = self.by_row(node, zone)
        together = [at for at, value in enumerate(found) if isinstance(value, tuple)]
        if 0 < len(together) < len(found):
            with pytest.raises(EvaluationError):
                evaluator.values(columns, len(found))
        for places in ([at] for at, value in enumerate(found) if not isinstance(value, tuple)):
            found[places[0]] = some(places)[0]
        for at, value in zip(together, some(together) if together else (), strict=True):
            found[at] = value
        return found

    def by_row(self, node: Node, zone: str) -> list[Any]:
        """The values of all rows, each by itself."""
        return [_by_row(node, zone, row) for row in self.each]

    def files(self, folder: Path, rows: int = 1) -> RowFiles:
        """Write a table whose files have so many rows each, in the order of the rows."""
        table = ds.DeltaTable.create(folder, self.schema)
        starts = range(0, len(self.table), rows)
        for start in starts:
            pq.write_table(self.table.slice(start, rows), folder / f"{start}.parquet")
        table.add_files([f"{start}.parquet" for start in starts])
        return RowFiles(table, [f"{at - at % rows}.parquet" for at in range(len(self.table))])

    def told(self, node: Node, found: list[Any], wanted: list[Any]) -> str:
        """The first row in which two lists of values differ, with the columns of the expression there."""
        at = next(at for at, (here, there) in enumerate(zip(found, wanted, strict=True)) if here != there)
        return f"{found[at]} and not {wanted[at]} of {self.given(node, at)}"

    def given(self, node: Node, at: int) -> dict[str, Any]:
        """The columns of an expression in a row."""
        return {name[0]: self.each[at][name[:1]] for name in columns_of(node)}


class RowFiles(NamedTuple):
    """A table, and the file of each row."""

    table: ds.DeltaTable
    file_of: list[str]

    def kept(self, predicate: str, zone: str, ansi: bool) -> list[bool] | None:
        """Whether a scan keeps the file of each row; None where Spark fails on a constant in the predicate."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ds.StatisticsWarning)
            warnings.simplefilter("ignore", ds.PredicateWarning)
            try:
                scan = self.table.scan(predicate, time_zone=zone, ansi=ansi)
            except ds.PredicateError as error:
                assert "Spark fails to evaluate the predicate" in str(error)
                return None
            found = set(scan.files()["path"].to_pylist())
        return [file in found for file in self.file_of]


def _by_row(node: Node, zone: str, row: dict[tuple[str, ...], Any]) -> Any:
    try:
        return shown(evaluate(node, row, zone, _COLLATED_ORDER.order))
    except EvaluationError as error:
        return UNDECIDED if isinstance(error, Undecided) else ERROR


def shown(value: Any) -> tuple[str]:
    """A value as a text that tells everything apart that Spark does."""
    if isinstance(value, list | tuple):
        return (f"({', '.join(shown(each)[0] for each in value)})",)
    return (repr(value),)


class Maker:
    """Makes random expressions, each of earlier ones.

    Args:
        chance: Decides.
        zone: The session's time zone.
        ansi: Whether ANSI mode is on.
        schema: The columns.

    refused: What was not made, because deltaskip refuses it: the name of the function, and Spark SQL.
    """

    def __init__(self, chance: random.Random, zone: str, ansi: bool, schema: t.StructType) -> None:
        self.chance, self.zone, self.ansi = chance, zone, ansi
        self.schema = schema
        self.refused: list[tuple[str, str]] = []
        self.pool: dict[t.DataType, list[Made]] = {}
        for field in self.schema.fields:
            self.pool.setdefault(field.type, []).append(Made(field.name, field.type, 0))

    def made(self) -> Iterator[tuple[Made, Node]]:
        """Random expressions that deltaskip evaluates, without end."""
        while True:
            found = self._attempt()
            if found is not None:
                yield found

    def predicates(self) -> Iterator[tuple[Made, Node]]:
        """Random predicates, without end."""
        for made, node in self.made():
            if made.type == t.BOOLEAN and made.depth:
                yield made, node

    def _attempt(self) -> tuple[Made, Node] | None:
        chance = self.chance
        if chance.random() < 0.3:
            name = call = chance.choice(_OPERATORS)
        else:
            name = chance.choice(_CALLED)
            call = chance.choice(list(calls(name)))
        type_ = chance.choice(list(self.pool))
        parts: list[Made] = []

        def part(of: t.DataType) -> str:
            found = chance.choice(self.pool[of])
            parts.append(found)
            return found.sql if found.depth == 0 else f"({found.sql})"

        often = 0 if name in _AS_WRITTEN else 0.2
        call = _ARGUMENT.sub(
            lambda at: part(_WRITTEN[at.lastgroup or ""]) if chance.random() < often else at.group(), call
        )
        sql = re.sub(r"\{c\}", lambda _: part(type_), call)
        sql = re.sub(r"\{b\}", lambda _: part(t.BOOLEAN), sql)
        depth = 1 + max((each.depth for each in parts), default=0)
        if depth > _DEPTH or len(sql) > _MOST_CHARACTERS:
            return None
        node = bound(sql, self.schema, self.zone, self.ansi)
        if node is None:
            self.refused.append((name, sql))
            return None
        found = Made(sql, type_of(node), depth, name)
        known = self.pool.setdefault(found.type, [])
        if len(known) < 40:
            known.append(found)
        elif chance.random() < 0.5:
            known[chance.randrange(4, 40)] = found
        return found, node


def bound(sql: str, columns: t.StructType, zone: str, ansi: bool) -> Node | None:
    """The expression as bound; None where it is refused, or has a type that no data file holds."""
    try:
        node = bind_expression(parse_sql(sql), columns, time_zone=zone, ansi=ansi)
    except PredicateError:
        return None
    type_ = type_of(node)
    return None if type_ is None or left_to_spark(node) is not None or not _is_stored(type_) else node


def _is_stored(type_: t.DataType) -> bool:
    match type_:
        case t.ArrayType():
            return _is_stored(type_.element)
        case t.MapType():
            return _is_stored(type_.key) and _is_stored(type_.value)
        case t.StructType():
            return bool(type_.fields) and all(_is_stored(field.type) for field in type_.fields)
        case t.UnknownType():
            return False
    return isinstance(type_, t.DecimalType) or type_ in EDGES
