"""The value of each column of a row that a MERGE writes, as SQL text over the columns of the join."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from deltaskip.dml.merge.merge_assignments import DEFAULT, Assigned, AssignedExpression, AssignedFields, FromSource
from deltaskip.dml.merge.merge_execution import MergeJoin
from deltaskip.errors import SchemaError
from deltaskip.features.identity_columns import identity_of
from deltaskip.records import dataclass
from deltaskip.rows.defaults import default_sql
from deltaskip.rows.plan import RowPlan, computed_sql, plan_rows
from deltaskip.rows.store import MERGE_SCHEMA, check_assignable, stored, written_type
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.coerce import castable
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.types.ddl import exact_type_text

RawValue = Callable[[AssignedExpression | FromSource], tuple[str, t.DataType]]
"""SQL text and type of the value that the engine has computed for an expression."""

_NESTED = (t.StructType, t.ArrayType, t.MapType)


@dataclass(frozen=True, slots=True)
class ClauseGroup:
    """Clauses of one action whose rows are written by one plan.

    Attributes:
        numbers: Indexes of the clauses.
        columns: The columns of the rows to write; the others are generated or identity columns.
        kept: Columns whose values in the table do not change.
    """

    numbers: tuple[int, ...]
    columns: tuple[t.StructField, ...]
    kept: tuple[str, ...]


def clause_groups(join: MergeJoin, numbers: Sequence[int]) -> list[ClauseGroup]:
    """Divide clauses of one action by the generated and identity columns that they set.

    Columns that a clause does not set are computed or numbered when the row is written; an updated row keeps its
    identity values.
    """
    updates = bool(numbers) and join.clauses[numbers[0]].action == "update"
    found: dict[frozenset[str], list[int]] = {}
    for number in numbers:
        special = frozenset(
            field.name
            for field in join.schema.fields
            if _is_set(field, join, number)
            and (t.GENERATION_KEY in field.metadata or (identity_of(field) is not None and not updates))
        )
        found.setdefault(special, []).append(number)
    return [_group(join, members, special, updates) for special, members in found.items()]


def group_plan(join: MergeJoin, group: ClauseGroup, incoming: t.StructType) -> RowPlan:
    """Return the plan by which rows of a group are written. A clause may lack a NOT NULL column if it writes no row."""
    return plan_rows(
        join.schema,
        join.properties,
        incoming,
        partition_columns=join.partition_columns,
        mapping_mode=join.mapping_mode,
        kept=group.kept,
        # delta-spark checks the rows that a clause inserts, not the clause.
        lacking="null",
    )


def expressions_of(assigned: Assigned) -> Iterator[AssignedExpression | FromSource]:
    """Yield the expressions whose values an engine computes for an assignment."""
    match assigned:
        case AssignedFields(fields, struct):
            if struct is not None:
                yield struct
            for inner in fields.values():
                yield from expressions_of(inner)
        case AssignedExpression() | FromSource():
            yield assigned


def column_text(
    field: t.StructField,
    assigned: Assigned | None,
    raw: RawValue,
    old: tuple[str, t.DataType] | None,
    table: str,
    evolves: bool = False,
) -> str:
    """Return the SQL text of a column's value.

    Args:
        field: The column, with its type after the merge.
        assigned: The value that a clause sets; None if the clause does not set the column.
        raw: Returns the values of expressions.
        old: The value in the table before, and its type; None in a row to insert.
        table: The table's location, for messages.
        evolves: Whether structs may lack fields that the column has.

    Raises:
        SchemaError: An expression has a type that the column cannot store.
    """
    if assigned is DEFAULT or (assigned is None and old is None):
        text = default_sql(field)
        written = t.StructField(field.name, written_type(field.type, (field.name,), table), True, field.metadata)
        return computed_sql(text, written)
    return _text(field.type, assigned, raw, old, (field.name,), table, evolves)


def check_stored(
    source: t.DataType, target: t.DataType, path: tuple[str, ...], table: str, evolves: bool = False
) -> bool:
    """Return True if ANSI store assignment stores values of the type in a column, False if they need an explicit cast.

    # delta-spark, UpdateExpressionsSupport: values are cast as by CAST in ANSI mode; structs have the same fields

    Raises SchemaError for a type that the column cannot store, or a struct without a field that the column has.
    """
    if not evolves:
        _check_fields(source, target, path, table)
    try:
        check_assignable(source, target, path, table)
    except SchemaError:
        if isinstance(source, _NESTED) or isinstance(target, _NESTED) or not castable(source, target):
            raise
        return False
    return True


def _check_fields(source: t.DataType, target: t.DataType, path: tuple[str, ...], table: str) -> None:
    match source, target:
        case t.StructType(given), t.StructType(fields):
            by_name = {t.fold_name(field.name): field for field in given}
            for field in fields:
                found = by_name.get(t.fold_name(field.name))
                inner = (*path, field.name)
                if found is None and field.type != t.VOID:
                    raise SchemaError(
                        f"A struct for the column {t.display_name(path)} of {table} lacks the field {field.name}: add "
                        f"it, set fields one by one, or merge {MERGE_SCHEMA}."
                    ).advising(MERGE_SCHEMA)
                if found is not None:
                    _check_fields(found.type, field.type, inner, table)
        case t.ArrayType(given_element), t.ArrayType(element):
            _check_fields(given_element, element, (*path, "element"), table)
        case t.MapType(given_key, given_value), t.MapType(key, value):
            _check_fields(given_key, key, (*path, "key"), table)
            _check_fields(given_value, value, (*path, "value"), table)


def _text(
    target: t.DataType,
    assigned: Assigned | None,
    raw: RawValue,
    old: tuple[str, t.DataType] | None,
    path: tuple[str, ...],
    table: str,
    evolves: bool,
) -> str:
    written = written_type(target, path, table)
    match assigned:
        case None if old is None:
            return f"CAST(NULL AS {exact_type_text(written)})"
        case None:
            assert old is not None
            return stored(old[0], old[1], written, path)
        case AssignedFields(fields, struct):
            assert isinstance(target, t.StructType)
            members, nulls = [], [] if struct is None else [raw(struct)[0]]
            for each in target.fields:
                if each.type != t.VOID:
                    before = _field_of(old, each.name)
                    text = _text(each.type, fields.get(each.name), raw, before, (*path, each.name), table, evolves)
                    members.append(f"{text} AS {quoted_name(each.name)}")
                    if before is not None and each.name not in fields:
                        nulls.append(before[0])
            value = f"struct({', '.join(members)})"
            if struct is None:
                return value
            return f"IF({' AND '.join(f'{each} IS NULL' for each in nulls)}, NULL, {value})"
        case AssignedExpression() | FromSource():
            text, source = raw(assigned)
            check_stored(source, target, path, table, evolves)
            return stored(text, source, written, path)
        case _:
            raise AssertionError(assigned)


def _field_of(old: tuple[str, t.DataType] | None, name: str) -> tuple[str, t.DataType] | None:
    if old is None or not isinstance(old[1], t.StructType):
        return None
    found = next((field.type for field in old[1].fields if field.name == name), None)
    return None if found is None else (f"{old[0]}.{quoted_name(name)}", found)


def _group(join: MergeJoin, numbers: Sequence[int], special: Collection[str], updates: bool) -> ClauseGroup:
    columns = tuple(field for field in join.schema.fields if _is_given(field, join, numbers, special, updates))
    kept = tuple(field.name for field in columns if not any(_is_set(field, join, number) for number in numbers))
    return ClauseGroup(tuple(numbers), columns, kept if updates else ())


def _is_given(
    field: t.StructField, join: MergeJoin, numbers: Sequence[int], special: Collection[str], updates: bool
) -> bool:
    if field.type == t.VOID:
        return False
    if t.GENERATION_KEY in field.metadata:
        return field.name in special
    if updates:
        return True
    if identity_of(field) is not None:
        return field.name in special
    # The default of an inserted row is computed once, with the other values.
    return t.DEFAULT_KEY in field.metadata or any(_is_set(field, join, number) for number in numbers)


def _is_set(field: t.StructField, join: MergeJoin, number: int) -> bool:
    assigned = join.clauses[number].columns.get(field.name)
    computed = t.GENERATION_KEY in field.metadata or identity_of(field) is not None
    return assigned is not None and not (assigned is DEFAULT and computed)
