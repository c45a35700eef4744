"""The parts of a regular expression."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from deltaskip.records import dataclass

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
