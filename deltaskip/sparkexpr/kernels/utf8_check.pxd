"""Whether bytes are UTF-8, for kernels that read strings."""

from libc.stdint cimport int32_t, int64_t, uint8_t

cdef enum Texts:
    ASCII = 0
    UTF8 = 1
    BYTES = 2

cdef Texts kind_of(const uint8_t* data, int64_t size) noexcept nogil
cdef bint are_texts(const uint8_t* data, const int32_t* offsets, int64_t count) noexcept nogil
