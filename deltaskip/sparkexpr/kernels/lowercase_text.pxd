"""The lower case of one text, and its order among others; every function here is inline.

A text's key is its lower case, code point by code point, and keys order by unsigned bytes.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport realloc
from libc.string cimport memcmp, memcpy, memset

from deltaskip.sparkexpr.kernels.byte_order cimport byteswap64, order_of_bytes
from deltaskip.sparkexpr.kernels.utf8 cimport Text, decode, encode, trimmed

cdef extern from *:
    """
    #define DS_HIGH_BITS 0x8080808080808080ULL
    """
    const uint64_t HIGH_BITS "DS_HIGH_BITS"
    int trailing_zeros "__builtin_ctzll"(uint64_t word) noexcept nogil


cdef enum:
    CAPITAL_I_DOT = 0x130
    # Bytes that one byte of text can become: an invalid one becomes U+FFFD.
    GROWTH = 3


cdef struct Folding:
    # The conversion of a value to its key; if pages is NULL, the key is the value's bytes.
    const uint16_t* page_of
    const int32_t* pages
    const uint16_t* pairs
    const uint8_t* unchanged
    bint trim


cdef struct Key:
    # A key in memory of its own, and its first eight bytes as a number that orders as they do.
    uint8_t* data
    int64_t size
    int64_t capacity
    uint64_t head


cdef inline uint64_t lower_word(uint64_t word) noexcept nogil:
    """Eight ASCII bytes in lower case: bit 7 of `capital` is set in each byte from A to Z."""
    cdef uint64_t capital = (word + 0x3F3F3F3F3F3F3F3FULL) & ~(word + 0x2525252525252525ULL) & HIGH_BITS
    return word | (capital >> 2)


cdef inline uint8_t lower_byte(uint8_t byte) noexcept nogil:
    return byte + (<uint8_t>(<uint8_t>(byte - 0x41) < 26) << 5)


cdef inline int lower_any(Text text, int64_t* at, const Folding* folding, uint8_t* out) noexcept nogil:
    cdef int32_t c = decode(text.data, text.size, at)
    if c == CAPITAL_I_DOT:
        memcpy(out, b"i\xcc\x87", 3)
        return 3
    return encode(c + folding.pages[256 * folding.page_of[c >> 8] + (c & 0xFF)], out)


cdef inline int lower_at(
    Text text, const uint8_t* end, int64_t* at, const Folding* folding, uint8_t* out
) noexcept nogil:
    """Write the lower case of one or two code points at `at`, which moves past them. Return its size, at most 4 bytes.

    Bytes up to `end` may be read.
    """
    cdef const uint8_t* data = text.data + at[0]
    cdef int64_t left = text.size - at[0]
    cdef uint32_t word
    cdef uint16_t pair
    if data[0] < 0x80:
        out[0] = lower_byte(data[0])
        at[0] += 1
        return 1
    if data + 4 <= end:
        memcpy(&word, data, 4)
        if word & 0xC0E0 == 0x80C0 and left >= 2:
            pair = folding.pairs[(word & 0x1F) << 6 | (word >> 8 & 0x3F)]
            if word & <uint32_t>0xC0E0C0E0U == <uint32_t>0x80C080C0U and left >= 4 and pair != 0:
                word = <uint32_t>folding.pairs[(word >> 16 & 0x1F) << 6 | (word >> 24 & 0x3F)] << 16 | pair
                if word >> 16 != 0:
                    memcpy(out, &word, 4)
                    at[0] += 4
                    return 4
            if pair != 0:
                memcpy(out, &pair, 2)
                at[0] += 2
                return 2
        elif word & 0xC0C0F0 == 0x8080E0 and left >= 3 and folding.unchanged[(word & 0x0F) << 4 | (word >> 10 & 0x0F)]:
            memcpy(out, &word, 3)
            at[0] += 3
            return 3
    return lower_any(text, at, folding, out)


cdef inline int64_t lower_text(Text text, const uint8_t* end, const Folding* folding, uint8_t* out) noexcept nogil:
    """Write the lower case of `text`, at most GROWTH bytes for each of its own. Return the number of bytes.

    Bytes up to `end` may be read, and up to eight bytes more than GROWTH allows are overwritten.
    """
    cdef int64_t at = 0, written = 0, ascii, left
    cdef uint64_t word
    while at < text.size:
        left = text.size - at
        word = 0
        if text.data + at + 8 <= end:
            memcpy(&word, text.data + at, 8)
        else:
            memcpy(&word, text.data + at, left if left < 8 else 8)
        ascii = 8 if word & HIGH_BITS == 0 else trailing_zeros(word & HIGH_BITS) >> 3
        if ascii > left:
            ascii = left
        # The bytes after the ASCII ones are overwritten in the next step.
        word = lower_word(word & 0x7F7F7F7F7F7F7F7FULL)
        memcpy(out + written, &word, 8)
        at += ascii
        written += ascii
        while at < text.size and text.data[at] >= 0x80:
            written += lower_at(text, end, &at, folding, out + written)
    return written


cdef inline int set_key(Key* key, Text text, const Folding* folding) noexcept nogil:
    """Replace `key` by that of `text`: 0, or -1 if memory is exhausted."""
    cdef int64_t wanted
    cdef uint8_t* grown
    if folding.trim:
        text = trimmed(text)
    wanted = GROWTH * text.size + 8
    if key.capacity < wanted:
        grown = <uint8_t*>realloc(key.data, wanted)
        if grown == NULL:
            return -1
        key.data, key.capacity = grown, wanted
    memset(key.data, 0, 8)
    if folding.pages != NULL:
        key.size = lower_text(text, text.data + text.size, folding, key.data)
    else:
        key.size = text.size
        if text.size > 0:
            memcpy(key.data, text.data, text.size)
    if key.size < 8:
        memset(key.data + key.size, 0, 8 - key.size)
    memcpy(&key.head, key.data, 8)
    key.head = byteswap64(key.head)
    return 0


cdef inline uint64_t key_head_beyond_ascii(Text text, const uint8_t* end, const Folding* folding) noexcept nogil:
    cdef uint8_t[12] lowered
    cdef uint64_t word
    cdef int64_t at = 0
    cdef int written = 0
    memset(lowered, 0, 8)
    while written < 8 and at < text.size:
        written += lower_at(text, end, &at, folding, lowered + written)
    memcpy(&word, lowered, 8)
    return byteswap64(word)


cdef inline uint64_t key_head(Text text, const uint8_t* end, const Folding* folding) noexcept nogil:
    """The first eight bytes of the key of `text` as a number; zeros follow a shorter key.

    Bytes up to `end` may be read. If two heads differ, the keys order as they do.
    """
    cdef uint64_t word = 0
    if text.data + 8 <= end:
        memcpy(&word, text.data, 8)
        if text.size < 8:
            # Two shifts, because a shift by 64 bits is undefined.
            word &= ~((<uint64_t>0xFFFFFFFFFFFFFFFFULL << (4 * text.size)) << (4 * text.size))
    elif text.size > 0:
        memcpy(&word, text.data, text.size)
    if folding.pages == NULL:
        return byteswap64(word)
    return byteswap64(lower_word(word)) if word & HIGH_BITS == 0 else key_head_beyond_ascii(text, end, folding)


cdef inline int order_to(Text text, const uint8_t* end, const Key* key, const Folding* folding) noexcept nogil:
    """-1, 0 or 1 as the key of `text` is below, equal to or above `key`; stops at the first byte that differs."""
    cdef int64_t at = 0, told = 0, shared
    cdef uint64_t word, other
    cdef uint8_t[4] lowered
    cdef int size, order
    if folding.pages == NULL:
        return order_of_bytes(text.data, text.size, key.data, key.size)
    while at < text.size:
        if at + 8 <= text.size and told + 8 <= key.size:
            memcpy(&word, text.data + at, 8)
            memcpy(&other, key.data + told, 8)
            if not word & HIGH_BITS:
                word = lower_word(word)
                if word != other:
                    return 1 if byteswap64(word) > byteswap64(other) else -1
                at += 8
                told += 8
                continue
        size = lower_at(text, end, &at, folding, lowered)
        shared = size if size < key.size - told else key.size - told
        order = memcmp(lowered, key.data + told, shared) if shared > 0 else 0
        if order != 0:
            return (order > 0) - (order < 0)
        if shared < size:
            return 1
        told += size
    return -1 if told < key.size else 0


cdef inline int order_of(
    uint64_t head, Text text, const uint8_t* end, const Key* key, const Folding* folding
) noexcept nogil:
    """The same for a text whose key begins with `head`."""
    if head != key.head:
        return (head > key.head) - (head < key.head)
    return order_to(text, end, key, folding)
