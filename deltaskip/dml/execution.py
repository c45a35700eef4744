"""What an engine does for a change of rows: it finds the rows that match, and writes rows of files into new files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import pyarrow as pa

from deltaskip.dml.positions import RowPositions
from deltaskip.rows.parquet_files import DataFileLayout
from deltaskip.rows.plan import PlannedColumn, RowPlan
from deltaskip.rows.written import WrittenRows
from deltaskip.schema.properties import TableProperties
from deltaskip.schema.sql_text import quoted_name
from deltaskip.schema.types import LONG, STRING, VOID, StructField, StructType
from deltaskip.skipping.scan import Scan

__all__ = [
    "CHANGE_TYPE",
    "ChangeType",
    "RowExecution",
    "RowIdColumns",
    "RowsOfFiles",
    "copying_plan",
    "row_id_columns",
]

CHANGE_TYPE = StructField("_change_type", STRING)
"""The column of change files with the kind of a change.

# PROTOCOL, Change Data Files
"""

ChangeType = Literal["delete", "insert", "update_preimage", "update_postimage"]


@dataclass(frozen=True, slots=True)
class RowIdColumns:
    """Names of the columns in which rewritten files have the row ids and row commit versions of their rows.

    # PROTOCOL, Row Tracking, materialized row ids
    """

    row_id: str
    commit_version: str

    @property
    def fields(self) -> tuple[StructField, StructField]:
        """The columns as fields of a schema."""
        return StructField(self.row_id, LONG), StructField(self.commit_version, LONG)


@dataclass(frozen=True, slots=True)
class RowsOfFiles:
    """Rows of data files: all but some, or only some.

    Attributes:
        files: `DataFiles.listed` of the files.
        positions: For each file the positions of rows in it, ascending; None to take every row that is not deleted.
        only: Whether the rows at these positions are taken, instead of those at all other positions.
        change: The kind of change that the rows are written as, in the column `_change_type`; None without the column.
    """

    files: pa.Table
    positions: Sequence[pa.Int64Array] | None = None
    only: bool = False
    change: ChangeType | None = None


class RowExecution(Protocol):
    """Reads rows of a table's files. Implemented with pyarrow in this process, and with Spark."""

    @property
    def time_zone(self) -> str:
        """The time zone in which predicates are evaluated."""
        ...

    def planned(self, scan: Scan) -> Scan:
        """The scan for the collations by which this engine compares."""
        ...

    def matching(self, scan: Scan, files: pa.Table) -> RowPositions:
        """The live rows of each file for which the predicate of the scan is TRUE.

        files: `DataFiles.listed`. Memory is bounded by a bit for each row of the files.

        Raises:
            UnsupportedFeature: The predicate can only be evaluated by Spark.
            PredicateError: The predicate fails for a row.
            StorageError: A file cannot be read.
        """
        ...

    def write(
        self, parts: Sequence[RowsOfFiles], schema: StructType, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> WrittenRows:
        """Write the rows of all parts as new files. After an error no file is left.

        Args:
            parts: The rows.
            schema: The schema to read them with; columns that a file lacks are null.
            row_ids: Where to write row ids, which `layout.extra` lists too; None to write none.
            layout: Where the files go, and what they contain.
        """
        ...


def copying_plan(table: str, schema: StructType, partition_columns: Sequence[str], extra: Sequence[str]) -> RowPlan:
    """Return the plan by which rows of a table are written into it again as they are, without checking rules."""
    columns = tuple(
        PlannedColumn(field, "given", quoted_name(field.name), field) for field in schema.fields if field.type != VOID
    )
    return RowPlan(table, schema, False, {}, tuple(partition_columns), columns, (), tuple(extra))


def row_id_columns(properties: TableProperties) -> RowIdColumns | None:
    """Return the columns of materialized row ids; None if rows of the table have no stable ids."""
    names = properties.row_id_column, properties.row_commit_version_column
    if not properties.row_tracking or None in names:
        return None
    return RowIdColumns(str(names[0]), str(names[1]))
