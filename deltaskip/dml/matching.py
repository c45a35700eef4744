"""Search for rows that match a predicate, in this process: files side by side, predicates by whole columns."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.dml.little_data import is_little_to_read
from deltaskip.dml.positions import RowPositions
from deltaskip.errors import DeltaSkipError, UnsupportedFeature
from deltaskip.reading.stored_rows import StoredBatch, StoredRows
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr import EvaluationError, padded_column
from deltaskip.sparkexpr.evaluation import Evaluator
from deltaskip.sparkexpr.nodes import PADDED, Call, top_level_columns, walk
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, numpy_values

# Files whose positions are in memory at once.
_FILES_AT_ONCE = 64


class LiveRows(Protocol):
    """A source of the live rows of files, such as StoredRows."""

    def live(self, files: pa.Table) -> Iterator[tuple[int, StoredBatch]]:
        """See StoredRows.live."""


def positions_where(
    rows: LiveRows, files: pa.Table, true_rows: Callable[[StoredBatch], npt.NDArray[Any]]
) -> RowPositions:
    """Return the live rows of each file for which a function of a batch is true, files side by side.

    files: `DataFiles.listed`.
    """

    def found(number: int) -> pa.Int64Array:
        matches = [batch.positions[true_rows(batch)] for _, batch in rows.live(files.slice(number, 1))]
        return arrow_array(np.concatenate([np.zeros(0, np.int64), *matches]))

    def each() -> Iterator[pa.Int64Array]:
        if len(files) == 1:
            # Not worth starting a thread.
            yield found(0)
            return
        with ThreadPoolExecutor(os.cpu_count() or 1, "deltaskip") as pool:
            for start in range(0, len(files), _FILES_AT_ONCE):
                yield from pool.map(found, range(start, min(start + _FILES_AT_ONCE, len(files))))

    return RowPositions(each())


def matching_here(scan: Scan, files: pa.Table, time_zone: str) -> RowPositions | None:
    """Return the live rows of each file that match, if this process finds them in less time than a job takes to start.

    files: `DataFiles.listed`. None if there is too much to read, or a row that only Spark reads or evaluates.
    """
    snapshot = scan.snapshot
    wanted = top_level_columns(scan.predicate)
    if _reads_char(scan):
        return None
    if not is_little_to_read(snapshot, files, wanted):
        return None
    rows = StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode, wanted)
    evaluator = Evaluator(scan.predicate, time_zone)

    def true_rows(batch: StoredBatch) -> npt.NDArray[Any]:
        return evaluator.mask(batch.columns, len(batch))

    try:
        return positions_where(rows, files, true_rows)
    except (EvaluationError, UnsupportedFeature):
        return None


def removed_rows_match(scan: Scan, path: str, positions: pa.Int64Array) -> bool:
    """Return whether some rows of a file, by path as logged and positions, may match the predicate of a scan.

    True if this process cannot read or evaluate a row. For `Transaction.read_matching_rows`.
    """
    snapshot = scan.snapshot
    wanted = top_level_columns(scan.predicate)
    if _reads_char(scan):
        return True
    files = scan.files(columns=["path", "uri", "partition_values", "deletion_vector"])
    file = files.filter(pc.equal(files["path"], arrow_scalar(path, pa.string())))
    rows = StoredRows(snapshot, snapshot.schema, snapshot.mapping_mode, wanted)
    evaluator = Evaluator(scan.predicate, scan.time_zone or "UTC")
    try:
        for _, batch in rows.live(file.combine_chunks()):
            chosen = batch.filter(np.isin(batch.positions, numpy_values(positions)))
            if evaluator.mask(chosen.columns, len(chosen)).any():
                return True
    except DeltaSkipError:
        return True
    return False


def _reads_char(scan: Scan) -> bool:
    """Whether the predicate depends on strings of type char(n), which sessions with an earlier behavior do not pad."""
    read = any(isinstance(part, Call) and part.name == PADDED for part in walk(scan.predicate))
    return read or padded_column(scan.predicate, scan.snapshot.schema) is not None
