"""Rows of column chunks of Parquet, for kernels that read files themselves."""

cimport cython
from libc.stdint cimport int64_t, uint8_t

from deltaskip.sparkexpr.kernels.arrow cimport ByteBuffer, HeldBytes
from deltaskip.kernels.byte_cursor cimport Cursor
from deltaskip.kernels.parquet_compression cimport PagesAhead
from deltaskip.kernels.parquet_headers cimport PageHeader
from deltaskip.kernels.parquet_hybrid cimport Hybrid


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
    cdef int64_t width
    cdef int64_t out_width
    cdef int64_t most_bytes
    cdef bint big_endian
    cdef bint int96
    # Whether byte arrays must be UTF-8.
    cdef bint text
    cdef bint optional
    cdef bint has_dictionary
    # Whether strings are taken as numbers of their entries, which `identity` has as values of the dictionary.
    cdef bint codes
    # Whether they are taken as views, whose bytes are in `pieces`: buffers of Arrow, of which the last is `piece`, with
    # so many bytes, of which so many are used; and how many bytes all have.
    cdef bint views
    cdef list pieces
    cdef HeldBytes piece
    cdef int64_t pieces_count
    cdef int64_t piece_bytes
    cdef int64_t used
    cdef int64_t taken_bytes
    # Of nested columns: the level of definition of a value, and the lowest of those for which there is a slot in the
    # result; the bits of both kinds of levels, and all levels.
    cdef bint nested
    cdef int defined
    cdef int slot
    cdef int definition_bits
    cdef int repetition_bits
    cdef ByteBuffer definitions
    cdef ByteBuffer repetitions
    # The most bytes of an entry of the dictionary.
    cdef int64_t longest
    # Whether values of a fixed width are others in the result; so are the entries of the dictionary, in `starts`.
    cdef bint converted
    cdef ByteBuffer identity
    cdef ByteBuffer text_offsets
    cdef ByteBuffer texts
    cdef Cursor dictionary
    cdef int64_t entries
    cdef ByteBuffer starts
    cdef ByteBuffer dictionary_page
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
    cdef int _hold_dictionary(self) noexcept nogil
    cdef int _set_dictionary(self, int64_t entries) noexcept nogil
    cdef bint _are_texts(self, int64_t entries, int64_t longest) noexcept nogil
    cdef int _set_codes(self, int64_t entries) noexcept nogil
    cdef list _pieces_taken(self)
    cdef void _end_piece(self) except *
    cdef int _reserve_piece(self, int64_t size) noexcept nogil
    cdef int _next_strings(self, const Hybrid* numbers, int64_t first, int64_t end) noexcept nogil
    cdef int _convert(self, int64_t entries) noexcept nogil
    cdef int _set_views(self, int64_t entries) noexcept nogil
    cdef int _views(self, Cursor* cursor, int64_t n, uint8_t* out) noexcept nogil
    cdef int _data_page(self, Cursor page, const PageHeader* header, int codec) noexcept nogil
    cdef int _whole(self, Cursor levels, Values source, int64_t values, int64_t nulls) noexcept nogil
    cdef int _ends(self, const Hybrid* levels, const Values* source, int64_t values, int64_t nulls) noexcept nogil
    cdef int _some(self, Cursor levels, Values* source, int64_t values) noexcept nogil
    cdef int _find(self, Hybrid* levels, bint* present, int64_t* number) noexcept nogil
    cdef int _value(self, Values* source, int64_t number) noexcept nogil
    cdef int _every(self, Cursor repetitions, Cursor levels, Values* source, int64_t values, int64_t nulls) noexcept nogil
    cdef int _next_levels(self, Hybrid* levels, int64_t values, int64_t* present) noexcept nogil
    cdef int _next_nested(self, Cursor repetitions, Cursor definitions, int64_t values, int64_t* slots, int64_t* present) noexcept nogil
    cdef void _spread(self, int64_t first, int64_t values, int64_t present) noexcept nogil
    cdef int _next_values(self, Values* source, int64_t n) noexcept nogil
    cdef int _next_numbers(self, Values* source, int64_t n) noexcept nogil
    cdef int _entry(self, unsigned int index) noexcept nogil
    cdef int _entries(self, unsigned int index, int64_t n) noexcept nogil
    cdef void _copy(self, const uint8_t* value) noexcept nogil
    cdef void _convert_value(self, const uint8_t* value, uint8_t* out) noexcept nogil
    cdef void _bit(self, bint value) noexcept nogil
    cdef void _nulls(self, int64_t n) noexcept nogil
    cdef int _add_bytes(self, Cursor* cursor) noexcept nogil


cdef int checked(int fault) except -1
