"""Powers and roots of java.lang.StrictMath to the last bit; see strict_math."""

from libc.math cimport INFINITY, NAN, fabs, ldexp, sqrt
from libc.stdint cimport int32_t, int64_t, uint64_t

from deltaskip.sparkexpr.kernels.strict_math cimport bits_of, chopped, high, kernel_of_exp, moved, of_bits, of_high, with_high

cdef enum:
    MAGNITUDE = 0x7FFFFFFF
    FRACTION = 0x000FFFFF
    ONE = 0x3FF00000
    NOT_FINITE = 0x7FF00000
    LEAST_NORMAL = 0x00100000

cdef double LOG2_E = 1.44269504088896338700e+00


cdef double cbrt(double x) noexcept nogil:
    """The cube root: a guess from the exponent, a fraction that gives 23 bits, and one step of Newton's."""
    cdef int32_t size = high(x) & MAGNITUDE
    cdef double sign = -1.0 if high(x) < 0 else 1.0, t, r, s
    if size >= NOT_FINITE or x == 0.0:
        return x
    x = fabs(x)
    if size < LEAST_NORMAL:
        t = 18014398509481984.0 * x
        t = with_high(t, high(t) // 3 + 696219795)
    else:
        t = of_high(size // 3 + 715094163)
    r = t * t / x
    s = 5.42857142857142815906e-01 + r * t
    t *= 3.57142857142857150787e-01 + 1.60714285714285720630e+00 / (
        s + 1.41428571428571436819e+00 + -7.05306122448979611050e-01 / s
    )
    t = of_high(high(t) + 1)
    s = t * t
    r = x / s
    r = (r - t) / ((t + t) + r)
    return sign * (t + t * r)


cdef double hypot(double x, double y) noexcept nogil:
    """The root of x² + y²."""
    cdef double a = fabs(x), b = fabs(y), w, t, rest, factor = 1.0
    cdef int32_t above, below
    if (high(a) >= NOT_FINITE) or (high(b) >= NOT_FINITE):
        return INFINITY if a == INFINITY or b == INFINITY else a + b
    if b > a:
        a, b = b, a
    above, below = high(a), high(b)
    if above - below > 0x3C00000:
        return a + b
    if above > 0x5F300000:
        above -= 0x25800000
        below -= 0x25800000
        a = of_bits(bits_of(a) - (<uint64_t>0x25800000 << 32))
        b = of_bits(bits_of(b) - (<uint64_t>0x25800000 << 32))
        factor = ldexp(1.0, 600)
    if below < 0x20B00000:
        if below < LEAST_NORMAL:
            if b == 0.0:
                return a
            t = ldexp(1.0, 1022)
            b *= t
            a *= t
            factor = ldexp(1.0, -1022)
        else:
            above += 0x25800000
            below += 0x25800000
            a *= ldexp(1.0, 600)
            b *= ldexp(1.0, 600)
            factor = ldexp(1.0, -600)
    w = a - b
    if w > b:
        t = of_high(above)
        rest = a - t
        w = sqrt(t * t - (b * (-b) - rest * (a + t)))
    else:
        a = a + a
        y = of_high(below)
        t = of_high(above + LEAST_NORMAL)
        rest = a - t
        w = sqrt(t * y - (w * (-w) - (t * (b - y) + rest * b)))
    return factor * w


cdef double power(double x, double y) noexcept nogil:
    """x to the power of y: the logarithm of base 2 in two doubles, times y, and back."""
    cdef double size_y = fabs(y), size = fabs(x), sign = 1.0, z, t1, t2, product, lost, whole_y
    # For a negative x: 1 if y is an odd integer, 2 if it is an even one, 0 if it is no integer.
    cdef int parity = 0
    if y == 0.0:
        return 1.0
    if x != x or y != y:
        return x + y
    if y == 2.0:
        return x * x
    if y == 0.5 and x != -INFINITY:
        return sqrt(x + 0.0)
    if size_y == 1.0:
        return x if y == 1.0 else 1.0 / x
    if size_y == INFINITY:
        if size == 1.0:
            return NAN
        return INFINITY if (size > 1.0) == (y > 0) else 0.0
    if high(x) < 0:
        if size_y >= 9007199254740992.0:
            parity = 2
        elif size_y >= 1.0 and <double><int64_t>size_y == size_y:
            parity = 2 - (<int64_t>size_y & 1)
    if size == 0.0 or size == INFINITY or size == 1.0:
        z = 1.0 / size if y < 0 else size
        if high(x) < 0:
            if size == 1.0 and not parity:
                return NAN
            if parity == 1:
                return -z
        return z
    if high(x) < 0:
        if not parity:
            return NAN
        sign = -1.0 if parity == 1 else 1.0
    if high(size_y) > 0x41E00000:
        if high(size) < 0x3FEFFFFF:
            return sign * INFINITY if y < 0 else sign * 0.0
        if high(size) > ONE:
            return sign * INFINITY if y > 0 else sign * 0.0
        _log2_near_one(size, &t1, &t2)
    else:
        _log2(size, &t1, &t2)
    whole_y = chopped(y)
    lost = (y - whole_y) * t1 + y * t2
    product = whole_y * t1
    return _power_of_two(product, lost, sign)


cdef void _log2_near_one(double x, double* t1, double* t2) noexcept nogil:
    """The logarithm of base 2 of a number within 2^-20 of 1, as a sum of two doubles."""
    cdef double t = x - 1.0
    cdef double w = (t * t) * (0.5 - t * (0.3333333333333333333333 - t * 0.25))
    cdef double u = 1.44269502162933349609e+00 * t
    cdef double v = t * 1.92596299112661746887e-08 - w * LOG2_E
    t1[0] = chopped(u + v)
    t2[0] = v - (t1[0] - u)


cdef void _log2(double x, double* t1, double* t2) noexcept nogil:
    """The logarithm of base 2 as a sum of two doubles: x = 2^n m, with m around 1 or around 1.5."""
    cdef int32_t n = 0, word = high(x), fraction, around = 0
    cdef double point, point_high, point_low, u, v, s, s_high, s_low, t_high, t_low, square, r, p_high, p_low, z_high, z_low
    if word < LEAST_NORMAL:
        x *= 9007199254740992.0
        n = -53
        word = high(x)
    n += (word >> 20) - 0x3FF
    fraction = word & FRACTION
    word = fraction | ONE
    if fraction > 0x3988E:
        if fraction < 0xBB67A:
            around = 1
        else:
            n += 1
            word -= LEAST_NORMAL
    x = with_high(x, word)
    point = 1.5 if around else 1.0
    point_high = 5.84962487220764160156e-01 if around else 0.0
    point_low = 1.35003920212974897128e-08 if around else 0.0
    u = x - point
    v = 1.0 / (x + point)
    s = u * v
    s_high = chopped(s)
    t_high = of_high(((word >> 1) | 0x20000000) + 0x00080000 + (around << 18))
    t_low = x - (t_high - point)
    s_low = v * ((u - s_high * t_high) - s_high * t_low)
    square = s * s
    r = square * square * (
        5.99999999999994648725e-01 + square * (
            4.28571428578550184252e-01 + square * (
                3.33333329818377432918e-01 + square * (
                    2.72728123808534006489e-01 + square * (
                        2.30660745775561754067e-01 + square * 2.06975017800338417784e-01
                    )
                )
            )
        )
    )
    r += s_low * (s_high + s)
    square = s_high * s_high
    t_high = chopped(3.0 + square + r)
    t_low = r - ((t_high - 3.0) - square)
    u = s_high * t_high
    v = s_low * t_high + t_low * s
    p_high = chopped(u + v)
    p_low = v - (p_high - u)
    z_high = 9.61796700954437255859e-01 * p_high
    z_low = -7.02846165095275826516e-09 * p_high + p_low * 9.61796693925975554329e-01 + point_low
    t1[0] = chopped(((z_high + z_low) + point_high) + n)
    t2[0] = z_low - (((t1[0] - n) - point_high) - z_high)


cdef double _power_of_two(double product, double lost, double sign) noexcept nogil:
    """2 to the power of a sum of two doubles, with a sign."""
    cdef double z = lost + product, t, u, v, w, rest
    cdef int32_t word = high(z), n = 0, k
    if z >= 1024.0:
        if z > 1024.0 or lost + 8.0085662595372944372e-17 > z - product:
            return sign * INFINITY
    elif (word & MAGNITUDE) >= 0x4090CC00:
        if z < -1075.0 or lost <= z - product:
            return sign * 0.0
    if (word & MAGNITUDE) > 0x3FE00000:
        k = ((word & MAGNITUDE) >> 20) - 0x3FF
        n = word + (LEAST_NORMAL >> (k + 1))
        k = ((n & MAGNITUDE) >> 20) - 0x3FF
        t = of_high(n & ~(FRACTION >> k))
        n = ((n & FRACTION) | LEAST_NORMAL) >> (20 - k)
        if word < 0:
            n = -n
        product -= t
    t = chopped(lost + product)
    u = t * 6.93147182464599609375e-01
    v = (lost - (t - product)) * 6.93147180559945286227e-01 + t * -1.90465429995776804525e-09
    z = u + v
    w = v - (z - u)
    rest = kernel_of_exp(z, z * z)
    z = 1.0 - (((z * rest) / (rest - 2.0) - (w + z * w)) - z)
    return sign * (ldexp(z, n) if (high(z) >> 20) + n <= 0 else moved(z, n))
