"""Row counts from the log alone: exact where it proves them, refused with the reason where it does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import PredicateError
from deltaskip.kernels.lane import Lane
from deltaskip.log import Snapshot
from deltaskip.schema.arrow_values import TRUE, arrow_array, arrow_scalar
from deltaskip.skipping.batches import Batch, candidates
from deltaskip.skipping.program import Program

__all__ = ["estimated_rows", "exact_count", "fewest_files", "live_rows", "proved_rows"]

LaneOf = Callable[[Program, Batch], Lane]

_ZERO = arrow_scalar(0, pa.int64())


def live_rows(batch: Batch, indices: pa.Array | None) -> pa.Array:
    """int64 rows of each file at `indices` (None: all): numRecords less what its deletion vector removes.

    Null where numRecords is missing, or smaller than the deletion vector's cardinality, which no sound log says.
    """
    records, vectors = batch.raw(["num_records", "deletion_vector"])
    if indices is not None:
        records, vectors = records.take(indices), vectors.take(indices)
    rows = pc.subtract(records, pc.fill_null(pc.struct_field(vectors, "cardinality"), _ZERO))
    return pc.if_else(pc.less(rows, _ZERO), arrow_scalar(None, pa.int64()), rows)


def proved_rows(batch: Batch, kept: pa.Array | None, may_not: Program, lane_of: LaneOf) -> pa.Array:
    """int64 rows of each file at `kept` (None: all) that certainly match: all of its live rows, or 0."""
    unsure = lane_of(may_not, batch).to_arrow()
    unsure = unsure if kept is None else unsure.take(kept)
    return pc.if_else(unsure, _ZERO, pc.fill_null(live_rows(batch, kept), _ZERO))


def fewest_files(rows: pa.Array, limit: int) -> pa.Array | None:
    """Positions, ascending, of the fewest files whose proved rows come to `limit`; None where all together do not."""
    if limit == 0:
        return arrow_array([], pa.int64())
    order = pc.array_sort_indices(rows, order="descending")
    reached = pc.greater_equal(pc.cumulative_sum(rows.take(order)), arrow_scalar(limit, pa.int64()))
    enough = pc.index(reached, TRUE).as_py()
    if enough < 0:
        return None
    chosen = order.slice(0, enough + 1)
    return chosen.take(pc.array_sort_indices(chosen))


def exact_count(snapshot: Snapshot, may: Program, may_not: Program, lane_of: LaneOf) -> int:
    """Number of rows for which the predicate is TRUE.

    may, may_not: Programs of the predicate and of "is not TRUE". Raises PredicateError where a file may hold both rows
    that match and rows that do not, or lacks its row count.
    """
    total, mixed, uncounted = 0, 0, 0
    for batch in candidates(snapshot, may):
        kept = batch.live(lane_of(may, batch).indices())
        kept = arrow_array(np.arange(batch.num_rows)) if kept is None else kept
        unsure = lane_of(may_not, batch).to_arrow().take(kept)
        mixed += unsure.true_count
        rows = live_rows(batch, kept.filter(pc.invert(unsure)))
        uncounted += rows.null_count
        total += pc.sum(rows).as_py() or 0
    if mixed:
        raise PredicateError(
            f"The log of {snapshot.table_root} at version {snapshot.version} cannot count these rows: {mixed} files "
            "may hold both rows that match and rows that do not; count them with to_spark(spark).count()."
        )
    if uncounted:
        raise PredicateError(
            f"The log of {snapshot.table_root} at version {snapshot.version} cannot count these rows: {uncounted} "
            "files have no row count; count them with to_spark(spark).count(), or recompute the table's statistics."
        )
    return total


def estimated_rows(snapshot: Snapshot, may: Program, lane_of: LaneOf) -> int:
    """Rows of the kept files, an upper bound of those that match where every file has its row count.

    A file without one counts as the average of those that have it; 0 where none has.
    """
    known, files_known, files_unknown = 0, 0, 0
    for batch in candidates(snapshot, may):
        rows = live_rows(batch, batch.live(lane_of(may, batch).indices()))
        known += pc.sum(rows).as_py() or 0
        files_known += len(rows) - rows.null_count
        files_unknown += rows.null_count
    return known + (files_unknown * known // files_known if files_known else 0)
