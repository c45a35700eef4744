"""The rows of a change data feed as Arrow, read by pyarrow in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.change_feed.feed_files import FileGroup
from deltaskip.doors import door
from deltaskip.features.change_data_feed import CHANGE_TYPE, FEED_FIELDS, FEED_NAMES
from deltaskip.log import same_table
from deltaskip.reading.arrow_rows import RowReader, arrow_schema_of, reads_of
from deltaskip.reading.matching_rows import MatchingRows
from deltaskip.reading.read_ahead import Reads, read_ahead
from deltaskip.reading.row_group_pruning import RowGroupPruning
from deltaskip.reading.stored_rows import StoredBatch, StoredRows, without_dictionary
from deltaskip.settings import options
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr.nodes import top_level_columns
from deltaskip.sparkexpr.types import arrow_type
from deltaskip.sparkexpr.values.arrow_values import arrow_scalar, numpy_values, one_chunk

# Threads read files ahead, at most this number of bytes.
_AHEAD_BYTES = 64 << 20
_CURE = "Read the changes with to_spark instead."
_FILE_COLUMNS = dict(zip(FEED_NAMES, ("change_type", "version", "timestamp"), strict=True))


@door
def change_batches(
    scan: Scan, groups: Iterable[FileGroup], names: Sequence[str], updates: bool = True, views: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield the changes in these files that match the predicate of a scan, which names the table in errors.

    Args:
        scan: The scan.
        groups: The files; they may be found while the rows of others are read.
        names: The columns of the table and of the feed to return.
        updates: See `WantedChanges`.
        views: Whether strings and binary may be views.

    Raises:
        UnsupportedFeature: Only Spark can read a file or evaluate the predicate.
        PredicateError: The predicate fails for a row.
        DataFileMissing: A file does not exist.
        StorageError: A file cannot be read.
    """
    with same_table(scan.snapshot):
        reads = change_reads(scan, groups, names, updates, views=views)
        yield from read_ahead(reads, _AHEAD_BYTES, remote=scan.snapshot.storage.remote)


def change_reads(
    scan: Scan,
    groups: Iterable[FileGroup],
    names: Sequence[str],
    updates: bool = True,
    *,
    together: bool = True,
    views: bool = False,
) -> Reads:
    """Return sizes in bytes, and functions that read the changes in so much data, which can be pickled.

    together: Whether one function may read several small files. For the rest, and errors, see `change_batches`.
    """
    scan = _of_columns(scan.at_one_time(), names)
    for group in groups:
        if not len(group.files):
            continue
        constants = feed_columns_of(group)
        files = with_feed_columns(group.files, constants)
        files = files.append_column("deletion_vector", [group.deleted])
        files = files if group.positions is None else group.positions.beside(files)
        stored = StoredRows if updates or CHANGE_TYPE in constants else _WithoutUpdates
        own = _of_columns(every_row(scan), names) if group.is_chosen else scan
        reader = RowReader.of(own, len(files), views=views, stored_rows=stored, constants=constants)
        yield from reads_of(reader, files, options.read_piece_bytes, together)


def every_row(scan: Scan) -> Scan:
    """Return the scan without its predicate."""
    return Scan(scan.snapshot, ReadOptions(time_zone=scan.time_zone, hidden=True))


def _of_columns(scan: Scan, names: Sequence[str]) -> Scan:
    found = copy(scan)
    found.columns = tuple(names)
    return found


def change_schema(scan: Scan, names: Sequence[str]) -> pa.Schema:
    """Return the schema of the columns of the table and of the feed with these names."""
    return arrow_schema_of(_of_columns(scan, names))


def matching_of(scan: Scan) -> MatchingRows:
    """Return the evaluation of the predicate of a scan. Raises UnsupportedFeature if only Spark can evaluate it."""
    bound = scan.predicate, scan.snapshot.schema, scan.snapshot.root, scan.time_zone or "UTC"
    return MatchingRows(*bound, _CURE, collation_version=scan.collation_version, ansi=scan.in_ansi)


def matching_rows(scan: Scan, group: FileGroup) -> Iterator[npt.NDArray[np.bool_]]:
    """Yield for each file of a group whether each of its rows at the positions matches the predicate of a scan.

    Raises as `change_batches`.
    """
    assert group.positions is not None
    scan = scan.at_one_time()
    matching, pruning = matching_of(scan), RowGroupPruning.of(scan, constants=FEED_NAMES)
    snapshot, names = scan.snapshot, top_level_columns(scan.predicate)
    stored = snapshot, snapshot.schema, snapshot.mapping_mode, names
    rows = StoredRows(*stored, cure=_CURE, pruning=pruning, constants=FEED_NAMES)
    files = with_feed_columns(group.files, FEED_NAMES).append_column("deletion_vector", [group.deleted])
    files = group.positions.beside(files)
    places = [numpy_values(each) for each in group.positions]
    found = [np.zeros(len(each), np.bool_) for each in places]
    for number, batch in rows.live_of_many(files):
        found[number][np.searchsorted(places[number], batch.positions)] = matching.mask(batch)
    yield from found


class _WithoutUpdates(StoredRows):
    """Reads change data files, with images of updates as deletes and inserts."""

    def _batch(self, *args: Any) -> StoredBatch:
        found = super()._batch(*args)
        kinds = found.columns.get(CHANGE_TYPE)
        if kinds is None:
            return found
        told = without_updates(without_dictionary(kinds))
        return StoredBatch(found.rows, {**found.columns, CHANGE_TYPE: told})


def feed_columns_of(group: FileGroup) -> Sequence[str]:
    """The columns of the feed that all rows of a file share; change data files contain the types of their changes."""
    written = group.files["change_type"].null_count
    return [name for name in FEED_NAMES if name != CHANGE_TYPE] if written else FEED_NAMES


def with_feed_columns(files: pa.Table, names: Sequence[str]) -> pa.Table:
    """Return files with columns of the feed added to their partition values."""
    partitions = one_chunk(files["partition_values"])
    columns = {f.name: one_chunk(pc.struct_field(partitions, [f.name])) for f in partitions.type}
    columns.update({name: feed_column(files, name) for name in names})
    values = pa.StructArray.from_arrays(list(columns.values()), list(columns)) if columns else partitions
    return files.set_column(files.column_names.index("partition_values"), "partition_values", values)


def feed_column(files: pa.Table, name: str) -> pa.Array:
    """Return a column of the feed that all rows of a file share, for each file."""
    field = next(field for field in FEED_FIELDS if field.name == name)
    return one_chunk(files[_FILE_COLUMNS[name]]).cast(arrow_type(field.type))


def without_updates(kinds: pa.StringArray) -> pa.StringArray:
    """Return change types with a delete in place of a preimage, and an insert in place of a postimage."""
    for image, kind in (("update_preimage", "delete"), ("update_postimage", "insert")):
        kinds = pc.if_else(pc.equal(kinds, arrow_scalar(image, pa.string())), arrow_scalar(kind, pa.string()), kinds)
    return kinds
