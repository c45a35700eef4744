"""Rows of a scan as a LazyFrame of Polars, which reads what a query needs of it, and as a DataFrame of pandas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip import arguments
from deltaskip.doors import first_line
from deltaskip.errors import InvalidArgument, InvalidArgumentType, ReadWarning
from deltaskip.reading.arrow_rows import arrow_batches, arrow_schema_of
from deltaskip.reading.pushed import pushed_polars_filter
from deltaskip.warning import warn

if TYPE_CHECKING:
    import pandas
    import polars

    from deltaskip.reading.table_scan import TableScan

# Integers up to this one are exact as doubles.
_EXACT_DOUBLE = 1 << 53


def lazy_frame(scan: TableScan) -> polars.LazyFrame:
    """Return a LazyFrame of the rows of a scan, see `TableScan.to_polars`."""
    from polars.io.plugins import register_io_source

    schema = frame_of(arrow_schema_of(scan).empty_table()).schema
    return register_io_source(partial(_frames, scan), schema=schema, is_pure=True)


def frame_of(table: pa.Table) -> polars.DataFrame:
    """Return a table of Arrow as a DataFrame of Polars."""
    import polars

    found = polars.from_arrow(table)
    assert isinstance(found, polars.DataFrame)
    return found


def pandas_frame(table: pa.Table, types: str, options: Mapping[str, Any]) -> pandas.DataFrame:
    """Return a table as a DataFrame, see `TableScan.to_pandas`."""
    if arguments.choice("types", types, "numpy", "arrow") == "numpy":
        if not options.get("types_mapper") and not options.get("integer_object_nulls"):
            for name in table.column_names:
                if any(map(_loses_digits, table[name].chunks)):
                    warn(
                        f"The column {name} has NULL, so that pandas stores its integers as doubles, which lose digits "
                        f"from 2**53 on: pass types='arrow'.",
                        ReadWarning,
                    )
        return _of_pyarrow(table, options)
    if "types_mapper" in options:
        raise InvalidArgument("types='arrow' and types_mapper both choose the types: pass one of them.")
    import pandas

    return _of_pyarrow(table, {**options, "types_mapper": pandas.ArrowDtype})


def _of_pyarrow(table: pa.Table, options: Mapping[str, Any]) -> pandas.DataFrame:
    try:
        return table.to_pandas(**options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        raise InvalidArgumentType(
            f"to_pandas {first_line(error)}: it takes the arguments of pyarrow.Table.to_pandas, and types='arrow' for "
            f"columns that stay in Arrow."
        ) from error


def _loses_digits(values: pa.Array) -> bool:
    """Whether integers lose digits as doubles. pandas converts integer columns with NULL to doubles."""
    kind = values.type
    if pa.types.is_integer(kind):
        if not values.null_count or kind.bit_width < 64:
            return False
        ends = pc.min_max(values)
        return any(end.is_valid and abs(end.as_py()) > _EXACT_DOUBLE for end in (ends["min"], ends["max"]))
    if not pa.types.is_nested(kind):
        return False
    inner = [values.keys, values.items] if pa.types.is_map(kind) else values.flatten()
    return any(map(_loses_digits, inner if isinstance(inner, list) else [inner]))


def _frames(
    scan: TableScan, columns: list[str] | None, predicate: Any, rows: int | None, batch_rows: int | None
) -> Iterator[polars.DataFrame]:
    """Yield the rows that Polars asks for.

    Args:
        scan: The scan.
        columns: Names of the columns; None for all.
        predicate: The rows to keep, an expression of Polars. With a number of rows, it applies to these.
        rows: Number of rows to read.
        batch_rows: Most rows of a frame.
    """
    names = list(scan.paths_by_name) if columns is None else columns
    limited = rows is not None or scan.limit is not None
    pushed = None if predicate is None or limited else pushed_polars_filter(scan, predicate)
    narrowed = scan._narrowed(names, pushed, rows)
    for batch in arrow_batches(narrowed, scan._finished):
        frame = frame_of(pa.Table.from_batches([batch]))
        frame = frame if predicate is None else frame.filter(predicate)
        if batch_rows is None or frame.height <= batch_rows:
            yield frame
        else:
            yield from frame.iter_slices(batch_rows)
