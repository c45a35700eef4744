"""Functions of URLs.

# Spark 4.1, urlExpressions.scala
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.expr.failures import EvaluationError, Undecided
from deltaskip.expr.functions.function import Function, Row, Signature, Typed, takes, uncast
from deltaskip.expr.nodes import Call, Node
from deltaskip.expr.preimages.monotone import injective
from deltaskip.expr.url_parts import (
    ANY,
    HOST_NAME,
    KEY,
    LONGEST_HOST,
    PATH,
    BadUrl,
    decoded,
    encoded,
    parsed,
    value_of_key,
)
from deltaskip.expr.vectors import NotByColumn, Partly, Values, column, constant, none_of
from deltaskip.kernels.text_rows import form_decoded, form_encoded
from deltaskip.schema.arrow_values import NOTHING, is_true, numpy_values
from deltaskip.schema.calendar import Zone
from deltaskip.schema.types import STRING

_USUAL = (
    rf"^(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<host>{HOST_NAME})(?P<port>(?::[0-9]{{0,9}})?)(?P<path>(?:/{PATH})?)"
    rf"(?P<query>(?:[?]{ANY})?)(?P<fragment>(?:#{ANY})?)$"
)


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


def _decoded_column(texts: pa.Array) -> Values | Partly:
    """Texts without odd escapes, which are left over."""
    found, odd = form_decoded(texts)
    rest = numpy_values(odd) != 0
    return Partly(found, rest) if rest.any() else found


def _part_column(urls: pa.Array, part: str, key: str | None = None) -> Values | Partly:
    """Parts of URLs with a scheme and the name of a host, without a user; others are left over."""
    matched = pc.extract_regex(urls, _USUAL)
    scheme, host, port, path, query, fragment = (pc.struct_field(matched, at) for at in range(6))
    long = is_true(pc.greater(pc.binary_length(host), LONGEST_HOST))
    rest = numpy_values(pc.or_(long, pc.and_(matched.is_null(), urls.is_valid())))
    found: Values
    match part:
        case "QUERY" if key is not None:
            if not KEY.fullmatch(key):
                raise NotByColumn
            found = pc.struct_field(pc.extract_regex(query, rf"^[?](?:[^&]*&)*?{re.escape(key)}=(?P<value>[^&]*)"), 0)
        case "QUERY":
            found = _behind(query)
        case _ if key is not None:
            found = none_of(pa.string())
        case "HOST":
            found = host
        case "PROTOCOL":
            found = scheme
        case "PATH":
            found = path
        case "REF":
            found = _behind(fragment)
        case "FILE":
            found = pc.binary_join_element_wise(path, query, NOTHING)
        case "AUTHORITY":
            found = pc.binary_join_element_wise(host, port, NOTHING)
        case _:
            found = none_of(pa.string())
    found = pc.if_else(matched.is_valid(), found, none_of(pa.string()))
    return Partly(found, rest) if rest.any() else found


def _behind(part: pa.Array) -> pa.Array:
    """A part without the character before it; NULL where even that is missing."""
    return pc.if_else(pc.equal(part, NOTHING), none_of(pa.string()), pc.utf8_slice_codeunits(part, 1))


def _function(
    signature: Signature,
    value_of: Callable[..., object],
    column_of: Callable[..., Values | Partly],
) -> Function:
    """A function of a text, and further arguments that are constant by column."""

    def compute(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
        return value_of(*args)

    def by_column(args: Sequence[Values], call: Call, zone: Zone) -> Values | Partly:
        return column_of(column(args[0]), *map(constant, args[1:]))

    return Function(signature, compute, by_column=by_column)


URLS: Mapping[str, Row] = {
    "url_encode": replace(
        _function(takes(STRING, STRING), encoded, form_encoded), preimage=injective(lambda text, call: decoded(text))
    ),
    "url_decode": _function(takes(STRING, STRING), decoded, _decoded_column),
    "try_url_decode": _function(takes(STRING, STRING), _tried, _decoded_column),
    "parse_url": _function(_url_signature, _part, _part_column),
    "try_parse_url": _function(_url_signature, _tried_part, _part_column),
}
