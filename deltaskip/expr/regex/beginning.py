"""How every string that a regular expression matches begins."""

from __future__ import annotations

from functools import lru_cache

from deltaskip.expr.failures import EvaluationError
from deltaskip.expr.regex.syntax import read
from deltaskip.expr.regex.syntax_tree import Assertion, Group, Part, Repeat, Series, Set

# The replacement of bytes that are no UTF-8.
_REPLACEMENT = 0xFFFD


@lru_cache(maxsize=256)
def beginning_of(pattern: str) -> str:
    """Return a text with which every string begins in which a pattern occurs; "" if none is known.

    Without (?m), `^` and `\\A` hold only at the begin of the string. So a match of `^p…` begins there, and where each
    part of p is one character, alone in its set, the string has these characters one after the other: it begins with p.
    Where an alternative, or a part that may be missing, comes next, nothing is known of what follows.
    """
    try:
        part = read(pattern).part
    except EvaluationError:
        return ""
    parts = part.parts if isinstance(part, Series) else (part,)
    if not parts or parts[0] != Assertion("begin"):
        return ""
    return _text(Series(parts[1:]))[0]


def _text(part: Part) -> tuple[str, bool]:
    """The text with which a match of a part begins, and whether the match is just this text."""
    match part:
        case Set(((first, last),), ()) if first == last != _REPLACEMENT:
            return chr(first), True
        case Group(inner):
            return _text(inner)
        case Repeat(inner, least) if least > 0:
            return _text(inner)[0], False
        case Series(parts):
            found = ""
            for each in parts:
                text, whole = _text(each)
                found += text
                if not whole:
                    return found, False
            return found, True
    return "", False
