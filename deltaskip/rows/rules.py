"""The rules that new rows must satisfy, each with its name and its condition as SQL text.

# PROTOCOL, Column Invariants, CHECK Constraints, Generated Columns; Delta's NOT NULL and char/varchar lengths
A condition must be TRUE: NULL violates it. It is evaluated over the rows as they will be stored.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Literal

from deltaskip.actions import PartitionValueError
from deltaskip.errors import RowViolation, SchemaError
from deltaskip.records import dataclass
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.types.ddl import parse_type_text
from deltaskip.sparkexpr.types.lengths import text_length

RuleKind = Literal["not null", "length", "invariant", "check", "generated", "where"]

# One step into a column: the name of a field, or the element, key or value of an array or map.
PathStep = tuple[Literal["field", "element", "key", "value"], str]


@dataclass(frozen=True, slots=True)
class RowRule:
    """A condition that every new row must satisfy.

    Attributes:
        name: Name of a CHECK constraint, or a description such as "NOT NULL of st.x". Unique in a plan.
        kind: The source of the rule.
        expression: The condition as the table declares it, for messages.
        sql: The condition as SQL text over the stored columns; it must be TRUE.
        path: Steps to the column of a NOT NULL or length rule; empty for rules about several columns.
        limit: The greatest length of a length rule, in characters.
    """

    name: str
    kind: RuleKind
    expression: str
    sql: str
    path: tuple[PathStep, ...] = ()
    limit: int | None = None

    @property
    def column(self) -> str:
        """The column that the rule is about, such as `tags.element`; empty for rules about several."""
        return t.display_name([name for _, name in self.path])


def rules_of(schema: t.StructType, properties: TableProperties) -> Iterator[RowRule]:
    """Yield the rules of a table, without generated columns, in the order in which they are checked."""
    for field in schema.fields:
        yield from _of_field(field, (), set())
    for name, text in properties.constraints.items():
        yield RowRule(name, "check", text, f"({text}\n)")


def generation_rule(field: t.StructField) -> RowRule:
    """Return the rule that a given value of a generated column equals its expression."""
    text = str(field.metadata[t.GENERATION_KEY])
    name = quoted_name(field.name)
    return RowRule(
        f"generated column {field.name}",
        "generated",
        f"{t.display_name([field.name])} <=> {text}",
        f"{name} <=> ({text}\n)",
        (("field", field.name),),
    )


def where_rule(predicate: str) -> RowRule:
    """Return the rule that new rows match the predicate of the overwrite that writes them."""
    return RowRule("overwrite where", "where", predicate, f"({predicate}\n)")


def rule_condition(rule: RowRule) -> str:
    """Return the SQL text that is TRUE or FALSE, never NULL, for whether a row satisfies the rule."""
    return f"coalesce({rule.sql}, false)"


def violation(
    rule: RowRule, row: Mapping[str, Any] | None, table: str, without_empty: Collection[str] = ()
) -> RowViolation:
    """Return the error for a row that violates the rule. `without_empty` are columns that store NULL for ''."""
    match rule.kind:
        case "not null" if len(rule.path) == 1 and rule.path[0][1] in without_empty:
            what = (
                f"The column {rule.column} of {table} is NOT NULL, and a row has NULL or the empty string there, which "
                f"counts as NULL in a partition column"
            )
        case "not null":
            what = f"The column {rule.column} of {table} is NOT NULL, and a row has NULL there"
        case "length":
            what = f"The column {rule.column} of {table} is {rule.expression}, and a row has a longer string there"
        case "check":
            what = f"A row violates the CHECK constraint {rule.name} ({rule.expression}) of {table}"
        case "invariant":
            what = f"A row violates the invariant {rule.expression} of {table}"
        case "generated":
            what = f"A row for {table} violates a generated column: {rule.expression} must hold"
        case "where":
            what = f"A row does not match the predicate of the overwrite of {table}: {rule.expression}"
    shown = "" if row is None else f": {_excerpt(row)}"
    return RowViolation(f"{what}{shown}. Nothing was written.", rule.name, rule.expression, row, rule.column)


def value_violation(column: str, type_name: str, value: str | None, table: str) -> RowViolation:
    """Return the error for a value that does not fit the type of its column; None stands for an identity value."""
    if value is None:
        message = f"The identity column {column} of {table} has no values left"
    else:
        shown = value if len(value) <= 200 else value[:199] + "…"
        message = f"The value {shown} does not fit the column {column} of {table}, which is {type_name}"
    return RowViolation(f"{message}. Nothing was written.", f"type of {column}", type_name, None, column, value)


@contextmanager
def partition_values_named(field: t.StructField, table: str) -> Iterator[None]:
    """Within the block, convert PartitionValueError to RowViolation: a value of the column cannot be serialized."""
    try:
        yield
    except PartitionValueError as error:
        kind = t.simple_string(field.type)
        raise RowViolation(
            f"A row for {table} cannot be put into a partition of {t.display_name([field.name])}, which is "
            f"{kind.upper()}: {error}. Nothing was written.",
            f"type of {field.name}",
            kind,
            None,
            field.name,
        ) from error


def _of_field(
    field: t.StructField, above: tuple[PathStep, ...], limited: set[tuple[PathStep, ...]]
) -> Iterator[RowRule]:
    """The rules that a field and the fields inside of it declare. `limited` are paths that have a length rule."""
    if field.type == t.VOID:
        return
    path: tuple[PathStep, ...] = (*above, ("field", field.name))
    if not field.nullable:
        yield _not_null(path)
    if t.INVARIANTS_KEY in field.metadata:
        text = _invariant(field)
        yield RowRule(f"invariant of {_name(path)}", "invariant", text, f"({text}\n)")
    declared = field.metadata.get(t.CHAR_VARCHAR_KEY)
    if declared is not None:
        for inside, limit, text in _lengths(_declared_type(field, declared), path):
            if inside not in limited:
                limited.add(inside)
                sql = _lifted(inside, partial(_short, limit))
                yield RowRule(f"{text} of {_name(inside)}", "length", text, sql, inside, limit)
    yield from _of_type(field.type, path, limited)


def _of_type(
    data_type: t.DataType, path: tuple[PathStep, ...], limited: set[tuple[PathStep, ...]]
) -> Iterator[RowRule]:
    match data_type:
        case t.StructType(fields):
            for field in fields:
                yield from _of_field(field, path, limited)
        case t.ArrayType(element, contains_null):
            inner: tuple[PathStep, ...] = (*path, ("element", "element"))
            if not contains_null:
                yield _not_null(inner)
            yield from _of_type(element, inner, limited)
        case t.MapType(key, value, contains_null):
            inner = (*path, ("value", "value"))
            if not contains_null:
                yield _not_null(inner)
            yield from _of_type(key, (*path, ("key", "key")), limited)
            yield from _of_type(value, inner, limited)


def _not_null(path: tuple[PathStep, ...]) -> RowRule:
    name = _name(path)
    return RowRule(f"NOT NULL of {name}", "not null", f"{name} IS NOT NULL", _not_null_sql(path), path)


def _not_null_sql(path: tuple[PathStep, ...]) -> str:
    """The condition of NOT NULL. NULL around a field violates it, up to the array or map that contains the field."""
    last = max((i for i, (kind, _) in enumerate(path) if kind != "field"), default=-1)
    if last < 0 or last == len(path) - 1:
        return _lifted(path, lambda value: f"{value} IS NOT NULL")
    fields = path[last + 1 :]
    return _lifted(
        path[: last + 1],
        lambda value: f"{value} IS NULL OR {value}.{'.'.join(quoted_name(n) for _, n in fields)} IS NOT NULL",
    )


def _lifted(path: Sequence[PathStep], test: Callable[[str], str]) -> str:
    """The condition that `test` holds for every value at the path of a row."""
    return _lifted_from(quoted_name(path[0][1]), path[1:], test, 0)


def _lifted_from(value: str, path: Sequence[PathStep], test: Callable[[str], str], depth: int) -> str:
    if not path:
        return test(value)
    kind, name = path[0]
    if kind == "field":
        return _lifted_from(f"{value}.{quoted_name(name)}", path[1:], test, depth)
    items = {"element": value, "key": f"map_keys({value})", "value": f"map_values({value})"}[kind]
    inner = _lifted_from(f"x{depth}", path[1:], test, depth + 1)
    return f"({value} IS NULL OR forall({items}, x{depth} -> {inner}))"


def _short(limit: int, value: str) -> str:
    return f"{value} IS NULL OR char_length({value}) <= {limit}"


def _lengths(data_type: t.DataType, path: tuple[PathStep, ...]) -> Iterator[tuple[tuple[PathStep, ...], int, str]]:
    """Path, length and name of each char(n) and varchar(n) in a declared type."""
    match data_type:
        case t.UnknownType() if (length := text_length(data_type)) is not None:
            yield path, length[1], data_type.name
        case t.StructType(fields):
            for field in fields:
                yield from _lengths(field.type, (*path, ("field", field.name)))
        case t.ArrayType(element):
            yield from _lengths(element, (*path, ("element", "element")))
        case t.MapType(key, value):
            yield from _lengths(key, (*path, ("key", "key")))
            yield from _lengths(value, (*path, ("value", "value")))


def _declared_type(field: t.StructField, declared: object) -> t.DataType:
    try:
        return parse_type_text(str(declared))
    except SchemaError as error:
        raise SchemaError(
            f"The metadata {t.CHAR_VARCHAR_KEY} of the column {field.name!r} is not a type, so lengths cannot be "
            f"checked: {error}"
        ) from error


def _invariant(field: t.StructField) -> str:
    raw = field.metadata[t.INVARIANTS_KEY]
    text = t.invariant_expression(raw)
    if text is None:
        raise SchemaError(f"The metadata {t.INVARIANTS_KEY} of the column {field.name!r} has no expression: {raw!r}.")
    return text


def _name(path: Sequence[PathStep]) -> str:
    return t.display_name([name for _, name in path])


def _excerpt(row: Mapping[str, Any]) -> str:
    text = ", ".join(f"{name}={value!r}" for name, value in row.items())
    return text if len(text) <= 500 else text[:499] + "…"
