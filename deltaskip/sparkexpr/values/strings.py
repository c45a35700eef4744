"""Functions on strings, which count code points and compare bytes, as in Spark.

Results that are longer than _MOST_CHARACTERS, and patterns that would take long, are left to Spark.

# Spark 4.1, UTF8String, StringUtils.escapeLikeRegex, stringExpressions.scala
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache

from deltaskip.errors import shown
from deltaskip.sparkexpr.failures import EvaluationError, Undecided

ANY_STRING = "%"
ANY_CHARACTER = "_"

MOST_ELEMENTS = 1 << 20
"""Longer arrays are left to Spark."""

_MOST_CHARACTERS = 1 << 24
_MOST_EDITS = 1 << 24
# Characters whose case is known to be equal in every version of Unicode.
_SAME_CASE: set[str] = set()
_SIMPLE_CASE: set[str] = set()
_SILENT, _VOWEL = "7", "0"
# H and W do not separate two letters with the same code.
_SOUNDS = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "01230127022455012623017202", strict=True))
_LONGEST_PATTERN = 1 << 16
_MOST_COMPARISONS = 1 << 28
"""The most comparisons to find a part of a pattern with `_` in a string; without `_`, the search is linear."""


def compare_strings(one: str, other: str) -> int:
    """-1, 0 or 1 in UTF8_BINARY order. Code points and UTF-8 bytes have the same order."""
    return (one > other) - (one < other)


def like_tokens(pattern: str, escape: str) -> tuple[tuple[bool, str], ...]:
    """A LIKE pattern as tokens: (True, "%") and (True, "_") for wildcards, (False, character) for other characters.

    Raises EvaluationError for an escape character before an ordinary character or at the end, as Spark does.
    """
    tokens: list[tuple[bool, str]] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, None)
            if escaped is None or escaped not in (ANY_CHARACTER, ANY_STRING, escape):
                raise EvaluationError(f"The escape character in the pattern {shown(pattern)} escapes no wildcard.")
            tokens.append((False, escaped))
        else:
            tokens.append((character in (ANY_CHARACTER, ANY_STRING), character))
    return tuple(tokens)


def like(text: str, pattern: str, escape: str) -> bool:
    """`text LIKE pattern ESCAPE escape`: `_` is one code point, `%` any number, line ends included."""
    first, *others = _parts(pattern, escape)
    if not others:
        return len(first) == len(text) and first.matches(text, 0)
    *middle, last = others
    if len(first) + sum(map(len, others)) > len(text) or not first.matches(text, 0):
        return False
    at = len(first)
    for part in middle:
        # The leftmost match leaves the most text for the parts after it.
        at = part.find(text, at)
        if at < 0:
            return False
        at += len(part)
    end = len(text) - len(last)
    return at <= end and last.matches(text, end)


def cased(text: str, upper: bool) -> str:
    """`upper(text)` or `lower(text)`.

    Raises EvaluationError for letters whose case differs between the Unicode versions of Python, Java and ICU.
    """
    if not text.isascii() and not _SAME_CASE.issuperset(text):
        if any(_case_may_differ(character) for character in text):
            raise Undecided(f"The letter case of {shown(text)} depends on the version of Unicode.")
        _SAME_CASE.update(text)
    return text.upper() if upper else text.lower()


def substring(text: str | bytes, position: int, length: int = 2**31 - 1) -> str | bytes:
    """`substring(text, position, length)`. Positions begin at 1; 0 means 1, and a negative position counts back."""
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    end = max(-(2**31), min(2**31 - 1, start + length))
    return text[max(0, start) : max(0, end)] if end > start else text[:0]


def right(text: str, length: int) -> str:
    """`right(text, length)`."""
    return text[-length:] if length > 0 else ""


def capitalized(text: str) -> str:
    """`initcap(text)`: words begin after blanks.

    Raises Undecided for characters whose case differs between versions or depends on the characters around them.
    """
    check_capitals(text)
    return " ".join([word[:1].title() + word[1:].lower() for word in text.split(" ")])


def check_capitals(text: str) -> None:
    """Raise Undecided for characters whose case differs between versions or depends on the characters around them."""
    if not text.isascii() and not _SIMPLE_CASE.issuperset(text):
        for character in text:
            longer = len(character.title()) > 1 or len(character.lower()) > 1
            if longer or character == "\u03a3" or _case_may_differ(character):
                raise Undecided(f"The capital letters of {shown(text)} are left to Spark.")
        _SIMPLE_CASE.update(text)


def overlaid(text: str | bytes, new: str | bytes, position: int, length: int = -1) -> str | bytes:
    """`overlay(text, new, position, length)`: a negative length means the length of the new text."""
    behind = wrapped(position + (length if length >= 0 else len(new)))
    return concat([substring(text, 1, wrapped(position - 1)), new, substring(text, behind)], text[:0])  # type: ignore[arg-type]


def wrapped(number: int) -> int:
    """The number wrapped to 32 bits, as in Java."""
    return (number + 2**31) % 2**32 - 2**31


def trimmed(text: str, characters: str, at_start: bool, at_end: bool) -> str:
    """`text` without leading and trailing `characters`."""
    text = text.lstrip(characters) if at_start and characters else text
    return text.rstrip(characters) if at_end and characters else text


def locate(needle: str, text: str, start: int = 1) -> int:
    """`locate(needle, text, start)`. Positions begin at 1; 0 means no occurrence, and an empty needle is found at 1."""
    if start < 1 or not needle:
        return int(start >= 1)
    return text.find(needle, start - 1) + 1


def replaced(text: str, old: str, new: str = "") -> str:
    """`replace(text, old, new)`."""
    if not old:
        return text
    check_length(len(text) + max(0, len(new) - len(old)) * (len(text) // len(old)))
    return text.replace(old, new)


def repeated(text: str, count: int) -> str:
    """`repeat(text, count)`."""
    check_length(len(text) * max(count, 0))
    return text * count


def padded(text: str | bytes, length: int, pad: str | bytes, left: bool) -> str | bytes:
    """`lpad(text, length, pad)`, or `rpad`. A longer string is truncated, and an empty pad adds nothing."""
    missing = length - len(text)
    if missing <= 0 or not pad:
        return text[: max(length, 0)]
    check_length(length)
    filling = (pad * (missing // len(pad) + 1))[:missing]
    return filling + text if left else text + filling  # type: ignore[operator]


def translated(text: str, characters: str, others: str) -> str:
    """`translate(text, characters, others)`: characters without a counterpart are removed."""
    return text.translate(translation(characters, others))


@lru_cache(maxsize=64)
def translation(characters: str, others: str) -> Mapping[int, str | None]:
    """The replacement of each code point that `translate` changes; None if the code point is removed."""
    table: dict[int, str | None] = {}
    for at, character in enumerate(characters):
        table.setdefault(ord(character), others[at] if at < len(others) else None)
    return table


def before_delimiter(text: str, delimiter: str, count: int) -> str:
    """`substring_index(text, delimiter, count)`: the text before the delimiter, or after it if `count` is negative."""
    if not delimiter or count == 0:
        return ""
    if count > 0:
        at = -1
        for _ in range(count):
            at = text.find(delimiter, at + 1)
            if at < 0:
                return text
        return text[:at]
    at = len(text) - len(delimiter) + 1
    for _ in range(-count):
        at = text.rfind(delimiter, 0, max(at - 1 + len(delimiter), 0)) if at > 0 else -1
        if at < 0:
            return text
    return text[at + len(delimiter) :]


def soundex(text: str) -> str:
    """`soundex(text)`; the text unchanged if it does not begin with an ASCII letter."""
    if not (text[:1].isascii() and text[:1].isalpha()):
        return text
    code, last = text[0].upper(), _SOUNDS[text[0].upper()]
    for character in text[1:]:
        sound = _SOUNDS.get(character.upper() if character.isascii() else "", "")
        if sound == _SILENT:
            continue
        if sound not in ("", _VOWEL, last):
            code += sound
        last = sound or _VOWEL
    return f"{code:0<4.4}"


def edit_distance(one: str, other: str) -> int:
    """`levenshtein(one, other)`."""
    if len(one) * len(other) > _MOST_EDITS:
        raise Undecided("The distance of such long strings is left to Spark.")
    costs = list(range(len(other) + 1))
    for row, character in enumerate(one, 1):
        corner, costs[0] = costs[0], row
        for at, another in enumerate(other, 1):
            best = min(corner + (character != another), costs[at] + 1, costs[at - 1] + 1)
            corner, costs[at] = costs[at], best
    return costs[-1]


def concat(parts: Iterable[str] | Iterable[bytes], empty: str | bytes) -> str | bytes:
    """`concat(parts)`."""
    found = list(parts)
    check_length(sum(map(len, found)))
    return empty.join(found)  # type: ignore[arg-type]


def check_length(characters: int) -> None:
    """Raise Undecided if a result may be too long."""
    if characters > _MOST_CHARACTERS:
        raise Undecided(f"A string of up to {characters:,} characters is left to Spark.")


def elements_in(value: object) -> int:
    """The elements of an array at every depth, as far as the first element of each tells; 0 for other values."""
    return len(value) * max(1, elements_in(value[0])) if isinstance(value, tuple) and value else 0


class _Part:
    """A part of a LIKE pattern between two `%`."""

    __slots__ = ("_length", "_pattern", "_text")

    def __init__(self, characters: list[str | None]) -> None:
        self._length = len(characters)
        self._text = None if None in characters else "".join(map(str, characters))
        source = "".join("." if character is None else re.escape(character) for character in characters)
        self._pattern = None if self._text is not None else re.compile(source, re.DOTALL)

    def __len__(self) -> int:
        return self._length

    def matches(self, text: str, at: int) -> bool:
        """Whether the part matches the text at an index."""
        if self._pattern is None:
            return text.startswith(self._text or "", at)
        return self._pattern.match(text, at) is not None

    def find(self, text: str, start: int) -> int:
        """The first index from `start` at which the part matches the text; -1 without a match."""
        if self._pattern is None:
            return text.find(self._text or "", start)
        if (len(text) - start) * self._length > _MOST_COMPARISONS:
            raise Undecided(f"A pattern of {self._length:,} characters in a long text is left to Spark.")
        found = self._pattern.search(text, start)
        return -1 if found is None else found.start()


@lru_cache(maxsize=64)
def _parts(pattern: str, escape: str) -> tuple[_Part, ...]:
    """The parts of a pattern between its `%`. n signs `%` make n + 1 parts."""
    if len(pattern) > _LONGEST_PATTERN:
        raise Undecided(f"A pattern of {len(pattern):,} characters is left to Spark.")
    parts: list[list[str | None]] = [[]]
    for wild, character in like_tokens(pattern, escape):
        if (wild, character) == (True, ANY_STRING):
            parts.append([])
        else:
            parts[-1].append(None if wild else character)
    return tuple(map(_Part, parts))


def _case_may_differ(character: str) -> bool:
    """Whether a later Unicode version may change the case: unassigned, or a cased letter without a counterpart."""
    match unicodedata.category(character):
        case "Cn":
            return True
        case "Ll":
            return character.upper() == character
        case "Lu":
            return character.lower() == character
    return False
