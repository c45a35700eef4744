"""Views of Arrow of the byte arrays of Parquet pages."""

cimport cython
from libc.stdint cimport int64_t, uint8_t

from deltaskip.sparkexpr.kernels.arrow cimport HeldBytes
from deltaskip.kernels.byte_cursor cimport Cursor

cdef enum:
    AT_ONCE = 16            # bytes: a number that the compiler knows is copied faster
    VIEW = 16               # bytes of a view: length, and the bytes themselves or their prefix, buffer and place


@cython.final
cdef class StringViews:
    """The bytes of strings of views, in pieces.

    Attributes:
        most_bytes: The most bytes of all strings.
        text: Whether strings must be UTF-8.
    """
    cdef int64_t most_bytes
    cdef bint text
    # Buffers of Arrow, of which the last is `piece`, with so many bytes, of which so many are used.
    cdef list pieces
    cdef HeldBytes piece
    cdef int64_t count
    cdef int64_t piece_bytes
    cdef int64_t used
    # The bytes of all pieces that are used.
    cdef int64_t bytes

    cdef list taken(self)
    cdef void _end_piece(self) except *
    cdef int _reserve(self, int64_t size) noexcept nogil
    cdef int write(self, Cursor* cursor, int64_t n, uint8_t* out) noexcept nogil
