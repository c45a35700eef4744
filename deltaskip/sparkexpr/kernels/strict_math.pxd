"""Parts of doubles, and the functions of java.lang.StrictMath that others are made of."""

from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t
from libc.string cimport memcpy


cdef inline uint64_t bits_of(double x) noexcept nogil:
    cdef uint64_t bits
    memcpy(&bits, &x, 8)
    return bits


cdef inline double of_bits(uint64_t bits) noexcept nogil:
    cdef double x
    memcpy(&x, &bits, 8)
    return x


cdef inline int32_t high(double x) noexcept nogil:
    """The sign, the exponent and the first 20 bits of the fraction."""
    return <int32_t>(bits_of(x) >> 32)


cdef inline uint32_t low(double x) noexcept nogil:
    """The last 32 bits of the fraction."""
    return <uint32_t>bits_of(x)


cdef inline double with_high(double x, int32_t word) noexcept nogil:
    return of_bits((<uint64_t><uint32_t>word << 32) | low(x))


cdef inline double of_high(int32_t word) noexcept nogil:
    """The double with this high half, and zeros below."""
    return of_bits(<uint64_t><uint32_t>word << 32)


cdef inline double chopped(double x) noexcept nogil:
    """Without the last 32 bits of the fraction."""
    return of_bits(bits_of(x) & <uint64_t>0xFFFFFFFF00000000)


cdef inline double moved(double x, int32_t powers) noexcept nogil:
    """A normal double times a power of two that leaves it normal."""
    return of_bits(bits_of(x) + (<uint64_t><int64_t>powers << 52))


cdef inline double kernel_of_exp(double x, double square) noexcept nogil:
    """x minus a polynomial: what is left of x * (e^x + 1) / (e^x - 1) around 0."""
    return x - square * (
        1.66666666666666019037e-01 + square * (
            -2.77777777770155933842e-03 + square * (
                6.61375632143793436117e-05 + square * (-1.65339022054652515390e-06 + square * 4.13813679705723846039e-08)
            )
        )
    )


cdef double exp(double x) noexcept nogil
cdef double expm1(double x) noexcept nogil
cdef double log(double x) noexcept nogil
cdef double log1p(double x) noexcept nogil
cdef double tanh(double x) noexcept nogil
