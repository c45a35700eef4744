"""A plain writer of the parts of Parquet data pages: numbers as runs and packed groups, values as PLAIN."""

import struct
from collections.abc import Mapping, Sequence
from typing import Any


def hybrid(numbers: Sequence[int], width: int, runs: Sequence[bool]) -> bytes:
    """Numbers as runs of one value and packed groups of eight.

    Args:
        numbers: The numbers.
        width: Bits of a number.
        runs: For each part, whether it is a run of the value that is next; otherwise it is one packed group. Where they
            end, the rest is packed.
    """
    out, at = b"", 0
    kinds = iter(runs)
    while at < len(numbers):
        if next(kinds, False):
            end = at
            while end < len(numbers) and numbers[end] == numbers[at]:
                end += 1
            out += varint((end - at) << 1) + numbers[at].to_bytes((width + 7) // 8, "little")
            at = end
        else:
            group = [*numbers[at : at + 8], *[0] * 8][:8]
            packed = sum(number << (width * i) for i, number in enumerate(group))
            out += varint(1 << 1 | 1) + packed.to_bytes(width, "little")
            at += 8
    return out


def varint(number: int) -> bytes:
    """The number in groups of seven bits, the lowest first."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def plain_bytes(values: Sequence[bytes]) -> bytes:
    """Byte arrays, each after its length."""
    return b"".join(struct.pack("<I", len(value)) + value for value in values)


def struct_bytes(fields: Mapping[int, Any]) -> bytes:
    """A Thrift struct in the compact protocol, whose fields are integers, booleans and structs."""
    out, last = b"", 0
    for number, value in fields.items():
        kind = (1 if value else 2) if isinstance(value, bool) else 5 if isinstance(value, int) else 12
        out += bytes([(number - last) << 4 | kind])
        last = number
        if kind == 5:
            out += varint(value << 1 if value >= 0 else (-value << 1) - 1)
        elif kind == 12:
            out += struct_bytes(value)
    return out + b"\0"


def data_page(levels: bytes | None, values: bytes, count: int, encoding: int) -> bytes:
    """A data page with its header, with the levels of definition behind their length.

    Args:
        levels: The levels; None for a column that cannot be null.
        values: The values that are there.
        count: Number of values, null or not.
        encoding: Number of their encoding.
    """
    page = values if levels is None else struct.pack("<I", len(levels)) + levels + values
    about = {1: count, 2: encoding, 3: 3, 4: 3}
    return struct_bytes({1: 0, 2: len(page), 3: len(page), 5: about}) + page


def data_page_v2(levels: bytes, values: bytes, count: int, encoding: int, nulls: int) -> bytes:
    """A data page of version 2 with its header. Its arguments are those of `data_page`, and the number of nulls."""
    about = {1: count, 2: nulls, 3: count, 4: encoding, 5: len(levels), 6: 0, 7: False}
    size = len(levels) + len(values)
    return struct_bytes({1: 3, 2: size, 3: size, 8: about}) + levels + values


def dictionary_page(values: bytes, count: int) -> bytes:
    """A dictionary page with its header, of values that are encoded as PLAIN."""
    return struct_bytes({1: 2, 2: len(values), 3: len(values), 7: {1: count, 2: 0}}) + values
