"""Conversions between bytes and strings: hexadecimal digits, base 64 and character sets.

# Spark 4.1, mathExpressions.scala (Hex, Unhex), stringExpressions.scala (Encode, StringDecode, UnBase64, ToBinary),
# java.util.Base64
"""

from __future__ import annotations

import base64
import unicodedata
from functools import lru_cache

from deltaskip.errors import shown
from deltaskip.json_text import SURROGATE
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr.failures import EvaluationError, Undecided

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


def hex_digits(value: int | str | bytes) -> str:
    """`hex(value)`: the 64 bits of an integer without leading zeros, or the UTF-8 bytes of a string."""
    if isinstance(value, int):
        return f"{value & 0xFFFF_FFFF_FFFF_FFFF:X}"
    return (value.encode() if isinstance(value, str) else value).hex().upper()


def from_hex(text: str) -> bytes | None:
    """`unhex(text)`: NULL if a character is not a hexadecimal digit. An odd number of digits gets a leading 0."""
    if not _HEX.match(text):
        return None
    return bytes.fromhex(text if len(text) % 2 == 0 else f"0{text}")


def base64_lines(data: bytes) -> str:
    """`base64(data)`: padded, in lines of 76 characters that CRLF separates, as in MIME."""
    lines = (data[start : start + _LINE_BYTES] for start in range(0, len(data), _LINE_BYTES))
    return "\r\n".join(base64.b64encode(line).decode() for line in lines)


def from_base64(text: str) -> bytes:
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


def to_binary(text: str, form: str) -> bytes:
    """`to_binary(text, form)` with the format "hex", "utf-8" or "base64", in lower case.

    Raises EvaluationError for a string in another format, and Undecided for base 64 with other characters.
    """
    if form == "utf-8":
        return text.encode()
    if form == "hex":
        found = from_hex(text)
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
    return from_base64(digits)


def codec(charset: str) -> str:
    """The Python name of one of Spark's character sets. Raises EvaluationError for another name."""
    return _CHARSETS[_charset(charset)]


def encoded(text: str, charset: str) -> bytes:
    """`encode(text, charset)`. Raises EvaluationError for a character that the set does not have."""
    name = _charset(charset)
    try:
        found = text.encode(codec(charset))
    except UnicodeEncodeError as error:
        raise EvaluationError(f"{shown(text)} has no form in {charset} (MALFORMED_CHARACTER_CODING).") from error
    return b"\xfe\xff" + found if name == "UTF-16" and found else found


def decoded(data: bytes, charset: str) -> str:
    """`decode(data, charset)`. Raises EvaluationError for bytes that are not valid in the character set."""
    name = _charset(charset)
    used = codec(charset)
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


def valid_text(data: bytes) -> str | None:
    """The string of UTF-8 bytes; None if the bytes are not valid."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def passes_luhn(text: str) -> bool:
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
