"""Functions between bytes and strings: hexadecimal digits, base 64, character sets, UTF-8, and all hashes.

# Spark 4.1, mathExpressions.scala, stringExpressions.scala, hash.scala, misc.scala; java.util.Base64
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import shown
from deltaskip.json_text import SURROGATE
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr.coerce import cast_to, is_numeric, type_of
from deltaskip.sparkexpr.comparison_collation import is_collated
from deltaskip.sparkexpr.failures import EvaluationError, Undecided, value_or_null
from deltaskip.sparkexpr.functions import function
from deltaskip.sparkexpr.functions.conditions import searched
from deltaskip.sparkexpr.functions.function import Function, Signature, Typed, value_function, values_of
from deltaskip.sparkexpr.kernels.digests import digests
from deltaskip.sparkexpr.kernels.utf8_check import are_utf8
from deltaskip.sparkexpr.nodes import Call, Literal, Node
from deltaskip.sparkexpr.preimages.monotone import injective
from deltaskip.sparkexpr.preimages.text_steps import FIRST_CHARACTER
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.hashes import hashable, spark_hashes

_FORMATS = {"hex": "hex", "utf-8": "utf-8", "utf8": "utf-8", "base64": "base64"}
_WITH_ASCII = ("US-ASCII", "ISO-8859-1")
_CHARSETS = {
    "UTF-8": "utf-8",
    "US-ASCII": "ascii",
    "ISO-8859-1": "latin-1",
    "UTF-16": "utf-16-be",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
    "UTF-32": "utf-32-be",
}
_MARKS = {"UTF-16": ((b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"))}
_MARKS["UTF-32"] = ((b"\0\0\xfe\xff", "utf-32-be"), (b"\xff\xfe\0\0", "utf-32-le"))
_HEX = regex(r"[0-9A-Fa-f]*+\Z")
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_LINE_BYTES = 57
_IGNORED = bytes(set(range(256)) - set(_ALPHABET))
_ONE_LINE = regex(r"([A-Za-z0-9+/]*+)(={0,2})\Z")
# For each digit, the sum of the digits of its double.
_DOUBLED = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)
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


def _encode_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    """`encode(text, charset)` for UTF-8, and for ASCII strings in character sets that contain ASCII."""
    text, charset = v.column(args[0]), v.constant(args[1]).upper()
    if charset != "UTF-8" and not (charset in _WITH_ASCII and _is_ascii(text)):
        raise v.NotByColumn
    return text.cast(pa.binary())


def _decode_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    """`decode(bytes, charset)` for UTF-8, and for ASCII bytes in character sets that contain ASCII."""
    data, charset = v.column(args[0]), v.constant(args[1]).upper()
    if charset not in ("UTF-8", *_WITH_ASCII) or not are_utf8(data):
        raise v.NotByColumn
    text = data.cast(pa.string())
    if charset != "UTF-8" and not _is_ascii(text):
        raise v.NotByColumn
    return text


def _is_ascii(text: pa.Array) -> bool:
    return pc.all(pc.string_is_ascii(text)).as_py() is not False


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


def _as_text(odd: Callable[[bytes], object]) -> function.Function:
    """A function that returns the string of valid UTF-8 bytes, and the result of `odd` for other bytes."""

    def text_of(data: str | bytes) -> object:
        text = data if isinstance(data, str) else _valid_text(data)
        return odd(data) if isinstance(data, bytes) and text is None else text

    of_bytes = function.by_row(text_of)

    def columns(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
        # A string from a file may have any bytes.
        data = v.column(args[0]).cast(pa.binary())
        return values_of(of_bytes, (data,), call, zone) if not are_utf8(data) else data.cast(pa.string())

    return function.Function(_utf8_signature(t.STRING), of_bytes, by_column=columns)


def _is_text(data: str | bytes) -> bool:
    """`is_valid_utf8(bytes)`."""
    return isinstance(data, str) or _valid_text(data) is not None


def _is_text_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    return values_of(function.by_row(_is_text), (v.column(args[0]).cast(pa.binary()),), call, zone)


def _refused(data: bytes) -> object:
    raise EvaluationError("The bytes are not UTF-8 (INVALID_UTF8_STRING).")


def _digest(new: Callable[[Any], Any], bits: int, *aliases: str) -> function.Function:
    """A function that returns a hash of bytes as hexadecimal digits."""
    return value_function(
        _bytes_signature(t.STRING),
        lambda data: new(data).hexdigest(),
        lambda args, call, zone: digests(v.column(args[0]), bits),
        aliases=aliases,
    )


def _sha2(data: bytes, bits: int) -> str | None:
    """`sha2(bytes, bits)`; NULL for an unsupported number of bits."""
    new = _SHA2.get(bits or 256)
    return None if new is None else new(data).hexdigest()


def _sha2_column(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
    bits = v.constant(args[1]) or 256
    return digests(v.column(args[0]), bits) if bits in _SHA2 else v.none_of(pa.string())


def _code_point(text: str) -> int:
    """`ascii(text)`: the code point of the first character, 0 for an empty string."""
    return ord(text[0]) if text else 0


def _character(code: int) -> str:
    """`chr(code)`: the character of the lowest eight bits, or an empty string for a negative number."""
    return "" if code < 0 else chr(code & 0xFF)


def _of_digits(text: str, base: int) -> int:
    """The bigint with the 64 bits that the digits represent."""
    found = int(text, base)
    return found - (1 << 64) if found >> 63 else found


def _hex_digits(value: int | str | bytes) -> str:
    """`hex(value)`: the 64 bits of an integer without leading zeros, or the UTF-8 bytes of a string."""
    if isinstance(value, int):
        return f"{value & 0xFFFF_FFFF_FFFF_FFFF:X}"
    return (value.encode() if isinstance(value, str) else value).hex().upper()


def _from_hex(text: str) -> bytes | None:
    """`unhex(text)`: NULL if a character is not a hexadecimal digit. An odd number of digits gets a leading 0."""
    if not _HEX.match(text):
        return None
    return bytes.fromhex(text if len(text) % 2 == 0 else f"0{text}")


def _base64_lines(data: bytes) -> str:
    """`base64(data)`: padded, in lines of 76 characters that CRLF separates, as in MIME."""
    lines = (data[start : start + _LINE_BYTES] for start in range(0, len(data), _LINE_BYTES))
    return "\r\n".join(base64.b64encode(line).decode() for line in lines)


def _from_base64(text: str) -> bytes:
    """`unbase64(text)`: characters outside the alphabet are ignored, and padding may be missing.

    Raises EvaluationError if Java's MIME decoder fails.
    """
    given = text.encode()
    digits, padding, rest = given.partition(b"=")
    digits = digits.translate(None, _IGNORED)
    if padding:
        if len(digits) % 4 == 2:
            padding, rest = rest[:1], rest[1:]
        if len(digits) % 4 < 2 or padding != b"=":
            raise EvaluationError(f"{shown(text)} ends within four characters of base 64.")
        if rest.translate(None, _IGNORED):
            raise EvaluationError(f"{shown(text)} has characters after the padding of base 64.")
    if len(digits) % 4 == 1:
        raise EvaluationError(f"{shown(text)} has too few characters of base 64.")
    return base64.b64decode(digits + b"=" * (-len(digits) % 4))


def _to_binary(text: str, form: str) -> bytes:
    """`_to_binary(text, form)` with the format "hex", "utf-8" or "base64", in lower case.

    Raises EvaluationError for a string in another format, and Undecided for base 64 with other characters.
    """
    if form == "utf-8":
        return text.encode()
    if form == "hex":
        found = _from_hex(text)
        if found is None:
            raise EvaluationError(f"{shown(text)} is not hexadecimal (CONVERSION_INVALID_INPUT).")
        return found
    usual = _ONE_LINE.match(text)
    if usual is None:
        if any(character.isspace() for character in text):
            raise Undecided("Base 64 with blanks or in lines is left to Spark.")
        raise EvaluationError(f"{shown(text)} is not base 64 (CONVERSION_INVALID_INPUT).")
    digits, padding = usual.groups()
    if len(digits) % 4 == 1 or (padding and (len(digits) + len(padding)) % 4):
        raise EvaluationError(f"{shown(text)} is not base 64 (CONVERSION_INVALID_INPUT).")
    return _from_base64(digits)


def _encoded(text: str, charset: str) -> bytes:
    """`encode(text, charset)`. Raises EvaluationError for a character that the set does not have."""
    name = _charset(charset)
    try:
        found = text.encode(_CHARSETS[name])
    except UnicodeEncodeError as error:
        raise EvaluationError(f"{shown(text)} has no form in {charset} (MALFORMED_CHARACTER_CODING).") from error
    return b"\xfe\xff" + found if name == "UTF-16" and found else found


def _decoded(data: bytes, charset: str) -> str:
    """`decode(data, charset)`. Raises EvaluationError for bytes that are not valid in the character set."""
    name = _charset(charset)
    used = _CHARSETS[name]
    for mark, marked in _MARKS.get(name, ()):
        if data.startswith(mark):
            data, used = data[len(mark) :], marked
            break
    try:
        found = data.decode(used, "surrogatepass" if name == "UTF-32" else "strict")
    except UnicodeDecodeError as error:
        raise EvaluationError(f"The bytes are not {charset} (MALFORMED_CHARACTER_CODING).") from error
    if SURROGATE.search(found) or (name.startswith("UTF-16") and "\ufffe" in found):
        raise Undecided("A lone surrogate, or a reversed mark of byte order, is left to Spark.")
    return found


def _valid_text(data: bytes) -> str | None:
    """The string of UTF-8 bytes; None if the bytes are not valid."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _passes_luhn(text: str) -> bool:
    """`luhn_check(text)`. Raises Undecided for digits of other scripts."""
    if not text.isascii():
        if any(unicodedata.category(character) in ("Nd", "Cn") for character in text if character > "\x7f"):
            raise Undecided("Digits of other scripts are left to Spark.")
        return False
    if not text.isdigit():
        return False
    digits = [ord(character) - 48 for character in reversed(text)]
    return (sum(digits[::2]) + sum(_DOUBLED[digit] for digit in digits[1::2])) % 10 == 0


@lru_cache(maxsize=64)
def _charset(charset: str) -> str:
    """The name of a character set in upper case. Raises EvaluationError for an unknown name."""
    name = charset.upper()
    if not charset.isascii() or name not in _CHARSETS:
        raise EvaluationError(f"{shown(charset)} is no character set of Spark (INVALID_PARAMETER_VALUE.CHARSET).")
    return name


ENCODINGS: Mapping[str, function.FunctionRow] = {
    "hex": value_function(
        _hex_signature,
        _hex_digits,
        preimage=injective(
            lambda text, call: (
                _of_digits(text, 16) if type_of(call.args[0]) in t.INTEGRAL_BITS else bytes.fromhex(text).decode()
            )
        ),
    ),
    "bin": value_function(
        _long_signature,
        lambda number: f"{number & 0xFFFF_FFFF_FFFF_FFFF:b}",
        preimage=injective(lambda text, call: _of_digits(text, 2)),
    ),
    "unhex": value_function(function.takes(t.BINARY, t.STRING), _from_hex),
    "base64": value_function(_bytes_signature(t.STRING), _base64_lines),
    "unbase64": value_function(function.takes(t.BINARY, t.STRING), _from_base64),
    "encode": value_function(function.takes(t.BINARY, t.STRING, t.STRING), _encoded, _encode_column),
    "decode": value_function(_bytes_signature(t.STRING, t.STRING), _decoded, _decode_column, instead=searched),
    "to_binary": value_function(_binary_signature, _to_binary, order=function.constant_null_first),
    "try_to_binary": value_function(_tried_signature, partial(value_or_null, _to_binary)),
    "is_valid_utf8": value_function(_utf8_signature(t.BOOLEAN), _is_text, _is_text_column),
    "make_valid_utf8": _as_text(lambda data: data.decode(errors="replace")),
    "validate_utf8": _as_text(_refused),
    "try_validate_utf8": _as_text(lambda data: None),
    "ascii": value_function(function.takes(t.INTEGER, t.STRING), _code_point, preimage=FIRST_CHARACTER),
    "chr": value_function(_long_signature, _character, aliases=("char",)),
    "luhn_check": value_function(function.takes(t.BOOLEAN, t.STRING), _passes_luhn),
    "md5": _digest(hashlib.md5, 128),
    "sha1": _digest(hashlib.sha1, 160, "sha"),
    "sha2": value_function(function.with_counts(_bytes_signature(t.STRING, t.INTEGER), 1), _sha2, _sha2_column),
    "crc32": value_function(_bytes_signature(t.LONG), zlib.crc32),
}


def _hash_column(args: Sequence[v.Values], call: Call, zone: Zone) -> pa.Array:
    rows = v.rows_of(args)
    columns = [(v.as_array(value, rows), type_of(arg) or t.VOID) for value, arg in zip(args, call.args, strict=True)]
    return spark_hashes(columns, rows, call.type == t.LONG)


def _hash_signature(result: t.DataType) -> Signature:
    """Accept any number of hashable values. Spark hashes the collation key of a collated string."""

    def signature(args: tuple[Node, ...]) -> Typed:
        types = [type_of(arg) for arg in args]
        known = all(type_ is not None and hashable(type_) for type_ in types)
        return (args, result) if args and known and not any(map(is_collated, args)) else None

    return signature


HASHING: Mapping[str, Function] = {
    name: Function(_hash_signature(type_), function.of_one_row(_hash_column), False, by_column=_hash_column)
    for name, type_ in (("hash", t.INTEGER), ("xxhash64", t.LONG))
}
