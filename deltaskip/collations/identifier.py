"""Collation identifiers: provider, name and version as one text.

# COLLATIONS RFC, Collation identifiers
"""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase

from deltaskip.collations.names import parse_name
from deltaskip.errors import InvalidCollation

__all__ = ["CollationId"]

_ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)

# Spark's readers take either provider before any name, so the name alone says what order it is.
_SPARKS_PROVIDERS = frozenset(("spark", "icu"))
_BINARY = "utf8_binary"


@dataclass(frozen=True, slots=True, eq=False)
class CollationId:
    """`provider.name` or `provider.name.version`; only the version may hold dots.

    `text` is the identifier as it was read, and what `str` gives, so that it is written back unchanged. Two identifiers
    are equal if provider and name are the same without regard to ASCII letter case (`icu`, `ICU`; `en_US`, `EN_US`) and
    the versions are the same text: `77.1`, `77.1.0.0` and none are three versions.
    """

    provider: str
    name: str
    version: str | None
    text: str

    @classmethod
    def parse(cls, text: str) -> CollationId:
        """The identifier that `text` spells. Raises InvalidCollation where a part is missing or empty.

        # COLLATIONS RFC, Collation identifiers: "Dots are not allowed to be part of provider and collation names, but
        # can be used in versions."
        """
        parts = text.split(".", 2)
        if len(parts) < 2 or not all(parts):
            raise InvalidCollation(
                f"{text!r} is no collation identifier; write provider.name or provider.name.version, as in icu.UNICODE."
            )
        return cls(parts[0], parts[1], parts[2] if len(parts) > 2 else None, text)

    @classmethod
    def named(cls, text: str) -> CollationId:
        """The same, or what a bare name means behind COLLATE: `UNICODE_CI` is `icu.UNICODE_CI`.

        Raises InvalidCollation for a bare name that is neither Spark's nor an ICU locale.
        """
        return cls.parse(text if "." in text else f"{parse_name(text).provider}.{text}")

    def __str__(self) -> str:
        return self.text

    def __eq__(self, other: object) -> bool:
        return self._key == other._key if isinstance(other, CollationId) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[str, str, str | None]:
        return self.provider.translate(_ASCII_LOWER), self.name.translate(_ASCII_LOWER), self.version

    @property
    def without_version(self) -> CollationId:
        """The same identifier as schemas hold it: without its version, spelled as it was read."""
        return self if self.version is None else CollationId.parse(f"{self.provider}.{self.name}")

    def with_version(self, version: str) -> CollationId:
        """The identifier of statistics that a library of `version` made, provider and name spelled as they were read.

        Raises InvalidCollation for an empty version.
        """
        return CollationId.parse(f"{self.provider}.{self.name}.{version}")

    @property
    def is_binary(self) -> bool:
        """Whether this is Spark's UTF8_BINARY, the order of unsigned bytes and of a string without a collation."""
        provider, name, _ = self._key
        return name == _BINARY and provider in _SPARKS_PROVIDERS

    @property
    def canonical(self) -> CollationId:
        """This identifier as Spark writes it: the provider in lower case, Spark's spelling of the name, the version.

        The provider is the one that the name belongs to, as Spark corrects it (`spark.UNICODE` → `icu.UNICODE`). An
        identifier of an unknown provider, or with a name that Spark does not know, stays as it is but for the lower
        case of the provider. Raises nothing.
        """
        provider, _, version = self._key
        name = self.name
        if provider in _SPARKS_PROVIDERS:
            try:
                known = parse_name(self.name)
            except InvalidCollation:
                known = None
            if known is not None and known.spark:
                provider, name = known.provider, known.normalized
        return CollationId.parse(".".join((provider, name) if version is None else (provider, name, version)))

    @property
    def kernel_text(self) -> str:
        """The spelling that Delta Kernel gives every identifier and asks statistics for: all of it in upper case."""
        return self.text.upper()

    def same_order(self, other: CollationId) -> bool:
        """Whether statistics of one serve comparisons under the other: values compare alike for certain.

        # COLLATIONS RFC: "an engine must take care to only use column statistics for file skipping from a collation
        # that is identical to the one specified in the filtering operation in all aspects, including the collation
        # version." UTF8_BINARY is the same in every version; two identifiers without a version prove nothing else.
        """
        if self.is_binary and other.is_binary:
            return True
        return self.version is not None and self.canonical == other.canonical
