"""ICU's sort keys of strings: bytes whose unsigned order is the collation's."""

import pyarrow as pa

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize, PyBytes_Size
from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t, uint16_t
from libc.stdlib cimport free, malloc

from deltaskip.sparkexpr.kernels.arrow cimport NO_MEMORY, BinaryView, ByteBuffer, binary_view, is_valid
from deltaskip.sparkexpr.kernels.icu_library cimport IcuCollator
from deltaskip.sparkexpr.kernels.icu_ascii cimport LONGEST_ASCII, AsciiKeys, ascii_keys
from deltaskip.sparkexpr.kernels.icu_texts cimport (
    ICU_FAILED, TOO_LONG, Texts, check_icu, text_at, texts_of, validity_of
)
from deltaskip.sparkexpr.kernels.utf8 cimport Text, decode

# A key is written in place if that much space is left; most are 1.5 times as long as their text.
cdef int64_t KEY_ROOM = 512

# Minimum number of values for which computing the pieces of ASCII keys pays off; it takes as long as some hundred keys.
cdef int64_t SOME = 1024


def sort_keys(IcuCollator collator not None, array: ArrowArrayExportable, bint rtrim=False) -> pa.LargeBinaryArray:
    """Return ICU's sort keys as large_binary, with the final zero; nulls stay null.

    Their unsigned byte order is the collation. Bytes that are not UTF-8 count as U+FFFD, one for each maximal part.
    rtrim: Ignore trailing U+0020. Raises TypeError for another format, and ValueError for a string of 1 GiB or more.
    """
    cdef BinaryView view = binary_view(array)
    cdef Texts texts = texts_of(view, rtrim)
    cdef ByteBuffer ends = ByteBuffer.__new__(ByteBuffer)
    cdef ByteBuffer keys = ByteBuffer.__new__(ByteBuffer)
    cdef AsciiKeys pieces = ascii_keys(collator) if view.length >= SOME else None
    cdef int code
    with nogil:
        code = _sort_keys(collator, texts, pieces, ends, keys)
    check_icu(code)
    buffers = [validity_of(texts), pa.py_buffer(ends), pa.py_buffer(keys)]
    return pa.Array.from_buffers(pa.large_binary(), view.length, buffers)


def sort_key(IcuCollator collator not None, bytes text not None, bint rtrim=False) -> bytes:
    """Return the sort key of one text, as in sort_keys."""
    cdef ByteBuffer ends = ByteBuffer.__new__(ByteBuffer)
    cdef ByteBuffer keys = ByteBuffer.__new__(ByteBuffer)
    cdef int64_t[2] offsets
    cdef int code
    offsets[0], offsets[1] = 0, PyBytes_Size(text)
    cdef Texts texts = Texts(NULL, &offsets[0], <const uint8_t*>PyBytes_AsString(text), NULL, 0, 1, rtrim)
    with nogil:
        code = _sort_keys(collator, texts, None, ends, keys)
    check_icu(code)
    return PyBytes_FromStringAndSize(<const char*>keys.data, keys.size)


cdef int _sort_keys(
    IcuCollator collator, Texts texts, AsciiKeys pieces, ByteBuffer ends, ByteBuffer keys
) noexcept nogil:
    cdef int64_t i, room = 0
    cdef int code = ends.reserve((texts.length + 1) * 8)
    cdef uint16_t* units = NULL
    cdef Text text
    cdef bint by_pieces = pieces is not None and pieces.levels > 0
    cdef int64_t written
    if code == 0:
        code = ends.append_int64(0)
    for i in range(texts.length):
        if code != 0:
            break
        if texts.validity == NULL or is_valid(texts.validity, texts.offset + i):
            text = text_at(&texts, i)
            written = -1
            if by_pieces and text.size <= LONGEST_ASCII:
                code = keys.reserve(text.size * 16 + KEY_ROOM)
                if code != 0:
                    break
                written = pieces.write(text.data, text.size, keys.data + keys.size)
            if text.size > room and written < 0:
                free(units)
                room = text.size * 2
                units = <uint16_t*>malloc(room * sizeof(uint16_t))
            if written >= 0:
                keys.size += written
            elif text.size > 0 and units == NULL:
                code = NO_MEMORY
            else:
                code = _append_key(collator, text, units, keys)
        if code == 0:
            code = ends.append_int64(keys.size)
    free(units)
    return code


cdef int _append_key(IcuCollator collator, Text text, uint16_t* units, ByteBuffer keys) noexcept nogil:
    cdef int32_t size, capacity
    cdef int64_t free_bytes
    cdef uint16_t nothing = 0
    if text.size >= 1 << 30:
        return TOO_LONG
    if keys.reserve(text.size * 2 + KEY_ROOM) != 0:
        return NO_MEMORY
    size = _to_utf16(text, units)
    while True:
        free_bytes = keys.capacity - keys.size
        capacity = <int32_t>free_bytes if free_bytes < INT32_MAX else INT32_MAX
        capacity = collator.library.call.sort_key(
            collator.handle, units if size > 0 else &nothing, size, keys.data + keys.size, capacity
        )
        if capacity <= 0:
            return ICU_FAILED
        if capacity <= free_bytes:
            keys.size += capacity
            return 0
        if keys.reserve(capacity) != 0:
            return NO_MEMORY


cdef int32_t _to_utf16(Text text, uint16_t* units) noexcept nogil:
    """UTF-16 units of the text, never more than it has bytes."""
    cdef int64_t at = 0
    cdef int32_t n = 0, char
    while at < text.size:
        char = decode(text.data, text.size, &at)
        if char >= 0x10000:
            units[n] = <uint16_t>(0xD7C0 + (char >> 10))
            n += 1
            char = 0xDC00 | (char & 0x3FF)
        units[n] = <uint16_t>char
        n += 1
    return n
