"""The change data feed through Spark: a DataFrame of the rows that a range of versions changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from deltaskip.change_feed.change_scan import ChangeScan
from deltaskip.change_feed.feed_files import FileGroup
from deltaskip.features.change_data_feed import CHANGE_TYPE, FEED_FIELDS, FEED_NAMES
from deltaskip.log.deleted_rows import read_deleted_rows
from deltaskip.schema.arrow import arrow_type
from deltaskip.schema.arrow_values import arrow_array, arrow_scalar, numpy_values, one_chunk
from deltaskip.spark.columns.literal_columns import carriers
from deltaskip.spark.columns.spark_types import spark_schema
from deltaskip.spark.read.dataframe import StoredTable, matching, planned_for, source_of
from deltaskip.spark.read.parquet_scans import (
    EntryRows,
    PositionalRows,
    ScanSettings,
    coded_rows,
    constant_rows,
    listed_source,
    rows_at,
    rows_of_entries,
)
from deltaskip.spark.read.projection import with_declared_lengths
from deltaskip.spark.session.releases import union

_CONSTANT_SCAN_BYTES = 64 << 20
_MOST_CONSTANT_SCANS = 8
_NOTHING = arrow_scalar(0, pa.int64())

_FILE_COLUMNS = dict(zip(FEED_NAMES, ("change_type", "version", "timestamp"), strict=True))


def changes_to_dataframe(spark: SparkSession, scan: ChangeScan) -> DataFrame:
    """Return a DataFrame of the changes that match a scan, with its columns and those of the feed.

    Change files, whole files and rows of files at known positions are one group of Spark scans each, whatever the
    number of versions; where the files can be listed here, the first two are one scan.
    """
    scan = planned_for(spark, scan)
    snapshot = scan.snapshot
    schema = snapshot.schema
    change_files, whole, partly = scan.rows()
    frames = []
    coded = _coded(spark, scan, change_files, whole)
    if coded is not None:
        frames.append(coded)
        whole = _chosen(whole, whole.deleted.is_valid())
    elif len(change_files.files):
        names = [name for name in FEED_NAMES if name != CHANGE_TYPE]
        frames.append(_live(spark, scan, change_files, names, stored=(CHANGE_TYPE,)))
    frames += [_live(spark, scan, layer, FEED_NAMES) for layer in _layers(whole)]
    if len(partly.files):
        frames.append(_partly(spark, scan, partly))
    frame = union(frames) if frames else spark.createDataFrame([], spark_schema(schema))
    return matching(with_declared_lengths(frame, schema), snapshot.table_root, schema, scan.where, scan.columns)


def _coded(spark: SparkSession, scan: ChangeScan, change_files: FileGroup, whole: FileGroup) -> DataFrame | None:
    """All rows of the change files and of the whole files without deleted rows, by a scan that has their values.

    None if they have one value or too many, or if Spark has to list the files.
    """
    files = pa.concat_tables([change_files.files, _chosen(whole, whole.deleted.is_null()).files])
    rows = range(len(files))
    source = _source(spark, scan, files, FEED_NAMES, (), repeated=True)
    listed = listed_source(source, rows) if len(source.partitions.tuples) > 1 else None
    return None if listed is None else coded_rows(listed, rows, CHANGE_TYPE)


def _chosen(rows: FileGroup, which: pa.BooleanArray) -> FileGroup:
    return FileGroup(rows.files.filter(which).combine_chunks(), rows.deleted.filter(which))


def _live(
    spark: SparkSession, scan: ChangeScan, rows: FileGroup, names: Sequence[str], stored: Sequence[str] = ()
) -> DataFrame:
    """All rows of files but the deleted ones, with columns of the feed as if they were partition columns.

    The many rows of one version are read by a scan of their own, with its values as constants. All others are read by
    one scan that is joined with the values of their files: a scan for each version would take longer to plan and
    compile than to run.
    """
    snapshot = scan.snapshot
    source = _source(spark, scan, rows.files, names, stored)
    codes, marked = source.partitions.codes, numpy_values(rows.deleted.is_valid())
    sizes = np.bincount(codes, numpy_values(pc.fill_null(one_chunk(rows.files["size"]), _NOTHING)))
    large = np.argsort(-sizes)[:_MOST_CONSTANT_SCANS]
    large = large if len(sizes) == 1 else large[sizes[large] >= _CONSTANT_SCAN_BYTES]
    constant = np.isin(codes, large) & ~marked
    frames = [constant_rows(source, np.flatnonzero(constant & (codes == code)).tolist(), int(code)) for code in large]
    frames = [frame for frame in frames if frame is not None]
    others = np.flatnonzero(~constant)
    if len(others):
        found: list[pa.Int64Array | None] = [None] * len(others)
        if marked.any():
            some = arrow_array(others, pa.int64())
            vectors = one_chunk(rows.deleted.take(some))
            found = read_deleted_rows(snapshot.storage, snapshot.table_root, rows.files.take(some), vectors)
        nothing = arrow_array([], pa.int64())
        positions = [nothing if each is None else each for each in found] if marked.any() else None
        frames.append(rows_at(source, PositionalRows(positions), others.tolist()))
    return union(frames)


def _partly(spark: SparkSession, scan: ChangeScan, rows: FileGroup) -> DataFrame:
    """The rows at the positions; each file is scanned once for all versions that changed rows of it."""
    assert rows.positions is not None
    coded = one_chunk(rows.files["uri"]).dictionary_encode()
    of_entry = numpy_values(coded.indices).astype(np.int64)
    first = np.unique(of_entry, return_index=True)[1]
    if len(first) == len(of_entry):
        source = _source(spark, scan, rows.files, FEED_NAMES, ())
        return rows_at(source, PositionalRows(rows.positions, only=True))
    files = rows.files.take(arrow_array(first, pa.int64()))
    source = _source(spark, scan, files, (), FEED_NAMES)
    values = {f.name: carriers(_feed_column(rows.files, f.name), f.type) for f in FEED_FIELDS}
    return rows_of_entries(source, EntryRows(of_entry, list(rows.positions), FEED_FIELDS, values))


def _source(
    spark: SparkSession,
    scan: ChangeScan,
    files: pa.Table,
    names: Sequence[str],
    stored: Sequence[str],
    repeated: bool = False,
) -> ScanSettings:
    table = StoredTable.of(scan.snapshot, scan.snapshot.schema)
    table = replace(table, partition_columns=(*table.partition_columns, *names))
    return source_of(spark, table, _with_values(files, names), stored, repeated=repeated)


def _with_values(files: pa.Table, names: Sequence[str]) -> pa.Table:
    """The files with columns of the feed among their partition values."""
    partitions = one_chunk(files["partition_values"])
    columns = {f.name: one_chunk(pc.struct_field(partitions, [f.name])) for f in partitions.type}
    columns.update({name: _feed_column(files, name) for name in names})
    values = (
        pa.StructArray.from_arrays(list(columns.values()), list(columns))
        if columns
        else pa.Array.from_buffers(pa.struct([]), len(files), [None])
    )
    return files.set_column(files.column_names.index("partition_values"), "partition_values", values)


def _feed_column(files: pa.Table, name: str) -> pa.Array:
    field = next(field for field in FEED_FIELDS if field.name == name)
    return one_chunk(files[_FILE_COLUMNS[name]]).cast(arrow_type(field.type))


def _layers(rows: FileGroup) -> Iterator[FileGroup]:
    """The files in groups without a repeated file, as a file may be added by one version and removed by another."""
    codes = numpy_values(one_chunk(rows.files["uri"]).dictionary_encode().indices)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    lengths = np.diff(np.append(starts, len(codes)))
    occurrence = np.empty(len(codes), np.int64)
    occurrence[order] = np.arange(len(codes)) - np.repeat(starts, lengths)
    for number in range(int(occurrence.max(initial=-1)) + 1):
        chosen = arrow_array(np.flatnonzero(occurrence == number), pa.int64())
        yield FileGroup(rows.files.take(chosen).combine_chunks(), rows.deleted.take(chosen))
