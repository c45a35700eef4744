"""The values of one node of a shredding schema, and what the kernels that make them share."""

import pyarrow as pa

from libc.stdint cimport int64_t, uint8_t

from deltaskip.sparkexpr.kernels.arrow cimport NO_MEMORY, BinaryView, ByteBuffer, binary_view, check, zeros
from deltaskip.sparkexpr.kernels.lane cimport same_length

REASONS = {
    BOTH: "value and typed_value are both set where only an object can be in both",
    EMPTY: "a value has no bytes",
    METADATA: "its metadata is missing, of another version than 1, or ends before its dictionary does",
    KEY: "a key lies outside of the dictionary in its metadata",
    UNKNOWN_KEY: "the dictionary in its metadata lacks the key of a shredded field",
    NOT_OBJECT: "the value beside a shredded object is not an object",
    OBJECT: "an object ends before its last field does",
    TWICE: "an object has a field twice",
    TOO_LARGE: "a string, array or object would have 4 GiB or more",
    UUID_SIZE: "a UUID does not have 16 bytes",
}


cdef class Output:
    def __cinit__(self, int64_t length):
        self.data = ByteBuffer.__new__(ByteBuffer)
        self.offsets = ByteBuffer.__new__(ByteBuffer)
        check(self.offsets.reserve(8 * length + 8))
        check(self.offsets.append_int64(0))
        self.validity = zeros((length + 7) >> 3)
        self.length = 0
        self.nulls = 0

    cdef int end(self, bint valid) noexcept nogil:
        """End the value whose bytes were appended."""
        cdef uint8_t* bits = self.validity.data
        bits[self.length >> 3] |= <uint8_t>(valid << (self.length & 7))
        self.nulls += not valid
        self.length += 1
        return self.offsets.append_int64(self.data.size)

    cdef int copy(self, Column* column, int64_t i) noexcept nogil:
        """Append a value as it is, or null."""
        cdef Text value
        if not is_there(column, i):
            return self.end(False)
        value = item_of(column, i)
        if value.size == 0:
            return EMPTY
        return NO_MEMORY if self.data.append(value.data, value.size) != 0 else self.end(True)

    cdef object array(self):
        validity = pa.py_buffer(self.validity) if self.nulls else None
        buffers = [validity, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.large_binary(), self.length, buffers, self.nulls)


cdef int check_fault(int fault) except -1:
    if fault in REASONS:
        raise ValueError(REASONS[fault])
    return check(fault)


cdef Column column_of(BinaryView view) noexcept:
    return Column(view.offsets32, view.offsets64, view.data, view.validity, view.offset)


cdef Column value_column(object value, int64_t length, list owners) except *:
    cdef BinaryView view
    if value is None:
        return Column(NULL, NULL, NULL, NULL, 0)
    view = binary_view(value)
    same_length(length, view.length)
    owners.append(view)
    return column_of(view)
