"""Compiles regular expressions to programs of the matcher (`kernels.patterns`)."""

from __future__ import annotations

from functools import lru_cache

from deltaskip.records import dataclass
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.kernels.patterns import PLACES, Program
from deltaskip.sparkexpr.regex import syntax as tree
from deltaskip.sparkexpr.regex.syntax import Syntax, read

_MOST_INSTRUCTIONS = 50_000
# The character that replaces bytes that are not valid UTF-8.
_REPLACEMENT = 0xFFFD


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled regular expression.

    groups: The number of capturing groups.
    repeated: The groups in a repeated part; matchers differ in the last captures of these groups.
    """

    program: Program
    groups: int
    repeated: frozenset[int]


@lru_cache(maxsize=256)
def compiled(pattern: str) -> Pattern:
    """The program of a Java regular expression. Raises Undecided if only Spark can evaluate it."""
    syntax = read(pattern)
    if _size(syntax.part) > _MOST_INSTRUCTIONS:
        raise Undecided(f"A regular expression of more than {_MOST_INSTRUCTIONS:,} parts is left to Spark.")
    return Pattern(_Instructions(syntax).program(), syntax.groups, syntax.repeated)


class _Instructions:
    """Writes the program of a regular expression."""

    def __init__(self, syntax: Syntax) -> None:
        self.syntax = syntax
        self.code: list[tuple[object, ...]] = []
        self.sets: dict[tree.Set, int] = {}

    def program(self) -> Program:
        part = self.syntax.part
        self.write(part)
        self.code.append(("found",))
        sets = [(each.ranges, each.unsure) for each in self.sets]
        first = None if tree.may_be_empty(part) else _first_bytes(_first(part))
        return Program(self.code, sets, self.syntax.groups, first, _begins(part))

    def write(self, part: tree.Part) -> None:
        match part:
            case tree.Set():
                self.code.append(("character", self.sets.setdefault(part, len(self.sets))))
            case tree.Assertion(kind):
                self.code.append(("assert", PLACES[kind]))
            case tree.Series(parts):
                for each in parts:
                    self.write(each)
            case tree.Choice(parts):
                self.choose(parts)
            case tree.Group(inner, number):
                self.code.append(("save", 2 * number))
                self.write(inner)
                self.code.append(("save", 2 * number + 1))
            case tree.Repeat(inner, least, most, lazy):
                for _ in range(least):
                    self.write(inner)
                if most is None:
                    self.loop(inner, lazy)
                else:
                    self.options(inner, most - least, lazy)

    def choose(self, parts: tuple[tree.Part, ...]) -> None:
        """Write alternatives that continue at the same instruction."""
        jumps: list[int] = []
        for part in parts[:-1]:
            split = self.reserve()
            self.write(part)
            jumps.append(self.reserve())
            self.code[split] = ("split", split + 1, len(self.code))
        self.write(parts[-1])
        for jump in jumps:
            self.code[jump] = ("jump", len(self.code))
        self.code.append(("mark",))

    def loop(self, part: tree.Part, lazy: bool) -> None:
        split = self.reserve()
        self.write(part)
        self.code.append(("jump", split))
        self.split(split, len(self.code), lazy)

    def options(self, part: tree.Part, count: int, lazy: bool) -> None:
        splits: list[int] = []
        for _ in range(count):
            splits.append(self.reserve())
            self.write(part)
        for split in splits:
            self.split(split, len(self.code), lazy)

    def split(self, at: int, after: int, lazy: bool) -> None:
        """Set the instruction at `at`: it continues with the next instruction or, as the other option, at `after`."""
        self.code[at] = ("split", after, at + 1) if lazy else ("split", at + 1, after)

    def reserve(self) -> int:
        self.code.append(())
        return len(self.code) - 1


def _size(part: tree.Part) -> int:
    """An upper bound of the number of instructions of a part."""
    match part:
        case tree.Series(parts) | tree.Choice(parts):
            return 2 * len(parts) + sum(map(_size, parts))
        case tree.Group(inner):
            return 2 + _size(inner)
        case tree.Repeat(inner, least, most):
            return (1 + _size(inner)) * max(least + 1, most or 0)
        case _:
            return 1


def _first(part: tree.Part) -> tree.Ranges:
    """The possible first characters of a match of a part."""
    match part:
        case tree.Set(ranges, unsure):
            return tree.joined_ranges(ranges, unsure)
        case tree.Series(parts):
            found: list[tree.Ranges] = []
            for each in parts:
                found.append(_first(each))
                if not tree.may_be_empty(each):
                    break
            return tree.joined_ranges(*found)
        case tree.Choice(parts):
            return tree.joined_ranges(*map(_first, parts))
        case tree.Repeat(inner) | tree.Group(inner):
            return _first(inner)
        case _:
            return ()


def _first_bytes(ranges: tree.Ranges) -> bytes:
    """A bitmap of the first UTF-8 bytes of characters. If a character is not ASCII, all lead bytes are set."""
    bits = bytearray(32)
    for first, last in ranges:
        for code in range(first, min(last, 0x7F) + 1):
            bits[code >> 3] |= 1 << (code & 7)
    if any(last > 0x7F for _, last in ranges):
        bits[24:] = b"\xff" * 8
    return bytes(bits)


def _begins(part: tree.Part) -> bool:
    """Whether a match of a part always begins at the start of the text."""
    match part:
        case tree.Assertion(kind):
            return kind == "begin"
        case tree.Series(parts):
            return bool(parts) and _begins(parts[0])
        case tree.Choice(parts):
            return all(map(_begins, parts))
        case tree.Group(inner):
            return _begins(inner)
        case tree.Repeat(inner, least):
            return least > 0 and _begins(inner)
        case _:
            return False


@lru_cache(maxsize=256)
def beginning_of(pattern: str) -> str:
    r"""Return a prefix of every string that contains a match of a pattern; "" if no prefix is known.

    Without (?m), `^` and `\A` match only at the beginning of the string. So a match of `^p…` begins there. If each
    part of p is a set of a single character, the string begins with these characters in sequence: p is the prefix.
    The prefix ends before the first alternative or optional part.
    """
    try:
        part = read(pattern).part
    except EvaluationError:
        return ""
    parts = part.parts if isinstance(part, tree.Series) else (part,)
    if not parts or parts[0] != tree.Assertion("begin"):
        return ""
    return _text(tree.Series(parts[1:]))[0]


def _text(part: tree.Part) -> tuple[str, bool]:
    """A prefix of every match of a part, and whether it is the whole match."""
    match part:
        case tree.Set(((first, last),), ()) if first == last != _REPLACEMENT:
            return chr(first), True
        case tree.Group(inner):
            return _text(inner)
        case tree.Repeat(inner, least) if least > 0:
            return _text(inner)[0], False
        case tree.Series(parts):
            found = ""
            for each in parts:
                text, whole = _text(each)
                found += text
                if not whole:
                    return found, False
            return found, True
    return "", False
