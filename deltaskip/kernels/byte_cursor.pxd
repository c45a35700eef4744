"""A checked cursor over untrusted bytes, and why bytes of Parquet files cannot be read; every function is inline.

Those that return an int return FINE or the reason.
"""

from libc.stdint cimport UINT32_MAX, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from deltaskip.sparkexpr.kernels.arrow cimport HeldBytes

cdef enum Fault:
    FINE = 0
    SHORT = 1
    NUMBER = 2
    WIDTH = 3
    INDEX = 4
    ORDER = 5
    LONG = 6
    HEADER = 7
    ENCODING = 8
    CODEC = 9
    COUNT = 10
    OTHER = 11
    ACCESS = 12
    TEXT = 13

cdef struct Cursor:
    const uint8_t* at
    const uint8_t* end


cdef inline Cursor cursor_over(HeldBytes held) noexcept nogil:
    cdef Cursor cursor
    cursor.at = <const uint8_t*>held.view.buf
    cursor.end = cursor.at + held.view.len
    return cursor


cdef inline int read_varint(Cursor* cursor, uint64_t* value) noexcept nogil:
    cdef int shift = 0
    cdef uint8_t part
    value[0] = 0
    while cursor.at < cursor.end:
        part = cursor.at[0]
        cursor.at += 1
        value[0] |= <uint64_t>(part & 0x7F) << shift
        if part < 0x80:
            return FINE
        shift += 7
        if shift > 63:
            return NUMBER
    return SHORT


cdef inline int read_varint32(Cursor* cursor, uint64_t* value) noexcept nogil:
    """Read a number of at most 32 bits, in at most five bytes."""
    cdef const uint8_t* first = cursor.at
    cdef int fault = read_varint(cursor, value)
    if fault:
        return fault
    return NUMBER if cursor.at - first > 5 or value[0] > UINT32_MAX else FINE


cdef inline int pass_by(Cursor* cursor, uint64_t n) noexcept nogil:
    """Pass n bytes."""
    if n > <uint64_t>(cursor.end - cursor.at):
        return SHORT
    cursor.at += n
    return FINE


cdef inline int pass_bytes(Cursor* cursor) noexcept nogil:
    """Pass a byte array, which has its length in front."""
    cdef uint32_t size
    if cursor.end - cursor.at < 4:
        return SHORT
    memcpy(&size, cursor.at, 4)
    cursor.at += 4
    return pass_by(cursor, size)
