"""Bytes and integers as strings of digits, and back; checks of such strings.

# Spark 4.1, mathExpressions.scala (Hex, Unhex, Bin), UTF8String.isValid, ExpressionImplUtils.isLuhnNumber; RFC 4648
"""

import pyarrow as pa

from libc.stdint cimport int8_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from deltaskip.sparkexpr.kernels.arrow cimport (
    BinaryView, ByteBuffer, PrimitiveView, binary_view, is_valid, primitive_view, validity_buffer, zeros
)
from deltaskip.sparkexpr.kernels.lane cimport wrong_format
from deltaskip.sparkexpr.kernels.utf8 cimport REPLACEMENT, decode
from deltaskip.sparkexpr.kernels.written cimport Span, Written, row_of, written_for, written_like

cdef const char* HEX = "0123456789ABCDEF"
cdef enum:
    LINE_BYTES = 57  # of a line of 76 characters

cdef const char* BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def hex_digits(values: ArrowArrayExportable) -> pa.StringArray:
    """Return the bytes of strings or binary as strings of hexadecimal digits, in upper case."""
    cdef BinaryView view = binary_view(values)
    cdef Written out = written_like(view)
    cdef int64_t i, at
    cdef uint8_t* to
    cdef Span row
    with nogil:
        for i in range(view.length):
            row = row_of(view, i)
            if out.reserve(2 * row.size) != 0:
                break
            to = out.data.data + out.data.size
            for at in range(row.size):
                to[2 * at] = HEX[row.data[at] >> 4]
                to[2 * at + 1] = HEX[row.data[at] & 15]
            out.data.size += 2 * row.size
            out.end(i)
    return out.array(pa.string())


def digits_of_longs(values: ArrowArrayExportable, int bits) -> pa.StringArray:
    """Return the 64 bits of each integer of an int64 array as digits of `bits` bits, 1 or 4, without leading zeros.

    Raises TypeError for another format, and ValueError for another number of bits.
    """
    cdef PrimitiveView view = primitive_view(values)
    if view.format != b"l":
        raise wrong_format("int64", view.format)
    if bits != 1 and bits != 4:
        raise ValueError(f"A digit has 1 or 4 bits, not {bits}.")
    cdef Written out = written_for(validity_buffer(view.validity, view.offset, view.length), view.length)
    cdef int64_t i
    cdef uint64_t number
    cdef int at
    cdef uint8_t[64] digits
    with nogil:
        for i in range(view.length):
            number = (<const uint64_t*>view.values)[i]
            at = 64
            while at == 64 or number != 0:
                at -= 1
                digits[at] = HEX[number & ((1 << bits) - 1)]
                number >>= bits
            if out.add(i, digits + at, 64 - at if is_valid(view.validity, view.offset + i) else 0) != 0:
                break
    return out.array(pa.string())


def from_hex(texts: ArrowArrayExportable) -> pa.BinaryArray:
    """Return the bytes of hexadecimal digits; null for other characters. An odd first digit is a byte."""
    cdef BinaryView view = binary_view(texts)
    cdef ByteBuffer valid = zeros((view.length + 7) // 8)
    cdef Written out = written_for(pa.py_buffer(valid), view.length)
    cdef int64_t i, at, written
    cdef int high, low
    cdef uint8_t* to
    cdef Span row
    with nogil:
        for i in range(view.length):
            row = row_of(view, i)
            if out.reserve(row.size // 2 + 1) != 0:
                break
            to = out.data.data + out.data.size
            written, at, high = 0, 0, 0
            if row.size % 2 == 1:
                high = digit_of(row.data[0])
                to[0] = <uint8_t>high
                written = at = 1
            while at < row.size and high >= 0:
                high, low = digit_of(row.data[at]), digit_of(row.data[at + 1])
                to[written] = <uint8_t>(high << 4 | low)
                high = high if low >= 0 else low
                written += 1
                at += 2
            if high >= 0 and is_valid(view.validity, view.offset + i):
                valid.data[i >> 3] |= <uint8_t>(1 << (i & 7))
                out.data.size += written
            out.end(i)
    return out.array(pa.binary())


def base64_digits(values: ArrowArrayExportable) -> pa.StringArray:
    """Return the bytes of strings or binary in base 64, padded, in lines of 76 characters that CRLF divides."""
    cdef BinaryView view = binary_view(values)
    cdef Written out = written_like(view)
    cdef int64_t i, at
    cdef uint8_t* to
    cdef uint64_t word
    cdef Span row
    with nogil:
        for i in range(view.length):
            row = row_of(view, i)
            if out.reserve(4 * (row.size // 3 + 1) + 2 * (row.size // LINE_BYTES + 1)) != 0:
                break
            to = out.data.data + out.data.size
            at = 0
            while at + 3 <= row.size:
                word = row.data[at] << 16 | row.data[at + 1] << 8 | row.data[at + 2]
                _quad(word, to)
                to += 4
                at += 3
                if at % LINE_BYTES == 0 and at < row.size:
                    to[0], to[1] = 0x0D, 0x0A
                    to += 2
            if at < row.size:
                word = row.data[at] << 16 | (row.data[at + 1] << 8 if at + 2 == row.size else 0)
                _quad(word, to)
                to[3] = 0x3D
                if at + 1 == row.size:
                    to[2] = 0x3D
                to += 4
            out.data.size = to - out.data.data
            out.end(i)
    return out.array(pa.string())


def from_base64(texts: ArrowArrayExportable) -> pa.BinaryArray:
    """Return the bytes of texts in base 64 of one line, padded or not; null for other texts."""
    cdef BinaryView view = binary_view(texts)
    cdef ByteBuffer valid = zeros((view.length + 7) // 8)
    cdef Written out = written_for(pa.py_buffer(valid), view.length)
    cdef int64_t i, at, size
    cdef uint64_t word
    cdef int8_t six
    cdef bint usual
    cdef uint8_t* to
    cdef Span row
    cdef int8_t[256] values
    for i in range(256):
        values[i] = -1
    for i in range(64):
        values[<uint8_t>BASE64[i]] = <int8_t>i
    with nogil:
        for i in range(view.length):
            row = row_of(view, i)
            size = row.size
            if size > 0 and size % 4 == 0 and row.data[size - 1] == 0x3D:
                size -= 2 if row.data[size - 2] == 0x3D else 1
            usual = size % 4 != 1
            if out.reserve(3 * (size // 4 + 1)) != 0:
                break
            to = out.data.data + out.data.size
            word = 0
            for at in range(size):
                six = values[row.data[at]]
                usual = usual and six >= 0
                word = word << 6 | <uint8_t>(six & 63)
                if at % 4 == 3:
                    to[0], to[1], to[2] = <uint8_t>(word >> 16), <uint8_t>(word >> 8), <uint8_t>word
                    to += 3
                    word = 0
            if size % 4 == 2:
                to[0] = <uint8_t>(word >> 4)
                to += 1
            elif size % 4 == 3:
                to[0], to[1] = <uint8_t>(word >> 10), <uint8_t>(word >> 2)
                to += 2
            if usual and is_valid(view.validity, view.offset + i):
                valid.data[i >> 3] |= <uint8_t>(1 << (i & 7))
                out.data.size = to - out.data.data
            out.end(i)
    return out.array(pa.binary())


def valid_utf8(values: ArrowArrayExportable) -> pa.BooleanArray:
    """Return whether the bytes of each row are UTF-8; null where it is null."""
    cdef BinaryView view = binary_view(values)
    cdef ByteBuffer out = zeros((view.length + 7) // 8)
    cdef int64_t i
    with nogil:
        for i in range(view.length):
            if _is_utf8(row_of(view, i)):
                out.data[i >> 3] |= <uint8_t>(1 << (i & 7))
    return _flags(out, view)


def luhn_checks(texts: ArrowArrayExportable) -> pa.BooleanArray:
    """Return whether each text has digits of ASCII only, at least one, and passes Luhn's check; null where it is null."""
    cdef BinaryView view = binary_view(texts)
    cdef ByteBuffer out = zeros((view.length + 7) // 8)
    cdef int64_t i
    with nogil:
        for i in range(view.length):
            if _passes_luhn(row_of(view, i)):
                out.data[i >> 3] |= <uint8_t>(1 << (i & 7))
    return _flags(out, view)


cdef object _flags(ByteBuffer out, BinaryView view):
    validity = validity_buffer(view.validity, view.offset, view.length)
    return pa.Array.from_buffers(pa.bool_(), view.length, [validity, pa.py_buffer(out)])


cdef inline int digit_of(uint8_t byte) noexcept nogil:
    """The value of a hexadecimal digit; -1 for another character."""
    if 0x30 <= byte <= 0x39:
        return byte - 0x30
    byte |= 0x20
    return byte - 0x57 if 0x61 <= byte <= 0x66 else -1


cdef inline void _quad(uint64_t word, uint8_t* to) noexcept nogil:
    to[0] = BASE64[word >> 18 & 63]
    to[1] = BASE64[word >> 12 & 63]
    to[2] = BASE64[word >> 6 & 63]
    to[3] = BASE64[word & 63]


cdef bint _is_utf8(Span row) noexcept nogil:
    cdef int64_t at = 0, start
    cdef uint64_t word
    while at < row.size:
        if at + 8 <= row.size:
            memcpy(&word, row.data + at, 8)
            if word & <uint64_t>0x8080808080808080ULL == 0:
                at += 8
                continue
        start = at
        # U+FFFD itself has three bytes, the first of them EF.
        if decode(row.data, row.size, &at) == REPLACEMENT and not (at - start == 3 and row.data[start] == 0xEF):
            return False
    return True


cdef bint _passes_luhn(Span row) noexcept nogil:
    cdef int64_t at = row.size, total = 0
    cdef int digit
    cdef bint second = False
    while at > 0:
        at -= 1
        digit = row.data[at] - 0x30
        if digit < 0 or digit > 9:
            return False
        if second:
            digit = 2 * digit - 9 if digit > 4 else 2 * digit
        second = not second
        total += digit
    return row.size > 0 and total % 10 == 0
