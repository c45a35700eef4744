"""Strings in the order of their lower case: keys, comparison with a literal, minimum and maximum.

A table maps each code point to its lower case, and U+0130 to two code points (`i`, U+0307); each maximal invalid part
of UTF-8 is replaced by U+FFFD first. Keys order by unsigned bytes, which is the order of code points. Without a table
the bytes stay as they are. With `trim`, trailing U+0020 are ignored.
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize, PyBytes_Size
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

import pyarrow as pa

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView, ByteBuffer, binary_view, check, is_valid, validity_buffer
from deltaskip.sparkexpr.kernels.lane cimport wide_void
from deltaskip.sparkexpr.kernels.lowercase_text cimport (
    CAPITAL_I_DOT, GROWTH, Folding, Key, key_head, lower_byte, lower_text, order_of, set_key,
)
from deltaskip.sparkexpr.kernels.utf8 cimport Text, encode, trimmed

cdef enum:
    PAGES = 0x1100
    PAIRS = 0x800


cdef class LowercaseTable:
    """Code point → lower case where they differ, in two stages: pages of 256 differences.

    A to Z and U+0130 are always lowered. Raises ValueError for a number that is not a code point.
    """
    # Page 0 holds no differences; memory of a new object is zero.
    cdef uint16_t[PAGES] page_of
    cdef int32_t* pages
    # The two bytes of the lower case of a two-byte code point; 0 if the lower case takes more or fewer.
    cdef uint16_t[PAIRS] pairs
    # Whether blocks of 256 three-byte code points contain only their own lower case; 0 for blocks that UTF-8 lacks.
    cdef uint8_t[256] unchanged

    def __cinit__(self, dict lower not None: dict[int, int]):
        cdef int32_t code_point, lowered, page
        cdef int used = 1
        cdef uint8_t[4] encoded
        touched = sorted({c >> 8 for c in lower})
        if touched and not 0 <= min(touched) <= max(touched) < PAGES:
            raise ValueError("A code point must be below 0x110000.")
        self.pages = <int32_t*>calloc(256 * (len(touched) + 1), sizeof(int32_t))
        if self.pages == NULL:
            raise MemoryError
        for page in touched:
            self.page_of[page] = used
            used += 1
        for code_point, lowered in lower.items():
            if not 0 <= lowered < 0x110000 or 0xD800 <= lowered < 0xE000:
                raise ValueError("A lower case must be a code point that UTF-8 can encode.")
            self.pages[256 * self.page_of[code_point >> 8] + (code_point & 0xFF)] = lowered - code_point
        for code_point in range(0x80, PAIRS):
            lowered = code_point + self.pages[256 * self.page_of[code_point >> 8] + (code_point & 0xFF)]
            if 0x80 <= lowered < PAIRS and code_point != CAPITAL_I_DOT:
                encode(lowered, encoded)
                memcpy(&self.pairs[code_point], encoded, 2)
        for page in range(PAIRS >> 8, 256):
            self.unchanged[page] = self.page_of[page] == 0 and not 0xD8 <= page < 0xE0

    def __dealloc__(self):
        free(self.pages)


cdef struct Strings:
    const int32_t* offsets32
    const int64_t* offsets64
    const uint8_t* data
    # Bytes before it may be read.
    const uint8_t* end


def lower_keys(values: ArrowArrayExportable, LowercaseTable table, bint trim=False) -> pa.LargeBinaryArray:
    """Return the key of each value as large_binary; nulls stay null.

    values: string or binary, any offsets. Raises TypeError for another format.
    """
    cdef BinaryView view = binary_view(values)
    cdef Folding folding = _folding(table, trim)
    cdef ByteBuffer data = ByteBuffer.__new__(ByteBuffer)
    cdef ByteBuffer offsets = ByteBuffer.__new__(ByteBuffer)
    cdef int code
    with nogil:
        code = _keys(view, &folding, offsets, data)
    check(code)
    buffers = [validity_buffer(view.validity, view.offset, view.length), pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), view.length, buffers)


def compare_lower(
    values: ArrowArrayExportable, bytes literal not None, LowercaseTable table, bint trim=False
) -> pa.Int8Array:
    """Return int8: -1, 0 or 1 as the key of each value is below, equal to or above that of `literal`; nulls stay null.

    values: string or binary, any offsets. Raises TypeError for another format.
    """
    cdef BinaryView view = binary_view(values)
    cdef Folding folding = _folding(table, trim)
    cdef Text text = Text(<const uint8_t*>PyBytes_AsString(literal), PyBytes_Size(literal))
    cdef ByteBuffer out = ByteBuffer.__new__(ByteBuffer)
    cdef Key key = Key(NULL, 0, 0, 0)
    cdef int code
    with nogil:
        code = out.reserve(view.length)
        if code == 0:
            code = set_key(&key, text, &folding)
        if code == 0:
            _compare(view, &key, &folding, <int8_t*>out.data)
        free(key.data)
    check(code)
    out.size = view.length
    return pa.Array.from_buffers(pa.int8(), view.length, [validity_buffer(view.validity, view.offset, view.length), pa.py_buffer(out)])


def extremes_lower(values: ArrowArrayExportable, LowercaseTable table, bint trim=False) -> tuple[int, int] | None:
    """Return the positions of a value with the least and one with the greatest key; None if all values are null.

    values: string or binary, any offsets. Raises TypeError for another format.
    """
    cdef BinaryView view = binary_view(values)
    cdef Folding folding = _folding(table, trim)
    cdef int64_t least = -1, greatest = -1
    cdef int code
    with nogil:
        code = _extremes(view, &folding, &least, &greatest)
    check(code)
    return None if least < 0 else (least, greatest)


def lower_key(bytes value not None, LowercaseTable table, bint trim=False) -> bytes:
    """Return the key of one value."""
    cdef Folding folding = _folding(table, trim)
    cdef Key key = Key(NULL, 0, 0, 0)
    try:
        check(set_key(&key, Text(<const uint8_t*>PyBytes_AsString(value), PyBytes_Size(value)), &folding))
        return PyBytes_FromStringAndSize(<const char*>key.data, key.size)
    finally:
        free(key.data)


cdef Folding _folding(LowercaseTable table, bint trim) noexcept:
    if table is None:
        return Folding(NULL, NULL, NULL, NULL, trim)
    return Folding(&table.page_of[0], table.pages, &table.pairs[0], &table.unchanged[0], trim)


cdef Strings _strings(BinaryView view) noexcept nogil:
    """The values of a view that is not empty."""
    return Strings(view.offsets32, view.offsets64, view.data, view.data + view.end(view.length - 1))


cdef inline int64_t _at(Strings s, int64_t i) noexcept nogil:
    return s.offsets32[i] if s.offsets64 == NULL else s.offsets64[i]


cdef inline Text _value(Strings s, int64_t i, bint trim) noexcept nogil:
    cdef int64_t start = _at(s, i)
    cdef Text text = Text(s.data + start, _at(s, i + 1) - start)
    return trimmed(text) if trim else text


cdef wide_void _high_bits(const uint8_t* data, int64_t n, uint8_t* found) noexcept nogil:
    """Set bit 7 of found[0] if any byte has it."""
    cdef int64_t i
    cdef uint8_t seen = 0
    for i in range(n):
        seen |= data[i]
    found[0] = seen


cdef wide_void _lower_ascii(const uint8_t* data, int64_t n, uint8_t* out) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        out[i] = lower_byte(data[i])


cdef int _keys(BinaryView view, const Folding* folding, ByteBuffer offsets, ByteBuffer data) noexcept nogil:
    """0, or -1 if memory is exhausted."""
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
    # Keys are rarely longer than their values; the remainder covers the reservation for the last values.
    if data.reserve(size + (size >> 6) + 1024) != 0:
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
    if view.offsets64 == NULL:
        for i in range(view.length):
            ends[i + 1] = view.offsets32[i + 1] - start
    else:
        for i in range(view.length):
            ends[i + 1] = view.offsets64[i + 1] - start
    return 0


cdef int _keys_one_by_one(BinaryView view, const Folding* folding, int64_t* ends, ByteBuffer data) noexcept nogil:
    cdef int64_t i, wanted
    cdef Strings strings = _strings(view)
    cdef Text text
    for i in range(view.length):
        if is_valid(view.validity, view.offset + i):
            text = _value(strings, i, folding.trim)
            wanted = GROWTH * text.size + 8
            if data.capacity - data.size < wanted and data.reserve(wanted) != 0:
                return -1
            if folding.pages != NULL:
                data.size += lower_text(text, strings.end, folding, data.data + data.size)
            elif text.size > 0:
                memcpy(data.data + data.size, text.data, text.size)
                data.size += text.size
        ends[i + 1] = data.size
    return 0


cdef void _compare(BinaryView view, const Key* key, const Folding* folding, int8_t* out) noexcept nogil:
    cdef int64_t i
    cdef uint64_t head
    cdef Text text
    cdef Strings strings
    if view.length == 0:
        return
    strings = _strings(view)
    for i in range(view.length):
        text = _value(strings, i, folding.trim)
        head = key_head(text, strings.end, folding)
        out[i] = order_of(head, text, strings.end, key, folding)


cdef int _extremes(BinaryView view, const Folding* folding, int64_t* least, int64_t* greatest) noexcept nogil:
    """0, or -1 if memory is exhausted."""
    cdef int64_t i
    cdef uint64_t head
    cdef Text text
    cdef Key low = Key(NULL, 0, 0, 0)
    cdef Key high = Key(NULL, 0, 0, 0)
    cdef Strings strings
    cdef int code = 0
    if view.length == 0:
        return 0
    strings = _strings(view)
    for i in range(view.length):
        if not is_valid(view.validity, view.offset + i):
            continue
        text = _value(strings, i, folding.trim)
        head = key_head(text, strings.end, folding)
        if low.head < head < high.head:
            continue
        if least[0] < 0 or order_of(head, text, strings.end, &low, folding) < 0:
            least[0] = i
            code |= set_key(&low, text, folding)
        if greatest[0] < 0 or order_of(head, text, strings.end, &high, folding) > 0:
            greatest[0] = i
            code |= set_key(&high, text, folding)
        if code != 0:
            break
    free(low.data)
    free(high.data)
    return code
