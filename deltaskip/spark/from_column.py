"""Conversion of a pyspark Column to predicate nodes, for pruning.

Expressions without a node become Opaque, which keeps every file. Both kinds of Column are trees: of Python objects over
Connect, of JVM objects (org.apache.spark.sql.internal.ColumnNode) in a classic session. The latter exist since Spark
4.0; a classic Column of Spark 3.5 is Opaque.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import Column

from deltaskip.errors import DeltaSkipError
from deltaskip.expr import Node, function_node, parse_sql, to_node
from deltaskip.expr import nodes as n
from deltaskip.expr.type_names import type_named
from deltaskip.schema.calendar import MICROS_PER_DAY, MICROS_PER_SECOND
from deltaskip.schema.json import parse_type
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
    VOID,
    DataType,
    DecimalType,
)

__all__ = ["column_to_node"]

_COMPARISONS = {"==": "=", "=": "=", "!=": "!=", "<>": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>"}
# Functions whose value does not depend on their arguments alone.
_RESTLESS = frozenset(
    (
        *("rand", "random", "randn", "randstr", "uniform", "uuid", "shuffle", "monotonically_increasing_id"),
        *("spark_partition_id", "input_file_name", "input_file_block_start", "input_file_block_length"),
        "current_time",
        *("current_user", "user", "session_user", "current_timezone", "current_database", "current_catalog"),
    )
)


def column_to_node(column: Column) -> Node:
    """The unbound predicate for `column`, with names as they were written.

    Nondeterministic functions, user-defined functions, lambdas, window functions, subqueries and columns that are
    already bound to a DataFrame become Opaque, with the columns that could be determined.
    """
    java = getattr(column, "_jc", None)
    try:
        if java is not None:
            return _classic(java.node())
        return _connect(column._expr)
    except (AttributeError, Py4JError, RecursionError):
        # A tree of a different Spark release, or one that is too deep for Python's stack.
        return n.Opaque("a column of Spark")


def _classic(tree: Any) -> Node:
    match tree.getClass().getSimpleName():
        case "UnresolvedAttribute" if not tree.isMetadataColumn():
            return _attribute(tree)
        case "Literal":
            return _constant(tree)
        case "SqlExpression":
            return _parsed(tree.expression())
        case "Alias":
            return _classic(tree.child())
        case "Cast":
            mode = _option(tree.evalMode())
            name = None if mode is None else mode.getClass().getSimpleName().rstrip("$")
            return _cast(_classic(tree.child()), tree.dataType().json(), name)
        case "UnresolvedExtractValue":
            return _extract(_classic(tree.child()), _classic(tree.extraction()))
        case "CaseWhenOtherwise":
            branches = tuple((_classic(b._1()), _classic(b._2())) for b in _sequence(tree.branches()))
            otherwise = _option(tree.otherwise())
            return n.Case(branches, None if otherwise is None else _classic(otherwise))
        case "UnresolvedFunction":
            args = tuple(map(_classic, _sequence(tree.arguments())))
            return _opaque(tree.functionName(), args) if tree.isDistinct() else _function(tree.functionName(), args)
        case other:
            return _opaque(other, tuple(map(_classic, _column_children(tree))))


def _connect(tree: Any) -> Node:
    match type(tree).__name__:
        case "ColumnReference" if not tree._is_metadata_column:
            return _parsed(tree._unparsed_identifier)
        case "LiteralExpression":
            return _literal(tree._value, parse_type(tree._dataType.json()))
        case "SQLExpression":
            return _parsed(tree._expr)
        case "ColumnAlias":
            return _connect(tree._child)
        case "CastExpression":
            target = tree._data_type
            child = _connect(tree._expr)
            if isinstance(target, str):
                return _cast_to(child, lambda: type_named(target), tree._eval_mode)
            return _cast(child, target.json(), tree._eval_mode)
        case "UnresolvedExtractValue":
            return _extract(_connect(tree._child), _connect(tree._extraction))
        case "CaseWhen":
            branches = tuple((_connect(condition), _connect(value)) for condition, value in tree._branches)
            return n.Case(branches, None if tree._else_value is None else _connect(tree._else_value))
        case "UnresolvedFunction" | "CallFunction":
            args = tuple(map(_connect, tree._args))
            return _opaque(tree._name, args) if getattr(tree, "_is_distinct", False) else _function(tree._name, args)
        case other:
            return _opaque(other, tuple(map(_connect, getattr(tree, "children", ()))))


def _function(name: str, args: tuple[Node, ...]) -> Node:
    name = name.lower()
    match name, args:
        case _ if name in _RESTLESS:
            return _opaque(name, args)
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
            return n.And((n.Compare(">=", child, low), n.Compare("<=", child, high)))
        case "like" | "ilike", (child, pattern, n.Literal(str() as escape)) if len(escape) == 1:
            return n.Like(child, pattern, escape, name == "ilike")
        case "collate", (child, n.Literal(str() as collation)):
            return n.Collate(child, collation)
        case _:
            return function_node(name, args)


def _legs(kind: type[n.And] | type[n.Or], node: Node) -> tuple[Node, ...]:
    return node.children if isinstance(node, kind) else (node,)


def _attribute(tree: Any) -> Node:
    if hasattr(tree, "nameParts"):
        try:
            return n.Column(tuple(_sequence(tree.nameParts())))
        except Py4JError:
            # Spark 4.0 has the name as text instead.
            return _parsed(tree.unparsedIdentifier())
    return _parsed(tree.unparsedIdentifier())


def _extract(child: Node, name: Node) -> Node:
    match child, name:
        case n.Column(parts), n.Literal(str() as field, _):
            return n.Column((*parts, field))
        case _:
            return _opaque("an extraction", (child, name))


def _cast(child: Node, type_json: str, mode: str | None) -> Node:
    return _cast_to(child, lambda: parse_type(type_json), mode)


def _cast_to(child: Node, target: Callable[[], DataType], mode: str | None) -> Node:
    if mode is not None and mode.lower() not in ("try", "ansi"):
        return _opaque("a cast", (child,))
    try:
        return n.Cast(child, target(), safe=mode is not None and mode.lower() == "try")
    except DeltaSkipError:
        return _opaque("a cast", (child,))


def _constant(tree: Any) -> Node:
    declared = _option(tree.dataType())
    value = tree.value()
    if declared is not None:
        return _literal(value, parse_type(declared.json()))
    if hasattr(value, "getClass"):
        return _java_constant(value)
    try:
        return to_node(value)
    except (TypeError, DeltaSkipError):
        return _opaque("a literal", ())


def _java_constant(value: Any) -> Node:
    match value.getClass().getName():
        case "java.sql.Date":
            return n.Literal(value.toLocalDate().toEpochDay(), DATE)
        case "java.time.LocalDate":
            return n.Literal(value.toEpochDay(), DATE)
        case "java.sql.Timestamp":
            return n.Literal(_instant_micros(value.toInstant()), TIMESTAMP)
        case "java.time.Instant":
            return n.Literal(_instant_micros(value), TIMESTAMP)
        case "java.time.LocalDateTime":
            micros = value.toLocalDate().toEpochDay() * MICROS_PER_DAY + value.toLocalTime().toNanoOfDay() // 1000
            return n.Literal(micros, TIMESTAMP_NTZ)
        case other:
            return _opaque(other, ())


def _instant_micros(instant: Any) -> int:
    return int(instant.getEpochSecond()) * MICROS_PER_SECOND + int(instant.getNano()) // 1000


_PYTHON_TYPES: dict[DataType, type] = {
    **dict.fromkeys((BYTE, SHORT, INTEGER, LONG, DATE, TIMESTAMP, TIMESTAMP_NTZ), int),
    **dict.fromkeys((FLOAT, DOUBLE), float),
    STRING: str,
    BOOLEAN: bool,
}


def _literal(value: Any, data_type: DataType) -> Node:
    """A literal with a declared type; Opaque if its value does not fit this package's representation of the type."""
    if value is None:
        return n.Literal(None, data_type)
    if hasattr(value, "getClass"):
        return _java_constant(value)
    if isinstance(data_type, DecimalType) or data_type == VOID:
        try:
            return to_node(value)
        except (TypeError, DeltaSkipError):
            return _opaque("a literal", ())
    if data_type == BINARY and isinstance(value, bytes | bytearray):
        return n.Literal(bytes(value), BINARY)
    if type(value) is _PYTHON_TYPES.get(data_type):
        return n.Literal(value, data_type)
    return _opaque("a literal", ())


def _parsed(text: str) -> Node:
    try:
        return parse_sql(text)
    except DeltaSkipError:
        # Spark may accept SQL that this package does not parse.
        return n.Opaque(text)


def _opaque(what: str, args: tuple[Node, ...]) -> Node:
    columns = dict.fromkeys(parts for arg in args for parts in n.columns_of(arg))
    return n.Opaque(what, tuple(columns))


def _sequence(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(i) for i in range(sequence.size()))


def _option(option: Any) -> Any:
    return option.get() if option.isDefined() else None


def _column_children(tree: Any) -> Iterator[Any]:
    return (child for child in _sequence(tree.children()) if hasattr(child, "sql"))
