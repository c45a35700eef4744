"""Signatures of array functions, and selection of elements by index.

# Spark 4.1, collectionOperations.scala
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from deltaskip.sparkexpr import coerce
from deltaskip.sparkexpr.comparison_collation import is_collated
from deltaskip.sparkexpr.functions.function import Signature, Typed
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values.arrow_values import bitmap_of
from deltaskip.sparkexpr.values.lists import Lists, aligned
from deltaskip.sparkexpr.values.vectors import valid


def array_type(node: Node) -> t.ArrayType | None:
    """The type of an array; None for other values, and if a string may have a collation."""
    type_ = coerce.type_of(node)
    return type_ if isinstance(type_, t.ArrayType) and not is_collated(node) else None


def plain_wider(left: t.DataType, right: t.DataType) -> t.DataType | None:
    """The common type without promotion of strings. A float and an integer have the type float even in ANSI mode."""
    if t.FLOAT in (left, right) and (left in t.INTEGRAL_BITS or right in t.INTEGRAL_BITS):
        return t.FLOAT
    if coerce.is_nested(left) and coerce.is_nested(right) and not coerce.same_type(left, right):
        return None
    return coerce.plain_wider_type(left, right)


def with_value(
    args: tuple[Node, ...], at: int = 1, *, widens_decimals: bool = False
) -> tuple[t.ArrayType, tuple[Node, ...]] | None:
    """The type and the arguments of a call with an array and a value, cast to the common element type; or None.

    widens_decimals: Whether Spark finds a common type of a decimal and another number, as for array_contains only.
    """
    array = array_type(args[0])
    value = coerce.type_of(args[at])
    if array is None or value is None or is_collated(args[at]):
        return None
    met = plain_wider(array.element, value)
    if met is None or (
        isinstance(met, t.DecimalType) and not widens_decimals and {array.element, value} - {met, t.VOID}
    ):
        return None
    type_ = t.ArrayType(met, array.contains_null)
    return type_, (coerce.cast_to(args[0], type_) if array.element != met else args[0], coerce.cast_to(args[at], met))


def array_to(result: Callable[[t.ArrayType], t.DataType | None], *rest: t.DataType) -> Signature:
    """Accept an array, and values that are cast to `rest`."""

    def signature(args: tuple[Node, ...]) -> Typed:
        array = array_type(args[0]) if len(args) == 1 + len(rest) else None
        if array is None:
            return None
        found, type_ = coerce.implicit_casts(args[1:], rest), result(array)
        return None if type_ is None or found is None else ((args[0], *found), type_)

    return signature


def same_array(array: t.ArrayType) -> t.DataType:
    """The type of the array, unchanged."""
    return array


def ordered_array(array: t.ArrayType) -> t.DataType | None:
    """The type of the array if its elements have an order; otherwise None."""
    return array if coerce.is_orderable(array.element) else None


def valid_rows(values: pa.Array) -> np.ndarray:
    """Return a mask of the rows whose value is not null."""
    found = valid(values)
    return np.ones(len(values), np.bool_) if found is None else found


def side_by_side(arrays: Sequence[pa.Array]) -> tuple[Lists, list[pa.Array]]:
    """The layout of lists of the elements at the same index of each array, and these elements.

    Elements are null after the end of a shorter array. The lists are empty where an array is null.
    """
    there, lists = aligned(arrays)
    longest = np.maximum.reduce([each.lengths for each in lists])
    whole = Lists(np.cumsum(longest) - longest, longest, there)
    owners, at = whole.owners(), whole.numbers()
    return whole, [
        taken_elements(array.values, each.starts[owners] + at, at < each.lengths[owners])
        for array, each in zip(arrays, lists, strict=True)
    ]


def taken_elements(elements: pa.Array, places: np.ndarray, there: np.ndarray) -> pa.Array:
    """The elements at the indexes `places`, null where `there` is False."""
    indices = np.where(there, places, 0)
    if not len(elements):
        return pa.nulls(len(places), elements.type)
    data = pa.py_buffer(np.ascontiguousarray(indices))
    return elements.take(pa.Array.from_buffers(pa.int64(), len(indices), [bitmap_of(there), data]))
