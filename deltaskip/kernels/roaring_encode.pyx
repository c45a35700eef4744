"""Encoding of sorted row indexes as a serialized Roaring bitmap: RoaringFormatSpec in its 64-bit portable extension.

Each block of 65536 rows becomes a sorted array, a bitmap or runs, whichever has the fewest bytes. deletion_vector
decodes it.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memset

from deltaskip.sparkexpr.kernels.arrow cimport NO_MEMORY, ByteBuffer, PrimitiveView, check, primitive_view
from deltaskip.sparkexpr.kernels.lane cimport no_nulls, wrong_format


cdef struct Container:
    int64_t first
    int64_t cardinality
    int64_t runs


def encode(indexes: ArrowArrayExportable) -> bytes:
    """Serialize row indexes in the portable form with its magic number, each container in its smallest form.

    indexes: int64 Arrow array, strictly ascending, not negative, without nulls. Raises ValueError or TypeError else.
    """
    cdef PrimitiveView view = row_indexes(indexes)
    cdef ByteBuffer out = ByteBuffer.__new__(ByteBuffer)
    cdef ByteBuffer containers = ByteBuffer.__new__(ByteBuffer)
    cdef const int64_t* values = <const int64_t*>view.values
    cdef int code = 0
    cdef bint ascending
    with nogil:
        ascending = _ascending(values, view.length)
        if ascending:
            code = _encode(values, view.length, containers, out)
    check(code)
    if not ascending:
        raise ValueError("Row indexes must be strictly ascending and not negative.")
    return PyBytes_FromStringAndSize(<char*>out.data, out.size)


cdef PrimitiveView row_indexes(object indexes):
    """View int64 row indexes without nulls. The caller checks their order."""
    cdef PrimitiveView view = primitive_view(indexes)
    if view.format != b"l":
        raise wrong_format("int64 row indexes", view.format)
    no_nulls(view.validity, view.offset, view.length)
    return view


cdef bint _ascending(const int64_t* values, int64_t n) noexcept nogil:
    cdef int64_t i
    if n > 0 and values[0] < 0:
        return False
    for i in range(1, n):
        if values[i] <= values[i - 1]:
            return False
    return True


cdef int _append(ByteBuffer out, uint64_t value, int64_t n) noexcept nogil:
    """The value's lowest `n` bytes, little endian."""
    return out.append(&value, n)


cdef int _encode(const int64_t* values, int64_t n, ByteBuffer containers, ByteBuffer out) noexcept nogil:
    cdef int64_t i, first = 0, buckets = 0
    for i in range(n):
        buckets += i == 0 or values[i] >> 32 != values[i - 1] >> 32
    if _append(out, PORTABLE, 4) != 0 or _append(out, <uint64_t>buckets, 8) != 0:
        return NO_MEMORY
    for i in range(1, n + 1):
        if i == n or values[i] >> 32 != values[first] >> 32:
            if _append(out, <uint64_t>(values[first] >> 32), 4) != 0:
                return NO_MEMORY
            if _encode_bitmap(values, first, i, containers, out) != 0:
                return NO_MEMORY
            first = i
    return 0


cdef int _find_containers(const int64_t* values, int64_t first, int64_t stop, ByteBuffer containers) noexcept nogil:
    """One Container for each run of values that agree above their lowest 16 bits."""
    cdef int64_t i
    cdef Container container
    containers.size = 0
    container.first = first
    container.runs = 1
    for i in range(first + 1, stop + 1):
        if i == stop or values[i] >> 16 != values[i - 1] >> 16:
            container.cardinality = i - container.first
            if containers.append(&container, sizeof(Container)) != 0:
                return NO_MEMORY
            container.first = i
            container.runs = 1
        else:
            container.runs += values[i] != values[i - 1] + 1
    return 0


cdef inline int64_t _plain_bytes(Container container) noexcept nogil:
    return 2 * container.cardinality if container.cardinality <= ARRAY_LIMIT else BITMAP_BYTES


cdef inline bint _as_runs(Container container) noexcept nogil:
    return 2 + 4 * container.runs < _plain_bytes(container)


cdef int _encode_bitmap(
    const int64_t* values, int64_t first, int64_t stop, ByteBuffer containers, ByteBuffer out
) noexcept nogil:
    """The 32-bit bitmap of values[first:stop], which agree above their lowest 32 bits."""
    cdef int64_t i, count, offset
    cdef const Container* found
    cdef bint any_runs = False
    cdef int failed = _find_containers(values, first, stop, containers)
    if failed != 0:
        return failed
    found = <const Container*>containers.data
    count = containers.size // <int64_t>sizeof(Container)
    for i in range(count):
        any_runs |= _as_runs(found[i])
    if any_runs:
        failed |= _append(out, WITH_RUNS | <uint64_t>(count - 1) << 16, 4)
        failed |= _encode_flags(found, count, out)
    else:
        failed |= _append(out, NO_RUNS, 4) | _append(out, <uint64_t>count, 4)
    for i in range(count):
        failed |= _append(out, <uint64_t>(values[found[i].first] >> 16), 2)
        failed |= _append(out, <uint64_t>(found[i].cardinality - 1), 2)
    offset = (4 + (count + 7) // 8 if any_runs else 8) + 8 * count
    if not any_runs or count >= OFFSETS_FROM:
        for i in range(count):
            failed |= _append(out, <uint64_t>offset, 4)
            offset += 2 + 4 * found[i].runs if _as_runs(found[i]) else _plain_bytes(found[i])
    for i in range(count):
        if failed != 0:
            return NO_MEMORY
        failed |= _encode_container(values + found[i].first, found[i], out)
    return NO_MEMORY if failed != 0 else 0


cdef int _encode_flags(const Container* found, int64_t count, ByteBuffer out) noexcept nogil:
    cdef int64_t i, j
    cdef uint64_t byte
    for i in range(0, count, 8):
        byte = 0
        for j in range(i, i + 8 if i + 8 < count else count):
            byte |= <uint64_t>_as_runs(found[j]) << (j - i)
        if _append(out, byte, 1) != 0:
            return NO_MEMORY
    return 0


cdef int _encode_container(const int64_t* values, Container container, ByteBuffer out) noexcept nogil:
    cdef int64_t i, first = 0, n = container.cardinality
    if _as_runs(container):
        if _append(out, <uint64_t>container.runs, 2) != 0:
            return NO_MEMORY
        for i in range(1, n + 1):
            if i == n or values[i] != values[i - 1] + 1:
                if _append(out, <uint64_t>values[first], 2) != 0 or _append(out, <uint64_t>(i - first - 1), 2) != 0:
                    return NO_MEMORY
                first = i
        return 0
    if n <= ARRAY_LIMIT:
        for i in range(n):
            if _append(out, <uint64_t>values[i], 2) != 0:
                return NO_MEMORY
        return 0
    if out.reserve(BITMAP_BYTES) != 0:
        return NO_MEMORY
    memset(out.data + out.size, 0, BITMAP_BYTES)
    for i in range(n):
        out.data[out.size + ((values[i] & 0xFFFF) >> 3)] |= 1 << (values[i] & 7)
    out.size += BITMAP_BYTES
    return 0
