"""Random predicates over a random table's columns, bare or under functions of every kind that skipping knows."""

import random
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import EvaluationError
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.values.calendar import MICROS_PER_DAY
from deltaskip.sparkexpr.values.interval_types import CALENDAR, DAY_TIME, DAYS, YEAR_MONTH
from tests.skipping.random_tables import RandomTable, leaf_fields, random_value

_NUMBERS: tuple[t.DataType, ...] = (
    t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.DOUBLE, t.FLOAT,
    t.DecimalType(12, 3),
    t.DecimalType(38, 10),
)  # fmt: skip
_TIMES: tuple[t.DataType, ...] = (t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ)


def random_predicate(rng: random.Random, table: RandomTable, depth: int = 2) -> n.Node:
    """AND, OR and NOT over comparisons, IN, IS NULL, LIKE and startswith; literals often are values of the table."""
    if depth and rng.random() < 0.6:
        kind = rng.random()
        if kind < 0.2:
            return n.Not(random_predicate(rng, table, depth - 1))
        children = tuple(random_predicate(rng, table, depth - 1) for _ in range(rng.randint(2, 3)))
        return n.And(children) if kind < 0.6 else n.Or(children)
    path, type_ = rng.choice(leaf_fields(table.schema))
    if rng.random() < 0.6:
        return _function_leaf(rng, table, path, type_)
    return _leaf(rng, table, path, type_)


def _function_leaf(rng: random.Random, table: RandomTable, path: tuple[str, ...], type_: t.DataType) -> n.Node:
    """A comparison of some functions of a column, mostly with a value that they take on some row."""
    node: n.Node = n.Column(path)
    found: t.DataType = type_
    columns = [n.Column(other) for other, _ in leaf_fields(table.schema)]
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
    if found == t.BOOLEAN and rng.random() < 0.5:
        return node
    kind = rng.random()
    if kind < 0.1:
        return n.IsNull(node)
    if found == t.STRING and kind < 0.3:
        text = str(_taken(rng, table, node, found).value or "")[: rng.choice([1, 2, 4, 7, 40])]
        pattern = text.replace("\\", "\\\\") + "%"
        return (
            n.StartsWith(node, n.Literal(text, t.STRING)) if kind < 0.2 else n.Like(node, n.Literal(pattern, t.STRING))
        )
    if kind < 0.45:
        return n.In(node, tuple(_taken(rng, table, node, found) for _ in range(rng.choice([1, 2, 3, 12]))))
    literal = _taken(rng, table, node, found)
    op = rng.choice(("=", "=", "!=", "<", "<=", ">", ">=", "<=>"))
    return n.Compare(op, node, literal) if rng.random() < 0.8 else n.Compare(op, literal, node)


def _taken(rng: random.Random, table: RandomTable, node: n.Node, type_: t.DataType) -> n.Literal:
    """A value of the expression on some row, or a random one."""
    if rng.random() < 0.8:
        row = rng.choice(rng.choice(list(table.files.values())))
        try:
            value = evaluate(bind_expression(node, table.schema, table.partition_columns), row)
        except (EvaluationError, PredicateError):
            value = None
        if value is not None:
            return n.Literal(value, type_)
    if rng.random() < 0.05:
        return n.Literal(None, type_)
    return n.Literal(random_value(rng, type_), type_)


def random_function(
    rng: random.Random,
    node: n.Node,
    type_: t.DataType | None,
    constant: Callable[[], n.Node],
    columns: Sequence[n.Node] = (),
) -> n.Node:
    """One function around an expression of the type, beside constants of that type or, in COALESCE, other columns."""
    if rng.random() < 0.12:
        other = rng.choice(columns) if columns and rng.random() < 0.3 else constant()
        return n.Call("coalesce", (node, other))
    if rng.random() < 0.12:
        condition = rng.choice([n.IsNull(node), n.Compare(rng.choice("<>="), node, constant())])
        return n.Case(((condition, rng.choice([node, constant()])),), rng.choice([None, node]))
    if rng.random() < 0.15:
        return n.Cast(node, rng.choice((*_NUMBERS, *_TIMES, t.STRING, t.BOOLEAN)))
    if type_ in _TIMES:
        return _moved_time(rng, node) if rng.random() < 0.3 else _of_time(rng, node)
    if type_ == t.LONG and rng.random() < 0.3:
        return _time_of_number(rng, node)
    if type_ == t.STRING:
        return _of_text(rng, node)
    if type_ in _NUMBERS or isinstance(type_, t.DecimalType):
        return _of_number(rng, node, constant)
    return n.Cast(node, rng.choice((t.STRING, t.INTEGER, t.DOUBLE)))


def _of_time(rng: random.Random, node: n.Node) -> n.Node:
    days = n.Literal(rng.choice([-400, -31, -1, 0, 1, 30, 365, 2**31 - 1]), t.INTEGER)
    unit = n.Literal(
        rng.choice(["year", "quarter", "month", "week", "day", "HOUR", "minute", "second", "nothing"]), t.STRING
    )
    pattern = rng.choice(["yyyy", "yyyy-MM", "yyyy-MM-dd", "yyyyMMdd", "yyyy-MM-dd HH:mm:ss", "MM", "dd-MM-yyyy", "HH"])
    field = ["year", "quarter", "month", "weekofyear", "dayofmonth", "dayofweek", "weekday", "dayofyear"]
    return rng.choice(
        [
            n.Call(rng.choice(field), (node,)),
            n.Call("year", (node,)),
            n.Call(rng.choice(["hour", "minute", "second"]), (node,)),
            n.Call("date_trunc", (unit, node)),
            n.Call("trunc", (node, unit)),
            n.Call("date_format", (node, n.Literal(pattern, t.STRING))),
            n.Call("last_day", (node,)),
            n.Call("add_months", (node, days)),
            n.Call(rng.choice(["date_add", "date_sub", "+", "-"]), (node, days)),
            n.Call("datediff", rng.choice([(node, n.Literal(19_000, t.DATE)), (n.Literal(19_000, t.DATE), node)])),
            n.Call("unix_timestamp", (node,)),
            n.Cast(node, rng.choice([*_TIMES, t.STRING, t.LONG])),
        ]
    )


def _moved_time(rng: random.Random, node: n.Node) -> n.Node:
    """A time plus an interval, in another zone, or counted since 1970."""
    count = rng.choice([-400, -31, -1, 0, 1, 13, 29, 30, 365, 4000])
    interval = rng.choice(
        [
            n.Literal(count, YEAR_MONTH),
            n.Literal(count * MICROS_PER_DAY, DAYS),
            n.Literal(count * 3_600_000_000 + 7, DAY_TIME),
            n.Literal((count, rng.randint(-40, 40), count * 3_600_000_000), CALENDAR),
            n.Literal((0, count, 0), CALENDAR),
        ]
    )
    zone = n.Literal(rng.choice(["Europe/Berlin", "Australia/Lord_Howe", "+05:30", "UTC", "nothing"]), t.STRING)
    unit = n.Literal(rng.choice(["MONTH", "QUARTER", "DAY", "HOUR", "MICROSECOND"]), t.STRING)
    pattern = rng.choice(
        ["yyyy-MM-dd HH:mm:ss.SSS", "yyyy/LL", "yyyy D", "yyyy-MM-dd'T'HH", "yyyy-dd", "EEE", "[yyyy]"]
    )
    return rng.choice(
        [
            n.Call("+", (node, interval)),
            n.Call("-", (node, interval)),
            n.Call("timestampadd", (unit, n.Literal(count, t.INTEGER), node)),
            n.Call(rng.choice(["from_utc_timestamp", "to_utc_timestamp"]), (node, zone)),
            n.Call(
                "convert_timezone", rng.choice([(zone, node), (zone, n.Literal("America/New_York", t.STRING), node)])
            ),
            n.Call(
                rng.choice(["unix_seconds", "unix_millis", "unix_micros", "unix_date", "to_unix_timestamp"]), (node,)
            ),
            n.Call("next_day", (node, n.Literal(rng.choice(["mo", "FRIDAY", "sun"]), t.STRING))),
            n.Call("date_part", (n.Literal(rng.choice(["YEAROFWEEK", "SECOND"]), t.STRING), node)),
            n.Call("date_format", (node, n.Literal(pattern, t.STRING))),
        ]
    )


def _time_of_number(rng: random.Random, node: n.Node) -> n.Node:
    pattern = n.Literal(rng.choice(["yyyy-MM-dd", "yyyy", "yyyy-MM-dd HH:mm:ss", "HH:mm"]), t.STRING)
    named = n.Call(rng.choice(["timestamp_seconds", "timestamp_millis", "timestamp_micros"]), (node,))
    return rng.choice([named, n.Call("from_unixtime", (node, pattern)), n.Call("from_unixtime", (node,))])


def _of_text(rng: random.Random, node: n.Node) -> n.Node:
    length = n.Literal(rng.choice([-1, 0, 1, 2, 3, 31, 32]), t.INTEGER)
    part = n.Literal(rng.choice(["", "a", "k", "ab", "é", "xx"]), t.STRING)
    return rng.choice(
        [
            n.Call("left", (node, length)),
            n.Call("substring", (node, n.Literal(rng.choice([0, 1, 2, -1]), t.INTEGER), length)),
            n.Call("substring", (node, n.Literal(rng.choice([0, 1]), t.INTEGER))),
            n.Call("concat", (part, node)),
            n.Call("concat", (node, part)),
            n.Call("concat", (part, node, part)),
            n.Call(rng.choice(["upper", "lower", "trim", "reverse", "length"]), (node,)),
            n.Call(rng.choice(["contains", "endswith"]), (node, part)),
        ]
    )


def _of_number(rng: random.Random, node: n.Node, constant: Callable[[], n.Node]) -> n.Node:
    operand = constant()
    if rng.random() < 0.6:
        operand = n.Literal(rng.choice([-7, -2, -1, 0, 1, 2, 3, 10, 24]), t.INTEGER)
    op = rng.choice(["+", "-", "*", "/", "div", "%", "pmod"])
    return rng.choice(
        [
            n.Call(op, (node, operand)),
            n.Call(op, (operand, node)),
            n.Call(rng.choice(["negative", "positive", "abs", "floor", "ceil", "sign", "isnan"]), (node,)),
            n.Call("round", (node, n.Literal(rng.choice([-2, -1, 0, 1, 3]), t.INTEGER))),
            n.Cast(node, rng.choice((*_NUMBERS, t.STRING, t.BOOLEAN, t.TIMESTAMP))),
        ]
    )


def _leaf(rng: random.Random, table: RandomTable, path: tuple[str, ...], type_: t.DataType) -> n.Node:
    column = n.Column(path)
    kind = rng.random()
    if kind < 0.12:
        return n.IsNull(column)
    if type_ == t.BOOLEAN and kind < 0.3:
        return column
    if type_ == t.STRING and kind < 0.4:
        text = str(_literal(rng, table, path, type_).value or "")[: rng.choice([0, 1, 2, 31, 32, 40])]
        if rng.random() < 0.5:
            return n.StartsWith(column, n.Literal(text, t.STRING))
        escaped = "".join("\\" + c if c in "%_\\" else c for c in text)
        return n.Like(column, n.Literal(escaped + rng.choice(["", "%", "%b", "_", "%%"]), t.STRING))
    if kind < 0.55:
        count = rng.choice([0, 1, 2, 3, 12]) or 1
        return n.In(column, tuple(_literal(rng, table, path, type_) for _ in range(count)))
    literal: n.Node = _literal(rng, table, path, _comparable(rng, type_))
    op = rng.choice(("=", "!=", "<", "<=", ">", ">=", "<=>"))
    return n.Compare(op, column, literal) if rng.random() < 0.7 else n.Compare(op, literal, column)


def _comparable(rng: random.Random, type_: t.DataType) -> t.DataType:
    """Mostly the column's own type; sometimes one that Spark would cast to or from."""
    if rng.random() < 0.7:
        return type_
    family: Sequence[t.DataType] = next((f for f in (_NUMBERS, _TIMES) if type_ in f), (type_,))
    if isinstance(type_, t.DecimalType):
        family = _NUMBERS
    return rng.choice(family)


def _literal(rng: random.Random, table: RandomTable, path: tuple[str, ...], type_: t.DataType) -> n.Literal:
    if rng.random() < 0.05:
        return n.Literal(None, type_)
    if type_ == dict(leaf_fields(table.schema))[path] and rng.random() < 0.6:
        present: list[Any] = [row[path] for rows in table.files.values() for row in rows if row[path] is not None]
        if present:
            return n.Literal(rng.choice(present), type_)
    return n.Literal(random_value(rng, type_), type_)
