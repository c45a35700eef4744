"""Arrow's C data interface: imports arrays through `__arrow_c_array__`, and exports buffers by the buffer protocol.

Every length, offset and type is checked here once, so kernels rely on the views.
"""

import pyarrow as pa

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint8_t, uintptr_t
from libc.stdlib cimport free, realloc
from libc.string cimport memcpy, memset


cdef int check(int code) except -1:
    """Turn a kernel's return code into an exception: 0 is success, any code except NO_MEMORY a bug in the kernel."""
    if code == 0:
        return 0
    if code == NO_MEMORY:
        raise MemoryError
    raise RuntimeError(f"Internal error: a kernel returned the unknown code {code}.")


cdef class PrimitiveView:
    pass


cdef class BinaryView:
    cdef int64_t start(self, int64_t i) noexcept nogil:
        return self.offsets32[i] if self.offsets64 == NULL else self.offsets64[i]

    cdef int64_t end(self, int64_t i) noexcept nogil:
        return self.offsets32[i + 1] if self.offsets64 == NULL else self.offsets64[i + 1]


# More items than memory has bytes: sizes of buffers are then computed without overflow.
cdef int64_t MOST_ITEMS = <int64_t>1 << 48


cdef ArrowArray* _import(object array, list capsules) except NULL:
    """Import the array, and append its two capsules and its format to `capsules`."""
    if not hasattr(array, "__arrow_c_array__"):
        raise TypeError(f"Expected an Arrow array, not {type(array).__name__}.")
    schema_capsule, array_capsule = array.__arrow_c_array__()
    cdef ArrowSchema* schema = <ArrowSchema*>PyCapsule_GetPointer(schema_capsule, "arrow_schema")
    cdef ArrowArray* c_array = <ArrowArray*>PyCapsule_GetPointer(array_capsule, "arrow_array")
    if schema.dictionary != NULL:
        raise TypeError("Expected a plain Arrow array, not a dictionary array: decode it first.")
    if c_array.length < 0 or c_array.offset < 0:
        raise ValueError("The Arrow array has a negative length or offset.")
    if c_array.length >= MOST_ITEMS - c_array.offset:
        raise ValueError("The Arrow array is longer than memory can be.")
    capsules.append(schema_capsule)
    capsules.append(array_capsule)
    capsules.append(<bytes>schema.format)
    return c_array


# Bytes of an item by Arrow's C format; booleans are bits. Formats with parameters are recognized by their prefix.
_WIDTHS = {
    b"b": 0,
    b"c": 1, b"C": 1,
    b"s": 2, b"S": 2, b"e": 2,
    b"i": 4, b"I": 4, b"f": 4, b"tdD": 4, b"tts": 4, b"ttm": 4,
    b"l": 8, b"L": 8, b"g": 8, b"tdm": 8, b"ttu": 8, b"ttn": 8,
}


cdef int64_t _width(bytes fmt) except -1:
    """Number of bytes of an item; 0 for booleans. Raises TypeError for a format without a fixed width."""
    if fmt.startswith((b"ts", b"tD")):
        return 8
    if fmt.startswith(b"d:"):
        # d:precision,scale has 128 bits; d:precision,scale,bits names them.
        parts = fmt.split(b",")
        return int(parts[2]) // 8 if len(parts) == 3 else 16
    width = _WIDTHS.get(fmt)
    if width is None:
        raise _not_fixed_width(fmt)
    return width


cdef object _not_fixed_width(bytes fmt):
    return TypeError(f"Expected a fixed-width Arrow array, not format {fmt.decode()!r}.")


cdef PrimitiveView primitive_view(object array):
    """View an array of booleans, numbers, decimals, dates, times, timestamps or durations.

    The caller checks the format. Raises TypeError for an array of another kind.
    """
    cdef list capsules = []
    cdef ArrowArray* c_array = _import(array, capsules)
    cdef bytes fmt = capsules[2]
    cdef PrimitiveView view = PrimitiveView.__new__(PrimitiveView)
    cdef int64_t width = _width(fmt)
    if c_array.n_buffers != 2:
        raise _not_fixed_width(fmt)
    view.owner = capsules
    view.format = fmt
    view.width = width
    view.length = c_array.length
    view.offset = c_array.offset
    view.validity = <const uint8_t*>c_array.buffers[0] if c_array.null_count != 0 else NULL
    if c_array.buffers[1] == NULL and c_array.length > 0:
        raise ValueError("The Arrow array has no values buffer.")
    view.values = <const uint8_t*>c_array.buffers[1]
    if view.values != NULL:
        view.values += c_array.offset * width
        # Decimals are read in halves of 8 bytes.
        view.values = aligned(view.values, view.length * width, min(width, 8), capsules)
    return view


cdef const uint8_t* aligned(const uint8_t* data, int64_t size, int64_t width, list owner) except? NULL:
    """`data`, or a copy that `owner` then holds: Arrow recommends aligned buffers, and kernels need aligned items."""
    cdef ByteBuffer copied
    if width <= 1 or <uintptr_t>data % <uintptr_t>width == 0:
        return data
    copied = ByteBuffer.__new__(ByteBuffer)
    check(copied.reserve(size + 1))
    memcpy(copied.data, data, size)
    owner.append(copied)
    return copied.data


cdef int check_decimal128(PrimitiveView view) except -1:
    """Raise TypeError unless the view is of decimals of 128 bits."""
    if not view.format.startswith(b"d:") or view.width != 16:
        raise TypeError(f"Expected decimal128, not Arrow format {view.format.decode()!r}.")
    return 0


ctypedef fused offset_t:
    int32_t
    int64_t


cdef bint _ordered(const offset_t* offsets, int64_t n) noexcept nogil:
    """Whether offsets[0:n + 1] are not negative and never decrease; no branch per item, so the loop vectorizes."""
    cdef int64_t i
    cdef offset_t fallen = 0
    for i in range(n):
        fallen |= offsets[i + 1] < offsets[i]
    return fallen == 0 and offsets[0] >= 0


cdef BinaryView binary_view(object array):
    """View a string or binary array (32- or 64-bit offsets); offsets are checked to be ordered and not negative."""
    cdef list capsules = []
    cdef ArrowArray* c_array = _import(array, capsules)
    cdef bytes fmt = capsules[2]
    cdef BinaryView view = BinaryView.__new__(BinaryView)
    cdef const uint8_t* offsets
    cdef int64_t previous
    cdef bint ordered = True
    if fmt not in (b"u", b"z", b"U", b"Z"):
        raise TypeError(f"Expected a string or binary Arrow array, not format {fmt.decode()!r}.")
    if c_array.n_buffers != 3:
        raise TypeError(f"A string or binary Arrow array has 3 buffers, not {c_array.n_buffers}.")
    view.owner = capsules
    view.format = fmt
    view.length = c_array.length
    view.offset = c_array.offset
    view.validity = <const uint8_t*>c_array.buffers[0] if c_array.null_count != 0 else NULL
    view.offsets32 = NULL
    view.offsets64 = NULL
    if c_array.length == 0:
        return view
    if c_array.buffers[1] == NULL:
        raise ValueError("The Arrow array has no offsets buffer.")
    if fmt == b"u" or fmt == b"z":
        offsets = <const uint8_t*>c_array.buffers[1] + 4 * c_array.offset
        view.offsets32 = <const int32_t*>aligned(offsets, 4 * (c_array.length + 1), 4, capsules)
    else:
        offsets = <const uint8_t*>c_array.buffers[1] + 8 * c_array.offset
        view.offsets64 = <const int64_t*>aligned(offsets, 8 * (c_array.length + 1), 8, capsules)
    view.data = <const uint8_t*>c_array.buffers[2]
    with nogil:
        if view.offsets64 == NULL:
            ordered = _ordered(view.offsets32, view.length)
        else:
            ordered = _ordered(view.offsets64, view.length)
        previous = view.start(view.length)
    if not ordered:
        raise ValueError("The offsets of the Arrow array are not in order.")
    if previous > view.start(0) and view.data == NULL:
        raise ValueError("The Arrow array has no data buffer.")
    return view


cdef object validity_buffer(const uint8_t* validity, int64_t offset, int64_t length):
    """Copy of the bitmap from bit `offset` on, beginning at bit 0; None if the bitmap is NULL."""
    cdef int64_t i
    cdef ByteBuffer bits
    if validity == NULL:
        return None
    bits = zeros((length + 7) >> 3)
    if offset & 7 == 0:
        memcpy(bits.data, validity + (offset >> 3), bits.size)
    else:
        for i in range(length):
            bits.data[i >> 3] |= <uint8_t>(is_valid(validity, offset + i) << (i & 7))
    return pa.py_buffer(bits)


cdef ByteBuffer zeros(int64_t size):
    """A buffer of `size` zero bytes."""
    cdef ByteBuffer buffer = ByteBuffer.__new__(ByteBuffer)
    check(buffer.reserve(size + 1))
    memset(buffer.data, 0, size)
    buffer.size = size
    return buffer


cdef class ByteBuffer:
    def __cinit__(self):
        self.data = NULL
        self.size = 0
        self.capacity = 0
        self.exports = 0

    def __dealloc__(self):
        free(self.data)

    def __len__(self):
        return self.size

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        self.exports += 1
        PyBuffer_FillInfo(buffer, self, <void*>self.data if self.data != NULL else <void*>b"", self.size, 1, flags)

    def __releasebuffer__(self, Py_buffer* buffer):
        self.exports -= 1

    cdef int reserve(self, int64_t extra) noexcept nogil:
        """Reserve `extra` more bytes. Return 0, or -1 if memory is exhausted or the buffer is exported."""
        cdef int64_t wanted = self.size + extra
        cdef int64_t grown
        cdef uint8_t* data
        if wanted <= self.capacity:
            return 0
        if self.exports != 0:
            return -1
        grown = self.capacity * 2 if self.capacity > 32 else 64
        if grown < wanted:
            grown = wanted
        data = <uint8_t*>realloc(self.data, grown)
        if data == NULL:
            return -1
        self.data = data
        self.capacity = grown
        return 0

    cdef int append(self, const void* source, int64_t n) noexcept nogil:
        if n == 0:
            return 0
        if self.reserve(n) != 0:
            return -1
        memcpy(self.data + self.size, source, n)
        self.size += n
        return 0

    cdef int append_byte(self, uint8_t value) noexcept nogil:
        return self.append(&value, 1)

    cdef int append_int32(self, int32_t value) noexcept nogil:
        return self.append(&value, 4)

    cdef int append_int64(self, int64_t value) noexcept nogil:
        return self.append(&value, 8)

    cdef int append_double(self, double value) noexcept nogil:
        return self.append(&value, 8)


cdef class HeldBytes:
    def __cinit__(self, object data):
        self.held = False
        PyObject_GetBuffer(data, &self.view, PyBUF_SIMPLE)
        self.held = True

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)
