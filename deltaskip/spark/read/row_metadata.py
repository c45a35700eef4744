"""Rows with the column `_metadata`: where each row is stored, and its row id."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from deltaskip.dml.execution import row_id_columns
from deltaskip.engine import ListedScan
from deltaskip.errors import InvalidArgument
from deltaskip.log.deleted_rows import read_deleted_rows
from deltaskip.schema.arrow_values import arrow_array, one_chunk
from deltaskip.schema.sql_text import quoted_name
from deltaskip.spark.columns.types import spark_schema
from deltaskip.spark.read.dataframe import StoredTable, matching, read_schema, source_of
from deltaskip.spark.read.parquet_scans import PositionalRows, rows_at
from deltaskip.spark.read.projection import with_declared_lengths

__all__ = ["METADATA", "with_metadata"]

METADATA = "_metadata"
"""Name of the column, which is that of Spark's and Delta's hidden one."""

_PATH = "__deltaskip_file_path"
_POSITION = "__deltaskip_row_index"
_BASE = "__deltaskip_base_row_id"
_VERSION = "__deltaskip_default_version"


def with_metadata(spark: SparkSession, scan: ListedScan, listing: bool = True) -> DataFrame:
    """Return the rows that match the scan, planned for the session, with the column `_metadata` behind its columns.

    listing: as of Scan.to_spark.
    # PROTOCOL, Row Tracking: the id of a row is the materialized one, else the base row id of its file plus its
    # position; its commit version is the materialized one, else the default of its file.
    Raises InvalidArgument if the table has a column of this name.
    """
    snapshot = scan.snapshot
    schema = read_schema(scan)
    taken = next((field.name for field in snapshot.schema.fields if field.name.lower() == METADATA), None)
    if taken is not None:
        raise InvalidArgument(
            f"metadata=True adds the column {METADATA}, but version {snapshot.version} of {snapshot.root} has the "
            f"column {taken!r}: rename it, or read the table without metadata."
        )
    files = scan.files()
    ids = row_id_columns(snapshot.table_properties)
    names = ["file_path", "row_index", *(("row_id", "row_commit_version") if ids is not None else ())]
    if not len(files):
        return _empty(spark, scan, names)
    source = source_of(spark, StoredTable.of(snapshot, schema), files, listing=listing)
    stored = [] if ids is None else [ids.row_id, ids.commit_version]
    for name in stored:
        source.data.add(name, spark_types.LongType())
    values = {}
    if ids is not None:
        values = {_BASE: one_chunk(files["base_row_id"]), _VERSION: one_chunk(files["default_row_commit_version"])}
    deleted = _deleted(scan, files)
    frame = rows_at(source, PositionalRows(deleted, False, _POSITION, _PATH, values, stored))
    fields = [F.col(_PATH), F.col(_POSITION)]
    if ids is not None:
        fields.append(F.coalesce(F.col(quoted_name(ids.row_id)), F.col(_BASE) + F.col(_POSITION)))
        fields.append(F.coalesce(F.col(quoted_name(ids.commit_version)), F.col(_VERSION)))
    struct = F.struct(*(column.alias(name) for column, name in zip(fields, names, strict=True))).alias(METADATA)
    frame = frame.select(*(F.col(quoted_name(field.name)) for field in schema.fields), struct)
    return _selected(scan, with_declared_lengths(frame, schema, [F.col(METADATA)]))


def _selected(scan: ListedScan, frame: DataFrame) -> DataFrame:
    snapshot = scan.snapshot
    frame = matching(frame, snapshot.table_root, snapshot.schema, scan.where, None)
    if scan.columns is None:
        return frame
    columns: list[Column] = [F.col(quoted_name(name)) for name in scan.columns]
    return frame.select(*columns, F.col(METADATA))


def _empty(spark: SparkSession, scan: ListedScan, names: list[str]) -> DataFrame:
    types = [spark_types.StringType(), *(spark_types.LongType() for _ in names[1:])]
    members = [spark_types.StructField(name, kind) for name, kind in zip(names, types, strict=True)]
    schema = spark_schema(read_schema(scan)).add(METADATA, spark_types.StructType(members))
    return _selected(scan, spark.createDataFrame([], schema))


def _deleted(scan: ListedScan, files: pa.Table) -> list[pa.Int64Array] | None:
    """The deleted rows of each file; None if there are none."""
    vectors = files["deletion_vector"]
    if vectors.null_count == len(vectors):
        return None
    snapshot = scan.snapshot
    found = read_deleted_rows(snapshot.storage, snapshot.table_root, files)
    return [arrow_array([], pa.int64()) if rows is None else rows for rows in found]
