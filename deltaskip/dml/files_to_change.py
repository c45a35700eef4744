"""The files of a snapshot that lose rows: whole files, which are not read, and files that may lose some rows.

A whole file is removed if it may contain a row for which the predicate is TRUE and none for which it is FALSE or NULL.
The proofs of data skipping decide both, so that only files for which neither is proved are read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltaskip import actions
from deltaskip.actions.partition_values import partition_column
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.skipping.add_batches import FileBatch, each_candidate, live_row_counts
from deltaskip.skipping.file_list import batch_files, files_schema
from deltaskip.skipping.partition_columns import equal_values, map_values
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr.types import BINARY, MappingMode, StructField, arrow_type, physical_name
from deltaskip.sparkexpr.values import arrow_values
from deltaskip.txn.removed_files import RemovedFiles
from deltaskip.txn.result import FileCount

_LISTED = ("uri", "partition_values", "num_records", "deletion_vector", "base_row_id", "default_row_commit_version")
_REMOVED = ("path", "partition_values", "size", "deletion_vector")

PartitionKey = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class DataFiles:
    """Data files, one row each in every table.

    Attributes:
        listed: Columns of `Scan.files()`: uri, partition_values (typed), num_records, deletion_vector and row ids.
        logged: Columns of FILE_SCHEMA as logged.
        live_rows: int64 number of rows that are not deleted; null where the log does not have it.
    """

    listed: pa.Table
    logged: pa.Table
    live_rows: pa.Array

    def __len__(self) -> int:
        return len(self.listed)

    def take(self, positions: Sequence[int]) -> DataFiles:
        """Return the files at these positions."""
        if list(positions) == list(range(len(self))):
            return self
        if not positions:
            return DataFiles(self.listed.slice(0, 0), self.logged.slice(0, 0), self.live_rows.slice(0, 0))
        chosen = arrow_values.arrow_array(list(positions), pa.int64())
        return DataFiles(self.listed.take(chosen), self.logged.take(chosen), self.live_rows.take(chosen))

    @property
    def num_rows(self) -> int | None:
        """Number of rows that are not deleted; None if the log does not have it for every file."""
        return None if self.live_rows.null_count else arrow_values.exact_sum(self.live_rows)

    @property
    def size_in_bytes(self) -> int:
        """Size of the files."""
        return arrow_values.exact_sum(self.logged["size"]) if len(self.listed) else 0

    @property
    def num_vectors(self) -> int:
        """Number of files with a deletion vector."""
        return len(self) - int(self.listed["deletion_vector"].null_count)

    def removed(self, root: str, deletion_timestamp: int) -> RemovedFiles:
        """Return the files as a transaction removes them. root: `Snapshot.table_root`. deletion_timestamp: in ms."""
        return RemovedFiles.of(root, self.logged, deletion_timestamp)

    def adds(self) -> list[actions.AddFile]:
        """Return the add action of each file; all columns of FILE_SCHEMA must have been read."""
        return list(actions.add_actions(self.logged))


@dataclass(frozen=True, slots=True)
class FilesToChange:
    """The plan of a change of rows: files that lose all rows, and files that may lose some."""

    whole: DataFiles
    partly: DataFiles


def files_to_change(scan: Scan, read_rows: int = -1) -> FilesToChange:
    """Return the files that contain rows for which the predicate of the scan is TRUE, as far as the log proves it.

    Args:
        scan: The scan.
        read_rows: Files with at most so many rows together are files that may lose some rows: they are read in any
            case, for which less time is needed than for the proof that they lose all rows.
    """
    snapshot = scan.snapshot
    found = list(each_candidate(snapshot, scan.compiled.program, partial(_divided, scan, read_rows)))
    partly = _joined(snapshot, actions.FILE_SCHEMA.names, [each[1] for each in found if each[1] is not None])
    whole = [each[0] for each in found if each[0] is not None]
    return FilesToChange(_joined(snapshot, _REMOVED, whole) if whole else partly.take([]), partly)


def kept_files(scan: Scan) -> DataFiles:
    """Return the files that may contain rows for which the predicate of the scan is TRUE."""
    found = list(each_candidate(scan.snapshot, scan.compiled.program, partial(_kept_of, scan)))
    return _joined(scan.snapshot, actions.FILE_SCHEMA.names, found)


def no_files(snapshot: Snapshot) -> DataFiles:
    """Return no files, with the columns of `kept_files`."""
    return _joined(snapshot, actions.FILE_SCHEMA.names, [])


def files_of_partitions(scan: Scan, partitions: Collection[PartitionKey]) -> DataFiles:
    """Return the files of some partitions, each given by its partition values as serialized in the log.

    Values are compared by meaning, see `equal_values`: an instant in two spellings is one partition, null equals null.
    # PROTOCOL, Partition Value Serialization

    Args:
        scan: A scan that keeps at least these files.
        partitions: One string for each partition column, as `serialize_partition_value` writes it.
    """
    snapshot = scan.snapshot
    columns = zip(snapshot.partition_fields, zip(*partitions, strict=True), strict=True)
    wanted = [partition_column(arrow_values.arrow_array(texts, pa.string()), field.type) for field, texts in columns]
    found = list(each_candidate(snapshot, scan.compiled.program, partial(_of_partitions, scan, wanted)))
    return _joined(snapshot, _REMOVED, found)


def chosen_files(
    scan: Scan, columns: Sequence[str], choose: Callable[[FileBatch, npt.NDArray[Any]], npt.NDArray[Any]]
) -> DataFiles:
    """Return the files that the scan keeps and `choose` selects.

    Args:
        scan: The scan.
        columns: Columns of FILE_SCHEMA to read, with those that `remove_files` needs.
        choose: Returns a mask of some rows of a batch; called from several threads.
    """

    def chosen(batch: FileBatch) -> DataFiles:
        kept = _kept(scan, batch)
        return _files(scan, batch, kept[choose(batch, kept)], columns)

    return _joined(scan.snapshot, columns, list(each_candidate(scan.snapshot, scan.compiled.program, chosen)))


def new_files(
    snapshot: Snapshot, fields: Sequence[StructField], mode: MappingMode, adds: Sequence[actions.AddFile]
) -> pa.Table:
    """Return files that are not committed yet in the form of `DataFiles.listed`.

    fields: The partition columns. mode: The column mapping mode.
    """
    paths = arrow_values.arrow_array([add.path for add in adds], pa.string())
    columns = []
    for field in fields:
        texts = [add.partition_values[physical_name(field, mode)] for add in adds]
        values = {
            text: None if text is None else actions.parse_partition_value(text, field.type) for text in set(texts)
        }
        columns.append(arrow_values.typed_array([values[text] for text in texts], arrow_type(field.type)))
    named = [pa.field(field.name, arrow_type(field.type)) for field in fields]
    partitions = (
        pa.StructArray.from_arrays(columns, fields=named)
        if fields
        else pa.Array.from_buffers(pa.struct([]), len(adds), [None])
    )
    nothing = pa.nulls(len(adds), pa.int64())
    columns = [actions.absolute_uris(snapshot.table_root, paths), partitions, nothing]
    return pa.table([*columns, pa.nulls(len(adds), actions.DELETION_VECTOR), nothing, nothing], names=list(_LISTED))


def size_of_table(snapshot: Snapshot) -> FileCount:
    """Return the number and size of the active files."""
    total = FileCount()
    for batch in snapshot.add_batches(1 << 16, ["size"]):
        total += FileCount(len(batch), arrow_values.exact_sum(batch["size"]))
    return total


def _divided(scan: Scan, read_rows: int, batch: FileBatch) -> tuple[DataFiles | None, DataFiles | None]:
    """The files of a batch that lose all rows, and the files that may lose some; None if there are none."""
    kept = _kept(scan, batch)
    if not len(kept):
        return None, None
    if len(kept) <= read_rows:
        every = _files(scan, batch, kept, actions.FILE_SCHEMA.names)
        rows = every.num_rows
        if rows is not None and rows <= read_rows:
            return None, every
    unsure = arrow_values.numpy_values(scan.compiled.negated.kept(batch).to_arrow())[kept]
    whole, partly = kept[~unsure], kept[unsure]
    return (
        _files(scan, batch, whole, _REMOVED) if len(whole) else None,
        _files(scan, batch, partly, actions.FILE_SCHEMA.names) if len(partly) else None,
    )


def _kept_of(scan: Scan, batch: FileBatch) -> DataFiles:
    return _files(scan, batch, _kept(scan, batch), actions.FILE_SCHEMA.names)


def _of_partitions(scan: Scan, wanted: Sequence[pa.Array], batch: FileBatch) -> DataFiles:
    files = _files(scan, batch, _kept(scan, batch), _REMOVED)
    fields, logged = scan.snapshot.partition_fields, arrow_values.one_chunk(files.logged["partition_values"])
    columns = []
    for field, values, found in zip(
        fields, wanted, arrow_values.one_chunk(files.listed["partition_values"]).flatten(), strict=True
    ):
        columns.append(equal_values(pa.concat_arrays([values, found]), field))
        if field.type == BINARY:
            # "" is read as NULL, but delta-spark reads empty bytes: it is not the partition of NULL.
            texts = map_values(logged, physical_name(field, scan.snapshot.mapping_mode))
            columns.append(pa.concat_arrays([values.is_null(), texts.is_null()]))
    codes, count = arrow_values.tuple_codes(columns, len(wanted[0]) + len(files)), len(wanted[0])
    return files.take(np.flatnonzero(np.isin(codes[count:], codes[:count])).tolist())


def _kept(scan: Scan, batch: FileBatch) -> npt.NDArray[Any]:
    found = scan.compiled.listed(batch)
    return np.arange(batch.num_rows, dtype=np.int64) if found is None else arrow_values.numpy_values(found)


def _files(scan: Scan, batch: FileBatch, rows: npt.NDArray[Any], columns: Sequence[str]) -> DataFiles:
    indices = None if len(rows) == batch.num_rows else arrow_values.arrow_array(rows, pa.int64())
    listed = batch_files(batch, indices, list(_LISTED), scan.time_zone)
    schema = pa.schema([actions.FILE_SCHEMA.field(name) for name in columns])
    logged = arrow_values.in_schema(pa.table(batch.rows(list(columns), indices), names=list(columns)), schema)
    return DataFiles(listed, logged, live_row_counts(batch, indices))


def _joined(snapshot: Snapshot, columns: Sequence[str], found: Sequence[DataFiles]) -> DataFiles:
    if len(found) == 1:
        return found[0]
    schema = pa.schema([actions.FILE_SCHEMA.field(name) for name in columns])
    listed = [arrow_values.no_rows(files_schema(snapshot, _LISTED)), *(each.listed for each in found)]
    counts = [arrow_values.arrow_array([], pa.int64()), *(each.live_rows for each in found)]
    return DataFiles(
        pa.concat_tables(listed).combine_chunks(),
        pa.concat_tables([arrow_values.no_rows(schema), *(each.logged for each in found)]).combine_chunks(),
        pa.concat_arrays(counts),
    )
