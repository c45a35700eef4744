"""String functions that pyarrow.compute lacks: with an argument for each row.

Positions count code points of strings, and bytes of binary.

# Spark 4.1, UTF8String.java, ByteArray.java
"""

import pyarrow as pa

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView, ByteBuffer, PrimitiveView, binary_view, is_valid, validity_buffer, zeros
from deltaskip.sparkexpr.kernels.lane cimport same_length, view_of
from deltaskip.sparkexpr.kernels.written cimport Span, Written, both_valid, row_of, text_type, written_for, written_like


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
    cdef Written out = written_for(both_valid(view, behind), view.length)
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


cdef PrimitiveView _integers(object values, int64_t length):
    cdef PrimitiveView view = view_of(values, b"i")
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
