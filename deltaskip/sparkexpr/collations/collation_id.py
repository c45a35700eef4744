"""Collation identifiers, which contain provider, name and version, and the grammar of names.

# COLLATIONS RFC, Collation identifiers

The module accepts Spark's complete grammar of names, and ICU locales as in the specification's examples. Spark's names
are `UTF8_BINARY[_RTRIM]`, `UTF8_LCASE[_RTRIM]` or `<locale>{_CI|_CS|_AI|_AS|_RTRIM}`, with specifiers in any order,
each kind at most once. The specification uses `ICU.en_US` and `ICU.de_DE`, which Spark refuses; they are parsed as
ICU locales.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from string import ascii_lowercase, ascii_uppercase

from deltaskip.arguments import instance, text
from deltaskip.errors import InvalidArgumentType, InvalidCollation
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass

_ASCII_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)

# Spark's readers accept either provider with any name: the name alone determines the order.
_SPARKS_PROVIDERS = frozenset(("spark", "icu"))

BINARY_NAME = "UTF8_BINARY"
LCASE = "UTF8_LCASE"
ROOT = "UNICODE"

# Spark 4.1 with ICU 77.1: the root and every locale with a distinct collation, by ISO 639, 15924 and 3166 (alpha-3).
_ICU_LOCALES = """
af am ar ar_SAU as az be bg bn bo br bs bs_Cyrl ca ceb chr cs cy da de de_AUT dsb dz ee el en en_USA eo es et fa
fa_AFG ff ff_Adlm fi fil fo fr fr_CAN fy ga gl gu ha haw he he_ISR hi hr hsb hu hy id id_IDN ig is it ja ka kk kl km
kn ko kok ku ky lb lij lkt ln lo lt lv mk ml mn mr ms mt my nb nb_NOR ne nl nn no nso om or pa pa_Guru pa_Guru_IND
pl ps pt ro ru sa se si sk sl smn sq sr sr_Cyrl sr_Cyrl_BIH sr_Cyrl_MNE sr_Cyrl_SRB sr_Latn sr_Latn_BIH sr_Latn_SRB
st sv sw ta te th tk tn to tr ug uk ur uz vi wae wo xh yi yo zh zh_Hans zh_Hans_CHN zh_Hans_SGP zh_Hant zh_Hant_HKG
zh_Hant_MAC zh_Hant_TWN zu
"""
_LOCALES = (ROOT, *_ICU_LOCALES.split())
_BY_UPPER = {locale.upper(): locale for locale in _LOCALES}
_LONGEST_LOCALE = max(map(len, _BY_UPPER))

_KINDS = {"CI": "case", "CS": "case", "AI": "accent", "AS": "accent", "RTRIM": "trim"}

_ALPHA2 = {
    "AFG": "AF",
    "AUT": "AT",
    "BIH": "BA",
    "CAN": "CA",
    "CHN": "CN",
    "HKG": "HK",
    "IDN": "ID",
    "IND": "IN",
    "ISR": "IL",
    "MAC": "MO",
    "MNE": "ME",
    "NOR": "NO",
    "SAU": "SA",
    "SGP": "SG",
    "SRB": "RS",
    "TWN": "TW",
    "USA": "US",
}

_BY_TAG = {
    "-".join("und" if part == ROOT else _ALPHA2.get(part, part) for part in locale.split("_")): locale
    for locale in _LOCALES
}
# Languages whose script, and with it the order, depends on the region.
_SCRIPTED = frozenset(("bs", "ff", "kk", "pa", "sr", "zh"))
# Attributes of ICU as Spark's specifiers.
_SPECIFIERS = {"": "", "ks-level3": "", "ks-level2": "_CI", "ks-level1": "_CI_AI", "kc-true-ks-level1": "_AI"}

_TAG = regex(
    r"(?P<language>root|und|[a-z]{2,3})(?:-(?P<script>[a-z]{4}))?(?:-(?P<region>[a-z]{2}|[0-9]{3}))?"
    r"(?P<posix>-posix)?(?:-u(?P<extension>(?:-[a-z0-9]{2,8})+))?"
)
_KEYWORDS = {
    "collation": "co",
    "colalternate": "ka",
    "colbackwards": "kb",
    "colcaselevel": "kc",
    "colcasefirst": "kf",
    "colnormalization": "kk",
    "colnumeric": "kn",
    "colreorder": "kr",
    "colstrength": "ks",
    "kv": "kv",
}
_ATTRIBUTES = frozenset((*_KEYWORDS.values(), "va"))
_VALUES = {
    "ka": {"non-ignorable": "noignore"},
    "co": {"phonebook": "phonebk", "traditional": "trad", "dictionary": "dict", "gb2312han": "gb2312"},
    "ks": {
        "primary": "level1",
        "secondary": "level2",
        "tertiary": "level3",
        "quaternary": "level4",
        "identical": "identic",
    },
}
# Attributes that are on or off; an attribute without a value is on.
_SWITCHED = frozenset(("kb", "kc", "kk", "kn"))
_SWITCHES = {"yes": "true", "no": "false"}
_VALUE = regex(r"[a-z0-9]{3,8}(?:-[a-z0-9]{3,8})*")


@dataclass(frozen=True, slots=True, eq=False)
class CollationId:
    """A collation identifier: `provider.name` or `provider.name.version`. Only the version may contain dots.

    `text` is the identifier as it was read. `str` returns it, and it is written back unchanged. Two identifiers are
    equal if provider and name match, ignoring ASCII letter case (`icu`, `ICU`; `en_US`, `EN_US`), and the versions are
    the same string: `77.1`, `77.1.0.0` and no version are three different versions.

    Attributes:
        provider: The provider, such as "icu" or "spark".
        name: The name, such as "UNICODE_CI".
        version: The version, such as "77.1"; None if the identifier has no version.
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
    def parsed(cls, text: str) -> CollationId | None:
        """Parse an identifier; None for a text that is not one."""
        try:
            return cls.parse(text)
        except InvalidCollation:
            return None

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
    def name_parts(self) -> CollationName:
        """The parts of the name. Raises InvalidCollation if it is neither a name of Spark nor an ICU locale."""
        return parse_name(self.name)

    @property
    def without_version(self) -> CollationId:
        """The identifier without its version, as in schemas. The spelling is kept."""
        return self if self.version is None else CollationId.parse(f"{self.provider}.{self.name}")

    def with_version(self, version: str) -> CollationId:
        """The identifier with another version. The spelling of provider and name is kept.

        Raises InvalidCollation for an empty version.
        """
        return CollationId.parse(f"{self.provider}.{self.name}.{text('version', version)}")

    @property
    def is_binary(self) -> bool:
        """Whether this is UTF8_BINARY, the order of unsigned bytes, which strings without a collation have."""
        provider, name, _ = self._key
        return name == BINARY_NAME.lower() and provider in _SPARKS_PROVIDERS

    @property
    def canonical(self) -> CollationId:
        """This identifier in Spark's spelling: the provider in lower case, the normalized name, and the version.

        The name determines the provider, as in Spark (`spark.UNICODE` → `icu.UNICODE`). With an unknown provider, or a
        name that Spark does not accept, only the provider's letter case changes. Never raises.
        """
        provider, _, version = self._key
        name = self.name
        if provider in _SPARKS_PROVIDERS:
            try:
                known = self.name_parts
            except InvalidCollation:
                known = None
            if known is not None and known.spark:
                provider, name = known.provider, known.normalized
        return CollationId.parse(".".join((provider, name) if version is None else (provider, name, version)))

    @property
    def kernel_text(self) -> str:
        """The spelling with which Delta Kernel writes and reads statistics: all upper case."""
        return self.text.upper()

    def same_order(self, other: CollationId) -> bool:
        """Whether statistics of one collation are valid for comparisons under the other.

        # COLLATIONS RFC: "an engine must take care to only use column statistics for file skipping from a collation
        # that is identical to the one specified in the filtering operation in all aspects, including the collation
        # version." UTF8_BINARY is equal in all versions; other identifiers without a version prove nothing.
        """
        instance("other", other, CollationId, "a CollationId")
        if self.is_binary and other.is_binary:
            return True
        return self.version is not None and self.canonical == other.canonical


def is_utf8_binary(identifier: str) -> bool:
    """Whether an identifier names the collation UTF8_BINARY. False for an invalid identifier."""
    try:
        return CollationId.parse(identifier).is_binary
    except InvalidCollation:
        return False


def spark_collation(identifier: str) -> str | None:
    """The name of the collation with this order in Spark 4.0 and later; None if Spark has no such collation."""
    try:
        collation = CollationId.named(identifier)
        return spark_equal(collation.name) if collation.provider.lower() in _SPARKS_PROVIDERS else None
    except InvalidCollation:
        return None


@dataclass(frozen=True, slots=True)
class CollationName:
    """The parts of a collation's name.

    Attributes:
        locale: Spark's spelling (`UNICODE` is the root), `UTF8_BINARY` or `UTF8_LCASE`; a BCP 47 tag if not `spark`.
        case_sensitive: Whether upper and lower case differ.
        accent_sensitive: Whether accents differ.
        rtrim: Whether trailing U+0020 are ignored in both operands.
        normalized: Spark's spelling of the name; the name as it was read if Spark does not accept it.
        spark: Whether Spark accepts the name.
    """

    locale: str
    case_sensitive: bool
    accent_sensitive: bool
    rtrim: bool
    normalized: str
    spark: bool = True

    @property
    def provider(self) -> str:
        """The provider of the name: `spark` for UTF8_*, else `icu`."""
        return "spark" if self.locale in (BINARY_NAME, LCASE) else "icu"

    @property
    def icu_locale(self) -> str:
        """The BCP 47 tag that opens the ICU collator, with attributes: `de-AT-u-ks-level2`.

        # Spark 4.1, CollationFactory: strength 3; 2 without case, 1 without accents; the case level is on if case
        # counts and accents do not.
        ICU does not trim. Raises InvalidCollation for UTF8_*.
        """
        if self.provider != "icu":
            raise InvalidCollation(f"{self.normalized} is an order of Spark itself; no ICU locale is equivalent.")
        if not self.spark:
            return self.locale
        language, *rest = ["und"] if self.locale == ROOT else self.locale.split("_")
        tag = "-".join((language, *(_ALPHA2.get(part, part) for part in rest)))
        if not self.accent_sensitive:
            return f"{tag}-u-kc-true-ks-level1" if self.case_sensitive else f"{tag}-u-ks-level1"
        return f"{tag}-u-ks-level3" if self.case_sensitive else f"{tag}-u-ks-level2"


@lru_cache(maxsize=4096)
def parse_name(name: str) -> CollationName:
    """Parse a name of Spark, or an ICU locale (`en_US`, `de@collation=phonebook`, `de-u-co-phonebk`).

    Letter case is ignored. Raises InvalidCollation for other names.
    """
    known = _spark_name(name)
    if known is not None:
        return known
    tag = _locale_tag(name)
    if tag is None:
        raise _invalid(name)
    return CollationName(tag, True, True, False, name, spark=False)


def spark_name(name: str) -> CollationName:
    """Parse a name that Spark accepts. Raises InvalidCollation for other names, such as `en_US` and `root`."""
    known = _spark_name(name)
    if known is None:
        raise _invalid(name)
    return known


def spark_equal(name: str) -> str | None:
    """Spark's name for the collation with exactly the same order in every version of ICU; None if Spark has none.

    `en_US` is Spark's `en_USA`. `de_DE` is `de`: ICU has no data for the region and uses the data of the language.
    Raises InvalidCollation if the name is neither a name of Spark nor an ICU locale.
    """
    parsed = parse_name(name)
    if parsed.spark:
        return parsed.normalized
    tag, _, attributes = parsed.locale.partition("-u-")
    specifiers = _SPECIFIERS.get(attributes)
    if specifiers is None:
        return None
    language, *rest = tag.split("-")
    locale = _BY_TAG.get(tag)
    if locale is None and len(rest) == 1 and len(rest[0]) < len("Latn") and language not in _SCRIPTED:
        locale = _BY_TAG.get(language)
    return None if locale is None else locale + specifiers


def spark_names() -> tuple[str, ...]:
    """All names that Spark accepts, in normalized spelling: 1148 with ICU 77.1."""
    own = (base + trim for base, trim in product((BINARY_NAME, LCASE), ("", "_RTRIM")))
    icu = product(_LOCALES, ("", "_CI"), ("", "_AI"), ("", "_RTRIM"))
    return (*own, *("".join(parts) for parts in icu))


def _spark_name(name: str) -> CollationName | None:
    upper = name.upper()
    own = upper.removesuffix("_RTRIM")
    if own in (BINARY_NAME, LCASE):
        return CollationName(own, own == BINARY_NAME, True, upper != own, upper)
    longest = min(len(upper), _LONGEST_LOCALE)
    base = next((upper[:end] for end in range(longest, 0, -1) if upper[:end] in _BY_UPPER), None)
    specifiers = None if base is None else _specifiers(upper[len(base) :])
    if base is None or specifiers is None or not set(specifiers) <= set(_KINDS):
        return None
    if len({_KINDS[s] for s in specifiers}) < len(specifiers):
        return None
    written = _BY_UPPER[base] + "".join("_" + s for s in ("CI", "AI", "RTRIM") if s in specifiers)
    return CollationName(
        _BY_UPPER[base], "CI" not in specifiers, "AI" not in specifiers, "RTRIM" in specifiers, written
    )


def _specifiers(rest: str) -> list[str] | None:
    """The specifiers after a locale; None if the locale does not end there.

    Java's split drops only trailing empty parts: `de_CI_` and `de__` are names, and `de_` is not.
    """
    if not rest:
        return []
    if rest[0] != "_":
        return None
    parts = rest[1:].split("_")
    if len(parts) > 1:
        while parts and not parts[-1]:
            parts.pop()
    return parts


def _locale_tag(name: str) -> str | None:
    """The BCP 47 tag of an ICU locale name or tag; None for other names and for unsupported attributes."""
    if not name.isascii():
        return None
    locale, at, keywords = name.lower().partition("@")
    match = _TAG.fullmatch(locale.replace("_", "-"))
    if match is None or (match["extension"] and at):
        return None
    attributes = _extension(match["extension"] or "") if not at else _keywords(keywords)
    if attributes is None:
        return None
    if match["posix"]:
        attributes = {**attributes, "va": "posix"}
    language = "und" if match["language"] == "root" else match["language"]
    script, region = match["script"], match["region"]
    parts = [language, *([script.title()] if script else ()), *([region.upper()] if region else ())]
    extension = "".join(f"-{key}-{value}" for key, value in sorted(attributes.items()))
    return "-".join(parts) + (f"-u{extension}" if extension else "")


def _extension(text: str) -> dict[str, str] | None:
    found: dict[str, list[str]] = {}
    key = ""
    for part in text.split("-")[1:]:
        if len(part) == 2:
            if part in found:
                return None
            key = part
            found[key] = []
        elif key:
            found[key].append(part)
        else:
            return None
    if not set(found) <= _ATTRIBUTES or found.get("va", ["posix"]) != ["posix"]:
        return None
    if any(not values and key not in _SWITCHED for key, values in found.items()):
        return None
    return {key: "-".join(values) or "true" for key, values in found.items()}


def _keywords(text: str) -> dict[str, str] | None:
    found: dict[str, str] = {}
    for pair in text.split(";"):
        keyword, equals, value = pair.strip().partition("=")
        key = _KEYWORDS.get(keyword.strip())
        value = value.strip()
        value = _VALUES.get(key or "", _SWITCHES).get(value, value)
        if key is None or not equals or key in found or _VALUE.fullmatch(value) is None:
            return None
        found[key] = value
    return found


def _invalid(name: str) -> InvalidCollation:
    shown = name if len(name) <= 80 else name[:79] + "…"
    return InvalidCollation(
        f"{shown!r} is neither a collation of Spark nor an ICU locale: use a name listed by Spark's collations(), such "
        "as UNICODE_CI or de_AUT."
    )
