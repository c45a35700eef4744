"""Changed rows of a statement in a DataFrame: found and computed by one job, persisted, and written from there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from deltaskip.actions import AddFile
from deltaskip.data_files.parquet_writer import DataFileLayout, write_data_files
from deltaskip.data_files.written_rows import WrittenRows
from deltaskip.dml.arrow_execution import ArrowExecution
from deltaskip.dml.changed_rows import NewRows
from deltaskip.dml.execution import RowsOfFiles, copying_plan
from deltaskip.dml.files_to_change import new_files
from deltaskip.dml.little_data import is_little_to_collect
from deltaskip.dml.positions import RowPositions
from deltaskip.features.change_data_feed import CHANGE_TYPE
from deltaskip.features.row_tracking import RowIdColumns
from deltaskip.fork_safety import cached_property
from deltaskip.rows.plan import RowPlan
from deltaskip.spark.dml.table_frames import TableFrames
from deltaskip.spark.read.bitmaps import collected_positions
from deltaskip.spark.read.dataframe import with_declared_lengths
from deltaskip.spark.session.error_conversion import row_errors_named, suppressed_if_too_large
from deltaskip.spark.session.releases import held_rows
from deltaskip.spark.write.write_dataframe import RowsToWrite, can_collect, collected_rows, write_dataframes
from deltaskip.sparkexpr.text.sql_text import quoted_name

FILE = "__deltaskip_file"
"""The index of the file that a row comes from; NULL for an inserted row."""
POSITION = "__deltaskip_position"
"""The position of the row in that file."""
CHANGE = "__deltaskip_change"
"""The change of the row: update, delete or insert."""
ROW_ID = "__deltaskip_row_id"
"""The row id of a row that keeps it; NULL for an inserted row."""

# Least bytes of rewritten files for one task, so that the rows of a small file are not divided.
_TASK_BYTES = 32 << 20


def target_rows(
    execution: TableFrames,
    files: pa.Table,
    row_ids: RowIdColumns | None,
    first: int = 0,
    stored: Mapping[str, str] | None = None,
) -> DataFrame:
    """Return the live rows of files: the columns of the table, FILE and POSITION, and ROW_ID if `row_ids` is given.

    Columns of type char(n) are padded, as in Spark's expressions.

    Args:
        execution: Reads the rows.
        files: `DataFiles.listed` of the files.
        row_ids: The columns of materialized row ids; None without row tracking.
        first: The index of the first file.
        stored: By column, the name of an additional column with its stored value, without padding.
    """
    frame = execution.located_rows(files, row_ids, (FILE, POSITION, ROW_ID), first)
    beside = [FILE, POSITION, *([] if row_ids is None else [ROW_ID])]
    return _as_read(execution, frame, stored or {}, beside)


def plain_rows(execution: TableFrames, files: pa.Table, stored: Mapping[str, str] | None = None) -> DataFrame:
    """Return the live rows of files like `target_rows`, without FILE, POSITION and ROW_ID.

    Spark reads them faster, since it does not look up the file of each row.
    """
    return _as_read(execution, execution.live_rows(files), stored or {}, [])


def _as_read(execution: TableFrames, frame: DataFrame, stored: Mapping[str, str], beside: Sequence[str]) -> DataFrame:
    """The rows with padded char(n) columns, and the stored values of the columns in `stored`."""
    again = [F.col(quoted_name(name)).alias(alias) for name, alias in stored.items()]
    frame = frame.select("*", *again)
    kept = [*map(F.col, beside), *map(F.col, stored.values())]
    return with_declared_lengths(frame, execution.snapshot.schema, kept)


class PersistedRows(NewRows):
    """The changed rows of a statement, in a DataFrame that is persisted when it is first used, until `release`.

    Args:
        execution: Reads and writes rows of the table.
        frame: One row for each changed row: CHANGE, FILE and POSITION, ROW_ID if the table has row tracking, and the
            columns of the table under logical names. Deleted rows need no values, inserted rows no FILE and POSITION.
        updates: The plan by which updated rows are written; None if there are none.
        inserts: The plan by which inserted rows are written; None if there are none. Columns with a default must be in
            `frame`, since an expression such as uuid() has a new value at each evaluation.
        old: For each column that an update changes, the column of `frame` with the stored value; None if `frame` has
            no such columns.
        once: Whether the rows are used only once, by `write` without row ids, and need not be persisted. Then `frame`
            needs only CHANGE and the columns of the table.

    Attributes:
        most_rows: Upper limit of the number of rows; None if it is unknown.
    """

    def __init__(
        self,
        execution: TableFrames,
        frame: DataFrame,
        updates: RowPlan | None = None,
        inserts: RowPlan | None = None,
        old: Mapping[str, str] | None = None,
        once: bool = False,
    ) -> None:
        self._execution = execution
        self._source = frame
        self._plans = {change: plan for change, plan in (("update", updates), ("insert", inserts)) if plan is not None}
        self._old = old
        self._once = once
        self.most_rows: int | None = None
        self._release: Callable[[], object] | None = None
        # Files of rows that are read again.
        self._alone: tuple[AddFile, ...] = ()

    @property
    def has_old_values(self) -> bool:
        return self._old is not None

    @cached_property
    def frame(self) -> DataFrame:
        """The persisted rows."""
        if self._once:
            return self._source
        held, self._release = held_rows(self._source)
        return held

    def release(self) -> None:
        """Release the persisted rows."""
        release, self._release = self._release, None
        if release is not None:
            release()

    def parts(self) -> Iterator[tuple[str, DataFrame, RowPlan]]:
        """Yield rows to write: their kind of change, the rows with ROW_ID, and the plan by which they are written."""
        for change, plan in self._plans.items():
            yield change, self.frame.where(F.col(CHANGE) == change), plan

    def is_read_again(self, change: str, plan: RowPlan) -> bool:
        """Whether rows are written separately and read back for the change data feed: their values cannot be repeated.

        change: The kind of change. plan: The plan by which the rows are written.
        """
        return any(column.origin == "identity" for column in plan.columns)

    def positions(self, files: int, changes: Collection[str]) -> dict[str, RowPositions]:
        """Return, for each kind of change, the positions of rows in each file, from 0 to `files` - 1.

        The call runs the job that finds the rows. Tasks return a bit for each row of a block in which a row changes.

        Raises:
            InvalidArgument: An expression fails for a row.
        """
        with row_errors_named(self.frame.sparkSession, self._execution.snapshot.table_root):
            rows = self.frame.where(F.col(FILE) < files)
            return collected_positions(rows, FILE, POSITION, CHANGE, files, changes)

    def write(self, copied: RowsOfFiles | None, row_ids: RowIdColumns | None, layout: DataFileLayout) -> WrittenRows:
        extra = tuple(field.name for field in layout.extra)
        rows: list[RowsToWrite] = []
        alone: list[RowsToWrite] = []
        for change, frame, plan in self.parts():
            if row_ids is not None:
                kept = {row_ids.row_id: F.col(ROW_ID), row_ids.commit_version: F.lit(None).cast("bigint")}
                frame = frame.withColumns({name: kept[name] for name in extra})
            (alone if self.is_read_again(change, plan) else rows).append((frame, replace(plan, carried=extra)))
        if rows and not alone and self._writes_here(copied, layout):
            with suppressed_if_too_large():
                return self._written_here(rows, copied, row_ids, layout)
        tasks = None
        if copied is not None:
            rows.append(self._copied(copied, row_ids, layout))
            tasks = max(len(copied.files), -(-copied.size_in_bytes // _TASK_BYTES), 1)
        done = [write_dataframes(rows, layout, tasks)] if rows else []
        together = len(done)
        try:
            for each in alone:
                done.append(write_dataframes([each], layout))
        except BaseException:
            for written in done:
                written.delete(layout.storage, layout.root)
            raise
        if len(done) == 1 == together:
            return done[0]
        self._alone = tuple(file for written in done[together:] for file in written.files)
        identities = {name: state for written in done for name, state in written.identities.items()}
        files = tuple(file for written in done for file in written.files)
        return WrittenRows(files, sum(written.rows for written in done), identities)

    def _writes_here(self, copied: RowsOfFiles | None, layout: DataFileLayout) -> bool:
        """Whether this process writes all rows: it copies unchanged rows, and collects the others from Spark."""
        if self.most_rows is None or not is_little_to_collect(self.most_rows, layout.schema):
            return False
        if not can_collect(self._execution.session, layout):
            return False
        return copied is None or self._execution.copies_here([copied], layout.schema)

    def _written_here(
        self,
        rows: Sequence[RowsToWrite],
        copied: RowsOfFiles | None,
        row_ids: RowIdColumns | None,
        layout: DataFileLayout,
    ) -> WrittenRows:
        """Write all rows in this process. Spark computes the changed rows while this process copies the others."""
        arrow = ArrowExecution(self._execution.snapshot, self._execution.time_zone)
        with ThreadPoolExecutor(1, "deltaskip") as pool:
            changed = pool.submit(collected_rows, rows, layout)
            parts = [] if copied is None else [copied]
            kept = arrow.rows(parts, layout.schema, row_ids, layout.mapping_mode)
            new = (batch for table in [changed] for batch in table.result().to_batches())
            return write_data_files(chain(kept, new), layout, divided=True)

    def write_changes(self, before: Sequence[RowsOfFiles], layout: DataFileLayout) -> WrittenRows:
        """Rows whose values cannot be repeated are read from their files."""
        rows = list(self._images(layout))
        parts = list(before)
        if self._alone:
            fields, mode = layout.partition_fields(), layout.mapping_mode
            added = new_files(self._execution.snapshot, fields, mode, self._alone)
            parts.append(RowsOfFiles(added, change="insert"))
        rows += [self._copied(part, None, layout) for part in parts]
        return write_dataframes(rows, layout)

    def _images(self, layout: DataFileLayout) -> Iterator[RowsToWrite]:
        extra = (CHANGE_TYPE,)
        if self._old is not None:
            plan = copying_plan(self._execution.snapshot.root, layout.schema, layout.partition_columns, extra)
            names = [field.name for field in layout.schema.fields]
            columns = [F.col(quoted_name(self._old.get(name, name))).alias(name) for name in names]
            frame = self.frame.where(F.col(CHANGE) == "update")
            yield frame.select(*columns, F.lit("update_preimage").alias(*extra)), plan
        for change, frame, plan in self.parts():
            if self.is_read_again(change, plan):
                continue
            kind = "update_postimage" if change == "update" else change
            yield frame.withColumn(CHANGE_TYPE, F.lit(kind)), replace(plan, carried=extra)

    def _copied(self, part: RowsOfFiles, row_ids: RowIdColumns | None, layout: DataFileLayout) -> RowsToWrite:
        frame = self._execution.part(part, layout.schema, row_ids, layout)
        extra = [field.name for field in layout.extra]
        root = self._execution.snapshot.root
        return frame, copying_plan(root, layout.schema, layout.partition_columns, extra)
