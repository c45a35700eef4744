"""Random predicates over a random table's columns, bare or under functions of every kind that skipping knows."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import EvaluationError
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.nodes import (
    And,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    In,
    IsNull,
    Like,
    Literal,
    Node,
    Not,
    Or,
    StartsWith,
)
from deltaskip.sparkexpr.types.data_types import (
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
)
from deltaskip.sparkexpr.values.calendar import MICROS_PER_DAY
from deltaskip.sparkexpr.values.interval_types import CALENDAR, DAY_TIME, DAYS, YEAR_MONTH
from tests.skipping.random_tables import RandomTable, leaf_fields, random_value

_NUMBERS: tuple[DataType, ...] = (BYTE, SHORT, INTEGER, LONG, DOUBLE, FLOAT, DecimalType(12, 3), DecimalType(38, 10))
_TIMES: tuple[DataType, ...] = (DATE, TIMESTAMP, TIMESTAMP_NTZ)


def random_predicate(rng: random.Random, table: RandomTable, depth: int = 2) -> Node:
    """AND, OR and NOT over comparisons, IN, IS NULL, LIKE and startswith; literals often are values of the table."""
    if depth and rng.random() < 0.6:
        kind = rng.random()
        if kind < 0.2:
            return Not(random_predicate(rng, table, depth - 1))
        children = tuple(random_predicate(rng, table, depth - 1) for _ in range(rng.randint(2, 3)))
        return And(children) if kind < 0.6 else Or(children)
    path, type_ = rng.choice(leaf_fields(table.schema))
    if rng.random() < 0.6:
        return _function_leaf(rng, table, path, type_)
    return _leaf(rng, table, path, type_)


def _function_leaf(rng: random.Random, table: RandomTable, path: tuple[str, ...], type_: DataType) -> Node:
    """A comparison of some functions of a column, mostly with a value that they take on some row."""
    node: Node = Column(path)
    found: DataType = type_
    columns = [Column(other) for other, _ in leaf_fields(table.schema)]
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3])):
        taken = partial(_taken, rng, table, node, found)
        wrapped = random_function(rng, node, found, taken, columns)
        try:
            bound = bind_expression(wrapped, table.schema, table.partition_columns)
        except PredicateError:
            continue
        result = type_of(bound)
        if result is None:
            continue
        node, found = wrapped, result
    if found == BOOLEAN and rng.random() < 0.5:
        return node
    kind = rng.random()
    if kind < 0.1:
        return IsNull(node)
    if found == STRING and kind < 0.3:
        text = str(_taken(rng, table, node, found).value or "")[: rng.choice([1, 2, 4, 7, 40])]
        pattern = text.replace("\\", "\\\\") + "%"
        return StartsWith(node, Literal(text, STRING)) if kind < 0.2 else Like(node, Literal(pattern, STRING))
    if kind < 0.45:
        return In(node, tuple(_taken(rng, table, node, found) for _ in range(rng.choice([1, 2, 3, 12]))))
    literal = _taken(rng, table, node, found)
    op = rng.choice(("=", "=", "!=", "<", "<=", ">", ">=", "<=>"))
    return Compare(op, node, literal) if rng.random() < 0.8 else Compare(op, literal, node)


def _taken(rng: random.Random, table: RandomTable, node: Node, type_: DataType) -> Literal:
    """A value of the expression on some row, or a random one."""
    if rng.random() < 0.8:
        row = rng.choice(rng.choice(list(table.files.values())))
        try:
            value = evaluate(bind_expression(node, table.schema, table.partition_columns), row)
        except (EvaluationError, PredicateError):
            value = None
        if value is not None:
            return Literal(value, type_)
    if rng.random() < 0.05:
        return Literal(None, type_)
    return Literal(random_value(rng, type_), type_)


def random_function(
    rng: random.Random, node: Node, type_: DataType | None, constant: Callable[[], Node], columns: Sequence[Node] = ()
) -> Node:
    """One function around an expression of the type, beside constants of that type or, in COALESCE, other columns."""
    if rng.random() < 0.12:
        other = rng.choice(columns) if columns and rng.random() < 0.3 else constant()
        return Call("coalesce", (node, other))
    if rng.random() < 0.12:
        condition = rng.choice([IsNull(node), Compare(rng.choice("<>="), node, constant())])
        return Case(((condition, rng.choice([node, constant()])),), rng.choice([None, node]))
    if rng.random() < 0.15:
        return Cast(node, rng.choice((*_NUMBERS, *_TIMES, STRING, BOOLEAN)))
    if type_ in _TIMES:
        return _moved_time(rng, node) if rng.random() < 0.3 else _of_time(rng, node)
    if type_ == LONG and rng.random() < 0.3:
        return _time_of_number(rng, node)
    if type_ == STRING:
        return _of_text(rng, node)
    if type_ in _NUMBERS or isinstance(type_, DecimalType):
        return _of_number(rng, node, constant)
    return Cast(node, rng.choice((STRING, INTEGER, DOUBLE)))


def _of_time(rng: random.Random, node: Node) -> Node:
    days = Literal(rng.choice([-400, -31, -1, 0, 1, 30, 365, 2**31 - 1]), INTEGER)
    unit = Literal(
        rng.choice(["year", "quarter", "month", "week", "day", "HOUR", "minute", "second", "nothing"]), STRING
    )
    pattern = rng.choice(["yyyy", "yyyy-MM", "yyyy-MM-dd", "yyyyMMdd", "yyyy-MM-dd HH:mm:ss", "MM", "dd-MM-yyyy", "HH"])
    field = ["year", "quarter", "month", "weekofyear", "dayofmonth", "dayofweek", "weekday", "dayofyear"]
    return rng.choice(
        [
            Call(rng.choice(field), (node,)),
            Call("year", (node,)),
            Call(rng.choice(["hour", "minute", "second"]), (node,)),
            Call("date_trunc", (unit, node)),
            Call("trunc", (node, unit)),
            Call("date_format", (node, Literal(pattern, STRING))),
            Call("last_day", (node,)),
            Call("add_months", (node, days)),
            Call(rng.choice(["date_add", "date_sub", "+", "-"]), (node, days)),
            Call("datediff", rng.choice([(node, Literal(19_000, DATE)), (Literal(19_000, DATE), node)])),
            Call("unix_timestamp", (node,)),
            Cast(node, rng.choice([*_TIMES, STRING, LONG])),
        ]
    )


def _moved_time(rng: random.Random, node: Node) -> Node:
    """A time plus an interval, in another zone, or counted since 1970."""
    count = rng.choice([-400, -31, -1, 0, 1, 13, 29, 30, 365, 4000])
    interval = rng.choice(
        [
            Literal(count, YEAR_MONTH),
            Literal(count * MICROS_PER_DAY, DAYS),
            Literal(count * 3_600_000_000 + 7, DAY_TIME),
            Literal((count, rng.randint(-40, 40), count * 3_600_000_000), CALENDAR),
            Literal((0, count, 0), CALENDAR),
        ]
    )
    zone = Literal(rng.choice(["Europe/Berlin", "Australia/Lord_Howe", "+05:30", "UTC", "nothing"]), STRING)
    unit = Literal(rng.choice(["MONTH", "QUARTER", "DAY", "HOUR", "MICROSECOND"]), STRING)
    pattern = rng.choice(
        ["yyyy-MM-dd HH:mm:ss.SSS", "yyyy/LL", "yyyy D", "yyyy-MM-dd'T'HH", "yyyy-dd", "EEE", "[yyyy]"]
    )
    return rng.choice(
        [
            Call("+", (node, interval)),
            Call("-", (node, interval)),
            Call("timestampadd", (unit, Literal(count, INTEGER), node)),
            Call(rng.choice(["from_utc_timestamp", "to_utc_timestamp"]), (node, zone)),
            Call("convert_timezone", rng.choice([(zone, node), (zone, Literal("America/New_York", STRING), node)])),
            Call(rng.choice(["unix_seconds", "unix_millis", "unix_micros", "unix_date", "to_unix_timestamp"]), (node,)),
            Call("next_day", (node, Literal(rng.choice(["mo", "FRIDAY", "sun"]), STRING))),
            Call("date_part", (Literal(rng.choice(["YEAROFWEEK", "SECOND"]), STRING), node)),
            Call("date_format", (node, Literal(pattern, STRING))),
        ]
    )


def _time_of_number(rng: random.Random, node: Node) -> Node:
    pattern = Literal(rng.choice(["yyyy-MM-dd", "yyyy", "yyyy-MM-dd HH:mm:ss", "HH:mm"]), STRING)
    named = Call(rng.choice(["timestamp_seconds", "timestamp_millis", "timestamp_micros"]), (node,))
    return rng.choice([named, Call("from_unixtime", (node, pattern)), Call("from_unixtime", (node,))])


def _of_text(rng: random.Random, node: Node) -> Node:
    length = Literal(rng.choice([-1, 0, 1, 2, 3, 31, 32]), INTEGER)
    part = Literal(rng.choice(["", "a", "k", "ab", "é", "xx"]), STRING)
    return rng.choice(
        [
            Call("left", (node, length)),
            Call("substring", (node, Literal(rng.choice([0, 1, 2, -1]), INTEGER), length)),
            Call("substring", (node, Literal(rng.choice([0, 1]), INTEGER))),
            Call("concat", (part, node)),
            Call("concat", (node, part)),
            Call("concat", (part, node, part)),
            Call(rng.choice(["upper", "lower", "trim", "reverse", "length"]), (node,)),
            Call(rng.choice(["contains", "endswith"]), (node, part)),
        ]
    )


def _of_number(rng: random.Random, node: Node, constant: Callable[[], Node]) -> Node:
    operand = constant()
    if rng.random() < 0.6:
        operand = Literal(rng.choice([-7, -2, -1, 0, 1, 2, 3, 10, 24]), INTEGER)
    op = rng.choice(["+", "-", "*", "/", "div", "%", "pmod"])
    return rng.choice(
        [
            Call(op, (node, operand)),
            Call(op, (operand, node)),
            Call(rng.choice(["negative", "positive", "abs", "floor", "ceil", "sign", "isnan"]), (node,)),
            Call("round", (node, Literal(rng.choice([-2, -1, 0, 1, 3]), INTEGER))),
            Cast(node, rng.choice((*_NUMBERS, STRING, BOOLEAN, TIMESTAMP))),
        ]
    )


def _leaf(rng: random.Random, table: RandomTable, path: tuple[str, ...], type_: DataType) -> Node:
    column = Column(path)
    kind = rng.random()
    if kind < 0.12:
        return IsNull(column)
    if type_ == BOOLEAN and kind < 0.3:
        return column
    if type_ == STRING and kind < 0.4:
        text = str(_literal(rng, table, path, type_).value or "")[: rng.choice([0, 1, 2, 31, 32, 40])]
        if rng.random() < 0.5:
            return StartsWith(column, Literal(text, STRING))
        escaped = "".join("\\" + c if c in "%_\\" else c for c in text)
        return Like(column, Literal(escaped + rng.choice(["", "%", "%b", "_", "%%"]), STRING))
    if kind < 0.55:
        count = rng.choice([0, 1, 2, 3, 12]) or 1
        return In(column, tuple(_literal(rng, table, path, type_) for _ in range(count)))
    literal: Node = _literal(rng, table, path, _comparable(rng, type_))
    op = rng.choice(("=", "!=", "<", "<=", ">", ">=", "<=>"))
    return Compare(op, column, literal) if rng.random() < 0.7 else Compare(op, literal, column)


def _comparable(rng: random.Random, type_: DataType) -> DataType:
    """Mostly the column's own type; sometimes one that Spark would cast to or from."""
    if rng.random() < 0.7:
        return type_
    family: Sequence[DataType] = next((f for f in (_NUMBERS, _TIMES) if type_ in f), (type_,))
    if isinstance(type_, DecimalType):
        family = _NUMBERS
    return rng.choice(family)


def _literal(rng: random.Random, table: RandomTable, path: tuple[str, ...], type_: DataType) -> Literal:
    if rng.random() < 0.05:
        return Literal(None, type_)
    if type_ == dict(leaf_fields(table.schema))[path] and rng.random() < 0.6:
        present: list[Any] = [row[path] for rows in table.files.values() for row in rows if row[path] is not None]
        if present:
            return Literal(rng.choice(present), type_)
    return Literal(random_value(rng, type_), type_)
