"""Strings on their way into kernels and out of them: Arrow's layouts, and Python's values."""

from __future__ import annotations

from typing import cast

import pyarrow as pa

__all__ = ["kernel_texts", "text_bytes", "text_value", "used_entries"]


def kernel_texts(array: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """The strings as a kernel takes them; of a dictionary array its entries, and the entry of each row.

    Raises nothing: kernels refuse what are neither strings nor binary.
    """
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if isinstance(array, pa.DictionaryArray):
        return kernel_texts(array.dictionary)[0], array.indices
    kind = array.type
    if pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return array.cast(pa.large_string()), None
    if pa.types.is_binary_view(kind):
        return array.cast(pa.large_binary()), None
    return array, None


def used_entries(entries: pa.Array, codes: pa.Array | None) -> pa.Array:
    """The entries that some row has; a dictionary may hold others."""
    return entries if codes is None else entries.take(codes.unique().drop_null())


def text_bytes(value: str | bytes) -> bytes:
    """The value in UTF-8; a lone surrogate becomes bytes that are not UTF-8, as the value itself is not."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def text_value(array: pa.Array, i: int) -> str | bytes:
    """Value `i` as the array's type gives it; as bytes where a string is not UTF-8."""
    raw = cast(bytes, array[i].as_buffer().to_pybytes())
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        return raw
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw
