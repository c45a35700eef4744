"""Offsets and lengths of Arrow lists and maps as numpy arrays, and Spark's equality of their elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltaskip.records import dataclass
from deltaskip.sparkexpr.failures import Undecided
from deltaskip.sparkexpr.kernels.list_codes import codes_among, repeated_codes
from deltaskip.sparkexpr.values.arrow_values import arrow_array, filled, numpy_values, one_chunk
from deltaskip.sparkexpr.values.vectors import NotByColumn, numbers, ordered_floats

_NAN = object()


@dataclass(frozen=True, slots=True)
class Lists:
    """The lists of a column.

    starts: The index of the first element of each list in the array of elements.
    lengths: The number of elements of each list; 0 for a null list.
    valid: Whether each list is not null.
    """

    starts: np.ndarray
    lengths: np.ndarray
    valid: np.ndarray

    def owners(self) -> np.ndarray:
        """The index of the list of each element, for the elements of all lists in order."""
        found: np.ndarray = np.repeat(np.arange(len(self.lengths)), self.lengths)
        return found

    def places(self) -> np.ndarray:
        """The index of each list element in the array of elements, for all lists in order."""
        found: np.ndarray = np.repeat(self.starts, self.lengths) + self.numbers()
        return found

    def numbers(self) -> np.ndarray:
        """The index of each element in its list, from 0, for all lists in order."""
        ends = np.cumsum(self.lengths)
        firsts = np.repeat(ends - self.lengths, self.lengths)
        found: np.ndarray = np.arange(len(firsts)) - firsts
        return found


def lists_of(array: pa.Array) -> Lists:
    """Return the layout of a column of lists or maps. It indexes the column's `values`, or its `keys` and `items`."""
    offsets = np.array(array.offsets, np.int64)
    valid = numpy_values(array.is_valid()) if array.null_count else np.ones(len(array), np.bool_)
    return Lists(offsets[:-1], np.where(valid, np.diff(offsets), 0), valid)


def aligned(arrays: Sequence[pa.Array]) -> tuple[np.ndarray, list[Lists]]:
    """Return a mask of the rows without null arrays, and the lists of each array, which are empty in other rows."""
    given = [lists_of(each) for each in arrays]
    there = np.logical_and.reduce([each.valid for each in given])
    return there, [Lists(each.starts, np.where(there, each.lengths, 0), there) for each in given]


def listed(lengths: np.ndarray, valid: np.ndarray, elements: pa.Array) -> pa.Array:
    """Return lists of the given lengths, with all elements in order; a list that is not valid is null."""
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    mask = None if valid.all() else arrow_array(~valid)
    kind = pa.list_(pa.field("element", elements.type))
    return pa.ListArray.from_arrays(arrow_array(offsets), elements, type=kind, mask=mask)


def elements_of(elements: pa.Array, lists: Lists) -> pa.Array:
    """Return the elements of all lists in order. They are copied only if the array has other elements between them."""
    count = int(lists.lengths.sum())
    if not count:
        return elements.slice(0, 0)
    not_empty = lists.lengths > 0
    start = int(lists.starts[not_empty.argmax()])
    last = len(not_empty) - 1 - int(not_empty[::-1].argmax())
    if int(lists.starts[last] + lists.lengths[last]) - start == count:
        return elements.slice(start, count)
    return one_chunk(elements.take(arrow_array(lists.places())))


def chained(parts: Sequence[tuple[Lists, pa.Array]], there: np.ndarray) -> pa.Array:
    """Concatenate the lists of all parts, row by row; a row is null where `there` is False.

    The lists of other rows are not read.
    """
    counts = [np.where(there, lists.lengths, 0) for lists, _ in parts]
    total = np.add.reduce(counts)
    starts = np.cumsum(total) - total
    places: npt.NDArray[np.int64] = np.empty(int(total.sum()), np.int64)
    base = 0
    for (lists, elements), count in zip(parts, counts, strict=True):
        kept = Lists(lists.starts, count, there)
        places[np.repeat(starts, count) + kept.numbers()] = kept.places() + base
        starts = starts + count
        base += len(elements)
    joined = one_chunk(parts[0][1] if len(parts) == 1 else pa.concat_arrays([elements for _, elements in parts]))
    return listed(total, there, joined.take(arrow_array(places)))


def coded(*elements: pa.Array) -> tuple[list[npt.NDArray[np.int64]], int]:
    """Return integer codes of flat elements, and the number of codes.

    Two codes are equal if Spark considers the elements equal or if both are null. Raises NotByColumn for nested
    elements.
    """
    joined = one_chunk(pa.concat_arrays(elements)) if len(elements) > 1 else elements[0]
    kind = joined.type
    if pa.types.is_nested(kind) or pa.types.is_null(kind):
        raise NotByColumn
    if pa.types.is_floating(kind):
        joined = ordered_floats(joined)
    found = None if joined.null_count or not len(joined) else _few_integers(joined)
    if found is None:
        encoded = joined.dictionary_encode(null_encoding="encode")
        found = numbers(encoded.indices).astype(np.int64), len(encoded.dictionary)
    codes, count = found
    ends = np.cumsum([len(each) for each in elements])
    return np.split(codes, ends[:-1]), count


def _few_integers(values: pa.Array) -> tuple[npt.NDArray[np.int64], int] | None:
    """Integers as codes, and the number of codes; None if the integers are far apart."""
    if not (pa.types.is_integer(values.type) or values.type == pa.date32()):
        return None
    given = numbers(values)
    least, most = int(given.min()), int(given.max())
    if most - least > 4 * len(values):
        return None
    return given.astype(np.int64) - least, most - least + 1


def repeats(lengths: np.ndarray, codes: np.ndarray, count: int) -> npt.NDArray[np.bool_]:
    """Return a mask of the elements whose code occurs earlier in the same list."""
    return numpy_values(repeated_codes(_integers(lengths), _integers(codes), count)).astype(np.bool_)


def among(
    lengths: np.ndarray, codes: np.ndarray, other_lengths: np.ndarray, others: np.ndarray, count: int
) -> npt.NDArray[np.bool_]:
    """Return a mask of the elements whose code occurs in the other list of the same row."""
    one, other = (_integers(lengths), _integers(codes)), (_integers(other_lengths), _integers(others))
    return numpy_values(codes_among(*one, *other, count)).astype(np.bool_)


def _integers(values: np.ndarray) -> pa.Array:
    return arrow_array(np.ascontiguousarray(values, np.int64))


def has_negative_zero(elements: pa.Array) -> bool:
    """Return whether an element is -0.0, which some of Spark's functions turn into 0.0."""
    if not pa.types.is_floating(elements.type):
        return False
    values = numbers(filled(elements, 1.0))
    return bool((np.signbit(values) & (values == 0)).any())


def flagged_elements(lists: Lists, flags: np.ndarray) -> npt.NDArray[np.int64]:
    """Return the number of elements of each list whose flag is set."""
    totals = np.zeros(len(flags) + 1, np.int64)
    np.cumsum(flags, out=totals[1:])
    ends = np.cumsum(lists.lengths)
    found: npt.NDArray[np.int64] = totals[ends] - totals[ends - lists.lengths]
    return found


def distinct_key(value: Any) -> Any:
    """A key that is equal for two values if they are equal in Spark's order."""
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
