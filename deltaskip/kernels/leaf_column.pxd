"""The values of one leaf, one per text, under construction as an Arrow column."""

from libc.stdint cimport int64_t

from deltaskip.sparkexpr.kernels.arrow cimport ByteBuffer
from deltaskip.sparkexpr.kernels.json_cursor cimport Text


cdef enum Kind:
    IS_MISSING = 0
    IS_NULL = 1
    IS_STRING = 2
    IS_NUMBER = 3
    IS_BOOLEAN = 4
    IS_NESTED = 5
    IS_INVALID = 6


cdef enum Wanted:
    TEXTS
    LONGS
    DOUBLES


cdef class LeafColumn:
    """`doubts` are the rows of numbers whose double Arrow must compute; their texts are in `text`."""
    cdef ByteBuffer kinds       # uint8
    cdef ByteBuffer there       # bitmap
    cdef ByteBuffer values      # int64, double, or int64 ends of texts that begin with a 0
    cdef ByteBuffer text
    cdef ByteBuffer doubts      # int64
    cdef ByteBuffer doubt_ends  # int64
    cdef int64_t rows
    cdef int put(self, int64_t row, Wanted wanted, Kind kind, Text* text) noexcept nogil
    cdef tuple finish(self, Wanted wanted)
    cdef int settle_doubts(self) except -1
