"""Changed rows of a statement in a DataFrame: found and computed by one job, persisted, and written from there.

So are the rows of a MERGE's source that jobs join, when they are first needed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
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
from deltaskip.lazy_regex import regex
from deltaskip.rows.plan import RowPlan
from deltaskip.skipping.joins.source_keys import KeyValues, SourceKey, key_literals, most_values
from deltaskip.spark.columns.to_column import to_column
from deltaskip.spark.dml.table_frames import TableFrames
from deltaskip.spark.read.bitmaps import collected_positions
from deltaskip.spark.read.dataframe import with_declared_lengths
from deltaskip.spark.session.error_conversion import row_errors_named, suppressed_if_too_large
from deltaskip.spark.session.releases import held_rows, persisted_rows
from deltaskip.spark.session.session_settings import described_jobs
from deltaskip.spark.write.write_dataframe import RowsToWrite, can_collect, collected_rows, write_dataframes
from deltaskip.sparkexpr import ColumnExpr, to_node
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.values import exactly
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.sparkexpr.values.calendar import parse_timestamp_ntz

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


SOURCE_ROW = "__deltaskip_source_row"
"""The index of a row of the source."""

# Bytes of a value of a DataFrame in memory, if Spark does not report them.
_VALUE_BYTES = 40

# Spark 4.1, JavaUtils.byteStringAsBytes
_SIZE = regex(r"\s*(\d+)([kmgtp]?)b?\s*")
_UNITS = ("", "k", "m", "g", "t", "p")

# A side of the join of at most this size is sent to every task.
_BROADCAST_BYTES = 64 << 20


class PersistedSource:
    """A DataFrame whose rows are numbered and persisted, so that every job of a merge reads the same rows.

    Args:
        session: The session, classic or Connect.
        data: The DataFrame.
        alias: The name of the source in expressions; None for the DataFrame's alias.
        table: The table that is merged into, for messages.
        as_literals: Returns an expression that compares strings of the source as literals; None for no change.
    """

    def __init__(
        self,
        session: SparkSession,
        data: DataFrame,
        alias: str | None,
        table: str,
        as_literals: Callable[[Any], Node] | None = None,
    ) -> None:
        self.session = session
        self._as_literals = as_literals
        self._table = table
        self._data = data
        self._alias = alias
        self._count: int | None = None
        self._kept: list[Callable[[], object]] = []

    @cached_property
    def rows(self) -> DataFrame:
        """The persisted rows, each with its index."""
        return self.kept(self.numbered)

    @property
    def numbered(self) -> DataFrame:
        """The rows without persistence, each with its index."""
        return self._data.select("*", F.monotonically_increasing_id().alias(SOURCE_ROW))

    def named(self, rows: DataFrame) -> DataFrame:
        """Return rows under the alias of the source."""
        return rows if self._alias is None else rows.alias(self._alias)

    def column(self, value: Any) -> Column:
        """Return an expression of the caller as a Column."""
        value = value if self._as_literals is None else self._as_literals(value)
        if isinstance(value, str):
            return F.expr(value)
        found: Column = to_column(to_node(value)) if isinstance(value, ColumnExpr | Node) else value
        return found

    def kept(self, frame: DataFrame) -> DataFrame:
        """Return the frame, persisted until `release`."""
        rows, release = persisted_rows(frame)
        self._kept.append(release)
        return rows

    def count(self) -> int:
        """Return the number of rows."""
        if self._count is None:
            self.key_values([], False)
        assert self._count is not None
        return self._count

    @property
    def join_hint(self) -> str | None:
        """The hint for a join with the source: whether to send it to every task; None if Spark is to decide.

        Spark collects a side before it sends it, which it must not do if the driver may not have as many bytes.
        """
        self.count()
        size = _size_in_bytes(self.rows, self.count())
        if size > _BROADCAST_BYTES:
            return None
        return "broadcast" if size <= _most_collected(self.session) // 2 else "merge"

    def key_values(self, keys: Sequence[SourceKey], distinct: bool) -> list[KeyValues]:
        """Return the least and greatest value of each key, with all values if `distinct` and they are few."""
        described = described_jobs(self.session, "compute the source of a merge")
        with row_errors_named(self.session, f"the source of the merge into {self._table}", "read"), described:
            self._count, found = _key_values(self.rows, keys, distinct, self._count)
        return found

    def release(self) -> None:
        """Release the persisted rows."""
        for release in self._kept:
            release()


def _key_values(
    rows: DataFrame, keys: Sequence[SourceKey], distinct: bool, count: int | None
) -> tuple[int, list[KeyValues]]:
    """Return the number of rows, and the values of each key.

    Args:
        rows: The persisted rows.
        keys: The keys.
        distinct: Whether to return all values of keys that are compared for equality, if they are few.
        count: The number of rows, if it is known.
    """
    columns = [to_column(key.node) for key in keys]
    wanted = [F.count(F.lit(1))]
    for key, column in zip(keys, columns, strict=True):
        wanted += [_sent(F.min(column), key.type), _sent(F.max(column), key.type), F.count(F.when(column.isNull(), 1))]
    [row] = rows.select(*(wanted if count is None or keys else [F.lit(count)])).limit(1).collect()
    found = []
    for i, key in enumerate(keys):
        least, greatest = (_received(value, key.type) for value in row[1 + 3 * i : 3 + 3 * i])
        values = None
        exact = distinct and key.equal and key.type not in t.FLOATING
        if exact and row[0] <= most_values(key.type) and least is not None:
            values = _distinct(rows, columns[i], key.type)
        found.append(KeyValues(least, greatest, row[3 + 3 * i] > 0, values))
    return row[0], found


def _size_in_bytes(rows: DataFrame, count: int) -> int:
    """Return the size of persisted rows in memory, as Spark measured it or, through Spark Connect, estimated."""
    java = getattr(rows, "_jdf", None)
    if java is None:
        return count * len(rows.columns) * _VALUE_BYTES
    return int(str(java.queryExecution().optimizedPlan().stats().sizeInBytes()))


def _most_collected(spark: SparkSession) -> int:
    """Return the most bytes that jobs of a session may return to the driver."""
    found = _SIZE.fullmatch(str(spark.conf.get("spark.driver.maxResultSize", "1g")).lower())
    size = 0 if found is None else int(found[1]) << (10 * _UNITS.index(found[2]))
    # 0 is no limit.
    return size or 1 << 62


def _distinct(rows: DataFrame, column: Column, type_: t.DataType) -> Sequence[Node] | None:
    values = rows.select(column.alias("key")).where(F.col("key").isNotNull()).distinct()
    sent = values.select(_sent(F.col("key"), type_).alias("key"))
    return key_literals(_collected(sent), type_, lambda found: [_received(each, type_) for each in found.to_pylist()])


def _collected(frame: DataFrame) -> pa.Array:
    if hasattr(frame, "toArrow"):
        return frame.toArrow()["key"].combine_chunks()
    return arrow_array([row[0] for row in frame.collect()])


def _sent(column: Column, type_: t.DataType) -> Column:
    """A value in a type that does not depend on time zones."""
    if type_ in t.INTEGRAL_BITS:
        return column.cast("bigint")
    if type_ == t.DATE:
        return F.unix_date(column).cast("bigint")
    if type_ == t.TIMESTAMP:
        return F.unix_micros(column)
    if type_ == t.TIMESTAMP_NTZ or isinstance(type_, t.DecimalType):
        return column.cast("string")
    return column.cast("string") if type_ == t.STRING else column


def _received(value: Any, type_: t.DataType) -> Any:
    """A value in the value domain."""
    if value is None:
        return None
    converted: Callable[[Any], Any] | None = None
    if isinstance(type_, t.DecimalType):
        converted = exactly
    elif type_ == t.TIMESTAMP_NTZ:
        converted = parse_timestamp_ntz
    elif type_ == t.BINARY:
        converted = bytes
    return value if converted is None else converted(value)
