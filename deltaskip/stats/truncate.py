"""Truncation of string bounds, so the log does not contain whole documents.

# PROTOCOL, Per-file Statistics: "String columns are cut off at a fixed prefix length."
Binary bounds are truncated exactly as in delta-spark 4.4: a minimum counts code points, a maximum UTF-16 units, and a
surrogate pair is never split. Collated bounds are written whole up to a limit, since a prefix of a string is not always
below it.
"""

from __future__ import annotations

from deltaskip.collations.collation import Collation

PREFIX_LENGTH = 32
"""delta-spark's spark.databricks.delta.stats.string.prefix.length."""

COLLATED_LIMIT = 256
"""The longest collated bound that is written whole, in code points; longer ones are truncated to it."""

_ASCII_MAX = "\x7f"
_LAST = "\U0010ffff"
# The greatest character in most ICU orders; each truncated bound is verified to be above the text.
_COLLATED_LAST = "\uffff"


def cut_min(text: str) -> str:
    """Return a lower bound of `text` of at most 32 code points."""
    return text[:PREFIX_LENGTH]


def cut_max(text: str) -> str | None:
    """Return an upper bound of `text` in the order of UTF-8 bytes, or None if none is short enough.

    The first 32 UTF-16 units, 33 where the last character needs two, and a character above the one that follows them.
    U+10FFFF has none above it: the beginning grows over those, up to 64 units.
    """
    if _short(text):
        return text
    end = _whole(text)
    units = _units(text[:end])
    while units <= 2 * PREFIX_LENGTH:
        if end >= len(text):
            return text
        if text[end] == _LAST:
            end, units = end + 1, units + 2
        else:
            return text[:end] + (_ASCII_MAX if text[end] < _ASCII_MAX else _LAST)
    return None


def cut_collated_min(text: str, order: Collation) -> str | None:
    """Return a lower bound of `text` in `order` of at most COLLATED_LIMIT code points, or None if none was found.

    Under ICU a prefix of a string may be above it (contractions, reordered vowels), so the result is compared.
    """
    if len(text) <= COLLATED_LIMIT:
        return text
    cut = text[:COLLATED_LIMIT]
    return cut if order.compare_values(cut, text) <= 0 else None


def cut_collated_max(text: str, order: Collation) -> str | None:
    """Return an upper bound of `text` in `order` of at most COLLATED_LIMIT + 1 code points, or None without one."""
    if len(text) <= COLLATED_LIMIT:
        return text
    raised = (text[:COLLATED_LIMIT] + last for last in (_COLLATED_LAST, _LAST))
    return next((bound for bound in raised if order.compare_values(bound, text) >= 0), None)


def _short(text: str) -> bool:
    return len(text) <= PREFIX_LENGTH // 2 or _units(text) <= PREFIX_LENGTH


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _whole(text: str) -> int:
    """Number of characters in the prefix."""
    units = 0
    for i, character in enumerate(text):
        if units >= PREFIX_LENGTH:
            return i
        units += 1 if character <= "\uffff" else 2
    return len(text)
