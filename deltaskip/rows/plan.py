"""The plan of a write: for each column of the table one SQL expression, and the rules that the rows must satisfy."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from deltaskip.errors import InvalidArgument, PredicateError, SchemaError
from deltaskip.features.identity_columns import IdentityColumn, identity_of
from deltaskip.records import dataclass
from deltaskip.rows.rules import RowRule, generation_rule, rules_of, where_rule
from deltaskip.rows.schema_merge import merged_schema, replaced_schema
from deltaskip.rows.store import MERGE_SCHEMA, by_name, check_assignable, stored, written_type
from deltaskip.schema.mapping import ID_KEY, with_new_ids
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr import parse_sql, type_of_text
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.nodes import columns_of
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.types.ddl import exact_type_text
from deltaskip.txn.validation.schema import schema_problems

SchemaMode = Literal["keep", "merge", "replace"]
Lacking = Literal["refused", "null"]
Origin = Literal["given", "default", "null", "generated", "identity"]


@dataclass(frozen=True, slots=True)
class PlannedColumn:
    """A column of the files to be written, and the source of its values.

    Attributes:
        field: The column, with the type that files have (without void fields).
        origin: `given` in the rows; the column's `default`; `null`; `generated` by its expression from other columns;
            `identity` for values that the writer allocates.
        sql: SQL text of the value: over the columns of the rows, for a generated column over the stored columns; empty
            for an identity column.
        source: The given column; None if the rows have none.
        expression: The text of a default or generation expression, as typed.
        identity: How an identity column numbers rows.
        empty_is_null: Whether the empty string becomes NULL, as in string partition columns.
    """

    field: t.StructField
    origin: Origin
    sql: str
    source: t.StructField | None = None
    expression: str | None = None
    identity: IdentityColumn | None = None
    empty_is_null: bool = False


@dataclass(frozen=True, slots=True)
class RowPlan:
    """The plan for rows with one schema: the columns to store in a table, and the rules that the rows must satisfy.

    Attributes:
        table: The table's location, for messages.
        schema: The table's schema after the write.
        columns: The columns of the files, in the table's order.
        changes_schema: Whether `schema` differs from the table's.
        configuration: Properties to be set with a changed schema.
        partition_columns: Names of the partition columns, as the schema has them.
        rules: The rules, in the order in which they are checked.
        carried: Columns of the rows that are written unchanged, in addition to the table's: materialized row ids.
        allow_reflection: Whether expressions of the table may call any function of the session.
    """

    table: str
    schema: t.StructType
    columns: tuple[PlannedColumn, ...]
    changes_schema: bool = False
    configuration: Mapping[str, str] = dataclasses.field(default_factory=dict)
    partition_columns: tuple[str, ...] = ()
    rules: tuple[RowRule, ...] = ()
    carried: tuple[str, ...] = ()
    allow_reflection: bool = False

    @property
    def written_schema(self) -> t.StructType:
        """The schema of the stored rows: the table's without void columns and fields."""
        return t.StructType(tuple(column.field for column in self.columns))

    @property
    def without_empty(self) -> tuple[str, ...]:
        """Names of the columns in which the empty string becomes NULL."""
        return tuple(column.field.name for column in self.columns if column.empty_is_null)


def plan_rows(
    schema: t.StructType,
    properties: TableProperties,
    incoming: t.StructType,
    schema_mode: SchemaMode = "keep",
    partition_columns: Sequence[str] = (),
    *,
    where: str | None = None,
    mapping_mode: t.MappingMode = "none",
    kept: Collection[str] = (),
    generated: Sequence[t.StructField] = (),
    casts: bool = False,
    lacking: Lacking = "refused",
) -> RowPlan:
    """Return the plan for rows of the schema `incoming`.

    Args:
        schema: The table's schema.
        properties: The table's properties; `properties.table` is its location.
        incoming: The schema of the rows. Columns are matched by name, in any letter case.
        schema_mode: `keep` refuses columns that the table does not have, `merge` adds them, `replace` replaces the
            table's schema by the schema of the rows.
        partition_columns: Names of the partition columns after the write.
        where: The predicate of an overwrite, which every row must satisfy.
        mapping_mode: The table's column mapping mode.
        kept: Names of columns, as in the table, whose values rows of the table keep: an identity column may be one of
            them, and a generated column is not compared with its expression.
        generated: Generated columns that follow the columns of the rows in a replaced schema.
        casts: Whether values are cast as UPDATE does; see `check_assignable`.
        lacking: A NOT NULL column that the rows lack is `refused`, or is `null`, which the table's rules refuse for
            each row.

    Raises:
        SchemaError: A column is unknown, missing, given twice or not allowed to be given, or its type cannot be stored.
        InvalidArgument: The schema mode does not exist.
    """
    table = properties.table or "the table"
    after, configuration = _schema_after(schema, properties, incoming, schema_mode, mapping_mode, table, generated)
    if after != schema:
        _check_change(schema, after, partition_columns, properties, mapping_mode, table)
    given = by_name(incoming, (), table)
    partitions = frozenset(map(t.fold_name, partition_columns))
    columns, rules = [], []
    for field in after.fields:
        source = given.pop(t.fold_name(field.name), None)
        if field.type == t.VOID:
            _check_void(field, source, table)
            continue
        keeps = field.name in kept
        column = _planned(field, source, after, t.fold_name(field.name) in partitions, table, keeps, casts)
        if column.origin == "null" and not field.nullable and lacking == "refused":
            raise SchemaError(
                f"The rows lack the column {field.name} of {table}, which is NOT NULL and has no default: add it."
            )
        columns.append(column)
        if source is not None and t.GENERATION_KEY in field.metadata and not keeps:
            rules.append(generation_rule(field))
    if given:
        name = next(iter(given.values())).name
        raise SchemaError(
            f"{table} has no column {t.display_name([name])}: remove it from the rows, or add it "
            f"{MERGE_SCHEMA}. The columns are {', '.join(map(_shown, after.names))}."
        ).advising(MERGE_SCHEMA)
    _check_columns(columns, partitions, table)
    names = {t.fold_name(column.field.name): column.field.name for column in columns}
    return RowPlan(
        table,
        after,
        tuple(columns),
        changes_schema=after != schema,
        configuration=configuration,
        partition_columns=tuple(names.get(t.fold_name(name), name) for name in partition_columns),
        rules=(*rules_of(after, properties), *rules, *([where_rule(where)] if where is not None else [])),
        allow_reflection=properties.allow_reflection,
    )


def evolved_schema(
    schema: t.StructType,
    properties: TableProperties,
    incoming: t.StructType,
    partition_columns: Sequence[str] = (),
    mapping_mode: t.MappingMode = "none",
) -> tuple[t.StructType, Mapping[str, str]]:
    """Return the schema of a table after columns were merged into it, and the properties to set with it.

    Raises SchemaError as `plan_rows` does with the schema mode `merge`.
    """
    table = properties.table or "the table"
    after, configuration = _schema_after(schema, properties, incoming, "merge", mapping_mode, table)
    if after != schema:
        _check_change(schema, after, partition_columns, properties, mapping_mode, table)
    return after, configuration


def computed_sql(text: str, field: t.StructField, scope: t.StructType = t.StructType()) -> str:  # noqa: B008
    """Return the SQL text of an expression of a column as it is stored in it.

    Args:
        text: The expression, such as a default.
        field: The column, with the type that files have.
        scope: The columns that the expression uses.
    """
    source = type_of_text(text, scope)
    enclosed = f"({text}\n)"
    if source is None:
        return f"CAST({enclosed} AS {exact_type_text(field.type)})"
    return stored(enclosed, source, field.type, (field.name,))


def _check_columns(columns: Sequence[PlannedColumn], partitions: frozenset[str], table: str) -> None:
    """Raise SchemaError if files would have no columns."""
    if all(t.fold_name(column.field.name) in partitions for column in columns):
        what = "all its columns are partition columns" if columns else "all its columns are of type void"
        raise SchemaError(f"Rows cannot be written to {table}: {what}, so files would have no columns.")


def _schema_after(
    schema: t.StructType,
    properties: TableProperties,
    rows: t.StructType,
    schema_mode: SchemaMode,
    mapping_mode: t.MappingMode,
    table: str,
    generated: Sequence[t.StructField] = (),
) -> tuple[t.StructType, dict[str, str]]:
    match schema_mode:
        case "keep":
            return schema, {}
        case "merge":
            after = merged_schema(schema, rows, properties, table, _used_by_expressions(schema, properties))
        case "replace":
            new = t.StructType((*replaced_schema(rows, table).fields, *generated))
            after = _with_old_mapping(schema, new)
        case _:
            raise InvalidArgument(f"schema_mode must be 'keep', 'merge' or 'replace', not {schema_mode!r}.")
    if mapping_mode == "none" or after == schema:
        return after, {}
    return with_new_ids(after, properties)


def _planned(
    field: t.StructField,
    source: t.StructField | None,
    schema: t.StructType,
    partition: bool,
    table: str,
    keeps: bool,
    casts: bool,
) -> PlannedColumn:
    path = (field.name,)
    written = t.StructField(field.name, written_type(field.type, path, table), field.nullable, field.metadata)
    empty_is_null = partition and field.type == t.STRING
    identity = identity_of(field)
    if source is not None:
        if identity is not None and not identity.explicit and not keeps:
            raise SchemaError(
                f"The column {field.name} of {table} is GENERATED ALWAYS AS IDENTITY, so rows must not have values for "
                f"it: remove the column from the rows."
            )
        check_assignable(source.type, field.type, path, table, casts)
        sql = stored(quoted_name(source.name), source.type, written.type, path)
        return PlannedColumn(written, "given", _nulled(sql, empty_is_null), source, empty_is_null=empty_is_null)
    if identity is not None:
        return PlannedColumn(written, "identity", "", identity=identity)
    for key, origin in _EXPRESSIONS:
        if key in field.metadata:
            text = str(field.metadata[key])
            scope = schema if origin == "generated" else t.StructType()
            sql = _nulled(computed_sql(text, written, scope), empty_is_null)
            return PlannedColumn(written, origin, sql, expression=text, empty_is_null=empty_is_null)
    return PlannedColumn(written, "null", f"CAST(NULL AS {exact_type_text(written.type)})")


_EXPRESSIONS: tuple[tuple[str, Origin], ...] = ((t.GENERATION_KEY, "generated"), (t.DEFAULT_KEY, "default"))


def _nulled(sql: str, empty_is_null: bool) -> str:
    # A comparison with '' would depend on the collation.
    return f"IF(length({sql}) = 0, NULL, {sql})" if empty_is_null else sql


def _check_void(field: t.StructField, source: t.StructField | None, table: str) -> None:
    if source is not None and source.type != t.VOID:
        raise SchemaError(
            f"The column {field.name} of {table} is of type void, which holds only NULL: give it a type "
            f"{MERGE_SCHEMA} or ALTER COLUMN … TYPE, or remove the column from the rows."
        ).advising(MERGE_SCHEMA)


def _used_by_expressions(schema: t.StructType, properties: TableProperties) -> set[str]:
    """Top-level columns that a constraint or a generated column uses, and generated columns themselves."""
    texts = [*properties.constraints.values()]
    used: set[str] = set()
    for field in schema.fields:
        if t.GENERATION_KEY in field.metadata:
            used.add(field.name)
            texts.append(str(field.metadata[t.GENERATION_KEY]))
    for text in texts:
        try:
            used.update(parts[0] for parts in columns_of(parse_sql(text)))
        except PredicateError:
            # An expression that cannot be parsed may use any column.
            return set(schema.names)
    return used


def _check_change(
    before: t.StructType,
    after: t.StructType,
    partition_columns: Sequence[str],
    properties: TableProperties,
    mapping_mode: t.MappingMode,
    table: str,
) -> None:
    """Refuse, before files are written, a schema that the transaction would refuse."""
    spelled = {t.fold_name(name): name for name in after.names}
    partitions = tuple(spelled.get(t.fold_name(name), name) for name in partition_columns)
    had = set(schema_problems(before, (), properties.well_formed(), mapping_mode))
    for rule, why in schema_problems(after, partitions, properties, mapping_mode):
        if (rule, why) not in had:
            raise SchemaError(f"The rows cannot change the schema of {table}, because the new one {why}.")


def _with_old_mapping(before: t.StructType, after: t.StructType) -> t.StructType:
    """`after` with the ids and physical names of columns that `before` has with the same name and type."""
    known = {t.fold_name(field.name): field for field in before.fields}
    fields = []
    for field in after.fields:
        old = known.get(t.fold_name(field.name))
        keys = [] if old is None else [key for key in (ID_KEY, t.PHYSICAL_NAME_KEY) if key in old.metadata]
        if old is not None and keys and not isinstance(field.type, t.StructType) and field.type == old.type:
            field = t.StructField(
                field.name, field.type, field.nullable, {**field.metadata, **{key: old.metadata[key] for key in keys}}
            )
        fields.append(field)
    return t.StructType(tuple(fields))


def _shown(name: str) -> str:
    return t.display_name([name])
