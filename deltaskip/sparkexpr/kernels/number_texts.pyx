"""Numbers as strings in other bases, and with commas.

# Spark 4.1, NumberConverter.scala, FormatNumber; Java 17, DecimalFormat
"""

import pyarrow as pa

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdio cimport snprintf

from deltaskip.sparkexpr.kernels.arrow cimport (
    BinaryView, ByteBuffer, PrimitiveView, binary_view, is_valid, primitive_view, validity_buffer, zeros
)
from deltaskip.sparkexpr.kernels.lane cimport same_length, wrong_format
from deltaskip.sparkexpr.kernels.written cimport Span, Written, row_of, written_for, written_like

cdef enum:
    NO_NUMBER
    CONVERTED
    BEYOND

cdef enum:
    MOST_PLACES = 14

# Up to 15 digits are those of the shortest text of a double: the bounds by number of places.
cdef double[15] BELOW = [1e15, 1e14, 1e13, 1e12, 1e11, 1e10, 1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1]

cdef const char* DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def in_base(
    texts: ArrowArrayExportable, sources: ArrowArrayExportable, targets: ArrowArrayExportable
) -> tuple[pa.StringArray, pa.UInt8Array]:
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


def fixed_digits(values: ArrowArrayExportable, int places) -> tuple[pa.StringArray, pa.UInt8Array]:
    """Return doubles with so many digits behind the point, rounded half to even, as texts without the point.

    Returns also as uint8 which are left to the caller: infinity, NaN, and those with more than 15 digits. The texts are
    null where the values are. Raises TypeError for other types, and ValueError for another number than 0 to 14.
    """
    cdef PrimitiveView view = primitive_view(values)
    if view.format != b"g":
        raise wrong_format("double", view.format)
    if not 0 <= places <= MOST_PLACES:
        raise ValueError(f"Numbers have 0 to {MOST_PLACES} digits behind the point here, not {places}.")
    cdef Written out = written_for(validity_buffer(view.validity, view.offset, view.length), view.length)
    cdef ByteBuffer left = zeros(view.length)
    cdef const double* given = <const double*>view.values
    cdef char[64] text
    cdef int64_t i, at, size
    with nogil:
        for i in range(view.length):
            size = 0
            if fabs(given[i]) < BELOW[places]:
                snprintf(text, 64, "%.*f", places, given[i])
                for at in range(64):
                    if text[at] == 0:
                        break
                    # Other characters than digits are the sign, or a point of some locale.
                    if at == 0 and text[at] == 0x2D or 0x30 <= text[at] <= 0x39:
                        text[size] = text[at]
                        size += 1
            else:
                left.data[i] = 1
            if out.add(i, <const uint8_t*>text, size) != 0:
                break
    return out.array(pa.string()), pa.Array.from_buffers(pa.uint8(), view.length, [None, pa.py_buffer(left)])


def grouped(texts: ArrowArrayExportable, int scale, int whole, int least, int group) -> pa.StringArray:
    """Return the texts of integers as numbers with `scale` of their digits behind a point.

    whole, least: How many digits are written before and behind the point at least; zeros are added, or left out.
    group: The number of digits between commas; 0 without commas. The result is null where the text is.
    """
    cdef BinaryView view = binary_view(texts)
    cdef Written out = written_like(view)
    cdef int64_t i
    with nogil:
        for i in range(view.length):
            if is_valid(view.validity, view.offset + i) and _group(row_of(view, i), scale, whole, least, group, out) != 0:
                break
            out.end(i)
    return out.array(pa.string())


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


cdef int _group(Span text, int scale, int whole, int least, int group, Written out) noexcept nogil:
    """Append a number with commas."""
    cdef bint negative = text.size > 0 and text.data[0] == 0x2D
    cdef const uint8_t* digits = text.data + negative
    cdef int64_t size = text.size - negative, before = size - scale, first = 0, behind = scale, k, width
    # Digits before `first` are zeros, and missing ones are, too.
    while first < before and digits[first] == 0x30:
        first += 1
    while behind > least and (before + behind <= 0 or digits[before + behind - 1] == 0x30):
        behind -= 1
    width = before - first if before > first else 0
    width = whole if width < whole else width
    if width == 0 and behind == 0 and least == 0:
        width = 1
    if out.reserve(2 * width + (behind if behind > least else least) + 4) != 0:
        return -1
    if negative:
        out.data.append_byte(0x2D)
    for k in range(width, 0, -1):
        out.data.append_byte(digits[before - k] if 0 <= before - k else 0x30)
        if group > 0 and k > 1 and (k - 1) % group == 0:
            out.data.append_byte(0x2C)
    if behind > 0 or least > 0:
        out.data.append_byte(0x2E)
        for k in range(behind if behind > least else least):
            out.data.append_byte(digits[before + k] if k < behind and 0 <= before + k else 0x30)
    return 0


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
