"""Comparisons by column, and equality of nested values, in which NULL is equal to NULL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.expr.lists import lists_of
from deltaskip.expr.vectors import Values, is_constant, ordered_floats, repeated
from deltaskip.schema.arrow_values import FALSE, arrow_array, numpy_values
from deltaskip.schema.types import BOOLEAN, DOUBLE, FLOAT, DataType

__all__ = ["COMPARISONS", "compared", "equal_rows"]

COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_FLOATING = (FLOAT, DOUBLE)


def compared(op: str, left: Values, right: Values, type_: DataType) -> Values:
    """A comparison in Spark's order."""
    if type_ == BOOLEAN:
        # Arrow orders numbers only.
        return COMPARISONS[op](pc.cast(left, pa.int8()), pc.cast(right, pa.int8()))
    if type_ in _FLOATING and any(pc.any(pc.is_nan(each)).as_py() for each in (left, right)):
        # NaN equals itself, and is above every other number.
        ordered = [ordered_floats(repeated(each, 1)) for each in (left, right)]
        left, right = (
            each[0] if is_constant(given) else each for each, given in zip(ordered, (left, right), strict=True)
        )
    return COMPARISONS[op](left, right)


def equal_rows(left: pa.Array, right: pa.Array) -> npt.NDArray[np.bool_]:
    """Return for each row whether two values of one type, no maps, are equal or both NULL."""
    both_null = numpy_values(left.is_null()) & numpy_values(right.is_null())
    there = numpy_values(left.is_valid()) & numpy_values(right.is_valid())
    found: npt.NDArray[np.bool_] = both_null | (there & _equal(left, right, there))
    return found


def _equal(left: pa.Array, right: pa.Array, there: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """there: the rows in which neither is NULL; the result matters only for them."""
    if pa.types.is_struct(left.type):
        found = np.ones(len(left), np.bool_)
        for at in range(left.type.num_fields):
            found &= equal_rows(left.field(at), right.field(at))
        return found
    if pa.types.is_list(left.type):
        return _equal_lists(left, right, there)
    if pa.types.is_null(left.type):
        return np.ones(len(left), np.bool_)
    if pa.types.is_floating(left.type):
        left, right = ordered_floats(left), ordered_floats(right)
    return numpy_values(pc.fill_null(pc.equal(left, right), FALSE))


def _equal_lists(left: pa.Array, right: pa.Array, there: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    one, other = lists_of(left), lists_of(right)
    found: npt.NDArray[np.bool_] = there & (one.lengths == other.lengths)
    lengths = np.where(found, one.lengths, 0)
    owners = np.repeat(np.arange(len(left)), lengths)
    numbers = np.arange(len(owners)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    elements = [
        array.values.take(arrow_array(starts[owners] + numbers))
        for array, starts in ((left, one.starts), (right, other.starts))
    ]
    found[owners[~equal_rows(*elements)]] = False
    return found
