"""Lists and maps of Arrow as numpy arrays of where each begins, and equality of their elements as in Spark."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa

from deltaskip.expr.failures import Undecided
from deltaskip.records import dataclass
from deltaskip.schema.arrow_values import arrow_array, numpy_values

__all__ = ["MOST_ELEMENTS", "Lists", "check_zeros", "distinct_key", "listed", "lists_of"]

MOST_ELEMENTS = 1 << 20
"""Longer arrays are left to Spark."""

_NAN = object()


@dataclass(frozen=True, slots=True)
class Lists:
    """The lists of a column.

    starts: Where each begins in the array of elements.
    lengths: The number of elements of each; 0 where it is null.
    valid: Whether it is not null.
    """

    starts: np.ndarray
    lengths: np.ndarray
    valid: np.ndarray

    def owners(self) -> np.ndarray:
        """The number of the list of each element, of the elements of all lists in their order."""
        found: np.ndarray = np.repeat(np.arange(len(self.lengths)), self.lengths)
        return found

    def places(self) -> np.ndarray:
        """The place of each of these elements in the array of elements."""
        found: np.ndarray = np.repeat(self.starts, self.lengths) + self.numbers()
        return found

    def numbers(self) -> np.ndarray:
        """The number of each of these elements in its list, from 0."""
        ends = np.cumsum(self.lengths)
        firsts = np.repeat(ends - self.lengths, self.lengths)
        found: np.ndarray = np.arange(len(firsts)) - firsts
        return found


def lists_of(array: pa.Array) -> Lists:
    """Return where the lists or maps of a column are; elements are those of `values`, `keys` and `items`."""
    offsets = np.array(array.offsets, np.int64)
    valid = numpy_values(array.is_valid()) if array.null_count else np.ones(len(array), np.bool_)
    return Lists(offsets[:-1], np.where(valid, np.diff(offsets), 0), valid)


def listed(lengths: np.ndarray, valid: np.ndarray, elements: pa.Array) -> pa.Array:
    """Return lists of so many elements each, null where they are not valid.

    Args:
        lengths: The number of elements of each list.
        valid: Whether each list is not null.
        elements: The elements of all lists, in their order.
    """
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    mask = None if valid.all() else arrow_array(~valid)
    kind = pa.list_(pa.field("element", elements.type))
    return pa.ListArray.from_arrays(arrow_array(offsets), elements, type=kind, mask=mask)


def distinct_key(value: Any) -> Any:
    """A key that is equal for two values if Spark's order takes them for equal."""
    if isinstance(value, tuple):
        return tuple([distinct_key(each) for each in value])
    return _NAN if isinstance(value, float) and math.isnan(value) else value


def check_zeros(value: Any) -> None:
    """Raise Undecided for a negative zero, which some of Spark's functions turn into a positive one."""
    if isinstance(value, tuple):
        for each in value:
            check_zeros(each)
    elif isinstance(value, float) and value == 0 and math.copysign(1, value) < 0:
        raise Undecided("A negative zero is left to Spark.")
