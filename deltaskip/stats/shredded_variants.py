"""Reassembles shredded variants of data files.

A file may keep parts of a variant in typed columns, so that a variant is a struct of `metadata`, `value` and
`typed_value`. Readers return `metadata` and `value` of the whole variant. Metadata stays as it is, since it also has
the keys of shredded fields.

# Parquet, Variant Shredding
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.kernels import of_lists, of_numbers, of_structs, of_texts
from deltaskip.sparkexpr.types import VARIANT, VARIANT_STORAGE, DataType, nested_types
from deltaskip.sparkexpr.values.arrow_nested import changed_inside
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, filled, one_chunk

_METADATA, _VALUE, _TYPED = "metadata", "value", "typed_value"
_NULL = arrow_scalar(b"\0", pa.large_binary())
_UUID_BYTES = 16
_TEXTS = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


class ShreddingError(ValueError):
    """A shredded variant violates the specification; the message is a clause that says how."""


def is_shredded(stored: pa.DataType) -> bool:
    """Whether the Arrow type of a variant in a file is the type of a shredded variant."""
    return pa.types.is_struct(stored) and {field.name for field in stored} != {field.name for field in VARIANT_STORAGE}


def unshredded(array: pa.Array, data_type: DataType) -> pa.Array:
    """Return a column with its shredded variants, at any depth, reassembled.

    Args:
        array: The column as a file has it, but with the names of the table.
        data_type: The type of the column in the table.

    Raises ShreddingError.
    """
    if VARIANT not in nested_types(data_type):
        return array
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if data_type == VARIANT:
        return _variant(array) if is_shredded(array.type) else array
    return changed_inside(array, data_type, unshredded)


def _variant(array: pa.StructArray) -> pa.Array:
    """The variants of a column that is shredded."""
    members = _members(array)
    metadata = members.get(_METADATA)
    if metadata is None or not _is_binary(metadata.type):
        raise ShreddingError("a variant has no metadata")
    there = array.is_valid()
    if pc.any(pc.and_(there, metadata.is_null())).as_py():
        raise ShreddingError("the metadata of a variant is missing")
    try:
        values = _values(members, metadata, None)
    except (ValueError, TypeError) as error:
        raise ShreddingError(str(error)) from error
    # A variant that is missing where one is required is null.
    values = pc.if_else(pc.and_(there, values.is_null()), _NULL, values) if values.null_count else values
    found = {_VALUE: filled(values, b"").cast(pa.binary()), _METADATA: filled(metadata.cast(pa.binary()), b"")}
    return pa.StructArray.from_arrays(
        [found[field.name] for field in VARIANT_STORAGE], fields=list(VARIANT_STORAGE), mask=_nulls(array)
    )


def _values(members: Mapping[str, pa.Array], metadata: pa.Array, rows: npt.NDArray[np.int64] | None) -> pa.Array:
    """The values of a pair of `value` and `typed_value`, as large_binary; null where they are missing.

    Args:
        members: The pair; one of the two may be absent.
        metadata: Metadata of the variants.
        rows: Index of the variant of each value; None if there is one value for each variant.
    """
    value, typed = members.get(_VALUE), members.get(_TYPED)
    if isinstance(typed, pa.ExtensionArray):
        typed = typed.storage
    if value is not None and not _is_binary(value.type):
        raise ShreddingError(f"the member value of a variant is of the type {value.type}")
    if typed is None:
        if value is None:
            raise ShreddingError("a variant has neither value nor typed_value")
        return value.cast(pa.large_binary())
    kind = typed.type
    if pa.types.is_struct(kind):
        fields = _children(typed, metadata, rows)
        numbers = None if rows is None else arrow_array(rows, pa.int64())
        return of_structs(typed.is_valid(), list(fields), list(fields.values()), metadata, numbers, value)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        lengths = pc.list_value_length(typed).cast(pa.int64())
        counts = np.asarray(filled(lengths, 0))
        parents = np.repeat(np.arange(len(typed), dtype=np.int64) if rows is None else rows, counts)
        elements = one_chunk(pc.list_flatten(typed))
        return of_lists(lengths, _values(_members(elements), metadata, parents), value)
    if pa.types.is_fixed_size_binary(kind) and kind.byte_width == _UUID_BYTES:
        return of_texts(typed.cast(pa.binary()), value, uuid=True)
    if kind in _TEXTS:
        return of_texts(typed, value)
    if pa.types.is_decimal32(kind) or pa.types.is_decimal64(kind):
        typed = typed.cast(pa.decimal128(kind.precision, kind.scale))
    return of_numbers(typed, value)


def _children(typed: pa.StructArray, metadata: pa.Array, rows: npt.NDArray[np.int64] | None) -> dict[bytes, pa.Array]:
    """The values of each shredded field of an object, by the UTF-8 of its name."""
    fields = zip(typed.type, typed.flatten(), strict=True)
    found = [(field.name.encode(), _values(_members(child), metadata, rows)) for field, child in fields]
    if len(dict(found)) < len(found):
        raise ShreddingError("an object has a field twice")
    return dict(found)


def _members(array: pa.Array) -> dict[str, pa.Array]:
    """Members of a struct, null where the struct is."""
    if not pa.types.is_struct(array.type):
        raise ShreddingError(f"a part of a variant is of the type {array.type}, not a struct of value and typed_value")
    return dict(zip((field.name for field in array.type), array.flatten(), strict=True))


def _is_binary(kind: pa.DataType) -> bool:
    return kind in (pa.binary(), pa.large_binary())


def _nulls(array: pa.Array) -> pa.Array | None:
    return array.is_null() if array.null_count else None
