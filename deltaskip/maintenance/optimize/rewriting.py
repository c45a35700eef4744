"""Writing the rows of files anew, in order: the interface of engines, and the implementation with pyarrow."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltaskip.data_files.parquet_files import DataFileLayout, write_data_files
from deltaskip.data_files.written import WrittenRows
from deltaskip.dml.arrow_execution import ArrowExecution
from deltaskip.dml.execution import RowIdColumns, RowsOfFiles
from deltaskip.log import Snapshot
from deltaskip.maintenance.optimize.curve import SAMPLE_ROWS, cells_of, cuts_of, places_on, side_bits
from deltaskip.maintenance.optimize.order_values import order_values
from deltaskip.maintenance.optimize.strategy import CurveName
from deltaskip.maintenance.optimize.text_order import Texts
from deltaskip.reading.read_ahead import read_ahead
from deltaskip.records import dataclass
from deltaskip.schema import Resolved
from deltaskip.schema.arrow_values import arrow_array

__all__ = ["ArrowRewriting", "Rewriting", "RewritingEngine", "RowOrder", "without_size_limit"]

_SLICE_ROWS = 1 << 17
_SLICES_AHEAD = 1 << 10
_MOST_COLUMNS = 20
_UNLIMITED = 1 << 62


@dataclass(frozen=True, slots=True)
class RowOrder:
    """How rows are ordered over new files.

    Attributes:
        columns: The columns that order them.
        curve: How they do.
        new_files: Number of files, of about the same number of rows each.
    """

    columns: tuple[Resolved, ...]
    curve: CurveName
    new_files: int


class RewritingEngine(Protocol):
    """An engine that writes the rows of files anew."""

    def rewriting(self, session: Any, snapshot: Snapshot) -> Rewriting:
        """Return what rewrites files of a snapshot through a session."""


class Rewriting(Protocol):
    """Writes rows of a table's files into new files. Implemented with pyarrow in this process, and with Spark."""

    def rewrite(
        self, files: pa.Table, order: RowOrder | None, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> WrittenRows:
        """Write the rows of files of one partition that are not deleted. After an error no file is left.

        Args:
            files: `DataFiles.listed`.
            order: How the rows are ordered; None to write them as they are, into one file.
            row_ids: Where to write row ids, which `layout.extra` lists too; None to write none.
            layout: Where the files go, and what they contain.

        Raises:
            UnsupportedFeature: This engine cannot read or write a column.
            StorageError: A file cannot be read or written.
        """
        ...


class ArrowRewriting(Rewriting):
    """Rewrites files in this process. Rows that are ordered are in memory until they are written.

    Args:
        snapshot: The table.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._execution = ArrowExecution(snapshot, "UTC")

    def rewrite(
        self, files: pa.Table, order: RowOrder | None, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> WrittenRows:
        layout = without_size_limit(layout)
        parts = [RowsOfFiles(files)]
        if order is None:
            return self._execution.write(parts, layout.schema, row_ids, layout)
        batches = list(self._execution.rows(parts, layout.schema, row_ids, layout.mapping_mode))
        if not batches:
            return WrittenRows((), 0)
        _give_back_memory()
        rows = placed(batches, order)
        return _write(_contiguous(batches), rows, order.new_files, layout)


def without_size_limit(layout: DataFileLayout) -> DataFileLayout:
    """The layout for files whose rows are chosen before they are written."""
    return replace(layout, target_bytes=_UNLIMITED)


def placed(batches: Sequence[pa.RecordBatch], order: RowOrder) -> npt.NDArray[np.int64]:
    """Return the numbers of the rows along the curve."""
    chosen = order.columns[:_MOST_COLUMNS]
    bits = side_bits(len(chosen))

    def cells(column: Resolved) -> npt.NDArray[Any]:
        found = order_values([batch.column(column.logical[0]) for batch in batches], column)
        if isinstance(found, Texts):
            if order.curve == "range":
                return found.ranks()
            count = sum(batch.num_rows for batch in batches)
            return found.cells(np.arange(0, count, max(1, count // SAMPLE_ROWS)), bits)
        values, is_null = found
        if order.curve == "range":
            return _ranks(values, is_null)
        step = max(1, len(values) // SAMPLE_ROWS)
        sample = values[::step]
        nulls = 0
        if is_null is not None:
            nulls = int(is_null[::step].sum())
            sample = sample[~is_null[::step]]
        return cells_of(values, is_null, cuts_of(sample, nulls, bits))

    with ThreadPoolExecutor(os.cpu_count() or 1, "deltaskip") as pool:
        found = list(pool.map(cells, chosen))
    return _sorted(places_on(order.curve, found, bits))


def _ranks(values: npt.NDArray[Any], is_null: npt.NDArray[np.bool_] | None) -> npt.NDArray[np.int64]:
    """Numbers in the order of the values, equal for equal ones; nulls first."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    # NaN differs from itself, which is no harm.
    steps = np.concatenate([[0], (ordered[1:] != ordered[:-1]).astype(np.int64)]) if len(values) else order
    found = np.empty(len(values), np.int64)
    found[order] = np.cumsum(steps) + 1
    if is_null is not None:
        found[is_null] = 0
    return found


def _sorted(places: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The numbers of the rows in the order of their places; rows of one place stay in their order."""
    low = np.argsort((places & 0xFFFF).astype(np.uint16), kind="stable")
    high = places >> 16
    if not len(places) or int(high.max()) == 0:
        return low
    if int(high.max()) > 0xFFFF:
        return np.argsort(places, kind="stable")
    # numpy sorts short integers by radix, so that two passes are faster than one.
    found: npt.NDArray[np.int64] = low[np.argsort(high[low].astype(np.uint16), kind="stable")]
    return found


def _contiguous(batches: list[pa.RecordBatch]) -> pa.Table:
    """The rows of all batches with each column in one piece, as far as Arrow can. Empties the list.

    Only one column is in memory twice at a time.
    """
    table = pa.Table.from_batches(batches)
    batches.clear()
    columns = {}
    while table.num_columns:
        name = table.column_names[0]
        columns[name] = table.select([0]).combine_chunks().column(0)
        table = table.remove_column(0)
        _give_back_memory()
    return pa.table(columns)


def _give_back_memory() -> None:
    """Return to the system what nothing uses: of threads that have ended, Arrow's pool keeps it until it is asked."""
    pa.default_memory_pool().release_unused()


def _write(table: pa.Table, rows: npt.NDArray[np.int64], new_files: int, layout: DataFileLayout) -> WrittenRows:
    """Write the rows in the given order, in files of about the same number of rows."""
    ends = (np.arange(1, new_files + 1) * len(rows)) // new_files
    starts = np.concatenate([[0], ends[:-1]])
    parts = [rows[start:end] for start, end in zip(starts, ends, strict=True) if end > start]

    def one(part: npt.NDArray[np.int64]) -> WrittenRows:
        def taken(start: int) -> list[pa.RecordBatch]:
            rows_there = table.take(arrow_array(part[start : start + _SLICE_ROWS]))
            return list(rows_there.combine_chunks().to_batches())

        slices = range(0, len(part), _SLICE_ROWS)
        return write_data_files(read_ahead(((1, partial(taken, start)) for start in slices), _SLICES_AHEAD), layout)

    with ThreadPoolExecutor(os.cpu_count() or 1, "deltaskip") as pool:
        running = [pool.submit(one, part) for part in parts]
    # A file that cannot be written leaves the others, which end before its error is raised.
    failed = next((error for error in (each.exception() for each in running) if error is not None), None)
    done = [each.result() for each in running if each.exception() is None]
    if failed is not None:
        for each in done:
            each.delete(layout.storage, layout.root)
        raise failed
    files = tuple(file for each in done for file in each.files)
    return WrittenRows(files, sum(each.rows for each in done))
