"""Matches of strings against a pattern in each row.

# Spark 4.1, StringUtils.escapeLikeRegex
"""

import pyarrow as pa

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcmp

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView, ByteBuffer, binary_view, validity_buffer, zeros
from deltaskip.sparkexpr.kernels.lane cimport same_length
from deltaskip.sparkexpr.kernels.written cimport Span, row_of

cdef enum:
    ANY_STRING = 0x25
    ANY_CHARACTER = 0x5F


def likes(texts: ArrowArrayExportable, patterns: ArrowArrayExportable, str escape not None) -> pa.UInt8Array:
    """Return as uint8 whether each text is LIKE the pattern of its row: 0 or 1; 2 if the pattern has a wrong escape.

    escape: One character. The result is null where the text is; what it is where the pattern is null does not matter.
    Raises TypeError for other types, and ValueError for arrays of different lengths or another escape.
    """
    cdef BinaryView view = binary_view(texts)
    cdef BinaryView other = binary_view(patterns)
    same_length(view.length, other.length)
    if len(escape) != 1:
        raise ValueError("An escape is one character.")
    cdef bytes encoded = escape.encode()
    cdef Span mark = Span(<const uint8_t*><const char*>encoded, len(encoded))
    cdef ByteBuffer out = zeros(view.length)
    cdef int64_t i
    cdef Span pattern
    with nogil:
        for i in range(view.length):
            pattern = row_of(other, i)
            out.data[i] = _is_like(row_of(view, i), pattern, mark) if _is_escaped(pattern, mark) else 2
    validity = validity_buffer(view.validity, view.offset, view.length)
    return pa.Array.from_buffers(pa.uint8(), view.length, [validity, pa.py_buffer(out)])


cdef int64_t _width(Span text, int64_t at) noexcept nogil:
    """The number of bytes of the character at a place."""
    cdef int64_t end = at + 1
    while end < text.size and text.data[end] & 0xC0 == 0x80:
        end += 1
    return end - at


cdef bint _starts(Span text, int64_t at, Span part) noexcept nogil:
    return part.size <= text.size - at and memcmp(text.data + at, part.data, part.size) == 0


cdef bint _is_escaped(Span pattern, Span escape) noexcept nogil:
    """Whether every escape stands before a wildcard or another one."""
    cdef int64_t at = 0
    while at < pattern.size:
        if _starts(pattern, at, escape):
            at += escape.size
            if at >= pattern.size:
                return False
            if pattern.data[at] != ANY_STRING and pattern.data[at] != ANY_CHARACTER and not _starts(pattern, at, escape):
                return False
        at += _width(pattern, at)
    return True


cdef bint _is_like(Span text, Span pattern, Span escape) noexcept nogil:
    """After a mismatch the last `%` takes a character more: the leftmost match of what follows it leaves most text."""
    cdef int64_t t = 0, p = 0, after = -1, taken = 0, width
    cdef bint wild
    while True:
        if p < pattern.size:
            wild = True
            if _starts(pattern, p, escape):
                wild, p = False, p + escape.size
            if wild and pattern.data[p] == ANY_STRING:
                p += 1
                after, taken = p, t
                continue
            if t < text.size:
                width = _width(pattern, p)
                if wild and pattern.data[p] == ANY_CHARACTER:
                    t, p = t + _width(text, t), p + 1
                    continue
                if width <= text.size - t and memcmp(text.data + t, pattern.data + p, width) == 0:
                    t, p = t + width, p + width
                    continue
        elif t == text.size:
            return True
        if after < 0 or taken >= text.size:
            return False
        taken += _width(text, taken)
        t, p = taken, after
