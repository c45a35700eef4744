"""The rows of a scan whose files are found and read by executors. Neither files nor rows pass through the driver."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from deltaskip.reading.arrow_rows import READ_COLUMNS, row_type
from deltaskip.reading.row_group_pruning import RowGroupPruning
from deltaskip.reading.session_scan import read_by
from deltaskip.reading.stored_rows import StoredRows
from deltaskip.skipping.file_list import files_schema
from deltaskip.skipping.log_scan import LogScan
from deltaskip.spark.columns.spark_types import (
    check_returned_by_python,
    has_type,
    logical_type,
    spark_schema,
    spark_type,
)
from deltaskip.spark.planning.planned_files import planned_files
from deltaskip.spark.planning.read_task import PIECE, PIECES, rows_runner
from deltaskip.spark.read.dataframe import matching
from deltaskip.spark.read.parquet_scans import check_has_columns
from deltaskip.spark.read.session_facts import session_facts
from deltaskip.spark.session.checks import collected, cores, running_interpreter
from deltaskip.spark.session.jvm import Jvm
from deltaskip.spark.session.own_texts import check_functions
from deltaskip.spark.session.releases import without_pandas_warning
from deltaskip.spark.session.session_settings import frame_of, is_classic, java_frame
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.nodes import Opaque, columns_of, walk
from deltaskip.sparkexpr.text.sql_text import quoted_name

PIECE_BYTES = 128 << 20
"""Bytes of data files that one task reads; a larger file is read in pieces by several tasks."""

# Spark 4.1, ArrowUtils.toArrowField: the Arrow type that Spark takes for a variant.
_MARKED_VARIANT = pa.struct([each.with_metadata({"variant": "true"}) for each in t.VARIANT_STORAGE])

_CURE = "Leave out engine='spark'."


def planned_rows(spark: SparkSession, scan: LogScan) -> DataFrame:
    """Return a DataFrame of the rows that match a scan. The limit of the scan is ignored.

    One job adds up the bytes of the files, which decide how many tasks read them. Spark evaluates the predicate.

    Args:
        spark: A session, classic or Connect, whose executors reach log and data files and have this package.
        scan: The scan. It is planned again if the session has another time zone or other collations.

    Raises:
        UnsupportedFeature: Executors cannot read the log or a column.
        SchemaError: The table has no columns, or a type that Spark cannot read.
        PredicateError: Spark refuses the predicate.
        DeltaSkipError: A task of the first job fails. Spark raises other errors when the DataFrame runs.
    """
    scan = read_by(scan, session_facts(spark, scan))
    snapshot = scan.snapshot
    fields = _read_fields(scan)
    check_returned_by_python(fields, snapshot.table_root, _CURE)
    pruning = None if scan.where is None else RowGroupPruning.of(scan, files_are_known=False)
    names = [field.name for field in fields]
    stored = StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode, names, cure=_CURE, pruning=pruning)
    schema = pa.schema([pa.field(f.name, _with_marks(row_type(f, scan), f.type)) for f in fields])
    runner = rows_runner(stored, files_schema(snapshot, READ_COLUMNS), schema, snapshot.table_root)
    plain = spark_types.StructType([spark_types.StructField(f.name, spark_type(f.type)) for f in fields])
    pieces, size = _pieces(spark, scan)
    with running_interpreter(spark), without_pandas_warning():
        frame = pieces.mapInArrow(runner, plain)
    if size and is_classic(spark) and not spark.version.startswith("3."):
        frame = frame.union(_no_rows(spark, plain, size // _row_bytes(spark, scan)))
    frame = frame.select(*(_as_declared(field) for field in fields))
    return matching(frame, snapshot.table_root, t.StructType(tuple(fields)), scan.where, scan.columns)


def _pieces(spark: SparkSession, scan: LogScan) -> tuple[DataFrame, int]:
    """The files in pieces, distributed over tasks by hash, and the bytes of all.

    So one task gets both entries of a repeated file.
    """
    check_functions(spark)
    number = F.expr(f"CAST(greatest(1, least((size + {PIECE_BYTES - 1}) DIV {PIECE_BYTES}, 100000)) AS INT)")
    [row] = collected(planned_files(spark, scan, ["size"]).select(F.sum("size"), F.sum(number), F.count(F.lit(1))))
    size, pieces = (int(value or 0) for value in row[:2])
    tasks = max(1, min(pieces, max(-(-size // PIECE_BYTES), 2 * cores(spark))))
    files = planned_files(spark, scan, READ_COLUMNS).withColumn(PIECES, number)
    files = files.withColumn(PIECE, F.explode(F.expr(f"sequence(0, {PIECES} - 1)")))
    return files.repartition(tasks, "uri", PIECE), size


def _row_bytes(spark: SparkSession, scan: LogScan) -> int:
    """The size of a row of the table, as Spark estimates it."""
    fields = tuple(field for field in scan.snapshot.schema.fields if has_type(field))
    return Jvm(spark).row_bytes(spark_schema(t.StructType(fields)))


def _no_rows(spark: SparkSession, schema: spark_types.StructType, count: int) -> DataFrame:
    """A DataFrame without rows or tasks that has the size of `count` rows in Spark's plans.

    Spark takes rows of Python for as large as the function's arguments, and measures these when it has shuffled them,
    so only what is beside them keeps a size. # Spark 4.1, LogicalRDD.fromDataset, LogicalQueryStage.computeStats
    """
    # A range of 2n rows has the 16n bytes that Spark estimates for n rows of one number.
    estimated: Any = spark.range(0, 2 * count, 1, 2).select(F.lit(None).cast(schema).alias("row")).select("row.*")
    sql = Jvm(spark).view.org.apache.spark.sql
    rows = java_frame(estimated.limit(0)).queryExecution().toRdd()
    relation = Jvm(spark).companion(sql.execution, "LogicalRDD")
    # Spark 4.3 has a fourth parameter.
    more = (
        [] if tuple(map(int, spark.version.split(".")[:2])) < (4, 3) else [getattr(relation, "fromDataset$default$4")()]
    )
    plan = relation.fromDataset(rows, java_frame(estimated), False, *more)
    return frame_of(spark, plan)


def _read_fields(scan: LogScan) -> list[t.StructField]:
    """The columns to read: the requested columns and the predicate's; all if the predicate's columns are unknown."""
    schema = scan.snapshot.schema
    check_has_columns(schema, scan.snapshot.table_root)
    parsed = scan.parsed
    if scan.columns is None or (parsed is not None and any(isinstance(part, Opaque) for part in walk(parsed))):
        return list(schema.fields)
    names = set(scan.columns)
    if parsed is not None:
        names |= {t.resolve(schema, parts).logical[0] for parts in columns_of(parsed)}
    return [field for field in schema.fields if field.name in names] or [schema.fields[0]]


def _with_marks(arrow: pa.DataType, data_type: t.DataType) -> pa.DataType:
    """The Arrow type with the metadata by which Spark distinguishes a variant from a struct, at every depth."""
    match data_type:
        case _ if data_type == t.VARIANT:
            return _MARKED_VARIANT
        case t.StructType(fields):
            members = zip(arrow, fields, strict=True)
            return pa.struct([member.with_type(_with_marks(member.type, f.type)) for member, f in members])
        case t.ArrayType(element):
            return pa.list_(arrow.value_field.with_type(_with_marks(arrow.value_type, element)))
        case t.MapType(_, value):
            return pa.map_(arrow.key_field, arrow.item_field.with_type(_with_marks(arrow.item_type, value)))
        case _:
            return arrow


def _as_declared(field: t.StructField) -> Any:
    """The column with the collations that the table declares. Rows from Python have no collations."""
    column = F.col(quoted_name(field.name))
    declared = logical_type(field)
    return column if declared == spark_type(field.type) else column.cast(declared).alias(field.name)
