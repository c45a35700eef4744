"""Values of an expression for the rows of a batch: an Arrow array, or an Arrow scalar for a constant.

Arrays have the Arrow type of their Delta type (`schema.arrow.arrow_type`). Functions compute on all numbers in the
buffer of an array, also under nulls, and then set the null rows of the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.records import dataclass
from deltaskip.sparkexpr.failures import Undecided
from deltaskip.sparkexpr.kernels.decimals import rescale
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.types.data_types import DataType
from deltaskip.sparkexpr.values import arrow_values

Values: TypeAlias = Any
"""A pyarrow Array, or a Scalar for a constant."""

MOST_TOGETHER = 1 << 28
"""The most bytes that a function makes for the rows of a batch."""
_TOO_LARGE = f"Results of more than {MOST_TOGETHER >> 20} MB for some rows are left to Spark."

_STORED: dict[pa.DataType, pa.DataType] = {pa.date32(): pa.int32()}
_BITS = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}
_MAGNITUDE = np.int64((1 << 63) - 1)
_INFINITY = np.float64(np.inf).view(np.int64)
_NAN = 0x7FF0_0000_0000_0001


class NotByColumn(Exception):
    """The function cannot be computed on whole columns with these arguments."""


@dataclass(frozen=True, slots=True)
class Partly:
    """Values of most rows.

    rest: A mask of the rows whose values must be computed one by one.
    """

    values: pa.Array
    rest: np.ndarray


def partly(values: pa.Array, rest: np.ndarray, *given: Values) -> pa.Array | Partly:
    """The values, without those in `rest` if any of these is in a row where no given array is null."""
    return Partly(values, rest) if any_set(rest, *given) else values


def by_distinct(values: pa.Array, value_of: Callable[[Any], object], type_: DataType) -> pa.Array:
    """The results of a function for a column; it is called once for each distinct value. Nulls stay null."""
    stored = _BITS.get(values.type, values.type)
    # 0.0 and -0.0 compare equal, but functions may distinguish them.
    coded = values.view(stored).dictionary_encode()
    given = arrow_values.domain_values(coded.dictionary.view(values.type))
    values_of = bounded(None if value is None else value_of(value) for value in given)
    found = arrow_values.typed_array(list(values_of), arrow_type(type_))
    return found.take(coded.indices)


def bounded(values: Iterable[object]) -> Iterator[object]:
    """Yield the values that are computed for rows. Raises Undecided before they take more than MOST_TOGETHER bytes."""
    size = 0
    for value in values:
        size += _size(value)
        if size > MOST_TOGETHER:
            raise Undecided(_TOO_LARGE)
        yield value


def _size(value: object) -> int:
    """Bytes of a value, as far as its length and the first element of each array tell."""
    if isinstance(value, str | bytes):
        return len(value)
    return len(value) * (8 + _size(value[0])) if isinstance(value, tuple) and value else 1


def sized(values: pa.Array) -> pa.Array:
    """The values of a function that may multiply its arguments. Raises Undecided above MOST_TOGETHER bytes."""
    if values.nbytes > MOST_TOGETHER:
        raise Undecided(_TOO_LARGE)
    return values


def changed_together(values: pa.Array, change: Callable[[str], str], between: str) -> pa.Array:
    """The results of a function for a column of strings; it is called once for all of them. Nulls stay null.

    between: The separator of two strings. It contains NUL, and `change` does not change it.

    Raises NotByColumn if a string has NUL.
    """
    ends = arrow_values.arrow_array([0, len(values)], pa.int32())
    listed = pa.ListArray.from_arrays(ends, arrow_values.filled(values, ""))
    together = pc.binary_join(listed, between)[0].as_py()
    if not len(values) or together.count("\0") >= len(values):
        raise NotByColumn
    found = pc.split_pattern(text_array([change(together)]), between).values
    return pc.if_else(values.is_valid(), found, none_of(pa.string()))


def arrays_of(*given: Values) -> list[pa.Array]:
    """The values as arrays of one length. The first is null where any array is null. At least one must be an array."""
    found = expanded(given)
    known = valid(*found)
    if known is not None:
        found[0] = pc.if_else(arrow_values.arrow_array(known), found[0], none_of(found[0].type))
    return found


def expanded(values: Sequence[Values]) -> list[pa.Array]:
    """The values as arrays of one length. At least one must be an array."""
    rows = rows_of(values)
    return [as_array(each, rows) for each in values]


def interleaved(columns: Sequence[pa.Array]) -> pa.Array:
    """The values of the first row of all columns, then those of the second row, and so on."""
    order = np.arange(len(columns[0]) * len(columns)).reshape(len(columns), -1).T
    found = pa.concat_arrays(columns).take(arrow_values.arrow_array(np.ascontiguousarray(order).ravel()))
    return arrow_values.one_chunk(found)


def rows_of(values: Sequence[Values]) -> int:
    """The number of rows. At least one of the values must be an array."""
    return next(len(each) for each in values if not is_constant(each))


def is_constant(values: Values) -> bool:
    """Whether the value is the same in every row."""
    return isinstance(values, pa.Scalar)


def constant_of(value: object, type_: pa.DataType) -> pa.Scalar:
    """A constant of a Python value of the package's value domain."""
    return pa.nulls(1, type_)[0] if value is None else arrow_values.typed_array([value], type_)[0]


def constant(values: Values) -> Any:
    """The Python value, in the value domain, of a constant. Raises NotByColumn for an array."""
    if not isinstance(values, pa.Scalar):
        raise NotByColumn
    if isinstance(values, pa.TimestampScalar | pa.Date32Scalar):
        return values.value
    if pa.types.is_nested(values.type):
        return arrow_values.domain_values(pa.repeat(values, 1))[0]
    return values.as_py()


def column(values: Values) -> pa.Array:
    """The values if they are an array. Raises NotByColumn for a constant."""
    if isinstance(values, pa.Scalar):
        raise NotByColumn
    return values


def filled(values: pa.Array) -> np.ndarray:
    """The numbers of an array, 0 where it is null."""
    found: np.ndarray = numbers(values)
    rows = valid(values)
    return found if rows is None else np.where(rows, found, found.dtype.type(0))


def as_array(values: Values, rows: int) -> pa.Array:
    """The values as an array; a constant is repeated."""
    return pa.repeat(values, rows) if isinstance(values, pa.Scalar) else values


def numbers(values: Values) -> Any:
    """The numbers of an array (dates as int32, timestamps as int64), or the number of a constant.

    Numbers under nulls are undefined. The numbers are not copied and must not be changed.
    """
    if isinstance(values, pa.Scalar):
        return constant(values)
    stored = values.type
    if stored == pa.bool_():
        return arrow_values.true_rows(values)
    stored = _STORED.get(stored, pa.int64() if pa.types.is_timestamp(stored) else stored)
    if not (pa.types.is_integer(stored) or pa.types.is_floating(stored)):
        raise NotByColumn
    data = values.buffers()[1]
    if data is None:
        return np.zeros(len(values), stored.to_pandas_dtype())
    return np.frombuffer(data, stored.to_pandas_dtype())[values.offset : values.offset + len(values)]


def valid(*given: Values) -> np.ndarray | None:
    """Return a mask of the rows in which no array is null; None for all rows. Constants are not null."""
    found: np.ndarray | None = None
    for values in given:
        if isinstance(values, pa.Array) and values.null_count:
            here = arrow_values.numpy_values(values.is_valid())
            found = here if found is None else found & here
    return found


def any_set(flags: np.ndarray, *given: Values) -> bool:
    """Whether a flag is set in a row where no array is null."""
    if not flags.any():
        return False
    rows = valid(*given)
    return rows is None or bool((flags & rows).any())


def made(found: np.ndarray, type_: pa.DataType, *given: Values) -> pa.Array:
    """An Arrow array of numbers, null where one of the given arrays is null."""
    array = arrow_values.arrow_array(found)
    rows = valid(*given)
    if rows is not None:
        array = pa.Array.from_buffers(array.type, len(array), [arrow_values.bitmap_of(rows), array.buffers()[1]])
    if array.type == type_:
        return array
    return array.view(type_) if type_ == pa.date32() or pa.types.is_timestamp(type_) else array.cast(type_)


def scattered(values: Values, taken: np.ndarray) -> pa.Array:
    """An array with `values` in the rows of the mask `taken`, in order, and null in all other rows."""
    places = np.cumsum(taken, dtype=np.int64) - 1
    if isinstance(values, pa.Scalar):
        values = pa.repeat(values, int(np.count_nonzero(taken)))
    return values.take(
        pa.Array.from_buffers(pa.int64(), len(taken), [arrow_values.bitmap_of(taken), pa.py_buffer(places)])
    )


def rescaled(
    values: pa.Array, precision: int, scale: int, rounding: str = "half up", zeros: int = 0
) -> pa.Array | Partly:
    """Decimals rounded to `scale`, with the last `zeros` digits as 0; decimals with too many digits are left over."""
    return decimals(*rescale(values, values.type.scale, precision, scale, rounding, zeros), precision)


def decimals(found: pa.Array, states: pa.Array, precision: int) -> pa.Array | Partly:
    """The results of a kernel of `kernels.decimals` as decimals of a precision."""
    type_ = pa.decimal128(precision, found.type.scale)
    values = pa.Array.from_buffers(type_, len(found), found.buffers())
    rest = arrow_values.numpy_values(states) != 0
    return partly(values, rest)


def ordered_floats(values: pa.Array) -> pa.Array:
    """Floating point numbers as int64 in Spark's order: -0.0 = 0.0, and NaN = NaN is above every other number."""
    doubles = pc.cast(values, pa.float64())
    bits = np.array(numbers(doubles)).view(np.int64)
    sign = bits >> 63
    ordered = bits & _MAGNITUDE
    nan = ordered > _INFINITY
    # Negate the magnitude if the sign bit is set.
    ordered ^= sign
    ordered -= sign
    if nan.any():
        ordered[nan] = _NAN
    return made(ordered, pa.int64(), doubles)


def floats_of_order(ordered: pa.Array) -> pa.Array:
    """The doubles of which `ordered_floats` has made int64."""
    bits = np.array(numbers(ordered))
    found = np.where(bits < 0, -bits | ~_MAGNITUDE, bits).view(np.float64)
    found[bits == _NAN] = np.nan
    return made(found, pa.float64(), ordered)


def none_of(type_: pa.DataType) -> pa.Scalar:
    """NULL of a type."""
    return arrow_values.arrow_scalar(None, type_)


def text_array(values: Sequence[str | None]) -> pa.Array:
    """An array of strings."""
    return arrow_values.arrow_array(values, pa.string())


def taken_truth(values: pa.Array, places: np.ndarray) -> pa.Array:
    """Boolean values at indexes. pyarrow's take is many times slower for booleans."""
    bits = [
        None if rows is None else arrow_values.bitmap_of(np.take(rows, places))
        for rows in (valid(values), arrow_values.true_rows(values))
    ]
    return pa.Array.from_buffers(pa.bool_(), len(places), bits)


def array_of(values: Sequence[object], type_: DataType) -> pa.Array:
    """Return an array of Python values of the value domain."""
    return arrow_values.typed_array(values, arrow_type(type_))
