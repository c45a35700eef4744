"""The slow twin of kernels.patterns: backtracking over the parts of a regular expression, one way after the other."""

from collections.abc import Callable
from typing import Any, TypeAlias

from deltaskip.sparkexpr.regex.syntax import Assertion, Choice, Group, Part, Ranges, Repeat, Series, Set, Syntax

_LINE_ENDS = "\n\r\u0085\u2028\u2029"
Groups: TypeAlias = dict[int, tuple[int, int]]
Then: TypeAlias = Callable[[int, Groups], Any]


class Unsure(Exception):
    """The match depends on the version of Java."""


def matches(syntax: Syntax, text: str, most: int) -> list[Groups]:
    """The groups of each match. Raises Unsure."""
    found: list[Groups] = []
    at = 0
    while len(found) < most and at <= len(text):
        groups = next((each for start in range(at, len(text) + 1) if (each := _from(syntax, text, start))), None)
        if groups is None:
            break
        found.append(groups)
        begin, at = groups[0]
        if begin == at:
            if len(found) < most and text[at : at + 1] > "\uffff":
                raise Unsure
            at += 1
    return found


def _from(syntax: Syntax, text: str, start: int) -> Groups | None:
    found: Groups | None = _match(syntax.part, text, start, {}, lambda at, groups: {**groups, 0: (start, at)})
    return found


def _match(part: Part, text: str, at: int, groups: Groups, then: Then) -> Any:
    match part:
        case Set(ranges, unsure):
            if at == len(text):
                return None
            if _within(ranges, text[at]):
                return then(at + 1, groups)
            if _within(unsure, text[at]):
                raise Unsure
            return None
        case Assertion(kind):
            return then(at, groups) if _stands(kind, text, at) else None
        case Series(parts):
            if not parts:
                return then(at, groups)
            rest = Series(parts[1:])
            return _match(parts[0], text, at, groups, lambda end, found: _match(rest, text, end, found, then))
        case Choice(parts):
            return next((found for each in parts if (found := _match(each, text, at, groups, then)) is not None), None)
        case Group(inner, number):
            return _match(inner, text, at, groups, lambda end, found: then(end, {**found, number: (at, end)}))
        case Repeat(inner, least, most, lazy):
            return _repeat(inner, least, most, lazy, text, at, groups, then)


def _repeat(
    part: Part, least: int, most: int | None, lazy: bool, text: str, at: int, groups: Groups, then: Then
) -> Any:
    def more(end: int, found: Groups) -> Any:
        return _repeat(part, max(least - 1, 0), None if most is None else most - 1, lazy, text, end, found, then)

    ways: list[Callable[[], Any]] = []
    if most is None or most > 0:
        ways.append(lambda: _match(part, text, at, groups, more))
    if least == 0:
        ways.append(lambda: then(at, groups))
    return next((found for way in (reversed(ways) if lazy else ways) if (found := way()) is not None), None)


def _within(ranges: Ranges, character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in ranges)


def _stands(kind: str, text: str, at: int) -> bool:
    before, after = text[:at][-1:], text[at : at + 1]
    split = before == "\r" and after == "\n"
    match kind:
        case "begin":
            return at == 0
        case "end":
            return at == len(text)
        case "last":
            return at == len(text) or (not split and text[at:] in (*_LINE_ENDS, "\r\n"))
        case "line end":
            return at == len(text) or (not split and after in _LINE_ENDS)
        case "line begin":
            return at < len(text) and (at == 0 or (before in _LINE_ENDS and not split))
    if not (before + after).isascii():
        raise Unsure
    inside = [bool(each) and (each.isalnum() or each == "_") for each in (before, after)]
    return (inside[0] != inside[1]) == (kind == "boundary")
