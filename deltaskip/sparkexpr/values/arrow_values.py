"""Conversions between Python, numpy and Arrow for short lists and flat columns.

pyarrow imports pandas, if installed, when it first converts a value (`pa.array`, `pa.scalar`, `to_numpy`). The import
takes 0.15 s and 45 MB, more than planning a table. These conversions do not import pandas.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal, Inexact
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.kernels.utf8_check import are_utf8
from deltaskip.sparkexpr.values.numerals import context

_NUMPY: dict[pa.DataType, type[np.generic]] = {
    pa.int8(): np.int8,
    pa.int16(): np.int16,
    pa.int32(): np.int32,
    pa.int64(): np.int64,
    pa.uint8(): np.uint8,
    pa.uint16(): np.uint16,
    pa.uint32(): np.uint32,
    pa.uint64(): np.uint64,
    pa.float32(): np.float32,
    pa.float64(): np.float64,
}
_ARROW = {np.dtype(scalar): type_ for type_, scalar in _NUMPY.items()}
# Python adds up to this many numbers faster than pyarrow.
_FEW = 32
_OFFSETS = {pa.string(): np.int32, pa.binary(): np.int32, pa.large_string(): np.int64, pa.large_binary(): np.int64}
_STRINGS = (pa.string(), pa.large_string())
# An error for decimals with more digits than the scale of their type.
_UNSCALED = context(76, traps=(Inexact,))


def arrow_array(values: np.ndarray[Any, Any] | Sequence[Any], type_: pa.DataType | None = None) -> pa.Array:
    """The values as an Arrow array. A list may contain None for null.

    A numpy array of numbers is not copied and needs no `type_`; a list requires it. This function converts numbers,
    booleans, strings and bytes, and pyarrow converts other types. Raises OverflowError for an integer out of range.
    """
    if isinstance(values, np.ndarray):
        made = _flat(values, None)
        return made if type_ is None or type_ == made.type else made.cast(type_)
    if type_ is not None and (type_ in _NUMPY or type_ == pa.bool_()):
        missing = [value is None for value in values]
        filled = [0 if value is None else value for value in values]
        return _flat(np.array(filled, _NUMPY.get(type_, np.bool_)), missing)
    if type_ in _OFFSETS:
        return _texts(values, type_)
    if isinstance(type_, pa.Decimal128Type) and all(value is None or isinstance(value, Decimal) for value in values):
        return _decimals(values, type_)
    return pa.array(values, type_)


def has_utf8(array: pa.Array) -> bool:
    """Whether all strings, at any depth, are UTF-8, which files do not ensure and other libraries rely on."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        return has_utf8(array.dictionary)
    if pa.types.is_map(kind):
        return has_utf8(array.keys) and has_utf8(array.items)
    if pa.types.is_nested(kind):
        parts = array.flatten()
        return all(map(has_utf8, parts)) if pa.types.is_struct(kind) else has_utf8(parts)
    if kind == pa.string_view():
        return has_utf8(array.cast(pa.binary_view()).cast(pa.large_binary()).view(pa.large_string()))
    return kind not in _STRINGS or are_utf8(array)


def arrow_scalar(value: Any, type_: pa.DataType) -> pa.Scalar:
    """A value of `type_`, or null, as an Arrow scalar."""
    return pa.nulls(1, type_)[0] if value is None else arrow_array([value], type_)[0]


def nested_value(array: pa.Array, fields: Sequence[str]) -> pa.Array:
    """Return a field of structs by its path; it is null where a struct is null."""
    return pc.struct_field(array, list(fields)) if fields else array


def one_chunk(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """The values as one array, which is copied only if there are several chunks."""
    if isinstance(column, pa.Array):
        return column
    if not column.num_chunks:
        # pyarrow imports pandas to make this array.
        return pa.nulls(0, column.type)
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def distinct_rows(rows: pa.Table) -> pa.Table:
    """Each row once; columns are not nested.

    Arrow takes a name that begins with a dot for a path, so columns are grouped by their places.
    """
    places = [f"{place}" for place in range(rows.num_columns)]
    found = rows.rename_columns(places).group_by(places, use_threads=False).aggregate([])
    return found.select(places).rename_columns(rows.schema.names)


def numpy_values(array: pa.Array | pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """The values of an array of numbers or booleans without nulls. Numbers are not copied and must not be changed.

    Raises ValueError if a value is null.
    """
    array = one_chunk(array)
    if array.null_count:
        raise ValueError(f"{array.null_count} of {len(array)} values are null")
    data = array.buffers()[1]
    if data is None:
        return np.zeros(0, _NUMPY.get(array.type, np.bool_))
    if array.type == pa.bool_():
        bits = np.frombuffer(data, np.uint8)
        return np.unpackbits(bits, count=array.offset + len(array), bitorder="little")[array.offset :].astype(bool)
    return np.frombuffer(data, _NUMPY[array.type])[array.offset : array.offset + len(array)]


def filled(values: pa.Array | pa.ChunkedArray | pa.Scalar, value: Any) -> Any:
    """The values, with one of their type for null. pyarrow imports pandas to make a scalar of a Python value."""
    if not isinstance(values, pa.Scalar) and not values.null_count:
        return values
    return pc.fill_null(values, arrow_scalar(value, values.type))


def no_rows(schema: pa.Schema) -> pa.Table:
    """A table without rows. pyarrow imports pandas to make an empty one of a schema."""
    return pa.Table.from_batches([], schema)


def in_schema(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table cast to a schema with the same names; the table itself if it already has the schema."""
    return table if table.schema.equals(schema, check_metadata=True) else table.cast(schema)


def is_true(values: Any) -> Any:
    """Whether booleans of an array, chunked array or scalar are true; null is not true. Faster than fill_null."""
    return pc.and_kleene(pc.is_valid(values), values)


def true_rows(values: pa.Array | pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """Return a new mask of the rows where a boolean is true; null counts as false."""
    return numpy_values(is_true(values))


def is_not_false(values: Any) -> Any:
    """Whether booleans are true or null."""
    return pc.or_kleene(pc.is_null(values), values)


_DURATION = pa.duration("us")


def domain_values(array: pa.Array | pa.ChunkedArray) -> list[Any]:
    """The values of a column as Python values of the value domain: int days and int microseconds, widened floats.

    Those of intervals are int microseconds or int months, those of timestamps of nanoseconds int nanoseconds.

    Arrays and structs are tuples, structs in the order of their fields; maps are tuples of pairs of key and value.
    Dates must be date32 and timestamps in microseconds, as in arrow_type.
    """
    array = one_chunk(array)
    if pa.types.is_nested(array.type):
        return _nested_values(array)
    if array.type == pa.date32():
        array = array.view(pa.int32())
    elif pa.types.is_timestamp(array.type) or array.type == _DURATION:
        array = array.view(pa.int64())
    found: list[Any] = array.to_pylist()
    return found


def typed_array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """An array of Python values in the format of domain_values, with None for null.

    Dates are date32 and timestamps in microseconds. Raises OverflowError or ArrowInvalid for a value out of range.
    """
    if pa.types.is_nested(type_):
        return _nested_array(values, type_)
    if type_ == pa.date32():
        return arrow_array(values, pa.int32()).view(type_)
    if pa.types.is_timestamp(type_) or pa.types.is_duration(type_):
        return arrow_array(values, pa.int64()).view(type_)
    return arrow_array(values, type_)


def _nested_values(array: pa.Array) -> list[Any]:
    valid = numpy_values(array.is_valid()).tolist()
    if pa.types.is_struct(array.type):
        members = [domain_values(array.field(at)) for at in range(array.type.num_fields)]
        rows = zip(*members, strict=True) if members else [()] * len(array)
        return [row if there else None for row, there in zip(rows, valid, strict=True)]
    offsets = np.array(array.offsets).tolist()
    if pa.types.is_map(array.type):
        inner = list(zip(domain_values(array.keys), domain_values(array.items), strict=True))
    else:
        inner = domain_values(array.values)
    ends = pairwise(offsets)
    return [tuple(inner[first:last]) if there else None for (first, last), there in zip(ends, valid, strict=True)]


def _nested_array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    missing = np.array([value is None for value in values], np.bool_)
    nulls = _flat(missing, None) if missing.any() else None
    if pa.types.is_struct(type_):
        blank = (None,) * type_.num_fields
        rows = [blank if value is None else value for value in values]
        fields = [type_.field(at) for at in range(type_.num_fields)]
        columns = zip(*rows, strict=True) if rows else [()] * len(fields)
        members = [typed_array(list(column), field.type) for column, field in zip(columns, fields, strict=True)]
        if not fields:
            validity = None if nulls is None else bitmap_of(~missing)
            return pa.Array.from_buffers(type_, len(values), [validity])
        return pa.StructArray.from_arrays(members, fields=fields, mask=nulls)
    lengths = [0 if value is None else len(value) for value in values]
    offsets = _flat(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)]).astype(np.int32), None)
    inner = [each for value in values if value is not None for each in value]
    if pa.types.is_map(type_):
        keys = typed_array([key for key, _ in inner], type_.key_type)
        items = typed_array([item for _, item in inner], type_.item_type)
        return pa.MapArray.from_arrays(offsets, keys, items, type_, mask=nulls)
    return pa.ListArray.from_arrays(offsets, typed_array(inner, type_.value_type), type=type_, mask=nulls)


def _flat(values: np.ndarray[Any, Any], missing: list[bool] | None) -> pa.Array:
    validity = None
    if missing is not None and any(missing):
        validity = bitmap_of(~np.array(missing, np.bool_))
    if values.dtype == np.bool_:
        return pa.Array.from_buffers(pa.bool_(), len(values), [validity, bitmap_of(values)])
    data = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(_ARROW[values.dtype], len(values), [validity, data])


def _texts(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    raw = [b"" if value is None else value.encode() if isinstance(value, str) else bytes(value) for value in values]
    offsets = np.zeros(len(raw) + 1, _OFFSETS[type_])
    np.cumsum([len(text) for text in raw], out=offsets[1:])
    missing = np.array([value is None for value in values], np.bool_)
    validity = bitmap_of(~missing) if missing.any() else None
    return pa.Array.from_buffers(type_, len(raw), [validity, pa.py_buffer(offsets), pa.py_buffer(b"".join(raw))])


def _decimals(values: Sequence[Decimal | None], type_: pa.Decimal128Type) -> pa.Array:
    limit = 10**type_.precision
    shifted = [Decimal(0) if value is None else value.scaleb(type_.scale, _UNSCALED) for value in values]
    unscaled = [int(value.to_integral_exact(context=_UNSCALED)) for value in shifted]
    if any(abs(number) >= limit for number in unscaled):
        raise OverflowError(f"a value has more than the {type_.precision} digits of {type_}")
    missing = np.array([value is None for value in values], np.bool_)
    data = b"".join(number.to_bytes(16, "little", signed=True) for number in unscaled)
    return pa.Array.from_buffers(
        type_, len(unscaled), [bitmap_of(~missing) if missing.any() else None, pa.py_buffer(data)]
    )


def bitmap_of(flags: np.ndarray[Any, Any]) -> pa.Buffer:
    """Return flags as an Arrow bitmap: one bit for each flag, the lowest bit first."""
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


TRUE = arrow_scalar(True, pa.bool_())
FALSE = arrow_scalar(False, pa.bool_())
NOTHING = arrow_scalar("", pa.string())


def exact_sum(values: pa.Array | pa.ChunkedArray) -> int:
    """The sum of integers without overflow, unlike in pyarrow."""
    if len(values) <= _FEW:
        return sum([value for value in values.to_pylist() if value is not None])
    found = pc.min_max(values)
    furthest = max(abs(found["min"].as_py() or 0), abs(found["max"].as_py() or 0))
    if furthest * len(values) < 1 << 63:
        return pc.sum(values).as_py() or 0
    return sum(value for value in values.to_pylist() if value is not None)


def tuple_codes(columns: Iterable[pa.Array | pa.ChunkedArray], rows: int) -> np.ndarray[Any, Any]:
    """Return a number for each row, from 0 in the order of first rows: equal where every column is equal, or null.

    Arrow decides which values are equal: a NaN equals a NaN, and 0.0 is not -0.0.
    """
    codes = np.zeros(rows, np.int64)
    for number, column in enumerate(columns):
        encoded = one_chunk(column).dictionary_encode(null_encoding="encode")
        if number:
            # Numbered again, the codes of any number of columns stay small.
            joint = codes * (len(encoded.dictionary) + 1) + numpy_values(encoded.indices)
            encoded = arrow_array(joint, pa.int64()).dictionary_encode()
        codes = numpy_values(encoded.indices).astype(np.int64)
    return codes
