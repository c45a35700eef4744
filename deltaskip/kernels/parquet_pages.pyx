"""Decoding of single rows from the pages of a Parquet column chunk: only the values of these rows are copied.

The column is not nested. Its pages are plain or have a dictionary, and are decompressed by the caller. All bytes are
untrusted: each is read through a checked cursor, and what violates the format, or is encoded in another way, raises
ValueError, after which another reader has to be asked.
# Parquet, Data Pages; Parquet Encodings: Plain, Dictionary, and Run Length Encoding / Bit-Packing Hybrid
"""

import pyarrow as pa

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from deltaskip.kernels.arrow cimport ByteBuffer, check, zeros

__all__ = ["RowTaker"]

cdef extern from *:
    int popcount32 "__builtin_popcount"(unsigned int word) noexcept nogil

cdef enum Encoding:
    PLAIN = 0
    PLAIN_DICTIONARY = 2
    RLE_DICTIONARY = 8

cdef enum Fault:
    FINE = 0
    SHORT = 1
    NUMBER = 2
    WIDTH = 3
    INDEX = 4
    ORDER = 5
    LONG = 6

REASONS = {
    SHORT: "it ends before its last value does",
    NUMBER: "a number has more than 64 bits, or counts too many values",
    WIDTH: "an index has more than 32 bits",
    INDEX: "an index is not one of the dictionary",
    ORDER: "the rows to take do not ascend",
    LONG: "its strings have more bytes than 32-bit offsets can count",
}

cdef struct Cursor:
    const uint8_t* at
    const uint8_t* end


cdef class _Bytes:
    """Bytes of a Python object, which it keeps alive."""
    cdef Py_buffer view
    cdef bint held

    def __cinit__(self, object data):
        self.held = False
        PyObject_GetBuffer(data, &self.view, PyBUF_SIMPLE)
        self.held = True

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)

    cdef Cursor cursor(self) noexcept nogil:
        cdef Cursor cursor
        cursor.at = <const uint8_t*>self.view.buf
        cursor.end = cursor.at + self.view.len
        return cursor


cdef int _checked(int fault) except -1:
    if fault in REASONS:
        raise ValueError(f"the page is damaged: {REASONS[fault]}")
    return check(fault)


cdef int _varint(Cursor* cursor, uint64_t* value) noexcept nogil:
    cdef int shift = 0
    value[0] = 0
    while cursor.at < cursor.end:
        value[0] |= <uint64_t>(cursor.at[0] & 0x7F) << shift
        cursor.at += 1
        if cursor.at[-1] < 0x80:
            return FINE
        shift += 7
        if shift > 63:
            return NUMBER
    return SHORT


cdef int _skip(Cursor* cursor, uint64_t n) noexcept nogil:
    if n > <uint64_t>(cursor.end - cursor.at):
        return SHORT
    cursor.at += n
    return FINE


cdef struct Hybrid:
    # Numbers as runs of one value and groups of eight packed ones. The run has items `first` to `first + count`.
    Cursor left
    int width
    int64_t first
    int64_t count
    bint packed
    uint32_t value
    const uint8_t* bits
    # For levels: how many of the items before `seen` are 1.
    int64_t seen
    int64_t ones


cdef Hybrid _hybrid(Cursor cursor, int width) noexcept nogil:
    cdef Hybrid hybrid
    memset(&hybrid, 0, sizeof(hybrid))
    hybrid.left = cursor
    hybrid.width = width
    return hybrid


cdef int _next_run(Hybrid* hybrid) noexcept nogil:
    cdef uint64_t header
    cdef int64_t size
    cdef int fault = _varint(&hybrid.left, &header)
    if fault:
        return fault
    hybrid.first += hybrid.count
    if header >> 1 > INT32_MAX:
        return NUMBER
    hybrid.packed = header & 1
    if hybrid.packed:
        hybrid.count = <int64_t>(header >> 1) * 8
        hybrid.bits = hybrid.left.at
        return _skip(&hybrid.left, (header >> 1) * hybrid.width)
    hybrid.count = <int64_t>(header >> 1)
    size = (hybrid.width + 7) >> 3
    if hybrid.left.end - hybrid.left.at < size:
        return SHORT
    hybrid.value = 0
    memcpy(&hybrid.value, hybrid.left.at, size)
    hybrid.left.at += size
    return FINE


cdef int _item(Hybrid* hybrid, int64_t i, uint32_t* value) noexcept nogil:
    """Item i, which is not before the one that was asked for last."""
    cdef int64_t bit
    cdef uint64_t word = 0
    cdef const uint8_t* at
    cdef int64_t most
    cdef int fault
    while i >= hybrid.first + hybrid.count:
        fault = _next_run(hybrid)
        if fault:
            return fault
    if not hybrid.packed:
        value[0] = hybrid.value
        return FINE
    bit = (i - hybrid.first) * hybrid.width
    at = hybrid.bits + (bit >> 3)
    most = hybrid.bits + (hybrid.count >> 3) * hybrid.width - at
    memcpy(&word, at, 8 if most >= 8 else most)
    word >>= bit & 7
    value[0] = <uint32_t>(word & ((<uint64_t>1 << hybrid.width) - 1))
    return FINE


cdef int _level(Hybrid* levels, int64_t i, bint* present) noexcept nogil:
    """Whether row i has a value; `levels.ones` becomes the number of values before it."""
    cdef int64_t stop, bit
    cdef uint32_t value
    cdef int fault
    while levels.seen < i:
        if levels.seen >= levels.first + levels.count:
            fault = _next_run(levels)
            if fault:
                return fault
            continue
        stop = min(i, levels.first + levels.count)
        if levels.packed:
            bit = levels.seen - levels.first
            while levels.seen < stop:
                if bit & 7 == 0 and stop - levels.seen >= 8:
                    levels.ones += popcount32(levels.bits[bit >> 3])
                    levels.seen += 8
                    bit += 8
                else:
                    levels.ones += (levels.bits[bit >> 3] >> (bit & 7)) & 1
                    levels.seen += 1
                    bit += 1
        else:
            if levels.value & 1:
                levels.ones += stop - levels.seen
            levels.seen = stop
    fault = _item(levels, i, &value)
    present[0] = value & 1
    return fault


cdef class RowTaker:
    """Collects the values of some rows of a column chunk, page by page.

    Args:
        positions: Buffer of int64: the rows within the column chunk, ascending.
        width: Bytes of a value in the pages; 0 for byte arrays, -1 for booleans.
        out_width: Bytes of a value in the result, for fixed widths: less keeps the low ones, more extends the sign.
        big_endian: Whether values are big-endian numbers, to be turned.
        optional: Whether the column can be null.

    Raises:
        ValueError: Arguments that do not fit together.
    """
    cdef _Bytes rows
    cdef const int64_t* positions
    cdef int64_t count
    cdef int64_t done
    cdef int64_t first_row
    cdef int64_t width
    cdef int64_t out_width
    cdef bint big_endian
    cdef bint optional
    cdef _Bytes dictionary
    cdef int64_t entries
    cdef ByteBuffer starts
    cdef ByteBuffer values
    cdef ByteBuffer offsets
    cdef ByteBuffer validity
    cdef uint8_t* valid
    cdef uint8_t* out
    cdef int64_t nulls

    def __init__(self, object positions not None, int64_t width, int64_t out_width, bint big_endian, bint optional):
        self.rows = _Bytes(positions)
        if self.rows.view.len % 8 or not -1 <= width <= 32 or (width > 0 and not 1 <= out_width <= 32):
            raise ValueError("these are not positions, or no widths of values")
        self.positions = <const int64_t*>self.rows.view.buf
        self.count = self.rows.view.len // 8
        self.done = self.first_row = self.entries = self.nulls = 0
        self.width, self.out_width, self.big_endian, self.optional = width, out_width, big_endian, optional
        self.validity = zeros((self.count + 7) >> 3)
        self.valid = self.validity.data
        memset(self.valid, 0xFF, self.validity.size)
        if width > 0:
            self.values = zeros(self.count * out_width)
        elif width == 0:
            self.values = ByteBuffer.__new__(ByteBuffer)
            self.offsets = zeros((self.count + 1) * 4)
        else:
            self.values = zeros((self.count + 7) >> 3)
        self.out = self.values.data

    def wanted(self, int64_t values):
        """Return whether one of the rows is in the next page, which has so many values; a page without is passed."""
        if self.done < self.count and self.positions[self.done] < self.first_row + values:
            return True
        self.first_row += values
        return False

    def set_dictionary(self, object page not None, int64_t entries):
        """Take the dictionary. Raises ValueError.

        Args:
            page: Buffer of its values, decompressed, encoded as PLAIN.
            entries: Number of its values.
        """
        cdef _Bytes held = _Bytes(page)
        cdef Cursor cursor = held.cursor()
        cdef const uint8_t* first = cursor.at
        cdef ByteBuffer starts = None
        cdef int64_t i
        cdef int fault = FINE
        if self.width < 0 or entries < 0:
            raise ValueError("booleans have no dictionary")
        # Byte arrays have four bytes of length.
        if entries > (cursor.end - cursor.at) // (self.width or 4):
            raise ValueError("the dictionary ends before its last value does")
        if self.width == 0:
            starts = zeros(entries * 8)
            with nogil:
                for i in range(entries):
                    (<int64_t*>starts.data)[i] = cursor.at - first
                    fault = _pass_bytes(&cursor)
                    if fault:
                        break
            _checked(fault)
        self.dictionary, self.starts, self.entries = held, starts, entries

    def take(self, object levels, object page not None, int64_t values, int64_t encoding):
        """Take the rows of the next page.

        Args:
            levels: Buffer of the levels of definition, without their length; None if they begin the page.
            page: Buffer of the page, decompressed.
            values: Number of its values, null or not.
            encoding: Number of the encoding of its values.

        Raises:
            ValueError: The page violates the format, or another reader is needed for its encoding.
        """
        cdef _Bytes held = _Bytes(page)
        cdef _Bytes apart
        cdef Cursor cursor = held.cursor()
        cdef Cursor before
        cdef uint32_t size
        cdef int fault
        before.at = before.end = cursor.at
        if levels is not None:
            apart = _Bytes(levels)
            before = apart.cursor()
        elif self.optional:
            if cursor.end - cursor.at < 4:
                _checked(SHORT)
            memcpy(&size, cursor.at, 4)
            cursor.at += 4
            before.at = cursor.at
            _checked(_skip(&cursor, size))
            before.end = cursor.at
        cdef bint indexed = encoding == PLAIN_DICTIONARY or encoding == RLE_DICTIONARY
        if encoding != PLAIN and not (indexed and self.dictionary is not None):
            raise ValueError(f"the encoding {encoding} is not read here")
        with nogil:
            fault = self._rows(cursor, before, values, indexed)
        _checked(fault)
        self.first_row += values

    def finish(self):
        """Return the buffers of the values: validity (None without nulls), offsets (of byte arrays) and values.

        Raises:
            ValueError: A row was not in the pages.
        """
        if self.done != self.count:
            raise ValueError("rows are missing in the pages")
        validity = pa.py_buffer(self.validity) if self.nulls else None
        return validity, None if self.offsets is None else pa.py_buffer(self.offsets), pa.py_buffer(self.values)

    cdef int _rows(self, Cursor cursor, Cursor before, int64_t values, bint indexed) noexcept nogil:
        """Take the rows of a page. before: its levels; cursor: its values, or with `indexed` those of its indexes."""
        cdef Hybrid levels = _hybrid(before, 1)
        cdef Hybrid indexes
        cdef int64_t number, passed = 0
        cdef bint present
        cdef int fault
        # A page of nulls only may have no values, not even the width of an index.
        memset(&indexes, 0, sizeof(indexes))
        if indexed and cursor.at < cursor.end:
            if cursor.at[0] > 32:
                return WIDTH
            cursor.at += 1
            indexes = _hybrid(cursor, cursor.at[-1])
        while self.done < self.count and self.positions[self.done] < self.first_row + values:
            fault = self._find(&levels, &present, &number)
            if fault:
                return fault
            if not present:
                self._null()
            elif indexed:
                fault = self._entry(&indexes, number)
            else:
                fault = self._value(&cursor, &passed, number)
            if fault:
                return fault
            self._end_row()
        return FINE

    cdef int _find(self, Hybrid* levels, bint* present, int64_t* number) noexcept nogil:
        """Whether the next row has a value, and which of the page."""
        cdef int64_t row = self.positions[self.done] - self.first_row
        cdef int fault
        if row < 0 or (self.done > 0 and self.positions[self.done] <= self.positions[self.done - 1]):
            return ORDER
        present[0] = True
        number[0] = row
        if self.optional:
            fault = _level(levels, row, present)
            if fault:
                return fault
            number[0] = levels.ones
        return FINE

    cdef int _value(self, Cursor* cursor, int64_t* passed, int64_t number) noexcept nogil:
        """Take a value. cursor: at the first value, of byte arrays at the one of the number `passed`."""
        cdef int fault
        if self.width == 0:
            while passed[0] < number:
                fault = _pass_bytes(cursor)
                if fault:
                    return fault
                passed[0] += 1
            return self._add_bytes(cursor[0])
        if self.width < 0:
            if number >> 3 >= cursor.end - cursor.at:
                return SHORT
            self.out[self.done >> 3] |= <uint8_t>(((cursor.at[number >> 3] >> (number & 7)) & 1) << (self.done & 7))
            return FINE
        if number >= (cursor.end - cursor.at) // self.width:
            return SHORT
        self._copy(cursor.at + number * self.width)
        return FINE

    cdef int _entry(self, Hybrid* indexes, int64_t number) noexcept nogil:
        """Take the entry of the dictionary that an index names."""
        cdef uint32_t index = 0
        cdef Cursor entry
        cdef int fault = _item(indexes, number, &index)
        if fault:
            return fault
        if index >= self.entries:
            return INDEX
        entry = self.dictionary.cursor()
        if self.width == 0:
            entry.at += (<int64_t*>self.starts.data)[index]
            return self._add_bytes(entry)
        self._copy(entry.at + index * self.width)
        return FINE

    cdef void _copy(self, const uint8_t* value) noexcept nogil:
        cdef uint8_t* out = self.out + self.done * self.out_width
        cdef int64_t i, size = min(self.width, self.out_width)
        cdef uint8_t highest = value[0] if self.big_endian else value[self.width - 1]
        if self.big_endian:
            for i in range(size):
                out[i] = value[self.width - 1 - i]
        elif size == 8:
            memcpy(out, value, 8)
        elif size == 4:
            memcpy(out, value, 4)
        else:
            memcpy(out, value, size)
        if size < self.out_width:
            memset(out + size, 0xFF if highest & 0x80 else 0, self.out_width - size)

    cdef void _null(self) noexcept nogil:
        self.valid[self.done >> 3] ^= <uint8_t>(1 << (self.done & 7))
        self.nulls += 1

    cdef void _end_row(self) noexcept nogil:
        self.done += 1
        if self.width == 0:
            (<int32_t*>self.offsets.data)[self.done] = <int32_t>self.values.size

    cdef int _add_bytes(self, Cursor cursor) noexcept nogil:
        """Add the byte array at the cursor, which has its length in front."""
        cdef const uint8_t* start = cursor.at
        cdef int fault = _pass_bytes(&cursor)
        if fault:
            return fault
        if self.values.size + (cursor.at - start) > INT32_MAX:
            return LONG
        return self.values.append(start + 4, cursor.at - start - 4)


cdef int _pass_bytes(Cursor* cursor) noexcept nogil:
    cdef uint32_t size
    if cursor.end - cursor.at < 4:
        return SHORT
    memcpy(&size, cursor.at, 4)
    cursor.at += 4
    return _skip(cursor, size)
