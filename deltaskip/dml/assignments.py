"""The assignments of an UPDATE: new values by column, with generated columns that follow from them.

# Spark 4.1, UPDATE … SET; PROTOCOL, Generated Columns, Default Columns, Identity Columns
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from deltaskip.arguments import text
from deltaskip.engine import is_column
from deltaskip.errors import InvalidArgument, InvalidArgumentType, PredicateError, SchemaError, UnsupportedFeature
from deltaskip.features.identity_columns import identity_of
from deltaskip.predicates import as_columns_of, warn_of_bare_date
from deltaskip.records import dataclass
from deltaskip.rows.defaults import default_sql
from deltaskip.rows.plan import RowPlan, plan_rows
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr import (
    ColumnExpr,
    col,
    columns_in,
    is_valid_sql,
    literal_node,
    parameter_names,
    shaped,
    to_node,
    with_parameters,
)
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.nodes import Column, FieldRef, Node, columns_of

_DEFAULT = "DEFAULT"

NewValue = str | Node | Any
"""SQL text over the columns of the table, a node, or a Column of an engine."""


@dataclass(frozen=True, slots=True)
class Fields:
    """New values of some fields of a struct, by name; the others keep theirs.

    In a row in which the struct is NULL it becomes a struct whose other fields are NULL.
    """

    values: Mapping[str, NewValue | Fields]


@dataclass(frozen=True, slots=True)
class Assignments:
    """The value of each column of an updated row.

    Attributes:
        schema: The table's schema.
        properties: The table's properties.
        partition_columns: Names of the partition columns.
        mapping_mode: The table's column mapping mode.
        values: The columns that are set, by name.
        computed: The generated columns that are computed when the row is stored, since their source is set.
    """

    schema: t.StructType
    properties: TableProperties
    partition_columns: tuple[str, ...]
    mapping_mode: t.MappingMode
    values: Mapping[str, NewValue | Fields]
    computed: frozenset[str]

    @property
    def changed(self) -> list[t.StructField]:
        """The columns whose values may change, in the table's order."""
        return [field for field in self.schema.fields if field.name in self.values or field.name in self.computed]

    @property
    def given(self) -> list[t.StructField]:
        """The columns of a row with its new values: all except those that are computed when it is stored."""
        return [field for field in self.schema.fields if field.name not in self.computed]

    def plan(self, incoming: t.StructType) -> RowPlan:
        """Return the plan by which updated rows are written.

        Args:
            incoming: The schema of the rows with their new values: the columns `given`, under their names.

        Raises:
            SchemaError: A new value has a type that its column cannot store.
        """
        kept = [field.name for field in self.given if field.name not in self.values]
        return plan_rows(
            self.schema,
            self.properties,
            incoming,
            partition_columns=self.partition_columns,
            mapping_mode=self.mapping_mode,
            kept=kept,
            # delta-spark, UpdateExpressionsSupport: values are cast as by CAST in ANSI mode.
            casts=True,
        )


def given_values(given: object, where: object, params: object, table: str) -> tuple[dict[str, NewValue], object]:
    """Return the new values and the predicate that a caller gives, with parameters replaced by their values.

    Args:
        given: By name of a column or field: SQL text, an expression of `deltaskip.col`, a Column, or another constant
            of Python.
        where: The predicate.
        params: Values of parameters: by name in all expressions, or a list for `?` in the predicate.
        table: The location of the table, whose DataFrames may have the columns of a Column.

    Returns:
        New values as SQL text, nodes and Columns; the predicate as `with_parameters` returns it.

    Raises:
        InvalidArgument: No column is set, or a value has no parameter.
        PredicateError: A parameter has no value, or a value that Spark SQL does not have. A column belongs to another
            DataFrame.
        InvalidArgumentType: `given` is not a mapping, or a value has a wrong type.
    """
    if not isinstance(given, Mapping):
        swapped = isinstance(where, Mapping) and isinstance(given, str)
        call = f"update({where!r}, where={given!r})" if swapped else "update({'price': 'price * 1.1'}, where='id = 1')"
        raise InvalidArgumentType(
            f"set must be a mapping from columns to new values, not {type(given).__name__}: write {call}."
        )
    if not given:
        raise InvalidArgument("set must contain at least one column with its new value.")
    for name in given:
        text("Each name in set", name)
    if not isinstance(params, Mapping):
        return {name: _value(name, value, None, table) for name, value in given.items()}, with_parameters(where, params)
    used = {each for value in given.values() if isinstance(value, str) for each in parameter_names(value)}
    own = parameter_names(where) if isinstance(where, str) else frozenset()
    # A parameter that no new value uses must be in the predicate, which is checked there.
    left = {name: value for name, value in params.items() if name in own or name not in used}
    values = {name: _value(name, value, params, table) for name, value in given.items()}
    return values, with_parameters(where, left) if left or own else where


def assignments_of(
    schema: t.StructType,
    properties: TableProperties,
    partition_columns: Sequence[str],
    mapping_mode: t.MappingMode,
    given: Mapping[str, NewValue],
) -> Assignments:
    """Return the assignments of a table's columns for new values by name.

    Raises:
        SchemaError: A column or field does not exist, is set twice, or cannot be set.
        UnsupportedFeature: A field inside an array or map is set.
    """
    table = properties.table or "the table"
    values: dict[str, NewValue | Fields] = {}
    again: set[str] = set()
    for name, value in given.items():
        path = _path(name, schema, table)
        field = next(each for each in schema.fields if each.name == path[0])
        if identity_of(field) is not None:
            raise SchemaError(f"The column {field.name} of {table} is an identity column, which cannot be updated.")
        if not is_default(value):
            shape = shaped(value, t.resolve(schema, path).type) if isinstance(value, Node) else value
            _put(values, path, shape, table)
            continue
        _check_default(path, table)
        _put(values, path, default_sql(field), table)
        if t.GENERATION_KEY in field.metadata:
            again.add(field.name)
    touched = {t.fold_name(name) for name in values}
    for field in schema.fields:
        made = field.metadata.get(t.GENERATION_KEY)
        if made is not None and field.name not in values and not touched.isdisjoint(sources(str(made), schema)):
            again.add(field.name)
    values = {name: value for name, value in values.items() if name not in again}
    return Assignments(schema, properties, tuple(partition_columns), mapping_mode, values, frozenset(again))


def is_default(value: object) -> bool:
    """Return whether a new value is the keyword DEFAULT, which stands for the column's default."""
    return isinstance(value, str) and value.strip().upper() == _DEFAULT


def is_computed(bound: Node) -> bool:
    """Whether a new value is computed from columns, and neither one of them nor a constant."""
    return not isinstance(bound, FieldRef) and bool(columns_of(bound))


def _value(name: str, value: object, params: Mapping[str, object] | None, table: str) -> NewValue:
    if isinstance(value, str):
        warn_of_bare_date(f"The new value of {name}", value)
        if params is None:
            return value
        return with_parameters(value, {each: params[each] for each in parameter_names(value) if each in params})
    if is_column(value):
        return as_columns_of(value, table)
    if isinstance(value, ColumnExpr | Node):
        return to_node(value)
    return literal_node(value, f"The new value of {name} in set")


def _path(name: str, schema: t.StructType, table: str) -> tuple[str, ...]:
    """The path of a column or field, as the table spells it."""
    try:
        node = col(name).node
        parts = node.parts if isinstance(node, Column) else (name,)
        return t.resolve(schema, parts).logical
    except t.InsideCollection as error:
        raise UnsupportedFeature(
            f"{name} of {table} cannot be updated, because it is inside an array or map: set the whole column, with "
            f"functions such as transform."
        ) from error
    except PredicateError as error:
        raise SchemaError(f"{table} cannot be updated: {error}") from error


def _check_default(path: tuple[str, ...], table: str) -> None:
    if len(path) > 1:
        raise SchemaError(
            f"The field {t.display_name(path)} of {table} cannot be set to DEFAULT: only columns have one."
        )


def _put(values: dict[str, Any], path: tuple[str, ...], value: NewValue | None, table: str) -> None:
    """Set the value at a path. Raises SchemaError if the path, or one around or inside of it, is set already."""
    for part in path[:-1]:
        inner = values.setdefault(part, Fields({}))
        if not isinstance(inner, Fields):
            raise _twice(path, table)
        values = inner.values  # type: ignore[assignment]
    if path[-1] in values:
        raise _twice(path, table)
    values[path[-1]] = value


def _twice(path: tuple[str, ...], table: str) -> SchemaError:
    return SchemaError(f"{t.display_name(path)} of {table} is set twice: by name, or as part of another column.")


def sources(sql: str, schema: t.StructType) -> Collection[str]:
    """Return the top-level columns that an expression uses, folded."""
    if not is_valid_sql(sql):
        # An expression that cannot be parsed may use any column.
        return set(map(t.fold_name, schema.names))
    return {t.fold_name(parts[0]) for parts in columns_in(sql)}
