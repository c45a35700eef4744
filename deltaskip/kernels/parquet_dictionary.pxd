"""Dictionaries of column chunks of Parquet files."""

cimport cython
from libc.stdint cimport int64_t

from deltaskip.sparkexpr.kernels.arrow cimport ByteBuffer
from deltaskip.kernels.byte_cursor cimport Cursor
from deltaskip.kernels.parquet_values cimport ValueForm
from deltaskip.kernels.parquet_views cimport StringViews


@cython.final
cdef class Dictionary:
    """The entries of the dictionary page of a column chunk, as the values of a result.

    Attributes:
        entries: Their number.
        longest: The most bytes of one, of byte arrays.
        values: The entries: of a fixed width one after the other, else with their lengths in front.
        starts: Where each byte array is in `values`, as int64; or the entries themselves, where they are converted.
        page: Bytes of the dictionary page.
        form: Of values; of a width of 4 for codes, and of that of views.
        text: Whether byte arrays must be UTF-8.
        codes: Whether the values are the numbers of the entries, whose bytes are in `texts`.
        views: What writes the values as views; None for others.
        most_bytes: The most bytes of `texts`.
        text_offsets: Offsets, as int32, of the byte arrays of all dictionaries.
        texts: The byte arrays of all dictionaries.
    """
    cdef int64_t entries
    cdef int64_t longest
    cdef Cursor values
    cdef ByteBuffer starts
    cdef ByteBuffer page
    cdef ValueForm form
    cdef bint text
    cdef bint codes
    cdef StringViews views
    cdef int64_t most_bytes
    cdef ByteBuffer text_offsets
    cdef ByteBuffer texts
    cdef ByteBuffer _numbers

    cdef int hold(self) noexcept nogil
    cdef int set(self, int64_t entries) noexcept nogil
    cdef int _set_codes(self, int64_t entries) noexcept nogil
    cdef int _set_views(self, int64_t entries) noexcept nogil
    cdef int _convert(self, int64_t entries) noexcept nogil
    cdef bint _are_texts(self, int64_t entries, int64_t longest) noexcept nogil
