"""Rows of files of a table as DataFrames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from deltaskip.data_files.parquet_writer import DataFileLayout
from deltaskip.dml.execution import RowsOfFiles
from deltaskip.dml.little_data import is_little_to_copy
from deltaskip.dml.matching import matching_here
from deltaskip.dml.positions import RowPositions
from deltaskip.features.change_data_feed import CHANGE_TYPE
from deltaskip.features.row_tracking import RowIdColumns
from deltaskip.log import Snapshot
from deltaskip.log.deleted_rows import read_deleted_rows
from deltaskip.schema.arrow_values import arrow_array, one_chunk
from deltaskip.schema.properties import MappingMode
from deltaskip.schema.sql_text import quoted_name
from deltaskip.schema.types import StructType
from deltaskip.skipping.scan import Scan
from deltaskip.spark.columns.spark_types import spark_schema
from deltaskip.spark.read.dataframe import StoredTable, source_of
from deltaskip.spark.read.parquet_scans import PositionalRows, ScanSettings, live_rows, rows_at, rows_by_path
from deltaskip.spark.session.active import in_ansi
from deltaskip.spark.session.checks import runs_locally

_POSITION = "__deltaskip_position"
_BASE = "__deltaskip_base_row_id"
_VERSION = "__deltaskip_commit_version"


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
        return str(self._spark.conf.get("spark.sql.session.timeZone"))

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
        """The rows of files that are not deleted, in the table's columns."""
        snapshot = self._snapshot

        def deleted(files: pa.Table) -> list[pa.Int64Array | None]:
            return read_deleted_rows(snapshot.storage, snapshot.table_root, files)

        return live_rows(self._source(files, snapshot.schema, snapshot.mapping_mode), files, deleted)

    def located_rows(
        self,
        files: pa.Table,
        row_ids: RowIdColumns | None,
        names: tuple[str, str, str],
        first: int = 0,
    ) -> DataFrame:
        """Return the rows that are not deleted with the file, position and row id of each.

        Args:
            files: `DataFiles.listed` of the files.
            row_ids: The columns of materialized row ids; None to return no row ids.
            names: Names of the columns with the number of the file, the position and the row id.
            first: The number of the first file.
        """
        file, position, row_id = names
        snapshot = self._snapshot
        values = {file: arrow_array(np.arange(first, first + len(files), dtype=np.int64))}
        where = self._deleted(files)
        if row_ids is None:
            return self._rows(files, snapshot.schema, snapshot.mapping_mode, where, False, position, values)
        values[_BASE] = one_chunk(files["base_row_id"])
        stored = [row_ids.row_id]
        frame = self._rows(files, snapshot.schema, snapshot.mapping_mode, where, False, position, values, stored)
        found = F.expr(row_ids.row_id_sql(_BASE, position)).alias(row_id)
        columns = [F.col(quoted_name(field.name)) for field in snapshot.schema.fields]
        return frame.select(*columns, F.col(position), F.col(file), found)

    def rows_by_path(
        self, files: pa.Table, row_ids: RowIdColumns | None, path: str, position: str
    ) -> tuple[DataFrame, ScanSettings]:
        """The rows of files that are not deleted, with the path of their file and their position in it.

        Files without deleted rows are joined with nothing; `with_values_of_files` tells the rows that are left their
        file, for which the scans' settings are returned too.

        Args:
            files: `DataFiles.listed` of the files.
            row_ids: The columns of materialized row ids; the first is returned. None to return none.
            path: Name of the column with the path.
            position: Name of the column with the position.
        """
        stored = [] if row_ids is None else [row_ids.row_id]
        snapshot = self._snapshot
        source = self._source(files, snapshot.schema, snapshot.mapping_mode, stored)
        wanted = PositionalRows(self._deleted(files), False, position, path, stored=stored)
        return rows_by_path(source, wanted), source

    def part(
        self, part: RowsOfFiles, schema: StructType, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> DataFrame:
        """Rows of files in the columns of a schema, with the row ids or the kind of change that the layout adds."""
        positions = self._deleted(part.files) if part.positions is None else part.positions
        columns = [F.col(quoted_name(field.name)) for field in schema.fields]
        mode = layout.mapping_mode
        if row_ids is None:
            frame = self._rows(part.files, schema, mode, positions, part.only)
            change = [] if part.change is None else [F.lit(part.change).alias(CHANGE_TYPE)]
            return frame.select(*columns, *change)
        values = {_BASE: one_chunk(part.files["base_row_id"])}
        values[_VERSION] = one_chunk(part.files["default_row_commit_version"])
        stored = [row_ids.row_id, row_ids.commit_version]
        frame = self._rows(part.files, schema, mode, positions, part.only, _POSITION, values, stored)
        ids = F.expr(row_ids.row_id_sql(_BASE, _POSITION)).alias(row_ids.row_id)
        version = F.expr(row_ids.commit_version_sql(_VERSION)).alias(row_ids.commit_version)
        return frame.select(*columns, ids, version)

    def matching_here(self, scan: Scan, files: pa.Table) -> RowPositions | None:
        """The rows that match, found by this process if there is little to read; None if a job must find them."""
        # This process evaluates as ANSI mode does.
        return matching_here(scan, files, self.time_zone) if in_ansi(self._spark) else None

    def copies_here(self, parts: Sequence[RowsOfFiles], schema: StructType) -> bool:
        """Whether this process copies rows sooner than a job does."""
        return is_little_to_copy(self._snapshot, parts, schema, runs_locally(self._spark.conf.get("spark.master", "")))

    def _rows(
        self,
        files: pa.Table,
        schema: StructType,
        mode: MappingMode,
        positions: Sequence[pa.Int64Array] | None,
        only: bool = False,
        position: str | None = None,
        values: Mapping[str, pa.Array] | None = None,
        stored: Sequence[str] = (),
    ) -> DataFrame:
        source = self._source(files, schema, mode, stored)
        return rows_at(source, PositionalRows(positions, only, position, values=values or {}, stored=stored))

    def _source(
        self, files: pa.Table, schema: StructType, mode: MappingMode, stored: Sequence[str] = ()
    ) -> ScanSettings:
        table = replace(StoredTable.of(self._snapshot, schema), mapping_mode=mode)
        source = source_of(self._spark, table, files)
        for name in stored:
            source.data.add(name, spark_types.LongType())
        return source

    def _deleted(self, files: pa.Table) -> list[pa.Int64Array] | None:
        """The deleted rows of each file; None if there are none."""
        vectors = one_chunk(files["deletion_vector"])
        if vectors.null_count == len(vectors):
            return None
        snapshot = self._snapshot
        nothing = arrow_array([], pa.int64())
        found = read_deleted_rows(snapshot.storage, snapshot.table_root, files)
        return [nothing if rows is None else rows for rows in found]
