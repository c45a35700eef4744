"""The interface of a collation of one exact version, independent of its library."""

from __future__ import annotations

from abc import ABC, abstractmethod

import pyarrow as pa

from deltaskip.sparkexpr.collations.collation_id import CollationId
from deltaskip.sparkexpr.kernels.key_column import KeyColumn
from deltaskip.sparkexpr.kernels.lane import Lane


class Collation(ABC):
    """The order of strings under one provider, name and version. `deltaskip.collation` returns a collation.

    Arrays are Arrow string, large_string, string_view, binary, large_binary, binary_view or dictionaries of them. As in
    Spark, each maximal part of bytes that is not valid UTF-8 counts as U+FFFD.

    Attributes:
        id: The identifier, with the exact version.
        source: The implementation: "built in", or the path of the ICU library.
        exact_keys: Whether `sort_keys` orders every pair of strings like Spark's comparator.
    """

    __slots__ = ()

    id: CollationId
    source: str
    exact_keys: bool

    @abstractmethod
    def sort_keys(self, array: pa.Array) -> pa.Array:
        """Return the sort key of each value; the unsigned byte order of the keys is the collation.

        Args:
            array: Strings or binary.

        Returns:
            A binary or large_binary array of the same length. Nulls stay null. Keys of different versions must not be
            compared with each other.

        Raises:
            InvalidArgumentType: The array contains neither strings nor binary.
        """

    @abstractmethod
    def compare(self, array: pa.Array, literal: str | bytes) -> pa.Int8Array:
        """Compare each value with a literal.

        Args:
            array: Strings or binary.
            literal: The value to compare with.

        Returns:
            -1, 0 or 1 for each value below, equal to or above `literal`. Nulls stay null.

        Raises:
            InvalidArgumentType: The array contains neither strings nor binary.
        """

    @abstractmethod
    def min_max(self, array: pa.Array) -> tuple[str | bytes | None, str | bytes | None]:
        """Return a least and a greatest value of the array.

        Args:
            array: Strings or binary. Nulls are ignored.

        Returns:
            Two values in the array's type; bytes for a string that is not UTF-8; None if the array contains no value.

        Raises:
            InvalidArgumentType: The array contains neither strings nor binary.
        """

    @abstractmethod
    def key(self, value: str | bytes) -> bytes:
        """Return the sort key of one value.

        Args:
            value: The string, or its bytes.
        """

    @abstractmethod
    def prefix_key(self, prefix: str | bytes) -> bytes | None:
        """Return a prefix of the sort keys of all values that start with `prefix`; None if no prefix is certain.

        Args:
            prefix: The prefix of the values.
        """

    @abstractmethod
    def may_start_with(self, mins: pa.Array | KeyColumn, maxs: pa.Array | KeyColumn, prefix: str | bytes) -> Lane:
        """Return the keep mask of rows for which a value between min and max may start with `prefix`.

        Args:
            mins: Minima, or a column of their sort keys. A missing bound keeps the row.
            maxs: Maxima, or a column of their sort keys, of the same length. A maximum must not be below any value of
                its file: a truncated maximum is not valid.
            prefix: The prefix, in the sense of Spark's startswith.
        """

    @abstractmethod
    def trusts(self, text: str | bytes) -> bool:
        """Whether Spark orders this value among other trusted values exactly as this collation does.

        Args:
            text: The value.
        """

    @abstractmethod
    def trusts_each(self, array: pa.Array) -> pa.BooleanArray:
        """Return `trusts` for each value.

        Args:
            array: Strings or binary. A null is trusted.
        """

    @abstractmethod
    def compare_values(self, left: str | bytes, right: str | bytes) -> int:
        """Compare two values.

        Args:
            left: The left operand.
            right: The right operand.

        Returns:
            -1, 0 or 1 for `left` below, equal to or above `right`.
        """
