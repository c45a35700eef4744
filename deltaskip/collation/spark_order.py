"""The orders of Spark's own provider: UTF8_BINARY and UTF8_LCASE, each also without the spaces at the end.

# Spark 4.1, CollationFactory: UTF8_BINARY compares bytes as they are, also those that are not UTF-8; RTRIM removes
# U+0020, no other space, from both operands before anything else.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from deltaskip.collation.identifier import CollationId
from deltaskip.collation.lowercase import lowercase_table, lowercase_versions
from deltaskip.collation.names import BINARY, LCASE, spark_name
from deltaskip.errors import CollationUnavailable, InvalidCollation
from deltaskip.kernels.lowercase import LowercaseTable, compare_lower, extremes_lower, lower_key, lower_keys

__all__ = ["SparkOrder", "spark_order", "spark_order_versions"]


@dataclass(frozen=True, slots=True)
class SparkOrder:
    """One of the four orders, evaluated by kernels; a deltaskip.collation.collation.Collation. Make it by spark_order.

    Keys order exactly as Spark's comparator does. `trim`: U+0020 at the end do not count. `table`: None compares bytes.
    """

    id: CollationId
    trim: bool
    table: LowercaseTable | None = field(repr=False)
    source: str = "built in"
    exact_keys: bool = True

    def sort_keys(self, array: pa.Array) -> pa.Array:
        """A large_binary array of as many keys, whose unsigned byte order is the collation; nulls stay null.

        Raises TypeError for arrays that hold neither strings nor binary.
        """
        values, codes = _plain(array)
        keys = lower_keys(values, self.table, self.trim)
        return keys if codes is None else keys.take(codes)

    def compare(self, array: pa.Array, literal: str | bytes) -> pa.Int8Array:
        """-1, 0 or 1 as each value is below, equal to or above `literal`; nulls stay null.

        Raises TypeError for arrays that hold neither strings nor binary.
        """
        values, codes = _plain(array)
        order = compare_lower(values, _bytes(literal), self.table, self.trim)
        return order if codes is None else order.take(codes)

    def min_max(self, array: pa.Array) -> tuple[str | bytes | None, str | bytes | None]:
        """A least and a greatest value that are in the array, as its type gives them; None without any.

        A string that is not UTF-8 is given as bytes. Raises TypeError for arrays that hold neither strings nor binary.
        """
        values, codes = _plain(array)
        if codes is not None:
            # A dictionary may hold entries that no row has.
            values = values.take(codes.unique().drop_null())
        found = extremes_lower(values, self.table, self.trim)
        return (None, None) if found is None else (_value(values[found[0]]), _value(values[found[1]]))

    def compare_values(self, left: str | bytes, right: str | bytes) -> int:
        """-1, 0 or 1 as `left` is below, equal to or above `right`."""
        a, b = self.key(left), self.key(right)
        return (a > b) - (a < b)

    def key(self, value: str | bytes) -> bytes:
        """The sort key of one value."""
        return lower_key(_bytes(value), self.table, self.trim)


def spark_order(identifier: CollationId) -> SparkOrder:
    """The order that `identifier` names; its version must be one of spark_order_versions for UTF8_LCASE.

    The provider is not looked at, as Spark does not. Raises InvalidCollation for a name that is not UTF8_* or without a
    version, CollationUnavailable where there is no table of the version.
    """
    name = spark_name(identifier.name)
    if name.provider != "spark":
        raise InvalidCollation(f"{identifier} is no collation of Spark's own; those are {BINARY} and {LCASE}.")
    if identifier.version is None:
        raise InvalidCollation(f"{identifier} has no version; write one, as in {identifier}.77.1.")
    try:
        table = None if name.locale == BINARY else lowercase_table(identifier.version)
    except CollationUnavailable as error:
        raise CollationUnavailable(f"{identifier} cannot be evaluated here. {error}") from error
    return SparkOrder(identifier, name.rtrim, table)


def spark_order_versions() -> tuple[str, ...]:
    """The versions, oldest first, in which every order is here; UTF8_BINARY is the same in any other, too."""
    return lowercase_versions()


def _plain(array: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """The array as a kernel takes it; of a dictionary array its entries, and the entry of each row."""
    if isinstance(array, pa.DictionaryArray):
        return _plain(array.dictionary)[0], array.indices
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string()), None
    if pa.types.is_binary_view(array.type):
        return array.cast(pa.large_binary()), None
    return array, None


def _value(scalar: pa.Scalar) -> str | bytes:
    raw: bytes = scalar.as_buffer().to_pybytes()
    if not (pa.types.is_string(scalar.type) or pa.types.is_large_string(scalar.type)):
        return raw
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else value
