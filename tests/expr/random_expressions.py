"""Random expressions over all functions of the table, and a table of every type with values at the edges."""

from __future__ import annotations

import math
import random
import re
import warnings
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

import deltaskip as ds
from deltaskip.errors import PredicateError
from deltaskip.expr import EvaluationError, Undecided, bind_expression, columns_of, evaluate, parse_sql
from deltaskip.expr.coerce import type_of
from deltaskip.expr.evaluation import left_to_spark
from deltaskip.expr.evaluation.columns import Evaluator
from deltaskip.expr.nodes import Node
from deltaskip.schema.arrow import arrow_type
from deltaskip.schema.arrow_values import domain_values, one_chunk, typed_array
from deltaskip.schema.ddl import parse_columns
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
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    UnknownType,
)
from tests.expr.edge_values import EDGES
from tests.expr.edges import _NAMES, CAST_TARGETS, calls

ZONES = ("UTC", "Europe/Berlin", "America/Los_Angeles", "Australia/Lord_Howe")
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
    *("{c}[0]", "{c}['k']", "{c}.x", "{c} + INTERVAL 1 MONTH", "{c} - INTERVAL '1 02:03:04' DAY TO SECOND"),
    *(f"CAST({{c}} AS {simple_string(target)})" for target in CAST_TARGETS),
    *(f"TRY_CAST({{c}} AS {simple_string(target)})" for target in CAST_TARGETS[::3]),
)

_MILD: dict[DataType, list[Any]] = {
    BYTE: [0, 1, 2, 3, 7, -1],
    SHORT: [0, 1, 2, 12, 100, -5],
    INTEGER: [0, 1, 2, 3, 5, 10, 31, -1, -3, 2024],
    LONG: [0, 1, 2, 4, 11, 60, -2, 1_700_000_000],
    FLOAT: [0.0, 1.0, 2.5, -0.5, 3.0],
    DOUBLE: [0.0, 1.0, 2.5, -0.75, 10.0, 0.1, 1e6],
    DecimalType(5, 2): [Decimal("0.00"), Decimal("1.00"), Decimal("2.50"), Decimal("-1.25"), Decimal("9.99")],
    DecimalType(20, 2): [Decimal("0.00"), Decimal("3.00"), Decimal("10.05"), Decimal("-0.01")],
    STRING: [
        "",
        "a",
        "abc",
        "a,b,c",
        "Name-7",
        "5",
        "-3",
        "1.5",
        "2024-01-31",
        "é",
        "x\U0001f600y",
        "k",
        "a b",
        "[1,2]",
    ],
    BINARY: [b"", b"a", b"abc", b"\xff\x00"],
    DATE: [0, 19_723, 19_782, 20_023, 19_813, -1],
    TIMESTAMP: [1_711_846_799_999_999, 1_711_850_400_000_000, 1_729_990_800_000_000, 1_704_067_200_000_000, 1, -1],
    TIMESTAMP_NTZ: [1_711_850_400_000_000, 1_729_990_800_000_000, 1_704_067_199_500_000, 86_399_999_999],
    ArrayType(INTEGER, True): [(), (1,), (3, None, 2), (5, 5, -1)],
    ArrayType(STRING, True): [(), ("a",), ("b", None, "a"), ("", "abc")],
    ArrayType(DOUBLE, True): [(), (0.0, -0.0), (math.nan, 1.5), (None,)],
}
_NESTED = parse_columns("m MAP<STRING, INT>, st STRUCT<x: INT, y: STRING>")

# Their results may be larger than memory, for which Spark ends its process.
_LARGE = frozenset(("repeat", "space", "lpad", "rpad", "array_repeat", "array_insert", "sequence"))
_CALLED = tuple(name for name in _NAMES if name not in _LARGE)

# What may stand for an argument in a call of the grid: its type by how it is written.
_ARGUMENT = re.compile(
    r"(?<![\w'{(.\[])(?:(?P<date>DATE'[^']*')|(?P<string>'[^'\\]{0,8}')|(?P<int>-?\d{1,10}))(?![\w'.\]])"
)
_WRITTEN = {"date": DATE, "string": STRING, "int": INTEGER}


class Made(NamedTuple):
    """An expression as Spark SQL, its type, and how deep calls are nested in it."""

    sql: str
    type: DataType
    depth: int


def schema() -> StructType:
    """The columns of the table: one of the edges of each type, and one of common values."""
    return parse_columns(", ".join(f"{name} {simple_string(type_)}" for name, (type_, _) in _values().items()))


def _values() -> dict[str, tuple[DataType, list[Any]]]:
    found: dict[str, tuple[DataType, list[Any]]] = {f"e{n}": (type_, EDGES[type_]) for n, type_ in enumerate(EDGES)}
    found |= {f"c{n}": (type_, _MILD[type_]) for n, type_ in enumerate(_MILD)}
    maps, struct = (field.type for field in _NESTED.fields)
    found["m"] = (maps, [(), (("k", 1),), (("k", None), ("a", 2))])
    found["st"] = (struct, [(1, "a"), (None, "b"), (2, None)])
    return found


def rows(chance: random.Random, count: int = ROWS) -> pa.Table:
    """Random rows of the table: a tenth of the values are NULL."""
    arrays = {}
    for name, (type_, values) in _values().items():
        given = [None if chance.random() < 0.1 else chance.choice(values) for _ in range(count)]
        arrays[name] = typed_array(given, arrow_type(type_))
    return pa.table(arrays)


ERROR, UNDECIDED = "error", "undecided"
"""What an expression has for a row instead of a value: Spark raises, and only Spark knows the value."""


class Rows:
    """Rows of the table, and the values that expressions have for them."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table
        self.columns = {name: one_chunk(table[name]) for name in table.column_names}
        cells = {(name,): domain_values(array) for name, array in self.columns.items()}
        self.each = [{name: values[at] for name, values in cells.items()} for at in range(len(table))]

    @classmethod
    def of(cls, chance: random.Random) -> Rows:
        """Return random rows."""
        return cls(rows(chance))

    def by_column(self, node: Node, zone: str, places: Sequence[int] = ()) -> list[Any]:
        """The values of some rows, all if none are named; those that fail are looked for by halves."""
        places = places or range(len(self.table))
        taken = {name: array.take(pa.array(places)) for name, array in self.columns.items()}
        try:
            return list(map(shown, domain_values(Evaluator(node, zone).values(taken, len(places)))))
        except EvaluationError as error:
            if len(places) == 1:
                return [UNDECIDED if isinstance(error, Undecided) else ERROR]
        half = len(places) // 2
        return self.by_column(node, zone, places[:half]) + self.by_column(node, zone, places[half:])

    def by_row(self, node: Node, zone: str) -> list[Any]:
        """The values of all rows, each by itself."""
        return [_by_row(node, zone, row) for row in self.each]

    def files(self, folder: Path, rows: int = 1) -> RowFiles:
        """Write a table whose files have so many rows each, in the order of the rows."""
        table = ds.DeltaTable.create(folder, schema())
        starts = range(0, len(self.table), rows)
        for start in starts:
            pq.write_table(self.table.slice(start, rows), folder / f"{start}.parquet")
        table.add_files([f"{start}.parquet" for start in starts])
        return RowFiles(table, [f"{at - at % rows}.parquet" for at in range(len(self.table))])

    def told(self, node: Node, found: list[Any], wanted: list[Any]) -> str:
        """The first row in which two lists of values differ, with the columns of the expression there."""
        at = next(at for at, (here, there) in enumerate(zip(found, wanted, strict=True)) if here != there)
        given = {name[0]: self.each[at][name[:1]] for name in columns_of(node)}
        return f"{found[at]} and not {wanted[at]} of {given}"


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
        return shown(evaluate(node, row, zone))
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
    """

    def __init__(self, chance: random.Random, zone: str, ansi: bool) -> None:
        self.chance, self.zone, self.ansi = chance, zone, ansi
        self.schema = schema()
        self.pool: dict[DataType, list[Made]] = {}
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
            if made.type == BOOLEAN and made.depth:
                yield made, node

    def _attempt(self) -> tuple[Made, Node] | None:
        chance = self.chance
        if chance.random() < 0.3:
            call = chance.choice(_OPERATORS)
        else:
            name = chance.choice(_CALLED)
            call = chance.choice(list(calls(name)))
        type_ = chance.choice(list(self.pool))
        parts: list[Made] = []

        def part(of: DataType) -> str:
            found = chance.choice(self.pool[of])
            parts.append(found)
            return found.sql if found.depth == 0 else f"({found.sql})"

        call = _ARGUMENT.sub(
            lambda at: part(_WRITTEN[at.lastgroup or ""]) if chance.random() < 0.2 else at.group(), call
        )
        sql = re.sub(r"\{c\}", lambda _: part(type_), call)
        sql = re.sub(r"\{b\}", lambda _: part(BOOLEAN), sql)
        depth = 1 + max((each.depth for each in parts), default=0)
        if depth > _DEPTH or len(sql) > _MOST_CHARACTERS:
            return None
        node = bound(sql, self.schema, self.zone, self.ansi)
        if node is None:
            return None
        found = Made(sql, type_of(node), depth)
        known = self.pool.setdefault(found.type, [])
        if len(known) < 40:
            known.append(found)
        elif chance.random() < 0.5:
            known[chance.randrange(4, 40)] = found
        return found, node


def bound(sql: str, columns: StructType, zone: str, ansi: bool) -> Node | None:
    """The expression as bound; None where it is refused, or has a type that no data file holds."""
    try:
        node = bind_expression(parse_sql(sql), columns, time_zone=zone, ansi=ansi)
    except PredicateError:
        return None
    type_ = type_of(node)
    return None if type_ is None or left_to_spark(node) is not None or not _is_stored(type_) else node


def _is_stored(type_: DataType) -> bool:
    match type_:
        case ArrayType():
            return _is_stored(type_.element)
        case MapType():
            return _is_stored(type_.key) and _is_stored(type_.value)
        case StructType():
            return bool(type_.fields) and all(_is_stored(field.type) for field in type_.fields)
        case UnknownType():
            return False
    return isinstance(type_, DecimalType) or type_ in EDGES
