"""Parts, positions and changes of strings and binary: Spark's string functions that pyarrow lacks.

Places are counted in code points.

# Spark 4.1, UTF8String.java, ByteArray.java
"""

import pyarrow as pa

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memchr, memcmp

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView, ByteBuffer, HeldBytes, binary_view, validity_buffer, zeros
from deltaskip.sparkexpr.kernels.lane cimport same_length
from deltaskip.sparkexpr.kernels.written cimport Span, Written, both_valid, row_of, text_type, written_like


def before_delimiter(texts: ArrowArrayExportable, bytes delimiter not None, int64_t count) -> pa.Array:
    """Return what stands before a delimiter, the `count`-th from the start, or after the -`count`-th from the end.

    The whole text if it has fewer. Delimiters may overlap. Nothing for no delimiter, or a count of 0.
    """
    return _cut(texts, delimiter, count, False)


def part_between(texts: ArrowArrayExportable, bytes delimiter not None, int64_t number) -> pa.Array:
    """Return the part with a number, from 1, or from the end if it is negative; nothing if there is none.

    Without a delimiter the whole text is the only part.
    """
    return _cut(texts, delimiter, number, True)


cdef object _cut(object texts, bytes delimiter, int64_t count, bint between):
    cdef BinaryView view = binary_view(texts)
    cdef HeldBytes held = HeldBytes(delimiter)
    cdef const uint8_t* mark = <const uint8_t*>held.view.buf
    cdef Written out = written_like(view)
    cdef int64_t i
    cdef Span row, found
    with nogil:
        for i in range(view.length):
            row = row_of(view, i)
            found = _part(row, mark, held.view.len, count) if between else _before(row, mark, held.view.len, count)
            if out.add(i, found.data, found.size) != 0:
                break
    return out.array(text_type(view))


def located(texts: ArrowArrayExportable, bytes part not None, int64_t start) -> pa.Int32Array:
    """Return where a part is found first from the code point `start` on, as int32: from 1, and 0 if it is not found."""
    cdef BinaryView view = binary_view(texts)
    cdef HeldBytes held = HeldBytes(part)
    cdef ByteBuffer out = zeros(4 * view.length)
    cdef int32_t* places = <int32_t*>out.data
    cdef int64_t i
    with nogil:
        for i in range(view.length):
            places[i] = _place(row_of(view, i), <const uint8_t*>held.view.buf, held.view.len, start)
    validity = validity_buffer(view.validity, view.offset, view.length)
    return pa.Array.from_buffers(pa.int32(), view.length, [validity, pa.py_buffer(out)])


def capitalized(texts: ArrowArrayExportable) -> pa.Array:
    """Return the texts with the first letter of each word in upper case and the others in lower case, of ASCII only.

    Words begin after blanks.
    """
    cdef BinaryView view = binary_view(texts)
    cdef Written out = written_like(view)
    cdef int64_t i, at
    cdef Span row
    cdef uint8_t byte, before
    with nogil:
        for i in range(view.length):
            row = row_of(view, i)
            before = 0x20
            if out.reserve(row.size) != 0:
                break
            for at in range(row.size):
                byte = row.data[at]
                if before == 0x20:
                    byte = byte - 32 if 0x61 <= byte <= 0x7A else byte
                else:
                    byte = byte + 32 if 0x41 <= byte <= 0x5A else byte
                before = byte
                out.data.data[out.data.size + at] = byte
            out.data.size += row.size
            out.end(i)
    return out.array(text_type(view))


def has_parts(texts: ArrowArrayExportable, parts: ArrowArrayExportable, int place) -> pa.UInt8Array:
    """Return as uint8 whether each text has the part of its row, null where one is null.

    place: Where: 0 at the start, 1 anywhere, 2 at the end. Raises ValueError for arrays of different lengths.
    """
    cdef BinaryView view = binary_view(texts)
    cdef BinaryView other = binary_view(parts)
    same_length(view.length, other.length)
    cdef ByteBuffer out = zeros(view.length)
    cdef int64_t i
    cdef Span text, part
    with nogil:
        for i in range(view.length):
            text, part = row_of(view, i), row_of(other, i)
            if part.size == 0:
                out.data[i] = 1
            elif part.size <= text.size and place == 1:
                out.data[i] = _find(text, 0, part.data, part.size) >= 0
            elif part.size <= text.size:
                text.data += text.size - part.size if place == 2 else 0
                out.data[i] = memcmp(text.data, part.data, part.size) == 0
    return pa.Array.from_buffers(pa.uint8(), view.length, [both_valid(view, other), pa.py_buffer(out)])


cdef int64_t _find(Span text, int64_t start, const uint8_t* part, int64_t size) noexcept nogil:
    """The first place of a part that is not empty from the byte `start` on; -1 without one."""
    cdef const uint8_t* at
    while text.size - start >= size:
        at = <const uint8_t*>memchr(text.data + start, part[0], text.size - start - size + 1)
        if at == NULL:
            return -1
        if memcmp(at, part, size) == 0:
            return at - text.data
        start = at - text.data + 1
    return -1


cdef Span _before(Span text, const uint8_t* delimiter, int64_t size, int64_t count) noexcept nogil:
    cdef int64_t at = -1
    cdef Span none
    none.data, none.size = text.data, 0
    if size == 0 or count == 0:
        return none
    if count > 0:
        while count > 0:
            at = _find(text, at + 1, delimiter, size)
            if at < 0:
                return text
            count -= 1
        text.size = at
        return text
    at = text.size - size + 1
    while count < 0:
        at -= 1
        while at >= 0 and memcmp(text.data + at, delimiter, size) != 0:
            at -= 1
        if at < 0:
            return text
        count += 1
    text.data += at + size
    text.size -= at + size
    return text


cdef Span _part(Span text, const uint8_t* delimiter, int64_t size, int64_t number) noexcept nogil:
    cdef int64_t at = 0, end, parts = 1
    cdef Span none
    none.data, none.size = text.data, 0
    if size == 0:
        return text if number == 1 or number == -1 else none
    if number < 0:
        end = _find(text, 0, delimiter, size)
        while end >= 0:
            parts += 1
            end = _find(text, end + size, delimiter, size)
        number += parts + 1
    if number <= 0:
        return none
    while True:
        end = _find(text, at, delimiter, size)
        number -= 1
        if number == 0:
            text.data += at
            text.size = (end if end >= 0 else text.size) - at
            return text
        if end < 0:
            return none
        at = end + size


cdef int32_t _place(Span text, const uint8_t* part, int64_t size, int64_t start) noexcept nogil:
    cdef int64_t at = 0, found, i
    cdef int32_t place = 1
    if start < 1:
        return 0
    if size == 0:
        return 1
    while start > 1:
        if at >= text.size:
            return 0
        at += 1
        while at < text.size and text.data[at] & 0xC0 == 0x80:
            at += 1
        start -= 1
    found = _find(text, at, part, size)
    if found < 0:
        return 0
    for i in range(found):
        place += text.data[i] & 0xC0 != 0x80
    return place
