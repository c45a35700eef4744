"""Decompression of the pages of Parquet files, for kernels that read them."""

cimport cython
from libc.stdint cimport int64_t, uint8_t

from deltaskip.sparkexpr.kernels.arrow cimport ByteBuffer, HeldBytes
from deltaskip.kernels.byte_cursor cimport Cursor


# parquet.thrift, CompressionCodec
cdef enum Codec:
    UNCOMPRESSED = 0
    SNAPPY = 1
    GZIP = 2
    BROTLI = 4
    ZSTD = 6


cdef inline bint is_known(int codec) noexcept nogil:
    return codec == UNCOMPRESSED or codec == SNAPPY or codec == GZIP or codec == BROTLI or codec == ZSTD


cdef struct PageAhead:
    # Where the page ends.
    const uint8_t* end
    int64_t size
    # Where its bytes begin.
    int64_t start


@cython.final
cdef class PagesAhead:
    """Pages of Zstandard that are decompressed together, which takes half of the time and leaves the GIL to others."""
    cdef ByteBuffer compressed
    cdef ByteBuffer pages
    cdef HeldBytes plain
    cdef int64_t count
    cdef int64_t next
    cdef int64_t size

    cdef void clear(self) noexcept nogil
    cdef bint is_full(self) noexcept nogil
    cdef bint add(self, Cursor page, int64_t size) noexcept nogil
    cdef void decompress(self) noexcept nogil
    cdef bint _decompressed(self) noexcept with gil
    cdef bint has(self, Cursor page) noexcept nogil


cdef int decompressed(
    Cursor page, int64_t size, int codec, PagesAhead ahead, ByteBuffer into, Cursor* out
) noexcept nogil
