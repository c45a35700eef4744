"""Execution of a change of rows by an engine: it finds the rows that match, and writes rows of files into new files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import pyarrow as pa

from deltaskip.data_files.parquet_writer import DataFileLayout
from deltaskip.data_files.written_rows import WrittenRows
from deltaskip.dml.positions import RowPositions
from deltaskip.features.row_tracking import RowIdColumns
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.rows.plan import PlannedColumn, RowPlan
from deltaskip.rows.store import stored, written_type
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr.meaning import SessionMeaning
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.types import VOID, StructField, StructType

if TYPE_CHECKING:
    from deltaskip.dml.assignments import Assignments
    from deltaskip.dml.changed_rows import ChangedRows
    from deltaskip.dml.files_to_change import FilesToChange

MARKED = "__deltaskip_marked"
"""The column of rows of files that are `marked`."""

ChangeType = Literal["delete", "insert", "update_preimage", "update_postimage"]


@dataclass(frozen=True, slots=True)
class RowsOfFiles:
    """Rows of data files: some, all others, or all of them.

    Attributes:
        files: `DataFiles.listed` of the files.
        positions: For each file the positions of rows in it, ascending; None to take every row that is not deleted.
        only: Whether the rows at these positions are taken, instead of all other rows.
        marked: Whether all rows are taken instead, and the column `MARKED` tells which are at these positions; only
            without Spark.
        change: The kind of change that the rows are written as, in the column `_change_type`; None without the column.
        size_in_bytes: Size of the files; 0 if it does not matter.
        copied_groups: Indexes of row groups that need not be read, since they were copied, by the URI of their file;
            their rows are among the positions, unless the rows are `marked`.
    """

    files: pa.Table
    positions: Sequence[pa.Int64Array] | None = None
    only: bool = False
    marked: bool = False
    change: ChangeType | None = None
    size_in_bytes: int = 0
    copied_groups: Mapping[str, Sequence[int]] = dataclasses.field(default_factory=dict)


class ChangingEngine(Protocol):
    """An engine that changes rows."""

    def row_execution(self, session: Any, snapshot: Snapshot) -> RowExecution:
        """Return the execution of a session, or of a DataFrame's session, over the rows of a snapshot."""


class RowExecution(Protocol):
    """Finds rows in a table's files and writes new files; implemented with pyarrow, and with Spark jobs."""

    @property
    def time_zone(self) -> str:
        """The time zone in which predicates are evaluated."""

    def meaning(self, where: str) -> SessionMeaning | None:
        """How the session understands a predicate; None without a session."""

    def planned(self, scan: Scan) -> Scan:
        """The scan under the collations of this engine, with a predicate that is resolved completely.

        Raises:
            UnsupportedFeature: The predicate can only be evaluated by Spark.
            PredicateError: Spark refuses the predicate.
        """

    def matching(self, scan: Scan, files: pa.Table) -> RowPositions:
        """The live rows of each file for which the predicate of the scan is TRUE.

        files: `DataFiles.listed`. Memory is bounded by a bit for each row of the files.

        Raises:
            UnsupportedFeature: The predicate can only be evaluated by Spark.
            PredicateError: The predicate fails for a row.
            StorageError: A file cannot be read.
        """

    def copies_here(self, parts: Sequence[RowsOfFiles], schema: StructType) -> bool:
        """Whether this process copies rows into new files, and not jobs.

        Args:
            parts: The rows.
            schema: Their columns.
        """

    def updates(
        self, scan: Scan, change: FilesToChange, assignments: Assignments, row_ids: RowIdColumns | None, feed: bool
    ) -> ChangedRows:
        """Find the rows for which the predicate of the scan is TRUE, with their new values.

        Args:
            scan: The scan.
            change: Its files, from `files_to_change`; no condition is evaluated in files that lose all rows.
            assignments: The new values of the columns.
            row_ids: The columns of materialized row ids; None if rows have no stable ids.
            feed: Whether the rows are also written to change data files.

        Raises:
            PredicateError: The predicate or a new value is not valid, or fails for a row.
            SchemaError: A new value has a type that its column cannot store.
            UnsupportedFeature: An expression can only be evaluated by Spark.
            StorageError: A file cannot be read.
        """

    def write(
        self, parts: Sequence[RowsOfFiles], schema: StructType, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> WrittenRows:
        """Write the rows of all parts as new files. After an error no file is left.

        Args:
            parts: The rows.
            schema: The schema to read them with; columns that a file lacks are null.
            row_ids: Where to write row ids, which `layout.extra` lists too; None to write none.
            layout: The place and the contents of the files.
        """

    def write_planned(
        self, files: pa.Table, schema: StructType, plan: RowPlan, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> WrittenRows:
        """Write the live rows of files as a plan computes them. After an error no file is left.

        Args:
            files: `DataFiles.listed`.
            schema: The schema to read them with.
            plan: Computes the new rows; it carries the columns of `row_ids`.
            row_ids: Where to write row ids, which `layout.extra` lists too; None to write none.
            layout: The place and the contents of the files.

        Raises:
            RowViolation: A row violates a rule of the plan.
        """


def copying_plan(table: str, schema: StructType, partition_columns: Sequence[str], extra: Sequence[str]) -> RowPlan:
    """Return the plan by which rows of a table are written into it again as they are, without checking rules."""
    columns = []
    for field in schema.fields:
        if field.type != VOID:
            path = (field.name,)
            written = StructField(field.name, written_type(field.type, path, table), field.nullable, field.metadata)
            sql = stored(quoted_name(field.name), field.type, written.type, path)
            columns.append(PlannedColumn(written, "given", sql, field))
    return RowPlan(table, schema, tuple(columns), partition_columns=tuple(partition_columns), carried=tuple(extra))
