"""Parser of the lines of commits."""

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from deltaskip.sparkexpr.kernels.arrow cimport ByteBuffer
from deltaskip.kernels.file_rows cimport FileRows
from deltaskip.sparkexpr.kernels.json_cursor cimport Cursor

cdef enum:
    MAX_LINE_BYTES = 1 << 30  # with a chunk of the same size, its strings stay within Arrow's 32-bit offsets


@cython.final
cdef class CommitLines:
    """Parses the lines of one commit after another."""
    cdef Cursor cursor
    cdef FileRows rows
    cdef ByteBuffer others      # Other by Other
    cdef ByteBuffer scratch     # the last escaped key
    cdef const uint8_t* chunk   # where the rows' text began
    cdef uint32_t wanted        # bit by field
    cdef int[18] after          # by field and UNKNOWN: the field that followed it last time
    cdef int32_t commit
    cdef int64_t line
    cdef int fault_field        # the wrong field, or UNKNOWN if the JSON itself is wrong
    cdef bint is_remove
    cdef void open(self, const uint8_t* begin, const uint8_t* end, int32_t commit) noexcept nogil
    cdef int run(self, int64_t chunk_bytes) noexcept nogil
    cdef str reason(self)
    cdef list found(self, const uint8_t* data)
    cdef int read_line(self, int64_t old_adds, int64_t old_removes) noexcept nogil
    cdef int read_file(self, bint is_remove) noexcept nogil
    cdef int read_members(self, uint32_t among) noexcept nogil
    cdef int read_field(self, int field) noexcept nogil
    cdef int read_string(self, int field, uint8_t ch) noexcept nogil
    cdef int read_long(self, int field, uint8_t ch) noexcept nogil
    cdef int read_map(self, int field) noexcept nogil
    cdef int mistyped(self, int field, const uint8_t* at, const char* fault) noexcept nogil
