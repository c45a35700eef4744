"""The files that can have one of the first rows of an order, from the log alone, and the order to read them in.

A *certain* row is one of a file in which every row matches, whose count is known. In descending order, all certain rows
of a file that are not NULL have at least the file's minimum. So if the files with the greatest minima have n certain
rows, no row that sorts behind the least of these minima is needed, although no value of a row is known
(docs/pages/soundness.md, The first rows of an order).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.records import dataclass
from deltaskip.skipping.add_batches import FileBatch, candidates, live_row_counts
from deltaskip.skipping.comparable import comparable, joined, sorted_positions
from deltaskip.skipping.counts import proved_rows
from deltaskip.skipping.file_list import KeptFiles
from deltaskip.skipping.file_predicates import CompiledPredicate
from deltaskip.skipping.partition_columns import readings
from deltaskip.skipping.proofs.collated import spellings
from deltaskip.skipping.proofs.table_columns import TableColumns
from deltaskip.skipping.row_order import OrderTerm
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.collations import Collations
from deltaskip.sparkexpr.values.arrow_values import (
    arrow_array,
    arrow_scalar,
    domain_values,
    is_true,
    numpy_values,
    typed_array,
)
from deltaskip.stats.layout import CUT_FROM, BoundKind, Side, StatField
from deltaskip.stats.tight_bounds import are_tight

_ZERO = arrow_scalar(0, pa.int64())
# The positions of files in the order of reading: with NULLs first, by bound, with NULLs only at the end, unknown.
_NULLS_FIRST, _BOUNDED, _NULLS_LAST, _UNKNOWN = range(4)


def certain_threshold(predicate: CompiledPredicate, term: OrderTerm, wanted: int) -> n.Node | None:
    """Return the condition of the rows that can be among the first, as far as the log proves one; None for all rows.

    Args:
        predicate: The predicate of the rows.
        term: The first term of their order.
        wanted: How many of the rows are needed.
    """
    column = term.column()
    if wanted == 0:
        return n.Literal(False, t.BOOLEAN)
    if column is None or column.collation is not None:
        return None
    found = [_certain(predicate, batch, term, column) for batch in candidates(predicate.snapshot, predicate.program)]
    if not found:
        return None
    bounds, rows, nulls = (joined([each[k] for each in found]) for k in range(3))
    before = (pc.sum(nulls).as_py() or 0) if term.given.nulls_first else 0
    if before >= wanted:
        return term.not_behind(None, strict=False)
    some = pc.and_(pc.is_valid(bounds), pc.greater(rows, _ZERO))
    bounds, rows = bounds.filter(some), rows.filter(some)
    order = sorted_positions(comparable(bounds), term.given.descending)
    total = pc.cumulative_sum_checked(rows.take(order))
    enough = int(np.searchsorted(numpy_values(total), wanted - before))
    if enough == len(order):
        return None
    [value] = domain_values(bounds.take(order.slice(enough, 1)))
    try:
        return term.not_behind(_literal_value(value, column.type), strict=False)
    except UnicodeDecodeError:
        return None


def _certain(
    predicate: CompiledPredicate, batch: FileBatch, term: OrderTerm, column: n.FieldRef
) -> tuple[pa.Array, pa.Array, pa.Array]:
    """For each kept file a bound behind which no row sorts, how many certain rows have it, and how many are NULL.

    Rows that are NULL are counted for the bound only if the log does not say how many they are.
    """
    kept = predicate.listed(batch)
    rows = proved_rows(predicate, batch, kept)
    if column.partition:
        return _certain_in_partitions(predicate, batch, kept, rows, column)
    field = TableColumns(predicate.snapshot.schema, predicate.snapshot.mapping_mode).stat_field(column)
    assert field is not None
    if field.kind is None:
        return pa.nulls(len(rows)), rows, pa.nulls(len(rows), pa.int64())
    stats = batch.statistics
    side: Side = "min" if term.given.descending else "max"
    bounds = _taken(stats.bound(field, side), kept)
    if field.kind is BoundKind.TEXT:
        bounds = comparable(bounds)
    if side == "max" and field.kind is BoundKind.DOUBLE:
        # A NaN that the writer left out is behind the maximum.
        bounds = pc.if_else(_taken(stats.max_covers_nan(field), kept), bounds, arrow_scalar(None, bounds.type))
    if side == "max" and field.kind is BoundKind.TEXT:
        # A longer one may be a prefix of a greater string.
        short = pc.less(pc.binary_length(bounds), arrow_scalar(CUT_FROM, pa.int32()))
        bounds = pc.if_else(short, bounds, arrow_scalar(None, bounds.type))
    [vectors] = batch.rows(["deletion_vector"], kept)
    counts = _taken(stats.null_count(field), kept)
    # A wide null count is exact only if it is zero.
    known = pc.or_(are_tight(_taken(stats.tight(), kept), vectors), is_true(pc.equal(counts, _ZERO)))
    nulls = pc.min_element_wise(pc.if_else(known, counts, arrow_scalar(None, pa.int64())), rows, skip_nulls=False)
    if term.given.nulls_first:
        # NULLs come before every bound, so that they count wherever they are.
        return bounds, pc.subtract(rows, pc.fill_null(nulls, _ZERO)), nulls
    return bounds, pc.fill_null(pc.subtract(rows, nulls), _ZERO), nulls


def _certain_in_partitions(
    predicate: CompiledPredicate, batch: FileBatch, kept: pa.Array | None, rows: pa.Array, column: n.FieldRef
) -> tuple[pa.Array, pa.Array, pa.Array]:
    partition, codes = batch.partition(column.physical[0], column.type)
    values = partition.values(predicate.portable.time_zone)
    possible = [readings(value, text, column.type) for value, text in zip(values, partition.texts, strict=True)]
    known = [each[0] if each is not None and len(each) == 1 else None for each in possible]
    is_null = arrow_array([each == (None,) for each in possible], pa.bool_())
    codes = _taken(codes, kept)
    nulls = pc.if_else(is_null.take(codes), rows, _ZERO)
    return typed_array(known, t.arrow_type(column.type)).take(codes), pc.subtract(rows, nulls), nulls


@dataclass(frozen=True, slots=True)
class OrderedFiles:
    """The files of a scan that are not read yet, best first.

    Attributes:
        files: The files that the scan keeps.
        places: int64, the places of those that are not read yet.
        rows: int64, how many rows each of them has; 0 if that is not known.
    """

    files: KeptFiles
    places: np.ndarray
    rows: np.ndarray

    def __len__(self) -> int:
        return len(self.places)

    def split(self, count: int, columns: Sequence[str]) -> tuple[pa.Table, OrderedFiles]:
        """Return the first files, in the order of the log, with some columns of the file list; and the others."""
        rest = OrderedFiles(self.files, self.places[count:], self.rows[count:])
        return self.files.listed(np.sort(self.places[:count]), columns), rest

    def kept_by(self, predicate: CompiledPredicate) -> OrderedFiles:
        """Return the files among these that can have a row that matches another predicate."""
        kept = self.files.kept_by(predicate)[self.places]
        return OrderedFiles(self.files, self.places[kept], self.rows[kept])


def ordered_files(predicate: CompiledPredicate, term: OrderTerm) -> OrderedFiles:
    """Return the files that a predicate keeps, in the order in which they are read for the first rows.

    The order decides how many files are read, and never which rows are found. Files without a bound come last, because
    they are read in any case, and fewer of their row groups if more rows are known.

    Args:
        predicate: The predicate of the rows.
        term: The first term of their order.
    """
    files = KeptFiles(predicate)
    keys, levels, rows = [pa.nulls(0)], [np.zeros(0, np.int8)], [np.zeros(0, np.int64)]
    for batch in candidates(predicate.snapshot, predicate.program):
        kept = files.add(batch)
        if len(kept):
            key, level = _nearest(predicate, batch, kept, term)
            keys.append(key)
            levels.append(level)
            rows.append(numpy_values(pc.fill_null(live_row_counts(batch, kept), _ZERO)))
    levels_of_all = arrow_array(np.concatenate(levels))
    places = numpy_values(sorted_positions(joined(keys), term.given.descending, levels_of_all)).astype(np.int64)
    return OrderedFiles(files, places, np.concatenate(rows)[places])


def _nearest(
    predicate: CompiledPredicate, batch: FileBatch, kept: pa.Array, term: OrderTerm
) -> tuple[pa.Array, np.ndarray]:
    """For each kept file the bound before which no row sorts, and its level."""
    column, unknown = term.column(), np.full(len(kept), _UNKNOWN, np.int8)
    if column is None:
        return pa.nulls(len(kept)), unknown
    if column.partition:
        partition, codes = batch.partition(column.physical[0], column.type)
        values = partition.read(predicate.portable.time_zone).array.take(codes.take(kept))
        keys, nulls = comparable(values), pc.is_null(values)
        some = nulls
    else:
        field = TableColumns(predicate.snapshot.schema, predicate.snapshot.mapping_mode).stat_field(column)
        assert field is not None
        bounds = _near_bounds(predicate, batch, field, column, "max" if term.given.descending else "min")
        if bounds is None:
            return pa.nulls(len(kept)), unknown
        keys, stats = bounds.take(kept), batch.statistics
        counts = stats.null_count(field).take(kept)
        nulls = is_true(pc.equal(counts, stats.num_records().take(kept)))
        some = pc.invert(is_true(pc.equal(counts, _ZERO)))
    level = np.where(numpy_values(pc.is_valid(keys)), _BOUNDED, _UNKNOWN)
    level = np.where(numpy_values(nulls), _NULLS_LAST, level)
    if term.given.nulls_first:
        level = np.where(numpy_values(some), _NULLS_FIRST, level)
    return keys, level.astype(np.int8)


def _near_bounds(
    predicate: CompiledPredicate, batch: FileBatch, field: StatField, column: n.FieldRef, side: Side
) -> pa.Array | None:
    if field.kind is None:
        return None
    if column.collation is None:
        return comparable(batch.statistics.bound(field, side))
    collation = Collations(predicate.portable.collation_version).evaluator(column.collation)
    if collation is None:
        return None
    keys = spellings(collation.id, column.collation)
    return batch.statistics.collated(field, side, keys, collation).sort_keys()


def _literal_value(value: Any, type_: t.DataType) -> Any:
    if type_ == t.BOOLEAN:
        return bool(value)
    return value.decode() if isinstance(value, bytes) and type_ == t.STRING else value


def _taken(values: pa.Array, kept: pa.Array | None) -> pa.Array:
    return values if kept is None else values.take(kept)


def parts_of(order: OrderedFiles, first: int) -> Iterator[int]:
    """Yield how many files to read at once: as many as have `first` rows, then four times as many each time."""
    count = int(np.searchsorted(np.cumsum(order.rows), first)) + 1
    while True:
        yield count
        count *= 4
