"""Whether strings are UTF-8, which neither Parquet nor pyarrow's reader ensures."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView, binary_view, is_valid

cdef enum:
    BLOCK = 64
    # The longest part of a sequence before its last byte.
    BEFORE = 3


def are_utf8(values):
    """Return whether every string of an array is UTF-8. Raises TypeError for other types."""
    cdef BinaryView view = binary_view(values)
    cdef bint found
    with nogil:
        found = view.length == 0 or _are_utf8(view)
    return found


cdef bint _are_utf8(BinaryView view) noexcept nogil:
    cdef int64_t start = view.start(0), end = view.end(view.length - 1), next, i
    cdef uint8_t inner = 0
    cdef int kind = _kind(view.data + start, end - start)
    if kind == 1:
        # All bytes are UTF-8, so every string is that starts at a character.
        for i in range(view.length - 1):
            next = view.end(i)
            inner |= next < end and (view.data[next] & 0xC0) == 0x80
        kind = 2 if inner else 0
    if kind == 2:
        # The bytes of nulls do not count.
        for i in range(view.length):
            if is_valid(view.validity, view.offset + i):
                if _kind(view.data + view.start(i), view.end(i) - view.start(i)) == 2:
                    return False
    return True


cdef int _kind(const uint8_t* data, int64_t size) noexcept nogil:
    """0 for ASCII, 1 for other UTF-8, 2 for other bytes."""
    cdef uint8_t[BLOCK + BEFORE] last
    cdef int64_t at = 0, i
    cdef uint64_t word, high
    cdef int kind = 0
    # Whether a sequence may go on in the next block.
    cdef bint open = False
    while at + BLOCK <= size:
        high = 0
        for i in range(0, BLOCK, 8):
            memcpy(&word, data + at + i, 8)
            high |= word
        if high & 0x8080808080808080ULL or open:
            kind = 1
            if at < BEFORE:
                for i in range(BEFORE):
                    last[i] = 0
                memcpy(last + BEFORE, data, BLOCK)
                if _errors(last + BEFORE, BLOCK):
                    return 2
            elif _errors(data + at, BLOCK):
                return 2
            open = (data[at + BLOCK - 1] | data[at + BLOCK - 2] | data[at + BLOCK - 3]) >= 0x80
        at += BLOCK
    # The rest ends with at least one zero, which no sequence contains.
    for i in range(BLOCK + BEFORE):
        last[i] = 0
    for i in range(max(at - BEFORE, 0), size):
        last[i - at + BEFORE] = data[i]
        if data[i] >= 0x80:
            kind = 1
    return 2 if kind and _errors(last + BEFORE, BLOCK) else kind


cdef inline uint8_t _errors(const uint8_t* data, int size) noexcept nogil:
    """Not 0 if a byte does not go on from the three before it. # Unicode, table 3-7."""
    cdef uint8_t found = 0, c, p
    cdef int i
    for i in range(size):
        c, p = data[i], data[i - 1]
        found |= ((c & 0xC0) == 0x80) ^ ((p >= 0xC0) | (data[i - 2] >= 0xE0) | (data[i - 3] >= 0xF0))
        found |= (c == 0xC0) | (c == 0xC1) | (c >= 0xF5)
        found |= ((p == 0xE0) & (c < 0xA0)) | ((p == 0xED) & (c > 0x9F))
        found |= ((p == 0xF0) & (c < 0x90)) | ((p == 0xF4) & (c > 0x8F))
    return found
