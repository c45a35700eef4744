"""Checks that an ICU library is complete and has the version that it reports, before its order is trusted.

A build is refused if it lacks locales, has changed rules, or has unsupported behavior.
"""

from __future__ import annotations

from hashlib import blake2b
from itertools import pairwise, product

from deltaskip.sparkexpr.kernels.icu_keys import sort_key
from deltaskip.sparkexpr.kernels.icu_library import IcuCollator, IcuLibrary
from deltaskip.sparkexpr.kernels.icu_order import compare_texts

# Each list is strictly ascending under its locale in every version of ICU.
_ASCENDING = {
    "und-u-ks-level3": (
        "",
        " ",
        "_",
        "-",
        ",",
        "!",
        "0",
        "10a",
        "9",
        "a",
        "A",
        "à",
        "Æ",
        "b",
        "co-op",
        "coop",
        "cóop",
        "ss",
        "ß",
        "st",
        "z",
        "α",
        "Ω",
        "а",
        "я",
        "א",
        "ا",
        "क",
        "ก",
        "あ",
        "一",
        "丁",
        "𠀀",
        "\ufffd",
    ),
    "und-u-ks-level2": ("a", "á", "B", "resume", "RÉSUMÉ", "Strasse", "STRAẞE", "z"),
    "und-u-kc-true-ks-level1": ("a", "A", "b", "É"),
    "cs-u-ks-level3": ("cz", "č", "h", "ch", "i"),
    "sv-u-ks-level3": ("z", "å", "ä", "ö"),
    "de-u-co-phonebk": ("ad", "ae", "ä", "af"),
    "zh-u-ks-level3": ("阿", "八", "中"),
}
_EQUAL = {
    "und-u-ks-level3": (("é", "e\u0301"), ("coop", "co\u00adop"), ("Å", "\u212b"), ("가", "\u1100\u1161")),
    "und-u-ks-level2": (("①", "1"), ("ﬁ", "FI")),
    "und-u-ks-level1": (("straße", "STRASSE"), ("é", "E"), ("Ǻ", "a")),
}
# Ill-formed bytes, the number of U+FFFD to which they are equal, and the bytes after them.
_NOT_UTF8 = (
    (b"\xff", 1, b""),
    (b"\xc0\xaf", 2, b""),
    (b"\xed\xa0\x80", 3, b""),
    (b"\xf4\x90\x80\x80", 4, b""),
    (b"\xf0\x90\x80", 1, b""),
    (b"\xe2\x82", 1, b""),
    (b"\xe2\x82b", 1, b"b"),
    (b"\xc3(", 1, b"("),
)

# Digests of the sort keys of all strings above, by version.
_DIGESTS = {
    "72.1": "7805cc2e704b1ae9dd5d6bb1e307db99",
    "76.1": "971f8b8ce9e9e80c6bf12b52cb74ac65",
    "77.1": "971f8b8ce9e9e80c6bf12b52cb74ac65",
    "78.1": "c1ba3113d05a9f9c53cb53e2add6b830",
    "78.2": "c1ba3113d05a9f9c53cb53e2add6b830",
    "78.3": "c1ba3113d05a9f9c53cb53e2add6b830",
}

_UNICODE = {"72.1": "15.0", "76.1": "16.0", "77.1": "16.0", "78.1": "17.0", "78.2": "17.0", "78.3": "17.0"}


def unicode_version(version: str) -> str | None:
    """The Unicode version of ICU `version`; None for an unknown version."""
    return _UNICODE.get(version)


def fault(library: IcuLibrary) -> str | None:
    """The fault of the library as a part of a sentence; None if it passes the checks.

    Raises OSError if the library cannot open a collation.
    """
    collators = _collators(library)
    wrong = _disorder(collators) or _inequality(collators) or _ill_formed(collators["und-u-ks-level3"])
    if wrong is None and _DIGESTS.get(library.version, digest := _digest(collators)) != digest:
        wrong = f"sort keys that differ from those of ICU {library.version}, the version that it reports"
    return wrong and f"{library.source} has {wrong}"


def data_fault(library: IcuLibrary) -> str | None:
    """The fault of a library that reads the data of another version; None if it passes the checks.

    Only versions with known keys can be checked. `zxx` is Swedish in that data, and ICU does not have it.
    Raises OSError if the library cannot open a collation.
    """
    if library.version not in _DIGESTS:
        return f"{library.source} cannot be checked: the sort keys of ICU {library.version} are not known"
    wrong = _disorder({"sv-u-ks-level3": IcuCollator(library, "zxx", ranked=False)})
    return f"{library.source} does not take effect: it has {wrong}" if wrong else fault(library)


def key_digest(library: IcuLibrary) -> str:
    """A digest of the sort keys of all strings of the checks; equal for two libraries of the same version."""
    return _digest(_collators(library))


def _collators(library: IcuLibrary) -> dict[str, IcuCollator]:
    return {locale: IcuCollator(library, locale, ranked=False) for locale in (*_ASCENDING, *_EQUAL)}


def _digest(collators: dict[str, IcuCollator]) -> str:
    digest = blake2b(digest_size=16)
    equal = [text for pairs in _EQUAL.values() for pair in pairs for text in pair]
    for locale, ascending in _ASCENDING.items():
        for text in (*ascending, *equal):
            digest.update(sort_key(collators[locale], text.encode()))
    return digest.hexdigest()


def _disorder(collators: dict[str, IcuCollator]) -> str | None:
    for locale, collator in collators.items():
        ascending = _ASCENDING.get(locale, ())
        keyed = [(text.encode(), sort_key(collator, text.encode())) for text in ascending]
        for (low, low_key), (high, high_key) in product(keyed, repeat=2):
            if compare_texts(collator, low, high) != (low_key > high_key) - (low_key < high_key):
                return f"sort keys of {low.decode()!r} and {high.decode()!r} in {locale} that contradict its comparison"
        for (low, low_key), (high, high_key) in pairwise(keyed):
            if low_key >= high_key:
                return f"{low.decode()!r} not below {high.decode()!r} in {locale}"
    return None


def _inequality(collators: dict[str, IcuCollator]) -> str | None:
    for locale, pairs in _EQUAL.items():
        collator = collators[locale]
        for left, right in pairs:
            a, b = left.encode(), right.encode()
            if compare_texts(collator, a, b) != 0 or sort_key(collator, a) != sort_key(collator, b):
                return f"{left!r} not equal to {right!r} in {locale}"
    return None


def _ill_formed(collator: IcuCollator) -> str | None:
    for damaged, parts, rest in _NOT_UTF8:
        if compare_texts(collator, damaged, "\ufffd".encode() * parts + rest) != 0:
            return (
                f"an interpretation of the invalid UTF-8 {damaged!r} that differs from {parts} × U+FFFD "
                f"followed by {rest!r}"
            )
    return None
