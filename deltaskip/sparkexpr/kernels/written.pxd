"""Rows of strings and binary: rows of an array, and rows of a new array."""

from libc.stdint cimport int64_t, uint8_t

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView, ByteBuffer, is_valid


cdef struct Span:
    const uint8_t* data
    int64_t size


cdef inline Span row_of(BinaryView view, int64_t i) noexcept nogil:
    """The bytes of a row; none if it is null."""
    cdef Span row
    row.data, row.size = NULL, 0
    if view.data != NULL and is_valid(view.validity, view.offset + i):
        row.data = view.data + view.start(i)
        row.size = view.end(i) - view.start(i)
    return row


cdef class Written:
    """A new array of strings or binary with the nulls of another, row by row."""
    cdef ByteBuffer offsets
    cdef ByteBuffer data
    cdef object validity
    cdef int64_t length
    cdef int failed
    cdef int add(self, int64_t i, const uint8_t* data, int64_t size) noexcept nogil
    cdef int reserve(self, int64_t size) noexcept nogil
    cdef void end(self, int64_t i) noexcept nogil
    cdef object array(self, object type_)


cdef object both_valid(BinaryView view, BinaryView other)
cdef Written written_for(object validity, int64_t length)
cdef Written written_like(BinaryView view)
cdef object text_type(BinaryView view)
