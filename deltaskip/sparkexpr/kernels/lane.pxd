"""The keep mask, one byte per row (1 keep, 0 skip), and the checks of its input columns."""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t

from deltaskip.sparkexpr.kernels.arrow cimport PrimitiveView


cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
    #define DS_WIDE __attribute__((target_clones("avx2", "default"))) void
    #else
    #define DS_WIDE void
    #endif
    """
    # If the compiler supports it, a function with this return type is compiled twice, and the loader selects the version for
    # the machine: baseline x86-64 cannot compare 64-bit integers in vectors, which makes such loops four times slower.
    ctypedef void wide_void "DS_WIDE"


ctypedef fused integer_t:
    int8_t
    int16_t
    int32_t
    int64_t


ctypedef fused real_t:
    float
    double


cdef class Lane:
    """Owner of `n` bytes. Every byte except 0 keeps its row, so a stray value can only keep too much."""
    cdef uint8_t* keep
    cdef int64_t n


cdef Lane new_lane(int64_t n)
cdef void expand_bits(const uint8_t* bitmap, int64_t offset, int64_t n, uint8_t* lane) noexcept nogil
cdef void keep_missing(const uint8_t* validity, int64_t offset, int64_t n, uint8_t* keep) noexcept nogil
cdef int integer_width(PrimitiveView view) except -1
cdef int pair_width(PrimitiveView a, PrimitiveView b) except -1
cdef int same_length(int64_t a, int64_t b) except -1
cdef int no_nulls(const uint8_t* validity, int64_t offset, int64_t n) except -1
cdef PrimitiveView view_of(object array, bytes fmt)
cdef PrimitiveView whole_view(object array, bytes fmt)
cdef object wrong_format(str wanted, bytes given)
