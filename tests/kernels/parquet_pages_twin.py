"""A plain writer of the parts of Parquet data pages: numbers as runs and packed groups, values as PLAIN."""

from __future__ import annotations

import struct
from collections.abc import Sequence


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


def data_page(levels: bytes | None, values: bytes) -> bytes:
    """A page, with the levels of definition behind their length; None for a column that cannot be null."""
    return values if levels is None else struct.pack("<I", len(levels)) + levels + values
