"""`mask`, which replaces upper-case letters, lower-case letters, digits and other characters.

# Spark 4.1, maskExpressions.scala
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

from deltaskip.errors import shown
from deltaskip.sparkexpr.failures import Undecided
from deltaskip.sparkexpr.functions.function import Function, FunctionRow, Typed, by_row, uncast
from deltaskip.sparkexpr.nodes import Call, Literal, Node
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.vectors import NotByColumn, Values, changed_together, column, constant

_DEFAULTS = ("X", "x", "n", None)
_KINDS = {"Lu": 0, "Ll": 1, "Nd": 2}


def _signature(args: tuple[Node, ...]) -> Typed:
    """Accept a string, and for each class of characters a constant character, or NULL to keep the characters."""
    typed = uncast(5, optional=4)(args)
    return typed if typed is not None and all(map(_is_mask, typed[0][1:])) else None


def _is_mask(node: Node) -> bool:
    if not isinstance(node, Literal):
        return False
    return node.value is None or (isinstance(node.value, str) and len(node.value) == 1 and node.value <= "\uffff")


def _compute(text: str | None, *given: str | None) -> object:
    masks = (*given, *_DEFAULTS[len(given) :])
    return None if text is None else "".join([_mask(character, masks) for character in text])


def _column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    masks = _Masks((*map(constant, args[1:]), *_DEFAULTS[len(args) - 1 :]))
    try:
        return changed_together(column(args[0]), lambda text: text.translate(masks), "\0")
    except Undecided as error:
        # Row-by-row evaluation finds the strings that only Spark can mask.
        raise NotByColumn from error


class _Masks(dict[int, str]):
    """The replacement of each code point; NUL stays NUL."""

    def __init__(self, masks: tuple[str | None, ...]) -> None:
        super().__init__({0: "\0"})
        self.masks = masks

    def __missing__(self, point: int) -> str:
        found = self[point] = _mask(chr(point), self.masks)
        return found


@lru_cache(maxsize=1 << 12)
def _mask(character: str, masks: tuple[str | None, ...]) -> str:
    """The replacement of a character. Java masks each half of a surrogate pair as a character other than a letter."""
    if character > "\uffff":
        return character if masks[3] is None else 2 * masks[3]
    category = unicodedata.category(character)
    if category != unicodedata.ucd_3_2_0.category(character) or category == "Cn":
        raise Undecided(f"Whether {shown(character)} is a letter depends on the version of Unicode.")
    mask = masks[_KINDS.get(category, 3)]
    return character if mask is None else mask


MASKING: Mapping[str, FunctionRow] = {
    "mask": Function(_signature, by_row(_compute), False, by_column=_column),
}
