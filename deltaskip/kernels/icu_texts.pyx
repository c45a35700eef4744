"""Strings on their way through ICU: a column's layout, and one text of it."""

import pyarrow as pa

from cpython.bytes cimport PyBytes_AsString, PyBytes_Size
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memset

from deltaskip.kernels.arrow cimport BinaryView, ByteBuffer, check
from deltaskip.kernels.lane cimport is_valid


cdef int check_icu(int code) except -1:
    if code == TOO_LONG:
        raise ValueError("a string has 1 GiB or more, which is too long for ICU")
    if code == ICU_FAILED:
        raise MemoryError("ICU could not compare two strings")
    return check(code)


cdef Texts texts_of(BinaryView view, bint rtrim):
    return Texts(view.offsets32, view.offsets64, view.data, view.validity, view.offset, view.length, rtrim)


cdef Text text_of(bytes text, bint rtrim):
    return trimmed(<const uint8_t*>PyBytes_AsString(text), PyBytes_Size(text), rtrim)


cdef object validity_of(Texts texts):
    """The validity bitmap of an array of the same nulls that begins at bit 0; None without nulls."""
    cdef ByteBuffer bits
    cdef int64_t i, size = (texts.length + 7) // 8
    if texts.validity == NULL:
        return None
    bits = ByteBuffer.__new__(ByteBuffer)
    check(bits.reserve(size + 1))
    memset(bits.data, 0, size)
    for i in range(texts.length):
        if is_valid(texts.validity, texts.offset + i):
            bits.data[i >> 3] = <uint8_t>(bits.data[i >> 3] | 1 << (i & 7))
    bits.size = size
    return pa.py_buffer(bits)
