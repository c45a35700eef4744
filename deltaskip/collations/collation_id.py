"""Collation identifiers: provider, name and version as one text.

# COLLATIONS RFC, Collation identifiers
"""

from __future__ import annotations

from string import ascii_lowercase, ascii_uppercase

from deltaskip.arguments import instance, text
from deltaskip.collations.names import parse_name
from deltaskip.errors import InvalidArgumentType, InvalidCollation
from deltaskip.records import dataclass

_ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)

# Spark's readers accept either provider with any name, so the name alone determines the order.
_SPARKS_PROVIDERS = frozenset(("spark", "icu"))
_BINARY = "utf8_binary"


@dataclass(frozen=True, slots=True, eq=False)
class CollationId:
    """A collation identifier: `provider.name` or `provider.name.version`. Only the version may contain dots.

    `text` is the identifier as it was read, and `str` returns it, so that it is written back unchanged. Two identifiers
    are equal if provider and name match without regard to ASCII letter case (`icu`, `ICU`; `en_US`, `EN_US`) and the
    versions are the same text: `77.1`, `77.1.0.0` and no version are three different versions.

    Attributes:
        provider: Such as "icu" or "spark".
        name: Such as "UNICODE_CI".
        version: Such as "77.1"; None if the identifier has none.
        text: The identifier as it was read.
    """

    provider: str
    name: str
    version: str | None
    text: str

    @classmethod
    def parse(cls, text: str) -> CollationId:
        """Parse an identifier. Raises InvalidCollation if a part is missing or empty.

        # COLLATIONS RFC, Collation identifiers: "Dots are not allowed to be part of provider and collation names, but
        # can be used in versions."
        """
        if not isinstance(text, str):
            raise InvalidArgumentType.of("text", "a str such as 'icu.UNICODE_CI.77.1'", text)
        parts = text.split(".", 2)
        if len(parts) < 2 or not all(parts):
            raise InvalidCollation(
                f"{text!r} is not a collation identifier: use provider.name[.version], such as icu.UNICODE."
            )
        return cls(parts[0], parts[1], parts[2] if len(parts) > 2 else None, text)

    @classmethod
    def named(cls, text: str) -> CollationId:
        """Parse an identifier, or a bare name as after COLLATE: `UNICODE_CI` is `icu.UNICODE_CI`.

        Raises InvalidCollation for a bare name that is neither Spark's nor an ICU locale.
        """
        if not isinstance(text, str):
            raise InvalidArgumentType.of("text", "a str such as 'UNICODE_CI'", text)
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
        """The identifier without its version, as in schemas; the spelling is kept."""
        return self if self.version is None else CollationId.parse(f"{self.provider}.{self.name}")

    def with_version(self, version: str) -> CollationId:
        """The identifier with another version; the spelling of provider and name is kept.

        Raises InvalidCollation for an empty version.
        """
        return CollationId.parse(f"{self.provider}.{self.name}.{text('version', version)}")

    @property
    def is_binary(self) -> bool:
        """Whether this is UTF8_BINARY: the order of unsigned bytes, and of strings without a collation."""
        provider, name, _ = self._key
        return name == _BINARY and provider in _SPARKS_PROVIDERS

    @property
    def canonical(self) -> CollationId:
        """This identifier as Spark writes it: the provider in lower case, Spark's spelling of the name, the version.

        The provider is that of the name, as Spark corrects it (`spark.UNICODE` → `icu.UNICODE`). With an unknown
        provider, or a name that Spark does not accept, only the provider's letter case changes. Raises nothing.
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
        """The spelling under which Delta Kernel writes and reads statistics: all in upper case."""
        return self.text.upper()

    def same_order(self, other: CollationId) -> bool:
        """Whether statistics of one collation are valid for comparisons under the other.

        # COLLATIONS RFC: "an engine must take care to only use column statistics for file skipping from a collation
        # that is identical to the one specified in the filtering operation in all aspects, including the collation
        # version." UTF8_BINARY is the same in every version; other identifiers without a version prove nothing.
        """
        instance("other", other, CollationId, "a CollationId")
        if self.is_binary and other.is_binary:
            return True
        return self.version is not None and self.canonical == other.canonical


def is_utf8_binary(identifier: str) -> bool:
    """Whether an identifier names the collation UTF8_BINARY. An invalid one does not."""
    try:
        return CollationId.parse(identifier).is_binary
    except InvalidCollation:
        return False
