"""Digests of strings and binary as hexadecimal texts: MD5, SHA-1 and SHA-2.

# RFC 1321, FIPS 180-4
"""

import math

import pyarrow as pa

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from deltaskip.kernels.arrow cimport BinaryView, binary_view, is_valid
from deltaskip.kernels.written cimport Span, Written, row_of, written_like

cdef const char* DIGITS = "0123456789abcdef"
cdef int[16] SHIFTS
cdef uint32_t[64] SINES
cdef uint32_t[64] ROOTS32
cdef uint64_t[80] ROOTS64
cdef uint64_t[8] FIRST_ROOTS
cdef uint64_t[8] NEXT_ROOTS


cdef inline uint32_t swap32(uint32_t x) noexcept nogil:
    return x << 24 | (x & 0xFF00) << 8 | (x >> 8 & 0xFF00) | x >> 24


cdef inline uint64_t swap64(uint64_t x) noexcept nogil:
    return <uint64_t>swap32(<uint32_t>x) << 32 | swap32(<uint32_t>(x >> 32))


cdef inline uint32_t left32(uint32_t x, int n) noexcept nogil:
    return x << n | x >> (32 - n)


cdef inline uint64_t right64(uint64_t x, int n) noexcept nogil:
    return x >> n | x << (64 - n)


cdef void _md5(uint32_t* h, const uint8_t* block) noexcept nogil:
    cdef uint32_t[16] w
    cdef uint32_t a = h[0], b = h[1], c = h[2], d = h[3], f
    cdef int i
    memcpy(w, block, 64)
    for i in range(16):
        f = a + (d ^ (b & (c ^ d))) + SINES[i] + w[i]
        a, d, c, b = d, c, b, b + left32(f, SHIFTS[i & 3])
    for i in range(16, 32):
        f = a + (c ^ (d & (b ^ c))) + SINES[i] + w[(5 * i + 1) & 15]
        a, d, c, b = d, c, b, b + left32(f, SHIFTS[4 + (i & 3)])
    for i in range(32, 48):
        f = a + (b ^ c ^ d) + SINES[i] + w[(3 * i + 5) & 15]
        a, d, c, b = d, c, b, b + left32(f, SHIFTS[8 + (i & 3)])
    for i in range(48, 64):
        f = a + (c ^ (b | ~d)) + SINES[i] + w[(7 * i) & 15]
        a, d, c, b = d, c, b, b + left32(f, SHIFTS[12 + (i & 3)])
    h[0] += a
    h[1] += b
    h[2] += c
    h[3] += d


cdef void _sha1(uint32_t* h, const uint8_t* block) noexcept nogil:
    cdef uint32_t[80] w
    cdef uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f, k
    cdef int i
    memcpy(w, block, 64)
    for i in range(16):
        w[i] = swap32(w[i])
    for i in range(16, 80):
        w[i] = left32(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1)
    for i in range(80):
        if i < 20:
            f, k = d ^ (b & (c ^ d)), 0x5A827999
        elif i < 40:
            f, k = b ^ c ^ d, 0x6ED9EBA1
        elif i < 60:
            f, k = (b & c) | (d & (b | c)), 0x8F1BBCDC
        else:
            f, k = b ^ c ^ d, 0xCA62C1D6
        a, b, c, d, e = left32(a, 5) + f + e + k + w[i], a, left32(b, 30), c, d
    h[0] += a
    h[1] += b
    h[2] += c
    h[3] += d
    h[4] += e


cdef void _sha256(uint32_t* h, const uint8_t* block) noexcept nogil:
    cdef uint32_t[64] w
    cdef uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], last = h[7], one, two, x, y
    cdef int i
    memcpy(w, block, 64)
    for i in range(16):
        w[i] = swap32(w[i])
    for i in range(16, 64):
        x, y = w[i - 15], w[i - 2]
        x = left32(x, 25) ^ left32(x, 14) ^ x >> 3
        y = left32(y, 15) ^ left32(y, 13) ^ y >> 10
        w[i] = w[i - 16] + x + w[i - 7] + y
    for i in range(64):
        one = last + (left32(e, 26) ^ left32(e, 21) ^ left32(e, 7)) + (g ^ (e & (f ^ g))) + ROOTS32[i] + w[i]
        two = (left32(a, 30) ^ left32(a, 19) ^ left32(a, 10)) + ((a & b) | (c & (a | b)))
        last, g, f, e, d, c, b, a = g, f, e, d + one, c, b, a, one + two
    h[0] += a
    h[1] += b
    h[2] += c
    h[3] += d
    h[4] += e
    h[5] += f
    h[6] += g
    h[7] += last


cdef void _sha512(uint64_t* h, const uint8_t* block) noexcept nogil:
    cdef uint64_t[80] w
    cdef uint64_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], last = h[7], one, two, x, y
    cdef int i
    memcpy(w, block, 128)
    for i in range(16):
        w[i] = swap64(w[i])
    for i in range(16, 80):
        x, y = w[i - 15], w[i - 2]
        x = right64(x, 1) ^ right64(x, 8) ^ x >> 7
        y = right64(y, 19) ^ right64(y, 61) ^ y >> 6
        w[i] = w[i - 16] + x + w[i - 7] + y
    for i in range(80):
        one = last + (right64(e, 14) ^ right64(e, 18) ^ right64(e, 41)) + (g ^ (e & (f ^ g))) + ROOTS64[i] + w[i]
        two = (right64(a, 28) ^ right64(a, 34) ^ right64(a, 39)) + ((a & b) | (c & (a | b)))
        last, g, f, e, d, c, b, a = g, f, e, d + one, c, b, a, one + two
    h[0] += a
    h[1] += b
    h[2] += c
    h[3] += d
    h[4] += e
    h[5] += f
    h[6] += g
    h[7] += last


cdef void _begin(int bits, uint32_t* h, uint64_t* wide) noexcept nogil:
    cdef int i
    h[0], h[1], h[2], h[3], h[4] = 0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0
    for i in range(8):
        wide[i] = NEXT_ROOTS[i] if bits == 384 else FIRST_ROOTS[i]
        if bits == 224:
            h[i] = <uint32_t>NEXT_ROOTS[i]
        elif bits == 256:
            h[i] = <uint32_t>(FIRST_ROOTS[i] >> 32)


cdef inline void _block(int bits, uint32_t* h, uint64_t* wide, const uint8_t* block) noexcept nogil:
    if bits == 128:
        _md5(h, block)
    elif bits == 160:
        _sha1(h, block)
    elif bits <= 256:
        _sha256(h, block)
    else:
        _sha512(wide, block)


cdef void _digest(Span row, int bits, uint8_t* out) noexcept nogil:
    """Write the digest of the bytes of a row."""
    cdef uint32_t[8] h
    cdef uint64_t[8] wide
    cdef uint8_t[256] rest
    cdef int64_t at = 0
    cdef int size = 128 if bits > 256 else 64
    cdef int left, end, i
    cdef uint64_t length = <uint64_t>row.size * 8
    _begin(bits, h, wide)
    while row.size - at >= size:
        _block(bits, h, wide, row.data + at)
        at += size
    left = <int>(row.size - at)
    memset(rest, 0, 256)
    if left > 0:
        memcpy(rest, row.data + at, left)
    rest[left] = 0x80
    # The length has an eighth of a block.
    end = size if left < size - size // 8 else 2 * size
    length = length if bits == 128 else swap64(length)
    memcpy(rest + end - 8, &length, 8)
    _block(bits, h, wide, rest)
    if end > size:
        _block(bits, h, wide, rest + size)
    for i in range(8):
        h[i] = h[i] if bits == 128 else swap32(h[i])
        wide[i] = swap64(wide[i])
    memcpy(out, <uint8_t*>wide if bits > 256 else <uint8_t*>h, bits // 8)


def digests(object values, int bits):
    """Return the digest of each value in lower case hexadecimal digits.

    values: Strings or binary. bits: 128 for MD5, 160 for SHA-1, or 224, 256, 384 or 512 for SHA-2.
    Raises TypeError for other formats, and ValueError for another number of bits.
    """
    cdef BinaryView view = binary_view(values)
    if bits not in (128, 160, 224, 256, 384, 512):
        raise ValueError(f"No digest has {bits} bits.")
    cdef Written out = written_like(view)
    cdef uint8_t[64] digest
    cdef uint8_t* text
    cdef int64_t i
    cdef int k
    with nogil:
        for i in range(view.length):
            if is_valid(view.validity, view.offset + i):
                if out.reserve(bits // 4) != 0:
                    break
                _digest(row_of(view, i), bits, digest)
                text = out.data.data + out.data.size
                for k in range(bits // 8):
                    text[2 * k] = DIGITS[digest[k] >> 4]
                    text[2 * k + 1] = DIGITS[digest[k] & 15]
                out.data.size += bits // 4
            out.end(i)
    return out.array(pa.string())


def _cube_root(number):
    """The whole part."""
    low, high = 0, 1 << (number.bit_length() // 3 + 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if middle ** 3 <= number else (low, middle - 1)
    return low


def _fill():
    """The constants: fractions of roots of the first primes, and of sines."""
    primes = [n for n in range(2, 410) if all(n % m for m in range(2, math.isqrt(n) + 1))]
    for at in range(80):
        ROOTS64[at] = _cube_root(primes[at] << 192) & ((1 << 64) - 1)
    for at in range(64):
        ROOTS32[at] = <uint32_t>(ROOTS64[at] >> 32)
        SINES[at] = <uint32_t><uint64_t>(abs(math.sin(at + 1)) * 4294967296.0)
    for at in range(8):
        FIRST_ROOTS[at] = math.isqrt(primes[at] << 128) & ((1 << 64) - 1)
        NEXT_ROOTS[at] = math.isqrt(primes[at + 8] << 128) & ((1 << 64) - 1)
    for at, shift in enumerate((7, 12, 17, 22, 5, 9, 14, 20, 4, 11, 16, 23, 6, 10, 15, 21)):
        SHIFTS[at] = shift


_fill()
