"""Columns as numbers in the order of their values, from which rows are placed on a curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.collations.registry import find
from deltaskip.errors import InvalidCollation
from deltaskip.maintenance.optimize.text_order import Texts
from deltaskip.schema import Resolved, collation_of
from deltaskip.schema.arrow_values import FALSE, numpy_values

__all__ = ["order_values"]

_INTEGERS: dict[int, type[np.generic]] = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def order_values(
    columns: Sequence[pa.Array], column: Resolved
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None] | Texts:
    """Return numbers in the order of a column's values, and a mask of the nulls, None if there are none; or its texts.

    Args:
        columns: The top-level column, in chunks.
        column: The column, which may be a field of structs.
    """
    arrays = [_leaf(array, column.logical[1:]) for array in columns]
    kind = arrays[0].type
    if not pa.types.is_primitive(kind) and not pa.types.is_decimal(kind):
        return Texts(_sort_keys(arrays, column) if pa.types.is_string(kind) else arrays)
    found = _numbers(arrays, kind)
    if not any(array.null_count for array in arrays):
        return found, None
    masks = [numpy_values(pc.is_null(array).cast(pa.uint8())).astype(np.bool_) for array in arrays]
    return found, np.concatenate(masks)


def _leaf(array: pa.Array, path: Sequence[str]) -> pa.Array:
    for name in path:
        array = pc.struct_field(array, [name])
    return array


def _numbers(arrays: Sequence[pa.Array], kind: pa.DataType) -> npt.NDArray[Any]:
    if pa.types.is_boolean(kind):
        return np.concatenate([numpy_values(pc.fill_null(each, FALSE).cast(pa.int8())) for each in arrays])
    if pa.types.is_floating(kind):
        # -0.0 and 0.0 are equal in Spark, and NaN is greater than any other value, as in numpy.
        return np.concatenate([_fixed(each, np.float64 if kind.bit_width == 64 else np.float32) for each in arrays])
    if pa.types.is_decimal(kind):
        return np.concatenate([_decimal_values(each) for each in arrays])
    return np.concatenate([_fixed(each, _INTEGERS[kind.bit_width // 8]) for each in arrays])


def _fixed(array: pa.Array, kind: type[np.generic]) -> npt.NDArray[Any]:
    """The values in the buffer of an array; those of nulls are undefined."""
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(len(array), kind)
    return np.frombuffer(buffer, kind)[array.offset : array.offset + len(array)]


def _decimal_values(array: pa.Array) -> npt.NDArray[Any]:
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(len(array), np.float64)
    halves = np.frombuffer(buffer, np.int64)[2 * array.offset : 2 * (array.offset + len(array))].reshape(-1, 2)
    # Near values may become equal, which only places them together.
    found: npt.NDArray[Any] = halves[:, 1].astype(np.float64) * 2.0**64 + halves[:, 0].view(np.uint64)
    return found


def _sort_keys(arrays: Sequence[pa.Array], column: Resolved) -> Sequence[pa.Array]:
    """The texts as binary, under the collation of the column where this process has it."""
    declared = collation_of(column)
    try:
        collation = None if declared is None else find(declared)
    except InvalidCollation:
        collation = None
    keys = arrays if collation is None else [collation.sort_keys(array) for array in arrays]
    return [key.cast(pa.binary()) if pa.types.is_string(key.type) else key for key in keys]
