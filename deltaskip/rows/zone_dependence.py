"""Whether what a write stores depends on the time zone of the session, which some writers are not told."""

from __future__ import annotations

from deltaskip.errors import PredicateError
from deltaskip.expr import Node, bind_expression, parse_sql
from deltaskip.expr import nodes as n
from deltaskip.expr.coerce import type_of
from deltaskip.rows.merge import all_nullable
from deltaskip.rows.plan import PlannedColumn, RowPlan
from deltaskip.schema.types import TIMESTAMP, DataType, StructType, nested_types

__all__ = ["zone_dependent"]

# Functions of numbers, strings and dates whose value is the same in every time zone.
_ZONELESS = frozenset(
    (
        *("+", "-", "*", "/", "%", "negative", "abs", "pmod", "mod", "floor", "ceil", "ceiling", "round", "hash"),
        *("xxhash64", "upper", "lower", "length", "char_length", "substring", "substr", "trim", "ltrim", "rtrim"),
        *("concat", "startswith", "endswith", "contains", "coalesce", "nullif", "if", "isnan", "year", "month", "day"),
        *("quarter", "dayofmonth", "date_add", "date_sub", "datediff", "trunc"),
    )
)
_NOW = ("current_timestamp", "now")


def zone_dependent(plan: RowPlan) -> str | None:
    """Return what of a plan may depend on the session's time zone, for messages; None if nothing does."""
    schema = plan.written_schema
    nulls = frozenset(column.field.name for column in plan.columns if column.origin == "null")
    for column in plan.columns:
        if column.source is not None and _is_converted(column.source.type, column.field.type):
            return f"the conversion of the column {column.field.name}"
        if column.expression is not None and not _is_now(column) and _reads_zone(column.expression, schema, nulls):
            return f"the expression {column.expression} of the column {column.field.name}"
    for rule in plan.rules:
        if rule.kind not in ("not null", "length") and _reads_zone(rule.sql, schema, nulls):
            return f"the rule {rule.name} ({rule.expression})"
    return None


def _is_converted(given: DataType, stored: DataType) -> bool:
    """Whether values are converted between instants and something else."""
    return all_nullable(given) != all_nullable(stored) and TIMESTAMP in (*nested_types(given), *nested_types(stored))


def _is_now(column: PlannedColumn) -> bool:
    """Whether the column gets the time of the write, which is an instant."""
    try:
        node = parse_sql(column.expression or "")
    except PredicateError:
        return False
    return column.field.type == TIMESTAMP and isinstance(node, n.Call) and node.name in _NOW


def _reads_zone(text: str, schema: StructType, nulls: frozenset[str]) -> bool:
    """nulls: names of the columns that are NULL in every row."""
    try:
        bound = bind_expression(parse_sql(text), schema)
    except PredicateError:
        # What cannot be bound is not evaluated either.
        return False
    return any(_may_read_zone(node, nulls) for node in n.walk(bound))


def _may_read_zone(node: Node, nulls: frozenset[str]) -> bool:
    match node:
        case n.Call(name):
            return name not in _ZONELESS or type_of(node) == TIMESTAMP
        case n.Opaque():
            return True
        case n.FieldRef(logical) if logical[0] in nulls:
            return False
        case _:
            return type_of(node) == TIMESTAMP
