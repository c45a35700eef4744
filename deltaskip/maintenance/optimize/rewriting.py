"""Rewriting the rows of files in order: the interface of engines, and the implementation with pyarrow."""

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
import pyarrow.compute as pc

from deltaskip.data_files.parquet_writer import DataFileLayout, write_data_files
from deltaskip.data_files.written_rows import WrittenRows
from deltaskip.dml.arrow_execution import ArrowExecution
from deltaskip.dml.execution import RowsOfFiles
from deltaskip.dml.little_data import is_readable
from deltaskip.errors import InvalidCollation
from deltaskip.features.row_tracking import RowIdColumns
from deltaskip.log import Snapshot
from deltaskip.maintenance.optimize.curve import SAMPLE_ROWS, cells_of, cut_places, cuts_of, places_on, side_bits
from deltaskip.maintenance.optimize.strategy import CurveName
from deltaskip.reading.read_ahead import read_ahead
from deltaskip.records import dataclass
from deltaskip.sparkexpr.collations import find
from deltaskip.sparkexpr.types import Resolved, collation_of
from deltaskip.sparkexpr.values.arrow_values import arrow_array, is_true, nested_value, numpy_values

_INTEGERS: dict[int, type[np.generic]] = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}

_SLICE_ROWS = 1 << 17
_LONG = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
_SLICES_AHEAD = 1 << 10
_MOST_COLUMNS = 20
_UNLIMITED = 1 << 62


_KEY_BYTES = 8
_MOST_LEVELS = 16
# Smaller pieces take less memory for intermediate results.
_ROWS_AT_ONCE = 1 << 20
_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowOrder:
    """The order of rows over new files.

    Attributes:
        columns: The columns that order them.
        curve: The curve.
        new_files: Number of files, each with about the same number of rows.
    """

    columns: tuple[Resolved, ...]
    curve: CurveName
    new_files: int


class RewritingEngine(Protocol):
    """An engine that rewrites files."""

    def rewriting(self, session: Any, snapshot: Snapshot) -> Rewriting:
        """Return the rewriting of a snapshot's files through a session."""


class Rewriting(Protocol):
    """Writes rows of a table's files into new files. Implemented with pyarrow in this process, and with Spark."""

    def can_rewrite(self, files: pa.Table, layout: DataFileLayout) -> bool:
        """Return whether this engine reads and writes all columns of files; arguments as for `rewrite`."""

    def rewrite(
        self, files: pa.Table, order: RowOrder | None, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> WrittenRows:
        """Write the live rows of files of one partition. After an error no file is left.

        Args:
            files: `DataFiles.listed`.
            order: How the rows are ordered; None to write them unchanged, into one file.
            row_ids: Where to write row ids, which `layout.extra` lists too; None to write none.
            layout: The place and the contents of the files.

        Raises:
            UnsupportedFeature: This engine cannot read or write a column.
            StorageError: A file cannot be read or written.
        """


class ArrowRewriting(Rewriting):
    """Rewrites files in this process. Rows that are ordered are in memory until they are written.

    Args:
        snapshot: The table.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._execution = ArrowExecution(snapshot, "UTC")

    def can_rewrite(self, files: pa.Table, layout: DataFileLayout) -> bool:
        return is_readable(self._snapshot, files)

    def rewrite(
        self, files: pa.Table, order: RowOrder | None, row_ids: RowIdColumns | None, layout: DataFileLayout
    ) -> WrittenRows:
        # Rows of files are chosen before they are written, so a file may be of any size.
        layout = replace(layout, target_bytes=_UNLIMITED)
        parts = [RowsOfFiles(files)]
        if order is None:
            return self._execution.write(parts, layout.schema, row_ids, layout)
        batches = list(self._execution.rows(parts, layout.schema, row_ids, layout.mapping_mode))
        if not batches:
            return WrittenRows((), 0)
        _give_back_memory()
        rows = placed(batches, order)
        return _write(_contiguous(batches), rows, order.new_files, layout)


def placed(batches: Sequence[pa.RecordBatch], order: RowOrder) -> npt.NDArray[np.int64]:
    """Return the indexes of the rows in the order of the curve."""
    chosen = order.columns[:_MOST_COLUMNS]
    bits = side_bits(len(chosen))

    def cells(column: Resolved) -> npt.NDArray[Any]:
        found = _order_values([batch.column(column.logical[0]) for batch in batches], column)
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
    """Numbers in the order of the values, equal for equal values; nulls first."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    # NaN differs from itself, which is harmless here.
    steps = np.concatenate([[0], (ordered[1:] != ordered[:-1]).astype(np.int64)]) if len(values) else order
    found = np.empty(len(values), np.int64)
    found[order] = np.cumsum(steps) + 1
    if is_null is not None:
        found[is_null] = 0
    return found


def _sorted(places: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The indexes of the rows, stably sorted by their positions on the curve."""
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
    """The rows of all batches with each column in one chunk, if Arrow can join it. Empties the list.

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
    """Return unused memory to the system; otherwise Arrow's pool keeps the memory of ended threads."""
    pa.default_memory_pool().release_unused()


def _with_long_texts(table: pa.Table) -> pa.Table:
    """The rows, with texts that need several chunks in the long types of Arrow, of which rows can be taken."""
    for number, column in enumerate(table.columns):
        if column.num_chunks > 1 and column.type in _LONG:
            table = table.set_column(number, table.field(number).name, column.cast(_LONG[column.type]).combine_chunks())
    return table


def _write(table: pa.Table, rows: npt.NDArray[np.int64], new_files: int, layout: DataFileLayout) -> WrittenRows:
    """Write the rows in the given order, in files of about the same number of rows."""
    ends = (np.arange(1, new_files + 1) * len(rows)) // new_files
    starts = np.concatenate([[0], ends[:-1]])
    parts = [rows[start:end] for start, end in zip(starts, ends, strict=True) if end > start]
    schema, table = table.schema, _with_long_texts(table)

    def one(part: npt.NDArray[np.int64]) -> WrittenRows:
        def taken(start: int) -> list[pa.RecordBatch]:
            rows_there = table.take(arrow_array(part[start : start + _SLICE_ROWS]))
            rows_there = rows_there if rows_there.schema == schema else rows_there.cast(schema)
            return list(rows_there.combine_chunks().to_batches())

        slices = range(0, len(part), _SLICE_ROWS)
        return write_data_files(read_ahead(((1, partial(taken, start)) for start in slices), _SLICES_AHEAD), layout)

    with ThreadPoolExecutor(os.cpu_count() or 1, "deltaskip") as pool:
        running = [pool.submit(one, part) for part in parts]
    # If a file cannot be written, the others are still completed before the error is raised.
    failed = next((error for error in (each.exception() for each in running) if error is not None), None)
    done = [each.result() for each in running if each.exception() is None]
    if failed is not None:
        for each in done:
            each.delete(layout.storage, layout.root)
        raise failed
    files = tuple(file for each in done for file in each.files)
    return WrittenRows(files, sum(each.rows for each in done))


def _order_values(
    columns: Sequence[pa.Array], column: Resolved
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None] | Texts:
    """Return numbers in the order of a column's values, and a mask of the nulls or None; for strings, their Texts.

    Args:
        columns: The top-level column, in chunks.
        column: The column, which may be a field of structs.
    """
    arrays = [nested_value(array, column.logical[1:]) for array in columns]
    kind = arrays[0].type
    if not pa.types.is_primitive(kind) and not pa.types.is_decimal(kind):
        return Texts(_sort_keys(arrays, column) if pa.types.is_string(kind) else arrays)
    found = _numbers(arrays, kind)
    if not any(array.null_count for array in arrays):
        return found, None
    masks = [numpy_values(pc.is_null(array).cast(pa.uint8())).astype(np.bool_) for array in arrays]
    return found, np.concatenate(masks)


def _numbers(arrays: Sequence[pa.Array], kind: pa.DataType) -> npt.NDArray[Any]:
    if pa.types.is_boolean(kind):
        return np.concatenate([numpy_values(is_true(each).cast(pa.int8())) for each in arrays])
    if pa.types.is_floating(kind):
        # -0.0 and 0.0 are equal in Spark, and NaN is greater than any other value, as in numpy.
        return np.concatenate([_fixed(each, np.float64 if kind.bit_width == 64 else np.float32) for each in arrays])
    if pa.types.is_decimal(kind):
        return np.concatenate([_decimal_values(each) for each in arrays])
    return np.concatenate([_fixed(each, _INTEGERS[kind.bit_width // 8]) for each in arrays])


def _fixed(array: pa.Array, kind: type[np.generic]) -> npt.NDArray[Any]:
    """The values in the buffer of an array, undefined for nulls."""
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(len(array), kind)
    return np.frombuffer(buffer, kind)[array.offset : array.offset + len(array)]


def _decimal_values(array: pa.Array) -> npt.NDArray[Any]:
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(len(array), np.float64)
    halves = np.frombuffer(buffer, np.int64)[2 * array.offset : 2 * (array.offset + len(array))].reshape(-1, 2)
    # Close values may become equal, which only places them together.
    found: npt.NDArray[Any] = halves[:, 1].astype(np.float64) * 2.0**64 + halves[:, 0].view(np.uint64)
    return found


def _sort_keys(arrays: Sequence[pa.Array], column: Resolved) -> Sequence[pa.Array]:
    """The strings as binary, under the collation of the column if this process has it."""
    declared = collation_of(column)
    try:
        collation = None if declared is None else find(declared)
    except InvalidCollation:
        collation = None
    keys = arrays if collation is None else [collation.sort_keys(array) for array in arrays]
    return [key.cast(pa.binary()) if pa.types.is_string(key.type) else key for key in keys]


# Strings are compared eight bytes at a time, as numbers, and further bytes are read only if they are still equal to a
# cut, so that strings with long common prefixes are divided as well as others.
class Texts:
    """The order of strings: binary values of a column, including nulls.

    Args:
        arrays: The values in chunks, in binary order under the column's collation.
    """

    def __init__(self, arrays: Sequence[pa.Array]) -> None:
        self._array = pa.concat_arrays([array.cast(pa.large_binary()) for array in arrays])
        self._null = numpy_values(pc.is_null(self._array).cast(pa.uint8())).astype(np.bool_)
        bounds = pc.min_max(self._array).as_py()
        least, greatest = bounds["min"] or b"", bounds["max"] or b""
        self._skip = _common_prefix(least, greatest)

    def cells(self, sample: _Numbers, bits: int) -> npt.NDArray[np.int32]:
        """Return the part of each string between the quantiles of a sample; nulls are in part 0.

        Args:
            sample: Indexes of the rows of the sample.
            bits: Number of bits in the index of a part.
        """
        values = [value for value in self._array.take(arrow_array(sample)).to_pylist() if value is not None]
        places, before = cut_places(len(values), len(sample) - len(values), bits)
        ordered = sorted(values)
        cuts = [ordered[place] for place in places]
        found = np.zeros(len(self._array), np.int32)
        for start in range(0, len(found), _ROWS_AT_ONCE):
            rows = np.arange(start, min(start + _ROWS_AT_ONCE, len(found)))
            found[rows] = self._between(cuts, rows) + before
        found[self._null] = 0
        return found

    def ranks(self) -> _Numbers:
        """Return the rank of each string, nulls first."""
        order = pc.array_sort_indices(self._array, order="ascending", null_placement="at_start")
        found = np.empty(len(self._array), np.int64)
        found[numpy_values(order).astype(np.int64)] = np.arange(len(found))
        return found

    def _between(self, cuts: Sequence[bytes], texts: _Numbers) -> _Numbers:
        """The number of cuts that are not greater than each of these strings. texts: indexes of their rows."""
        if not cuts:
            return np.zeros(len(texts), np.int64)
        ends = pa.array(cuts, pa.large_binary())
        longest = max(map(len, cuts)) - self._skip
        levels = max(1, min(_MOST_LEVELS, -(-longest // _KEY_BYTES)))
        every = np.arange(len(cuts))
        cut_keys, own = _keys(ends, self._skip, every), _keys(self._array, self._skip, texts)
        low = np.searchsorted(cut_keys, own, side="left").astype(np.int64)
        high = np.searchsorted(cut_keys, own, side="right").astype(np.int64)
        for level in range(1, levels):
            rows = np.flatnonzero(low < high)
            if not len(rows):
                break
            at = self._skip + level * _KEY_BYTES
            cut_keys, own = _keys(ends, at, every), _keys(self._array, at, texts[rows])
            rows_by_cut = np.argsort(low[rows], kind="stable")
            firsts = low[rows][rows_by_cut]
            starts = np.flatnonzero(np.diff(firsts, prepend=-1))
            for start, end in zip(starts, [*starts[1:], len(rows)], strict=True):
                # Strings with the same prefix are between the same cuts.
                part = rows_by_cut[start:end]
                first, last = int(firsts[start]), int(high[rows[part[0]]])
                among = cut_keys[first:last]
                low[rows[part]] = first + np.searchsorted(among, own[part], side="left")
                high[rows[part]] = first + np.searchsorted(among, own[part], side="right")
        return high


def _keys(array: pa.Array, at: int, rows: _Numbers) -> npt.NDArray[np.uint64]:
    """Eight bytes of each of these strings, from `at` on, as a number with the same order; missing bytes are 0."""
    _, offsets_buffer, data_buffer = array.buffers()
    found = np.zeros(len(rows), np.uint64)
    if data_buffer is None or offsets_buffer is None or not len(rows):
        return found
    offsets = np.frombuffer(offsets_buffer, np.int64)[array.offset :]
    data = np.frombuffer(data_buffer, np.uint8)
    if not len(data):
        return found
    places, ends = offsets[rows] + at, offsets[rows + 1]
    for _ in range(_KEY_BYTES):
        found <<= np.uint64(8)
        found |= np.where(places < ends, data[np.minimum(places, len(data) - 1)], 0).astype(np.uint64)
        places += 1
    return found


def _common_prefix(one: bytes, other: bytes) -> int:
    length = min(len(one), len(other))
    return next((i for i in range(length) if one[i] != other[i]), length)
