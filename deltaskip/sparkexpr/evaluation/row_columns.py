"""The columns of a batch of rows for which an expression is evaluated."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.nodes import Node, few_columns
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, one_chunk

_ROWS_PER_DATE = 8

Columns = Mapping[str, pa.Array]
"""The top-level columns of a batch by name, with the Arrow types of their Delta types, and variables of lambdas."""


def has_few_values(column: pa.Array | pa.ChunkedArray) -> bool:
    """Whether a column has a dictionary of at most half as many values as it has rows."""
    return isinstance(column, pa.DictionaryArray) and 2 * len(column.dictionary) <= len(column)


def encoded_dates(column: pa.Array | pa.ChunkedArray) -> pa.DictionaryArray | None:
    """Return a column of dates with a dictionary of all dates from the first to the last; None if these are many."""
    array = one_chunk(column)
    ends = pc.min_max(array.view(pa.int32()))
    first, last = ends["min"].as_py(), ends["max"].as_py()
    if first is None or _ROWS_PER_DATE * (last - first + 1) > len(array):
        return None
    days = arrow_array(np.arange(first, last + 1, dtype=np.int32)).view(pa.date32())
    return pa.DictionaryArray.from_arrays(pc.subtract(array.view(pa.int32()), arrow_scalar(first, pa.int32())), days)


def column_at(columns: Columns, path: tuple[str, ...]) -> pa.Array:
    """Return the values of a column or nested field, null where an enclosing struct is null."""
    found = columns[path[0]]
    for name in path[1:]:
        if found.type.get_field_index(name) < 0:
            # A field of type void is not stored.
            return pa.nulls(len(found))
        found = one_chunk(pc.struct_field(found, [name]))
    return found


def taken_rows(columns: Columns, node: Node, places: npt.NDArray[Any]) -> dict[str, pa.Array]:
    """The columns of an expression, and perhaps others if these are many, with the rows at `places`."""
    names = few_columns(node)
    indices = arrow_array(places.astype(np.int64))
    return {name: each.take(indices) for name, each in columns.items() if names is None or name in names}
