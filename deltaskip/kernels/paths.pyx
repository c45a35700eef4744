"""Columns of paths of the log: whether they need decoding, and prefixing with the table root."""

import pyarrow as pa

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView, ByteBuffer, binary_view, check, is_valid, validity_buffer

cdef enum:
    DOT = 0x2E
    SLASH = 0x2F


def all_plain(paths: pa.Array) -> bool:
    """Whether every path is relative and equal to its decoded, encoded and normalized form. Nulls are not plain.

    paths: string or large_string Arrow array. A path is plain that has only letters, digits and "-_=./", is not empty,
    and none of whose segments is empty or begins with a dot.
    """
    cdef BinaryView view = binary_view(paths)
    cdef bint plain
    if view.validity != NULL:
        return False
    with nogil:
        plain = view.length == 0 or (
            _have_ends(view) and _have_bytes(view.data + view.start(0), view.end(view.length - 1) - view.start(0))
        )
    return plain


def prefixed(bytes prefix not None, values: pa.Array) -> pa.Array:
    """Return a string array of `prefix` followed by each value; nulls stay null. prefix: UTF-8.

    Raises ValueError if the texts exceed 2 GiB, the limit of a string array.
    """
    cdef BinaryView view = binary_view(values)
    cdef ByteBuffer data = ByteBuffer.__new__(ByteBuffer)
    cdef ByteBuffer offsets = ByteBuffer.__new__(ByteBuffer)
    cdef const char* head = prefix
    cdef int64_t head_size = len(prefix)
    cdef int64_t total = view.end(view.length - 1) - view.start(0) if view.length else 0
    cdef int code
    if total + head_size * view.length > INT32_MAX:
        raise ValueError("The prefixed texts exceed 2 GiB, the limit of a string array.")
    with nogil:
        code = data.reserve(total + head_size * view.length)
        if code == 0:
            code = offsets.reserve(4 * (view.length + 1))
        if code == 0:
            _prefix(view, head, head_size, data, offsets)
    check(code)
    nulls = validity_buffer(view.validity, view.offset, view.length)
    return pa.Array.from_buffers(pa.string(), view.length, [nulls, pa.py_buffer(offsets), pa.py_buffer(data)])


cdef bint _have_ends(BinaryView view) noexcept nogil:
    """Whether every path begins with a plain character other than a dot, and none ends with a slash."""
    cdef int64_t i
    for i in range(view.length):
        if view.start(i) == view.end(i) or view.data[view.end(i) - 1] == SLASH:
            return False
        if view.data[view.start(i)] == SLASH or view.data[view.start(i)] == DOT:
            return False
    return True


cdef bint _have_bytes(const uint8_t* data, int64_t size) noexcept nogil:
    """Whether all bytes are plain, and neither a slash nor a dot follows a slash. A loop without branches."""
    cdef uint8_t odd = 0, c, previous
    cdef int64_t i
    for i in range(size):
        c = data[i]
        # From "-" to "9" are "-", ".", "/" and digits.
        odd |= (<uint8_t>((c | 0x20) - 0x61) >= 26) & (<uint8_t>(c - 0x2D) >= 13) & (c != 0x5F) & (c != 0x3D)
    for i in range(1, size):
        c, previous = data[i], data[i - 1]
        odd |= (previous == SLASH) & ((c == SLASH) | (c == DOT))
    return odd == 0


cdef void _prefix(
    BinaryView view, const char* head, int64_t head_size, ByteBuffer data, ByteBuffer offsets
) noexcept nogil:
    """Memory for everything is reserved."""
    cdef int64_t i, start, size
    cdef int64_t position = 0
    cdef int32_t* ends = <int32_t*>offsets.data
    ends[0] = 0
    for i in range(view.length):
        if is_valid(view.validity, view.offset + i):
            start = view.start(i)
            size = view.end(i) - start
            memcpy(data.data + position, head, head_size)
            memcpy(data.data + position + head_size, view.data + start, size)
            position += head_size + size
        ends[i + 1] = <int32_t>position
    data.size = position
    offsets.size = 4 * (view.length + 1)
