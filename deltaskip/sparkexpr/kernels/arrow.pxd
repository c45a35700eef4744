"""Arrow's C data interface: checked views of input arrays, and growable buffers for output arrays."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t


cdef extern from *:
    """
    #include <stdint.h>
    #ifndef ARROW_C_DATA_INTERFACE
    #define ARROW_C_DATA_INTERFACE
    struct ArrowSchema {
        const char* format; const char* name; const char* metadata; int64_t flags; int64_t n_children;
        struct ArrowSchema** children; struct ArrowSchema* dictionary;
        void (*release)(struct ArrowSchema*); void* private_data;
    };
    struct ArrowArray {
        int64_t length; int64_t null_count; int64_t offset; int64_t n_buffers; int64_t n_children;
        const void** buffers; struct ArrowArray** children; struct ArrowArray* dictionary;
        void (*release)(struct ArrowArray*); void* private_data;
    };
    #endif
    """
    cdef struct ArrowSchema:
        const char* format
        int64_t n_children
        ArrowSchema* dictionary

    cdef struct ArrowArray:
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        int64_t n_children
        const void** buffers
        ArrowArray* dictionary


cdef enum:
    NO_MEMORY = -1


cdef struct Decimal128:
    # Two's complement, little endian: `high` decides, then `low` as an unsigned number.
    uint64_t low
    int64_t high


cdef class PrimitiveView:
    """A fixed-width Arrow array; `owner` keeps its capsules alive. `width` is the number of bytes of an item.

    `values` points at item 0 of the array, past its offset. Booleans are packed eight to a byte, so their width is 0,
    `values` points at the start of their bitmap, and item i is bit `offset + i` of it, as in `validity`.
    """
    cdef object owner
    cdef const uint8_t* values
    cdef const uint8_t* validity
    cdef readonly int64_t length
    cdef readonly int64_t offset
    cdef readonly int64_t width
    cdef readonly bytes format


cdef class BinaryView:
    """A string, large_string, binary or large_binary array; `owner` keeps its capsules alive.

    Item i is data[start(i) : end(i)]. The offsets are checked to be ordered and not negative when the view is made.
    """
    cdef object owner
    cdef const int32_t* offsets32
    cdef const int64_t* offsets64
    cdef const uint8_t* data
    cdef const uint8_t* validity
    cdef readonly int64_t length
    cdef readonly int64_t offset
    cdef readonly bytes format
    cdef int64_t start(self, int64_t i) noexcept nogil
    cdef int64_t end(self, int64_t i) noexcept nogil


cdef class ByteBuffer:
    """Growable bytes with one owner: append without the GIL, then export through the buffer protocol."""
    cdef uint8_t* data
    cdef int64_t size
    cdef int64_t capacity
    cdef int exports
    cdef int reserve(self, int64_t extra) noexcept nogil
    cdef int append(self, const void* source, int64_t n) noexcept nogil
    cdef int append_byte(self, uint8_t value) noexcept nogil
    cdef int append_int32(self, int32_t value) noexcept nogil
    cdef int append_int64(self, int64_t value) noexcept nogil
    cdef int append_double(self, double value) noexcept nogil


cdef class HeldBytes:
    """Bytes of a Python object that has them in one piece, which it keeps alive."""
    cdef Py_buffer view
    cdef bint held


cdef inline bint is_valid(const uint8_t* validity, int64_t position) noexcept nogil:
    """Bit `position` of a validity bitmap. The bitmap of an array without nulls is NULL, and all items are valid."""
    return validity == NULL or (validity[position >> 3] >> (position & 7)) & 1


cdef PrimitiveView primitive_view(object array)
cdef BinaryView binary_view(object array)
cdef int check_decimal128(PrimitiveView view) except -1
cdef object validity_buffer(const uint8_t* validity, int64_t offset, int64_t length)
cdef ByteBuffer zeros(int64_t size)
cdef int check(int code) except -1
