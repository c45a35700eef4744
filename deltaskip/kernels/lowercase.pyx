"""Strings in the order of their lower case: keys, comparison with a literal, the least and the greatest.

Each code point is lowered by itself through a table, U+0130 to two (`i`, U+0307); each maximal invalid part of UTF-8 is
U+FFFD first. Keys order by unsigned bytes, which is the order of code points. Without a table bytes stay as they are.
With `trim` the U+0020 at the end do not count.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memcmp, memcpy, memset

import pyarrow as pa

from deltaskip.kernels.arrow cimport BinaryView, ByteBuffer, binary_view, check
from deltaskip.kernels.lane cimport is_valid, wide_void

cdef extern from *:
    """
    #define DS_HIGH_BITS 0x8080808080808080ULL
    """
    const uint64_t HIGH_BITS "DS_HIGH_BITS"
    uint64_t byteswap64 "__builtin_bswap64"(uint64_t word) noexcept nogil

cdef enum:
    PAGES = 0x1100
    REPLACEMENT = 0xFFFD
    CAPITAL_I_DOT = 0x130
    # Bytes that one byte of input can become: an invalid one becomes U+FFFD.
    GROWTH = 3


cdef class LowercaseTable:
    """Code point → lower case, for code points where they differ: two stages, pages of 256 differences."""
    # Page 0 holds no differences; memory of a new object is zero.
    cdef uint16_t[PAGES] page_of
    cdef int32_t* pages

    def __cinit__(self, dict lower not None):
        cdef int32_t code_point, lowered, page
        cdef int used = 1
        touched = sorted({c >> 8 for c in lower})
        if touched and not 0 <= min(touched) <= max(touched) < PAGES:
            raise ValueError("a code point is not below 0x110000")
        self.pages = <int32_t*>calloc(256 * (len(touched) + 1), sizeof(int32_t))
        if self.pages == NULL:
            raise MemoryError
        for page in touched:
            self.page_of[page] = used
            used += 1
        for code_point, lowered in lower.items():
            if not 0 <= lowered < 0x110000 or 0xD800 <= lowered < 0xE000:
                raise ValueError("a lower case is no code point that UTF-8 can hold")
            self.pages[256 * self.page_of[code_point >> 8] + (code_point & 0xFF)] = lowered - code_point

    def __dealloc__(self):
        free(self.pages)


cdef struct Folding:
    # What turns a value into its key; pages NULL: its bytes as they are.
    const uint16_t* page_of
    const int32_t* pages
    bint trim


cdef struct Text:
    const uint8_t* data
    int64_t size


cdef struct Key:
    # A key in memory of its own, and its first eight bytes as a number that orders as they do.
    uint8_t* data
    int64_t size
    int64_t capacity
    uint64_t head


def lower_keys(object values, LowercaseTable table, bint trim=False):
    """The key of each value as large_binary; nulls stay null.

    values: string or binary, any offsets. Raises TypeError on another format.
    """
    cdef BinaryView view = binary_view(values)
    cdef Folding folding = _folding(table, trim)
    cdef ByteBuffer data = ByteBuffer.__new__(ByteBuffer)
    cdef ByteBuffer offsets = ByteBuffer.__new__(ByteBuffer)
    cdef int code
    with nogil:
        code = _keys(view, folding, offsets, data)
    check(code)
    buffers = [_validity(view), pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), view.length, buffers)


def compare_lower(object values, bytes literal not None, LowercaseTable table, bint trim=False):
    """-1, 0 or 1 as the key of each value is below, equal to or above that of `literal`, as int8; nulls stay null.

    values: string or binary, any offsets. Raises TypeError on another format.
    """
    cdef BinaryView view = binary_view(values)
    cdef Folding folding = _folding(table, trim)
    cdef Text text = Text(<const uint8_t*>PyBytes_AS_STRING(literal), PyBytes_GET_SIZE(literal))
    cdef ByteBuffer out = ByteBuffer.__new__(ByteBuffer)
    cdef Key key = Key(NULL, 0, 0, 0)
    cdef int code
    with nogil:
        code = out.reserve(view.length)
        if code == 0:
            code = _set_key(&key, text, folding)
        if code == 0:
            _compare(view, key, folding, <int8_t*>out.data)
        free(key.data)
    check(code)
    out.size = view.length
    return pa.Array.from_buffers(pa.int8(), view.length, [_validity(view), pa.py_buffer(out)])


def extremes_lower(object values, LowercaseTable table, bint trim=False):
    """The positions of a value with the least and of one with the greatest key; None where every value is null.

    values: string or binary, any offsets. Raises TypeError on another format.
    """
    cdef BinaryView view = binary_view(values)
    cdef Folding folding = _folding(table, trim)
    cdef int64_t least = -1, greatest = -1
    cdef int code
    with nogil:
        code = _extremes(view, folding, &least, &greatest)
    check(code)
    return None if least < 0 else (least, greatest)


def lower_key(bytes value not None, LowercaseTable table, bint trim=False):
    """The key of one value."""
    cdef Folding folding = _folding(table, trim)
    cdef Key key = Key(NULL, 0, 0, 0)
    try:
        check(_set_key(&key, Text(<const uint8_t*>PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value)), folding))
        return PyBytes_FromStringAndSize(<const char*>key.data, key.size)
    finally:
        free(key.data)


cdef Folding _folding(LowercaseTable table, bint trim) noexcept:
    if table is None:
        return Folding(NULL, NULL, trim)
    return Folding(&table.page_of[0], table.pages, trim)


cdef object _validity(BinaryView view):
    """The view's validity bitmap from bit 0 on, None where nothing is null."""
    cdef int64_t i, size = (view.length + 7) >> 3
    cdef ByteBuffer out
    if view.validity == NULL or view.length == 0:
        return None
    out = ByteBuffer.__new__(ByteBuffer)
    check(out.reserve(size))
    memset(out.data, 0, size)
    for i in range(view.length):
        out.data[i >> 3] |= <uint8_t>(is_valid(view.validity, view.offset + i) << (i & 7))
    out.size = size
    return pa.py_buffer(out)


cdef inline Text _value(BinaryView view, int64_t i, bint trim) noexcept nogil:
    cdef int64_t start = view.start(i)
    cdef Text text = Text(view.data + start, view.end(i) - start)
    return _trimmed(text) if trim else text


cdef inline Text _trimmed(Text text) noexcept nogil:
    while text.size > 0 and text.data[text.size - 1] == 0x20:
        text.size -= 1
    return text


cdef inline uint64_t _lower_word(uint64_t word) noexcept nogil:
    """Eight ASCII bytes in lower case: bit 7 of `capital` is set in each byte from A to Z."""
    cdef uint64_t capital = (word + 0x3F3F3F3F3F3F3F3FULL) & ~(word + 0x2525252525252525ULL) & HIGH_BITS
    return word | (capital >> 2)


cdef inline uint8_t _lower_byte(uint8_t byte) noexcept nogil:
    return byte + (<uint8_t>(<uint8_t>(byte - 0x41) < 26) << 5)


cdef wide_void _high_bits(const uint8_t* data, int64_t n, uint8_t* found) noexcept nogil:
    """found[0] has bit 7 if some byte has."""
    cdef int64_t i
    cdef uint8_t seen = 0
    for i in range(n):
        seen |= data[i]
    found[0] = seen


cdef wide_void _lower_ascii(const uint8_t* data, int64_t n, uint8_t* out) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        out[i] = _lower_byte(data[i])


cdef int32_t _decode(const uint8_t* data, int64_t size, int64_t* at) noexcept nogil:
    """The code point at `at`, which moves behind it; U+FFFD behind the longest beginning of one that is cut short.

    # Unicode, table 3-7: the second byte is narrower behind E0, ED, F0 and F4.
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


cdef inline int _encode(int32_t c, uint8_t* out) noexcept nogil:
    """Write code point `c`; how many bytes it took."""
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


cdef inline int _lower_at(Text text, int64_t* at, Folding folding, uint8_t* out) noexcept nogil:
    """Write the lower case of the code point at `at`, at most four bytes, and move behind it; how many bytes."""
    cdef int32_t c = _decode(text.data, text.size, at)
    if c == CAPITAL_I_DOT:
        memcpy(out, b"i\xcc\x87", 3)
        return 3
    return _encode(c + folding.pages[256 * folding.page_of[c >> 8] + (c & 0xFF)], out)


cdef int64_t _lower(Text text, Folding folding, uint8_t* out) noexcept nogil:
    """Write the lower case of `text`, at most GROWTH bytes for each of its own and one more; how many bytes."""
    cdef int64_t at = 0, written = 0
    cdef uint64_t word
    while at < text.size:
        while at + 8 <= text.size:
            memcpy(&word, text.data + at, 8)
            if word & HIGH_BITS:
                break
            word = _lower_word(word)
            memcpy(out + written, &word, 8)
            at += 8
            written += 8
        while at < text.size and text.data[at] < 0x80:
            out[written] = _lower_byte(text.data[at])
            at += 1
            written += 1
        while at < text.size and text.data[at] >= 0x80:
            written += _lower_at(text, &at, folding, out + written)
    return written


cdef int _keys(BinaryView view, Folding folding, ByteBuffer offsets, ByteBuffer data) noexcept nogil:
    """0, or -1 when memory is out."""
    cdef int64_t i, start, size = 0
    cdef uint8_t seen = 0
    cdef int64_t* ends
    if offsets.reserve(8 * (view.length + 1)) != 0:
        return -1
    offsets.size = 8 * (view.length + 1)
    ends = <int64_t*>offsets.data
    ends[0] = 0
    if view.length == 0:
        return 0
    start = view.start(0)
    size = view.end(view.length - 1) - start
    if data.reserve(size) != 0:
        return -1
    if folding.pages != NULL:
        _high_bits(view.data + start, size, &seen)
    if folding.trim or seen & 0x80:
        return _keys_one_by_one(view, folding, ends, data)
    # Every value keeps its length, so the values are one text and the offsets move together.
    if folding.pages != NULL:
        _lower_ascii(view.data + start, size, data.data)
    elif size > 0:
        memcpy(data.data, view.data + start, size)
    data.size = size
    for i in range(view.length):
        ends[i + 1] = view.end(i) - start
    return 0


cdef int _keys_one_by_one(BinaryView view, Folding folding, int64_t* ends, ByteBuffer data) noexcept nogil:
    cdef int64_t i
    cdef Text text
    for i in range(view.length):
        if is_valid(view.validity, view.offset + i):
            text = _value(view, i, folding.trim)
            if folding.pages == NULL:
                if data.append(text.data, text.size) != 0:
                    return -1
            else:
                if data.reserve(GROWTH * text.size + 1) != 0:
                    return -1
                data.size += _lower(text, folding, data.data + data.size)
        ends[i + 1] = data.size
    return 0


cdef int _set_key(Key* key, Text text, Folding folding) noexcept nogil:
    """Replace `key` by that of `text`: 0, or -1 when memory is out."""
    cdef int64_t wanted
    cdef uint8_t* grown
    if folding.trim:
        text = _trimmed(text)
    wanted = GROWTH * text.size + 8
    if key.capacity < wanted:
        grown = <uint8_t*>realloc(key.data, wanted)
        if grown == NULL:
            return -1
        key.data, key.capacity = grown, wanted
    memset(key.data, 0, 8)
    if folding.pages != NULL:
        key.size = _lower(text, folding, key.data)
    else:
        key.size = text.size
        if text.size > 0:
            memcpy(key.data, text.data, text.size)
    if key.size < 8:
        memset(key.data + key.size, 0, 8 - key.size)
    memcpy(&key.head, key.data, 8)
    key.head = byteswap64(key.head)
    return 0


cdef inline bint _head(Text text, const uint8_t* end, Folding folding, uint64_t* head) noexcept nogil:
    """Whether the first eight bytes of the key of `text`, zeros behind a shorter one, could be told at once.

    Bytes up to `end` may be read. Where two heads differ, the keys order as they do.
    """
    cdef uint64_t word = 0
    if text.data + 8 <= end:
        memcpy(&word, text.data, 8)
        if text.size < 8:
            # Two shifts: one by 64 bits is not defined.
            word &= ~((<uint64_t>0xFFFFFFFFFFFFFFFFULL << (4 * text.size)) << (4 * text.size))
    elif text.size > 0:
        memcpy(&word, text.data, text.size)
    if folding.pages != NULL:
        if word & HIGH_BITS:
            return False
        word = _lower_word(word)
    head[0] = byteswap64(word)
    return True


cdef inline int _order(const uint8_t* a, int64_t a_size, const uint8_t* b, int64_t b_size) noexcept nogil:
    cdef int64_t shared = a_size if a_size < b_size else b_size
    cdef int order = memcmp(a, b, shared) if shared > 0 else 0
    if order == 0:
        return (a_size > b_size) - (a_size < b_size)
    return (order > 0) - (order < 0)


cdef int _order_to(Text text, const Key* key, Folding folding) noexcept nogil:
    """-1, 0 or 1 as the key of `text` is below, equal to or above `key`; stops at the first byte that tells."""
    cdef int64_t at = 0, told = 0, shared
    cdef uint64_t word, other
    cdef uint8_t[4] lowered
    cdef int size, order
    if folding.pages == NULL:
        return _order(text.data, text.size, key.data, key.size)
    while at < text.size:
        if at + 8 <= text.size and told + 8 <= key.size:
            memcpy(&word, text.data + at, 8)
            memcpy(&other, key.data + told, 8)
            if not word & HIGH_BITS:
                word = _lower_word(word)
                if word != other:
                    return 1 if byteswap64(word) > byteswap64(other) else -1
                at += 8
                told += 8
                continue
        size = _lower_at(text, &at, folding, lowered)
        shared = size if size < key.size - told else key.size - told
        order = memcmp(lowered, key.data + told, shared) if shared > 0 else 0
        if order != 0:
            return (order > 0) - (order < 0)
        if shared < size:
            return 1
        told += size
    return -1 if told < key.size else 0


cdef void _compare(BinaryView view, Key key, Folding folding, int8_t* out) noexcept nogil:
    cdef int64_t i
    cdef uint64_t head
    cdef Text text
    cdef const uint8_t* end
    if view.length == 0:
        return
    end = view.data + view.end(view.length - 1)
    for i in range(view.length):
        text = _value(view, i, folding.trim)
        if _head(text, end, folding, &head) and head != key.head:
            out[i] = (head > key.head) - (head < key.head)
        else:
            out[i] = _order_to(text, &key, folding)


cdef int _extremes(BinaryView view, Folding folding, int64_t* least, int64_t* greatest) noexcept nogil:
    """0, or -1 when memory is out."""
    cdef int64_t i
    cdef uint64_t head
    cdef bint told
    cdef Text text
    cdef Key low = Key(NULL, 0, 0, 0)
    cdef Key high = Key(NULL, 0, 0, 0)
    cdef const uint8_t* end
    cdef int code = 0
    if view.length == 0:
        return 0
    end = view.data + view.end(view.length - 1)
    for i in range(view.length):
        if not is_valid(view.validity, view.offset + i):
            continue
        text = _value(view, i, folding.trim)
        told = _head(text, end, folding, &head)
        if told and low.head < head < high.head:
            continue
        if least[0] < 0 or _below(told, head, text, &low, folding):
            least[0] = i
            code |= _set_key(&low, text, folding)
        if greatest[0] < 0 or _above(told, head, text, &high, folding):
            greatest[0] = i
            code |= _set_key(&high, text, folding)
        if code != 0:
            break
    free(low.data)
    free(high.data)
    return code


cdef inline bint _below(bint told, uint64_t head, Text text, const Key* key, Folding folding) noexcept nogil:
    return head < key.head if told and head != key.head else _order_to(text, key, folding) < 0


cdef inline bint _above(bint told, uint64_t head, Text text, const Key* key, Folding folding) noexcept nogil:
    return head > key.head if told and head != key.head else _order_to(text, key, folding) > 0
