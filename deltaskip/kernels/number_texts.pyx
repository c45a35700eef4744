"""Numbers as texts of other bases.

# Spark 4.1, NumberConverter.scala
"""

import pyarrow as pa

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from deltaskip.kernels.arrow cimport BinaryView, ByteBuffer, PrimitiveView, binary_view, primitive_view, zeros
from deltaskip.kernels.lane cimport same_length, wrong_format
from deltaskip.kernels.written cimport Span, Written, row_of, written_for

cdef enum:
    NO_NUMBER
    CONVERTED
    BEYOND

cdef const char* DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def in_base(object texts, object sources, object targets):
    """Return integers of 64 bits, written in base `source`, in base `target`, and as uint8 which are beyond 64 bits.

    sources, targets: int32 for each row; a text has a sign if the target is negative. The result is null where a text
    is, or is empty, or a base is not one; what a base is where it is null does not matter. Raises TypeError for other
    types, and ValueError for arrays of different lengths.
    """
    cdef BinaryView view = binary_view(texts)
    cdef PrimitiveView from_ = _bases(sources, view.length)
    cdef PrimitiveView to = _bases(targets, view.length)
    cdef ByteBuffer bits = zeros((view.length + 7) // 8)
    cdef ByteBuffer beyond = zeros(view.length)
    cdef Written out = written_for(pa.py_buffer(bits), view.length)
    cdef uint8_t[66] digits
    cdef int64_t i, start
    cdef int found
    with nogil:
        for i in range(view.length):
            start = 66
            found = _converted(
                row_of(view, i), (<const int32_t*>from_.values)[i], (<const int32_t*>to.values)[i], digits, &start
            )
            beyond.data[i] = found == BEYOND
            bits.data[i >> 3] |= <uint8_t>((found != NO_NUMBER) << (i & 7))
            if out.add(i, digits + start, 66 - start) != 0:
                break
    return out.array(pa.string()), pa.Array.from_buffers(pa.uint8(), view.length, [None, pa.py_buffer(beyond)])


cdef PrimitiveView _bases(object values, int64_t length):
    cdef PrimitiveView view = primitive_view(values)
    if view.format != b"i":
        raise wrong_format("int32", view.format)
    same_length(view.length, length)
    return view


cdef int _digit(uint8_t byte) noexcept nogil:
    """The value of a digit or letter; a great number for another character."""
    if 0x30 <= byte <= 0x39:
        return byte - 0x30
    byte &= 0xDF
    return byte - 0x37 if 0x41 <= byte <= 0x5A else 99


cdef int _converted(Span text, int32_t source, int32_t target, uint8_t* out, int64_t* start) noexcept nogil:
    """Write the digits before the end of `out`, which has 66 bytes, from `start` on."""
    cdef int64_t at = 0, end = text.size
    cdef bint negative = False, signed = target < 0
    cdef uint64_t value = 0, base
    cdef int digit
    if not 2 <= source <= 36 or not (2 <= target <= 36 or -36 <= target <= -2):
        return NO_NUMBER
    while at < end and text.data[at] == 0x20:
        at += 1
    while at < end and text.data[end - 1] == 0x20:
        end -= 1
    if at == end:
        return NO_NUMBER
    if text.data[at] == 0x2D:
        negative = True
        at += 1
    while at < end:
        digit = _digit(text.data[at])
        if digit >= source:
            break
        if value > (~<uint64_t>0 - <uint64_t>digit) // <uint64_t>source:
            return BEYOND
        value = value * <uint64_t>source + <uint64_t>digit
        at += 1
    if negative and not signed:
        value = ~<uint64_t>0 if <int64_t>value < 0 else 0 - value
    if signed and <int64_t>value < 0:
        value, negative = 0 - value, True
    base = <uint64_t>(-target if signed else target)
    while True:
        start[0] -= 1
        out[start[0]] = DIGITS[value % base]
        value //= base
        if value == 0:
            break
    if negative and signed:
        start[0] -= 1
        out[start[0]] = 0x2D
    return CONVERTED
