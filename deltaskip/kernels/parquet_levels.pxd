"""Levels of definition and repetition of Parquet pages, as the nulls of rows and the shape of lists."""

cimport cython
from libc.stdint cimport int64_t, uint8_t

from deltaskip.sparkexpr.kernels.arrow cimport ByteBuffer
from deltaskip.kernels.byte_cursor cimport Cursor
from deltaskip.kernels.parquet_hybrid cimport Hybrid


@cython.final
cdef class NestedLevels:
    """All levels of a nested column.

    Attributes:
        repeated: Whether there are levels of repetition.
        definitions: Levels of definition, a byte each.
        repetitions: Levels of repetition, a byte each; empty without them.
    """
    cdef bint repeated
    cdef ByteBuffer definitions
    cdef ByteBuffer repetitions
    # The level of definition of a value, its bits, and the lowest level for which there is a slot in the result.
    cdef int _defined
    cdef int _bits
    cdef int _slot

    cdef int next(
        self, Cursor repetitions, Cursor definitions, int64_t n, uint8_t* valid, int64_t at, int64_t* slots, int64_t* present
    ) noexcept nogil


cdef int clear_nulls(Hybrid* levels, int64_t n, uint8_t* valid, int64_t at, int64_t* present) noexcept nogil
cdef int sized_levels(Cursor* page, int64_t encoding, Cursor* levels) noexcept nogil
