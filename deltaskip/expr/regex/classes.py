"""The predefined classes of characters of Java's regular expressions.

# Java 17, java.util.regex.Pattern, "Summary of regular-expression constructs"
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache

from deltaskip.expr.regex.syntax_tree import LAST, Ranges, Set, complement, union

_DIGIT: Ranges = ((0x30, 0x39),)
_UPPER: Ranges = ((0x41, 0x5A),)
_LOWER: Ranges = ((0x61, 0x7A),)
_SPACE: Ranges = ((0x09, 0x0D), (0x20, 0x20))
LETTERS = union(_UPPER, _LOWER)
"""A to Z and a to z."""
_BLANK_ACROSS: Ranges = (
    *((0x09, 0x09), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x180E, 0x180E), (0x2000, 0x200A)),
    *((0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)),
)
_LINE_ENDS: Ranges = ((0x0A, 0x0D), (0x85, 0x85), (0x2028, 0x2029))
_PUNCTUATION: Ranges = ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E))

_SMALL: dict[str, Ranges] = {
    "d": _DIGIT,
    "s": _SPACE,
    "w": union(LETTERS, _DIGIT, ((0x5F, 0x5F),)),
    "h": _BLANK_ACROSS,
    "v": _LINE_ENDS,
}
OF_ESCAPES: dict[str, Ranges] = {
    **_SMALL,
    **{letter.upper(): complement(ranges) for letter, ranges in _SMALL.items()},
}
"""The classes that an escaped letter stands for."""

_OF_ASCII: dict[str, Ranges] = {
    "Lower": _LOWER,
    "Upper": _UPPER,
    "ASCII": ((0, 0x7F),),
    "Alpha": LETTERS,
    "Digit": _DIGIT,
    "Alnum": union(LETTERS, _DIGIT),
    "Punct": _PUNCTUATION,
    "Graph": union(LETTERS, _DIGIT, _PUNCTUATION),
    "Print": ((0x20, 0x7E),),
    "Blank": ((0x09, 0x09), (0x20, 0x20)),
    "Cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "XDigit": union(_DIGIT, ((0x41, 0x46), (0x61, 0x66))),
    "Space": _SPACE,
}
_OF_CASE = frozenset(("Lower", "Upper", "Lu", "Ll", "Lt"))
_KINDS = {"L": "ultmo", "M": "nce", "N": "dlo", "P": "cdseifo", "S": "mcko", "Z": "slp"}
_CATEGORIES = frozenset(group + kind for group, kinds in _KINDS.items() for kind in ("", *kinds))


def property_named(name: str, insensitive: bool) -> Set | None:
    """The set of `\\p{name}`; None for names that are not known here, and for those of a letter case under (?i)."""
    if insensitive and name in _OF_CASE:
        return None
    if name in _OF_ASCII:
        return Set(_OF_ASCII[name])
    return _of_category(name) if name in _CATEGORIES else None


def inverted(given: Set) -> Set:
    """The characters that are not in a set."""
    return Set(complement(union(given.ranges, given.unsure)), given.unsure)


def either_case(ranges: Ranges) -> Ranges:
    """The ranges with the letters of ASCII in both cases."""
    lower = [code for code in range(ord("a"), ord("z") + 1) if _has(ranges, code) or _has(ranges, code - 32)]
    return union(ranges, ((code - shift, code - shift) for code in lower for shift in (0, 32)))


def _has(ranges: Ranges, code: int) -> bool:
    return any(first <= code <= last for first, last in ranges)


@cache
def _of_category(name: str) -> Set:
    """A general category of Unicode. Characters whose category is not that of Unicode 3.2 are not sure."""
    old = unicodedata.ucd_3_2_0.category
    now = unicodedata.category
    found: list[int] = []
    unsure: list[int] = []
    for code in range(LAST + 1):
        character = chr(code)
        category = now(character)
        if category != old(character) or category == "Cn":
            unsure.append(code)
        elif category.startswith(name):
            found.append(code)
    return Set(_ranges(found), _ranges(unsure))


def _ranges(codes: Iterable[int]) -> Ranges:
    return union((code, code) for code in codes)
