"""CHECK constraints that are added and dropped, and the mark of an identity column.

# PROTOCOL, CHECK Constraints, Identity Columns
"""

from __future__ import annotations

from dataclasses import replace

from deltaskip.alter.changes import AddConstraint, DropConstraint, SyncIdentity
from deltaskip.alter.columns import column_json
from deltaskip.alter.existing_rows import extreme_value
from deltaskip.alter.paths import place_of
from deltaskip.alter.state import TableState, done, with_property
from deltaskip.errors import InvalidArgument, PredicateError, SchemaError
from deltaskip.expr import bind_expression, columns_in, is_valid_sql, parse_sql
from deltaskip.expr.coerce import type_of
from deltaskip.rows.identity import identity_of, with_mark
from deltaskip.schema import simple_string
from deltaskip.schema.column_names import column_path
from deltaskip.schema.properties import CONSTRAINT_PREFIX
from deltaskip.schema.resolve import display_name, resolve
from deltaskip.schema.types import BOOLEAN, VOID

__all__ = ["add_constraint", "drop_constraint", "sync_identity"]


def add_constraint(state: TableState, change: AddConstraint) -> TableState:
    """Return the state with a constraint, against which existing rows are to be checked."""
    name, text = change.name.lower(), change.expression.strip()
    if _named(state, name) is not None:
        raise InvalidArgument(f"{state.table} has a constraint {change.name} already: drop it first.")
    _check_expression(state, change.name, text)
    state = with_property(state, CONSTRAINT_PREFIX + name, text)
    state = replace(state, new_constraints=(*state.new_constraints, name))
    return done(state, "ADD CONSTRAINT", {"name": change.name, "expr": text})


def drop_constraint(state: TableState, change: DropConstraint) -> TableState:
    """Return the state without a constraint."""
    known = _named(state, change.name.lower())
    if known is None:
        if change.if_exists:
            return state
        names = ", ".join(sorted(state.properties.constraints)) or "none"
        raise InvalidArgument(
            f"{state.table} has no constraint {change.name}, so it cannot be dropped: use if_exists=True if that is no "
            f"error. It has {names}."
        )
    text = state.properties.constraints[known]
    state = with_property(state, CONSTRAINT_PREFIX + known, None)
    state = replace(state, new_constraints=tuple(name for name in state.new_constraints if name != known))
    return done(state, "DROP CONSTRAINT", {"name": change.name, "expr": text, "existed": "true"})


def sync_identity(state: TableState, change: SyncIdentity) -> TableState:
    """Return the state with the mark of an identity column past the column's values."""
    place = place_of(state.schema, column_path("column", change.column), state.table)
    identity = identity_of(place.field) if len(place.path) == 1 else None
    if identity is None:
        raise SchemaError(f"{place.name} of {state.table} is not an identity column.")
    extreme = extreme_value(state, place.field, "max" if identity.step > 0 else "min")
    moved = identity.synchronized(extreme)
    if moved == identity:
        return state
    state = replace(state, schema=with_mark(state.schema, moved))
    return done(state, "CHANGE COLUMN", {"column": column_json(place)})


def _named(state: TableState, name: str) -> str | None:
    """The name of a constraint as the properties have it. Letter case does not count."""
    return next((known for known in state.properties.constraints if known.lower() == name), None)


def _check_expression(state: TableState, name: str, text: str) -> None:
    def refused(why: str) -> SchemaError:
        return SchemaError(f"The constraint {name} ({text}) cannot be added to {state.table}: {why}.")

    if not is_valid_sql(text):
        raise refused("it is not an SQL condition")
    for parts in columns_in(text):
        try:
            resolve(state.schema, parts[:1])
        except PredicateError as error:
            raise refused(f"it uses {display_name(parts)}. {error}".rstrip(".")) from error
    try:
        found = type_of(bind_expression(parse_sql(text), state.schema))
    except PredicateError:
        # Spark may know what deltaskip does not.
        return
    if found is not None and found not in (BOOLEAN, VOID):
        raise refused(f"it is of type {simple_string(found).upper()}, and must be a condition")
