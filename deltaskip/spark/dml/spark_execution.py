"""Changes of rows through Spark: one job finds the rows that match, and another job writes the new files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from deltaskip.data_files.parquet_writer import DataFileLayout
from deltaskip.data_files.written_rows import WrittenRows
from deltaskip.dml.arrow_execution import ArrowExecution
from deltaskip.dml.assignments import Assignments, Fields, NewValue
from deltaskip.dml.changed_rows import ChangedRows
from deltaskip.dml.execution import RowExecution, RowsOfFiles, copying_plan
from deltaskip.dml.files_to_change import DataFiles, FilesToChange
from deltaskip.dml.positions import RowPositions
from deltaskip.features.row_tracking import RowIdColumns
from deltaskip.reading.session_scan import planned_for
from deltaskip.rows.plan import RowPlan
from deltaskip.schema.user_schema import schema_of
from deltaskip.skipping.scan import Scan
from deltaskip.spark.columns.to_column import to_column
from deltaskip.spark.dml.persisted_rows import CHANGE, FILE, POSITION, ROW_ID, PersistedRows, plain_rows, target_rows
from deltaskip.spark.dml.table_frames import TableFrames
from deltaskip.spark.read.bitmaps import collected_positions
from deltaskip.spark.read.session_facts import session_facts
from deltaskip.spark.read.session_meaning import session_meaning
from deltaskip.spark.session.error_conversion import condition_errors_named, predicate_errors_named
from deltaskip.spark.session.releases import union_of_frames
from deltaskip.spark.session.session_settings import described_jobs
from deltaskip.spark.write.checked_rows import check_default
from deltaskip.spark.write.write_dataframe import write_dataframe
from deltaskip.sparkexpr.clock import reads_clock
from deltaskip.sparkexpr.evaluation import left_to_spark
from deltaskip.sparkexpr.meaning import SessionMeaning
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.text.sql_text import quoted_name, quoted_path
from deltaskip.sparkexpr.types import DEFAULT_KEY, DataType, StructType
from deltaskip.sparkexpr.types.lengths import declares_char

_STORED = "__deltaskip_stored_"


class SparkExecution(TableFrames, RowExecution):
    """Reads and writes rows of a table by Spark jobs."""

    def meaning(self, where: str) -> SessionMeaning:
        return session_meaning(self._spark, [where], self._snapshot.schema)

    def planned(self, scan: Scan) -> Scan:
        """The scan as the session understands it, with its version of the collations.

        Spark checks a predicate that this package cannot evaluate completely.
        """
        planned = planned_for(scan, session_facts(self._spark, scan))
        if isinstance(scan.where, str) and left_to_spark(planned.predicate) is not None:
            with predicate_errors_named(self._snapshot.table_root):
                _ = self.no_rows().where(scan.where).schema
        return planned

    def matching(self, scan: Scan, files: pa.Table) -> RowPositions:
        """Tasks return a bit for each row of a block in which a row matches.

        No job runs if this process can read the files sooner.
        """
        here = self.matching_here(scan, files)
        if here is not None:
            return here
        snapshot = self._snapshot
        frame = target_rows(self, files, None)
        with predicate_errors_named(snapshot.table_root):
            frame = frame.where(str(scan.where)).select(FILE, POSITION)
        described = described_jobs(self._spark, f"find rows of {snapshot.root}")
        with condition_errors_named(self._spark, snapshot.root, str(scan.where)), described:
            [found] = collected_positions(frame, FILE, POSITION, None, len(files)).values()
        return found

    def write(
        self, parts: Sequence[RowsOfFiles], schema: StructType, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> WrittenRows:
        """Few rows are copied without a job."""
        if self.copies_here(parts, schema):
            return ArrowExecution(self._snapshot, self.time_zone).write(parts, schema, row_ids, layout)
        frame = union_of_frames([self.part(part, schema, row_ids, layout) for part in parts])
        extra = [field.name for field in layout.extra]
        plan = copying_plan(self._snapshot.root, schema, layout.partition_columns, extra)
        return write_dataframe(frame, plan, layout)

    def write_planned(
        self, files: pa.Table, schema: StructType, plan: RowPlan, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> WrittenRows:
        return write_dataframe(self.part(RowsOfFiles(files), schema, row_ids, layout), plan, layout)

    def updates(
        self, scan: Scan, change: FilesToChange, assignments: Assignments, row_ids: RowIdColumns | None, feed: bool
    ) -> ChangedRows:
        schema = assignments.schema
        changed = [field.name for field in assignments.changed]
        stored = {
            field.name: f"{_STORED}{i}"
            for i, field in enumerate(schema.fields)
            if (feed and field.name in changed) or (field.name not in changed and declares_char(field))
        }
        partly, whole = change.partly, change.whole
        for field in assignments.changed:
            # The keyword DEFAULT has become the text of the default.
            value = assignments.values.get(field.name)
            if isinstance(value, str) and value == field.metadata.get(DEFAULT_KEY):
                check_default(self.session, field, self.snapshot)
        with predicate_errors_named(self._snapshot.table_root, "the predicate or a new value"):
            here = _found_here(self, scan, partly)
            if here is not None and not len(whole) and not any(here.counts):
                # No row is updated, but expressions that are not valid still raise.
                nothing = self.no_rows().where(str(scan.where))
                assignments.plan(_incoming(assignments, nothing.select(*_new_columns(assignments, {}))))
                return ChangedRows(whole, partly)
            # Rows that are used once are not persisted, and need no positions.
            once = here is not None and not feed and row_ids is None
            read = partly if here is None else partly.take([i for i, count in enumerate(here.counts) if count])
            frames = []
            for number, files in ((0, read), (len(partly), whole)):
                if len(files) and once:
                    frames.append(plain_rows(self, files.listed, stored))
                elif len(files):
                    frames.append(target_rows(self, files.listed, row_ids, number, stored))
                if len(files) and files is read:
                    frames[0] = frames[0].where(str(scan.where))
            old = {name: stored[name] for name in changed} if feed else None
            located = [] if once else [FILE, POSITION, *([ROW_ID] if row_ids is not None else [])]
            beside = [*located, *(old or {}).values()]
            kind = F.lit("update").alias(CHANGE)
            frame = union_of_frames(frames).select(*_new_columns(assignments, stored), *map(F.col, beside), kind)
            plan = assignments.plan(_incoming(assignments, frame))
        new = PersistedRows(self, frame, updates=plan, old=old, once=once)
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
    # The job that writes the rows evaluates the clock later, when other rows might match.
    return None if reads_clock(scan.predicate) else execution.matching_here(scan, partly.listed)


def new_value(value: NewValue | Fields, data_type: DataType, path: tuple[str, ...]) -> Column:
    """Return the new value of the column or field at `path` as a Column. data_type: The type of the column or field."""
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
    """The columns with their new values; columns that do not change have their stored values."""
    for field in assignments.given:
        value: Any = assignments.values.get(field.name)
        if field.name in assignments.values:
            yield new_value(value, field.type, (field.name,)).alias(field.name)
        else:
            yield F.col(quoted_name(stored.get(field.name, field.name))).alias(field.name)


def _incoming(assignments: Assignments, frame: DataFrame) -> StructType:
    """The schema of the new values; columns that do not change have the type that the table declares."""
    computed = [quoted_name(name) for name in assignments.values if name not in assignments.computed]
    types = {field.name: field for field in schema_of(frame.select(*computed).schema).fields} if computed else {}
    return StructType(tuple(types.get(field.name, field) for field in assignments.given))
