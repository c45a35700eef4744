"""Dependence of reads and writes on the time zone of the session, which Spark does not pass to a data source."""

from __future__ import annotations

from deltaskip.errors import PredicateError
from deltaskip.rows.plan import PlannedColumn, RowPlan
from deltaskip.rows.schema_merge import all_nullable
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.functions import FUNCTIONS
from deltaskip.sparkexpr.nodes import Node

# Functions of the present instant, which is the same in every time zone.
_NOW = ("current_timestamp", "now")
# Functions of other values than instants that read the zone.
_ZONED = frozenset(("unix_timestamp", "to_unix_timestamp", "from_unixtime"))
# A value that is the same in the first and the last time zone, and in UTC, is the same in every zone.
_ZONES = ("UTC", "-18:00", "+18:00")


def zone_dependent(plan: RowPlan) -> str | None:
    """Return the part of a plan that may depend on the session's time zone, for messages; None if none does."""
    converted = converted_in_zone(plan)
    if converted is not None:
        return f"the conversion of the column {converted}"
    schema = plan.written_schema
    nulls = frozenset(column.field.name for column in plan.columns if column.origin == "null")
    for column in plan.columns:
        if column.expression is not None and not _is_now(column) and _reads_zone(column.expression, schema, nulls):
            return f"the expression {column.expression} of the column {column.field.name}"
    for rule in plan.rules:
        if rule.kind not in ("not null", "length") and _reads_zone(rule.sql, schema, nulls):
            return f"the rule {rule.name} ({rule.expression})"
    return None


def converted_in_zone(plan: RowPlan) -> str | None:
    """Return the first column whose values are converted between local times or dates and instants; None for none."""
    for column in plan.columns:
        if column.source is not None and _is_converted(column.source.type, column.field.type):
            return column.field.name
    return None


def predicate_depends_on_zone(where: str | Node, schema: t.StructType) -> bool:
    """Return whether a predicate may match other rows in another time zone of the session.

    Raises PredicateError for a predicate that does not fit the schema.
    """
    node = parse_sql(where) if isinstance(where, str) else where
    first, *others = (bind_expression(node, schema, time_zone=zone) for zone in _ZONES)
    return any(each != first for each in others) or any(map(_evaluates_in_zone, n.walk(first)))


def _evaluates_in_zone(node: Node) -> bool:
    """Whether a bound node converts instants to something else or back, for the values of a row."""
    match node:
        case n.Cast(child, data_type):
            given = type_of(child)
            return (holds_instants(given) or holds_instants(data_type)) and given not in (data_type, t.VOID)
        case n.Call("convert_timezone", (_, _)):
            # From the zone of the session.
            return True
        case n.Call(name, args):
            instants = any(map(holds_instants, (type_of(node), *map(type_of, args))))
            return name in _ZONED or (instants and not is_zoneless(name))
        case _:
            return False


def is_zoneless(name: str) -> bool:
    """Return whether a function is known to have the same value in every time zone of the session."""
    return name in FUNCTIONS and not FUNCTIONS[name].zoned


def _is_converted(given: t.DataType, stored: t.DataType) -> bool:
    """Whether values are converted between instants and something else."""
    return all_nullable(given) != all_nullable(stored) and t.TIMESTAMP in (
        *t.nested_types(given),
        *t.nested_types(stored),
    )


def _is_now(column: PlannedColumn) -> bool:
    """Whether the column stores the time of the write, which is an instant."""
    try:
        node = parse_sql(column.expression or "")
    except PredicateError:
        return False
    return column.field.type == t.TIMESTAMP and isinstance(node, n.Call) and node.name in _NOW


def _reads_zone(text: str, schema: t.StructType, nulls: frozenset[str]) -> bool:
    """nulls: names of the columns that are NULL in every row."""
    try:
        bound = bind_expression(parse_sql(text), schema)
    except PredicateError:
        # An expression that cannot be bound is not evaluated either.
        return False
    return any(_may_read_zone(node, nulls) for node in n.walk(bound))


def _may_read_zone(node: Node, nulls: frozenset[str]) -> bool:
    match node:
        case n.Call(name):
            return not is_zoneless(name) or holds_instants(type_of(node))
        case n.Opaque():
            return True
        case n.FieldRef(logical) if logical[0] in nulls:
            return False
        case _:
            return holds_instants(type_of(node))


def holds_instants(type_: t.DataType | None) -> bool:
    """Return whether there may be instants in values of a type."""
    return type_ is not None and any(inner in (t.TIMESTAMP, t.VARIANT) for inner in t.nested_types(type_))
