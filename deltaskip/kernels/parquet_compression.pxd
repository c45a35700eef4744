"""Decompression of the pages of Parquet files, for kernels that read them."""

from libc.stdint cimport int64_t

from deltaskip.sparkexpr.kernels.arrow cimport ByteBuffer
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


cdef int decompressed(Cursor page, int64_t size, int codec, ByteBuffer into, Cursor* out) noexcept nogil
