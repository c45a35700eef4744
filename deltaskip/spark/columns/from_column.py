"""Conversion of a pyspark Column to predicate nodes, for pruning.

Expressions without a node become Opaque, which keeps every file. A Connect Column is a tree of Python objects. A
classic Column is a tree of JVM objects: of org.apache.spark.sql.internal.ColumnNode in Spark 4.0 and newer, of
Catalyst's expressions in Spark 3.5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyspark
from pyspark.sql import Column

from deltaskip.errors import DeltaSkipError
from deltaskip.recursion import deep
from deltaskip.spark.columns.column_parts import (
    cast,
    cast_node,
    declared_literal,
    extract,
    function,
    java_constant,
    opaque,
    option,
    sequence,
    sql_node,
    texts_read_by,
)
from deltaskip.spark.columns.from_expression import expression_to_node
from deltaskip.sparkexpr import SortTerm, parse_sql, to_node, type_named
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.types import parse_type

try:
    from py4j.protocol import Py4JError
except ImportError:  # the thin client of Spark Connect has no JVM
    Py4JError = AttributeError

_CATALYST = pyspark.__version__.startswith("3.")


def column_to_node(column: Column, read: Callable[[str], Node] = parse_sql) -> Node:
    """The unbound predicate for `column`, with names as they were written.

    Nondeterministic functions, user-defined functions, lambdas, window functions, subqueries and columns that are
    already bound to a DataFrame become Opaque, with the columns that could be determined.

    Args:
        column: The Column.
        read: Returns the node of the SQL text in it, as of F.expr.
    """
    with texts_read_by(read):
        return _converted(column)


def column_to_term(column: Column, read: Callable[[str], Node] = parse_sql) -> SortTerm:
    """The term of an order, of a Column such as `F.desc("ts")`. A Column without an order ascends, NULLs first.

    column and read: See `column_to_node`.
    """
    with texts_read_by(read):
        try:
            found = _term(column)
        except (AttributeError, Py4JError, RecursionError):
            found = None
    return SortTerm(column_to_node(column, read), False, True) if found is None else found


def _term(column: Column) -> SortTerm | None:
    """The term of a Column with an order; None for another Column."""
    java = getattr(column, "_jc", None)
    if java is None:
        tree = column._expr
        if type(tree).__name__ != "SortOrder":
            return None
        return SortTerm(_connect(tree._child), not tree._ascending, tree._nullsFirst)
    tree = java.expr() if _CATALYST else java.node()
    if tree.getClass().getSimpleName() != "SortOrder":
        return None
    direction = tree.direction() if _CATALYST else tree.sortDirection()
    child = expression_to_node(tree.child()) if _CATALYST else _classic(tree.child())
    descending, first = (
        word in each.getClass().getName()
        for word, each in (("Descending", direction), ("NullsFirst", tree.nullOrdering()))
    )
    return SortTerm(child, descending, first)


def _converted(column: Column) -> Node:
    java = getattr(column, "_jc", None)
    try:
        if java is not None:
            return expression_to_node(java.expr()) if _CATALYST else _classic(java.node())
        return _connect(column._expr)
    except (AttributeError, Py4JError, RecursionError):
        # A tree of a different Spark release, or one that is too deep for Python's stack.
        return n.UnprintableExpression("a Spark column")


@deep
def _classic(tree: Any) -> Node:
    match tree.getClass().getSimpleName():
        case "UnresolvedAttribute" if not tree.isMetadataColumn():
            return _attribute(tree)
        case "Literal":
            return _constant(tree)
        case "SqlExpression":
            return sql_node(tree.expression())
        case "Alias":
            return _classic(tree.child())
        case "Cast":
            mode = option(tree.evalMode())
            name = None if mode is None else mode.getClass().getSimpleName().rstrip("$")
            return cast(_classic(tree.child()), tree.dataType().json(), name)
        case "UnresolvedExtractValue":
            return extract(_classic(tree.child()), _classic(tree.extraction()))
        case "CaseWhenOtherwise":
            branches = tuple((_classic(b._1()), _classic(b._2())) for b in sequence(tree.branches()))
            otherwise = option(tree.otherwise())
            return n.Case(branches, None if otherwise is None else _classic(otherwise))
        case "UnresolvedFunction":
            args = tuple(map(_classic, sequence(tree.arguments())))
            return opaque(tree.functionName(), args) if tree.isDistinct() else function(tree.functionName(), args)
        case "ExpressionColumnNode":
            return opaque("a column of a DataFrame (write F.col('id') for df['id'])", ())
        case other:
            children = (child for child in sequence(tree.children()) if hasattr(child, "sql"))
            return opaque(other, tuple(map(_classic, children)))


@deep
def _connect(tree: Any) -> Node:
    match type(tree).__name__:
        case "ColumnReference" if not getattr(tree, "_is_metadata_column", False):
            return sql_node(tree._unparsed_identifier)
        case "LiteralExpression":
            return declared_literal(tree._value, parse_type(tree._dataType.json()))
        case "SQLExpression":
            return sql_node(tree._expr)
        case "ColumnAlias":
            # Spark 3.5 names the child `_parent`.
            return _connect(tree._child if hasattr(tree, "_child") else tree._parent)
        case "CastExpression":
            target = tree._data_type
            child = _connect(tree._expr)
            mode = getattr(tree, "_eval_mode", None)
            if isinstance(target, str):
                return cast_node(child, lambda: type_named(target), mode)
            return cast(child, target.json(), mode)
        case "UnresolvedExtractValue":
            return extract(_connect(tree._child), _connect(tree._extraction))
        case "CaseWhen":
            branches = tuple((_connect(condition), _connect(value)) for condition, value in tree._branches)
            return n.Case(branches, None if tree._else_value is None else _connect(tree._else_value))
        case "UnresolvedFunction" | "CallFunction":
            args = tuple(map(_connect, tree._args))
            return opaque(tree._name, args) if getattr(tree, "_is_distinct", False) else function(tree._name, args)
        case other:
            return opaque(other, tuple(map(_connect, getattr(tree, "children", ()))))


def _attribute(tree: Any) -> Node:
    if hasattr(tree, "nameParts"):
        try:
            return n.Column(tuple(sequence(tree.nameParts())))
        except Py4JError:
            # Spark 4.0 stores the name as text.
            return sql_node(tree.unparsedIdentifier())
    return sql_node(tree.unparsedIdentifier())


def _constant(tree: Any) -> Node:
    declared = option(tree.dataType())
    value = tree.value()
    if declared is not None:
        return declared_literal(value, parse_type(declared.json()))
    if hasattr(value, "getClass"):
        return java_constant(value)
    try:
        return to_node(value)
    except (TypeError, DeltaSkipError):
        return opaque("a literal", ())
