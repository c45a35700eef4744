"""Parses the supported subset of Java's regular expressions.

Unsupported syntax raises Undecided with its name. Syntax that Java refuses raises EvaluationError.

# Java 17, java.util.regex.Pattern
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import NoReturn, TypeAlias

from deltaskip.errors import shown
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.values.numerals import integer_of

Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Sorted ranges of code points, each with its first and last code point; adjacent ranges are merged."""

LAST = 0x10FFFF
ALL: Ranges = ((0, LAST),)


@dataclass(frozen=True, slots=True)
class Set:
    """One character of a set. Whether the set contains the characters `unsure` depends on the version of Java."""

    ranges: Ranges
    unsure: Ranges = ()


@dataclass(frozen=True, slots=True)
class Assertion:
    r"""A condition on the position in the text, which consumes no character.

    kind: "begin", "end" (`\z`), "last" (`$` and `\Z`: at the end, or before a final line terminator), "line begin"
        and "line end" (`^` and `$` under (?m)), "boundary" and "no boundary" of words.
    """

    kind: str


@dataclass(frozen=True, slots=True)
class Series:
    """Parts in sequence."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Alternatives. The first part with which the whole expression matches is chosen."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part from `least` to `most` times (None: any number), as often as possible; as seldom as possible if lazy."""

    part: Part
    least: int
    most: int | None
    lazy: bool


@dataclass(frozen=True, slots=True)
class Group:
    """A capturing group, counted from 1."""

    part: Part
    number: int


Part: TypeAlias = Set | Assertion | Series | Choice | Repeat | Group


def may_be_empty(part: Part) -> bool:
    """Whether a part may match the empty string."""
    match part:
        case Set():
            return False
        case Assertion():
            return True
        case Series(parts):
            return all(map(may_be_empty, parts))
        case Choice(parts):
            return any(map(may_be_empty, parts))
        case Repeat(inner, least):
            return least == 0 or may_be_empty(inner)
        case Group(inner):
            return may_be_empty(inner)


def joined_ranges(*given: Iterable[tuple[int, int]]) -> Ranges:
    """The union of ranges of code points."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(each for ranges in given for each in ranges):
        if found and first <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return tuple(found)


def other_code_points(ranges: Ranges) -> Ranges:
    """The complement of ranges of code points."""
    found: list[tuple[int, int]] = []
    start = 0
    for first, last in ranges:
        if start < first:
            found.append((start, first - 1))
        start = last + 1
    if start <= LAST:
        found.append((start, LAST))
    return tuple(found)


_DIGIT: Ranges = ((0x30, 0x39),)
_UPPER: Ranges = ((0x41, 0x5A),)
_LOWER: Ranges = ((0x61, 0x7A),)
_SPACE: Ranges = ((0x09, 0x0D), (0x20, 0x20))
_LETTERS = joined_ranges(_UPPER, _LOWER)
"""A to Z and a to z."""
_BLANK_ACROSS: Ranges = (
    *((0x09, 0x09), (0x20, 0x20), (0xA0, 0xA0), (0x1680, 0x1680), (0x180E, 0x180E), (0x2000, 0x200A)),
    *((0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000)),
)
_VERTICAL: Ranges = ((0x0A, 0x0D), (0x85, 0x85), (0x2028, 0x2029))
_PUNCTUATION: Ranges = ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E))

_SMALL: dict[str, Ranges] = {
    "d": _DIGIT,
    "s": _SPACE,
    "w": joined_ranges(_LETTERS, _DIGIT, ((0x5F, 0x5F),)),
    "h": _BLANK_ACROSS,
    "v": _VERTICAL,
}
OF_ESCAPES: dict[str, Ranges] = {
    **_SMALL,
    **{letter.upper(): other_code_points(ranges) for letter, ranges in _SMALL.items()},
}
"""The predefined character classes, by their letter after the backslash."""

_OF_ASCII: dict[str, Ranges] = {
    "Lower": _LOWER,
    "Upper": _UPPER,
    "ASCII": ((0, 0x7F),),
    "Alpha": _LETTERS,
    "Digit": _DIGIT,
    "Alnum": joined_ranges(_LETTERS, _DIGIT),
    "Punct": _PUNCTUATION,
    "Graph": joined_ranges(_LETTERS, _DIGIT, _PUNCTUATION),
    "Print": ((0x20, 0x7E),),
    "Blank": ((0x09, 0x09), (0x20, 0x20)),
    "Cntrl": ((0, 0x1F), (0x7F, 0x7F)),
    "XDigit": joined_ranges(_DIGIT, ((0x41, 0x46), (0x61, 0x66))),
    "Space": _SPACE,
}
_OF_CASE = frozenset(("Lower", "Upper", "Lu", "Ll", "Lt"))
# Unicode 3.2, UnicodeData.txt: runs of characters of one category, and the blocks that contain the others.
_UNIFORM = (
    *((0x3400, 0x4DB5, "Lo"), (0x4E00, 0x9FA5, "Lo"), (0xAC00, 0xD7A3, "Lo"), (0x20000, 0x2A6D6, "Lo")),
    *((0xD800, 0xDFFF, "Cs"), (0xE000, 0xF8FF, "Co"), (0xF0000, 0xFFFFD, "Co"), (0x100000, 0x10FFFD, "Co")),
)
_SCATTERED: Ranges = (
    *((0, 0x33FF), (0x4DB6, 0x4DFF), (0x9FA6, 0xABFF), (0xD7A4, 0xD7FF), (0xF900, 0xFFFF)),
    *((0x10300, 0x1044F), (0x1D000, 0x1D7FF), (0x2F800, 0x2FA1F), (0xE0000, 0xE007F)),
)
_KINDS = {"L": "ultmo", "M": "nce", "N": "dlo", "P": "cdseifo", "S": "mcko", "Z": "slp"}
_CATEGORIES = frozenset(group + kind for group, kinds in _KINDS.items() for kind in ("", *kinds))


def _property_named(name: str, insensitive: bool) -> Set | None:
    r"""The set of `\p{name}`; None for unknown names, and for names of a letter case under (?i)."""
    if insensitive and name in _OF_CASE:
        return None
    if name in _OF_ASCII:
        return Set(_OF_ASCII[name])
    return _of_category(name) if name in _CATEGORIES else None


def _inverted(given: Set) -> Set:
    """The complement of a set."""
    return Set(other_code_points(joined_ranges(given.ranges, given.unsure)), given.unsure)


def _either_case(ranges: Ranges) -> Ranges:
    """The ranges, with ASCII letters in both cases."""
    lower = [code for code in range(ord("a"), ord("z") + 1) if _has(ranges, code) or _has(ranges, code - 32)]
    return joined_ranges(ranges, ((code - shift, code - shift) for code in lower for shift in (0, 32)))


def _has(ranges: Ranges, code: int) -> bool:
    return any(first <= code <= last for first, last in ranges)


@cache
def _of_category(name: str) -> Set:
    """A Unicode general category. Characters whose category has changed since Unicode 3.2 are unsure."""
    stable = _stable_categories()
    found = joined_ranges((first, last) for first, last, category in stable if category.startswith(name))
    return Set(found, other_code_points(joined_ranges((first, last) for first, last, _ in stable)))


@cache
def _stable_categories() -> list[tuple[int, int, str]]:
    """The categories that have not changed since Unicode 3.2, each with the first and last code point of a run."""
    old = unicodedata.ucd_3_2_0.category
    now = unicodedata.category
    found = list(_UNIFORM)
    for first, last in _SCATTERED:
        for code in range(first, last + 1):
            character = chr(code)
            category = now(character)
            if category == old(character) != "Cn":
                found.append((code, code, category))
    return found


_LONGEST = 10_000
_DEEPEST = 100
_MOST_REPEATED = 1000
_LINE_ENDS: Ranges = ((0x0A, 0x0A), (0x0D, 0x0D), (0x85, 0x85), (0x2028, 0x2029))
_CONTROLS = {"t": 0x09, "n": 0x0A, "r": 0x0D, "f": 0x0C, "a": 0x07, "e": 0x1B}
_PLACES = {"A": "begin", "z": "end", "Z": "last", "b": "boundary", "B": "no boundary"}
_LOOKING = {"(?=": "look-ahead", "(?!": "look-ahead", "(?<=": "look-behind", "(?<!": "look-behind"}
_LOOKING["(?>"] = "an atomic group"
_REFUSED_ESCAPES = {
    "G": "the end of the match before",
    "R": "a line break",
    "X": "a grapheme cluster",
    "N": "a named character",
    "k": "a back-reference",
}
_NAME = regex(r"\(\?<([A-Za-z][A-Za-z0-9]*)>")
_FLAGS = regex(r"\(\?([a-zA-Z]*)(?:-([a-zA-Z]*))?([:)])")
_BOUNDS = regex(r"\{([0-9]+)(,?)([0-9]*)\}")
_SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True, slots=True)
class Syntax:
    """A parsed regular expression.

    groups: The number of capturing groups.
    repeated: The capturing groups inside a repeated part.
    """

    part: Part
    groups: int
    repeated: frozenset[int]


def read(pattern: str) -> Syntax:
    """Parse a regular expression.

    Raises EvaluationError if Java refuses it, and Undecided if deltaskip does not support its syntax.
    """
    reader = _PatternReader(pattern)
    part = reader.choice(0)
    if reader.at < len(pattern):
        reader.wrong("a parenthesis that closes nothing")
    return Syntax(part, reader.groups, frozenset(reader.repeated))


class _PatternReader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.groups = 0
        self.repeated: set[int] = set()
        self.names: set[str] = set()
        self.insensitive = self.all = self.lines = False
        if len(pattern) > _LONGEST:
            self.refuse(f"more than {_LONGEST:,} characters")

    def refuse(self, what: str) -> NoReturn:
        """Raise Undecided for a pattern that only Spark can evaluate."""
        raise Undecided(f"The regular expression {shown(self.pattern)} is left to Spark: it has {what}.")

    def wrong(self, what: str) -> NoReturn:
        """Raise EvaluationError for a pattern that Java refuses."""
        raise EvaluationError(
            f"{shown(self.pattern)} is no regular expression: it has {what} (INVALID_PARAMETER_VALUE.PATTERN)."
        )

    def peek(self, text: str) -> bool:
        """Whether the pattern continues with a text."""
        return self.pattern.startswith(text, self.at)

    def next(self) -> str:
        """Read the next character."""
        if self.at >= len(self.pattern):
            self.wrong("an end within a construct")
        self.at += 1
        return self.pattern[self.at - 1]

    def choice(self, depth: int) -> Part:
        """Alternatives, up to a closing parenthesis or the end."""
        if depth > _DEEPEST:
            self.refuse("groups that are nested too deeply")
        parts = [self.series(depth)]
        while self.peek("|"):
            self.at += 1
            parts.append(self.series(depth))
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def series(self, depth: int) -> Part:
        """Parts up to `|`, a closing parenthesis or the end."""
        parts: list[Part] = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            if self.peek("\\Q"):
                parts += self.quoted()
                continue
            before = self.groups
            part = self.atom(depth)
            if part is not None:
                parts.append(self.quantified(part, before))
        return parts[0] if len(parts) == 1 else Series(tuple(parts))

    def quoted(self) -> list[Part]:
        r"""The characters between `\Q` and `\E`; a quantifier after them repeats the last character."""
        end = self.pattern.find("\\E", self.at + 2)
        text = self.pattern[self.at + 2 : None if end < 0 else end]
        self.at = len(self.pattern) if end < 0 else end + 2
        parts: list[Part] = [self.single(ord(character)) for character in text]
        if not parts and self.at < len(self.pattern) and self.pattern[self.at] in "*+?{":
            self.refuse("a quantifier after an empty quotation")
        return [*parts[:-1], self.quantified(parts[-1], self.groups)] if parts else []

    def atom(self, depth: int) -> Part | None:
        """One part without its quantifier; None for flags."""
        character = self.next()
        match character:
            case "(":
                return self.group(depth)
            case "[":
                return self.bracketed()
            case "\\":
                return self.escaped()
            case ".":
                return Set(ALL if self.all else other_code_points(_LINE_ENDS))
            case "^":
                return Assertion("line begin" if self.lines else "begin")
            case "$":
                return Assertion("line end" if self.lines else "last")
            case "*" | "+" | "?" | "{":
                if character != "{":
                    self.wrong(f"the quantifier {character} after nothing that it repeats")
                self.refuse("a brace that is no quantifier")
        return self.single(ord(character))

    def group(self, depth: int) -> Part | None:
        """Parse the text after an opening parenthesis; None for flags."""
        self.at -= 1
        for begin, what in _LOOKING.items():
            if self.peek(begin):
                self.refuse(what)
        flags = self.insensitive, self.all, self.lines
        number = None
        found = _FLAGS.match(self.pattern, self.at)
        if found:
            self.at = found.end()
            self.set_flags(found[1], found[2] or "")
            if found[3] == ")":
                if self.at < len(self.pattern) and self.pattern[self.at] in "*+?{":
                    self.refuse("a quantifier after flags")
                return None
        else:
            named = _NAME.match(self.pattern, self.at)
            if named and named[1] in self.names:
                self.refuse("two groups of one name")
            if named:
                self.names.add(named[1])
            elif self.peek("(?"):
                self.refuse("an unknown kind of group")
            self.at = named.end() if named else self.at + 1
            self.groups += 1
            number = self.groups
        part = self.choice(depth + 1)
        if not self.peek(")"):
            self.wrong("a parenthesis that is not closed")
        self.at += 1
        self.insensitive, self.all, self.lines = flags
        return part if number is None else Group(part, number)

    def set_flags(self, on: str, off: str) -> None:
        for letter in on + off:
            if letter not in "ism":
                self.refuse(f"the flag {letter}")
        for letters, value in ((on, True), (off, False)):
            self.insensitive = value if "i" in letters else self.insensitive
            self.all = value if "s" in letters else self.all
            self.lines = value if "m" in letters else self.lines

    def quantified(self, part: Part, groups: int) -> Part:
        """A part with the quantifier after it. groups: The number of capturing groups before the part."""
        bounds = _BOUNDS.match(self.pattern, self.at)
        if bounds:
            self.at = bounds.end()
            least, most = self.bounds(bounds)
        elif self.at < len(self.pattern) and self.pattern[self.at] in "*+?":
            sign = self.next()
            least, most = (1 if sign == "+" else 0), (1 if sign == "?" else None)
        elif self.peek("{"):
            self.refuse("a brace that is no quantifier")
        else:
            return part
        if self.peek("+"):
            self.refuse("a possessive quantifier")
        lazy = self.peek("?")
        self.at += lazy
        if bounds or most != 1:
            if may_be_empty(part):
                # Java, Perl and RE2 stop such a repetition differently.
                self.refuse("a repeated part that may be empty")
            self.repeated.update(range(groups + 1, self.groups + 1))
        return Repeat(part, least, most, lazy)

    def bounds(self, found: re.Match[str]) -> tuple[int, int | None]:
        least = integer_of(found[1])
        most = least if not found[2] else integer_of(found[3]) if found[3] else None
        if max(least, most or 0) > _MOST_REPEATED or (most is not None and most < least) or most == 0:
            self.refuse(f"the quantifier {found[0]}")
        return least, most

    def single(self, code: int) -> Set:
        """The set of one character, in both cases under (?i)."""
        if code in _SURROGATES:
            self.refuse("half of a surrogate pair")
        return Set(self.cased(((code, code),)))

    def cased(self, ranges: Ranges) -> Ranges:
        return _either_case(ranges) if self.insensitive else ranges

    def escaped(self) -> Part:
        """Parse the text after a backslash outside brackets."""
        letter = self.next()
        if letter in _PLACES:
            return Assertion(_PLACES[letter])
        if letter in "123456789":
            self.refuse("a back-reference")
        found = self.class_or_code(letter)
        return found if isinstance(found, Set) else self.single(found)

    def class_or_code(self, letter: str) -> Set | int:
        """Parse an escape after its letter: a predefined class or a character."""
        if letter in OF_ESCAPES:
            return Set(OF_ESCAPES[letter])
        if letter in "pP":
            return self.property(letter == "P")
        if letter in _CONTROLS:
            return _CONTROLS[letter]
        if letter in _REFUSED_ESCAPES:
            self.refuse(_REFUSED_ESCAPES[letter])
        match letter:
            case "c":
                return ord(self.next()) ^ 64
            case "0":
                return self.octal()
            case "x":
                return self.hexadecimal(r"\{([0-9a-fA-F]{1,6})\}|([0-9a-fA-F]{2})")
            case "u":
                return self.hexadecimal(r"([0-9a-fA-F]{4})")
        if letter.isascii() and letter.isalnum():
            self.wrong(f"the escape \\{letter}")
        return ord(letter)

    def property(self, negated: bool) -> Set:
        found = re.compile(r"\{([A-Za-z0-9_=]+)\}|([A-Za-z])").match(self.pattern, self.at)
        if found is None:
            self.refuse("a property without a name")
        self.at = found.end()
        name = found[1] or found[2]
        named = _property_named(name.removeprefix("Is") if len(name) in (3, 4) else name, self.insensitive)
        if named is None:
            self.refuse(f"the class \\p{{{name}}}" + (" under (?i)" if self.insensitive else ""))
        return _inverted(named) if negated else named

    def octal(self) -> int:
        found = re.compile("[0-3][0-7]{2}|[0-7]{1,2}").match(self.pattern, self.at)
        if found is None:
            self.wrong("an octal escape without a number")
        self.at = found.end()
        return int(found[0], 8)

    def hexadecimal(self, source: str) -> int:
        found = re.compile(source).match(self.pattern, self.at)
        if found is None:
            self.wrong("a hexadecimal escape that is not complete")
        self.at = found.end()
        code = int(next(digits for digits in found.groups() if digits), 16)
        if code > LAST:
            self.refuse("a character beyond Unicode")
        return code

    def bracketed(self) -> Set:
        """Parse a character class after its opening bracket."""
        negated = self.peek("^")
        self.at += negated
        ranges: list[Ranges] = []
        unsure: list[Ranges] = []
        begin = self.at
        while self.at == begin or not self.peek("]"):
            if self.peek("&&"):
                self.refuse("an intersection of classes")
            if self.peek("["):
                self.refuse("a class within a class")
            first = self.member()
            if isinstance(first, Set):
                if self.peek("-") and not self.peek("-]"):
                    self.refuse("a range after a class")
                ranges.append(first.ranges)
                unsure.append(first.unsure)
                continue
            last = first
            if self.peek("-") and not self.peek("-]"):
                self.at += 1
                if self.peek("[") or self.peek("&&"):
                    self.refuse("a class within a class")
                end = self.member()
                if isinstance(end, Set) or end < first:
                    self.wrong("a range without an end")
                last = end
            if first in _SURROGATES or last in _SURROGATES:
                self.refuse("half of a surrogate pair")
            ranges.append(self.cased(((first, last),)))
        self.at += 1
        found = joined_ranges(*ranges)
        missing = joined_ranges(*unsure)
        if missing:
            # A character is sure if another part of the class contains it.
            missing = other_code_points(joined_ranges(found, other_code_points(missing)))
        return _inverted(Set(found, missing)) if negated else Set(found, missing)

    def member(self) -> Set | int:
        """One character of a bracketed class, or a predefined class."""
        character = self.next()
        if character != "\\":
            return ord(character)
        letter = self.next()
        if letter in "QEAzZbB" or letter in "123456789":
            self.refuse(f"the escape \\{letter} in a class")
        return self.class_or_code(letter)
