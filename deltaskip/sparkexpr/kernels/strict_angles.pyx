"""Arc sine, arc cosine and arc tangent of java.lang.StrictMath to the last bit; see strict_math."""

from libc.math cimport NAN, fabs, sqrt
from libc.stdint cimport int32_t

from deltaskip.sparkexpr.kernels.strict_math cimport chopped, high

cdef enum:
    MAGNITUDE = 0x7FFFFFFF

cdef double HALF_PI = 1.57079632679489655800e+00
cdef double HALF_PI_LOW = 6.12323399573676603587e-17
cdef double QUARTER_PI = 7.85398163397448278999e-01
cdef double PI = 3.14159265358979311600e+00
cdef double PI_LOW = 1.2246467991473531772e-16


cdef inline double _arc(double t) noexcept nogil:
    """(asin(s) - s) / s, where t is the square of s, up to 1/4."""
    cdef double p = t * (
        1.66666666666666657415e-01 + t * (
            -3.25565818622400915405e-01 + t * (
                2.01212532134862925881e-01 + t * (
                    -4.00555345006794114027e-02 + t * (7.91534994289814532176e-04 + t * 3.47933107596021167570e-05)
                )
            )
        )
    )
    cdef double q = 1.0 + t * (
        -2.40339491173441421878e+00 + t * (
            2.02094576023350569471e+00 + t * (-6.88283971605453293030e-01 + t * 7.70381505559019352791e-02)
        )
    )
    return p / q


cdef double asin(double x) noexcept nogil:
    cdef int32_t size = high(x) & MAGNITUDE
    cdef double t, s, w, c, found
    if fabs(x) >= 1.0:
        return x * HALF_PI + x * HALF_PI_LOW if fabs(x) == 1.0 else NAN
    if x != x:
        return x
    if size < 0x3FE00000:
        return x if size < 0x3E400000 else x + x * _arc(x * x)
    t = (1.0 - fabs(x)) * 0.5
    s = sqrt(t)
    if size >= 0x3FEF3333:
        found = HALF_PI - (2.0 * (s + s * _arc(t)) - HALF_PI_LOW)
    else:
        w = chopped(s)
        c = (t - w * w) / (s + w)
        found = QUARTER_PI - ((2.0 * s * _arc(t) - (HALF_PI_LOW - 2.0 * c)) - (QUARTER_PI - 2.0 * w))
    return found if x > 0 else -found


cdef double acos(double x) noexcept nogil:
    cdef int32_t size = high(x) & MAGNITUDE
    cdef double z, s, w
    if fabs(x) >= 1.0:
        if fabs(x) > 1.0:
            return NAN
        return 0.0 if x > 0 else PI + 2.0 * HALF_PI_LOW
    if x != x:
        return x
    if size < 0x3FE00000:
        if size <= 0x3C600000:
            return HALF_PI + HALF_PI_LOW
        return HALF_PI - (x - (HALF_PI_LOW - x * _arc(x * x)))
    if x < 0:
        z = (1.0 + x) * 0.5
        s = sqrt(z)
        return PI - 2.0 * (s + (_arc(z) * s - HALF_PI_LOW))
    z = (1.0 - x) * 0.5
    s = sqrt(z)
    w = chopped(s)
    return 2.0 * (w + (_arc(z) * s + (z - w * w) / (s + w)))


cdef double atan(double x) noexcept nogil:
    cdef int32_t size = high(x) & MAGNITUDE
    cdef double turn, turn_low, z, w, odd, even, found
    cdef bint negative = high(x) < 0
    if x != x:
        return x
    if size >= 0x44100000:
        return -HALF_PI - HALF_PI_LOW if negative else HALF_PI + HALF_PI_LOW
    if size < 0x3E200000:
        return x
    turn, turn_low = 0.0, 0.0
    if size >= 0x3FDC0000:
        x = fabs(x)
        if size < 0x3FE60000:
            turn, turn_low = 4.63647609000806093515e-01, 2.26987774529616870924e-17
            x = (2.0 * x - 1.0) / (2.0 + x)
        elif size < 0x3FF30000:
            turn, turn_low = QUARTER_PI, 3.06161699786838301793e-17
            x = (x - 1.0) / (x + 1.0)
        elif size < 0x40038000:
            turn, turn_low = 9.82793723247329054082e-01, 1.39033110312309984516e-17
            x = (x - 1.5) / (1.0 + 1.5 * x)
        else:
            turn, turn_low = HALF_PI, HALF_PI_LOW
            x = -1.0 / x
    z = x * x
    w = z * z
    even = z * (
        3.33333333333329318027e-01 + w * (
            1.42857142725034663711e-01 + w * (
                9.09088713343650656196e-02 + w * (
                    6.66107313738753120669e-02 + w * (4.97687799461593236017e-02 + w * 1.62858201153657823623e-02)
                )
            )
        )
    )
    odd = w * (
        -1.99999999998764832476e-01 + w * (
            -1.11111104054623557880e-01 + w * (
                -7.69187620504482999495e-02 + w * (-5.83357013379057348645e-02 + w * -3.65315727442169155270e-02)
            )
        )
    )
    if size < 0x3FDC0000:
        return x - x * (even + odd)
    found = turn - ((x * (even + odd) - turn_low) - x)
    return -found if negative else found


cdef double atan2(double y, double x) noexcept nogil:
    cdef int32_t exponents
    cdef bint left = high(x) < 0, below = high(y) < 0
    cdef double found
    if x != x or y != y:
        return x + y
    if x == 1.0:
        return atan(y)
    if y == 0.0:
        found = PI if left else 0.0
    elif x == 0.0:
        found = HALF_PI
    elif fabs(x) > 1.7976931348623157e308:
        found = (3.0 * QUARTER_PI if left else QUARTER_PI) if fabs(y) > 1.7976931348623157e308 else PI if left else 0.0
    elif fabs(y) > 1.7976931348623157e308:
        found = HALF_PI
    else:
        exponents = ((high(y) & MAGNITUDE) - (high(x) & MAGNITUDE)) >> 20
        if exponents > 60:
            found = HALF_PI + 0.5 * PI_LOW
        elif left and exponents < -60:
            found = 0.0
        else:
            found = atan(fabs(y / x))
        if left:
            return (found - PI_LOW) - PI if below else PI - (found - PI_LOW)
    return -found if below else found
