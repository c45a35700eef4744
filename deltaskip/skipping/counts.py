"""Row counts from the log alone: exact, or an error with the reason why the log does not prove them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import NotProvable
from deltaskip.skipping.add_batches import FileBatch, candidates, live_row_counts
from deltaskip.skipping.file_predicates import CompiledPredicate
from deltaskip.sparkexpr.types import LONG_MAX
from deltaskip.sparkexpr.values.arrow_values import TRUE, arrow_array, arrow_scalar, exact_sum

_ZERO = arrow_scalar(0, pa.int64())


def proved_rows(predicate: CompiledPredicate, batch: FileBatch, kept: pa.Array | None) -> pa.Array:
    """int64 number of rows of each file at `kept` (None: all) that certainly match: all of its live rows, or 0."""
    unsure = predicate.negated.kept(batch).to_arrow()
    unsure = unsure if kept is None else unsure.take(kept)
    return pc.if_else(unsure, _ZERO, pc.fill_null(live_row_counts(batch, kept), _ZERO))


def fewest_files(rows: pa.Array, limit: int) -> pa.Array | None:
    """Positions, ascending, of the fewest files that have `limit` proved rows; None if all files have fewer."""
    if limit == 0:
        return arrow_array([], pa.int64())
    order = pc.array_sort_indices(rows, order="descending")
    reached = pc.greater_equal(pc.cumulative_sum(rows.take(order)), arrow_scalar(min(limit, LONG_MAX), pa.int64()))
    enough = pc.index(reached, TRUE).as_py()
    if enough < 0:
        return None
    chosen = order.slice(0, enough + 1)
    return chosen.take(pc.array_sort_indices(chosen))


def first_files(rows: pa.Array, limit: int) -> pa.Array | None:
    """Positions of the files up to the first that have `limit` proved rows together; None if all files have fewer."""
    reached = pc.greater_equal(pc.cumulative_sum(rows), arrow_scalar(min(limit, LONG_MAX), pa.int64()))
    enough = pc.index(reached, TRUE).as_py()
    return None if enough < 0 else arrow_array(np.arange(enough + 1))


def exact_count(predicate: CompiledPredicate) -> int:
    """Number of rows for which the predicate is TRUE.

    Raises NotProvable if a file may contain both rows that match and rows that do not, or has no row count.
    """
    snapshot = predicate.snapshot
    total, mixed, uncounted = 0, 0, 0
    for batch in candidates(snapshot, predicate.program):
        kept = predicate.listed(batch)
        kept = arrow_array(np.arange(batch.num_rows)) if kept is None else kept
        unsure = predicate.negated.kept(batch).to_arrow().take(kept)
        mixed += unsure.true_count
        rows = live_row_counts(batch, kept.filter(pc.invert(unsure)))
        uncounted += rows.null_count
        total += exact_sum(rows)
    if mixed:
        raise NotProvable(
            f"The log of {snapshot.table_root} at version {snapshot.version} does not prove the row count: {mixed:,} "
            f"{'file may contain' if mixed == 1 else 'files may contain'} both rows that match and rows that do not. "
            "Count the rows with count(read=True), or to_spark(spark).count()."
        )
    if uncounted:
        raise NotProvable(
            f"The log of {snapshot.table_root} at version {snapshot.version} does not prove the row count: "
            f"{uncounted:,} {'file has' if uncounted == 1 else 'files have'} no row count. Count the rows with "
            "count(read=True) or to_spark(spark).count(), or recompute the table's statistics."
        )
    return total


def estimated_rows(predicate: CompiledPredicate) -> int:
    """Estimated row count of the kept files; if every file has its row count, an upper bound of the matching rows.

    A file without a row count counts as the average of the others; 0 if no file has one.
    """
    known, files_known, files_unknown = 0, 0, 0
    for batch in candidates(predicate.snapshot, predicate.program):
        rows = live_row_counts(batch, predicate.listed(batch))
        known += exact_sum(rows)
        files_known += len(rows) - rows.null_count
        files_unknown += rows.null_count
    return known + (files_unknown * known // files_known if files_known else 0)
