"""Collations that kernels evaluate, and conversions of strings for kernels and back."""

from __future__ import annotations

from abc import abstractmethod
from typing import cast

import pyarrow as pa

from deltaskip.errors import InvalidArgument, InvalidArgumentType
from deltaskip.sparkexpr.collations.collation import Collation
from deltaskip.sparkexpr.kernels.key_column import KeyColumn
from deltaskip.sparkexpr.kernels.lane import Lane, and_lanes, constant_lane


class KernelCollation(Collation):
    """What kernels compute of arrays of strings under a collation."""

    __slots__ = ()

    @abstractmethod
    def _keys(self, texts: pa.Array) -> pa.Array:
        """The sort keys of strings in a layout that kernels read."""

    @abstractmethod
    def _orders(self, texts: pa.Array, literal: bytes) -> pa.Array:
        """The order of each string and a literal."""

    @abstractmethod
    def _extremes(self, texts: pa.Array) -> tuple[int, int] | None:
        """The indexes of a least and a greatest string; None without strings."""

    def sort_keys(self, array: pa.Array) -> pa.Array:
        texts, codes = kernel_texts(array)
        keys = self._keys(texts)
        return keys if codes is None else keys.take(codes)

    def compare(self, array: pa.Array, literal: str | bytes) -> pa.Int8Array:
        texts, codes = kernel_texts(array)
        orders = self._orders(texts, text_bytes(literal))
        return orders if codes is None else orders.take(codes)

    def min_max(self, array: pa.Array) -> tuple[str | bytes | None, str | bytes | None]:
        texts = used_entries(*kernel_texts(array))
        found = self._extremes(texts)
        return (None, None) if found is None else (text_value(texts, found[0]), text_value(texts, found[1]))

    def may_start_with(self, mins: pa.Array | KeyColumn, maxs: pa.Array | KeyColumn, prefix: str | bytes) -> Lane:
        begins = self.prefix_key(prefix)
        if begins is None:
            return constant_lane(len(maxs), True)
        lowest, highest = (
            each if isinstance(each, KeyColumn) else KeyColumn(self.sort_keys(each)) for each in (mins, maxs)
        )
        lane = highest.keep("ge", begins)
        if len(lowest) != len(highest):
            raise InvalidArgument(f"mins and maxs must have the same length, not {len(lowest):,} and {len(highest):,}.")
        and_lanes(lane, lowest.keep("le", begins, prefix=True))
        return lane


def kernel_texts(array: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """The strings in a layout that kernels read. For a dictionary array, its entries, and the entry index of each row.

    Raises InvalidArgumentType unless the array contains strings or binary.
    """
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    if not isinstance(array, pa.Array):
        raise InvalidArgumentType.of("array", "an Arrow array of strings or binary", array)
    if isinstance(array, pa.DictionaryArray):
        return kernel_texts(array.dictionary)[0], array.indices
    kind = array.type
    if pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return array.cast(pa.large_string()), None
    if pa.types.is_binary_view(kind):
        return array.cast(pa.large_binary()), None
    if kind not in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
        raise InvalidArgumentType(f"array must be an Arrow array of strings or binary, not of {kind}.")
    return array, None


def used_entries(entries: pa.Array, codes: pa.Array | None) -> pa.Array:
    """The entries that rows use. A dictionary may contain unused entries."""
    return entries if codes is None else entries.take(codes.unique().drop_null())


def text_bytes(value: str | bytes) -> bytes:
    """The value in UTF-8. An unpaired surrogate becomes bytes that are not UTF-8. Raises InvalidArgumentType."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if not isinstance(value, bytes):
        raise InvalidArgumentType.of("A value to compare", "a str or bytes", value)
    # Kernels do not accept subclasses of bytes, such as numpy.bytes_.
    return value if type(value) is bytes else bytes(value)


def text_value(array: pa.Array, i: int) -> str | bytes:
    """The value at index `i`, in the type of the array; bytes for a string that is not UTF-8."""
    raw = cast(bytes, array[i].as_buffer().to_pybytes())
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
        return raw
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw
