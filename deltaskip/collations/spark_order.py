"""The orders of Spark's own provider: UTF8_BINARY and UTF8_LCASE, each also without the spaces at the end.

# Spark 4.1, CollationFactory: UTF8_BINARY compares bytes as they are, also those that are not UTF-8; RTRIM removes
# U+0020, no other space, from both operands before anything else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from deltaskip.collations.identifier import CollationId
from deltaskip.collations.lowercase import lowercase_table, lowercase_versions
from deltaskip.collations.names import BINARY, LCASE, spark_name
from deltaskip.collations.prefixes import prefix_lane
from deltaskip.collations.texts import kernel_texts, text_bytes, text_value, used_entries
from deltaskip.errors import CollationUnavailable, InvalidCollation
from deltaskip.kernels.key_column import KeyColumn
from deltaskip.kernels.lane import Lane, constant_lane
from deltaskip.kernels.lowercase import LowercaseTable, compare_lower, extremes_lower, lower_key, lower_keys

__all__ = ["SparkOrder", "spark_order", "spark_order_versions"]


@dataclass(frozen=True, slots=True)
class SparkOrder:
    """One of the four orders, evaluated by kernels; a deltaskip.collations.collation.Collation. Make it by spark_order.

    Keys order exactly as Spark's comparator does. `trim`: U+0020 at the end do not count. `table`: None compares bytes.
    """

    id: CollationId
    trim: bool
    table: LowercaseTable | None = field(repr=False)
    source: str = "built in"
    exact_keys: bool = True

    def __reduce__(self) -> tuple[Any, ...]:
        # Tables do not pickle, and orders travel to Spark tasks.
        return spark_order, (self.id,)

    def sort_keys(self, array: pa.Array) -> pa.Array:
        """A large_binary array of as many keys, whose unsigned byte order is the collation; nulls stay null.

        Raises TypeError for arrays that hold neither strings nor binary.
        """
        texts, codes = kernel_texts(array)
        keys = lower_keys(texts, self.table, self.trim)
        return keys if codes is None else keys.take(codes)

    def compare(self, array: pa.Array, literal: str | bytes) -> pa.Int8Array:
        """-1, 0 or 1 as each value is below, equal to or above `literal`; nulls stay null. Raises as sort_keys."""
        texts, codes = kernel_texts(array)
        orders = compare_lower(texts, text_bytes(literal), self.table, self.trim)
        return orders if codes is None else orders.take(codes)

    def min_max(self, array: pa.Array) -> tuple[str | bytes | None, str | bytes | None]:
        """A least and a greatest value that are in the array, as its type gives them; None without any.

        A string that is not UTF-8 is given as bytes. Raises as sort_keys.
        """
        texts = used_entries(*kernel_texts(array))
        found = extremes_lower(texts, self.table, self.trim)
        return (None, None) if found is None else (text_value(texts, found[0]), text_value(texts, found[1]))

    def compare_values(self, left: str | bytes, right: str | bytes) -> int:
        """-1, 0 or 1 as `left` is below, equal to or above `right`."""
        a, b = self.key(left), self.key(right)
        return (a > b) - (a < b)

    def key(self, value: str | bytes) -> bytes:
        """The sort key of one value."""
        return lower_key(text_bytes(value), self.table, self.trim)

    def prefix_key(self, prefix: str | bytes) -> bytes | None:
        """What the key of every value that Spark finds to start with `prefix` begins with; None where nothing does.

        Not every such value starts with it: Spark does not stop inside U+0130, so that `İ` does not start with `i`.
        """
        return self.key(prefix) or None

    def may_start_with(self, mins: pa.Array | KeyColumn, maxs: pa.Array | KeyColumn, prefix: str | bytes) -> Lane:
        """The lane of rows for which some value within min and max may start with `prefix`, as Spark understands it.

        mins, maxs: values, or columns of their sort keys; as long as each other. A missing bound keeps. A max must be
        at least as great as all that it stands for: one that was cut off is not.
        """
        return prefix_lane(self.prefix_key(prefix), mins, maxs, self.sort_keys)

    def trusts(self, text: str | bytes) -> bool:
        """Whether Spark orders `text` among other values just as this does: always."""
        return True

    def trusts_each(self, array: pa.Array) -> pa.BooleanArray:
        """The same for each value."""
        return constant_lane(len(array), True).to_arrow()


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
