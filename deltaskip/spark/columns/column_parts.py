"""Nodes for the parts of Spark's column trees that are the same in all releases, classic and Connect."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import pyspark

from deltaskip.errors import DeltaSkipError
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import parse_sql, to_node
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.functions import CHANGING, OF_SESSION, function_node
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.values import to_float
from deltaskip.sparkexpr.values.calendar import MICROS_PER_DAY, MICROS_PER_SECOND

_COMPARISONS = {"==": "=", "=": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>"}


def function(name: str, args: tuple[Node, ...]) -> Node:
    """The node of the operator or function with this name in Spark; Opaque if its value depends on more than `args`."""
    name = name.lower()
    match name, args:
        case _, () if name in OF_SESSION:
            return n.Opaque(f"{name}()")
        case _ if name in CHANGING:
            return opaque(name, args)
        case _, (left, right) if name in _COMPARISONS:
            return n.Compare(_COMPARISONS[name], left, right)
        case "and", (left, right):
            return n.And((*_legs(n.And, left), *_legs(n.And, right)))
        case "or", (left, right):
            return n.Or((*_legs(n.Or, left), *_legs(n.Or, right)))
        case "not" | "!", (child,):
            return n.Not(child)
        case "in", (child, *values):
            return n.In(child, tuple(values))
        case "between", (child, low, high):
            return n.Between((n.Compare(">=", child, low), n.Compare("<=", child, high)))
        case "like" | "ilike", (child, pattern, n.Literal(str() as escape)) if len(escape) == 1:
            return n.Like(child, pattern, escape, name == "ilike")
        case "collate", (child, n.Literal(str() as collation)):
            return n.Collate(child, collation)
        case _:
            return function_node(name, args)


def _legs(kind: type[n.And] | type[n.Or], node: Node) -> tuple[Node, ...]:
    return node.children if type(node) is kind else (node,)


def extract(child: Node, name: Node) -> Node:
    """The field `name` of a struct, the element of an array, or the value of a key."""
    match child, name:
        case n.Column(parts), n.Literal(str() as field, _):
            return n.Column((*parts, field))
        case _:
            return function("[]", (child, name))


def cast(child: Node, type_json: str, mode: str | None) -> Node:
    """A cast to a Spark type in JSON. mode: "try" or "ansi" in any letter case; None for the session's mode."""
    return cast_node(child, lambda: t.parse_type(type_json), mode)


def cast_node(child: Node, target: Callable[[], t.DataType], mode: str | None) -> Node:
    """A cast to the type that `target` returns; Opaque if it raises."""
    if mode is not None and mode.lower() not in ("try", "ansi"):
        return opaque("a cast", (child,))
    try:
        return n.Cast(child, target(), safe=mode is not None and mode.lower() == "try")
    except DeltaSkipError:
        return opaque("a cast", (child,))


def java_constant(value: Any) -> Node:
    """The literal for a JVM object of a date or time class; Opaque for other classes."""
    match value.getClass().getName():
        case "java.sql.Date":
            return n.Literal(value.toLocalDate().toEpochDay(), t.DATE)
        case "java.time.LocalDate":
            return n.Literal(value.toEpochDay(), t.DATE)
        case "java.sql.Timestamp":
            micros = _instant_micros(value.toInstant())
            if micros < _SAME_CALENDAR:
                # Spark keeps the day and time that the Julian calendar has for the instant.
                micros = int(jvm().org.apache.spark.sql.catalyst.util.DateTimeUtils.fromJavaTimestamp(value))
            return n.Literal(micros, t.TIMESTAMP)
        case "java.time.Instant":
            return n.Literal(_instant_micros(value), t.TIMESTAMP)
        case "java.time.LocalDateTime":
            micros = value.toLocalDate().toEpochDay() * MICROS_PER_DAY + value.toLocalTime().toNanoOfDay() // 1000
            return n.Literal(micros, t.TIMESTAMP_NTZ)
        case other:
            return opaque(other, ())


# Spark, RebaseDateTime.lastSwitchJulianTs: since 1900 the calendars, and the rules of time zones, are the same.
_SAME_CALENDAR = -2_208_988_800 * MICROS_PER_SECOND


def jvm() -> Any:
    """The classes of the JVM of the running session."""
    context: Any = pyspark.SparkContext._active_spark_context
    return context._jvm


def _instant_micros(instant: Any) -> int:
    return int(instant.getEpochSecond()) * MICROS_PER_SECOND + int(instant.getNano()) // 1000


_PYTHON_TYPES: dict[t.DataType, type] = {
    **dict.fromkeys((t.BYTE, t.SHORT, t.INTEGER, t.LONG, t.DATE, t.TIMESTAMP, t.TIMESTAMP_NTZ), int),
    t.DOUBLE: float,
    t.STRING: str,
    t.BOOLEAN: bool,
}


def declared_literal(value: Any, data_type: t.DataType) -> Node:
    """A literal with a declared type; Opaque if its value does not fit this package's representation of the type."""
    if value is None:
        return n.Literal(None, data_type)
    if hasattr(value, "getClass"):
        return java_constant(value)
    if isinstance(data_type, t.DecimalType) or data_type == t.VOID:
        try:
            return to_node(value)
        except (TypeError, DeltaSkipError):
            return opaque("a literal", ())
    if data_type == t.BINARY and isinstance(value, bytes | bytearray):
        return n.Literal(bytes(value), t.BINARY)
    if data_type == t.FLOAT and type(value) is float:
        # A Float of Java arrives as the double of its digits: 0.1 for 0.10000000149011612.
        return n.Literal(to_float(value), t.FLOAT)
    if type(value) is _PYTHON_TYPES.get(data_type):
        return n.Literal(value, data_type)
    return opaque("a literal", ())


# Reads the SQL text in a Column, while it is converted.
_READ: ContextVar[Callable[[str], Node]] = ContextVar("deltaskip_read_sql", default=parse_sql)


@contextmanager
def texts_read_by(read: Callable[[str], Node]) -> Iterator[None]:
    """Within the block, SQL text in Columns is read by this function."""
    token = _READ.set(read)
    try:
        yield
    finally:
        _READ.reset(token)


def sql_node(text: str) -> Node:
    """The node of SQL text."""
    try:
        return _READ.get()(text)
    except DeltaSkipError:
        # Spark may accept SQL that this package does not parse.
        return n.Opaque(text)


def opaque(what: str, args: tuple[Node, ...]) -> Node:
    """A node without SQL text, with the columns of `args`."""
    columns = dict.fromkeys(parts for arg in args for parts in n.columns_of(arg))
    return n.UnprintableExpression(what, tuple(columns))


def sequence(items: Any) -> Iterator[Any]:
    """The elements of a Scala Seq."""
    return (items.apply(i) for i in range(items.size()))


def option(found: Any) -> Any:
    """The value of a Scala Option; None if it is empty."""
    return found.get() if found.isDefined() else None
