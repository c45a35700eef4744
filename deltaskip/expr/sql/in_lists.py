"""Long IN lists of plain literals, which become one Arrow array without a token or node for each."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from deltaskip.expr.literal_list import SHORTEST, LiteralList, integers, texts
from deltaskip.expr.nodes import Literal
from deltaskip.schema.arrow_values import arrow_array
from deltaskip.schema.types import INTEGER, LONG, STRING

__all__ = ["long_list"]

_INTEGERS = r"-?[0-9]{1,18}+[Ll]?(?:\s*+,\s*+-?[0-9]{1,18}+[Ll]?)"
_STRINGS = r"'[^'\\]*+'(?:\s*+,\s*+'[^'\\]*+')"
_LIST = re.compile(
    rf"(?:(?P<integers>{_INTEGERS}{{{SHORTEST - 1},}}+)|(?P<strings>{_STRINGS}{{{SHORTEST - 1},}}+))(?=\s*\))", re.ASCII
)
_INTEGER = re.compile(r"-?[0-9]+")
_LONG = re.compile(r"(-?[0-9]+)([Ll]?)")
_STRING = re.compile(r"'([^']*)'")


def long_list(text: str, at: int) -> tuple[tuple[Literal, ...] | LiteralList, int] | None:
    """Return the values of a long list whose first one begins at `at`, and where it ends; None for other lists."""
    match = _LIST.match(text, at)
    if match is None:
        return None
    values = _integers(match[0]) if match.lastgroup == "integers" else _strings(match[0])
    return values, match.end()


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
