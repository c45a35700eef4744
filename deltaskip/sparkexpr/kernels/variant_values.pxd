"""Definitions that the kernels for shredded variants share: columns, the values of a node, and faults."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView, ByteBuffer, is_valid
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


# Types of primitive values.
cdef enum Primitive:
    TRUE = 1
    FALSE = 2
    INT8 = 3
    INT16 = 4
    INT32 = 5
    INT64 = 6
    DOUBLE = 7
    DECIMAL4 = 8
    DECIMAL8 = 9
    DECIMAL16 = 10
    DATE = 11
    TIMESTAMP = 12
    TIMESTAMP_NTZ = 13
    FLOAT = 14
    BINARY = 15
    STRING = 16
    TIME = 17
    TIMESTAMP_NANOS = 18
    TIMESTAMP_NTZ_NANOS = 19
    UUID = 20


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


cdef struct Container:
    # An object or array: where its ids, its offsets and its values begin.
    int64_t count, ids, offsets, start
    int id_width, width


cdef struct Dictionary:
    # The metadata of a row.
    Text bytes
    int width
    int64_t count
    const uint8_t* offsets
    Text texts


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


cdef inline bint open_container(const uint8_t* data, int64_t size, Container* found) noexcept nogil:
    """Read the header of an object or array of which there is a byte; whether all before its values is within `size`."""
    cdef uint8_t header = data[0] >> 2
    cdef bint named = data[0] & 3 == OBJECT_TYPE
    cdef int wide = 4 if header & (16 if named else 4) else 1
    if size < 1 + wide:
        return False
    found.width = (header & 3) + 1
    found.id_width = (header >> 2 & 3) + 1 if named else 0
    found.count = unsigned_at(data + 1, wide)
    found.ids = 1 + wide
    found.offsets = found.ids + found.count * found.id_width
    found.start = found.offsets + (found.count + 1) * found.width
    return found.start <= size


cdef inline int64_t id_at(const uint8_t* data, const Container* inside, int64_t k) noexcept nogil:
    """The id of a member of an object."""
    return unsigned_at(data + inside.ids + k * inside.id_width, inside.id_width)


cdef inline int open_dictionary(Text bytes, Dictionary* known) noexcept nogil:
    """Read the header of some metadata: FINE or METADATA."""
    cdef int64_t used
    known.bytes = bytes
    if bytes.size < 1 or bytes.data[0] & 0x0F != 1:
        return METADATA
    known.width = (bytes.data[0] >> 6) + 1
    if bytes.size < 1 + known.width:
        return METADATA
    known.count = unsigned_at(bytes.data + 1, known.width)
    used = 1 + known.width * (known.count + 2)
    if used > bytes.size:
        return METADATA
    known.offsets = bytes.data + 1 + known.width
    known.texts = Text(bytes.data + used, bytes.size - used)
    return FINE


cdef inline int key_of(const Dictionary* known, int64_t number, Text* key) noexcept nogil:
    """Find a key by its id: FINE or KEY."""
    cdef const uint8_t* at = known.offsets + number * known.width
    cdef int64_t start, end
    if number >= known.count:
        return KEY
    start, end = unsigned_at(at, known.width), unsigned_at(at + known.width, known.width)
    if start > end or end > known.texts.size:
        return KEY
    key[0] = Text(known.texts.data + start, end - start)
    return FINE


cdef inline int width_of(int64_t most) noexcept nogil:
    """Bytes of numbers up to this one."""
    return 1 if most <= 0xFF else 2 if most <= 0xFFFF else 3 if most <= 0xFFFFFF else 4


cdef inline void put(ByteBuffer out, int64_t number, int width) noexcept nogil:
    """Append a number for which memory is reserved."""
    memcpy(out.data + out.size, &number, width)
    out.size += width
