"""Rows of a scan as a LazyFrame of Polars, which reads only what a query needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from deltaskip.as_frames import frame_of
from deltaskip.reading.arrow_rows import plain_schema_of
from deltaskip.reading.pushed import pushed_polars_filter
from deltaskip.sparkexpr.values.arrow_values import no_rows

if TYPE_CHECKING:
    import polars

    from deltaskip.reading.table_scan import TableScan


def data_frame(scan: TableScan) -> polars.DataFrame:
    """Return a DataFrame of the rows of a scan."""
    import polars

    frames = [frame_of(pa.Table.from_batches([each])) for each in scan.row_batches(scan.note_metrics, views=True)]
    return polars.concat(frames, rechunk=False) if frames else frame_of(no_rows(plain_schema_of(scan)))


def lazy_frame(scan: TableScan) -> polars.LazyFrame:
    """Return a LazyFrame of the rows of a scan, see `TableScan.to_polars`."""
    from polars.io.plugins import register_io_source

    schema = frame_of(no_rows(plain_schema_of(scan))).schema
    try:
        from deltaskip.reading.polars_resolver import ScanResolver
    except ImportError:
        # Polars 2.0 and older.
        resolver = None
    else:
        resolver = ScanResolver.of(scan, schema)
    if resolver is not None:
        return resolver.lazy()
    return register_io_source(partial(_frames, scan), schema=schema, is_pure=True)


def _frames(
    scan: TableScan, columns: list[str] | None, predicate: Any, rows: int | None, batch_rows: int | None
) -> Iterator[polars.DataFrame]:
    """Yield the rows that Polars asks for.

    Args:
        scan: The scan.
        columns: Names of the columns; None for all.
        predicate: The rows to keep, a Polars expression. It applies after `rows`.
        rows: The most rows to read; None for all.
        batch_rows: Most rows of a frame.
    """
    names = list(scan.paths_by_name) if columns is None else columns
    limited = rows is not None or scan.limit is not None
    pushed = None if predicate is None or limited else pushed_polars_filter(scan, predicate)[0]
    narrowed = scan.narrowed(names, pushed)
    note = scan.note_metrics
    if rows is None:
        batches = narrowed.row_batches(note, views=True)
    else:
        batches = first_batches(narrowed, rows, note, views=True)
    for batch in batches:
        frame = frame_of(pa.Table.from_batches([batch]))
        frame = frame if predicate is None else frame.filter(predicate)
        if batch_rows is None or frame.height <= batch_rows:
            yield frame
        else:
            yield from frame.iter_slices(batch_rows)


def first_batches(
    scan: Any, count: int, finished: Callable[[Any], None], views: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield the first so many rows of a scan. For the other arguments, see its `row_batches`."""
    if scan.limit is None:
        scan = scan.narrowed(None, None, count)
        scan.takes_first = True
    for batch in scan.row_batches(finished, views) if count else ():
        batch = batch.slice(0, min(count, batch.num_rows))
        count -= batch.num_rows
        yield batch
        if not count:
            return
