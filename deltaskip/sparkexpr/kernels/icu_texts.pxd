"""Strings as input to ICU: the layout of a column, and one of its strings."""

from libc.stdint cimport int32_t, int64_t, uint8_t

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView
from deltaskip.sparkexpr.kernels.utf8 cimport Text, trimmed

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


cdef inline Text text_at(const Texts* texts, int64_t i) noexcept nogil:
    cdef int64_t start, end
    if texts.offsets64 == NULL:
        start, end = texts.offsets32[i], texts.offsets32[i + 1]
    else:
        start, end = texts.offsets64[i], texts.offsets64[i + 1]
    cdef Text text = Text(texts.data + start, end - start)
    return trimmed(text) if texts.trim else text


cdef Texts texts_of(BinaryView view, bint rtrim)
cdef Text text_of(bytes text, bint rtrim)
cdef object validity_of(Texts texts)
cdef int check_icu(int code) except -1
