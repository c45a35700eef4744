"""Spark's order of two values of one type, and comparisons of whole columns.

Arrays and structs are compared by their elements and fields, where NULL is the least, and arrays then by length. For
equality of nested values NULL is equal to NULL.

# Spark 4.1, PhysicalArrayType, PhysicalStructType
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.failures import Undecided
from deltaskip.sparkexpr.types.data_types import BOOLEAN, FLOATING, DataType
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values, true_rows
from deltaskip.sparkexpr.values.floats import compare_floats
from deltaskip.sparkexpr.values.lists import Lists, lists_of
from deltaskip.sparkexpr.values.strings import compare_strings
from deltaskip.sparkexpr.values.vectors import Values, as_array, is_constant, ordered_floats

ARROW_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}


def compared(op: str, left: Values, right: Values, type_: DataType) -> Values:
    """Compare columns in Spark's order."""
    if type_ == BOOLEAN:
        # Arrow orders numbers only.
        return ARROW_COMPARISONS[op](pc.cast(left, pa.int8()), pc.cast(right, pa.int8()))
    if type_ in FLOATING and any(pc.any(pc.is_nan(each)).as_py() for each in (left, right)):
        # NaN equals NaN and is greater than every other number.
        ordered = [ordered_floats(as_array(each, 1)) for each in (left, right)]
        left, right = (
            each[0] if is_constant(given) else each for each, given in zip(ordered, (left, right), strict=True)
        )
    return ARROW_COMPARISONS[op](left, right)


def equal_rows(left: pa.Array, right: pa.Array) -> npt.NDArray[np.bool_]:
    """Return for each row whether two values of one type are equal or both NULL. Maps are not compared."""
    both_null = numpy_values(left.is_null()) & numpy_values(right.is_null())
    there = numpy_values(left.is_valid()) & numpy_values(right.is_valid())
    found: npt.NDArray[np.bool_] = both_null | (there & _equal(left, right, there))
    return found


def _equal(left: pa.Array, right: pa.Array, there: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """there: A mask of the rows where neither value is NULL; the result is undefined for other rows."""
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
    return true_rows(pc.equal(left, right))


def _equal_lists(left: pa.Array, right: pa.Array, there: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    one, other = lists_of(left), lists_of(right)
    found: npt.NDArray[np.bool_] = there & (one.lengths == other.lengths)
    owners, *elements = _pairs(left, right, one, other, np.where(found, one.lengths, 0))
    found[owners[~equal_rows(*elements)]] = False
    return found


def _pairs(left: pa.Array, right: pa.Array, one: Lists, other: Lists, counts: npt.NDArray[Any]) -> tuple[Any, ...]:
    """The row of each of the first `counts` elements of two lists, and the elements of both lists side by side."""
    owners = np.repeat(np.arange(len(left)), counts)
    numbers = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
    of_left = left.values.take(arrow_array(one.starts[owners] + numbers))
    return owners, of_left, right.values.take(arrow_array(other.starts[owners] + numbers))


def signs_of_rows(left: pa.Array, right: pa.Array) -> npt.NDArray[np.int8]:
    """Return -1, 0 or 1 for each row: `left` is less than, equal to or greater than `right`. NULL is the least."""
    there = [numpy_values(each.is_valid()) for each in (left, right)]
    signs = there[0].astype(np.int8) - there[1].astype(np.int8)
    both = there[0] & there[1]
    found: npt.NDArray[np.int8] = np.where(both, _signs(left, right, both), signs).astype(np.int8)
    return found


def _signs(left: pa.Array, right: pa.Array, there: npt.NDArray[np.bool_]) -> npt.NDArray[np.int8]:
    """there: A mask of the rows where neither value is NULL; the result is undefined for other rows."""
    if pa.types.is_struct(left.type):
        found: npt.NDArray[np.int8] = np.zeros(len(left), np.int8)
        for at in range(left.type.num_fields):
            found = np.where(found == 0, signs_of_rows(left.field(at), right.field(at)), found)
        return found
    if pa.types.is_list(left.type):
        one, other = lists_of(left), lists_of(right)
        owners, *elements = _pairs(left, right, one, other, np.where(there, np.minimum(one.lengths, other.lengths), 0))
        signs = signs_of_rows(*elements)
        differs = np.flatnonzero(signs)
        rows, first = np.unique(owners[differs], return_index=True)
        signs_of_lengths: npt.NDArray[np.int8] = np.sign(one.lengths - other.lengths).astype(np.int8)
        signs_of_lengths[rows] = signs[differs[first]]
        return signs_of_lengths
    if pa.types.is_null(left.type):
        return np.zeros(len(left), np.int8)
    if pa.types.is_floating(left.type):
        left, right = ordered_floats(left), ordered_floats(right)
    if left.type == pa.bool_():
        left, right = left.cast(pa.int8()), right.cast(pa.int8())
    above, below = (true_rows(each) for each in (pc.greater(left, right), pc.less(left, right)))
    signs_of_values: npt.NDArray[np.int8] = above.astype(np.int8) - below.astype(np.int8)
    return signs_of_values


def extreme(values: Iterable[object], sign: int) -> object:
    """The first greatest value if `sign` is 1, the first least if it is -1; NULLs are ignored. NULL of no values."""
    found = None
    for value in values:
        if value is not None and (found is None or compare_values(value, found) == sign):
            found = value
    return found


def compare_values(left: object, right: object) -> int:
    """-1, 0 or 1 for two values of one type in Spark's order: bytes unsigned, strings by UTF-8, NaN greatest."""
    match left, right:
        case (float(), float()):
            return compare_floats(left, right)
        case (str(), str()):
            return compare_strings(left, right)
        case (bytes(), bytes()):
            return (left > right) - (left < right)
        case (int(), int()):
            return (left > right) - (left < right)
        case (Decimal(), Decimal()):
            return (left > right) - (left < right)
        case (tuple(), tuple()):
            return _compare_each(left, right)
    raise Undecided(f"{left!r} and {right!r} cannot be compared.")


def _compare_each(left: tuple[object, ...], right: tuple[object, ...]) -> int:
    for one, other in zip(left, right, strict=False):
        some_null = one is None or other is None
        found = (other is None) - (one is None) if some_null else compare_values(one, other)
        if found:
            return found
    return (len(left) > len(right)) - (len(left) < len(right))
