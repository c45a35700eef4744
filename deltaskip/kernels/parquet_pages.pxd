"""Rows of column chunks of Parquet, for kernels that read files themselves."""

cimport cython
from libc.stdint cimport int64_t, uint8_t

from deltaskip.sparkexpr.kernels.arrow cimport ByteBuffer, HeldBytes
from deltaskip.kernels.byte_cursor cimport Cursor
from deltaskip.kernels.parquet_compression cimport PagesAhead
from deltaskip.kernels.parquet_dictionary cimport Dictionary
from deltaskip.kernels.parquet_headers cimport PageHeader
from deltaskip.kernels.parquet_hybrid cimport Hybrid
from deltaskip.kernels.parquet_levels cimport NestedLevels
from deltaskip.kernels.parquet_values cimport ValueForm
from deltaskip.kernels.parquet_views cimport StringViews


cdef struct Values:
    # The values of a page: plain ones, or numbers as a hybrid, which are indexes or booleans.
    Cursor plain
    Hybrid numbers
    bint hybrid
    # How many were passed.
    int64_t passed


@cython.final
cdef class RowTaker:
    cdef HeldBytes rows
    # The bytes that contain a dictionary that is not compressed.
    cdef HeldBytes dictionary_data
    cdef const int64_t* positions
    cdef bint every
    cdef int64_t chunk_rows
    cdef int64_t count
    cdef int64_t done
    cdef int64_t first_row
    cdef ValueForm form
    cdef int64_t most_bytes
    # Whether byte arrays must be UTF-8.
    cdef bint text
    cdef bint optional
    cdef Dictionary dictionary
    cdef bint has_dictionary
    # None if the column is not nested, and if byte arrays are not taken as views.
    cdef NestedLevels nested
    cdef StringViews views
    cdef ByteBuffer page
    cdef PagesAhead ahead
    cdef ByteBuffer values
    cdef ByteBuffer offsets
    cdef ByteBuffer validity
    cdef uint8_t* valid
    # Values of a fixed width; `values` has others.
    cdef object fixed
    cdef uint8_t* out
    cdef int64_t nulls

    cdef bint wanted(self, int64_t values) noexcept nogil
    cdef bint wants(self, int64_t* at, int64_t first_row, int64_t values) noexcept nogil
    cdef int take(self, Cursor chunk, int64_t values, int codec) noexcept nogil
    cdef void look_ahead(self, Cursor chunk, int64_t first_row) noexcept nogil
    cdef int _pages(self, Cursor chunk, int64_t values, int codec) noexcept nogil
    cdef int _next_strings(self, const Hybrid* numbers, int64_t first, int64_t end) noexcept nogil
    cdef int _data_page(self, Cursor page, const PageHeader* header, int codec) noexcept nogil
    cdef int _whole(self, Cursor levels, Values source, int64_t values, int64_t nulls) noexcept nogil
    cdef int _all_passed(self, const Hybrid* levels, const Values* source, int64_t values, int64_t nulls) noexcept nogil
    cdef int _ends(self, const Values* source) noexcept nogil
    cdef int _some(self, Cursor levels, Values* source, int64_t values) noexcept nogil
    cdef int _find(self, Hybrid* levels, bint* present, int64_t* number) noexcept nogil
    cdef int _value(self, Values* source, int64_t number) noexcept nogil
    cdef int _every(self, Cursor repetitions, Cursor levels, Values* source, int64_t values, int64_t nulls) noexcept nogil
    cdef void _spread(self, int64_t first, int64_t values, int64_t present) noexcept nogil
    cdef int _next_values(self, Values* source, int64_t n) noexcept nogil
    cdef int _next_numbers(self, Values* source, int64_t n) noexcept nogil
    cdef int _entry(self, unsigned int index) noexcept nogil
    cdef int _entries(self, unsigned int index, int64_t n) noexcept nogil
    cdef void _copy(self, const uint8_t* value) noexcept nogil
    cdef void _bit(self, bint value) noexcept nogil
    cdef void _nulls(self, int64_t n) noexcept nogil
    cdef int _add_bytes(self, Cursor* cursor) noexcept nogil


cdef int checked(int fault) except -1
