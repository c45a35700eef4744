"""The rows of an UPDATE through Spark: found and computed in one pass over the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from deltaskip.dml.assignments import Assignments, Fields, NewValue
from deltaskip.dml.changed_rows import ChangedRows
from deltaskip.dml.files_to_change import DataFiles, FilesToChange
from deltaskip.dml.positions import RowPositions
from deltaskip.expr import Node
from deltaskip.expr.clock import reads_clock
from deltaskip.features.row_tracking import RowIdColumns
from deltaskip.schema.lengths import declares_char
from deltaskip.schema.sql_text import quoted_name, quoted_path
from deltaskip.schema.types import DEFAULT_KEY, DataType, StructType
from deltaskip.schema.user_schema import schema_of
from deltaskip.skipping.scan import Scan
from deltaskip.spark.columns.to_column import to_column
from deltaskip.spark.dml.persisted_rows import CHANGE, FILE, POSITION, ROW_ID, PersistedRows, plain_rows, target_rows
from deltaskip.spark.dml.table_frames import TableFrames
from deltaskip.spark.session.error_conversion import predicate_errors_named
from deltaskip.spark.session.releases import union_of_frames
from deltaskip.spark.write.stored_text import check_default

_STORED = "__deltaskip_stored_"


def updated_rows(
    execution: TableFrames,
    scan: Scan,
    change: FilesToChange,
    assignments: Assignments,
    row_ids: RowIdColumns | None,
    feed: bool,
) -> ChangedRows:
    """Find the rows that an UPDATE changes, with their new values. See RowExecution.updates."""
    schema = assignments.schema
    changed = [field.name for field in assignments.changed]
    stored = {
        field.name: f"{_STORED}{i}"
        for i, field in enumerate(schema.fields)
        if (feed and field.name in changed) or (field.name not in changed and declares_char(field))
    }
    partly, whole = change.partly, change.whole
    table = execution.snapshot.table_root
    for field in assignments.changed:
        # The keyword DEFAULT has become the text of the default.
        value = assignments.values.get(field.name)
        if isinstance(value, str) and value == field.metadata.get(DEFAULT_KEY):
            check_default(execution.session, field, execution.snapshot)
    with predicate_errors_named(table, "the predicate or a new value"):
        here = _found_here(execution, scan, partly)
        if here is not None and not len(whole) and not any(here.counts):
            # No row is updated, but expressions that are not valid still raise.
            nothing = execution.no_rows().where(str(scan.where))
            assignments.plan(_incoming(assignments, nothing.select(*_new_columns(assignments, {}))))
            return ChangedRows(whole, partly)
        # Rows that are used once are neither persisted, nor need their places.
        once = here is not None and not feed and row_ids is None
        read = partly if here is None else partly.take([i for i, count in enumerate(here.counts) if count])
        frames = []
        for number, files in ((0, read), (len(partly), whole)):
            if len(files) and once:
                frames.append(plain_rows(execution, files.listed, stored))
            elif len(files):
                frames.append(target_rows(execution, files.listed, row_ids, number, stored))
            if len(files) and files is read:
                frames[0] = frames[0].where(str(scan.where))
        old = {name: stored[name] for name in changed} if feed else None
        located = [] if once else [FILE, POSITION, *([ROW_ID] if row_ids is not None else [])]
        beside = [*located, *(old or {}).values()]
        kind = F.lit("update").alias(CHANGE)
        frame = union_of_frames(frames).select(*_new_columns(assignments, stored), *map(F.col, beside), kind)
        plan = assignments.plan(_incoming(assignments, frame))
    new = PersistedRows(execution, frame, updates=plan, old=old, once=once)
    try:
        found = new.positions(len(partly), ["update"])["update"] if here is None else here
    except BaseException:
        new.release()
        raise
    if whole.num_rows is not None:
        new.most_rows = sum(found.counts) + whole.num_rows
    return ChangedRows(whole, partly, updated=found, new=new, updates_whole=True)


def _found_here(execution: TableFrames, scan: Scan, partly: DataFiles) -> RowPositions | None:
    """The rows that match, if this process finds them sooner than a job; None if a job must."""
    if not len(partly):
        return RowPositions(())
    # The job that writes the rows has another time, at which other rows might match.
    return None if reads_clock(scan.predicate) else execution.matching_here(scan, partly.listed)


def new_value(value: NewValue | Fields, data_type: DataType, path: tuple[str, ...]) -> Column:
    """Return the Column of a new value, of a column or field at a path whose type is `data_type`."""
    match value:
        case Fields(values):
            assert isinstance(data_type, StructType)
            inner = (
                new_value(values[field.name], field.type, (*path, field.name))
                if field.name in values
                else F.col(quoted_path((*path, field.name)))
                for field in data_type.fields
            )
            named = zip(inner, data_type.fields, strict=True)
            return F.struct(*(column.alias(field.name) for column, field in named))
        case str():
            return F.expr(value)
        case Node():
            return to_column(value)
        case _:
            column: Column = value
            return column


def _new_columns(assignments: Assignments, stored: Mapping[str, str]) -> Iterator[Column]:
    """The columns with their new values; those that do not change as they are stored."""
    for field in assignments.given:
        value: Any = assignments.values.get(field.name)
        if field.name in assignments.values:
            yield new_value(value, field.type, (field.name,)).alias(field.name)
        else:
            yield F.col(quoted_name(stored.get(field.name, field.name))).alias(field.name)


def _incoming(assignments: Assignments, frame: DataFrame) -> StructType:
    """The schema of the new values; columns that are kept have the type that the table declares."""
    computed = [quoted_name(name) for name in assignments.values if name not in assignments.computed]
    types = {field.name: field for field in schema_of(frame.select(*computed).schema).fields} if computed else {}
    return StructType(tuple(types.get(field.name, field) for field in assignments.given))
