"""The one checked cursor over untrusted JSON text (RFC 8259); every function here is inline.

A function that can fail returns 0 or SYNTAX, with the reason in `fault` and `at` on the wrong byte. No function reads
at or past `end`. Text outside strings is ASCII by the grammar, so UTF-8 is checked string by string.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from deltaskip.sparkexpr.kernels.arrow cimport ByteBuffer
from deltaskip.sparkexpr.kernels.byte_masks cimport (
    Brackets, Masks, brackets64, compact, copy16, escaped_bytes, first_bit, inside, masks64, same_bytes, special16,
)
from deltaskip.sparkexpr.kernels.utf8 cimport encode


cdef enum:
    SYNTAX = 1
    MAX_DEPTH = 512
    DEPTH_WORDS = 8


cdef struct Cursor:
    const uint8_t* at
    const uint8_t* end
    const char* fault
    int depth           # open containers around `at`
    bint one_line       # a newline ends the text
    bint bare_numbers   # NaN, Infinity and -Infinity are numbers


cdef struct Text:
    const uint8_t* data
    int64_t size
    bint escaped        # `data` is between the quotes, with its escapes
    bint wide           # a byte of it, or shortly after it, is not ASCII


cdef inline int fail(Cursor* c, const uint8_t* at, const char* fault) noexcept nogil:
    """Stop at `at`. At the end of the text, the reason is that it is truncated."""
    c.at = at
    c.fault = fault
    if at == c.end or (c.one_line and at[0] == 0x0A):
        c.fault = b"the text is truncated"
    return SYNTAX


cdef inline uint8_t skip_space(Cursor* c) noexcept nogil:
    """Return the first byte that is not white space; 0 at the end of the text."""
    if c.at < c.end and c.at[0] > 0x20:
        return c.at[0]
    return skip_some_space(c)


cdef inline uint8_t skip_some_space(Cursor* c) noexcept nogil:
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
    """Skip white space and then `wanted`."""
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
    """The character that backslash + ch represents; 0 for u and for an invalid escape."""
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
    fail(c, c.end if p[1] == 0x75 and c.end - p < 6 else p, b"a string contains an unknown escape")
    return -1


cdef inline int check_utf8(Cursor* c, const uint8_t* p, const uint8_t* end) noexcept nogil:
    """SYNTAX unless [p, end) is UTF-8 as defined in RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF."""
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
    or the position, outside any escape, where fewer than 64 bytes are left."""
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
            fail(c, q, b"a string contains a control character")
            return NULL
        p += 64 - <int>carry
        if carry != 0:
            length = check_escape(c, p)
            if length < 0:
                return NULL
            p += length
    return p


cdef inline int scan_string(Cursor* c, Text* text) noexcept nogil:
    """Skip a string; `at` is after its opening quote. Escapes, control characters and UTF-8 are checked."""
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
            return fail(c, p, b"a string contains a control character")
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


cdef inline int undo_escape(const uint8_t** source, const uint8_t* end, uint8_t** target) noexcept nogil:
    """Decode the checked escape at `source`, a surrogate pair as one; a lone surrogate becomes U+FFFD."""
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
    target[0] = out + encode(unit, out)
    source[0] = p
    return 0


cdef inline int64_t unescape(const uint8_t* p, int64_t size, uint8_t* out) noexcept nogil:
    """Write the checked string [p, p + size) without its escapes and return its length, never more than `size`;
    `out` has size + 16 bytes."""
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
    """Append the unescaped string: 0, or -1 if memory is exhausted."""
    if buffer.capacity - buffer.size < text.size + 16 and buffer.reserve(text.size + 16) != 0:
        return -1
    if text.escaped:
        buffer.size += unescape(text.data, text.size, buffer.data + buffer.size)
    else:
        memcpy(buffer.data + buffer.size, text.data, text.size)
        buffer.size += text.size
    return 0


cdef inline int copy_string(Cursor* c, ByteBuffer buffer) noexcept nogil:
    """scan_string and append_text at once, for strings that are long or full of escapes; -1 if memory is exhausted."""
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
            wide |= m.wide != 0
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
            return fail(c, p, b"a string contains a control character")
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
    """Unescape the key into `scratch`, where it stays until the next one: 0, or -1 if memory is exhausted."""
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
    """Skip `"key" :` and unescape the key; -1 if memory is exhausted."""
    if expect(c, 0x22, b"a key is missing") != 0 or scan_string(c, key) != 0:
        return SYNTAX
    if undo_key(key, scratch) != 0:
        return -1
    return expect(c, 0x3A, b"a colon is missing after a key")


cdef inline bint is_word(const uint8_t* p, int64_t size, const char* word, int64_t word_size) noexcept nogil:
    return size == word_size and same_bytes(p, <const uint8_t*>word, size)


cdef inline int skip_word(Cursor* c, const char* word, int size) noexcept nogil:
    """Skip `word`, whose first byte is already known to match."""
    cdef int k
    for k in range(size):
        if c.end - c.at <= k or c.at[k] != <uint8_t>word[k]:
            return fail(c, c.at + k, b"a value is not JSON")
    c.at += size
    return 0


cdef inline int skip_digits(Cursor* c) noexcept nogil:
    cdef const uint8_t* p = c.at
    cdef const uint8_t* end = c.end
    while p < end and <uint8_t>(p[0] - 0x30) <= 9:
        p += 1
    if p == c.at:
        return fail(c, p, b"a number lacks a digit")
    c.at = p
    return 0


cdef inline int skip_number(Cursor* c) noexcept nogil:
    """Skip a number of RFC 8259, or a bare one if the cursor allows them."""
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
    """Skip the string, number or literal whose first byte is ch."""
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
    return fail(c, c.at, b"a value is not JSON")


cdef inline int skip_value(Cursor* c) noexcept nogil:
    """Skip one value of any kind, and check all of it."""
    cdef uint8_t ch = skip_space(c)
    return skip_container(c) if ch == 0x7B or ch == 0x5B else skip_scalar(c, ch)


cdef inline int skip_container(Cursor* c) noexcept nogil:
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
    """Skip the object or array at `at` up to its closing bracket, 64 bytes at a time. Only strings, the number
    of brackets and the end of the text are checked. The memory can be read up to `readable`."""
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
