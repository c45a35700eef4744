"""The assignments of each clause of a MERGE, and the table's schema after it.

# delta-spark, ResolveDeltaMergeInto: names resolve against the table, `*` takes columns by name
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deltaskip.dml.assignments import is_default
from deltaskip.dml.merge.clauses import ClauseAction, ClauseKind, MergeClause
from deltaskip.errors import OptionAdvice, PredicateError, SchemaError
from deltaskip.features.identity_columns import identity_of
from deltaskip.records import dataclass
from deltaskip.rows.store import MERGE_SCHEMA
from deltaskip.schema.relations import qualifier_length
from deltaskip.sparkexpr import parse_sql, shaped
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.nodes import Column, Node


@dataclass(frozen=True, slots=True)
class AssignedExpression:
    """The value of an expression as the caller wrote it."""

    value: Any


@dataclass(frozen=True, slots=True)
class FromSource:
    """The value of a column or nested field of the source."""

    path: tuple[str, ...]
    type: t.DataType


@dataclass(frozen=True, slots=True)
class _Default:
    """The default of the column."""


DEFAULT = _Default()

_EXCEPT = OptionAdvice("except_", text="name the columns to set, leave it out with except_,")


@dataclass(frozen=True, slots=True)
class AssignedFields:
    """Values of some fields of a struct; its other fields stay as they are. NULL becomes a struct with these fields.

    Attributes:
        fields: The values by name.
        struct: The struct of the source that has these fields. Where it is NULL and so are all other fields, the whole
            struct becomes NULL. None if fields are set one by one.
    """

    fields: Mapping[str, Assigned]
    struct: FromSource | None = None


Assigned = AssignedExpression | FromSource | _Default | AssignedFields


@dataclass(frozen=True, slots=True)
class PlannedClause:
    """A clause whose names are resolved.

    Attributes:
        kind: The rows that the clause applies to.
        action: The action on these rows.
        where: Its condition; None for every row.
        columns: The assignments, by the name of a top-level column of the table.
    """

    kind: ClauseKind
    action: ClauseAction
    where: Any
    columns: Mapping[str, Assigned]


def evolved_columns(
    clauses: Sequence[MergeClause], schema: t.StructType, source: t.StructType, target_alias: str | None, table: str
) -> t.StructType:
    """Return the columns of the source that schema evolution merges into the table.

    These are all columns that a clause takes by `*`, and columns and fields that a clause sets and the table lacks.

    Raises SchemaError for a name that cannot be read.
    """
    chosen: dict[str, t.StructField] = {}
    for clause in clauses:
        left_out = frozenset(map(t.fold_name, clause.except_))
        for field in source.fields if clause.takes_all else ():
            if t.fold_name(field.name) not in left_out:
                chosen[t.fold_name(field.name)] = field
        for key in clause.values or ():
            new = _new_field(_parts(key, table), schema, source, target_alias, table)
            if new is not None:
                known = chosen.get(t.fold_name(new.name), new)
                chosen[t.fold_name(new.name)] = replace(known, type=_both_parts(known.type, new.type))
    return t.StructType(tuple(chosen.values()))


def planned_clauses(
    clauses: Sequence[MergeClause],
    schema: t.StructType,
    source: t.StructType,
    *,
    evolves: bool,
    target_alias: str | None,
    table: str,
    hidden: Collection[str] = (),
) -> tuple[PlannedClause, ...]:
    """Resolve the names in clauses.

    Args:
        clauses: The clauses.
        schema: The schema of the table after the merge.
        source: The schema of the source.
        evolves: Whether `*` takes only the columns that the source has, as with schema evolution; otherwise the source
            must have all columns of the table.
        target_alias: The name of the table in expressions, which names of columns may begin with.
        table: The table's location, for messages.
        hidden: Hidden columns, which `*` does not need: they are computed.

    Raises:
        SchemaError: A column does not exist, is set twice, or cannot be set.
    """
    return tuple(_planned(clause, schema, source, evolves, target_alias, table, hidden) for clause in clauses)


def _planned(
    clause: MergeClause,
    schema: t.StructType,
    source: t.StructType,
    evolves: bool,
    alias: str | None,
    table: str,
    hidden: Collection[str],
) -> PlannedClause:
    columns: dict[str, Assigned] = {}
    if clause.takes_all:
        columns = dict(_all_columns(clause, schema, source, evolves, table, hidden))
    else:
        for key, value in (clause.values or {}).items():
            path = _target(key, schema, alias, table)
            if clause.action == "insert" and len(path) > 1:
                raise SchemaError(
                    f"A row to insert into {table} has a value for the whole column {path[0]}, not for its field "
                    f"{t.display_name(path)}."
                )
            if isinstance(value, Node):
                value = shaped(value, t.resolve(schema, path).type)
            _set(columns, path, DEFAULT if is_default(value) else AssignedExpression(value), path, table)
    if clause.action != "delete":
        _check_settable(clause.action, columns, schema, table)
    return PlannedClause(clause.kind, clause.action, clause.where, columns)


def _all_columns(
    clause: MergeClause, schema: t.StructType, source: t.StructType, evolves: bool, table: str, hidden: Collection[str]
) -> Sequence[tuple[str, Assigned]]:
    """The assignments of `*`: each column of the table from the source column of the same name."""
    left_out = frozenset(map(t.fold_name, clause.except_))
    unknown = left_out - frozenset(map(t.fold_name, schema.names)) - frozenset(map(t.fold_name, source.names))
    if unknown:
        name = next(name for name in clause.except_ if t.fold_name(name) in unknown)
        raise SchemaError(f"except_ names the column {name}, which neither {table} nor the source has.")
    given: dict[str, list[t.StructField]] = {}
    for field in source.fields:
        given.setdefault(t.fold_name(field.name), []).append(field)
    found: list[tuple[str, Assigned]] = []
    for field in schema.fields:
        key = t.fold_name(field.name)
        if key in left_out or field.type == t.VOID:
            continue
        match given.get(key, []):
            case [one]:
                value = FromSource((one.name,), one.type)
                update = clause.action == "update" and evolves
                found.append((field.name, _by_field(field.type, value) if update else value))
            case []:
                if not evolves and field.name not in hidden:
                    raise SchemaError(
                        f"The source has no column {field.name}, which {table} has: {_EXCEPT} or keep its values "
                        f"{MERGE_SCHEMA}."
                    ).advising(_EXCEPT, MERGE_SCHEMA)
            case _:
                raise SchemaError(f"The source has more than one column {field.name}: give the columns other names.")
    return found


def _by_field(target: t.DataType, value: FromSource) -> Assigned:
    """The fields of a struct one by one if the source lacks some, which then stay as they are."""
    if not (isinstance(target, t.StructType) and isinstance(value.type, t.StructType)):
        return value
    given = {t.fold_name(field.name): field for field in value.type.fields}
    inside = {
        field.name: _by_field(field.type, FromSource((*value.path, source.name), source.type))
        for field in target.fields
        if (source := given.get(t.fold_name(field.name))) is not None
    }
    whole = len(inside) == len(target.fields) and all(isinstance(each, FromSource) for each in inside.values())
    return value if whole else AssignedFields(inside, value)


def _set(
    columns: dict[str, Assigned], path: tuple[str, ...], value: Assigned, whole: tuple[str, ...], table: str
) -> None:
    """Add an assignment. Raises SchemaError if the field, one around it or one inside of it is set already."""
    name, inner = path[0], path[1:]
    there = columns.get(name)
    if there is not None and not (inner and isinstance(there, AssignedFields)):
        raise SchemaError(f"The column {t.display_name(whole)} of {table} is set twice in one clause.")
    if not inner:
        columns[name] = value
        return
    fields = dict(there.fields) if isinstance(there, AssignedFields) else {}
    _set(fields, inner, value, whole, table)
    columns[name] = AssignedFields(fields)


def _check_settable(action: ClauseAction, columns: Mapping[str, Assigned], schema: t.StructType, table: str) -> None:
    for field in schema.fields:
        if field.name not in columns or columns[field.name] is DEFAULT:
            continue
        identity = identity_of(field)
        if identity is None:
            continue
        if action == "update":
            raise SchemaError(f"The identity column {field.name} of {table} cannot be updated: leave it out.")
        if not identity.explicit:
            raise SchemaError(
                f"The column {field.name} of {table} is GENERATED ALWAYS AS IDENTITY, so rows must not have values for "
                f"it: leave it out."
            )


def _target(key: str, schema: t.StructType, alias: str | None, table: str) -> tuple[str, ...]:
    """The path of the column or field that a name means."""
    parts = _parts(key, table)
    try:
        return t.resolve(schema, _unqualified(parts, schema, alias)).logical
    except PredicateError as error:
        raise SchemaError(f"{t.display_name(parts)} of {table} cannot be set: {error}") from error


def _unqualified(parts: tuple[str, ...], schema: t.StructType, alias: str | None) -> tuple[str, ...]:
    """A name without the name of the table before it."""
    return parts[qualifier_length(parts, schema, () if alias is None else ((alias,),)) :]


def _new_field(
    parts: tuple[str, ...], schema: t.StructType, source: t.StructType, alias: str | None, table: str
) -> t.StructField | None:
    """The column of the source with only the fields that a clause sets and the table lacks; None if it has them."""
    reading = _unqualified(parts, t.StructType((*schema.fields, *source.fields)), alias)
    known: t.DataType | None
    try:
        known = t.resolve(schema, reading).type
    except t.InsideCollection:
        return None
    except PredicateError:
        known = None
    try:
        field = t.resolve(source, reading).field
    except PredicateError:
        return None
    if known is not None:
        lacking = _new_parts(known, field.type)
        if lacking is None:
            return None
        field = replace(field, type=lacking)
    for above in reversed(range(len(reading) - 1)):
        around = t.resolve(source, reading[: above + 1]).field
        field = replace(around, type=t.StructType((field,)))
    return field


def _new_parts(known: t.DataType, given: t.DataType) -> t.DataType | None:
    """The type with only the fields, at every depth, that a known type lacks; None if it has them all."""
    match known, given:
        case t.StructType(fields), t.StructType(theirs):
            types = {t.fold_name(field.name): field.type for field in fields}
            found = []
            for field in theirs:
                type_ = types.get(t.fold_name(field.name))
                lacking = field.type if type_ is None else _new_parts(type_, field.type)
                if lacking is not None:
                    found.append(replace(field, type=lacking))
            return t.StructType(tuple(found)) if found else None
        case t.ArrayType(element), t.ArrayType(other):
            inner = _new_parts(element, other)
            return None if inner is None else replace(given, element=inner)
        case t.MapType(_, value), t.MapType(_, other):
            inner = _new_parts(value, other)
            return None if inner is None else replace(given, value=inner)
        case _:
            return None


def _both_parts(one: t.DataType, other: t.DataType) -> t.DataType:
    """The type with the fields of both, which are parts of one source type."""
    match one, other:
        case t.StructType(fields), t.StructType(theirs):
            found = {field.name: field for field in fields}
            for field in theirs:
                known = found.get(field.name, field)
                found[field.name] = replace(known, type=_both_parts(known.type, field.type))
            return t.StructType(tuple(found.values()))
        case t.ArrayType(element), t.ArrayType(its):
            return replace(one, element=_both_parts(element, its))
        case t.MapType(_, value), t.MapType(_, its):
            return replace(one, value=_both_parts(value, its))
        case _:
            return one


def _parts(key: str, table: str) -> tuple[str, ...]:
    """The parts of a name in SQL syntax."""
    try:
        named = parse_sql(key)
    except PredicateError as error:
        raise SchemaError(f"{key!r} is not the name of a column of {table}: {error}") from error
    if not isinstance(named, Column):
        raise SchemaError(f"{key!r} is not the name of a column of {table}.")
    return named.parts
