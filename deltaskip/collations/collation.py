"""What every collation of an exact version can do, wherever its library comes from."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from deltaskip.collations.identifier import CollationId
from deltaskip.kernels.key_column import KeyColumn
from deltaskip.kernels.lane import Lane

__all__ = ["Collation"]


class Collation(Protocol):
    """The order of strings under one provider, name and version.

    Arrays are Arrow string, large_string, string_view, binary, large_binary, binary_view or dictionaries of them; bytes
    that are not UTF-8 are read as Spark reads them, each maximal invalid part as U+FFFD.
    """

    @property
    def id(self) -> CollationId:
        """The identifier, with the exact version."""

    @property
    def source(self) -> str:
        """Where the order comes from: "built in", or the path of a library."""

    @property
    def exact_keys(self) -> bool:
        """Whether `sort_keys` order every pair of strings as Spark's comparator does."""

    def sort_keys(self, array: pa.Array) -> pa.Array:
        """A binary or large_binary array of as many keys, whose unsigned byte order is the collation; nulls stay."""

    def compare(self, array: pa.Array, literal: str | bytes) -> pa.Int8Array:
        """-1, 0 or 1 as each value is below, equal to or above `literal`; nulls stay null."""

    def min_max(self, array: pa.Array) -> tuple[str | bytes | None, str | bytes | None]:
        """A least and a greatest value that are in the array, as its type gives them; None without any. Nulls do not
        count."""

    def key(self, value: str | bytes) -> bytes:
        """The sort key of one value."""

    def prefix_key(self, prefix: str | bytes) -> bytes | None:
        """What the key of every value that starts with `prefix` begins with; None where nothing is certain."""

    def may_start_with(self, mins: pa.Array | KeyColumn, maxs: pa.Array | KeyColumn, prefix: str | bytes) -> Lane:
        """The lane of rows for which some value within min and max may start with `prefix`; a missing bound keeps."""

    def trusts(self, text: str | bytes) -> bool:
        """Whether Spark orders `text` among other values that are trusted just as this does."""

    def trusts_each(self, array: pa.Array) -> pa.BooleanArray:
        """The same for each value; a null is trusted."""

    def compare_values(self, left: str | bytes, right: str | bytes) -> int:
        """-1, 0 or 1 as `left` is below, equal to or above `right`."""
