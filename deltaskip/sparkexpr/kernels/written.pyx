"""A new array of strings or binary, row by row."""

import pyarrow as pa

from libc.stdint cimport int32_t, int64_t, uint8_t

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView, ByteBuffer, check, is_valid, validity_buffer, zeros

# Offsets of strings have 32 bits.
cdef int64_t MOST_BYTES = (<int64_t>1 << 31) - 1


cdef class Written:
    cdef int add(self, int64_t i, const uint8_t* data, int64_t size) noexcept nogil:
        """Append the bytes of row `i`, and end it: -1 if memory is exhausted."""
        if self.reserve(size) != 0:
            return -1
        self.data.append(data, size)
        self.end(i)
        return 0

    cdef int reserve(self, int64_t size) noexcept nogil:
        """Reserve bytes for a row: -1 if memory is exhausted, which `array` then raises."""
        self.failed = self.data.reserve(size)
        return self.failed

    cdef void end(self, int64_t i) noexcept nogil:
        """End row `i`."""
        # Beyond 32 bits the offsets are wrong, and `array` refuses them.
        (<int32_t*>self.offsets.data)[i + 1] = <int32_t>self.data.size

    cdef object array(self, object type_):
        """The array. Raises ArrowInvalid for more bytes than an array of strings has."""
        check(self.failed)
        if self.data.size > MOST_BYTES:
            raise pa.ArrowInvalid("The strings have more than 2 GiB.")
        buffers = [self.validity, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(type_, self.length, buffers)


cdef Written written_for(object validity, int64_t length):
    """A new array of `length` rows with a bitmap of those that are not null; None if none is."""
    cdef Written out = Written.__new__(Written)
    out.offsets = ByteBuffer.__new__(ByteBuffer)
    out.data = ByteBuffer.__new__(ByteBuffer)
    out.validity = validity
    out.length = length
    out.failed = 0
    check(out.offsets.reserve(4 * (length + 2)))
    out.offsets.size = 4 * (length + 1)
    (<int32_t*>out.offsets.data)[0] = 0
    return out


cdef object both_valid(BinaryView view, BinaryView other):
    """A bitmap of the rows that are null in neither of two arrays of one length; None if no row is null."""
    if view.validity == NULL:
        return validity_buffer(other.validity, other.offset, other.length)
    if other.validity == NULL:
        return validity_buffer(view.validity, view.offset, view.length)
    cdef ByteBuffer bits = zeros((view.length + 7) >> 3)
    cdef int64_t i
    for i in range(view.length):
        if is_valid(view.validity, view.offset + i) and is_valid(other.validity, other.offset + i):
            bits.data[i >> 3] |= 1 << (i & 7)
    return pa.py_buffer(bits)


cdef Written written_like(BinaryView view):
    """A new array that is null where the given one is."""
    return written_for(validity_buffer(view.validity, view.offset, view.length), view.length)


cdef object text_type(BinaryView view):
    """The type of an array with the values of a view: binary or string, with offsets of 32 bits."""
    return pa.binary() if view.format in (b"z", b"Z") else pa.string()
