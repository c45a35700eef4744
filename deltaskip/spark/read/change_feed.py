"""The change data feed through Spark: a DataFrame of the rows that a range of versions changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from deltaskip.change_feed.change_rows import feed_column, feed_columns_of, with_feed_columns
from deltaskip.change_feed.change_scan import ChangeScan, Matches
from deltaskip.change_feed.feed_files import FileGroup
from deltaskip.errors import UnsupportedFeature
from deltaskip.features.change_data_feed import CHANGE_TYPE, FEED_FIELDS, FEED_NAMES
from deltaskip.log.deleted_rows import read_deleted_rows
from deltaskip.reading.file_scans import ConstantScan, EntryScan, FileScan
from deltaskip.reading.marked_rows import MarkedRows
from deltaskip.reading.read_plan import ReadPlan, StoredTable, WantedRows
from deltaskip.reading.session_scan import Listing, read_by
from deltaskip.spark.columns.spark_types import spark_schema
from deltaskip.spark.read.bitmaps import collected_positions
from deltaskip.spark.read.dataframe import matching
from deltaskip.spark.read.parquet_scans import scanned_rows
from deltaskip.spark.read.session_facts import session_facts
from deltaskip.spark.session.error_conversion import condition_errors_named
from deltaskip.spark.session.releases import union_of_frames
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, numpy_values, one_chunk

_CONSTANT_SCAN_BYTES = 64 << 20
_MOST_CONSTANT_SCANS = 8
_NOTHING = arrow_scalar(0, pa.int64())
_WITHOUT_UPDATES = (
    f"CASE {CHANGE_TYPE} WHEN 'update_preimage' THEN 'delete' WHEN 'update_postimage' THEN 'insert' "
    f"ELSE {CHANGE_TYPE} END"
)
_FILE = "__deltaskip_file"
_POSITION = "__deltaskip_position"

_TYPED = tuple(field for field in FEED_FIELDS if field.name == CHANGE_TYPE)
"""The column that only change data files have."""


def changes_to_dataframe(spark: SparkSession, scan: ChangeScan) -> DataFrame:
    """Return a DataFrame of the changes that match a scan, with its columns and the columns of the feed.

    Change data files, whole files and rows of files at known positions are one group of Spark scans each, whatever the
    number of versions; if Spark does not have to list the files, the first two are one scan.

    Raises UnsupportedFeature if a type became narrower: Spark does not read files with the wider one.
    """
    if scan.narrower is not None:
        raise UnsupportedFeature(
            f"{scan.narrower}, and Spark does not read files with the wider type: read the changes in this process "
            f"(to_arrow, to_pandas, to_polars, to_duckdb), or those of the versions before and after it separately."
        )
    session = session_facts(spark, scan)
    scan = read_by(scan, session)
    snapshot = scan.snapshot
    schema = snapshot.schema
    frames = [scanned_rows(spark, plan) for plan in _plans(scan, session.listing)]
    found = scan.rows(_matches(spark, scan, session.listing))[-1]
    chosen = [scanned_rows(spark, _partly(scan, session.listing, found))] if len(found.files) else []
    if frames or not chosen:
        frame = union_of_frames(frames) if frames else spark.createDataFrame([], spark_schema(schema))
        if not scan.tells_updates:
            frame = frame.withColumn(CHANGE_TYPE, F.expr(_WITHOUT_UPDATES))
        frames = [matching(frame, snapshot.table_root, schema, scan.where, scan.columns)]
    # These rows were chosen by the predicate, or with another image of them.
    frames += [matching(frame, snapshot.table_root, schema, None, scan.columns) for frame in chosen]
    return union_of_frames(frames) if len(frames) > 1 else frames[0]


def _matches(spark: SparkSession, scan: ChangeScan, listing: Listing) -> Matches | None:
    """The session finds the rows that match a predicate which this process cannot evaluate; None if this process can.

    Without ANSI mode, this process cannot evaluate what would fail.
    """
    if scan.where is None:
        return None
    if scan.evaluates_here():
        return None
    return partial(_matching_rows, spark, scan, listing)


def _matching_rows(
    spark: SparkSession, scan: ChangeScan, listing: Listing, group: FileGroup
) -> Iterator[npt.NDArray[np.bool_]]:
    """For each file of a group whether each of its rows at the positions matches. A job reads each file once."""
    assert group.positions is not None
    found: dict[int, pa.Int64Array] = {}
    root = scan.snapshot.table_root
    for numbers in _apart(group.files):
        some = arrow_array(numbers, pa.int64())
        positions = list(group.positions.take(numbers.tolist()))
        wanted = WantedRows(positions, only=True, position=_POSITION, values={_FILE: some})
        plan = _plan(scan, listing, group.files.take(some).combine_chunks(), FEED_NAMES, wanted)
        beside = [F.col(_FILE), F.col(_POSITION)]
        frame = matching(scanned_rows(spark, plan), root, scan.snapshot.schema, scan.where, [], beside)
        with condition_errors_named(spark, root, str(scan.where)):
            [kept] = collected_positions(frame, _FILE, _POSITION, None, len(group.files)).values()
        found |= {number: kept[number] for number in numbers.tolist()}
    for number in range(len(group.files)):
        yield np.isin(numpy_values(group.positions[number]), numpy_values(found[number]))


def _plans(scan: ChangeScan, listing: Listing) -> Iterator[ReadPlan]:
    """The plans that read the changes; empty without changes."""
    change_files, whole, partly = scan.read_directly()
    unlisted = _unlisted(scan, listing, change_files, whole)
    if unlisted is not None:
        yield unlisted
        whole = _chosen(whole, whole.deleted.is_valid())
    elif len(change_files.files):
        yield _live(scan, listing, change_files, feed_columns_of(change_files), WantedRows(own=_TYPED))
    for layer in _layers(whole):
        yield _live(scan, listing, layer, FEED_NAMES, WantedRows())
    if len(partly.files):
        yield _partly(scan, listing, partly)


def _unlisted(scan: ChangeScan, listing: Listing, change_files: FileGroup, whole: FileGroup) -> ReadPlan | None:
    """All rows of the change data files and of whole files without deleted rows, by one scan with the files' values.

    None if all files have the same values, or if Spark has to list the files.
    """
    files = pa.concat_tables([change_files.files, _chosen(whole, whole.deleted.is_null()).files])
    plan = _plan(scan, listing, files, FEED_NAMES, WantedRows(own=_TYPED), repeated=True)
    unlisted = plan.unlisted(range(len(files))) if len(plan.partitions.tuples) > 1 else None
    return None if unlisted is None else replace(plan, scans=(unlisted,))


def _chosen(rows: FileGroup, which: pa.BooleanArray) -> FileGroup:
    return FileGroup(rows.files.filter(which).combine_chunks(), rows.deleted.filter(which))


def _live(scan: ChangeScan, listing: Listing, rows: FileGroup, names: Sequence[str], wanted: WantedRows) -> ReadPlan:
    """The live rows of files, with columns of the feed as additional partition columns.

    If one version has many rows, they are read by a separate scan, with its values as constants. All others are read by
    one scan that is joined with the values of their files: a scan for each version would take longer to plan and
    compile than to run.
    """
    snapshot, marked = scan.snapshot, numpy_values(rows.deleted.is_valid())
    if marked.any():
        vectors = one_chunk(rows.deleted)
        found = read_deleted_rows(snapshot.storage, snapshot.table_root, rows.files, vectors)
        wanted = replace(wanted, positions=found)
    plan = _plan(scan, listing, rows.files, names, wanted)
    codes = plan.partitions.codes
    sizes = np.bincount(codes, numpy_values(pc.fill_null(one_chunk(rows.files["size"]), _NOTHING)))
    large = np.argsort(-sizes)[:_MOST_CONSTANT_SCANS]
    large = large if len(sizes) == 1 else large[sizes[large] >= _CONSTANT_SCAN_BYTES]
    constant = np.isin(codes, large) & ~marked
    scans: list[FileScan] = []
    for code in large:
        files = np.flatnonzero(constant & (codes == code)).tolist()
        scans += [ConstantScan(tuple(files), int(code))] if files else []
    others = np.flatnonzero(~constant).tolist()
    scans += [plan.joined(others)] if others else []
    return replace(plan, scans=tuple(scans))


def _partly(scan: ChangeScan, listing: Listing, rows: FileGroup) -> ReadPlan:
    """The rows at the positions; each file is scanned once for all versions that changed its rows."""
    assert rows.positions is not None
    coded = one_chunk(rows.files["uri"]).dictionary_encode()
    of_entry = numpy_values(coded.indices).astype(np.int64)
    first = np.unique(of_entry, return_index=True)[1]
    if len(first) == len(of_entry):
        wanted = WantedRows(list(rows.positions), only=True)
        return _plan(scan, listing, rows.files, FEED_NAMES, wanted)
    files = rows.files.take(arrow_array(first, pa.int64()))
    plan = _plan(scan, listing, files, (), WantedRows(own=FEED_FIELDS))
    values = {name: feed_column(rows.files, name) for name in FEED_NAMES}
    entries = EntryScan(range(len(files)), of_entry, MarkedRows.of(list(rows.positions)), FEED_FIELDS, values)
    return replace(plan, scans=(entries,))


def _plan(
    scan: ChangeScan,
    listing: Listing,
    files: pa.Table,
    names: Sequence[str],
    wanted: WantedRows,
    repeated: bool = False,
) -> ReadPlan:
    """The plan of a read of files. names: columns of the feed that are read as partition columns."""
    table = StoredTable.of(scan.snapshot, scan.snapshot.schema)
    table = replace(table, partition_columns=(*table.partition_columns, *names))
    return ReadPlan.of(table, with_feed_columns(files, names), wanted, listing, repeated)


def _layers(rows: FileGroup) -> Iterator[FileGroup]:
    """The files in groups without a repeated file, as a file may be added by one version and removed by another."""
    for numbers in _apart(rows.files):
        chosen = arrow_array(numbers, pa.int64())
        yield FileGroup(rows.files.take(chosen).combine_chunks(), rows.deleted.take(chosen))


def _apart(files: pa.Table) -> Iterator[npt.NDArray[np.intp]]:
    """The indexes of files in groups without a repeated file."""
    codes = numpy_values(one_chunk(files["uri"]).dictionary_encode().indices)
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    lengths = np.diff(np.append(starts, len(codes)))
    occurrence = np.empty(len(codes), np.int64)
    occurrence[order] = np.arange(len(codes)) - np.repeat(starts, lengths)
    for number in range(int(occurrence.max(initial=-1)) + 1):
        yield np.flatnonzero(occurrence == number)
