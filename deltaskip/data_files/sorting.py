"""Sorting the rows of a data file with Arrow, in Spark's order."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.data_files.sort_order import SortColumn

__all__ = ["sorted_rows"]


def sorted_rows(rows: pa.Table, columns: Sequence[SortColumn]) -> pa.Table:
    """Return the rows in the order of the columns; equal ones stay in their order.

    NaN is greater than all other numbers, as in Spark.

    Args:
        rows: Rows with columns by physical name.
        columns: The columns, the most significant one first.
    """
    keys: dict[str, pa.ChunkedArray] = {}
    order: list[tuple[str, str]] = []

    def add(values: pa.ChunkedArray, descending: bool) -> None:
        name = f"k{len(keys)}"
        keys[name] = values
        order.append((name, "descending" if descending else "ascending"))

    for column in columns:
        values = rows.column(column.physical[0])
        for name in column.physical[1:]:
            values = pa.chunked_array([pc.struct_field(chunk, name) for chunk in values.chunks], _inner(values, name))
        if values.null_count:
            add(pc.is_null(values), column.nulls_first)
        if pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py():
            # Arrow puts NaN at the end in both directions.
            add(pc.fill_null(pc.is_nan(values), False), column.descending)
        add(values, column.descending)
    if not keys or rows.num_rows < 2:
        return rows
    # Arrow's order of equal rows is not that in which they came.
    add(pa.chunked_array([pa.array(range(rows.num_rows), pa.int64())]), False)
    return rows.take(pc.sort_indices(pa.table(keys), sort_keys=order))


def _inner(values: pa.ChunkedArray, name: str) -> pa.DataType:
    return values.type.field(name).type
