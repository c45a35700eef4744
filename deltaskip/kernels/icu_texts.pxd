"""Strings on their way through ICU: a column's layout, and one text of it."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from deltaskip.kernels.arrow cimport BinaryView

cdef enum:
    TOO_LONG = -2
    ICU_FAILED = -3


cdef struct Texts:
    const int32_t* offsets32
    const int64_t* offsets64
    const uint8_t* data
    const uint8_t* validity
    int64_t offset
    int64_t length
    bint trim

cdef struct Text:
    const uint8_t* data
    int64_t size


cdef inline Text trimmed(const uint8_t* data, int64_t size, bint rtrim) noexcept nogil:
    """Spark's RTRIM: bytes 0x20 at the end do not count, and no other white space."""
    if rtrim:
        while size > 0 and data[size - 1] == 0x20:
            size -= 1
    return Text(data, size)


cdef inline Text text_at(const Texts* texts, int64_t i) noexcept nogil:
    cdef int64_t start, end
    if texts.offsets64 == NULL:
        start, end = texts.offsets32[i], texts.offsets32[i + 1]
    else:
        start, end = texts.offsets64[i], texts.offsets64[i + 1]
    return trimmed(texts.data + start, end - start, texts.trim)


cdef Texts texts_of(BinaryView view, bint rtrim)
cdef Text text_of(bytes text, bint rtrim)
cdef object validity_of(Texts texts)
cdef int check_icu(int code) except -1
