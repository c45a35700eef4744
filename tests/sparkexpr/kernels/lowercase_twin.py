"""Slow plain twin of the lower-case kernel: bytes with None for null in, keys and orders out."""

from collections.abc import Mapping, Sequence

Lower = Mapping[int, int]


def key(value: bytes, lower: Lower | None, trim: bool) -> bytes:
    """What orders `value`: its lower case code point by code point, or its bytes; without spaces at its end."""
    if trim:
        value = value.rstrip(b" ")
    if lower is None:
        return value
    return "".join(lowered(c, lower) for c in value.decode("utf-8", "replace")).encode()


def lowered(character: str, lower: Lower) -> str:
    if character.isascii():
        return character.lower()
    return "i\u0307" if character == "\u0130" else chr(lower.get(ord(character), ord(character)))


def compare(values: Sequence[bytes | None], literal: bytes, lower: Lower | None, trim: bool) -> list[int | None]:
    other = key(literal, lower, trim)
    keys = [None if v is None else key(v, lower, trim) for v in values]
    return [None if k is None else (k > other) - (k < other) for k in keys]


def extremes(values: Sequence[bytes | None], lower: Lower | None, trim: bool) -> tuple[bytes, bytes] | None:
    """The least and the greatest key."""
    keys = [key(v, lower, trim) for v in values if v is not None]
    return (min(keys), max(keys)) if keys else None
