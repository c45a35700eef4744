"""Functions between bytes and strings: hexadecimal digits, base 64, character sets, UTF-8, cryptographic hashes.

# Spark 4.1, mathExpressions.scala, stringExpressions.scala, hash.scala, misc.scala
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.coerce import cast_to, is_numeric, type_of
from deltaskip.sparkexpr.failures import EvaluationError
from deltaskip.sparkexpr.functions import function
from deltaskip.sparkexpr.functions.by_value import value_function, values_of
from deltaskip.sparkexpr.functions.conditions import searched
from deltaskip.sparkexpr.kernels.byte_digits import (
    base64_digits,
    digits_of_longs,
    from_base64,
    from_hex,
    hex_digits,
    luhn_checks,
    valid_utf8,
)
from deltaskip.sparkexpr.kernels.digests import digests
from deltaskip.sparkexpr.kernels.text_parts import first_code_points
from deltaskip.sparkexpr.kernels.text_rows import checksums
from deltaskip.sparkexpr.nodes import Call, Literal, Node
from deltaskip.sparkexpr.preimages.monotone import injective
from deltaskip.sparkexpr.preimages.text_steps import FIRST_CHARACTER
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values import text_encodings
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import filled, is_not_false, numpy_values
from deltaskip.sparkexpr.values.calendar import Zone

_FORMATS = {"hex": "hex", "utf-8": "utf-8", "utf8": "utf-8", "base64": "base64"}
_CHARACTERS = v.text_array([*map(chr, range(256)), ""])
_WITH_ASCII = ("US-ASCII", "ISO-8859-1")
# The least lead byte of a UTF-8 character of four bytes, and the size of a UTF-16 unit.
_FOUR_BYTES = 0xF0
_WIDTHS = {"UTF-16": 2, "UTF-16BE": 2, "UTF-16LE": 2, "UTF-32": 4}
_MOST_TOGETHER = 2**31 - 1
_SHA2 = {224: hashlib.sha224, 256: hashlib.sha256, 384: hashlib.sha384, 512: hashlib.sha512}


def _hex_signature(args: tuple[Node, ...]) -> function.Typed:
    """Accept a number as a bigint, binary, or another value as a string."""
    if len(args) != 1:
        return None
    type_ = type_of(args[0])
    if is_numeric(type_):
        return (cast_to(args[0], t.LONG),), t.STRING
    return (args, t.STRING) if type_ == t.BINARY else function.takes(t.STRING, t.STRING)(args)


def _long_signature(args: tuple[Node, ...]) -> function.Typed:
    """Accept numbers or strings, cast to bigint."""
    cast = tuple(cast_to(arg, t.LONG) if is_numeric(type_of(arg)) else arg for arg in args)
    return function.takes(t.STRING, t.LONG)(cast)


def _bytes_signature(result: t.DataType, *rest: t.DataType) -> function.Signature:
    """Accept binary, or a string as its UTF-8 bytes, then `rest`."""

    def signature(args: tuple[Node, ...]) -> function.Typed:
        if not args or type_of(args[0]) not in (t.STRING, t.BINARY, t.VOID):
            return None
        return function.takes(result, t.BINARY, *rest)((cast_to(args[0], t.BINARY), *args[1:]))

    return signature


def _utf8_signature(result: t.DataType) -> function.Signature:
    """Accept binary, whose bytes need not be UTF-8, or another value as a string."""

    def signature(args: tuple[Node, ...]) -> function.Typed:
        return (
            (args, result) if [type_of(arg) for arg in args] == [t.BINARY] else function.takes(result, t.STRING)(args)
        )

    return signature


def _hex_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    values = v.column(args[0])
    return digits_of_longs(values, 4) if values.type == pa.int64() else hex_digits(values)


def _with_odd(found: pa.Array, given: pa.Array) -> v.Values | v.Partly:
    """Results that are null for malformed strings; rows with these strings are left over."""
    if found.null_count == given.null_count:
        return found
    return v.Partly(found, numpy_values(pc.and_(found.is_null(), given.is_valid())))


def _encode_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    """`encode(text, charset)`: encodes all strings together, and splits the result by their lengths in characters."""
    text, charset = v.column(args[0]), v.constant(args[1]).upper()
    if charset == "UTF-8" or (charset in _WITH_ASCII and _is_ascii(text)):
        return text.cast(pa.binary())
    if charset == "UTF-16":
        # The byte order mark is a character, except for an empty string.
        marked = pc.binary_join_element_wise("\ufeff", text, "")
        text = pc.if_else(pc.equal(text, ""), text, marked)
    together = filled(text, "")
    units = numpy_values(pc.utf8_length(together)).astype(np.int64)
    offsets = np.frombuffer(together.buffers()[1], np.int32)[together.offset :][: len(together) + 1].astype(np.int64)
    data = together.buffers()[2]
    given = np.frombuffer(data or b"", np.uint8)[offsets[0] : offsets[-1]]
    try:
        found = given.tobytes().decode().encode(text_encodings.codec(charset))
    except (EvaluationError, UnicodeError) as error:
        # Row-by-row evaluation finds the row that fails.
        raise v.NotByColumn from error
    if charset.startswith("UTF-16"):
        # A character of four bytes in UTF-8 has two UTF-16 units.
        pairs = np.concatenate((np.zeros(1, np.int64), np.cumsum(given >= _FOUR_BYTES)))
        units += np.diff(pairs[offsets - offsets[0]])
    ends = np.cumsum(units) * _WIDTHS.get(charset, 1)
    if len(found) > _MOST_TOGETHER:
        raise v.NotByColumn
    sizes = np.concatenate((np.zeros(1, np.int64), ends)).astype(np.int32)
    array = pa.Array.from_buffers(pa.binary(), len(text), [None, pa.py_buffer(sizes), pa.py_buffer(found)])
    return pc.if_else(text.is_valid(), array, v.none_of(pa.binary())) if text.null_count else array


def _decode_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    """`decode(bytes, charset)` for UTF-8, and for ASCII bytes in character sets that contain ASCII."""
    data, charset = v.column(args[0]), v.constant(args[1]).upper()
    if charset not in ("UTF-8", *_WITH_ASCII) or _is_odd(data):
        raise v.NotByColumn
    text = data.cast(pa.string())
    if charset != "UTF-8" and not _is_ascii(text):
        raise v.NotByColumn
    return text


def _is_ascii(text: pa.Array) -> bool:
    return pc.all(pc.string_is_ascii(text)).as_py() is not False


def _is_odd(data: pa.Array) -> bool:
    """Whether a row has bytes that are not valid UTF-8."""
    return pc.all(valid_utf8(data)).as_py() is False


def _binary_signature(args: tuple[Node, ...]) -> function.Typed:
    """Accept a string and an optional constant format. The default format is hexadecimal."""
    match args:
        case (text,):
            return function.takes(t.BINARY, t.STRING, t.STRING)((text, Literal("hex", t.STRING)))
        case (_, Literal(None)):
            return function.takes(t.BINARY, t.STRING, t.STRING)(args)
        case (text, Literal(str() as form)) if form.isascii() and form.lower() in _FORMATS:
            return function.takes(t.BINARY, t.STRING, t.STRING)((text, Literal(_FORMATS[form.lower()], t.STRING)))
    return None


def _tried_signature(args: tuple[Node, ...]) -> function.Typed:
    """Like `_binary_signature` for an argument that cannot fail: Spark also returns NULL for errors of the argument."""
    return _binary_signature(args) if args and function.is_plain(args[0]) else None


def _to_binary_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values | v.Partly:
    text, form = v.column(args[0]), v.constant(args[1])
    if form == "utf-8":
        return text.cast(pa.binary())
    return _with_odd((from_hex if form == "hex" else from_base64)(text), text)


def _try_to_binary(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    try:
        return text_encodings.to_binary(*args)
    except EvaluationError as error:
        if type(error) is EvaluationError:
            return None
        raise


def _as_text(odd: Callable[[bytes], object]) -> function.Function:
    """A function that returns the string of valid UTF-8 bytes, and the result of `odd` for other bytes."""

    def of_bytes(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
        text = args[0] if isinstance(args[0], str) else text_encodings.valid_text(args[0])
        return odd(args[0]) if text is None else text

    def columns(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
        # A string from a file may have any bytes.
        data = v.column(args[0]).cast(pa.binary())
        return values_of(of_bytes, (data,), call, zone) if _is_odd(data) else data.cast(pa.string())

    return function.Function(_utf8_signature(t.STRING), of_bytes, by_column=columns)


def _refused(data: bytes) -> object:
    raise EvaluationError("The bytes are not UTF-8 (INVALID_UTF8_STRING).")


def _luhn_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values | v.Partly:
    """`luhn_check(text)` for ASCII strings; other strings are left over."""
    text = v.column(args[0])
    found = luhn_checks(text)
    if _is_ascii(text):
        return found
    return v.Partly(found, ~numpy_values(is_not_false(pc.string_is_ascii(text))))


def _digest(new: Callable[[Any], Any], bits: int, *aliases: str) -> function.Function:
    """A function that returns a hash of bytes as hexadecimal digits."""
    return value_function(
        _bytes_signature(t.STRING),
        lambda args, call, zone: new(args[0]).hexdigest(),
        lambda args, call, zone: digests(v.column(args[0]), bits),
        aliases=aliases,
    )


def _sha2(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    """`sha2(bytes, bits)`; NULL for an unsupported number of bits."""
    new = _SHA2.get(args[1] or 256)
    return None if new is None else new(args[0]).hexdigest()


def _sha2_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    bits = v.constant(args[1]) or 256
    return digests(v.column(args[0]), bits) if bits in _SHA2 else v.none_of(pa.string())


def _of_bytes(result: t.DataType, compute: Callable[[Any], object], by_column: Any = None) -> function.Function:
    return value_function(_bytes_signature(result), lambda args, call, zone: compute(args[0]), by_column)


def _of_text(result: t.DataType, compute: Callable[[Any], object], by_column: Any) -> function.Function:
    return value_function(function.takes(result, t.STRING), lambda args, call, zone: compute(args[0]), by_column)


def _code_point(text: str) -> int:
    """`ascii(text)`: the code point of the first character, 0 for an empty string."""
    return ord(text[0]) if text else 0


def _character(code: int) -> str:
    """`chr(code)`: the character of the lowest eight bits, or an empty string for a negative number."""
    return "" if code < 0 else chr(code & 0xFF)


def _character_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    given = v.filled(v.column(args[0]))
    places = np.where(given < 0, 256, given & 0xFF).astype(np.int32)
    return _CHARACTERS.take(v.made(places, pa.int32(), args[0]))


def _of_digits(text: str, base: int) -> int:
    """The bigint with the 64 bits that the digits represent."""
    found = int(text, base)
    return found - (1 << 64) if found >> 63 else found


ENCODINGS: Mapping[str, function.FunctionRow] = {
    "hex": value_function(
        _hex_signature,
        lambda args, call, zone: text_encodings.hex_digits(args[0]),
        _hex_column,
        preimage=injective(
            lambda text, call: (
                _of_digits(text, 16) if type_of(call.args[0]) in t.INTEGRAL_BITS else bytes.fromhex(text).decode()
            )
        ),
    ),
    "bin": value_function(
        _long_signature,
        lambda args, call, zone: f"{args[0] & 0xFFFF_FFFF_FFFF_FFFF:b}",
        lambda args, call, zone: digits_of_longs(v.column(args[0]), 1),
        preimage=injective(lambda text, call: _of_digits(text, 2)),
    ),
    "unhex": _of_text(t.BINARY, text_encodings.from_hex, lambda args, call, zone: from_hex(v.column(args[0]))),
    "base64": _of_bytes(
        t.STRING,
        text_encodings.base64_lines,
        lambda args, call, zone: base64_digits(v.column(args[0])),
    ),
    "unbase64": _of_text(
        t.BINARY,
        text_encodings.from_base64,
        lambda args, call, zone: _with_odd(from_base64(v.column(args[0])), args[0]),
    ),
    "encode": value_function(
        function.takes(t.BINARY, t.STRING, t.STRING),
        lambda args, call, zone: text_encodings.encoded(*args),
        _encode_column,
    ),
    "decode": value_function(
        _bytes_signature(t.STRING, t.STRING),
        lambda args, call, zone: text_encodings.decoded(*args),
        _decode_column,
        instead=searched,
    ),
    "to_binary": replace(
        value_function(_binary_signature, lambda args, call, zone: text_encodings.to_binary(*args), _to_binary_column),
        order=function.constant_null_first,
    ),
    "try_to_binary": value_function(_tried_signature, _try_to_binary, _to_binary_column),
    "is_valid_utf8": function.Function(
        _utf8_signature(t.BOOLEAN),
        lambda args, call, zone: isinstance(args[0], str) or text_encodings.valid_text(args[0]) is not None,
        by_column=lambda args, call, zone: valid_utf8(v.column(args[0])),
    ),
    "make_valid_utf8": _as_text(lambda data: data.decode(errors="replace")),
    "validate_utf8": _as_text(_refused),
    "try_validate_utf8": _as_text(lambda data: None),
    "ascii": replace(
        _of_text(t.INTEGER, _code_point, lambda args, call, zone: first_code_points(v.column(args[0]))),
        preimage=FIRST_CHARACTER,
    ),
    "chr": value_function(
        _long_signature,
        lambda args, call, zone: _character(args[0]),
        _character_column,
        aliases=("char",),
    ),
    "luhn_check": _of_text(t.BOOLEAN, text_encodings.passes_luhn, _luhn_column),
    "md5": _digest(hashlib.md5, 128),
    "sha1": _digest(hashlib.sha1, 160, "sha"),
    "sha2": value_function(function.with_counts(_bytes_signature(t.STRING, t.INTEGER), 1), _sha2, _sha2_column),
    "crc32": _of_bytes(t.LONG, zlib.crc32, lambda args, call, zone: checksums(v.column(args[0]))),
}
