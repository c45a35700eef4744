"""String functions that pyarrow.compute lacks: with an argument for each row, URL form encoding, and CRC-32.

Positions count code points of strings, and bytes of binary.

# Spark 4.1, UTF8String.java, ByteArray.java; Java 17, URLEncoder, URLDecoder, CRC32
"""

import pyarrow as pa

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from deltaskip.sparkexpr.kernels.arrow cimport (
    BinaryView, ByteBuffer, PrimitiveView, binary_view, check, is_valid, primitive_view, validity_buffer, zeros
)
from deltaskip.sparkexpr.kernels.lane cimport same_length, wrong_format
from deltaskip.sparkexpr.kernels.utf8 cimport REPLACEMENT, decode
from deltaskip.sparkexpr.kernels.written cimport Span, Written, row_of, text_type, written_for, written_like

cdef const char* HEXADECIMAL = "0123456789ABCDEF"
cdef uint32_t[256] CHECKS


def slices(texts: ArrowArrayExportable, starts: ArrowArrayExportable, lengths: ArrowArrayExportable) -> pa.Array:
    """Return so many characters of each text from a place on: from 1, from the end if negative, and 0 means 1.

    Starts and lengths are int32; what they are where they are null does not matter. The result is null where the text
    is. Raises TypeError for other types, and ValueError for arrays of different lengths.
    """
    cdef BinaryView view = binary_view(texts)
    cdef PrimitiveView first = _integers(starts, view.length)
    cdef PrimitiveView count = _integers(lengths, view.length)
    cdef const int32_t* from_ = <const int32_t*>first.values
    cdef const int32_t* counts = <const int32_t*>count.values
    cdef Written out = written_like(view)
    cdef bint binary = view.format in (b"z", b"Z")
    cdef int64_t i, start, end, begin
    cdef Span row
    with nogil:
        for i in range(view.length):
            row = row_of(view, i)
            start = from_[i]
            if start > 0:
                start -= 1
            elif start < 0:
                start += row.size if binary else _characters(row)
            end = start + counts[i]
            start = 0 if start < 0 else start
            if end <= start:
                start = end = 0
            begin = _byte_of(row, 0, start, binary)
            if out.add(i, row.data + begin, _byte_of(row, begin, end - start, binary) - begin) != 0:
                break
    return out.array(text_type(view))


def joined(texts: ArrowArrayExportable, others: ArrowArrayExportable) -> pa.Array:
    """Return each text followed by that of another array, null where one of both is.

    Raises TypeError for other types, and ValueError for arrays of different lengths.
    """
    cdef BinaryView view = binary_view(texts)
    cdef BinaryView behind = binary_view(others)
    same_length(view.length, behind.length)
    cdef Written out = written_for(_both_valid(view, behind), view.length)
    cdef int64_t i
    cdef Span first, second
    with nogil:
        for i in range(view.length):
            first, second = row_of(view, i), row_of(behind, i)
            if out.reserve(first.size + second.size) != 0:
                break
            out.data.append(first.data, first.size)
            out.data.append(second.data, second.size)
            out.end(i)
    return out.array(text_type(view))


def whole_numbers(texts: ArrowArrayExportable) -> tuple[pa.Int64Array, memoryview]:
    """Return texts as int64, and which of them are read so: those of at most 18 digits, after a minus or not.

    Nulls are null, and count as read. Another text is 0.
    """
    cdef BinaryView view = binary_view(texts)
    cdef ByteBuffer out = zeros(8 * view.length)
    cdef ByteBuffer read = zeros(view.length)
    cdef int64_t* numbers = <int64_t*>out.data
    cdef int64_t i, at, number
    cdef bint minus
    cdef Span row
    with nogil:
        for i in range(view.length):
            if not is_valid(view.validity, view.offset + i):
                read.data[i] = 1
                continue
            row = row_of(view, i)
            minus = row.size > 0 and row.data[0] == 0x2D
            at, number = minus, 0
            if not 0 < row.size - at <= 18:
                continue
            while at < row.size and 0x30 <= row.data[at] <= 0x39:
                number = 10 * number + (row.data[at] - 0x30)
                at += 1
            if at == row.size:
                numbers[i] = -number if minus else number
                read.data[i] = 1
    validity = validity_buffer(view.validity, view.offset, view.length)
    return pa.Array.from_buffers(pa.int64(), view.length, [validity, pa.py_buffer(out)]), memoryview(read)


def padded(
    texts: ArrowArrayExportable, widths: ArrowArrayExportable, pads: ArrowArrayExportable, bint left
) -> pa.Array:
    """Return each text with as many characters as its width: cut off, or filled up with those of its pad.

    Widths are int32. Nothing fills up where the pad has no character or is null. The result is null where the text is. Raises as
    `slices`.
    """
    cdef BinaryView view = binary_view(texts)
    cdef BinaryView fillings = binary_view(pads)
    cdef PrimitiveView wanted = _integers(widths, view.length)
    same_length(fillings.length, view.length)
    cdef const int32_t* width = <const int32_t*>wanted.values
    cdef Written out = written_like(view)
    cdef bint binary = view.format in (b"z", b"Z")
    cdef int64_t i, missing, whole, rest, size, shown
    cdef Span row, pad
    with nogil:
        for i in range(view.length):
            row, pad = row_of(view, i), row_of(fillings, i)
            missing = width[i] - (row.size if binary else _characters(row))
            # Bytes that are no UTF-8 may have no character.
            shown = pad.size if binary else _characters(pad)
            if missing <= 0 or shown == 0:
                size = _byte_of(row, 0, width[i] if width[i] > 0 else 0, binary)
                if out.add(i, row.data, size) != 0:
                    break
                continue
            whole, rest = missing // shown, _byte_of(pad, 0, missing % shown, binary)
            if out.reserve(row.size + whole * pad.size + rest) != 0:
                break
            if not left:
                out.data.append(row.data, row.size)
            if pad.size == 1:
                memset(out.data.data + out.data.size, pad.data[0], whole)
                out.data.size += whole
                whole = 0
            while whole > 0:
                out.data.append(pad.data, pad.size)
                whole -= 1
            out.data.append(pad.data, rest)
            if left:
                out.data.append(row.data, row.size)
            out.end(i)
    return out.array(text_type(view))


def repeated(texts: ArrowArrayExportable, counts: ArrowArrayExportable) -> pa.Array:
    """Return each text so many times (int32), null where the text is. Raises as `slices`."""
    cdef BinaryView view = binary_view(texts)
    cdef PrimitiveView given = _integers(counts, view.length)
    cdef const int32_t* times = <const int32_t*>given.values
    cdef Written out = written_like(view)
    cdef int64_t i, left
    cdef Span row
    with nogil:
        for i in range(view.length):
            row = row_of(view, i)
            left = times[i] if row.size > 0 and times[i] > 0 else 0
            if out.reserve(left * row.size) != 0:
                break
            while left > 0:
                out.data.append(row.data, row.size)
                left -= 1
            out.end(i)
    return out.array(text_type(view))


def form_encoded(texts: ArrowArrayExportable) -> pa.Array:
    """Return texts as forms send them: letters, digits and `.-*_` as they are, blanks as `+`, other bytes as `%XX`."""
    cdef BinaryView view = binary_view(texts)
    cdef Written out = written_like(view)
    cdef int64_t i, at
    cdef Span row
    cdef uint8_t byte
    with nogil:
        for i in range(view.length):
            row = row_of(view, i)
            if out.reserve(3 * row.size) != 0:
                break
            for at in range(row.size):
                byte = row.data[at]
                if _is_plain(byte):
                    out.data.append_byte(byte)
                elif byte == 0x20:
                    out.data.append_byte(0x2B)
                else:
                    out.data.append_byte(0x25)
                    out.data.append_byte(HEXADECIMAL[byte >> 4])
                    out.data.append_byte(HEXADECIMAL[byte & 15])
            out.end(i)
    return out.array(text_type(view))


def form_decoded(texts: ArrowArrayExportable) -> tuple[pa.Array, pa.UInt8Array]:
    """Return the texts that `form_encoded` makes such texts of, and as uint8 which are odd.

    Odd texts have an incomplete escape, or escapes that are no UTF-8; their values do not matter.
    """
    cdef BinaryView view = binary_view(texts)
    cdef Written out = written_like(view)
    cdef ByteBuffer odd = zeros(view.length)
    cdef int64_t i, at, begin
    cdef Span row
    cdef uint8_t byte
    cdef int high, low
    with nogil:
        for i in range(view.length):
            row = row_of(view, i)
            if out.reserve(row.size) != 0:
                break
            at, begin = 0, out.data.size
            while at < row.size:
                byte = row.data[at]
                if byte == 0x25:
                    high = _digit(row.data[at + 1]) if at + 2 < row.size else -1
                    low = _digit(row.data[at + 2]) if at + 2 < row.size else -1
                    if high < 0 or low < 0:
                        odd.data[i] = 1
                        break
                    byte = <uint8_t>(high << 4 | low)
                    at += 2
                elif byte == 0x2B:
                    byte = 0x20
                out.data.append_byte(byte)
                at += 1
            if odd.data[i] != 0 or not _is_text(out.data.data + begin, out.data.size - begin):
                odd.data[i] = 1
                out.data.size = begin
            out.end(i)
    return out.array(text_type(view)), pa.Array.from_buffers(pa.uint8(), view.length, [None, pa.py_buffer(odd)])


def checksums(values: ArrowArrayExportable) -> pa.Int64Array:
    """Return the CRC-32 of each binary or string as int64, null where it is."""
    cdef BinaryView view = binary_view(values)
    cdef ByteBuffer out = zeros(8 * view.length)
    cdef int64_t* found = <int64_t*>out.data
    cdef int64_t i, at
    cdef uint32_t check_
    cdef Span row
    with nogil:
        for i in range(view.length):
            row = row_of(view, i)
            check_ = 0xFFFFFFFF
            for at in range(row.size):
                check_ = CHECKS[(check_ ^ row.data[at]) & 0xFF] ^ (check_ >> 8)
            found[i] = check_ ^ <uint32_t>0xFFFFFFFF
    validity = validity_buffer(view.validity, view.offset, view.length)
    return pa.Array.from_buffers(pa.int64(), view.length, [validity, pa.py_buffer(out)])


cdef object _both_valid(BinaryView view, BinaryView other):
    """A bitmap of the rows that are null in neither; None if no row is null."""
    if view.validity == NULL:
        return validity_buffer(other.validity, other.offset, other.length)
    if other.validity == NULL:
        return validity_buffer(view.validity, view.offset, view.length)
    cdef ByteBuffer bits = zeros((view.length + 7) >> 3)
    cdef int64_t i
    for i in range(view.length):
        if is_valid(view.validity, view.offset + i) and is_valid(other.validity, other.offset + i):
            bits.data[i >> 3] |= 1 << (i & 7)
    return pa.py_buffer(bits)


cdef PrimitiveView _integers(object values, int64_t length):
    cdef PrimitiveView view = primitive_view(values)
    if view.format != b"i":
        raise wrong_format("int32", view.format)
    same_length(view.length, length)
    return view


cdef int64_t _characters(Span text) noexcept nogil:
    """The number of code points."""
    cdef int64_t at, found = 0
    for at in range(text.size):
        found += text.data[at] & 0xC0 != 0x80
    return found


cdef int64_t _byte_of(Span text, int64_t begin, int64_t count, bint binary) noexcept nogil:
    """The byte behind `count` characters from the byte `begin` on."""
    if binary or count >= text.size - begin:
        return begin + count if count < text.size - begin else text.size
    while count > 0 and begin < text.size:
        begin += 1
        while begin < text.size and text.data[begin] & 0xC0 == 0x80:
            begin += 1
        count -= 1
    return begin


cdef bint _is_plain(uint8_t byte) noexcept nogil:
    if 0x61 <= byte <= 0x7A or 0x41 <= byte <= 0x5A or 0x30 <= byte <= 0x39:
        return True
    return byte == 0x2E or byte == 0x2D or byte == 0x2A or byte == 0x5F


cdef int _digit(uint8_t byte) noexcept nogil:
    """The value of a hexadecimal digit; -1 for another character."""
    if 0x30 <= byte <= 0x39:
        return byte - 0x30
    byte &= 0xDF
    return byte - 0x37 if 0x41 <= byte <= 0x46 else -1


cdef bint _is_text(const uint8_t* data, int64_t size) noexcept nogil:
    """Whether bytes are UTF-8 without U+FFFD."""
    cdef int64_t at = 0
    while at < size:
        if decode(data, size, &at) == REPLACEMENT:
            return False
    return True


cdef void _fill() noexcept:
    cdef uint32_t byte, value
    cdef int bit
    for byte in range(256):
        value = byte
        for bit in range(8):
            value = (value >> 1) ^ (0xEDB88320 if value & 1 else 0)
        CHECKS[byte] = value


_fill()
