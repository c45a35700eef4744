"""The existing rows of a table: whether each satisfies a new constraint, and the extreme value of a column.

Statistics decide first. Files that they do not decide are read with pyarrow, and through the active Spark session where
an expression, a type or a file needs it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.alter.state import TableState
from deltaskip.engine import engine, session_ansi
from deltaskip.errors import NotProvable, PredicateError, UnsupportedFeature
from deltaskip.expr import columns_in
from deltaskip.log import Snapshot
from deltaskip.reading.stored_rows import StoredRows
from deltaskip.rows.arrow_conversion import ArrowRows
from deltaskip.rows.plan import PlannedColumn, RowPlan
from deltaskip.rows.rules import RowRule, violation
from deltaskip.schema.resolve import display_name, fold_name
from deltaskip.schema.types import StructField, StructType
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan

_FILE_COLUMNS = ("uri", "partition_values", "deletion_vector")


def check_existing_rows(state: TableState, name: str, expression: str) -> None:
    """Raise RowViolation if a row of the table violates the constraint, with the first such row that is found.

    Raises UnsupportedFeature if only Spark can evaluate the constraint, and there is no session.
    """
    snapshot = _as_of(state)
    rule = RowRule(name, "check", expression, f"({expression}\n)")
    try:
        files = Scan(snapshot, ReadOptions(rule.sql)).negated().files(columns=_FILE_COLUMNS)
    except PredicateError:
        # Spark may evaluate it where deltaskip cannot.
        files = Scan(snapshot).files(columns=_FILE_COLUMNS)
    fields = _used(state.schema, expression)
    checker = _checker(rule, fields, state.table)
    try:
        for batch in _rows(snapshot, files, [field.name for field in fields]):
            checker.convert(batch)
    except UnsupportedFeature as error:
        _check_with_spark(snapshot, rule, state.table, error)


def extreme_value(state: TableState, field: StructField, side: Literal["min", "max"]) -> int | None:
    """Return the least or greatest value of a BIGINT column; None if it has none."""
    scan = Scan(_as_of(state))
    try:
        found = scan.max(display_name([field.name])) if side == "max" else scan.min(display_name([field.name]))
    except NotProvable:
        found = None
        for batch in _rows(scan.snapshot, scan.files(columns=_FILE_COLUMNS), [field.name]):
            value = pc.min_max(batch.column(field.name))[side].as_py()
            if value is not None:
                found = value if found is None else (max if side == "max" else min)(found, value)
    return None if found is None else int(found)


def _as_of(state: TableState) -> Snapshot:
    """The files of the table with the columns of the state."""
    return state.snapshot.with_state(state.protocol_with_mapping, state.written_metadata)


def _used(schema: StructType, expression: str) -> list[StructField]:
    """The columns that an expression uses, nullable; at least one column, which has the number of rows."""
    names = {fold_name(parts[0]) for parts in columns_in(expression)}
    found = [field for field in schema.fields if fold_name(field.name) in names]
    return [StructField(f.name, f.type, True, f.metadata) for f in found or schema.fields[:1]]


def _checker(rule: RowRule, fields: Sequence[StructField], table: str) -> ArrowRows:
    columns = tuple(PlannedColumn(field, "given", "", field) for field in fields)
    return ArrowRows(RowPlan(table, StructType(tuple(fields)), False, {}, (), columns, (rule,)))


def _rows(snapshot: Snapshot, files: pa.Table, columns: Collection[str]) -> Iterator[pa.RecordBatch]:
    """The rows of the files that are not deleted. Raises UnsupportedFeature if only Spark can read them."""
    rows = StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode, columns)
    for _, batch in rows.live(files):
        yield pa.RecordBatch.from_arrays(list(batch.columns.values()), names=list(batch.columns))


def _check_with_spark(snapshot: Snapshot, rule: RowRule, table: str, why: UnsupportedFeature) -> None:
    if session_ansi() is None:
        raise UnsupportedFeature(
            f"The constraint {rule.name} ({rule.expression}) cannot be checked over existing rows of {table} without "
            f"Spark: start a session in this process, and add the constraint again."
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
