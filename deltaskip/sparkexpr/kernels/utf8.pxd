"""Untrusted UTF-8, one code point at a time; every function here is inline."""

from libc.stdint cimport int32_t, int64_t, uint8_t


cdef enum:
    REPLACEMENT = 0xFFFD


cdef struct Text:
    const uint8_t* data
    int64_t size


cdef inline Text trimmed(Text text) noexcept nogil:
    while text.size > 0 and text.data[text.size - 1] == 0x20:
        text.size -= 1
    return text


cdef inline int32_t decode(const uint8_t* data, int64_t size, int64_t* at) noexcept nogil:
    """The code point at `at`, which moves past it; U+FFFD for an invalid sequence, of which the maximal part is skipped.

    # Unicode, table 3-7: the second byte has a smaller range after E0, ED, F0 and F4.
    """
    cdef uint8_t first = data[at[0]], low = 0x80, high = 0xBF
    cdef int32_t code_point
    cdef int left
    at[0] += 1
    if first < 0x80:
        return first
    if 0xC2 <= first < 0xE0:
        left, code_point = 1, first & 0x1F
    elif first >= 0xE0 and first < 0xF0:
        left, code_point = 2, first & 0x0F
        if first == 0xE0:
            low = 0xA0
        elif first == 0xED:
            high = 0x9F
    elif 0xF0 <= first < 0xF5:
        left, code_point = 3, first & 0x07
        if first == 0xF0:
            low = 0x90
        elif first == 0xF4:
            high = 0x8F
    else:
        return REPLACEMENT
    while left > 0:
        if at[0] >= size or not low <= data[at[0]] <= high:
            return REPLACEMENT
        code_point = code_point << 6 | (data[at[0]] & 0x3F)
        low, high = 0x80, 0xBF
        at[0] += 1
        left -= 1
    return code_point


cdef inline int encode(int32_t c, uint8_t* out) noexcept nogil:
    """Write code point `c`. Return the number of bytes."""
    if c < 0x80:
        out[0] = c
        return 1
    if c < 0x800:
        out[0] = 0xC0 | c >> 6
        out[1] = 0x80 | (c & 0x3F)
        return 2
    if c < 0x10000:
        out[0] = 0xE0 | c >> 12
        out[1] = 0x80 | (c >> 6 & 0x3F)
        out[2] = 0x80 | (c & 0x3F)
        return 3
    out[0] = 0xF0 | c >> 18
    out[1] = 0x80 | (c >> 12 & 0x3F)
    out[2] = 0x80 | (c >> 6 & 0x3F)
    out[3] = 0x80 | (c & 0x3F)
    return 4
