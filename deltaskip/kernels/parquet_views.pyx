"""Views of Arrow of the byte arrays of Parquet pages, which are untrusted: see parquet_pages.
# Arrow Columnar Format, Variable-size Binary View Layout
"""

import pyarrow as pa

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from deltaskip.sparkexpr.kernels.arrow cimport NO_MEMORY, HeldBytes
from deltaskip.kernels.byte_cursor cimport FINE, LONG, SHORT, TEXT, Cursor
from deltaskip.sparkexpr.kernels.utf8_check cimport BYTES, UTF8, Texts, kind_of

cdef enum:
    INLINE = 12             # the most bytes that a view has itself
    PIECE_BYTES = 1 << 20   # bytes that are reserved for strings, if a page has fewer

# By length: the bits of the first four bytes, and of the next eight, that a view has.
cdef uint32_t[13] HEADS
cdef uint64_t[13] TAILS
for _size in range(13):
    HEADS[_size] = (1 << 8 * min(_size, 4)) - 1
    TAILS[_size] = (1 << 8 * max(_size - 4, 0)) - 1


cdef class StringViews:
    def __cinit__(self):
        self.pieces = []

    cdef list taken(self):
        """The pieces, the last without what is not used of it."""
        if self.count:
            self._end_piece()
        return self.pieces

    cdef void _end_piece(self) except *:
        """Leave out what is not used of the last piece, which cannot be made smaller while it is held."""
        self.piece = None
        self.pieces[self.count - 1].resize(self.used, shrink_to_fit=2 * self.used < self.piece_bytes)

    cdef int _reserve(self, int64_t size) noexcept nogil:
        """Have a piece with room for so many bytes of strings, behind `used`."""
        if self.count and self.piece_bytes - self.used >= size:
            return FINE
        with gil:
            try:
                if self.count:
                    self._end_piece()
                self.piece_bytes = max(size, <int64_t>PIECE_BYTES)
                buffer = pa.allocate_buffer(self.piece_bytes, resizable=True)
                self.pieces.append(buffer)
                self.piece = HeldBytes(buffer)
            except (MemoryError, pa.ArrowException):
                return NO_MEMORY
        self.used = 0
        self.count += 1
        return FINE

    cdef int write(self, Cursor* cursor, int64_t n, uint8_t* out) noexcept nogil:
        """Write views of n byte arrays, which have their lengths in front, and pass them."""
        cdef const uint8_t* first = cursor.at
        cdef const uint8_t* at = first
        cdef const uint8_t* end = cursor.end
        cdef uint8_t* data
        cdef int64_t i, place, longest = 0
        cdef uint32_t size, head
        cdef uint64_t tail
        cdef uint32_t[4]* view = <uint32_t[4]*>out
        cdef Texts kind
        # All that follows is copied at most once.
        if self._reserve(end - at + AT_ONCE) != FINE:
            return NO_MEMORY
        data = <uint8_t*>self.piece.view.buf
        place = self.used
        for i in range(n):
            if end - at < 4:
                return SHORT
            memcpy(&size, at, 4)
            at += 4
            if size > end - at:
                return SHORT
            view[i][0] = size
            if size > INLINE:
                if size <= AT_ONCE and end - at >= AT_ONCE:
                    memcpy(data + place, at, AT_ONCE)
                else:
                    memcpy(data + place, at, size)
                memcpy(&view[i][1], at, 4)
                view[i][2] = <uint32_t>(self.count - 1)
                view[i][3] = <uint32_t>place
                place += size
            elif end - at >= INLINE:
                memcpy(&head, at, 4)
                memcpy(&tail, at + 4, 8)
                view[i][1] = head & HEADS[size]
                tail &= TAILS[size]
                memcpy(&view[i][2], &tail, 8)
            else:
                memset(&view[i][1], 0, INLINE)
                memcpy(&view[i][1], at, size)
            longest = max(longest, <int64_t>size)
            at += size
        self.bytes += place - self.used
        if self.bytes > self.most_bytes:
            return LONG
        self.used = place
        cursor.at = at
        if self.text:
            kind = kind_of(first, at - first)
            # A length up to 127 is four bytes of ASCII, which are no part of a character.
            if kind == BYTES or (kind == UTF8 and longest > 127):
                while first < at:
                    memcpy(&size, first, 4)
                    if kind_of(first + 4, size) == BYTES:
                        return TEXT
                    first += 4 + <int64_t>size
        return FINE
