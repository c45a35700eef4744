"""Columns of paths of the log: whether they need decoding, and prefixing with the table root."""

import pyarrow as pa

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView, ByteBuffer, binary_view, check, is_valid, validity_buffer

# 1 for a byte that is a plain RFC 3986 path character without a role in normalization: letters, digits, "-_=".
# 2 for "/", 3 for ".".
cdef uint8_t PLAIN[256]
cdef int _code
for _code in range(256):
    PLAIN[_code] = 0
for _code in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=":
    PLAIN[_code] = 1
PLAIN[ord("/")] = 2
PLAIN[ord(".")] = 3


def all_plain(object paths):
    """Whether every path is relative and equal to its decoded, encoded and normalized form. Nulls are not plain.

    paths: string or large_string Arrow array. A path is plain that has only letters, digits and "-_=./", is not empty,
    and none of whose segments is empty or begins with a dot.
    """
    cdef BinaryView view = binary_view(paths)
    cdef int64_t i
    cdef bint plain = True
    if view.validity != NULL:
        return False
    with nogil:
        for i in range(view.length):
            if not _is_plain(view.data + view.start(i), view.end(i) - view.start(i)):
                plain = False
                break
    return plain


def prefixed(bytes prefix, object values):
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


cdef bint _is_plain(const uint8_t* text, int64_t n) noexcept nogil:
    cdef int64_t i
    cdef uint8_t kind, before = 2
    for i in range(n):
        kind = PLAIN[text[i]]
        if kind == 0 or (kind >= 2 and before == 2):
            return False
        before = kind
    return n > 0 and before != 2


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
