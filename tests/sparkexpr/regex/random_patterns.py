"""Random regular expressions, and texts in which they may occur."""

import random
from dataclasses import dataclass

from deltaskip.sparkexpr import EvaluationError
from deltaskip.sparkexpr.regex import compiled

LETTERS = ["a", "a", "b", "c", "A", "B", "1", "2", "_", "-", " ", ".", "\n", "\r", "\r\n", "é", "É", "ß", "\u2028"]
LETTERS += ["\u0085", "\U0001f600", "\u00a0", "\u0301", "\t", "x", "y"]
_SETS = [".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\h", r"\v", r"\p{Alpha}", r"\p{Lower}", r"\p{Lu}", r"\pL"]
_SETS += [r"\p{L}", r"\P{L}", r"\p{Punct}", r"\p{IsN}", "[a-c]", "[^a-c]", r"[\d_]", r"[^\s]", "[a-zA-Z0-9]", "[]a]"]
_SETS += ["[a-]", "[-a]", r"[\w-]", r"[a\-c]", "[^]a]", "[.]", "[a^]", "[é-ü]", r"[\x{80}-\x{10ffff}]", r"[\p{L}\d]"]
_SETS += [r"[^\p{Lu}a]", r"[\n\r]", "[ -~]", r"[\t-\r]", "[&a]", r"[^\W]"]
_ESCAPES = [r"\.", r"\-", r"\_", r"\t", r"\n", r"\x61", r"\x{1F600}", r"\u0061", r"\0141", r"\cI", r"\Qa.b\E", r"\Q\E"]
_ESCAPES += [r"\e", r"\{", r"\\", r"\é", "]", "}", ",", ":"]
_PLACES = ["^", "$", r"\b", r"\B", r"\A", r"\z", r"\Z"]
_SIGNS = ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{2,}", "{0,2}?", "{1,}?", "{0,1}"]
_FLAGS = ["(?i)", "(?m)", "(?s)", "(?im)", "(?i:", "(?-i)", "(?s-m:"]
_ODD = ["(?=a)", "(?<!b)", r"\1", "(?>a)", "a++", "[a&&b]", "[a[b]]", r"\R", r"\X", "(?x)", "{", r"\G", "(?u)", "**"]


@dataclass(frozen=True, slots=True)
class Case:
    """A pattern and what it is applied to."""

    pattern: str
    text: str
    group: int
    replacement: str
    limit: int


def cases(seed: int, count: int, texts: int = 4) -> list[Case]:
    """Cases whose patterns are in the subset."""
    chance = random.Random(seed)
    found: list[Case] = []
    while len(found) < count:
        pattern = _pattern(chance)
        try:
            known = compiled(pattern)
        except EvaluationError:
            continue
        groups = [group for group in range(known.groups + 1) if group not in known.repeated]
        for _ in range(texts):
            group = chance.choice(groups)
            replacement = chance.choice(["", "<$0>", f"[${group}]", r"\$x", "-", f"${group}1"])
            limit = chance.choice([-1, 0, 1, 2, 3, 100])
            found.append(Case(pattern, _text(chance), group, replacement, limit))
    return found


def pattern(seed: int) -> str:
    """A pattern, which may be beyond the subset or no pattern at all."""
    chance = random.Random(seed)
    source = _pattern(chance)
    at = chance.randrange(len(source) + 1)
    return (
        source[:at] + chance.choice([*_ODD, *_FLAGS, "(", ")", "[", "]", "+", "?", "\\", "{1", "-", "^"]) + source[at:]
    )


def _pattern(chance: random.Random) -> str:
    flags = chance.choice(["", "", "", "", *_FLAGS[:4]])
    return flags + _choice(chance, 2)


def _choice(chance: random.Random, depth: int) -> str:
    return "|".join(_series(chance, depth) for _ in range(chance.choice([1, 1, 1, 2, 2, 3])))


def _series(chance: random.Random, depth: int) -> str:
    return "".join(_atom(chance, depth) for _ in range(chance.choice([0, 1, 1, 2, 2, 3, 4])))


def _atom(chance: random.Random, depth: int) -> str:
    kind = chance.random()
    if kind < 0.1:
        return chance.choice(_PLACES)
    if kind < 0.4:
        atom = chance.choice(LETTERS)
        atom = "\\." if atom == "." else atom
    elif kind < 0.65:
        atom = chance.choice(_SETS)
    elif kind < 0.72:
        atom = chance.choice(_ESCAPES)
    elif depth:
        begin = chance.choice(
            ["(", "(", "(?:", "(?<n>" if depth == 2 and chance.random() < 0.2 else "(", "(?i:", "(?s:"]
        )
        atom = f"{begin}{_choice(chance, depth - 1)})"
    else:
        atom = "ab"
    return atom + (chance.choice(_SIGNS) if chance.random() < 0.4 else "")


def _text(chance: random.Random) -> str:
    few = chance.choice([LETTERS[:4], LETTERS[:8], [*LETTERS[:4], "\n"], [*LETTERS[:3], "\r", "\n"], LETTERS, LETTERS])
    return "".join(chance.choice(few) for _ in range(chance.choice([0, 1, 2, 3, 5, 8, 13])))
