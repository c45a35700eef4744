"""Masks of the special bytes in 16 or 64 bytes of JSON, by SSE2 if the compiler has it and 64-bit words otherwise, and
copies and comparisons of short byte strings. Functions read the number of bytes in their name and no more."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


cdef extern from *:
    """
    #ifndef DELTASKIP_BYTE_MASKS
    #define DELTASKIP_BYTE_MASKS
    #include <stdint.h>
    #include <string.h>
    #if defined(__SSE2__) && !defined(DELTASKIP_PORTABLE)
    #include <emmintrin.h>
    #define DELTASKIP_SSE2
    #endif

    /* Bit k of a mask tells of byte k of 64; `wide` only says whether any byte is not ASCII. */
    typedef struct { uint64_t quote, backslash, control, wide; } json_masks;

    #ifdef DELTASKIP_SSE2
    static inline uint32_t json_special16(const uint8_t* p, uint32_t* wide) {
        __m128i v = _mm_loadu_si128((const __m128i*)p);
        __m128i hit = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')), _mm_cmpeq_epi8(v, _mm_set1_epi8(92))),
            _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(31)), v));
        *wide = (uint32_t)_mm_movemask_epi8(v);
        return (uint32_t)_mm_movemask_epi8(hit);
    }
    /* Which bytes of the four vectors equal `byte`. */
    static inline uint64_t json_equal64(const __m128i* v, char byte) {
        __m128i want = _mm_set1_epi8(byte);
        uint64_t a = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v[0], want));
        uint64_t b = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v[1], want));
        uint64_t c = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v[2], want));
        uint64_t d = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v[3], want));
        return a | b << 16 | c << 32 | d << 48;
    }
    static inline json_masks json_masks64(const uint8_t* p) {
        const __m128i last = _mm_set1_epi8(31);
        __m128i v[4], least, all;
        json_masks m;
        for (int i = 0; i < 4; i++) v[i] = _mm_loadu_si128((const __m128i*)(p + 16 * i));
        m.quote = json_equal64(v, '"');
        m.backslash = json_equal64(v, 92);
        m.control = 0;
        least = _mm_min_epu8(_mm_min_epu8(v[0], v[1]), _mm_min_epu8(v[2], v[3]));
        all = _mm_or_si128(_mm_or_si128(v[0], v[1]), _mm_or_si128(v[2], v[3]));
        m.wide = (uint32_t)_mm_movemask_epi8(all);
        if (_mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(least, last), least))) {
            for (int i = 0; i < 4; i++) v[i] = _mm_cmpeq_epi8(_mm_min_epu8(v[i], last), v[i]);
            m.control = json_equal64(v, -1);
        }
        return m;
    }
    #else
    #define JSON_ONES 0x0101010101010101ULL
    #define JSON_HIGH 0x8080808080808080ULL
    static inline uint64_t json_word(const uint8_t* p) {
        uint64_t w;
        memcpy(&w, p, 8);
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        w = __builtin_bswap64(w);
    #endif
        return w;
    }
    /* The high bit of every byte of `w`, gathered into 8 bits. */
    static inline uint64_t json_gather(uint64_t w) { return ((w & JSON_HIGH) >> 7) * 0x0102040810204080ULL >> 56; }
    /* The high bit of each byte tells whether that byte of `w` is zero; exact, no borrow crosses bytes. */
    static inline uint64_t json_zero(uint64_t w) { return ~(((w & ~JSON_HIGH) + ~JSON_HIGH) | w | ~JSON_HIGH); }
    static inline uint64_t json_control(uint64_t w) { return json_zero(w & (JSON_ONES * 0xe0)); }
    static inline uint32_t json_special16(const uint8_t* p, uint32_t* wide) {
        uint32_t hits = 0, high = 0;
        for (int i = 0; i < 2; i++) {
            uint64_t w = json_word(p + 8 * i);
            uint64_t hit = json_zero(w ^ (JSON_ONES * '"')) | json_zero(w ^ (JSON_ONES * 92)) | json_control(w);
            hits |= (uint32_t)json_gather(hit) << (8 * i);
            high |= (uint32_t)json_gather(w) << (8 * i);
        }
        *wide = high;
        return hits;
    }
    static inline json_masks json_masks64(const uint8_t* p) {
        json_masks m = {0, 0, 0, 0};
        for (int i = 0; i < 8; i++) {
            uint64_t w = json_word(p + 8 * i);
            m.quote |= json_gather(json_zero(w ^ (JSON_ONES * '"'))) << (8 * i);
            m.backslash |= json_gather(json_zero(w ^ (JSON_ONES * 92))) << (8 * i);
            m.control |= json_gather(json_control(w)) << (8 * i);
            m.wide |= w & JSON_HIGH;
        }
        return m;
    }
    #endif
    /* Bit k of each mask: byte k is { or [ (open), } or ] (close). */
    typedef struct { uint64_t open, close; } json_brackets;
    static inline json_brackets json_brackets64(const uint8_t* p) {
        json_brackets b = {0, 0};
    #ifdef DELTASKIP_SSE2
        __m128i v[4];
        for (int i = 0; i < 4; i++)
            v[i] = _mm_or_si128(_mm_loadu_si128((const __m128i*)(p + 16 * i)), _mm_set1_epi8(32));
        b.open = json_equal64(v, '{');
        b.close = json_equal64(v, '}');
    #else
        for (int i = 0; i < 8; i++) {
            uint64_t w = json_word(p + 8 * i) | (JSON_ONES * 32);
            b.open |= json_gather(json_zero(w ^ (JSON_ONES * '{'))) << (8 * i);
            b.close |= json_gather(json_zero(w ^ (JSON_ONES * '}'))) << (8 * i);
        }
    #endif
        return b;
    }
    /* Bit k: whether an odd number of the bits 0..k is set. */
    static inline uint64_t json_inside(uint64_t quotes) {
        for (int i = 1; i < 64; i <<= 1) quotes ^= quotes << i;
        return quotes;
    }
    /* Which bytes a backslash escapes; `carry` is 1 where the next block's first byte is escaped. */
    static inline uint64_t json_escaped(uint64_t backslash, uint64_t* carry) {
        const uint64_t even = 0x5555555555555555ULL;
        uint64_t follows, starts, sum;
        if (!backslash) { follows = *carry; *carry = 0; return follows; }
        backslash &= ~*carry;
        follows = backslash << 1 | *carry;
        starts = backslash & ~even & ~follows;
        sum = starts + backslash;
        *carry = sum < starts;
        return (even ^ (sum << 1)) & follows;
    }
    /* memcmp() == 0, inline: keys are too short for a call. */
    static inline int json_same(const uint8_t* p, const uint8_t* q, int64_t n) {
        uint64_t a, b;
        uint32_t c, d;
        int64_t i;
        if (n >= 8) {
            for (i = 0; i + 8 < n; i += 8) {
                memcpy(&a, p + i, 8);
                memcpy(&b, q + i, 8);
                if (a != b) return 0;
            }
            memcpy(&a, p + n - 8, 8);
            memcpy(&b, q + n - 8, 8);
            return a == b;
        }
        if (n >= 4) {
            memcpy(&c, p, 4);
            memcpy(&d, q, 4);
            if (c != d) return 0;
            memcpy(&c, p + n - 4, 4);
            memcpy(&d, q + n - 4, 4);
            return c == d;
        }
        for (i = 0; i < n; i++) if (p[i] != q[i]) return 0;
        return 1;
    }
    static inline int json_first(uint64_t mask) { return __builtin_ctzll(mask); }
    static inline void json_copy16(uint8_t* to, const uint8_t* from) { memcpy(to, from, 16); }
    /* Copy p[0..n), n <= 64, without the bytes in `drop`; reads up to p + n + 16 and writes 16 bytes past the result. */
    static inline uint8_t* json_compact(const uint8_t* p, int n, uint64_t drop, uint8_t* out) {
        int from = 0, to, k;
        while (drop) {
            to = json_first(drop);
            json_copy16(out, p + from);
            for (k = 16; k < to - from; k += 16) json_copy16(out + k, p + from + k);
            out += to - from;
            from = to + 1;
            drop &= drop - 1;
        }
        for (k = 0; k < n - from; k += 16) json_copy16(out + k, p + from + k);
        return out + n - from;
    }
    #endif
    """
    ctypedef struct Masks "json_masks":
        uint64_t quote
        uint64_t backslash
        uint64_t control
        uint64_t wide
    ctypedef struct Brackets "json_brackets":
        uint64_t open
        uint64_t close
    Brackets brackets64 "json_brackets64"(const uint8_t* p) noexcept nogil
    uint64_t inside "json_inside"(uint64_t quotes) noexcept nogil
    uint32_t special16 "json_special16"(const uint8_t* p, uint32_t* wide) noexcept nogil
    Masks masks64 "json_masks64"(const uint8_t* p) noexcept nogil
    uint64_t escaped_bytes "json_escaped"(uint64_t backslash, uint64_t* carry) noexcept nogil
    int first_bit "json_first"(uint64_t mask) noexcept nogil
    uint8_t* compact "json_compact"(const uint8_t* p, int n, uint64_t drop, uint8_t* out) noexcept nogil
    bint same_bytes "json_same"(const uint8_t* p, const uint8_t* q, int64_t n) noexcept nogil
    void copy16 "json_copy16"(uint8_t* to, const uint8_t* source) noexcept nogil
