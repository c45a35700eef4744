"""The file list of a scan: one Arrow row for each kept file, with partition values typed by the schema.

# docs/pages/api.md, Scan.files: columns
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from functools import partial
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip import arguments
from deltaskip.actions import PartitionValueError, absolute_uris, decode_paths
from deltaskip.actions.action_fields import DELETION_VECTOR
from deltaskip.errors import CorruptLog, InvalidArgument
from deltaskip.log import Snapshot
from deltaskip.progress import LOGGER
from deltaskip.records import dataclass
from deltaskip.skipping.add_batches import FileBatch, candidates
from deltaskip.skipping.file_predicates import CompiledPredicate
from deltaskip.skipping.partition_columns import PartitionColumn
from deltaskip.sparkexpr.types import StructField, arrow_type, physical_name
from deltaskip.sparkexpr.values.arrow_values import arrow_array, no_rows, numpy_values
from deltaskip.sparkexpr.values.zone_rules import rules_in_use
from deltaskip.stats.cache_keys import CacheKey

FILE_COLUMNS = (
    "path",
    "uri",
    "size",
    "modification_time",
    "partition_values",
    "num_records",
    "deletion_vector",
    "base_row_id",
    "default_row_commit_version",
)
"""Columns of `Scan.files()`, in their order; `stats` may follow."""

_WHOLE_FROM = 0.1
"""From this share of a batch's files on, columns are computed for the whole batch and cached for the next scan."""


def chosen_columns(stats: bool, columns: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns of a file list that arguments of `Scan.files` select.

    Raises InvalidArgument for a name that no column has, InvalidArgumentType if `columns` is not a list of names.
    """
    arguments.flag("stats", stats)
    if columns is None:
        return (*FILE_COLUMNS, "stats") if stats else FILE_COLUMNS
    names = arguments.names("columns", columns)
    unknown = [name for name in names if name not in (*FILE_COLUMNS, "stats")]
    if unknown:
        raise InvalidArgument(
            f"A file list has no column {unknown[0]!r}; its columns are {', '.join(FILE_COLUMNS)} and stats."
        )
    if stats and "stats" not in names:
        raise InvalidArgument("stats=True adds the column stats to all columns: list 'stats' in columns instead.")
    return names


def log_plan(snapshot: Snapshot, kept_files: int, begun: float) -> None:
    """Log a line about a file list. begun: The value of perf_counter at the start."""
    if LOGGER.isEnabledFor(logging.DEBUG):
        seconds = perf_counter() - begun
        place = snapshot.table_root, snapshot.version
        LOGGER.debug("Planned %s at version %s: %s of %s files kept, in %.3f s", *place,
                     f"{kept_files:,}", f"{snapshot.num_files:,}", seconds)  # fmt: skip


def files_schema(snapshot: Snapshot, columns: Sequence[str]) -> pa.Schema:
    """Arrow schema of a file list."""
    partitions = [pa.field(field.name, arrow_type(field.type)) for field in snapshot.partition_fields]
    types = {
        "path": pa.string(),
        "uri": pa.string(),
        "stats": pa.string(),
        "modification_time": pa.timestamp("ms", "UTC"),
        "partition_values": pa.struct(partitions),
        "deletion_vector": DELETION_VECTOR,
    }
    return pa.schema([pa.field(name, types.get(name, pa.int64())) for name in columns])


def batch_files(batch: FileBatch, indices: pa.Array | None, columns: Sequence[str], time_zone: str | None) -> pa.Table:
    """Columns of the file list for the batch's rows at `indices` (None: all); the rows must be part of the snapshot.

    time_zone: time zone of partition values without one; None means UTC.
    Raises CorruptLog, naming the column, for a partition value that is not of the column's type.
    """
    zone, rules = time_zone or "UTC", rules_in_use()
    if not batch.adds.in_memory:
        # Logged columns are read into the cache at once.
        logged = dict.fromkeys("path" if name == "uri" else name for name in columns if name != "partition_values")
        batch.rows(list(logged), indices)
    whole = indices is None or len(indices) >= _WHOLE_FROM * batch.num_rows
    arrays = []
    for name in columns:
        if whole:
            key: CacheKey = ("file column", batch.scope, name, zone, rules)
            values = batch.cache.array(key, partial(_column, batch, None, name, zone))
            arrays.append(values if indices is None else values.take(indices))
        else:
            arrays.append(_column(batch, indices, name, zone))
    return pa.table(arrays, schema=files_schema(batch.snapshot, columns))


def decoded_paths(snapshot: Snapshot, decode: Callable[[pa.Array], pa.Array], paths: pa.Array) -> pa.Array:
    """`decode` of logged paths. Raises CorruptLog for a path that is not percent-encoded UTF-8."""
    try:
        return decode(paths)
    except ValueError as error:
        raise CorruptLog(
            f"The log of {snapshot.table_root} at version {snapshot.version} is damaged: {error}; rewrite the commit "
            "or checkpoint that contains it."
        ) from error


def partition_structs(
    snapshot: Snapshot,
    rows: int,
    encoded: Iterable[tuple[PartitionColumn, pa.Array]],
    zone: str,
    missing: pa.BooleanArray | None = None,
) -> pa.StructArray:
    """Return partition values as structs, typed by the schema.

    Args:
        snapshot: The table.
        rows: Number of structs.
        encoded: For each partition column, the codes of its values.
        zone: Time zone of values without one.
        missing: The structs that are null.

    Raises:
        CorruptLog: A value is not of its column's type.
    """
    fields = snapshot.partition_fields
    if not fields:
        return pa.Array.from_buffers(pa.struct([]), rows, [None])
    columns: list[pa.Array] = []
    for own, (column, codes) in zip(fields, encoded, strict=True):
        try:
            columns.append(column.typed(codes, zone))
        except PartitionValueError as error:
            raise unreadable_value(snapshot, own, error) from error
    names = [pa.field(each.name, arrow_type(each.type)) for each in fields]
    return pa.StructArray.from_arrays(columns, fields=names, mask=missing)


def unreadable_value(snapshot: Snapshot, field: StructField, error: PartitionValueError) -> CorruptLog:
    """The error of a partition value that is not of the column's type."""
    return CorruptLog(
        f"The log of {snapshot.table_root} at version {snapshot.version} contains a partition value of column "
        f"{field.name!r} that cannot be parsed ({error}); rewrite the files of that partition."
    )


def _column(batch: FileBatch, indices: pa.Array | None, name: str, zone: str) -> pa.Array:
    if name == "partition_values":
        return _partition_values(batch, indices, zone)
    [values] = batch.rows(["path" if name == "uri" else name], indices)
    match name:
        case "path":
            return decoded_paths(batch.snapshot, decode_paths, values)
        case "uri":
            return decoded_paths(batch.snapshot, partial(absolute_uris, batch.snapshot.table_root), values)
        case "modification_time":
            return pc.cast(values, pa.timestamp("ms", "UTC"))
        case _:
            return values


def _partition_values(batch: FileBatch, indices: pa.Array | None, zone: str) -> pa.Array:
    snapshot = batch.snapshot

    def encoded(field: StructField) -> tuple[PartitionColumn, pa.Array]:
        column, codes = batch.partition(physical_name(field, snapshot.mapping_mode), field.type)
        return column, codes if indices is None else codes.take(indices)

    rows = batch.num_rows if indices is None else len(indices)
    return partition_structs(snapshot, rows, map(encoded, snapshot.partition_fields), zone)


@dataclass(slots=True)
class KeptFiles:
    """Files of several batches. The place of a file is its number among them.

    Attributes:
        predicate: The predicate that keeps them.
        batches: The batches that have some of them.
        rows: For each batch the positions of its files in it, ascending.
        starts: For each batch the place of its first file, and the number of all files.
    """

    predicate: CompiledPredicate
    batches: list[FileBatch] = field(default_factory=list)
    rows: list[pa.Array] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])

    def __len__(self) -> int:
        return self.starts[-1]

    def add(self, batch: FileBatch) -> pa.Array:
        """Add the files of a batch that are kept and part of the snapshot, and return their positions in it."""
        kept = self.predicate.listed(batch)
        kept = arrow_array(np.arange(batch.num_rows, dtype=np.int64)) if kept is None else kept
        if len(kept):
            self.batches.append(batch)
            self.rows.append(kept)
            self.starts.append(self.starts[-1] + len(kept))
        return kept

    def listed(self, places: np.ndarray, columns: Sequence[str]) -> pa.Table:
        """Return columns of the file list for some of the files, in the order of the log.

        Args:
            places: The places of the files, ascending.
            columns: Names of the columns.
        """
        tables = [no_rows(files_schema(self.predicate.snapshot, columns))]
        ends = np.searchsorted(places, self.starts)
        for number, batch in enumerate(self.batches):
            chosen = places[ends[number] : ends[number + 1]] - self.starts[number]
            if len(chosen):
                rows = self.rows[number].take(arrow_array(chosen))
                tables.append(batch_files(batch, rows, columns, self.predicate.portable.time_zone))
        return pa.concat_tables(tables)

    def kept_by(self, predicate: CompiledPredicate) -> np.ndarray:
        """Return a mask of the files that another predicate on the same snapshot keeps, too."""
        found = np.zeros(len(self), bool)
        numbers = {batch.scope: number for number, batch in enumerate(self.batches)}
        for batch in candidates(predicate.snapshot, predicate.program):
            number = numbers.get(batch.scope)
            if number is None:
                continue
            kept = predicate.matching(batch)
            mask = np.ones(batch.num_rows, bool)
            if kept is not None:
                mask[:] = False
                mask[numpy_values(kept)] = True
            found[self.starts[number] : self.starts[number + 1]] = mask[numpy_values(self.rows[number])]
        return found
