"""The collations of the provider spark: UTF8_BINARY and UTF8_LCASE, each also with RTRIM.

# Spark 4.1, CollationFactory: UTF8_BINARY compares unchanged bytes, also if they are not UTF-8; RTRIM first removes
# U+0020, and no other space, from the end of both operands.
"""

from __future__ import annotations

import re
from dataclasses import field
from functools import cache
from typing import Any

import pyarrow as pa

from deltaskip.errors import CollationUnavailable, InvalidCollation
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr.collations.collation_id import BINARY_NAME, LCASE, CollationId
from deltaskip.sparkexpr.collations.lowercase_tables import ADDED, UNICODE_OF
from deltaskip.sparkexpr.collations.texts import KernelCollation, kernel_texts, text_bytes
from deltaskip.sparkexpr.kernels.lane import constant_lane
from deltaskip.sparkexpr.kernels.lowercase import LowercaseTable, compare_lower, extremes_lower, lower_key, lower_keys

_STRETCH = regex(r"([0-9a-f]+)(?:~([0-9a-f]+)(/2)?)?([+-][0-9a-f]+)")
_FINAL_SIGMA, _SIGMA = 0x3C2, 0x3C3


@dataclass(frozen=True, slots=True)
class SparkOrder(KernelCollation):
    """A collation of Spark itself, made by spark_order. Keys have exactly the order of Spark's comparator.

    trim: Whether trailing U+0020 are ignored.
    table: The lower-case table; None compares bytes.
    """

    id: CollationId
    trim: bool
    table: LowercaseTable | None = field(repr=False)
    source: str = "built in"
    exact_keys: bool = True

    def __reduce__(self) -> tuple[Any, ...]:
        # Tables cannot be pickled, and collations are sent to Spark tasks.
        return spark_order, (self.id,)

    def _keys(self, texts: pa.Array) -> pa.Array:
        return lower_keys(texts, self.table, self.trim)

    def _orders(self, texts: pa.Array, literal: bytes) -> pa.Array:
        return compare_lower(texts, literal, self.table, self.trim)

    def _extremes(self, texts: pa.Array) -> tuple[int, int] | None:
        return extremes_lower(texts, self.table, self.trim)

    def compare_values(self, left: str | bytes, right: str | bytes) -> int:
        a, b = self.key(left), self.key(right)
        return (a > b) - (a < b)

    def key(self, value: str | bytes) -> bytes:
        return lower_key(text_bytes(value), self.table, self.trim)

    def prefix_key(self, prefix: str | bytes) -> bytes | None:
        """A prefix of the keys of all values that start with `prefix` in Spark; None if it is empty.

        The converse does not hold: Spark does not split U+0130, so `İ` does not start with `i`.
        """
        return self.key(prefix) or None

    def trusts(self, text: str | bytes) -> bool:
        return True

    def trusts_each(self, array: pa.Array) -> pa.BooleanArray:
        texts, codes = kernel_texts(array)
        return constant_lane(len(texts if codes is None else codes), True).to_arrow()


def spark_order(identifier: CollationId) -> SparkOrder:
    """The collation with this identifier. The version of UTF8_LCASE must be in lowercase_versions.

    The provider is ignored, as in Spark. Raises InvalidCollation for a name that is not UTF8_* or an identifier without
    a version, and CollationUnavailable for a version without a table.
    """
    name = identifier.name_parts
    if name.provider != "spark":
        raise InvalidCollation(
            f"{identifier} is not a collation of provider spark, which has {BINARY_NAME} and {LCASE}."
        )
    if identifier.version is None:
        raise InvalidCollation(f"{identifier} has no version: add one, as in {identifier}.77.1.")
    try:
        table = None if name.locale == BINARY_NAME else lowercase_table(identifier.version)
    except CollationUnavailable as error:
        raise CollationUnavailable(f"{identifier} cannot be evaluated. {error}") from error
    return SparkOrder(identifier, name.rtrim, table)


# Spark 4.1, CollationAwareUTF8String: ICU's simple lower case maps each code point alone; U+0130 becomes `i` and
# U+0307, and U+03C2 (final sigma) becomes U+03C3; bytes that are not UTF-8 first become U+FFFD.
# The rules do not depend on neighboring characters: `ß` is not `ss`. New versions of Unicode add letters: 77.1 has 27
# more letters than 75.
def lowercase_versions() -> tuple[str, ...]:
    """The ICU versions with a lower-case table, which make all four collations available, oldest first."""
    return tuple(UNICODE_OF)


def lowercase_map(version: str) -> dict[int, int]:
    """The lower case of each code point that differs from it, in ICU `version` (`77.1`); without U+0130.

    Raises CollationUnavailable for a version without a table.
    """
    if version not in UNICODE_OF:
        raise CollationUnavailable(
            f"There is no lower-case table of ICU {version!r}; the available versions are {', '.join(UNICODE_OF)}."
        )
    lower: dict[int, int] = {}
    for unicode, stretches in ADDED.items():
        for code_points, difference in map(_stretch, _STRETCH.finditer(stretches)):
            lower.update((c, c + difference) for c in code_points)
        if unicode == UNICODE_OF[version]:
            break
    lower[_FINAL_SIGMA] = _SIGMA
    return lower


@cache
def lowercase_table(version: str) -> LowercaseTable:
    """The lower-case table for the kernels, created once. Raises CollationUnavailable for a version without a table."""
    return LowercaseTable(lowercase_map(version))


def _stretch(match: re.Match[str]) -> tuple[range, int]:
    first, last, every_other, difference = match.groups()
    return range(int(first, 16), int(last or first, 16) + 1, 2 if every_other else 1), int(difference, 16)
