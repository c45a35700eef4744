"""Spark's hashes of Arrow arrays: Murmur3 with 32 bits, and XXH64.

Every function takes an int64 array with the seed of each row, and returns the hashes as int64; the hash of null is the
seed. With `wide` the hash is XXH64, else Murmur3.

# Spark 4.1, Murmur3_x86_32.java, XXH64.java
"""

import pyarrow as pa

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from deltaskip.sparkexpr.kernels.arrow cimport (
    BinaryView, ByteBuffer, Decimal128, PrimitiveView, binary_view, check_decimal128, is_valid, primitive_view, zeros
)
from deltaskip.sparkexpr.kernels.lane cimport same_length, view_of, whole_view

cdef uint64_t P1 = 0x9E3779B185EBCA87
cdef uint64_t P2 = 0xC2B2AE3D27D4EB4F
cdef uint64_t P3 = 0x165667B19E3779F9
cdef uint64_t P4 = 0x85EBCA77C2B2AE63
cdef uint64_t P5 = 0x27D4EB2F165667C5


def hash_numbers(
    values: ArrowArrayExportable, seeds: ArrowArrayExportable, int width, bint wide=False
) -> pa.Int64Array:
    """Return the hashes of an int64 array as integers of `width` bytes, 4 or 8.

    Raises TypeError for another format and ValueError for another width, seeds with nulls, or of another length.
    """
    cdef PrimitiveView view = view_of(values, b"l")
    cdef PrimitiveView given = _seeds(seeds, view.length)
    cdef ByteBuffer out = zeros(8 * view.length)
    if width != 4 and width != 8:
        raise ValueError(f"Integers have 4 or 8 bytes, not {width}.")
    with nogil:
        _numbers(<const int64_t*>view.values, view, <const int64_t*>given.values, width == 4, wide, <int64_t*>out.data)
    return _array(out)


def hash_decimals(values: ArrowArrayExportable, seeds: ArrowArrayExportable, bint wide=False) -> pa.Int64Array:
    """Return the hashes of decimal128 as the fewest bytes of their unscaled integers, the highest first.

    Raises TypeError for another format, and ValueError for seeds with nulls, or of another length.
    """
    cdef PrimitiveView view = primitive_view(values)
    check_decimal128(view)
    cdef PrimitiveView given = _seeds(seeds, view.length)
    cdef ByteBuffer out = zeros(8 * view.length)
    with nogil:
        _decimals(<const Decimal128*>view.values, view, <const int64_t*>given.values, wide, <int64_t*>out.data)
    return _array(out)


def hash_bytes(values: ArrowArrayExportable, seeds: ArrowArrayExportable, bint wide=False) -> pa.Int64Array:
    """Return the hashes of strings or binary.

    Raises TypeError for another format, and ValueError for seeds with nulls, or of another length.
    """
    cdef BinaryView view = binary_view(values)
    cdef PrimitiveView given = _seeds(seeds, view.length)
    cdef ByteBuffer out = zeros(8 * view.length)
    with nogil:
        _texts(view, <const int64_t*>given.values, wide, <int64_t*>out.data)
    return _array(out)


cdef PrimitiveView _seeds(object seeds, int64_t length):
    cdef PrimitiveView view = whole_view(seeds, b"l")
    same_length(view.length, length)
    return view


cdef object _array(ByteBuffer out):
    return pa.Array.from_buffers(pa.int64(), out.size // 8, [None, pa.py_buffer(out)], 0)


cdef int _numbers(
    const int64_t* v, PrimitiveView view, const int64_t* seeds, bint narrow, bint wide, int64_t* out
) noexcept nogil:
    cdef int64_t i
    for i in range(view.length):
        if not is_valid(view.validity, view.offset + i):
            out[i] = seeds[i]
        elif wide:
            out[i] = <int64_t>(
                xx_int(<uint32_t>v[i], <uint64_t>seeds[i]) if narrow else xx_long(<uint64_t>v[i], <uint64_t>seeds[i])
            )
        elif narrow:
            out[i] = <int32_t>finished(mixed(<uint32_t>seeds[i], <uint32_t>v[i]), 4)
        else:
            out[i] = <int32_t>murmur_long(<uint64_t>v[i], <uint32_t>seeds[i])
    return 0


cdef int _decimals(
    const Decimal128* v, PrimitiveView view, const int64_t* seeds, bint wide, int64_t* out
) noexcept nogil:
    cdef int64_t i, size
    cdef int k
    cdef uint8_t[16] data
    for i in range(view.length):
        if view.validity != NULL and not is_valid(view.validity, view.offset + i):
            out[i] = seeds[i]
            continue
        for k in range(8):
            data[k] = <uint8_t>(<uint64_t>v[i].high >> (56 - 8 * k))
            data[8 + k] = <uint8_t>(<uint64_t>v[i].low >> (56 - 8 * k))
        # Java leaves out leading bytes that only repeat the sign.
        k = 0
        while k < 15 and ((data[k] == 0 and data[k + 1] < 0x80) or (data[k] == 0xFF and data[k + 1] >= 0x80)):
            k += 1
        size = 16 - k
        out[i] = of_bytes(data + k, size, seeds[i], wide)
    return 0


cdef int _texts(BinaryView view, const int64_t* seeds, bint wide, int64_t* out) noexcept nogil:
    cdef int64_t i, start
    cdef uint8_t nothing = 0
    cdef const uint8_t* data = view.data if view.data != NULL else &nothing
    for i in range(view.length):
        if view.validity != NULL and not is_valid(view.validity, view.offset + i):
            out[i] = seeds[i]
            continue
        start = view.start(i)
        out[i] = of_bytes(data + start, view.end(i) - start, seeds[i], wide)
    return 0


cdef inline int64_t of_bytes(const uint8_t* data, int64_t size, int64_t seed, bint wide) noexcept nogil:
    return <int64_t>xx_bytes(data, size, <uint64_t>seed) if wide else <int32_t>murmur_bytes(data, size, <uint32_t>seed)


cdef inline uint32_t rotated(uint32_t word, int by) noexcept nogil:
    return (word << by) | (word >> (32 - by))


cdef inline uint32_t mixed(uint32_t hashed, uint32_t word) noexcept nogil:
    return rotated(hashed ^ (rotated(word * <uint32_t>0xCC9E2D51, 15) * <uint32_t>0x1B873593), 13) * 5 + <uint32_t>0xE6546B64


cdef inline uint32_t finished(uint32_t hashed, uint32_t length) noexcept nogil:
    hashed ^= length
    hashed = (hashed ^ (hashed >> 16)) * <uint32_t>0x85EBCA6B
    hashed = (hashed ^ (hashed >> 13)) * <uint32_t>0xC2B2AE35
    return hashed ^ (hashed >> 16)


cdef inline uint32_t murmur_long(uint64_t number, uint32_t seed) noexcept nogil:
    return finished(mixed(mixed(seed, <uint32_t>number), <uint32_t>(number >> 32)), 8)


cdef inline uint32_t murmur_bytes(const uint8_t* data, int64_t size, uint32_t seed) noexcept nogil:
    cdef int64_t i, whole = size - size % 4
    cdef uint32_t word
    for i in range(0, whole, 4):
        word = data[i] | (<uint32_t>data[i + 1] << 8) | (<uint32_t>data[i + 2] << 16) | (<uint32_t>data[i + 3] << 24)
        seed = mixed(seed, word)
    for i in range(whole, size):
        seed = mixed(seed, <uint32_t><int32_t><int8_t>data[i])
    return finished(seed, <uint32_t>size)


cdef inline uint64_t rotated_long(uint64_t word, int by) noexcept nogil:
    return (word << by) | (word >> (64 - by))


cdef inline uint64_t xx_round(uint64_t lane, uint64_t word) noexcept nogil:
    return rotated_long(lane + word * P2, 31) * P1


cdef inline uint64_t eight_bytes(uint64_t hashed, uint64_t word) noexcept nogil:
    return rotated_long(hashed ^ xx_round(0, word), 27) * P1 + P4


cdef inline uint64_t four_bytes(uint64_t hashed, uint32_t word) noexcept nogil:
    return rotated_long(hashed ^ (word * P1), 23) * P2 + P3


cdef inline uint64_t avalanche(uint64_t hashed) noexcept nogil:
    hashed = (hashed ^ (hashed >> 33)) * P2
    hashed = (hashed ^ (hashed >> 29)) * P3
    return hashed ^ (hashed >> 32)


cdef inline uint64_t xx_int(uint32_t word, uint64_t seed) noexcept nogil:
    return avalanche(four_bytes(seed + P5 + 4, word))


cdef inline uint64_t xx_long(uint64_t number, uint64_t seed) noexcept nogil:
    return avalanche(eight_bytes(seed + P5 + 8, number))


cdef inline uint64_t long_at(const uint8_t* data) noexcept nogil:
    """Eight bytes as a number, the lowest first."""
    cdef int k
    cdef uint64_t word = 0
    for k in range(8):
        word |= <uint64_t>data[k] << (8 * k)
    return word


cdef uint64_t xx_bytes(const uint8_t* data, int64_t size, uint64_t seed) noexcept nogil:
    cdef int64_t i, k, whole = size - size % 32
    cdef uint64_t hashed
    cdef uint64_t[4] lanes
    cdef uint32_t word
    if whole:
        lanes[0], lanes[1], lanes[2], lanes[3] = seed + P1 + P2, seed + P2, seed, seed - P1
        for i in range(0, whole, 32):
            for k in range(4):
                lanes[k] = xx_round(lanes[k], long_at(data + i + 8 * k))
        hashed = rotated_long(lanes[0], 1) + rotated_long(lanes[1], 7)
        hashed += rotated_long(lanes[2], 12) + rotated_long(lanes[3], 18)
        for k in range(4):
            hashed = (hashed ^ xx_round(0, lanes[k])) * P1 + P4
    else:
        hashed = seed + P5
    hashed += <uint64_t>size
    i = whole
    while i + 8 <= size:
        hashed = eight_bytes(hashed, long_at(data + i))
        i += 8
    if i + 4 <= size:
        word = data[i] | (<uint32_t>data[i + 1] << 8) | (<uint32_t>data[i + 2] << 16) | (<uint32_t>data[i + 3] << 24)
        hashed = four_bytes(hashed, word)
        i += 4
    while i < size:
        hashed = rotated_long(hashed ^ (data[i] * P5), 11) * P1
        i += 1
    return avalanche(hashed)
