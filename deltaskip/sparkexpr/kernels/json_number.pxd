"""The text of a JSON number that the cursor has checked, as an integer or a double; every function here is inline."""

from libc.math cimport INFINITY, NAN
from libc.stdint cimport int64_t, uint8_t, uint64_t


cdef extern from *:
    """
    static const double json_powers[] = {
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    };
    """
    const double[23] POWERS "json_powers"


cdef inline bint integral(const uint8_t* p, int64_t size, int64_t* value) noexcept nogil:
    """Whether the checked number is exactly an int64, in any notation: 12, 12.0, 1.2e1."""
    cdef const uint8_t* end = p + size
    cdef bint negative = size > 0 and p[0] == 0x2D
    cdef bint point = False
    cdef bint minus
    cdef int64_t before = 0      # digits before the point
    cdef int64_t exponent = 0
    cdef int64_t zeros = 0       # zeros since the last significant digit
    cdef int64_t digits = 0      # digits from the first significant one to the last
    cdef int64_t place = 0       # digits read up to the last significant one
    cdef int64_t seen = 0
    cdef uint64_t magnitude = 0
    cdef int64_t k
    if negative:
        p += 1
    while p < end and p[0] | 0x20 != 0x65:
        if p[0] == 0x2E:
            point = True
        elif not 0x30 <= p[0] <= 0x39:
            return False
        else:
            seen += 1
            before += not point
            if p[0] == 0x30:
                zeros += 1
            else:
                digits = digits + zeros + 1 if digits > 0 else 1
                if digits > 19:
                    return False
                for k in range(zeros if digits > 1 else 0):
                    magnitude *= 10
                magnitude = magnitude * 10 + (p[0] - 0x30)
                zeros = 0
                place = seen
        p += 1
    if digits == 0:
        value[0] = 0
        return True
    if p < end:
        p += 1
        minus = p < end and p[0] == 0x2D
        while p < end:
            if 0x30 <= p[0] <= 0x39 and exponent < <int64_t>1 << 50:
                exponent = exponent * 10 + (p[0] - 0x30)
            p += 1
        if minus:
            exponent = -exponent
    exponent += before - place
    if exponent < 0 or digits + exponent > 19:
        return False
    for k in range(exponent):
        magnitude *= 10
    if magnitude > <uint64_t>0x7FFFFFFFFFFFFFFF + negative:
        return False
    value[0] = <int64_t>(0 - magnitude) if negative else <int64_t>magnitude
    return True


cdef inline bint plain_int64(const uint8_t* p, int64_t size, int64_t* value) noexcept nogil:
    """`integral`, quickly for at most 18 plain digits."""
    cdef int64_t n = 0
    cdef int64_t k = 1 if size > 0 and p[0] == 0x2D else 0
    if size > 18 or size == k:
        return integral(p, size, value)
    for k in range(k, size):
        if not 0x30 <= p[k] <= 0x39:
            return integral(p, size, value)
        n = n * 10 + (p[k] - 0x30)
    value[0] = -n if p[0] == 0x2D else n
    return True


cdef inline bint short_double(const uint8_t* p, int64_t size, double* value) noexcept nogil:
    """The number's double if one multiplication or division gives it exactly: the digits fit 53 bits and the power
    of ten is at most 22, so that both are doubles and IEEE 754 rounds once. Bare numbers too."""
    cdef const uint8_t* end = p + size
    cdef bint negative = p[0] == 0x2D
    cdef uint64_t digits = 0
    cdef int power = 0
    cdef int exponent = 0
    cdef bint point = False
    cdef bint minus = False
    if negative:
        p += 1
    if p[0] == 0x4E or p[0] == 0x49:
        value[0] = NAN if p[0] == 0x4E else -INFINITY if negative else INFINITY
        return True
    while p < end and p[0] | 0x20 != 0x65:
        if p[0] == 0x2E:
            point = True
        else:
            digits = digits * 10 + (p[0] - 0x30)
            power -= point
            if digits > <uint64_t>1 << 53 or power < -400:
                return False
        p += 1
    if p < end:
        p += 1
        minus = p[0] == 0x2D
        p += minus or p[0] == 0x2B
        while p < end:
            exponent = exponent * 10 + (p[0] - 0x30)
            if exponent > 400:
                return False
            p += 1
        power += -exponent if minus else exponent
    if not -22 <= power <= 22:
        return False
    value[0] = <double>digits / POWERS[-power] if power < 0 else <double>digits * POWERS[power]
    if negative:
        value[0] = -value[0]
    return True
