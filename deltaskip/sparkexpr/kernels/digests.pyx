"""Digests of strings and binary as hexadecimal strings: MD5, SHA-1 and SHA-2.

# RFC 1321, FIPS 180-4
"""

import math

import pyarrow as pa

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView, binary_view, is_valid
from deltaskip.sparkexpr.kernels.written cimport Span, Written, row_of, written_like

cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__GNUC__)
    #include <cpuid.h>
    #include <immintrin.h>

    /* Instructions for SHA-256, which not every processor has. */
    static int ds_has_sha(void) {
        unsigned int a, b, c, d;
        if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 19)) || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
        return b >> 29 & 1;
    }

    __attribute__((target("sha,sse4.1")))
    static void ds_sha256(uint32_t* h, const uint8_t* block, const uint32_t* k) {
        const __m128i swap = _mm_set_epi64x(0x0C0D0E0F08090A0BULL, 0x0405060700010203ULL);
        __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i*)h), 0xB1);
        __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i*)(h + 4)), 0x1B);
        __m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xF0);
        const __m128i first = abef, second = cdgh;
        __m128i w[4], x;
        int i;
        for (i = 0; i < 16; i++) {
            if (i < 4) {
                x = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i*)block + i), swap);
            } else {
                x = _mm_sha256msg1_epu32(w[i & 3], w[(i + 1) & 3]);
                x = _mm_add_epi32(x, _mm_alignr_epi8(w[(i + 3) & 3], w[(i + 2) & 3], 4));
                x = _mm_sha256msg2_epu32(x, w[(i + 3) & 3]);
            }
            w[i & 3] = x;
            x = _mm_add_epi32(x, _mm_loadu_si128((const __m128i*)k + i));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, x);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(x, 0x0E));
        }
        low = _mm_shuffle_epi32(_mm_add_epi32(abef, first), 0x1B);
        high = _mm_shuffle_epi32(_mm_add_epi32(cdgh, second), 0xB1);
        _mm_storeu_si128((__m128i*)h, _mm_blend_epi16(low, high, 0xF0));
        _mm_storeu_si128((__m128i*)(h + 4), _mm_alignr_epi8(high, low, 8));
    }
    #else
    static int ds_has_sha(void) { return 0; }
    static void ds_sha256(uint32_t* h, const uint8_t* block, const uint32_t* k) {}
    #endif
    """
    int has_sha "ds_has_sha"() noexcept nogil
    void sha256_block "ds_sha256"(uint32_t* h, const uint8_t* block, const uint32_t* k) noexcept nogil

# A word of SHA-2: 32 bits for digests of up to 256 bits, else 64.
ctypedef fused word:
    uint32_t
    uint64_t

# The two digits of each byte.
cdef uint8_t[512] DIGITS
cdef bint HAS_SHA = has_sha() != 0
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
    cdef uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4]
    cdef int i
    memcpy(w, block, 64)
    for i in range(16):
        w[i] = swap32(w[i])
    for i in range(16, 80):
        w[i] = left32(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1)
    for i in range(20):
        a, b, c, d, e = left32(a, 5) + (d ^ (b & (c ^ d))) + e + 0x5A827999 + w[i], a, left32(b, 30), c, d
    for i in range(20, 40):
        a, b, c, d, e = left32(a, 5) + (b ^ c ^ d) + e + 0x6ED9EBA1 + w[i], a, left32(b, 30), c, d
    for i in range(40, 60):
        a, b, c, d, e = left32(a, 5) + ((b & c) | (d & (b | c))) + e + <uint32_t>0x8F1BBCDC + w[i], a, left32(b, 30), c, d
    for i in range(60, 80):
        a, b, c, d, e = left32(a, 5) + (b ^ c ^ d) + e + <uint32_t>0xCA62C1D6 + w[i], a, left32(b, 30), c, d
    h[0] += a
    h[1] += b
    h[2] += c
    h[3] += d
    h[4] += e


cdef inline word right(word x, int n) noexcept nogil:
    return x >> n | x << (8 * <int>sizeof(word) - n)


cdef inline void _round(word a, word b, word c, word* d, word e, word f, word g, word* h, word x) noexcept nogil:
    if word is uint32_t:
        h[0] += (right(e, 6) ^ right(e, 11) ^ right(e, 25)) + (g ^ (e & (f ^ g))) + x
        d[0] += h[0]
        h[0] += (right(a, 2) ^ right(a, 13) ^ right(a, 22)) + ((a & b) | (c & (a | b)))
    else:
        h[0] += (right(e, 14) ^ right(e, 18) ^ right(e, 41)) + (g ^ (e & (f ^ g))) + x
        d[0] += h[0]
        h[0] += (right(a, 28) ^ right(a, 34) ^ right(a, 39)) + ((a & b) | (c & (a | b)))


cdef inline void _sha2(word* h, const uint8_t* block, const word* roots) noexcept nogil:
    cdef word[80] w
    cdef word a = h[0], b = h[1], c = h[2], d = h[3], e = h[4], f = h[5], g = h[6], last = h[7], x, y
    cdef int i, rounds = 64 if sizeof(word) == 4 else 80
    memcpy(w, block, 16 * sizeof(word))
    for i in range(16):
        if word is uint32_t:
            w[i] = swap32(w[i])
        else:
            w[i] = swap64(w[i])
    for i in range(16, rounds):
        x, y = w[i - 15], w[i - 2]
        if word is uint32_t:
            x, y = right(x, 7) ^ right(x, 18) ^ x >> 3, right(y, 17) ^ right(y, 19) ^ y >> 10
        else:
            x, y = right(x, 1) ^ right(x, 8) ^ x >> 7, right(y, 19) ^ right(y, 61) ^ y >> 6
        w[i] = w[i - 16] + x + w[i - 7] + y
    for i in range(0, rounds, 8):
        _round(a, b, c, &d, e, f, g, &last, roots[i] + w[i])
        _round(last, a, b, &c, d, e, f, &g, roots[i + 1] + w[i + 1])
        _round(g, last, a, &b, c, d, e, &f, roots[i + 2] + w[i + 2])
        _round(f, g, last, &a, b, c, d, &e, roots[i + 3] + w[i + 3])
        _round(e, f, g, &last, a, b, c, &d, roots[i + 4] + w[i + 4])
        _round(d, e, f, &g, last, a, b, &c, roots[i + 5] + w[i + 5])
        _round(c, d, e, &f, g, last, a, &b, roots[i + 6] + w[i + 6])
        _round(b, c, d, &e, f, g, last, &a, roots[i + 7] + w[i + 7])
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


cdef inline void _block(int bits, bint own, uint32_t* h, uint64_t* wide, const uint8_t* block) noexcept nogil:
    if bits == 128:
        _md5(h, block)
    elif bits == 160:
        _sha1(h, block)
    elif bits <= 256:
        if own:
            sha256_block(h, block, ROOTS32)
        else:
            _sha2(h, block, <const uint32_t*>ROOTS32)
    else:
        _sha2(wide, block, <const uint64_t*>ROOTS64)


cdef void _digest(
    Span row, int bits, bint own, const uint32_t* first, const uint64_t* wide_first, uint8_t* out
) noexcept nogil:
    """Write the digest of the bytes of a row, from the state in which every digest begins."""
    cdef uint32_t[8] h
    cdef uint64_t[8] wide
    cdef uint8_t[256] rest
    cdef int64_t at = 0
    cdef int size = 128 if bits > 256 else 64
    cdef int left, end, i
    cdef uint64_t length = <uint64_t>row.size * 8
    if bits > 256:
        memcpy(wide, wide_first, 64)
    else:
        memcpy(h, first, 32)
    while row.size - at >= size:
        _block(bits, own, h, wide, row.data + at)
        at += size
    left = <int>(row.size - at)
    # The length has an eighth of a block.
    end = size if left < size - size // 8 else 2 * size
    memset(rest, 0, end)
    if left > 0:
        memcpy(rest, row.data + at, left)
    rest[left] = 0x80
    length = length if bits == 128 else swap64(length)
    memcpy(rest + end - 8, &length, 8)
    _block(bits, own, h, wide, rest)
    if end > size:
        _block(bits, own, h, wide, rest + size)
    if bits > 256:
        for i in range(8):
            wide[i] = swap64(wide[i])
        memcpy(out, wide, bits // 8)
        return
    if bits > 128:
        for i in range(8):
            h[i] = swap32(h[i])
    memcpy(out, h, bits // 8)


def digests(values: ArrowArrayExportable, int bits, bint instructions=True) -> pa.StringArray:
    """Return the digest of each value in lower case hexadecimal digits.

    values: Strings or binary. bits: 128 for MD5, 160 for SHA-1, or 224, 256, 384 or 512 for SHA-2.
    instructions: Whether to use the processor's own for SHA-256, if it has them.
    Raises TypeError for other formats, and ValueError for another number of bits.
    """
    cdef BinaryView view = binary_view(values)
    if bits not in (128, 160, 224, 256, 384, 512):
        raise ValueError(f"No digest has {bits} bits.")
    cdef Written out = written_like(view)
    cdef bint own = instructions and HAS_SHA
    cdef uint32_t[8] first
    cdef uint64_t[8] wide_first
    cdef uint8_t[64] digest
    cdef uint8_t* text
    cdef int64_t i
    cdef int k
    _begin(bits, first, wide_first)
    with nogil:
        for i in range(view.length):
            if is_valid(view.validity, view.offset + i):
                if out.reserve(bits // 4) != 0:
                    break
                _digest(row_of(view, i), bits, own, first, wide_first, digest)
                text = out.data.data + out.data.size
                for k in range(bits // 8):
                    memcpy(text + 2 * k, DIGITS + 2 * digest[k], 2)
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
    for at, digit in enumerate(bytes(range(256)).hex().encode()):
        DIGITS[at] = digit
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
