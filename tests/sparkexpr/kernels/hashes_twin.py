"""Spark's hashes in plain Python, of one value after the other.

# Spark 4.1, Murmur3_x86_32.java, XXH64.java, HashExpression
"""

import math
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.values.hashes import big_endian, unscaled

_WORD, _LONG_WORD = 0xFFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF
_P1, _P2, _P3 = 0x9E37_79B1_85EB_CA87, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9
_P4, _P5 = 0x85EB_CA77_C2B2_AE63, 0x27D4_EB2F_1656_67C5


class _Algorithm(NamedTuple):
    """Hash functions of 4-byte integers, 8-byte integers and bytes with a seed. Seeds and hashes are unsigned."""

    of_int: Callable[[int, int], int]
    of_long: Callable[[int, int], int]
    of_bytes: Callable[[bytes, int], int]


def hashes(values: Sequence[Any], type_: t.DataType, seeds: Sequence[int], wide: bool) -> list[int]:
    one = spark_xxhash64 if wide else spark_hash
    return [one(value, type_, seed) for value, seed in zip(values, seeds, strict=True)]


def spark_hash(value: Any, type_: t.DataType, seed: int = 42) -> int:
    hashed = _hashed(_MURMUR3, value, type_, seed & _WORD) if value is not None else seed
    return hashed - (1 << 32) if hashed >> 31 == 1 else hashed


def spark_xxhash64(value: Any, type_: t.DataType, seed: int = 42) -> int:
    hashed = _hashed(_XXH64, value, type_, seed & _LONG_WORD) if value is not None else seed
    return hashed - (1 << 64) if hashed >> 63 == 1 else hashed


def _hashed(algorithm: _Algorithm, value: Any, type_: t.DataType, seed: int) -> int:
    if value is None:
        return seed
    match type_:
        case t.ArrayType(element):
            for each in value:
                seed = _hashed(algorithm, each, element, seed)
            return seed
        case t.StructType(fields):
            for at, field in enumerate(fields):
                seed = _hashed(algorithm, value[at], field.type, seed)
            return seed
        case t.DecimalType(precision):
            number = unscaled(value, type_)
            if precision <= 18:
                return algorithm.of_long(number & _LONG_WORD, seed)
            return algorithm.of_bytes(big_endian(number), seed)
    if type_ in (t.BOOLEAN, t.BYTE, t.SHORT, t.INTEGER, t.DATE):
        return algorithm.of_int(int(value) & _WORD, seed)
    if type_ in (t.LONG, t.TIMESTAMP, t.TIMESTAMP_NTZ):
        return algorithm.of_long(value & _LONG_WORD, seed)
    if type_ in t.FLOATING:
        number = 0.0 if value == 0 else math.nan if math.isnan(value) else value
        if type_ == t.FLOAT:
            return algorithm.of_int(struct.unpack("<I", struct.pack("<f", number))[0], seed)
        return algorithm.of_long(struct.unpack("<Q", struct.pack("<d", number))[0], seed)
    return algorithm.of_bytes(value.encode() if isinstance(value, str) else bytes(value), seed)


def _murmur3_int(word: int, seed: int) -> int:
    return _finished(_mixed(seed, word), 4)


def _murmur3_long(number: int, seed: int) -> int:
    return _finished(_mixed(_mixed(seed, number & _WORD), number >> 32), 8)


def _murmur3_bytes(data: bytes, seed: int) -> int:
    whole = len(data) // 4 * 4
    for word in struct.unpack(f"<{whole // 4}I", data[:whole]):
        seed = _mixed(seed, word)
    for byte in data[whole:]:
        seed = _mixed(seed, (byte - 256 if byte > 127 else byte) & _WORD)
    return _finished(seed, len(data))


def _scrambled(word: int) -> int:
    return _rotated(word * 0xCC9E_2D51 & _WORD, 15) * 0x1B87_3593 & _WORD


def _mixed(hashed: int, word: int) -> int:
    return (_rotated(hashed ^ _scrambled(word), 13) * 5 + 0xE654_6B64) & _WORD


def _finished(hashed: int, length: int) -> int:
    hashed ^= length
    hashed = (hashed ^ hashed >> 16) * 0x85EB_CA6B & _WORD
    hashed = (hashed ^ hashed >> 13) * 0xC2B2_AE35 & _WORD
    return hashed ^ hashed >> 16


def _rotated(word: int, by: int, bits: int = 32) -> int:
    return (word << by | word >> (bits - by)) & ((1 << bits) - 1)


def _rotated_long(word: int, by: int) -> int:
    return _rotated(word, by, 64)


def _xxh64_int(word: int, seed: int) -> int:
    return _avalanche(_four_bytes((seed + _P5 + 4) & _LONG_WORD, word))


def _xxh64_long(number: int, seed: int) -> int:
    return _avalanche(_eight_bytes((seed + _P5 + 8) & _LONG_WORD, number))


def _xxh64_bytes(data: bytes, seed: int) -> int:
    at = len(data) // 32 * 32
    if at:
        lanes = [seed + _P1 + _P2, seed + _P2, seed, seed - _P1]
        words = struct.unpack(f"<{at // 8}Q", data[:at])
        for start in range(0, len(words), 4):
            lanes = [_round(lane, word) for lane, word in zip(lanes, words[start : start + 4], strict=True)]
        hashed = sum(_rotated_long(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _LONG_WORD
        for lane in lanes:
            hashed = ((hashed ^ _round(0, lane)) * _P1 + _P4) & _LONG_WORD
    else:
        hashed = seed + _P5
    hashed = (hashed + len(data)) & _LONG_WORD
    while at + 8 <= len(data):
        hashed = _eight_bytes(hashed, int.from_bytes(data[at : at + 8], "little"))
        at += 8
    if at + 4 <= len(data):
        hashed = _four_bytes(hashed, int.from_bytes(data[at : at + 4], "little"))
        at += 4
    for byte in data[at:]:
        hashed = _rotated_long(hashed ^ (byte * _P5 & _LONG_WORD), 11) * _P1 & _LONG_WORD
    return _avalanche(hashed)


def _round(lane: int, word: int) -> int:
    return _rotated_long((lane + word * _P2) & _LONG_WORD, 31) * _P1 & _LONG_WORD


def _eight_bytes(hashed: int, word: int) -> int:
    return (_rotated_long(hashed ^ _round(0, word), 27) * _P1 + _P4) & _LONG_WORD


def _four_bytes(hashed: int, word: int) -> int:
    return (_rotated_long(hashed ^ (word * _P1 & _LONG_WORD), 23) * _P2 + _P3) & _LONG_WORD


def _avalanche(hashed: int) -> int:
    hashed = (hashed ^ hashed >> 33) * _P2 & _LONG_WORD
    hashed = (hashed ^ hashed >> 29) * _P3 & _LONG_WORD
    return hashed ^ hashed >> 32


_MURMUR3 = _Algorithm(_murmur3_int, _murmur3_long, _murmur3_bytes)
_XXH64 = _Algorithm(_xxh64_int, _xxh64_long, _xxh64_bytes)
