"""ICU's sort keys of ASCII strings, assembled from the keys of single characters."""

from libc.stdint cimport int64_t, uint8_t

from deltaskip.sparkexpr.kernels.icu_library cimport IcuCollator

cdef enum:
    LONGEST_ASCII = 64
    LONGEST_PIECE = 8


cdef struct Piece:
    uint8_t size
    uint8_t[LONGEST_PIECE] data


cdef class AsciiKeys:
    """The pieces of the keys of ASCII texts up to LONGEST_ASCII characters; levels is 0 if the keys have another form."""
    cdef readonly int levels
    cdef uint8_t[128] kinds
    cdef uint8_t[128] leads
    cdef uint8_t[128] compressed
    cdef Piece[128] tails
    cdef Piece[LONGEST_ASCII + 1] secondaries
    cdef Piece[LONGEST_ASCII + 1] case_ends
    cdef Piece[LONGEST_ASCII + 1] case_runs
    cdef int64_t write(self, const uint8_t* text, int64_t size, uint8_t* key) noexcept nogil
    cdef int _take(self, IcuCollator collator) except -1
    cdef int _take_character(self, IcuCollator collator, int character, list sample, list upper, list empty) except -1
    cdef bint _holds(self, IcuCollator collator) except -1


cdef AsciiKeys ascii_keys(IcuCollator collator)
