"""One checked cursor over JSON text (RFC 8259) that nobody has vouched for; every function here is inline.

A function that can fail answers 0 or SYNTAX and leaves the reason in `fault` with `at` on the byte at fault; nothing ever
reads at or past `end`. Text outside strings is ASCII by the grammar, so UTF-8 is checked string by string.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy, memset

from deltaskip.kernels.arrow cimport ByteBuffer


cdef extern from *:
    """
    #ifndef DELTASKIP_JSON_CURSOR
    #define DELTASKIP_JSON_CURSOR
    #include <stdint.h>
    #include <string.h>
    #if defined(__SSE2__) && !defined(DELTASKIP_PORTABLE)
    #include <emmintrin.h>
    #define DELTASKIP_SSE2
    #endif

    /* Bit k of each mask tells of byte k of 64. */
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
    static inline json_masks json_masks64(const uint8_t* p) {
        json_masks m = {0, 0, 0, 0};
        for (int i = 0; i < 4; i++) {
            __m128i v = _mm_loadu_si128((const __m128i*)(p + 16 * i));
            m.quote |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8('"'))) << (16 * i);
            m.backslash |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(92))) << (16 * i);
            m.control |= (uint64_t)(uint32_t)_mm_movemask_epi8(
                _mm_cmpeq_epi8(_mm_min_epu8(v, _mm_set1_epi8(31)), v)) << (16 * i);
            m.wide |= (uint64_t)(uint32_t)_mm_movemask_epi8(v) << (16 * i);
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
            m.wide |= json_gather(w) << (8 * i);
        }
        return m;
    }
    #endif
    /* Bit k of each mask: byte k is { or [ (open), } or ] (close). */
    typedef struct { uint64_t open, close; } json_brackets;
    static inline json_brackets json_brackets64(const uint8_t* p) {
        json_brackets b = {0, 0};
    #ifdef DELTASKIP_SSE2
        for (int i = 0; i < 4; i++) {
            __m128i v = _mm_or_si128(_mm_loadu_si128((const __m128i*)(p + 16 * i)), _mm_set1_epi8(32));
            b.open |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8('{'))) << (16 * i);
            b.close |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8('}'))) << (16 * i);
        }
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
    void copy16 "json_copy16"(uint8_t* to, const uint8_t* source) noexcept nogil


cdef enum:
    SYNTAX = 1
    MAX_DEPTH = 512
    DEPTH_WORDS = 8


cdef struct Cursor:
    const uint8_t* at
    const uint8_t* end
    const char* fault
    int depth           # containers that are open around `at`
    bint one_line       # a newline ends the text
    bint bare_numbers   # NaN, Infinity and -Infinity are numbers


cdef struct Text:
    const uint8_t* data
    int64_t size
    bint escaped        # `data` is between the quotes, its escapes not yet undone
    bint wide           # some byte is not ASCII


cdef inline int fail(Cursor* c, const uint8_t* at, const char* fault) noexcept nogil:
    """Stop at `at`; the end of the text outranks every other reason."""
    c.at = at
    c.fault = fault
    if at == c.end or (c.one_line and at[0] == 0x0A):
        c.fault = b"the text is cut"
    return SYNTAX


cdef inline uint8_t skip_space(Cursor* c) noexcept nogil:
    """The first byte that is no white space; 0 at the end of the text."""
    cdef const uint8_t* p = c.at
    while p < c.end:
        if p[0] > 0x20:
            break
        if p[0] != 0x20 and p[0] != 0x09 and p[0] != 0x0D and (p[0] != 0x0A or c.one_line):
            break
        p += 1
    c.at = p
    return p[0] if p < c.end else 0


cdef inline int expect(Cursor* c, uint8_t wanted, const char* fault) noexcept nogil:
    """Pass white space and then `wanted`."""
    if skip_space(c) != wanted or wanted == 0:
        return fail(c, c.at, fault)
    c.at += 1
    return 0


cdef inline int hex_digit(uint8_t ch) noexcept nogil:
    if 0x30 <= ch <= 0x39:
        return ch - 0x30
    ch |= 0x20
    return ch - 0x57 if 0x61 <= ch <= 0x66 else -1


cdef inline int32_t hex_unit(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """The UTF-16 unit of the four hex digits at p, or -1."""
    cdef int32_t unit = 0
    cdef int k, digit
    if end - p < 4:
        return -1
    for k in range(4):
        digit = hex_digit(p[k])
        if digit < 0:
            return -1
        unit = unit << 4 | digit
    return unit


cdef inline uint8_t escape_value(uint8_t ch) noexcept nogil:
    """What backslash + ch stands for; 0 for u and for no escape."""
    if ch == 0x22 or ch == 0x5C or ch == 0x2F:
        return ch
    if ch == 0x6E:
        return 0x0A
    if ch == 0x74:
        return 0x09
    if ch == 0x72:
        return 0x0D
    if ch == 0x62:
        return 0x08
    return 0x0C if ch == 0x66 else 0


cdef inline int check_escape(Cursor* c, const uint8_t* p) noexcept nogil:
    """The length of the escape whose backslash is at p, or -1 with the fault set."""
    if c.end - p < 2:
        fail(c, c.end, NULL)
        return -1
    if escape_value(p[1]) != 0:
        return 2
    if p[1] == 0x75 and hex_unit(p + 2, c.end) >= 0:
        return 6
    fail(c, c.end if p[1] == 0x75 and c.end - p < 6 else p, b"a string holds an unknown escape")
    return -1


cdef inline int check_utf8(Cursor* c, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """SYNTAX unless [p, end) is UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing past U+10FFFF."""
    cdef uint8_t lead, second
    cdef int n, k
    cdef uint64_t word
    while p < end:
        if end - p >= 8:
            memcpy(&word, p, 8)
            if word & <uint64_t>0x8080808080808080 == 0:
                p += 8
                continue
        lead = p[0]
        if lead < 0x80:
            p += 1
            continue
        n = 1 if 0xC2 <= lead <= 0xDF else 2 if lead & 0xF0 == 0xE0 else 3 if 0xF0 <= lead <= 0xF4 else 0
        if n == 0 or end - p <= n:
            return fail(c, p, b"a string is not UTF-8")
        second = p[1]
        if (lead == 0xE0 and second < 0xA0) or (lead == 0xED and second > 0x9F) or (lead == 0xF0 and second < 0x90) or (
            lead == 0xF4 and second > 0x8F
        ):
            return fail(c, p, b"a string is not UTF-8")
        for k in range(1, n + 1):
            if p[k] & 0xC0 != 0x80:
                return fail(c, p, b"a string is not UTF-8")
        p += n + 1
    return 0


cdef inline const uint8_t* scan_escapes(Cursor* c, const uint8_t* p, bint* wide) noexcept nogil:
    """The closing quote of a string that has escapes, from p inside it, in blocks of 64; NULL with the fault set,
    or the place, outside any escape, where fewer than 64 bytes are left."""
    cdef Masks m
    cdef uint64_t carry, escaped, stop, odd
    cdef const uint8_t* q
    cdef int length
    while c.end - p >= 64:
        m = masks64(p)
        carry = 0
        escaped = escaped_bytes(m.backslash, &carry)
        stop = (m.quote & ~escaped) | m.control
        odd = escaped & ~m.quote & ~m.backslash
        if stop != 0:
            stop = stop & (~stop + 1)
            odd &= stop - 1
            m.wide &= stop - 1
        if m.wide != 0:
            wide[0] = True
        while odd != 0:
            if check_escape(c, p + first_bit(odd) - 1) < 0:
                return NULL
            odd &= odd - 1
        if stop != 0:
            q = p + first_bit(stop)
            if q[0] == 0x22:
                return q
            fail(c, q, b"a string holds a control character")
            return NULL
        p += 64 - <int>carry
        if carry != 0:
            length = check_escape(c, p)
            if length < 0:
                return NULL
            p += length
    return p


cdef inline int scan_string(Cursor* c, Text* text) noexcept nogil:
    """Pass a string, `at` being behind its opening quote: escapes, control characters and UTF-8 are checked."""
    cdef const uint8_t* p = c.at
    cdef uint32_t hits, high
    cdef int length
    text.data = p
    text.escaped = False
    text.wide = False
    while True:
        if c.end - p >= 16:
            hits = special16(p, &high)
            if hits == 0:
                text.wide |= high != 0
                p += 16
                continue
            length = first_bit(hits)
            text.wide |= high & ((<uint32_t>1 << length) - 1) != 0
            p += length
        elif p == c.end:
            return fail(c, p, NULL)
        elif p[0] >= 0x20 and p[0] != 0x22 and p[0] != 0x5C:
            text.wide |= p[0] >= 0x80
            p += 1
            continue
        if p[0] == 0x22:
            break
        if p[0] != 0x5C:
            return fail(c, p, b"a string holds a control character")
        length = check_escape(c, p)
        if length < 0:
            return SYNTAX
        text.escaped = True
        p = scan_escapes(c, p + length, &text.wide)
        if p == NULL:
            return SYNTAX
    text.size = p - text.data
    if text.wide and check_utf8(c, text.data, p) != 0:
        return SYNTAX
    c.at = p + 1
    return 0


cdef inline uint8_t* put_code_point(uint8_t* out, int32_t point) noexcept nogil:
    if point < 0x80:
        out[0] = <uint8_t>point
        return out + 1
    if point < 0x800:
        out[0] = <uint8_t>(0xC0 | point >> 6)
        out[1] = <uint8_t>(0x80 | (point & 0x3F))
        return out + 2
    if point < 0x10000:
        out[0] = <uint8_t>(0xE0 | point >> 12)
        out[1] = <uint8_t>(0x80 | (point >> 6 & 0x3F))
        out[2] = <uint8_t>(0x80 | (point & 0x3F))
        return out + 3
    out[0] = <uint8_t>(0xF0 | point >> 18)
    out[1] = <uint8_t>(0x80 | (point >> 12 & 0x3F))
    out[2] = <uint8_t>(0x80 | (point >> 6 & 0x3F))
    out[3] = <uint8_t>(0x80 | (point & 0x3F))
    return out + 4


cdef inline int undo_escape(const uint8_t** source, const uint8_t* end, uint8_t** target) noexcept nogil:
    """Undo the checked escape at `source`, a surrogate pair in one go; a lone surrogate becomes U+FFFD."""
    cdef const uint8_t* p = source[0]
    cdef uint8_t* out = target[0]
    cdef int32_t unit, low
    cdef uint8_t value
    if end - p < 2:
        return SYNTAX
    value = escape_value(p[1])
    if value != 0:
        out[0] = value
        source[0] = p + 2
        target[0] = out + 1
        return 0
    unit = hex_unit(p + 2, end)
    if unit < 0:
        return SYNTAX
    p += 6
    if unit & 0xFC00 == 0xD800 and end - p >= 6 and p[0] == 0x5C and p[1] == 0x75:
        low = hex_unit(p + 2, end)
        if low & 0xFC00 == 0xDC00 and low >= 0:
            unit = 0x10000 + ((unit & 0x3FF) << 10) + (low & 0x3FF)
            p += 6
    if unit & 0xF800 == 0xD800 and unit < 0x10000:
        unit = 0xFFFD
    target[0] = put_code_point(out, unit)
    source[0] = p
    return 0


cdef inline int64_t unescape(const uint8_t* p, int64_t size, uint8_t* out) noexcept nogil:
    """Write the checked string [p, p + size) without its escapes and return its length, never more than `size`;
    `out` has room for size + 16 bytes."""
    cdef const uint8_t* end = p + size
    cdef uint8_t* begin = out
    cdef uint32_t hits, high
    cdef int length
    while p < end:
        if end - p >= 16:
            hits = special16(p, &high)
            copy16(out, p)
            length = first_bit(hits) if hits != 0 else 16
            p += length
            out += length
            if hits == 0:
                continue
        if p[0] != 0x5C:
            out[0] = p[0]
            p += 1
            out += 1
        elif undo_escape(&p, end, &out) != 0:
            break
    return out - begin


cdef inline int append_text(ByteBuffer buffer, Text* text) noexcept nogil:
    """Append the string's meaning: 0, or -1 when memory is out."""
    if buffer.reserve(text.size + 16) != 0:
        return -1
    if text.escaped:
        buffer.size += unescape(text.data, text.size, buffer.data + buffer.size)
    else:
        memcpy(buffer.data + buffer.size, text.data, text.size)
        buffer.size += text.size
    return 0


cdef inline int copy_string(Cursor* c, ByteBuffer buffer) noexcept nogil:
    """scan_string and append_text at once, for strings that are long or full of escapes; -1 when memory is out."""
    cdef const uint8_t* p = c.at
    cdef uint8_t* out
    cdef Masks m
    cdef uint64_t carry, escaped, stop, odd, seen
    cdef int length
    cdef bint wide = False
    while True:
        if buffer.capacity - buffer.size < 96 and buffer.reserve(96) != 0:
            return -1
        out = buffer.data + buffer.size
        if c.end - p >= 80:
            m = masks64(p)
            carry = 0
            escaped = escaped_bytes(m.backslash, &carry)
            stop = (m.quote & ~escaped) | m.control
            odd = escaped & ~m.quote & ~m.backslash
            stop |= odd >> 1 | carry << 63
            length = first_bit(stop) if stop != 0 else 64
            seen = ((<uint64_t>1 << length) - 1) if stop != 0 else <uint64_t>-1
            wide |= m.wide & seen != 0
            buffer.size = compact(p, length, m.backslash & ~escaped & seen, out) - buffer.data
            p += length
            if stop == 0:
                continue
            out = buffer.data + buffer.size
        elif p == c.end:
            return fail(c, p, NULL)
        if p[0] == 0x22:
            break
        if p[0] == 0x5C:
            if check_escape(c, p) < 0 or undo_escape(&p, c.end, &out) != 0:
                return SYNTAX
        elif p[0] < 0x20:
            return fail(c, p, b"a string holds a control character")
        else:
            wide |= p[0] >= 0x80
            out[0] = p[0]
            out += 1
            p += 1
        buffer.size = out - buffer.data
    if wide and check_utf8(c, c.at, p) != 0:
        return SYNTAX
    c.at = p + 1
    return 0


cdef inline int undo_key(Text* key, ByteBuffer scratch) noexcept nogil:
    """Undo the key's escapes into `scratch`, where it stands until the next one: 0, or -1 when memory is out."""
    if not key.escaped:
        return 0
    scratch.size = 0
    if append_text(scratch, key) != 0:
        return -1
    key.data = scratch.data
    key.size = scratch.size
    key.escaped = False
    return 0


cdef inline int read_key(Cursor* c, Text* key, ByteBuffer scratch) noexcept nogil:
    """Pass `"key" :` and undo the key's escapes; -1 when memory is out."""
    if expect(c, 0x22, b"a key is missing") != 0 or scan_string(c, key) != 0:
        return SYNTAX
    if undo_key(key, scratch) != 0:
        return -1
    return expect(c, 0x3A, b"a colon is missing after a key")


cdef inline bint is_word(const uint8_t* p, int64_t size, const char* word, int64_t word_size) noexcept nogil:
    return size == word_size and memcmp(p, word, word_size) == 0


cdef inline int skip_word(Cursor* c, const char* word, int size) noexcept nogil:
    """Pass `word`, whose first byte is already known to fit."""
    cdef int k
    for k in range(size):
        if c.end - c.at <= k or c.at[k] != <uint8_t>word[k]:
            return fail(c, c.at + k, b"a value is no JSON")
    c.at += size
    return 0


cdef inline int skip_digits(Cursor* c) noexcept nogil:
    if c.at == c.end or not 0x30 <= c.at[0] <= 0x39:
        return fail(c, c.at, b"a number lacks a digit")
    while c.at < c.end and 0x30 <= c.at[0] <= 0x39:
        c.at += 1
    return 0


cdef inline int skip_number(Cursor* c) noexcept nogil:
    """Pass a number of RFC 8259, or a bare one where the cursor allows them."""
    if c.bare_numbers and c.at < c.end and c.at[0] == 0x4E:
        return skip_word(c, b"NaN", 3)
    if c.at < c.end and c.at[0] == 0x2D:
        c.at += 1
    if c.bare_numbers and c.at < c.end and c.at[0] == 0x49:
        return skip_word(c, b"Infinity", 8)
    if c.at < c.end and c.at[0] == 0x30:
        c.at += 1
    elif skip_digits(c) != 0:
        return SYNTAX
    if c.at < c.end and c.at[0] == 0x2E:
        c.at += 1
        if skip_digits(c) != 0:
            return SYNTAX
    if c.at < c.end and c.at[0] | 0x20 == 0x65:
        c.at += 1
        if c.at < c.end and (c.at[0] == 0x2B or c.at[0] == 0x2D):
            c.at += 1
        return skip_digits(c)
    return 0


cdef inline bint starts_number(Cursor* c, uint8_t ch) noexcept nogil:
    return 0x30 <= ch <= 0x39 or ch == 0x2D or (c.bare_numbers and (ch == 0x4E or ch == 0x49))


cdef inline int skip_scalar(Cursor* c, uint8_t ch) noexcept nogil:
    """Pass the string, number or literal whose first byte is ch."""
    cdef Text text
    if ch == 0x22:
        c.at += 1
        return scan_string(c, &text)
    if starts_number(c, ch):
        return skip_number(c)
    if ch == 0x74:
        return skip_word(c, b"true", 4)
    if ch == 0x66:
        return skip_word(c, b"false", 5)
    if ch == 0x6E:
        return skip_word(c, b"null", 4)
    return fail(c, c.at, b"a value is no JSON")


cdef inline int skip_value(Cursor* c) noexcept nogil:
    """Pass one value of any kind, all of it checked."""
    cdef uint64_t objects[DEPTH_WORDS]
    cdef int depth = 0
    cdef uint8_t ch
    cdef bint in_object
    cdef Text key
    while True:
        ch = skip_space(c)
        if ch == 0x7B or ch == 0x5B:
            if depth + c.depth >= MAX_DEPTH:
                return fail(c, c.at, b"values nest too deeply")
            in_object = ch == 0x7B
            if in_object:
                objects[depth >> 6] |= <uint64_t>1 << (depth & 63)
            else:
                objects[depth >> 6] &= ~(<uint64_t>1 << (depth & 63))
            depth += 1
            c.at += 1
            ch = skip_space(c)
            if ch != (0x7D if in_object else 0x5D):
                if in_object:
                    if expect(c, 0x22, b"a key is missing") != 0 or scan_string(c, &key) != 0:
                        return SYNTAX
                    if expect(c, 0x3A, b"a colon is missing after a key") != 0:
                        return SYNTAX
                continue
        elif skip_scalar(c, ch) != 0:
            return SYNTAX
        while True:
            if depth == 0:
                return 0
            in_object = objects[(depth - 1) >> 6] >> ((depth - 1) & 63) & 1
            ch = skip_space(c)
            if ch == 0x2C:
                c.at += 1
                if in_object:
                    if expect(c, 0x22, b"a key is missing") != 0 or scan_string(c, &key) != 0:
                        return SYNTAX
                    if expect(c, 0x3A, b"a colon is missing after a key") != 0:
                        return SYNTAX
                break
            if ch != (0x7D if in_object else 0x5D):
                return fail(c, c.at, b"a comma or a closing bracket is missing")
            c.at += 1
            depth -= 1


cdef inline int skip_brackets(Cursor* c, const uint8_t* readable) noexcept nogil:
    """Pass the object or array at `at` up to its closing bracket, 64 bytes at a time: strings, the count of brackets and
    the end of the text are heeded, what stands between is not looked at. The memory can be read up to `readable`."""
    cdef const uint8_t* p = c.at
    cdef uint8_t rest[64]
    cdef Masks m
    cdef Brackets b
    cdef uint64_t carry = 0
    cdef uint64_t in_string = 0
    cdef uint64_t present, strings, marks, mark
    cdef int depth = c.depth
    while p < c.end:
        if readable - p >= 64:
            m = masks64(p)
            b = brackets64(p)
        else:
            memset(rest, 0x20, 64)
            memcpy(rest, p, c.end - p)
            m = masks64(rest)
            b = brackets64(rest)
        present = <uint64_t>-1 if c.end - p >= 64 else (<uint64_t>1 << (c.end - p)) - 1
        strings = inside(m.quote & ~escaped_bytes(m.backslash, &carry)) ^ in_string
        in_string = 0 - (strings >> 63)
        if ((m.control & strings) | (m.backslash & ~strings)) & present != 0:
            return SYNTAX
        marks = (b.open | b.close) & ~strings & present
        while marks != 0:
            mark = marks & (~marks + 1)
            if b.open & mark != 0:
                depth += 1
                if depth > MAX_DEPTH:
                    return SYNTAX
            else:
                depth -= 1
                if depth == c.depth:
                    c.at = p + first_bit(mark) + 1
                    return 0
            marks ^= mark
        p += 64
    return fail(c, c.end, NULL)


cdef inline bint integral(const uint8_t* p, int64_t size, int64_t* value) noexcept nogil:
    """Whether the checked number is exactly an int64, however written: 12, 12.0, 1.2e1."""
    cdef const uint8_t* end = p + size
    cdef bint negative = size > 0 and p[0] == 0x2D
    cdef bint point = False
    cdef bint minus
    cdef int64_t before = 0      # digits before the point
    cdef int64_t exponent = 0
    cdef int64_t zeros = 0       # zeros since the last digit that counts
    cdef int64_t digits = 0      # digits from the first that counts to the last
    cdef int64_t place = 0       # digits seen up to the last that counts
    cdef int64_t seen = 0
    cdef uint64_t magnitude = 0
    cdef int64_t k
    if negative:
        p += 1
    while p < end and p[0] | 0x20 != 0x65:
        if p[0] == 0x2E:
            point = True
        elif not 0x30 <= p[0] <= 0x39:
            return False
        else:
            seen += 1
            before += not point
            if p[0] == 0x30:
                zeros += 1
            else:
                digits = digits + zeros + 1 if digits > 0 else 1
                if digits > 19:
                    return False
                for k in range(zeros if digits > 1 else 0):
                    magnitude *= 10
                magnitude = magnitude * 10 + (p[0] - 0x30)
                zeros = 0
                place = seen
        p += 1
    if digits == 0:
        value[0] = 0
        return True
    if p < end:
        p += 1
        minus = p < end and p[0] == 0x2D
        while p < end:
            if 0x30 <= p[0] <= 0x39 and exponent < <int64_t>1 << 50:
                exponent = exponent * 10 + (p[0] - 0x30)
            p += 1
        if minus:
            exponent = -exponent
    exponent += before - place
    if exponent < 0 or digits + exponent > 19:
        return False
    for k in range(exponent):
        magnitude *= 10
    if magnitude > <uint64_t>0x7FFFFFFFFFFFFFFF + negative:
        return False
    value[0] = <int64_t>(0 - magnitude) if negative else <int64_t>magnitude
    return True


cdef inline bint plain_int64(const uint8_t* p, int64_t size, int64_t* value) noexcept nogil:
    """`integral`, quickly for at most 18 plain digits."""
    cdef int64_t n = 0
    cdef int64_t k = 1 if size > 0 and p[0] == 0x2D else 0
    if size > 18 or size == k:
        return integral(p, size, value)
    for k in range(k, size):
        if not 0x30 <= p[k] <= 0x39:
            return integral(p, size, value)
        n = n * 10 + (p[k] - 0x30)
    value[0] = -n if p[0] == 0x2D else n
    return True
