"""CHECK constraints: added if every existing row satisfies them, and dropped.

# PROTOCOL, CHECK Constraints
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from deltaskip.alter.altered_table import AlteredTable, done, with_property
from deltaskip.alter.table_changes import IF_EXISTS, AddConstraint, DropConstraint
from deltaskip.engine import active_engine, engine
from deltaskip.errors import InvalidArgument, PredicateError, SchemaError, UnsupportedFeature
from deltaskip.log import Snapshot
from deltaskip.reading.stored_rows import StoredRows
from deltaskip.rows.arrow_conversion import ArrowRows
from deltaskip.rows.plan import PlannedColumn, RowPlan
from deltaskip.rows.rules import RowRule, violation
from deltaskip.schema.properties import CONSTRAINT_PREFIX
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr import columns_in, is_valid_sql, parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of

CHECKED_COLUMNS = ("uri", "partition_values", "deletion_vector")
"""Columns of `Scan.files()` that `rows_of_files` needs."""


def add_constraint(state: AlteredTable, change: AddConstraint) -> AlteredTable:
    """Return the state with a constraint, which existing rows must satisfy."""
    name, text = change.name.lower(), change.expression.strip()
    if _named(state, name) is not None:
        raise InvalidArgument(f"{state.table} already has a constraint {change.name}: drop it first.")
    _check_expression(state, change.name, text)
    state = with_property(state, CONSTRAINT_PREFIX + name, text)
    state = replace(state, new_constraints=(*state.new_constraints, name))
    return done(state, "ADD CONSTRAINT", {"name": change.name, "expr": text})


def drop_constraint(state: AlteredTable, change: DropConstraint) -> AlteredTable:
    """Return the state without a constraint."""
    known = _named(state, change.name.lower())
    if known is None:
        if change.if_exists:
            return state
        names = ", ".join(sorted(state.properties.constraints)) or "none"
        raise InvalidArgument(
            f"{state.table} has no constraint {change.name}, so it cannot be dropped: use {IF_EXISTS} if that is no "
            f"error. It has {names}."
        ).advising(IF_EXISTS)
    text = state.properties.constraints[known]
    state = with_property(state, CONSTRAINT_PREFIX + known, None)
    state = replace(state, new_constraints=tuple(name for name in state.new_constraints if name != known))
    return done(state, "DROP CONSTRAINT", {"name": change.name, "expr": text, "existed": "true"})


def check_existing_rows(state: AlteredTable, name: str, expression: str) -> None:
    """Raise RowViolation if a row of the table violates the constraint, with the first such row found.

    Raises UnsupportedFeature if only Spark can evaluate the constraint, and there is no session.
    """
    snapshot = state.written_snapshot
    rule = RowRule(name, "check", expression, f"({expression}\n)")
    try:
        files = Scan(snapshot, ReadOptions(rule.sql)).negated().files(columns=CHECKED_COLUMNS)
    except PredicateError:
        # Spark may be able to evaluate it although deltaskip cannot.
        files = Scan(snapshot).files(columns=CHECKED_COLUMNS)
    fields = _used(state.schema, expression)
    checker = _checker(rule, fields, state.table)
    try:
        for batch in rows_of_files(snapshot, files, [field.name for field in fields]):
            checker.convert(batch)
    except UnsupportedFeature as error:
        _check_with_spark(snapshot, rule, state.table, error)


def rows_of_files(snapshot: Snapshot, files: pa.Table, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
    """The rows of the files that are not deleted. Raises UnsupportedFeature if only Spark can read them."""
    rows = StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode, columns)
    for _, batch in rows.live(files):
        yield pa.RecordBatch.from_arrays(list(batch.columns.values()), names=list(batch.columns))


def _named(state: AlteredTable, name: str) -> str | None:
    """The name of a constraint as spelled in the properties. Names are case-insensitive."""
    return next((known for known in state.properties.constraints if known.lower() == name), None)


def _check_expression(state: AlteredTable, name: str, text: str) -> None:
    def refused(why: str) -> SchemaError:
        return SchemaError(f"The constraint {name} ({text}) cannot be added to {state.table}: {why}.")

    if not is_valid_sql(text):
        raise refused("it is not an SQL condition")
    for parts in columns_in(text, state.schema):
        try:
            t.resolve(state.schema, parts[:1])
        except PredicateError as error:
            raise refused(f"it uses {t.display_name(parts)}. {error}".rstrip(".")) from error
    try:
        found = type_of(bind_expression(parse_sql(text), state.schema))
    except PredicateError:
        # Spark may be able to evaluate it although deltaskip cannot.
        return
    if found is not None and found not in (t.BOOLEAN, t.VOID):
        raise refused(f"it is of type {t.simple_string(found).upper()}, and must be a condition")


def _used(schema: t.StructType, expression: str) -> list[t.StructField]:
    """The columns that an expression uses, nullable; at least one column, to know the number of rows."""
    names = {t.fold_name(parts[0]) for parts in columns_in(expression)}
    found = [field for field in schema.fields if t.fold_name(field.name) in names]
    return [t.StructField(f.name, f.type, True, f.metadata) for f in found or schema.fields[:1]]


def _checker(rule: RowRule, fields: Sequence[t.StructField], table: str) -> ArrowRows:
    columns = tuple(PlannedColumn(field, "given", "", field) for field in fields)
    return ArrowRows(RowPlan(table, t.StructType(tuple(fields)), columns, rules=(rule,)))


def _check_with_spark(snapshot: Snapshot, rule: RowRule, table: str, why: UnsupportedFeature) -> None:
    if active_engine() is None:
        raise UnsupportedFeature(
            f"The constraint {rule.name} ({rule.expression}) cannot be checked over existing rows of {table} without "
            f"Spark: {why.__cause__ or why} Start a session in this process, and add the constraint again."
        ) from why
    spark_engine = engine(f"Checking the constraint {rule.name} on rows of {table}")
    with tempfile.TemporaryDirectory() as scratch, spark_engine.local_session(Path(scratch)) as session:
        spark_engine.check_stored_text(
            session, [(f"The constraint {rule.name} ({rule.expression})", rule.sql)], snapshot
        )
        frame = spark_engine.scan_to_dataframe(session, Scan(snapshot, ReadOptions(hidden=True)))
        found = frame.where(f"NOT (({rule.sql}) <=> TRUE)").limit(1).collect()
    if found:
        raise violation(rule, found[0].asDict(recursive=True), table)
