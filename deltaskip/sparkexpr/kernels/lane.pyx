"""Keep masks with one byte per row, so loops over them vectorize and combine without bit arithmetic.

A Lane owns its bytes. 1 keeps the row and 0 skips it; every function here reads any other byte as keep. Bits are
spread and gathered eight at a time in one little-endian word.
"""

from typing import TYPE_CHECKING

import pyarrow as pa

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from deltaskip.sparkexpr.kernels.arrow cimport ByteBuffer, PrimitiveView, check, is_valid, primitive_view


cdef uint64_t ONES = 0x0101010101010101ULL
cdef uint64_t LOW_SEVEN = 0x7F7F7F7F7F7F7F7FULL
cdef uint64_t BIT_OF_BYTE = 0x8040201008040201ULL
cdef uint64_t GATHER = 0x0102040810204080ULL


if TYPE_CHECKING:
    from typing import Protocol

    class ArrowArrayExportable(Protocol):
        def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...


def constant_lane(int64_t n, bint keep) -> Lane:
    """Return a mask of `n` equal bytes. Raises ValueError if `n` is negative."""
    cdef Lane lane = new_lane(n)
    memset(lane.keep, keep, n)
    return lane


def take_lane(codes: ArrowArrayExportable, keep_per_code: bytes | bytearray | Lane, bint keep_null) -> Lane:
    """Return the mask `keep_per_code[code]` of int32 codes; a null code gives `keep_null`.

    codes: int32 Arrow array, the indices of a dictionary array. keep_per_code: Buffer with one byte per code.
    Raises TypeError for another format, and ValueError if a code that is not null has no byte.
    """
    cdef PrimitiveView view = view_of(codes, b"i")
    cdef Lane lane = new_lane(view.length)
    cdef Py_buffer table
    cdef bint inside
    PyObject_GetBuffer(keep_per_code, &table, PyBUF_SIMPLE)
    try:
        with nogil:
            inside = _take(view, <const uint8_t*>table.buf, table.len, keep_null, lane.keep)
    finally:
        PyBuffer_Release(&table)
    if not inside:
        raise ValueError(f"A code is outside the {table.len} bytes of keep_per_code.")
    return lane


def and_lanes(Lane a not None, Lane b not None) -> None:
    """Keep in `a`, in place, the rows that both masks keep. Raises ValueError if the lengths differ."""
    same_length(a.n, b.n)
    with nogil:
        _and(a.keep, b.keep, a.n)


def or_lanes(Lane a not None, Lane b not None) -> None:
    """Keep in `a`, in place, the rows that either mask keeps. Raises ValueError if the lengths differ."""
    same_length(a.n, b.n)
    with nogil:
        _or(a.keep, b.keep, a.n)


cdef class Lane:
    """Keep mask with one byte per row: 1 keep, 0 skip. Writable through the buffer protocol; write only 0 and 1."""

    def __cinit__(self):
        self.keep = NULL
        self.n = 0

    def __init__(self):
        raise TypeError("A Lane cannot be created directly; use constant_lane or a kernel.")

    def __dealloc__(self):
        free(self.keep)

    def __len__(self):
        return self.n

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        PyBuffer_FillInfo(buffer, self, self.keep, self.n, 0, flags)

    def count(self) -> int:
        """Return the number of kept rows."""
        cdef int64_t total
        with nogil:
            total = _count(self.keep, self.n)
        return total

    def indices(self) -> pa.Int64Array:
        """Return the numbers of the kept rows, ascending, as int64."""
        cdef ByteBuffer out = ByteBuffer.__new__(ByteBuffer)
        cdef int64_t total
        cdef int code
        with nogil:
            total = _count(self.keep, self.n)
            # One more item, because the loop writes before it knows whether the row is kept.
            code = out.reserve((total + 1) * 8)
            if code == 0:
                _indices(self.keep, self.n, <int64_t*>out.data)
                out.size = total * 8
        check(code)
        return pa.Array.from_buffers(pa.int64(), total, [None, pa.py_buffer(out)])

    def to_arrow(self) -> pa.BooleanArray:
        """Return a copy as a boolean array without nulls."""
        cdef ByteBuffer out = ByteBuffer.__new__(ByteBuffer)
        cdef int code
        with nogil:
            code = out.reserve((self.n + 7) // 8)
            if code == 0:
                out.size = (self.n + 7) // 8
                _pack(self.keep, self.n, out.data)
        check(code)
        return pa.Array.from_buffers(pa.bool_(), self.n, [None, pa.py_buffer(out)])


cdef Lane new_lane(int64_t n):
    """Return a mask of `n` uninitialized bytes."""
    if n < 0:
        raise ValueError(f"The number of rows must not be negative: {n}.")
    cdef Lane lane = Lane.__new__(Lane)
    lane.keep = <uint8_t*>malloc(n if n > 0 else 1)
    if lane.keep == NULL:
        raise MemoryError
    lane.n = n
    return lane


cdef void expand_bits(const uint8_t* bitmap, int64_t offset, int64_t n, uint8_t* lane) noexcept nogil:
    """lane[i] = bit `offset + i` of the bitmap."""
    cdef int64_t i, whole = n - n % 8
    cdef uint64_t word
    for i in range(0, whole, 8):
        word = _spread(bitmap, offset + i)
        memcpy(lane + i, &word, 8)
    for i in range(whole, n):
        lane[i] = (bitmap[(offset + i) >> 3] >> ((offset + i) & 7)) & 1


cdef void keep_missing(const uint8_t* validity, int64_t offset, int64_t n, uint8_t* keep) noexcept nogil:
    """keep[i] = 1 if bit `offset + i` of the validity bitmap is 0; a NULL bitmap has no missing values."""
    cdef int64_t i, whole = n - n % 8
    cdef uint64_t word, kept
    if validity == NULL:
        return
    for i in range(0, whole, 8):
        word = _spread(validity, offset + i) ^ ONES
        memcpy(&kept, keep + i, 8)
        kept |= word
        memcpy(keep + i, &kept, 8)
    for i in range(whole, n):
        keep[i] |= ((validity[(offset + i) >> 3] >> ((offset + i) & 7)) & 1) ^ 1


cdef int integer_width(PrimitiveView view) except -1:
    """Number of bytes of a value, 0 for booleans. Raises TypeError for a format that compare_int64 does not accept."""
    if view.format in (b"c", b"s", b"i", b"l", b"tdD", b"b") or view.format.startswith(b"ts"):
        return <int>view.width
    raise wrong_format("a signed integer, date32, timestamp or boolean", view.format)


cdef int pair_width(PrimitiveView a, PrimitiveView b) except -1:
    cdef int width = integer_width(a)
    if width == 0 or a.format != b.format:
        raise wrong_format("integers, date32 or timestamps of one format", a.format + b" and " + b.format)
    same_length(a.length, b.length)
    return width


cdef int same_length(int64_t a, int64_t b) except -1:
    if a != b:
        raise ValueError(f"The columns differ in length: {a} and {b} rows.")
    return 0


cdef int no_nulls(const uint8_t* validity, int64_t offset, int64_t n) except -1:
    cdef int64_t i
    if validity != NULL:
        for i in range(offset, offset + n):
            if not is_valid(validity, i):
                raise ValueError("The points must not be null.")
    return 0


# Names of Arrow's C formats for messages.
_FORMATS = {b"i": "int32", b"l": "int64", b"g": "float64"}


cdef PrimitiveView view_of(object array, bytes fmt):
    """View an array of one of these formats. Raises TypeError for another one."""
    cdef PrimitiveView view = primitive_view(array)
    if view.format != fmt:
        raise wrong_format(_FORMATS[fmt], view.format)
    return view


cdef PrimitiveView whole_view(object array, bytes fmt):
    """View an array of one of these formats. Raises TypeError for another one, and ValueError for nulls."""
    cdef PrimitiveView view = view_of(array, fmt)
    no_nulls(view.validity, view.offset, view.length)
    return view


cdef object wrong_format(str wanted, bytes given):
    return TypeError(f"Expected {wanted}, not Arrow format {given.decode()!r}.")


cdef inline uint64_t _spread(const uint8_t* bitmap, int64_t position) noexcept nogil:
    """Eight bits from `position` on, one in each byte of the word. Reads no byte past the eighth bit."""
    cdef int64_t byte = position >> 3
    cdef int shift = position & 7
    cdef uint64_t bits = bitmap[byte] >> shift
    if shift != 0:
        bits |= <uint64_t>bitmap[byte + 1] << (8 - shift)
    bits = ((bits & 0xFF) * ONES) & BIT_OF_BYTE
    return ((bits + LOW_SEVEN) >> 7) & ONES


cdef wide_void _and(uint8_t* a, const uint8_t* b, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        a[i] = (a[i] != 0) & (b[i] != 0)


cdef wide_void _or(uint8_t* a, const uint8_t* b, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(n):
        a[i] |= b[i]


cdef int64_t _count(const uint8_t* keep, int64_t n) noexcept nogil:
    cdef int64_t i, stop, start = 0, total = 0
    cdef uint8_t block
    # A byte counts to 255, and byte-wide sums vectorize.
    while start < n:
        stop = start + 255 if n - start > 255 else n
        block = 0
        for i in range(start, stop):
            block += keep[i] != 0
        total += block
        start = stop
    return total


cdef void _indices(const uint8_t* keep, int64_t n, int64_t* out) noexcept nogil:
    cdef int64_t i, found = 0
    for i in range(n):
        out[found] = i
        found += keep[i] != 0


cdef void _pack(const uint8_t* keep, int64_t n, uint8_t* bitmap) noexcept nogil:
    cdef int64_t i, whole = n - n % 8
    cdef uint64_t word
    for i in range(0, whole, 8):
        memcpy(&word, keep + i, 8)
        word = ((((word & LOW_SEVEN) + LOW_SEVEN) | word) >> 7) & ONES
        bitmap[i >> 3] = <uint8_t>((word * GATHER) >> 56)
    if whole < n:
        bitmap[whole >> 3] = 0
        for i in range(whole, n):
            bitmap[whole >> 3] |= <uint8_t>(keep[i] != 0) << (i & 7)


cdef bint _take(PrimitiveView view, const uint8_t* table, int64_t size, bint keep_null, uint8_t* keep) noexcept nogil:
    """Whether every code that is not null has a byte in the table."""
    cdef const int32_t* codes = <const int32_t*>view.values
    cdef int64_t i
    for i in range(view.length):
        if not is_valid(view.validity, view.offset + i):
            keep[i] = keep_null
        elif codes[i] < 0 or codes[i] >= size:
            return False
        else:
            keep[i] = table[codes[i]] != 0
    return True
