"""Long IN lists of plain literals, parsed separately: sqlglot's tokenizer, in Python, would take a second for them."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from deltaskip.expr.literal_list import SHORTEST, LiteralList, integers, texts
from deltaskip.expr.nodes import Literal
from deltaskip.schema.arrow_values import arrow_array
from deltaskip.schema.types import INTEGER, LONG, STRING

__all__ = ["STUB", "LongList", "cut_long_lists"]

LongList = tuple[int, int, tuple[Literal, ...] | LiteralList]
"""The first character of a list and the one after it, and its values."""

# Replaces a list that was cut out.
STUB = "0"

_INTEGERS = r"-?[0-9]{1,18}L?(?:\s*,\s*-?[0-9]{1,18}L?)"
_STRINGS = r"'[^']*'(?:\s*,\s*'[^']*')"
_LIST = re.compile(
    rf"""'[^']*' | "[^"]*" | `[^`]*`
    | \bIN\s*\(\s* (?: (?P<integers>{_INTEGERS}{{{SHORTEST},}}) | (?P<strings>{_STRINGS}{{{SHORTEST},}}) ) (?=\s*\))
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_INTEGER = re.compile(r"-?[0-9]+")
_LONG = re.compile(r"(-?[0-9]+)(L?)", re.IGNORECASE)
_STRING = re.compile(r"'([^']*)'")


def cut_long_lists(text: str) -> tuple[str, list[LongList]]:
    """`text` with STUB for each long list, and the lists: the place of their values in `text`, and the values.

    Text with a backslash or a comment is left unchanged, because a quote in it may not delimit a string.
    """
    if len(text) < 2 * SHORTEST or "\\" in text or "--" in text or "/*" in text:
        return text, []
    kept: list[str] = []
    lists: list[LongList] = []
    at = 0
    for match in _LIST.finditer(text):
        name = match.lastgroup
        if name is None:
            continue
        start, end = match.span(name)
        kept += text[at:start], STUB
        lists.append((start, end, _integers(match[name]) if name == "integers" else _strings(match[name])))
        at = end
    kept.append(text[at:])
    return "".join(kept), lists


def _integers(run: str) -> tuple[Literal, ...] | LiteralList:
    if "L" in run or "l" in run:
        suffixed = [(int(digits), suffix) for digits, suffix in _LONG.findall(run)]
        return tuple([Literal(n, LONG if suffix or not -(2**31) <= n < 2**31 else INTEGER) for n, suffix in suffixed])
    return integers(np.array(list(map(int, _INTEGER.findall(run))), np.int64))


def _strings(run: str) -> tuple[Literal, ...] | LiteralList:
    values = _STRING.findall(run)
    try:
        return texts(arrow_array(values, pa.string()))
    except UnicodeEncodeError:
        # An unpaired surrogate, which is refused where the literal is used.
        return tuple([Literal(value, STRING) for value in values])
