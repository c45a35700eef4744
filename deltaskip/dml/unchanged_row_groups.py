"""Copies row groups in which no row changes, without decoding them, from files in which other rows change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow as pa

from deltaskip.actions import AddFile, hadoop_path
from deltaskip.data_files.copied_row_groups import can_copy, copy_row_groups
from deltaskip.data_files.parquet_writer import DataFileLayout
from deltaskip.data_files.written_rows import WrittenRows
from deltaskip.dml.execution import RowExecution, RowsOfFiles
from deltaskip.dml.files_to_change import DataFiles
from deltaskip.dml.positions import RowPositions, union_of_positions
from deltaskip.errors import DeltaSkipError
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values, one_chunk
from deltaskip.stats.footer import Footer, read_footer
from deltaskip.storage import storage_for

_LEAST_BYTES = 4 << 20
"""If the row groups to copy have fewer bytes, they are rewritten with the other rows, not copied to a separate file."""

_THREADS, _REMOTE_THREADS = 4, 16


@dataclass(frozen=True, slots=True)
class _Kept:
    """Row groups of a file that were copied: their indexes, the positions of their rows, and the new file."""

    numbers: Sequence[int]
    rows: Sequence[range]
    file: AddFile


def copy_unchanged_row_groups(
    snapshot: Snapshot, execution: RowExecution, copied: RowsOfFiles, files: DataFiles, layout: DataFileLayout
) -> tuple[WrittenRows, RowsOfFiles]:
    """Copy the row groups that lose no row into new files. After an error no file is left.

    Args:
        snapshot: The table.
        execution: Copies the remaining rows; if jobs do that, no row group is copied here.
        copied: The rows of files that stay: all except those at its positions.
        files: The files.
        layout: The layout of new files.

    Returns:
        The new files, and the rows that remain to be written.

    Raises:
        StorageError: A file cannot be read or written.
    """
    positions = copied.positions
    assert positions is not None
    large = (numpy_values(one_chunk(files.logged["size"])) >= _LEAST_BYTES).nonzero()[0].tolist()
    if not large or not execution.copies_here([copied], layout.schema):
        return WrittenRows((), 0), copied
    chosen = files.take(large)
    adds, uris = (dict(zip(large, each, strict=True)) for each in (chosen.adds(), chosen.listed["uri"].to_pylist()))

    def kept(number: int) -> _Kept | None:
        # The positions of one file for each thread are in memory.
        return _kept(snapshot, uris[number], positions[number], adds[number], layout)

    with ThreadPoolExecutor(_REMOTE_THREADS if snapshot.storage.remote else _THREADS, "deltaskip") as pool:
        tasks = {number: pool.submit(kept, number) for number in large}
    found = {number: one for number, task in tasks.items() if not task.exception() and (one := task.result())}
    rows = sum(len(each) for one in found.values() for each in one.rows)
    written = WrittenRows(tuple(one.file for one in found.values()), rows)
    error = next(filter(None, (task.exception() for task in tasks.values())), None)
    if error is not None:
        written.delete(layout.storage, layout.root)
        raise error
    if not found:
        return written, copied

    def gone() -> Iterator[pa.Int64Array]:
        for number, array in enumerate(positions):
            here = found[number].rows if number in found else ()
            yield union_of_positions([array, *(arrow_array(np.arange(each.start, each.stop)) for each in here)])

    groups = {uris[number]: one.numbers for number, one in found.items()}
    return written, replace(copied, positions=RowPositions(gone()), copied_groups=groups)


def _kept(snapshot: Snapshot, uri: str, gone: pa.Int64Array, add: AddFile, layout: DataFileLayout) -> _Kept | None:
    """Copy the row groups of a file that lose no row; None if there are none, or they cannot be copied."""
    location = hadoop_path(snapshot.table_root, uri)
    storage = storage_for(location, near=snapshot.storage)
    try:
        footer = read_footer(storage, location, add.size)
    except DeltaSkipError:
        # The reader of the rows raises the error.
        return None
    numbers, sizes = _without(footer, gone), footer.group_bytes()
    if not numbers or sizes is None or sum(sizes[number] for number in numbers) < _LEAST_BYTES:
        return None
    if not can_copy(footer, layout):
        return None
    file = copy_row_groups(storage, location, footer, numbers, layout, add)
    if file is None:
        return None
    starts = [footer.rows_before(number) for number in numbers]
    rows = [range(start, start + footer.group_rows(number)) for start, number in zip(starts, numbers, strict=True)]
    return _Kept(numbers, rows, file)


def _without(footer: Footer, gone: pa.Int64Array) -> list[int]:
    """Indexes of the row groups without a row at these positions."""
    counts = [footer.group_rows(number) for number in range(len(footer.row_groups))]
    before = np.searchsorted(numpy_values(gone), np.cumsum([0, *counts]))
    return [number for number, count in enumerate(counts) if count and before[number] == before[number + 1]]
