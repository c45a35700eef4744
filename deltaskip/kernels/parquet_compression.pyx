"""Decompression of the pages of Parquet files."""

import pyarrow as pa

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport INT32_MAX, int64_t
from libc.string cimport memcpy

from deltaskip.sparkexpr.kernels.arrow cimport NO_MEMORY, ByteBuffer, HeldBytes
from deltaskip.kernels.byte_cursor cimport CODEC, COUNT, FINE, Cursor
from deltaskip.kernels.snappy cimport SNAPPY_MARGIN, snappy_decompress

# The codecs that pyarrow decompresses.
_ARROW_NAMES = {2: "gzip", 4: "brotli", 6: "zstd"}


cdef int decompressed(Cursor page, int64_t size, int codec, ByteBuffer into, Cursor* out) noexcept nogil:
    """Set `out` to the bytes of a page, which `into` holds if they were compressed."""
    cdef int fault
    out[0] = page
    if codec == UNCOMPRESSED:
        return FINE if size == page.end - page.at else COUNT
    if size == 0:
        out.end = out.at
        return FINE
    # No codec that is read here makes one byte of more, apart from those of pyarrow, which reserves memory itself.
    if size > INT32_MAX or (codec == SNAPPY and size > (page.end - page.at) * 64):
        return COUNT
    into.size = 0
    if into.reserve(size + SNAPPY_MARGIN) != 0:
        return NO_MEMORY
    if codec == SNAPPY:
        fault = snappy_decompress(page, into.data, size)
    else:
        fault = _by_arrow(page, size, codec, into)
    out.at = into.data
    out.end = out.at + size
    return fault


cdef int _by_arrow(Cursor page, int64_t size, int codec, ByteBuffer into) noexcept with gil:
    cdef bytes data
    cdef HeldBytes held
    name = _ARROW_NAMES.get(codec)
    if name is None:
        return CODEC
    try:
        data = PyBytes_FromStringAndSize(<const char*>page.at, page.end - page.at)
        # Codec.decompress would return memory that nothing was written to, where there are fewer bytes than `size`.
        held = HeldBytes(pa.CompressedInputStream(pa.BufferReader(data), name).read(size + 1))
    except (pa.ArrowException, OSError, ValueError, MemoryError):
        return CODEC
    if held.view.len != size:
        return CODEC
    memcpy(into.data, held.view.buf, size)
    return FINE
