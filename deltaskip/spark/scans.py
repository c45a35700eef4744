"""The scans of one read: Spark's Parquet scans of the files, combined with partition values and deletion vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as spark_types

from deltaskip.actions.paths import escape_globs
from deltaskip.schema.mapping import MappingMode, physical_name
from deltaskip.schema.sql_text import quoted_name
from deltaskip.schema.types import StructType
from deltaskip.spark.client import broadcast_rows, metadata_column, union
from deltaskip.spark.deletion_vectors import WORD_SHIFT, DeletedRows, deleted_rows
from deltaskip.spark.listing import missing_files_named, tuned_listing
from deltaskip.spark.literals import decoded
from deltaskip.spark.locations import metadata_path, needs_own_scan
from deltaskip.spark.partitions import PartitionTable, constants
from deltaskip.spark.projection import logical_columns
from deltaskip.spark.shapes import ConstantScan, HiveScan, JoinedScan, Shape, shapes_of
from deltaskip.spark.types import logical_type, spark_schema

__all__ = ["DeletionVectorReader", "PositionalRows", "Source", "live_rows", "rows_at"]

# Row numbers that each deletion vector deletes, ascending; the structs are those of FILE_SCHEMA.
DeletionVectorReader = Callable[[pa.StructArray], list[pa.Int64Array]]

_READER_OPTIONS = {
    "mergeSchema": "false",
    # A file that the log lists and storage does not have is an error, whatever the session's settings are.
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "recursiveFileLookup": "false",
}

_PATH = "__deltaskip_path"
_ROW = "__deltaskip_row"
_KEY = "__deltaskip_key"
_WORDS = "__deltaskip_words"
_MARKED = "__deltaskip_marked"
_NOTHING = "__deltaskip_nothing"


@dataclass(frozen=True, slots=True)
class Source:
    """Settings that all scans of one read share.

    paths: the spark_path of each file. data: the columns to read from the files, under physical names.
    """

    spark: SparkSession
    table_root: str
    schema: StructType
    mode: MappingMode
    partitions: PartitionTable
    paths: list[str]
    data: spark_types.StructType


def live_rows(source: Source, vectors: pa.StructArray, read_deletion_vectors: DeletionVectorReader) -> DataFrame:
    """Every row of the files that is not deleted, in the table's columns."""
    if not source.paths:
        return source.spark.createDataFrame([], spark_schema(source.schema))
    deleting = pc.is_valid(vectors).to_numpy(zero_copy_only=False)
    whole = [row for row in range(len(source.paths)) if not deleting[row]]
    cut = [row for row in range(len(source.paths)) if deleting[row]]
    scans = shapes_of(source.paths, whole, source.partitions, source.mode)
    deleted = deleted_rows(read_deletion_vectors(vectors.filter(pc.is_valid(vectors)))) if cut else None
    with tuned_listing(source.spark, source.paths), missing_files_named(source.table_root):
        frames = [_scan(source, shape) for shape in scans]
        if deleted is not None:
            frames.append(_with_file_values(source, cut, deleted))
        frame = union(frames)
        # Connect checks the paths only when something is requested.
        _ = frame.schema
    return frame


@dataclass(frozen=True, slots=True)
class PositionalRows:
    """Which rows of files to read, and what to return of each beside the table's columns.

    Attributes:
        positions: For each file the positions of rows, ascending; None for every row.
        only: Whether to read the rows at these positions, instead of all others.
        position: Name of a column with the position of a row in its file; None for none.
        values: Columns with one value for each file, by name.
        stored: Columns of the files by their names there, which `Source.data` contains.
    """

    positions: Sequence[pa.Int64Array] | None = None
    only: bool = False
    position: str | None = None
    values: Mapping[str, pa.Array] = field(default_factory=dict)
    stored: Sequence[str] = ()


_LIVE = PositionalRows()


def rows_at(source: Source, wanted: PositionalRows) -> DataFrame:
    """The rows in the table's columns, then the position, the values of the file and the stored columns."""
    rows = range(len(source.paths))
    marked = None if wanted.positions is None else deleted_rows(wanted.positions)
    with tuned_listing(source.spark, source.paths), missing_files_named(source.table_root):
        frame = _with_file_values(source, rows, marked, wanted)
        _ = frame.schema
    return frame


def _scan(source: Source, shape: Shape) -> DataFrame:
    match shape:
        case ConstantScan(rows, code):
            frame = _files(source, rows)
            return frame.select(*_logical(source, constants(source.partitions, code)))
        case HiveScan(rows, base_path):
            frame = _files(source, rows, base_path)
            return frame.select(*_logical(source, _hive_columns(source)))
        case JoinedScan(rows):
            return _with_file_values(source, rows, None)


def _with_file_values(
    source: Source, rows: Sequence[int], marked: DeletedRows | None, wanted: PositionalRows = _LIVE
) -> DataFrame:
    """Rows of the files, joined with partition values and marked rows, such as the deleted ones, from the log.

    It is a left join, and a row without a match raises an error: a path that Spark writes differently than
    metadata_path must not lose rows or return deleted ones. The check uses the row's path, so that Spark can neither
    fold it nor move it below the join.
    """
    frame = _files(source, rows, extra=_with_location)
    keys = pa.array([metadata_path(source.paths[row]) for row in rows], pa.string())
    values = {f"__deltaskip_{i}": v.take(pa.array(rows)) for i, v in enumerate(source.partitions.values)}
    words = {_WORDS: marked.words} if marked is not None and marked.words is not None else {}
    side = broadcast_rows(source.spark, pa.table({_KEY: keys, **values, **words, **wanted.values}))
    joined = frame.join(F.broadcast(side), F.col(_PATH) == F.col(_KEY), "left")
    lost = F.raise_error(F.concat(F.lit("deltaskip has no log entry for the data file "), F.col(_PATH)))
    if words:
        word = F.get(F.col(_WORDS), F.shiftright(F.col(_ROW), WORD_SHIFT).cast("int"))
        bit = F.coalesce(F.getbit(word, (F.col(_ROW) % (1 << WORD_SHIFT)).cast("int")), F.lit(0))
        joined = joined.where(F.when(F.col(_KEY).isNull(), lost).otherwise(bit == int(wanted.only)))
    elif marked is not None:
        numbers = _marked_numbers(source, keys, marked)
        same = (F.col(_PATH) == F.col(_KEY + "2")) & (F.col(_ROW) == F.col(_MARKED))
        joined = joined.where(F.when(F.col(_KEY).isNull(), lost).otherwise(True))
        joined = joined.join(F.broadcast(numbers), same, "left_semi" if wanted.only else "left_anti")
    columns = {
        field.name: F.when(F.col(_KEY).isNull(), lost).otherwise(decoded(F.col(name), field.type, logical_type(field)))
        for field, name in zip(source.partitions.fields, values, strict=True)
    }
    beside = [] if wanted.position is None else [F.col(_ROW).alias(wanted.position)]
    beside += [F.when(F.col(_KEY).isNull(), lost).otherwise(F.col(name)).alias(name) for name in wanted.values]
    beside += [F.col(quoted_name(name)) for name in wanted.stored]
    return joined.select(*_logical(source, columns), *beside)


def _marked_numbers(source: Source, keys: pa.Array, marked: DeletedRows) -> DataFrame:
    indices = pa.array([i for i, count in enumerate(marked.counts) for _ in range(count)], pa.int64())
    return broadcast_rows(source.spark, pa.table({_KEY + "2": keys.take(indices), _MARKED: marked.numbers}))


def _files(
    source: Source,
    rows: Sequence[int],
    base_path: str | None = None,
    extra: Callable[[DataFrame], DataFrame] | None = None,
) -> DataFrame:
    """Rows of the files under physical names; with a base path, the directories below it add partition columns.

    extra: applied to each of Spark's scans before their union.
    """
    fields = list(source.data.fields)
    if base_path is not None:
        fields += [
            spark_types.StructField(name, logical_type(field))
            for name, field in zip(_hive_names(source), source.partitions.fields, strict=True)
        ]
    if not source.data.fields:
        # Without a field the reader would infer a schema; a field that no file has still counts the rows.
        fields.append(spark_types.StructField(_NOTHING, spark_types.BooleanType()))
    reader = source.spark.read.schema(spark_types.StructType(fields)).options(**_READER_OPTIONS)
    if base_path is not None:
        reader = reader.option("basePath", base_path)
    paths = [source.paths[row] for row in rows]
    alone = set(paths if len(paths) == 1 else filter(needs_own_scan, paths))
    together = [escape_globs(path) for path in paths if path not in alone]
    frames = [reader.parquet(*together)] if together else []
    frames += [reader.option("__globPaths__", "false").parquet(path) for path in alone]
    return union(frames if extra is None else map(extra, frames))


def _with_location(frame: DataFrame) -> DataFrame:
    """The scan `frame` with the file path of each row and its row number in the file."""
    metadata = metadata_column(frame)
    return frame.select("*", metadata["file_path"].alias(_PATH), metadata["row_index"].alias(_ROW))


def _logical(source: Source, partition_values: dict[str, Column]) -> list[Column]:
    return logical_columns(source.schema, source.mode, partition_values)


def _hive_names(source: Source) -> list[str]:
    return [physical_name(field, source.mode) for field in source.partitions.fields]


def _hive_columns(source: Source) -> dict[str, Column]:
    names = zip(source.partitions.fields, _hive_names(source), strict=True)
    return {field.name: F.col(quoted_name(name)) for field, name in names}
