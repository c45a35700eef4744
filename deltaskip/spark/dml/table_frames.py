"""Rows of files of a table as DataFrames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from deltaskip.data_files.parquet_writer import DataFileLayout
from deltaskip.dml.execution import RowsOfFiles
from deltaskip.dml.little_data import is_little_to_copy
from deltaskip.dml.matching import matching_here
from deltaskip.dml.positions import RowPositions
from deltaskip.features.change_data_feed import CHANGE_TYPE
from deltaskip.features.row_tracking import RowIdColumns
from deltaskip.log import Snapshot
from deltaskip.reading.read_plan import (
    BASE_ROW_ID,
    DEFAULT_COMMIT_VERSION,
    ReadPlan,
    StoredTable,
    WantedRows,
    deleted_rows,
    row_id_values,
)
from deltaskip.skipping.scan import Scan
from deltaskip.spark.columns.spark_types import spark_schema
from deltaskip.spark.read.parquet_scans import scanned_rows
from deltaskip.spark.read.session_facts import listing_of
from deltaskip.spark.session.active import time_zone_of
from deltaskip.spark.session.checks import runs_locally
from deltaskip.spark.session.own_texts import selected
from deltaskip.sparkexpr.text.sql_text import quoted_name
from deltaskip.sparkexpr.types import StructType
from deltaskip.sparkexpr.values.arrow_values import arrow_array

_POSITION = "__deltaskip_position"


class TableFrames:
    """Rows of files of a table as DataFrames.

    Args:
        spark: A session, classic or Connect.
        snapshot: The table.
    """

    def __init__(self, spark: SparkSession, snapshot: Snapshot) -> None:
        self._spark = spark
        self._snapshot = snapshot

    @property
    def time_zone(self) -> str:
        """The time zone of the session."""
        return time_zone_of(self._spark)

    @property
    def session(self) -> SparkSession:
        """The session."""
        return self._spark

    @property
    def snapshot(self) -> Snapshot:
        """The table."""
        return self._snapshot

    def no_rows(self) -> DataFrame:
        """A DataFrame with the table's columns and no rows."""
        return self._spark.createDataFrame([], spark_schema(self._snapshot.schema))

    def live_rows(self, files: pa.Table) -> DataFrame:
        """The live rows of files, in the table's columns."""
        return scanned_rows(self._spark, self._plan(files, WantedRows(deleted_rows(self._snapshot, files))))

    def located_rows(
        self, files: pa.Table, row_ids: RowIdColumns | None, names: tuple[str, str, str], first: int = 0
    ) -> DataFrame:
        """Return the live rows of files with the file, position and row id of each.

        Args:
            files: `DataFiles.listed` of the files.
            row_ids: The columns of materialized row ids; None to return no row ids.
            names: Names of the columns with the index of the file, the position and the row id.
            first: The index of the first file.
        """
        file, position, row_id = names
        values = {file: arrow_array(np.arange(first, first + len(files), dtype=np.int64))}
        deleted = deleted_rows(self._snapshot, files)
        if row_ids is None:
            return scanned_rows(self._spark, self._plan(files, WantedRows(deleted, position=position, values=values)))
        values |= row_id_values(files)
        wanted = WantedRows(deleted, position=position, values=values, own=row_ids.fields)
        frame = scanned_rows(self._spark, self._plan(files, wanted))
        columns = map(quoted_name, (*self._snapshot.schema.names, position, file))
        found = row_ids.row_id_sql(BASE_ROW_ID, position)
        return selected(frame, *columns, f"{found} AS {quoted_name(row_id)}")

    def rows_by_path(
        self, files: pa.Table, row_ids: RowIdColumns | None, path: str, position: str
    ) -> tuple[DataFrame, ReadPlan]:
        """The live rows of files, with the path of their file and their position in the file.

        Files without deleted rows need no join. The plan of the read is also returned: `with_values_of_files` takes it,
        and adds values of the file to the rows that the caller keeps.

        Args:
            files: `DataFiles.listed` of the files.
            row_ids: The columns of materialized row ids; the first is returned. None to return none.
            path: Name of the column with the path.
            position: Name of the column with the position.
        """
        own = () if row_ids is None else row_ids.fields[:1]
        wanted = WantedRows(deleted_rows(self._snapshot, files), position=position, path=path, own=own)
        plan = self._plan(files, wanted)
        return scanned_rows(self._spark, plan), plan

    def part(
        self, part: RowsOfFiles, schema: StructType, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> DataFrame:
        """Rows of files in the columns of a schema, with the row ids or the kind of change that the layout adds."""
        files = part.files
        positions = deleted_rows(self._snapshot, files) if part.positions is None else part.positions
        table = replace(StoredTable.of(self._snapshot, schema), mapping_mode=layout.mapping_mode)
        columns = [*map(quoted_name, schema.names)]
        if row_ids is None:
            frame = scanned_rows(self._spark, self._plan(files, WantedRows(positions, part.only), table))
            change = [] if part.change is None else [F.lit(part.change).alias(CHANGE_TYPE)]
            return frame.select(*columns, *change)
        wanted = WantedRows(positions, part.only, _POSITION, values=row_id_values(files), own=row_ids.fields)
        frame = scanned_rows(self._spark, self._plan(files, wanted, table))
        ids = f"{row_ids.row_id_sql(BASE_ROW_ID, _POSITION)} AS {quoted_name(row_ids.row_id)}"
        version = f"{row_ids.commit_version_sql(DEFAULT_COMMIT_VERSION)} AS {quoted_name(row_ids.commit_version)}"
        return selected(frame, *columns, ids, version)

    def matching_here(self, scan: Scan, files: pa.Table) -> RowPositions | None:
        """The rows that match, found by this process if there is little to read; None if a job must find them."""
        # This process evaluates expressions in ANSI mode.
        return matching_here(scan, files, self.time_zone) if scan.in_ansi else None

    def copies_here(self, parts: Sequence[RowsOfFiles], schema: StructType) -> bool:
        """Whether this process copies rows sooner than a job does."""
        return is_little_to_copy(self._snapshot, parts, schema, runs_locally(self._spark.conf.get("spark.master", "")))

    def _plan(self, files: pa.Table, wanted: WantedRows, table: StoredTable | None = None) -> ReadPlan:
        """The plan of a read of files. table: How the rows are read; None for the table as it is."""
        table = StoredTable.of(self._snapshot, self._snapshot.schema) if table is None else table
        return ReadPlan.of(table, files, wanted, listing_of(self._spark, self._snapshot.table_root))
