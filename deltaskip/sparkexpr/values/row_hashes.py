"""Hashes of whole rows, by which candidates for equal rows are found, whatever the types of their columns.

Equal rows have equal hashes: NULL equals NULL, NaN equals NaN, 0.0 equals -0.0, and maps are equal if their entries are
in the same order. Different rows may have equal hashes, so that the caller compares the values.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltaskip.sparkexpr.kernels.hashes import hash_bytes, hash_numbers
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values
from deltaskip.sparkexpr.values.hashes import SPARK_SEED
from deltaskip.sparkexpr.values.lists import lists_of
from deltaskip.sparkexpr.values.vectors import ordered_floats

_Hashes = npt.NDArray[np.int64]

_NULL = np.int64(0x5851_F42D_4C95_7F2D)


def row_hashes(columns: Iterable[pa.Array], rows: int) -> npt.NDArray[np.int64]:
    """Return a hash of 64 bits for each row of columns of any type, in the same order for rows that are compared."""
    hashes = np.full(rows, SPARK_SEED, np.int64)
    for column in columns:
        hashes = _with(column, hashes)
    return hashes


def _with(values: pa.Array, seeds: _Hashes) -> _Hashes:
    """The hashes of values, each with the seed of its row."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return _with(values.dictionary_decode(), seeds)
    if pa.types.is_null(kind):
        return seeds
    if pa.types.is_struct(kind):
        # A struct of NULLs is not NULL.
        found = _mixed(np.zeros(len(values), np.int64), seeds)
        for field in values.flatten():
            found = _with(field, found)
    elif pa.types.is_list(kind) or pa.types.is_map(kind):
        found = _with_elements(values, seeds)
    elif pa.types.is_string(kind) or pa.types.is_binary(kind):
        found = numpy_values(hash_bytes(values, arrow_array(seeds), wide=True))
    else:
        found = seeds
        for numbers in _numbers(values):
            found = _mixed(numbers, found)
    if not values.null_count:
        return found
    return np.where(numpy_values(values.is_null()), _mixed(np.full(len(values), _NULL), seeds), found)


def _numbers(values: pa.Array) -> Iterable[_Hashes]:
    """The bits of values of a fixed width, as one or more numbers for each."""
    kind = values.type
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif pa.types.is_floating(kind):
        values = ordered_floats(values)
    width, start = values.type.bit_width // 8, values.offset
    data = values.buffers()[1]
    if data is None or not len(values):
        return [np.zeros(len(values), np.int64)]
    words = min(width, 8)
    all_words = np.frombuffer(data, f"i{words}", (start + len(values)) * (width // words))
    one = all_words[start * (width // words) :].reshape(len(values), width // words)
    return [np.ascontiguousarray(one[:, at], np.int64) for at in range(width // words)]


def _with_elements(values: pa.Array, seeds: _Hashes) -> _Hashes:
    """The hashes of lists and maps: of the sum of the hashes of their elements, each with its number in its list."""
    lists = lists_of(values)
    owners = np.repeat(np.arange(len(values)), lists.lengths)
    starts = np.cumsum(lists.lengths) - lists.lengths
    numbers = np.arange(len(owners)) - starts[owners]
    places = arrow_array(lists.starts[owners] + numbers, pa.int64())
    hashes = _mixed(numbers, seeds[owners])
    for part in (values.keys, values.items) if pa.types.is_map(values.type) else (values.values,):
        hashes = _with(part.take(places), hashes)
    sums = np.concatenate([np.zeros(1, np.int64), np.cumsum(hashes)])
    return _mixed(lists.lengths.astype(np.int64), _mixed(sums[starts + lists.lengths] - sums[starts], seeds))


def _mixed(numbers: _Hashes, seeds: _Hashes) -> _Hashes:
    found: _Hashes = numpy_values(hash_numbers(arrow_array(numbers), arrow_array(seeds), 8, wide=True))
    return found
