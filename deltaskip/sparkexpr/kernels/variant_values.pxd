"""Definitions that the kernels for shredded variants share: columns, the values of a node, and faults."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView, ByteBuffer, PrimitiveView, is_valid
from deltaskip.sparkexpr.kernels.byte_order cimport order_of_bytes

cdef enum Fault:
    FINE = 0
    BOTH = 1
    EMPTY = 2
    METADATA = 3
    KEY = 4
    UNKNOWN_KEY = 5
    NOT_OBJECT = 6
    OBJECT = 7
    TWICE = 8
    TOO_LARGE = 9
    UUID_SIZE = 10


cdef enum:
    OBJECT_TYPE = 2
    ARRAY_TYPE = 3


cdef struct Column:
    # Values of a binary array; none of the offsets is set where there is no column.
    const int32_t* offsets32
    const int64_t* offsets64
    const uint8_t* data
    const uint8_t* validity
    int64_t offset


cdef struct Text:
    const uint8_t* data
    int64_t size


cdef class Output:
    """The values of a node: large_binary that grows by one value after the other."""
    cdef ByteBuffer data
    cdef ByteBuffer offsets
    cdef ByteBuffer validity
    cdef int64_t length
    cdef int64_t nulls
    cdef int end(self, bint valid) noexcept nogil
    cdef int copy(self, Column* column, int64_t i) noexcept nogil
    cdef object array(self)


cdef int check_fault(int fault) except -1
cdef PrimitiveView longs(object array)
cdef Column column_of(BinaryView view) noexcept
cdef Column value_column(object value, int64_t length, list owners) except *


cdef inline bint is_there(Column* column, int64_t i) noexcept nogil:
    if column.offsets32 == NULL and column.offsets64 == NULL:
        return False
    return is_valid(column.validity, column.offset + i)


cdef inline Text item_of(Column* column, int64_t i) noexcept nogil:
    cdef int64_t start, end
    if column.offsets64 == NULL:
        start, end = column.offsets32[i], column.offsets32[i + 1]
    else:
        start, end = column.offsets64[i], column.offsets64[i + 1]
    return Text(column.data + start, end - start)


cdef inline int order_of(const Text* a, const Text* b) noexcept nogil:
    return order_of_bytes(a.data, a.size, b.data, b.size)


cdef inline int64_t unsigned_at(const uint8_t* data, int width) noexcept nogil:
    """An unsigned number of one to four bytes, the lowest first."""
    cdef uint32_t number = 0
    memcpy(&number, data, width)
    return number


cdef inline int width_of(int64_t most) noexcept nogil:
    """Bytes of numbers up to this one."""
    return 1 if most <= 0xFF else 2 if most <= 0xFFFF else 3 if most <= 0xFFFFFF else 4


cdef inline void put(ByteBuffer out, int64_t number, int width) noexcept nogil:
    """Append a number for which memory is reserved."""
    memcpy(out.data + out.size, &number, width)
    out.size += width
