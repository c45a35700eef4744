"""Functions of one string or of bytes in plain Python, as the evaluator has them."""

import base64
import textwrap

from deltaskip.sparkexpr.values import strings, text_encodings


def part_between(text: str, delimiter: str, number: int) -> str:
    parts = text.split(delimiter) if delimiter else [text]
    place = number - 1 if number > 0 else len(parts) + number
    return parts[place] if number and 0 <= place < len(parts) else ""


def before_delimiter(text: str, delimiter: str, count: int) -> str:
    return strings.before_delimiter(text, delimiter, count)


def byte_slice(data: bytes, position: int, length: int) -> str | bytes:
    return strings.substring(data, position, length)


def located(text: str, part: str, start: int) -> int:
    return strings.locate(part, text, start)


def first_code_point(text: str) -> int:
    return ord(text[0]) if text else 0


def capitalized(text: str) -> str:
    return strings.capitalized(text)


def soundex(text: str) -> str:
    return strings.soundex(text)


def edit_distance(one: str, other: str) -> int:
    return strings.edit_distance(one, other)


def translated(text: str, changes: dict[int, int]) -> str:
    return text.translate({old: None if new < 0 else new for old, new in changes.items()})


def hex_digits(data: bytes) -> str:
    return text_encodings.hex_digits(data)


def from_hex(text: str) -> bytes | None:
    return text_encodings.from_hex(text)


def binary_digits(number: int, bits: int) -> str:
    return f"{number & 0xFFFF_FFFF_FFFF_FFFF:{'b' if bits == 1 else 'X'}}"


def base64_digits(data: bytes) -> str:
    return "\r\n".join(textwrap.wrap(base64.b64encode(data).decode(), 76))


def from_base64(text: str) -> bytes | None:
    """The bytes of one line; None for other texts, and for those with characters that are ignored."""
    digits = text[:-2] + text[-2:].rstrip("=") if len(text) % 4 == 0 else text
    plain = all(character.isascii() and (character.isalnum() or character in "+/") for character in digits)
    return text_encodings.from_base64(digits) if plain and len(digits) % 4 != 1 else None


def valid_utf8(data: bytes) -> bool:
    return text_encodings.valid_text(data) is not None


def passes_luhn(text: str) -> bool:
    return text.isascii() and text_encodings.passes_luhn(text)
