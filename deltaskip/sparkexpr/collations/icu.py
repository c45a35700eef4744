"""ICU collations, each evaluated by a library of one exact version.

# Spark 4.1, CollationFactory: each maximal ill-formed part of bytes counts as U+FFFD; RTRIM first removes U+0020, and
no other space, from the end of both operands.
"""

from __future__ import annotations

from dataclasses import field
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import CollationUnavailable, InvalidCollation
from deltaskip.records import dataclass
from deltaskip.sparkexpr.collations.collation_id import CollationId, CollationName
from deltaskip.sparkexpr.collations.texts import KernelCollation, kernel_texts, text_bytes
from deltaskip.sparkexpr.kernels import icu_keys, icu_order
from deltaskip.sparkexpr.kernels.icu_library import IcuCollator, IcuLibrary

# Bytes that do not occur in weights.
_KEY_END, _LEVEL_END = b"\x00", b"\x01"
_SHARP_S = "ß"
_SAMPLE = (*map(chr, range(0x20, 0x7F)), *"àÆßøαωабяאבابकกあア一三가\U00020000")


@dataclass(frozen=True, slots=True, eq=False)
class IcuCollation(KernelCollation):
    """A collation of an ICU library. Thread-safe.

    exact_keys: False for case-sensitive collations that ignore accents (`*_AI`). Spark's comparator (of ICU4J) and sort
        keys disagree on strings with U+00DF: only values that the collation `trusts` may prove a result.
    """

    id: CollationId
    name: CollationName
    source: str
    exact_keys: bool
    collator: IcuCollator = field(repr=False)

    def _keys(self, texts: pa.Array) -> pa.Array:
        return icu_keys.sort_keys(self.collator, texts, self.name.rtrim)

    def _orders(self, texts: pa.Array, literal: bytes) -> pa.Array:
        return icu_order.compare(self.collator, texts, literal, self.name.rtrim)

    def _extremes(self, texts: pa.Array) -> tuple[int, int] | None:
        return icu_order.min_max(self.collator, texts, self.name.rtrim)

    def compare_values(self, left: str | bytes, right: str | bytes) -> int:
        return icu_order.compare_texts(self.collator, text_bytes(left), text_bytes(right), self.name.rtrim)

    def key(self, value: str | bytes) -> bytes:
        """The sort key of one value, including the final zero byte."""
        return icu_keys.sort_key(self.collator, text_bytes(value), self.name.rtrim)

    def prefix_key(self, prefix: str | bytes) -> bytes | None:
        """The leading primary weights of every string that starts with `prefix`; None if they are not certain.

        Spark uses ICU's StringSearch, for which `é` starts with `E◌́` and `ﬁn` with `fi`: no prefix of the string
        is certain. Primary weights are not certain if the locale ignores punctuation (Thai), in `*_AI` collations, for
        which Spark refuses the function, and for a prefix of characters without primary weights.
        """
        if not self.exact_keys or not any(self.collator.ascii_ranks()):
            return None
        return self.key(prefix).removesuffix(_KEY_END).partition(_LEVEL_END)[0] or None

    def trusts(self, text: str | bytes) -> bool:
        return self.exact_keys or _SHARP_S.encode() not in text_bytes(text)

    def trusts_each(self, array: pa.Array) -> pa.BooleanArray:
        texts, codes = kernel_texts(array)
        if self.exact_keys:
            trusted = pc.or_(texts.is_null(), texts.is_valid())
        else:
            trusted = pc.or_kleene(pc.invert(pc.match_substring(texts, _SHARP_S)), texts.is_null())
        return trusted if codes is None else pc.or_kleene(trusted.take(codes), codes.is_null())


def icu_collation(identifier: CollationId, library: IcuLibrary) -> IcuCollation:
    """The collation with this identifier in the version of the library.

    Raises InvalidCollation for a name that is not of ICU, and CollationUnavailable if the library lacks the locale.
    """
    name = identifier.name_parts
    if name.provider != "icu":
        raise InvalidCollation(f"{identifier} is not a collation of ICU: use spark.{name.normalized}.")
    tag = name.icu_locale
    if not _has_locale(library, tag.partition("-u-")[0], exactly=name.spark):
        raise CollationUnavailable(
            f"{identifier} cannot be evaluated: ICU {library.version} in {library.path} has no collation for the "
            f"locale {name.locale}."
        )
    try:
        collator = IcuCollator(library, tag)
    except OSError as error:
        raise CollationUnavailable(f"{identifier} cannot be evaluated: {error}.") from error
    if _contradicts_itself(collator):
        raise CollationUnavailable(
            f"{identifier} cannot be evaluated: ICU {library.version} in {library.path} compares strings "
            "differently from its sort keys."
        )
    return IcuCollation(identifier, name, library.source, not collator.case_level, collator)


def _contradicts_itself(collator: IcuCollator) -> bool:
    """Whether the comparator and the sort keys order some characters differently.

    In ICU 77.1 they differ if a locale reorders digits (`und-u-kr-latn-digit`), which its fast path for Latin ignores.
    """
    texts = [character.encode() for character in _SAMPLE]
    keyed = sorted((icu_keys.sort_key(collator, text), text) for text in texts)
    return any(
        icu_order.compare_texts(collator, low, high) != (-1 if low_key < high_key else 0)
        for (low_key, low), (high_key, high) in pairwise(keyed)
    )


def _has_locale(library: IcuLibrary, tag: str, exactly: bool) -> bool:
    """Whether the library has the locale or, if not `exactly`, a locale to which ICU falls back (`de` for `de_DE`).

    ICU opens an unknown locale without an error, with the order of the root.
    """
    known = library.locales()
    locale = tag.replace("-", "_")
    while locale not in known and not exactly and "_" in locale:
        locale = locale.rpartition("_")[0]
    return locale in known or locale == "und"
