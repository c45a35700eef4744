"""The values of one leaf, one per text, under construction as an Arrow column."""

import pyarrow as pa

from libc.stdint cimport int64_t, uint8_t

from deltaskip.sparkexpr.kernels.arrow cimport ByteBuffer, PrimitiveView, primitive_view, zeros
from deltaskip.sparkexpr.kernels.json_cursor cimport Text, append_text
from deltaskip.sparkexpr.kernels.json_number cimport plain_int64, short_double


cdef inline bint believed(int64_t value, const Text* text) noexcept nogil:
    """Whether the text is exactly the value. With a point or an exponent it is the text of a double, which prints
    15 digits (stats.believed_bounds)."""
    cdef int64_t i
    cdef int64_t printed = <int64_t>1000000000 * 1000000
    if -printed < value < printed:
        return True
    for i in range(text.size):
        if text.data[i] == 0x2E or text.data[i] | 0x20 == 0x65:
            return False
    return True


cdef class LeafColumn:
    def __cinit__(self, int64_t rows):
        self.rows = rows
        self.kinds = zeros(rows)
        self.there = zeros((rows + 7) // 8)
        self.values = zeros((rows + 1) * 8)
        self.text = ByteBuffer()
        self.doubts = ByteBuffer()
        self.doubt_ends = zeros(8)

    cdef int put(self, int64_t row, Wanted wanted, Kind kind, Text* text) noexcept nogil:
        """Set one item. Return 0, or -1 if memory is exhausted."""
        cdef bint there = wanted == TEXTS and IS_STRING <= kind <= IS_BOOLEAN
        self.kinds.data[row] = kind
        if wanted == TEXTS:
            if there and append_text(self.text, text) != 0:
                return -1
            (<int64_t*>self.values.data)[row + 1] = self.text.size
        elif kind == IS_NUMBER and wanted == LONGS:
            there = plain_int64(text.data, text.size, <int64_t*>self.values.data + row)
            there = there and believed((<int64_t*>self.values.data)[row], text)
        elif kind == IS_NUMBER:
            there = True
            if not short_double(text.data, text.size, <double*>self.values.data + row):
                if append_text(self.text, text) != 0 or self.doubts.append_int64(row) != 0:
                    return -1
                if self.doubt_ends.append_int64(self.text.size) != 0:
                    return -1
        if there:
            self.there.data[row >> 3] = <uint8_t>(self.there.data[row >> 3] | 1 << (row & 7))
        return 0

    cdef tuple finish(self, Wanted wanted):
        there = pa.py_buffer(self.there)
        kinds = pa.Array.from_buffers(pa.uint8(), self.rows, [None, pa.py_buffer(self.kinds)], 0)
        if wanted == TEXTS:
            buffers = [there, pa.py_buffer(self.values), pa.py_buffer(self.text)]
            return pa.Array.from_buffers(pa.large_string(), self.rows, buffers), kinds
        if self.doubts.size > 0:
            self.settle_doubts()
        self.values.size = self.rows * 8
        type = pa.int64() if wanted == LONGS else pa.float64()
        return pa.Array.from_buffers(type, self.rows, [there, pa.py_buffer(self.values)]), kinds

    cdef int settle_doubts(self) except -1:
        """Have Arrow compute the double nearest to each text, or Python if one is out of range for Arrow."""
        cdef int64_t i
        cdef int64_t n = self.doubts.size // 8
        cdef PrimitiveView doubles
        texts = pa.Array.from_buffers(pa.large_string(), n, [None, pa.py_buffer(self.doubt_ends), pa.py_buffer(self.text)])
        try:
            parsed = texts.cast(pa.float64())
        except pa.ArrowInvalid:
            parsed = pa.array([float(text) for text in texts.to_pylist()], pa.float64())
        doubles = primitive_view(parsed)
        for i in range(n):
            (<double*>self.values.data)[(<int64_t*>self.doubts.data)[i]] = (<const double*>doubles.values)[i]
        return 0
