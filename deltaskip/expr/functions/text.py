"""Functions of strings and binary by column, in code points as in Spark, compared by bytes.

# Spark 4.1, UTF8String, stringExpressions.scala
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.expr.nodes import Call
from deltaskip.expr.strings import ANY_CHARACTER, ANY_STRING, cased, like_tokens
from deltaskip.expr.vectors import NotByColumn, Partly, Values, constant, constant_of, is_constant
from deltaskip.schema.arrow_values import TRUE, numpy_values
from deltaskip.schema.calendar import Zone

__all__ = [
    "btrim_column",
    "concat_column",
    "contains_column",
    "ends_with_column",
    "left_column",
    "length_column",
    "like_column",
    "locate_column",
    "lower_column",
    "ltrim_column",
    "octet_length_column",
    "replace_column",
    "reverse_column",
    "right_column",
    "rtrim_column",
    "substring_column",
    "upper_column",
]

_MOST = 2**31 - 1
_ONE = constant_of(1, pa.int32())


def upper_column(args: Sequence[Values], call: Call, zone: Zone) -> Partly | Values:
    """`upper(text)`: here of ASCII."""
    return _with_rest(pc.ascii_upper(args[0]), args[0])


def lower_column(args: Sequence[Values], call: Call, zone: Zone) -> Partly | Values:
    """`lower(text)`: here of ASCII."""
    return _with_rest(pc.ascii_lower(args[0]), args[0])


def btrim_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`trim(text)`: without blanks at both ends."""
    return pc.utf8_trim(args[0], " ")


def ltrim_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`ltrim(text)`."""
    return pc.utf8_ltrim(args[0], " ")


def rtrim_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`rtrim(text)`."""
    return pc.utf8_rtrim(args[0], " ")


def contains_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`contains(text, part)` with a constant part."""
    return pc.match_substring(_column(args[0]), constant(args[1]))


def ends_with_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`endswith(text, part)` with a constant part."""
    return pc.ends_with(_column(args[0]), constant(args[1]))


def locate_column(args: Sequence[Values], call: Call, zone: Zone) -> Partly | Values:
    """`locate(part, text)`, and `instr` with the arguments exchanged: from 1, and 0 if it does not occur."""
    part, text = (args[1], args[0]) if call.name == "instr" else args
    found = pc.add(pc.cast(pc.find_substring(_column(text), constant(part)), pa.int32()), _ONE)
    return _with_rest(found, text)


def replace_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`replace(text, old, new)` with constants."""
    text, old, new = _column(args[0]), constant(args[1]), constant(args[2])
    if len(new) > len(old):
        raise NotByColumn
    return pc.replace_substring(text, old, new) if old else text


def reverse_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`reverse(text)`."""
    return pc.utf8_reverse(args[0])


def length_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`length(text)` in characters, or of binary in bytes."""
    return (pc.binary_length if args[0].type == pa.binary() else pc.utf8_length)(args[0])


def octet_length_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`octet_length(text)`."""
    return pc.binary_length(args[0])


def substring_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`substring(text, position, length)` with constants: from 1, from the end if negative, and 0 means 1."""
    position, length = constant(args[1]), constant(args[2]) if len(args) == 3 else _MOST
    start = position - 1 if position > 0 else position
    stop: int | None = start + length
    if length <= 0:
        return _slice(_column(args[0]), 0, 0)
    if stop is not None and ((start < 0 <= stop) or stop > _MOST):
        stop = None
    return _slice(_column(args[0]), start, stop)


def left_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`left(text, length)` with a constant."""
    return _slice(_column(args[0]), 0, max(constant(args[1]), 0))


def right_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`right(text, length)` with a constant."""
    length = constant(args[1])
    return _slice(_column(args[0]), -length, None) if length > 0 else _slice(_column(args[0]), 0, 0)


def concat_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`concat(text, …)`."""
    empty = constant_of("" if args[0].type == pa.string() else b"", args[0].type)
    return pc.binary_join_element_wise(*args, empty)


def like_column(text: Values, pattern: str, escape: str, case_insensitive: bool) -> Partly | Values:
    """`text LIKE pattern ESCAPE escape`, or ILIKE: here of ASCII.

    Raises EvaluationError for an escape character that escapes nothing.
    """
    column = _column(text)
    if case_insensitive:
        pattern = cased(pattern, False)
        return _with_rest(_like(pc.ascii_lower(column), pattern, escape), column)
    return _like(column, pattern, escape)


def _like(column: pa.Array, pattern: str, escape: str) -> pa.Array:
    tokens = like_tokens(pattern, escape)
    wild = [at for at, (is_wild, _) in enumerate(tokens) if is_wild]
    first = next((at for at, (is_wild, _) in enumerate(tokens) if not is_wild), len(tokens))
    stop = len(tokens) - next((at for at, (is_wild, _) in enumerate(reversed(tokens)) if not is_wild), len(tokens))
    if any(first <= at < stop or tokens[at][1] != ANY_STRING for at in wild):
        wanted = {ANY_STRING: ".*", ANY_CHARACTER: "."}
        source = "".join(wanted[character] if is_wild else re.escape(character) for is_wild, character in tokens)
        try:
            return pc.match_substring_regex(column, rf"(?s)\A(?:{source})\z")
        except pa.ArrowInvalid as error:
            # Too large for the library.
            raise NotByColumn from error
    text = "".join(character for is_wild, character in tokens if not is_wild)
    match first > 0, stop < len(tokens):
        case False, False:
            return pc.equal(column, constant_of(text, pa.string()))
        case False, True:
            return pc.starts_with(column, text)
        case True, False:
            return pc.ends_with(column, text)
        case _:
            return pc.match_substring(column, text)


def _column(values: Values) -> Any:
    if is_constant(values):
        raise NotByColumn
    return values


def _slice(values: Any, start: int, stop: int | None) -> Any:
    if values.type == pa.binary():
        # pyarrow fails for slices beyond the end of a value.
        raise NotByColumn
    return pc.utf8_slice_codeunits(values, start, stop)


def _with_rest(found: Any, text: Values) -> Partly | Values:
    """What was found for ASCII; the other rows are left over."""
    ascii_only = pc.fill_null(pc.string_is_ascii(_column(text)), TRUE)
    if pc.all(ascii_only).as_py() is not False:
        return found
    return Partly(found, ~numpy_values(ascii_only))
