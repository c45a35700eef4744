"""Decompression of the pages of Parquet files."""

import pyarrow as pa

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport INT32_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from deltaskip.sparkexpr.kernels.arrow cimport NO_MEMORY, ByteBuffer, HeldBytes
from deltaskip.kernels.byte_cursor cimport CODEC, COUNT, FINE, Cursor, pass_by
from deltaskip.kernels.snappy cimport SNAPPY_MARGIN, snappy_decompress

# The codecs that pyarrow decompresses.
_ARROW_NAMES = {2: "gzip", 4: "brotli", 6: "zstd"}
_ZSTD_FRAMES = pa.Codec("zstd")


cdef enum:
    MOST_AHEAD = 1024           # pages that are decompressed together
    MOST_AHEAD_BYTES = 1 << 18  # and bytes of them
    ZSTD_MAGIC = 0xFD2FB528


cdef class PagesAhead:
    def __cinit__(self):
        self.compressed, self.pages = ByteBuffer(), ByteBuffer()
        self.count = self.next = self.size = 0

    cdef void clear(self) noexcept nogil:
        """Forget all pages."""
        self.compressed.size = self.pages.size = self.count = self.next = self.size = 0

    cdef bint is_full(self) noexcept nogil:
        return self.count >= MOST_AHEAD or self.size >= MOST_AHEAD_BYTES

    cdef bint add(self, Cursor page, int64_t size) noexcept nogil:
        """Add a page that has `size` bytes; returns False if its own bytes do not prove that."""
        cdef PageAhead added
        if size > MOST_AHEAD_BYTES or not _is_one_frame(page, size):
            return False
        added.end, added.size, added.start = page.end, size, self.size
        if self.compressed.append(page.at, page.end - page.at) != 0 or self.pages.append(&added, sizeof(added)) != 0:
            return False
        self.count += 1
        self.size += size
        return True

    cdef void decompress(self) noexcept nogil:
        """Decompress the pages that were added; if that fails, there are none."""
        cdef int64_t count = self.count
        self.count = 0
        if count and self._decompressed():
            self.count = count

    cdef bint _decompressed(self) noexcept with gil:
        try:
            # The frames say how many bytes they have, which the decoder checks.
            self.plain = HeldBytes(_ZSTD_FRAMES.decompress(self.compressed, decompressed_size=self.size))
        except (pa.ArrowException, OSError, ValueError, MemoryError):
            return False
        return self.plain.view.len == self.size

    cdef bint has(self, Cursor page) noexcept nogil:
        """Whether a page was decompressed. Those before it are not asked for again."""
        cdef int64_t i
        for i in range(self.next, self.count):
            if (<PageAhead*>self.pages.data)[i].end == page.end:
                self.next = i
                return True
        return False


cdef bint _is_one_frame(Cursor page, int64_t size) noexcept nogil:
    """Whether a page is one frame of Zstandard that says that it has `size` bytes, which decoders check.

    # RFC 8878, Zstandard Frames
    """
    cdef uint8_t[4] dictionary_bytes = [0, 1, 2, 4]
    cdef uint32_t magic, block = 0
    cdef uint64_t content = 0
    cdef uint8_t descriptor
    cdef int bytes_of_size
    # A header has at least six bytes, and a block three.
    if page.end - page.at < 9:
        return False
    memcpy(&magic, page.at, 4)
    descriptor = page.at[4]
    if magic != ZSTD_MAGIC or descriptor & 0x08:
        return False
    page.at += 5 + (0 if descriptor & 0x20 else 1) + dictionary_bytes[descriptor & 3]
    bytes_of_size = 1 << (descriptor >> 6)
    if (bytes_of_size == 1 and not descriptor & 0x20) or page.end - page.at < bytes_of_size:
        return False
    memcpy(&content, page.at, bytes_of_size)
    page.at += bytes_of_size
    if content + (256 if bytes_of_size == 2 else 0) != <uint64_t>size:
        return False
    while not block & 1:
        block = 0
        if page.end - page.at < 3:
            return False
        memcpy(&block, page.at, 3)
        page.at += 3
        # Of a byte that is repeated, the number is how often.
        if pass_by(&page, 1 if (block >> 1) & 3 == 1 else block >> 3) != FINE:
            return False
    return page.end - page.at == (4 if descriptor & 0x04 else 0)


cdef int decompressed(
    Cursor page, int64_t size, int codec, PagesAhead ahead, ByteBuffer into, Cursor* out
) noexcept nogil:
    """Set `out` to the bytes of a page, which `into` holds if they were compressed, or `ahead` until its next pages."""
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
    if codec == ZSTD and ahead.has(page) and (<PageAhead*>ahead.pages.data)[ahead.next].size == size:
        out.at = <const uint8_t*>ahead.plain.view.buf + (<PageAhead*>ahead.pages.data)[ahead.next].start
        out.end = out.at + size
        return FINE
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
