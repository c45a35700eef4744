"""Functions of strings and binary, in code points as in Spark, compared by bytes.

# Spark 4.1, UTF8String, stringExpressions.scala
"""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.expr import strings
from deltaskip.expr.coerce import INTEGRAL_BITS, cast_to, type_of
from deltaskip.expr.failures import EvaluationError
from deltaskip.expr.functions.function import (
    ByColumn,
    Compute,
    Function,
    Replaced,
    Row,
    Signature,
    Typed,
    no_binary,
    takes,
    text_or_bytes,
)
from deltaskip.expr.nodes import Call, Like, Literal, Node, StartsWith
from deltaskip.expr.strings import ANY_CHARACTER, ANY_STRING, cased, like_tokens
from deltaskip.expr.vectors import NotByColumn, Partly, Values, column, constant, constant_of, is_constant
from deltaskip.schema.arrow_values import TRUE, numpy_values
from deltaskip.schema.calendar import Zone
from deltaskip.schema.types import BINARY, BOOLEAN, INTEGER, LONG, STRING, DataType

__all__ = ["TEXT", "like_column"]

_MOST = 2**31 - 1
# Longer results are made one by one, under the limit of `strings`.
_MOST_REPEATED = 1 << 10
_EIGHT = constant_of(8, pa.int32())
_ONE = constant_of(1, pa.int32())
_BACKSLASH = Literal("\\", STRING)


def _upper_column(args: Sequence[Values], call: Call, zone: Zone) -> Partly | Values:
    """`upper(text)`: here of ASCII."""
    return _with_rest(pc.ascii_upper(args[0]), args[0])


def _lower_column(args: Sequence[Values], call: Call, zone: Zone) -> Partly | Values:
    """`lower(text)`: here of ASCII."""
    return _with_rest(pc.ascii_lower(args[0]), args[0])


def _btrim_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`trim(text)`: without blanks at both ends."""
    return pc.utf8_trim(args[0], " ")


def _ltrim_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`ltrim(text)`."""
    return pc.utf8_ltrim(args[0], " ")


def _rtrim_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`rtrim(text)`."""
    return pc.utf8_rtrim(args[0], " ")


def _contains_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`contains(text, part)` with a constant part."""
    return pc.match_substring(column(args[0]), constant(args[1]))


def _ends_with_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`endswith(text, part)` with a constant part."""
    return pc.ends_with(column(args[0]), constant(args[1]))


def _locate_column(args: Sequence[Values], call: Call, zone: Zone) -> Partly | Values:
    """`locate(part, text)`, and `instr` with the arguments exchanged: from 1, and 0 if it does not occur."""
    part, text = (args[1], args[0]) if call.name == "instr" else args
    found = pc.add(pc.cast(pc.find_substring(column(text), constant(part)), pa.int32()), _ONE)
    return _with_rest(found, text)


def _replace_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`replace(text, old, new)` with constants."""
    text, old, new = column(args[0]), constant(args[1]), constant(args[2])
    if len(new) > len(old):
        raise NotByColumn
    return pc.replace_substring(text, old, new) if old else text


def _reverse_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`reverse(text)`."""
    return pc.utf8_reverse(args[0])


def _length_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`length(text)` in characters, or of binary in bytes."""
    return (pc.binary_length if args[0].type == pa.binary() else pc.utf8_length)(args[0])


def _octet_length_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`octet_length(text)`."""
    return pc.binary_length(args[0])


def _substring_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`substring(text, position, length)` with constants: from 1, from the end if negative, and 0 means 1."""
    position, length = constant(args[1]), constant(args[2]) if len(args) == 3 else _MOST
    start = position - 1 if position > 0 else position
    stop: int | None = start + length
    if length <= 0:
        return _slice(column(args[0]), 0, 0)
    if stop is not None and ((start < 0 <= stop) or stop > _MOST):
        stop = None
    return _slice(column(args[0]), start, stop)


def _left_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`left(text, length)` with a constant."""
    return _slice(column(args[0]), 0, max(constant(args[1]), 0))


def _right_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`right(text, length)` with a constant."""
    length = constant(args[1])
    return _slice(column(args[0]), -length, None) if length > 0 else _slice(column(args[0]), 0, 0)


def _concat_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    """`concat(text, …)`."""
    empty = constant_of("" if args[0].type == pa.string() else b"", args[0].type)
    return pc.binary_join_element_wise(*args, empty)


def like_column(text: Values, pattern: str, escape: str, case_insensitive: bool) -> Partly | Values:
    """`text LIKE pattern ESCAPE escape`, or ILIKE: here of ASCII.

    Raises EvaluationError for an escape character that escapes nothing.
    """
    rows = column(text)
    if case_insensitive:
        pattern = cased(pattern, False)
        return _with_rest(_like(pc.ascii_lower(rows), pattern, escape), rows)
    return _like(rows, pattern, escape)


def _like(texts: pa.Array, pattern: str, escape: str) -> pa.Array:
    tokens = like_tokens(pattern, escape)
    wild = [at for at, (is_wild, _) in enumerate(tokens) if is_wild]
    first = next((at for at, (is_wild, _) in enumerate(tokens) if not is_wild), len(tokens))
    stop = len(tokens) - next((at for at, (is_wild, _) in enumerate(reversed(tokens)) if not is_wild), len(tokens))
    if any(first <= at < stop or tokens[at][1] != ANY_STRING for at in wild):
        wanted = {ANY_STRING: ".*", ANY_CHARACTER: "."}
        source = "".join(wanted[character] if is_wild else re.escape(character) for is_wild, character in tokens)
        return pc.match_substring_regex(texts, rf"(?s)\A(?:{source})\z")
    text = "".join(character for is_wild, character in tokens if not is_wild)
    match first > 0, stop < len(tokens):
        case False, False:
            return pc.equal(texts, constant_of(text, pa.string()))
        case False, True:
            return pc.starts_with(texts, text)
        case True, False:
            return pc.ends_with(texts, text)
        case _:
            return pc.match_substring(texts, text)


def _slice(values: Any, start: int, stop: int | None) -> Any:
    if values.type == pa.binary():
        # pyarrow fails for slices beyond the end of a value.
        raise NotByColumn
    return pc.utf8_slice_codeunits(values, start, stop)


def _like_node(insensitive: bool, text: Node, pattern: Node, escape: Node = _BACKSLASH) -> Node | None:
    """`like(text, pattern, escape)`. The escape is a constant of one character."""
    match escape:
        case Literal(str() as character) if len(character) == 1:
            return Like(text, pattern, character, insensitive)
    return None


def _with_rest(found: Any, text: Values) -> Partly | Values:
    """What was found for ASCII; the other rows are left over."""
    ascii_only = pc.fill_null(pc.string_is_ascii(column(text)), TRUE)
    if pc.all(ascii_only).as_py() is not False:
        return found
    return Partly(found, ~numpy_values(ascii_only))


def _concat_signature(args: tuple[Node, ...]) -> Typed:
    target = BINARY if args and all(type_of(arg) == BINARY for arg in args) else STRING
    return takes(target, *[target] * len(args))(args)


def _text(result: DataType, count: int, compute: Callable[..., object], by_column: ByColumn, *aliases: str) -> Function:
    """A function of `count` strings whose result may depend on the collation."""
    signature = no_binary(takes(result, *[STRING] * count))
    return Function(
        signature, lambda args, call, zone: compute(*args), binary_only=True, by_column=by_column, aliases=aliases
    )


def _trim(at_start: bool, at_end: bool, by_column: ByColumn) -> Function:
    return _text(STRING, 1, lambda string: strings.trimmed(string, " ", at_start, at_end), by_column)


def _code_point(text: str) -> int:
    """`ascii(text)`: the code point of the first character, 0 without one."""
    return ord(text[0]) if text else 0


def _character(code: int) -> str:
    """`chr(code)`: the character of the last eight bits, none for a negative number."""
    return "" if code < 0 else chr(code & 0xFF)


def _split_part(text: str, delimiter: str, number: int) -> str:
    """`split_part(text, delimiter, number)`: from 1, or from the end if negative."""
    if number == 0:
        raise EvaluationError("The parts of a string are numbered from 1 (INVALID_INDEX_OF_ZERO).")
    parts = text.split(delimiter) if delimiter else [text]
    place = number - 1 if number > 0 else len(parts) + number
    return parts[place] if 0 <= place < len(parts) else ""


def _concat_ws_signature(args: tuple[Node, ...]) -> Typed:
    """Strings only; arrays of them are left to Spark."""
    return no_binary(takes(STRING, *[STRING] * len(args)))(args) if args else None


def _concat_ws(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    if args[0] is None:
        return None
    known = [text for text in args[1:] if text is not None]
    return strings.joined([piece for text in known for piece in (args[0], text)][1:], "")


def _concat_ws_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    separator = constant(args[0])
    if separator is None:
        raise NotByColumn
    # pyarrow loses rows without any part, so there is an empty first one.
    joined = pc.binary_join_element_wise(constant_of("", pa.string()), *args[1:], args[0], null_handling="skip")
    return pc.utf8_slice_codeunits(joined, len(separator), None)


def _repeat_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    if is_constant(args[0]) or constant(args[1]) > _MOST_REPEATED:
        raise NotByColumn
    return pc.binary_repeat(args[0], max(constant(args[1]), 0))


def _padded(left: bool) -> Compute:
    def compute(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
        return strings.padded(args[0], args[1], args[2] if len(args) == 3 else " ", left)

    return compute


def _padded_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    width, pad = constant(args[1]), constant(args[2]) if len(args) == 3 else " "
    if len(pad) != 1 or not 0 <= width <= _MOST_REPEATED or is_constant(args[0]):
        raise NotByColumn
    wide = (pc.utf8_lpad if call.name == "lpad" else pc.utf8_rpad)(args[0], width, pad)
    return _slice(wide, 0, width)


def _hex(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    """Of an integer its 64 bits, of a string its UTF-8."""
    if isinstance(args[0], int):
        return f"{args[0] & 0xFFFF_FFFF_FFFF_FFFF:X}"
    return (args[0].encode() if isinstance(args[0], str) else args[0]).hex().upper()


def _hex_signature(args: tuple[Node, ...]) -> Typed:
    type_ = type_of(args[0]) if len(args) == 1 else None
    if type_ in (STRING, BINARY):
        return args, STRING
    return takes(STRING, LONG)(args) if type_ in INTEGRAL_BITS else None


def _bytes_signature(result: DataType, *rest: DataType) -> Signature:
    """Binary, or a string as its UTF-8, then `rest`."""

    def signature(args: tuple[Node, ...]) -> Typed:
        if not args or type_of(args[0]) not in (STRING, BINARY):
            return None
        return takes(result, BINARY, *rest)((cast_to(args[0], BINARY), *args[1:]))

    return signature


def _digest(name: str, *aliases: str) -> Function:
    """A hash of bytes as hexadecimal text."""
    return Function(
        _bytes_signature(STRING), lambda args, call, zone: hashlib.new(name, args[0]).hexdigest(), aliases=aliases
    )


def _sha2(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    """`sha2(bytes, bits)`; NULL for other numbers of bits."""
    bits = 256 if args[1] == 0 else args[1]
    return hashlib.new(f"sha{bits}", args[0]).hexdigest() if bits in (224, 256, 384, 512) else None


TEXT: Mapping[str, Row] = {
    "startswith": Replaced(StartsWith, 2),
    "like": Replaced(lambda *args: _like_node(False, *args), 2, 3),
    "ilike": Replaced(lambda *args: _like_node(True, *args), 2, 3),
    "ascii": Function(no_binary(takes(INTEGER, STRING)), lambda args, call, zone: _code_point(args[0])),
    "chr": Function(takes(STRING, LONG), lambda args, call, zone: _character(args[0]), aliases=("char",)),
    "repeat": Function(
        no_binary(takes(STRING, STRING, INTEGER)),
        lambda args, call, zone: strings.repeated(args[0], args[1]),
        by_column=_repeat_column,
    ),
    **{
        name: Function(
            no_binary(
                lambda args: (
                    takes(STRING, STRING, INTEGER, STRING)(args)
                    if len(args) == 3
                    else takes(STRING, STRING, INTEGER)(args)
                )
            ),
            _padded(name == "lpad"),
            by_column=_padded_column,
        )
        for name in ("lpad", "rpad")
    },
    "translate": Function(
        no_binary(takes(STRING, STRING, STRING, STRING)),
        lambda args, call, zone: strings.translated(*args),
        binary_only=True,
    ),
    "substring_index": Function(
        no_binary(takes(STRING, STRING, STRING, INTEGER)),
        lambda args, call, zone: strings.before_delimiter(*args),
        binary_only=True,
    ),
    "split_part": Function(
        no_binary(takes(STRING, STRING, STRING, INTEGER)),
        lambda args, call, zone: _split_part(*args),
        binary_only=True,
    ),
    "concat_ws": Function(_concat_ws_signature, _concat_ws, False, by_column=_concat_ws_column),
    "bit_length": Function(
        text_or_bytes(INTEGER),
        lambda args, call, zone: 8 * len(args[0].encode() if isinstance(args[0], str) else args[0]),
        by_column=lambda args, call, zone: pc.multiply(pc.binary_length(args[0]), _EIGHT),
    ),
    "hex": Function(_hex_signature, _hex),
    "base64": Function(_bytes_signature(STRING), lambda args, call, zone: base64.b64encode(args[0]).decode("ascii")),
    "md5": _digest("md5"),
    "sha1": _digest("sha1", "sha"),
    "sha2": Function(_bytes_signature(STRING, INTEGER), _sha2),
    "crc32": Function(_bytes_signature(LONG), lambda args, call, zone: zlib.crc32(args[0])),
    "upper": _text(STRING, 1, lambda string: strings.cased(string, True), _upper_column, "ucase"),
    "lower": _text(STRING, 1, lambda string: strings.cased(string, False), _lower_column, "lcase"),
    "trim": _trim(True, True, _btrim_column),
    "btrim": _trim(True, True, _btrim_column),
    "ltrim": _trim(True, False, _ltrim_column),
    "rtrim": _trim(False, True, _rtrim_column),
    "contains": _text(BOOLEAN, 2, lambda text, part: part in text, _contains_column),
    "endswith": _text(BOOLEAN, 2, lambda text, part: text.endswith(part), _ends_with_column),
    "instr": _text(INTEGER, 2, lambda text, part: strings.locate(part, text), _locate_column),
    "locate": _text(INTEGER, 2, strings.locate, _locate_column),
    "position": _text(INTEGER, 2, strings.locate, _locate_column),
    "replace": Function(
        no_binary(takes(STRING, STRING, STRING, STRING)),
        lambda args, call, zone: strings.replaced(*args),
        binary_only=True,
        by_column=_replace_column,
    ),
    "reverse": Function(
        no_binary(takes(STRING, STRING)), lambda args, call, zone: args[0][::-1], by_column=_reverse_column
    ),
    "length": Function(
        text_or_bytes(INTEGER),
        lambda args, call, zone: len(args[0]),
        by_column=_length_column,
        aliases=("len", "char_length", "character_length"),
    ),
    "octet_length": Function(
        text_or_bytes(INTEGER),
        lambda args, call, zone: len(args[0].encode() if isinstance(args[0], str) else args[0]),
        by_column=_octet_length_column,
    ),
    "substring": Function(
        lambda args: text_or_bytes(None, *[INTEGER] * (len(args) - 1))(args) if len(args) in (2, 3) else None,
        lambda args, call, zone: strings.substring(args[0], args[1], args[2] if len(args) == 3 else 2**31 - 1),
        by_column=_substring_column,
        aliases=("substr",),
    ),
    "left": Function(
        text_or_bytes(None, INTEGER),
        lambda args, call, zone: strings.left(args[0], args[1]),
        by_column=_left_column,
    ),
    "right": Function(
        takes(STRING, STRING, INTEGER),
        lambda args, call, zone: strings.right(args[0], args[1]),
        by_column=_right_column,
    ),
    "concat": Function(
        _concat_signature,
        lambda args, call, zone: strings.joined(args, b"" if call.type == BINARY else ""),
        by_column=_concat_column,
    ),
}
