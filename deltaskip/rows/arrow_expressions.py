"""Bound expressions over Arrow columns: by whole columns where pyarrow compares as Spark does, else row by row."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.expr import Node, evaluate
from deltaskip.expr.by_column import values_by_column
from deltaskip.expr.by_column_functions import in_layout
from deltaskip.expr.coerce import INTEGRAL_BITS, type_of
from deltaskip.expr.collation import comparison_collation
from deltaskip.expr.evaluate import Order
from deltaskip.expr.literal_list import LiteralList, nodes_in
from deltaskip.expr.nodes import (
    And,
    Call,
    Cast,
    Column,
    Compare,
    FieldRef,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    transform,
    walk,
)
from deltaskip.schema.arrow import arrow_type
from deltaskip.schema.arrow_values import arrow_scalar, domain_values, one_chunk, typed_array
from deltaskip.schema.calendar import MICROS_PER_DAY, local_of, zone_of
from deltaskip.schema.types import DATE, DOUBLE, FLOAT, TIMESTAMP, TIMESTAMP_NTZ, ArrayType, StructType

__all__ = ["at_time", "column_at", "expression_values", "row_values", "whole_columns"]

_CLOCK_FUNCTIONS = frozenset(("current_timestamp", "now", "current_date", "curdate", "localtimestamp"))

_COMPARISONS = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def at_time(node: Node, now_micros: int, time_zone: str, columns: Collection[str]) -> Node:
    """Return an unbound expression with a time in place of the functions that return the time of a statement.

    Args:
        node: The expression.
        now_micros: The time, in microseconds since the epoch.
        time_zone: The time zone of local dates and times.
        columns: Names of columns, which go before functions without parentheses.
    """
    match node:
        case Call(name, ()) | Column((name,)) if name.lower() in _CLOCK_FUNCTIONS:
            if isinstance(node, Column) and name.lower() in map(str.lower, columns):
                return node
            local = local_of(now_micros, zone_of(time_zone))
            if name.lower() in ("current_date", "curdate"):
                return Literal(local // MICROS_PER_DAY, DATE)
            if name.lower() == "localtimestamp":
                return Literal(local, TIMESTAMP_NTZ)
            return Literal(now_micros, TIMESTAMP)
        case _:
            return transform(node, lambda each: at_time(each, now_micros, time_zone, columns))


def column_at(columns: Mapping[str, pa.Array], path: tuple[str, ...]) -> pa.Array:
    """Return the values of a column or nested field, null where a struct around it is."""
    found = columns[path[0]]
    for name in path[1:]:
        if found.type.get_field_index(name) < 0:
            # A field of type void, which is not stored.
            return pa.nulls(len(found))
        found = one_chunk(pc.struct_field(found, name))
    return found


def whole_columns(node: Node, columns: Mapping[str, pa.Array], n_rows: int) -> pa.Array | pa.Scalar | None:
    """Return the value of an expression for every row, or one scalar for all; None if it must be made row by row.

    It supports comparisons, IN, IS NULL and logic: expressions that never raise.
    """
    match node:
        case Literal(value, data_type):
            # NaN equals itself in Spark and is greater than other numbers.
            if isinstance(value, float) and math.isnan(value):
                return None
            return None if isinstance(data_type, StructType) else typed_array([value], arrow_type(data_type))[0]
        case FieldRef(logical, _, data_type):
            values = column_at(columns, logical)
            if data_type in (FLOAT, DOUBLE) and pc.any(pc.is_nan(values)).as_py():
                return None
            return values
        case Cast(child, data_type) if type_of(child) in INTEGRAL_BITS and data_type in INTEGRAL_BITS:
            narrow = INTEGRAL_BITS[type_of(child) or data_type]
            values = whole_columns(child, columns, n_rows) if narrow <= INTEGRAL_BITS[data_type] else None
            return None if values is None else values.cast(arrow_type(data_type))
        case IsNull(child):
            values = whole_columns(child, columns, n_rows)
            return None if values is None else pc.is_null(values)
        case Not(child):
            values = whole_columns(child, columns, n_rows)
            return None if values is None else pc.invert(values)
        case And(children) | Or(children):
            join = pc.and_kleene if isinstance(node, And) else pc.or_kleene
            found: Any = None
            for each in children:
                values = whole_columns(each, columns, n_rows)
                if values is None:
                    return None
                found = values if found is None else join(found, values)
            return found
        case Compare(op, left, right) if op in _COMPARISONS and comparison_collation(left, right) is None:
            return _compared(op, whole_columns(left, columns, n_rows), whole_columns(right, columns, n_rows))
        case In(child, values) if comparison_collation(child, *nodes_in(values)) is None:
            return _member(child, values, columns, n_rows)
        case _:
            return None


def expression_values(node: Node, columns: Mapping[str, pa.Array], n_rows: int, time_zone: str) -> pa.Array | None:
    """Return the value of an expression for every row in the layout of `expr.by_column`.

    None if it must be made row by row.
    """

    def values(column: FieldRef) -> pa.Array:
        found = column_at(columns, column.logical)
        return found if isinstance(column.type, ArrayType | StructType) else in_layout(column.type, found)

    try:
        return values_by_column(node, values, n_rows, time_zone)
    except pa.ArrowException:
        return None


def row_values(
    node: Node, columns: Mapping[str, pa.Array], n_rows: int, time_zone: str, order: Order | None
) -> list[object]:
    """Return the value of an expression for every row, evaluated once for each combination of its columns' values.

    Raises EvaluationError where Spark raises, and Undecided where its result is not known.
    """
    # The columns of an Opaque node are never read: its value is not known.
    paths = list(dict.fromkeys(part.logical for part in walk(node) if isinstance(part, FieldRef)))
    if not paths:
        return [evaluate(node, {}, time_zone, order)] * n_rows if n_rows else []
    lists = [domain_values(column_at(columns, path)) for path in paths]
    known: dict[tuple[object, ...], object] = {}
    found: list[object] = []
    for values in zip(*lists, strict=True):
        # Equal values of two types, such as 0.0 and -0.0, are not the same.
        key = tuple([repr(value) if isinstance(value, float | list | dict) else value for value in values])
        if key not in known:
            known[key] = evaluate(node, dict(zip(paths, values, strict=True)), time_zone, order)
        found.append(known[key])
    return found


def _compared(op: str, left: Any, right: Any) -> Any:
    if left is None or right is None or left.type != right.type:
        return None
    return _COMPARISONS[op](left, right)


def _member(child: Node, values: Sequence[Node], columns: Mapping[str, pa.Array], n_rows: int) -> Any:
    found: Any = None
    column = whole_columns(child, columns, n_rows)
    if isinstance(values, LiteralList):
        if column is None or not (pa.types.is_integer(column.type) or column.type == values.array.type):
            return None
        held = pc.is_in(column, value_set=values.array.cast(column.type))
        return pc.if_else(pc.is_valid(column), held, arrow_scalar(None, pa.bool_()))
    for value in values:
        equal = _compared("=", column, whole_columns(value, columns, n_rows))
        if equal is None:
            return None
        found = equal if found is None else pc.or_kleene(found, equal)
    return found
