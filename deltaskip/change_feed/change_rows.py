"""The rows of a change data feed as Arrow, read by pyarrow in this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.change_feed.feed_files import FileGroup
from deltaskip.doors import door
from deltaskip.features.change_data_feed import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION, FEED_NAMES
from deltaskip.log import Snapshot, same_table
from deltaskip.reading.arrow_rows import record_batch, row_type
from deltaskip.reading.completed_columns import void_columns, with_void_fields
from deltaskip.reading.matching_rows import MatchingRows
from deltaskip.reading.read_ahead import Reads, read_ahead
from deltaskip.reading.row_group_pruning import RowGroupPruning
from deltaskip.reading.stored_rows import StoredBatch, StoredRows
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr.nodes import top_level_columns
from deltaskip.sparkexpr.types import STRING, DataType, MappingMode, StructField, StructType
from deltaskip.sparkexpr.types.lengths import char_columns, char_padded
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, numpy_values, one_chunk

# Threads read small files ahead, at most this number of bytes.
_AHEAD_BYTES = 64 << 20
_CURE = "Read the changes with to_spark instead."


def arrow_rows(
    scan: Scan, groups: Iterable[FileGroup], names: Sequence[str], updates: bool = True
) -> pa.RecordBatchReader:
    """Return a reader of the changes in these files that match the predicate of a scan.

    Args:
        scan: The scan.
        groups: The files; they may be found while the rows of others are read.
        names: The columns of the table and of the feed to return.
        updates: See `WantedChanges`.

    Raises:
        UnsupportedFeature: Only Spark can read a file or evaluate the predicate.
        PredicateError: The predicate fails for a row.
        DataFileMissing: A file does not exist.
        StorageError: A file cannot be read.
    """
    schema, reads = change_reads(scan, groups, names, updates)
    return pa.RecordBatchReader.from_batches(schema, _read_ahead(scan, reads))


@door
def _read_ahead(scan: Scan, reads: Reads) -> Iterator[pa.RecordBatch]:
    """The batches; the scan names the table in errors."""
    with same_table(scan.snapshot):
        yield from read_ahead(reads, _AHEAD_BYTES, remote=scan.snapshot.storage.remote)


def change_reads(
    scan: Scan, groups: Iterable[FileGroup], names: Sequence[str], updates: bool = True
) -> tuple[pa.Schema, Reads]:
    """Return the schema of the changes in these files, and a reader of each file, which can be pickled.

    Raises as `arrow_rows`.
    """
    scan = scan.at_one_time()
    fields = {field.name: field for field in scan.snapshot.schema.fields}
    needed = {*names, *top_level_columns(scan.predicate)}
    schema = pa.schema([pa.field(name, row_type(fields[name], scan)) for name in names])
    return schema, _reads(scan, groups, needed, schema, matching_of(scan), updates)


def matching_of(scan: Scan) -> MatchingRows:
    """Return the evaluation of the predicate of a scan. Raises UnsupportedFeature if only Spark can evaluate it."""
    bound = scan.predicate, scan.snapshot.schema, scan.snapshot.root, scan.time_zone or "UTC"
    return MatchingRows(*bound, _CURE, collation_version=scan.collation_version, ansi=scan.in_ansi)


def matching_rows(scan: Scan, group: FileGroup) -> Iterator[npt.NDArray[np.bool_]]:
    """Yield for each file of a group whether each of its rows at the positions matches the predicate of a scan.

    Raises as `arrow_rows`.
    """
    scan = scan.at_one_time()
    matching, pruning = matching_of(scan), _pruning(scan)
    rows = StoredRows(*_stored(scan), set(top_level_columns(scan.predicate)), pruning=pruning)
    files = group.files.append_column("deletion_vector", [group.deleted])
    assert group.positions is not None
    for number in range(len(files)):
        file, positions = files.slice(number, 1), group.positions[number]
        found, places = np.zeros(len(positions), np.bool_), numpy_values(positions)
        for batch in chosen_rows(rows, file, positions):
            mask = matching.mask(StoredBatch(batch.rows, {**batch.columns, **_feed_columns(file, batch)}))
            found[np.searchsorted(places, batch.positions)] = mask
        yield found


def _pruning(scan: Scan) -> RowGroupPruning | None:
    """The pruning of row groups by a predicate; None if it needs columns of the feed, which files do not have."""
    names = top_level_columns(scan.predicate)
    return None if scan.where is None or not names.isdisjoint(FEED_NAMES) else RowGroupPruning.of(scan)


def _stored(scan: Scan) -> tuple[Snapshot, StructType, MappingMode]:
    """The table, and its columns without those of the feed."""
    snapshot = scan.snapshot
    schema = StructType(tuple(field for field in snapshot.schema.fields if field.name not in FEED_NAMES))
    return snapshot, schema, snapshot.mapping_mode


def chosen_rows(rows: StoredRows, file: pa.Table, positions: pa.Int64Array | None) -> Iterator[StoredBatch]:
    """Yield the rows of a file at the positions, ascending; all live rows if they are None."""
    if positions is None:
        yield from (batch for _, batch in rows.live(file))
    elif len(positions):
        chosen = numpy_values(positions)
        with rows.open(file) as opened:
            yield from rows.at(file, rows.row_groups_of(opened).with_rows(chosen), chosen, opened)


def _reads(
    scan: Scan,
    groups: Iterable[FileGroup],
    wanted: set[str],
    result: pa.Schema,
    matching: MatchingRows,
    updates: bool,
) -> Reads:
    table, pruning = _stored(scan), _pruning(scan)
    shown = [field for field in table[1].fields if field.name in result.names]
    chars, voids = char_columns(shown), void_columns(shown)
    for group in groups:
        files = group.files.append_column("deletion_vector", [group.deleted])
        for number in range(len(files)):
            file = files.slice(number, 1)
            written = file["change_type"][0].as_py() is None
            extra = (StructField(CHANGE_TYPE, STRING),) if written else ()
            rows = StoredRows(*table, wanted, extra, pruning=None if group.is_chosen else pruning)
            positions = None if group.positions is None else group.positions[number]
            given = None if group.is_chosen else matching, rows, file, positions, result
            read = partial(_of_file, *given, chars=chars, voids=voids, updates=updates)
            yield file["size"][0].as_py() or 0, read


def _of_file(
    matching: MatchingRows | None,
    rows: StoredRows,
    file: pa.Table,
    positions: pa.Int64Array | None,
    schema: pa.Schema,
    *,
    chars: Mapping[str, DataType],
    voids: Mapping[str, DataType],
    updates: bool,
) -> Iterator[pa.RecordBatch]:
    for batch in chosen_rows(rows, file, positions):
        batch = StoredBatch(batch.rows, {**batch.columns, **_feed_columns(file, batch, updates)})
        if matching is not None:
            batch = batch.filter(matching.mask(batch))
        if len(batch):
            columns = {name: batch.columns[name] for name in schema.names}
            columns |= {name: char_padded(columns[name], declared) for name, declared in chars.items()}
            columns |= {name: with_void_fields(columns[name], data_type) for name, data_type in voids.items()}
            # In pyarrow 26, a cast between equal types fails for lists with void inside.
            pairs = zip(columns.values(), schema.types, strict=True)
            arrays = [array if array.type == wanted else array.cast(wanted) for array, wanted in pairs]
            yield record_batch(arrays, schema, len(batch))


def _feed_columns(file: pa.Table, batch: StoredBatch, updates: bool = True) -> dict[str, pa.Array]:
    """The columns of the feed; a change data file contains the change types of its rows."""
    nothing = arrow_array(np.zeros(len(batch), np.int64))
    version, time = (one_chunk(file[name]).take(nothing) for name in ("version", "timestamp"))
    kind = batch.columns.get(CHANGE_TYPE)
    if kind is None:
        kind = one_chunk(file["change_type"]).take(nothing)
    if not updates:
        kind = without_updates(kind)
    return {CHANGE_TYPE: kind, COMMIT_VERSION: version, COMMIT_TIMESTAMP: time.cast(pa.timestamp("us", "UTC"))}


def without_updates(kinds: pa.StringArray) -> pa.StringArray:
    """Return change types with a delete in place of a preimage, and an insert in place of a postimage."""
    for image, kind in (("update_preimage", "delete"), ("update_postimage", "insert")):
        kinds = pc.if_else(pc.equal(kinds, arrow_scalar(image, pa.string())), arrow_scalar(kind, pa.string()), kinds)
    return kinds
