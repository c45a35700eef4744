"""Functions of URLs.

# Spark 4.1, urlExpressions.scala
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from deltaskip.expr.failures import EvaluationError, Undecided
from deltaskip.expr.functions.function import Function, Row, Signature, Typed, takes, uncast
from deltaskip.expr.nodes import Call, Node
from deltaskip.expr.url_parts import BadUrl, decoded, encoded, parsed, value_of_key
from deltaskip.expr.vectors import Values, by_distinct, column, constant
from deltaskip.schema.calendar import Zone
from deltaskip.schema.types import STRING

__all__ = ["URLS"]


def _url_signature(args: tuple[Node, ...]) -> Typed:
    return uncast(STRING, len(args))(args) if len(args) in (2, 3) else None


def _part(url: str, part: str, key: str | None = None) -> object:
    if key is None:
        return parsed(url).part(part)
    query = parsed(url).query if part == "QUERY" else None
    return None if query is None else value_of_key(query, key)


def _tried_part(url: str, part: str, key: str | None = None) -> object:
    try:
        return _part(url, part, key)
    except BadUrl:
        return None


def _tried(text: str) -> str | None:
    try:
        return decoded(text)
    except Undecided:
        raise
    except EvaluationError:
        return None


def _function(signature: Signature, value_of: Callable[..., object]) -> Function:
    """A function of a text, and further arguments that are constant by column."""

    def compute(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
        return value_of(*args)

    def by_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
        rest = [constant(arg) for arg in args[1:]]
        return by_distinct(column(args[0]), lambda text: value_of(text, *rest), STRING)

    return Function(signature, compute, by_column=by_column)


URLS: Mapping[str, Row] = {
    "url_encode": _function(takes(STRING, STRING), encoded),
    "url_decode": _function(takes(STRING, STRING), decoded),
    "try_url_decode": _function(takes(STRING, STRING), _tried),
    "parse_url": _function(_url_signature, _part),
    "try_parse_url": _function(_url_signature, _tried_part),
}
