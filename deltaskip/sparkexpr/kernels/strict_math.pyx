"""Functions of java.lang.StrictMath to the last bit: exponentials, logarithms and hyperbolic functions, and all by name.

Java defines them as the results of fdlibm's algorithms (https://www.netlib.org/fdlibm, version 5.3): each line below
rounds as its counterpart there, so that neither the order of operations nor a coefficient can be changed, and the
compiler must not fuse a product with a sum (setup.py). The oracle is the JVM (tests/sparkexpr/kernels/java_math.py).

Comparisons of the high half of a double (`high`) decide which formula is taken, as in fdlibm.
"""

import pyarrow as pa

from libc.math cimport INFINITY, NAN, fabs
from libc.stdint cimport int32_t, int64_t, uint64_t

from deltaskip.sparkexpr.kernels.arrow cimport ByteBuffer, PrimitiveView, validity_buffer, zeros
from deltaskip.sparkexpr.kernels.lane cimport same_length, view_of
from deltaskip.sparkexpr.kernels cimport strict_angles, strict_powers

ctypedef double (*unary_t)(double) noexcept nogil
ctypedef double (*binary_t)(double, double) noexcept nogil

cdef enum:
    MAGNITUDE = 0x7FFFFFFF
    FRACTION = 0x000FFFFF
    ONE = 0x3FF00000
    NOT_FINITE = 0x7FF00000
    LEAST_NORMAL = 0x00100000
    # The high halves of ln 2 / 2, 1.5 ln 2, 22, and the logarithm of the greatest double.
    HALF_LN2 = 0x3FD62E42
    MORE_LN2 = 0x3FF0A2B2
    TWENTY_TWO = 0x40360000
    LARGEST_LOG = 0x40862E42

cdef double LN2_HIGH = 6.93147180369123816490e-01
cdef double LN2_LOW = 1.90821492927058770002e-10
cdef double LOG2_E = 1.44269504088896338700e+00
cdef double EXP_TOP = 7.09782712893383973096e+02
cdef double EXP_BOTTOM = -7.45133219101941108420e+02


def unary(str name not None, values: ArrowArrayExportable) -> pa.DoubleArray:
    """Return a function of each double of a float64 array, null where it is null.

    Args:
        name: A function of StrictMath: acos, asin, atan, cbrt, cosh, exp, expm1, log, log10, log1p, sinh, tanh.
        values: The arguments.

    Raises TypeError for an array of another type, and ValueError for another function.
    """
    cdef PrimitiveView view = view_of(values, b"g")
    cdef unary_t function = _unary(name)
    cdef ByteBuffer out = zeros(8 * view.length)
    cdef const double* given = <const double*>view.values
    cdef double* found = <double*>out.data
    cdef int64_t i
    with nogil:
        for i in range(view.length):
            found[i] = function(given[i])
    return _array(view.length, validity_buffer(view.validity, view.offset, view.length), out)


def binary(str name not None, left: ArrowArrayExportable, right: ArrowArrayExportable) -> pa.DoubleArray:
    """Return a function of each pair of doubles of two float64 arrays without nulls.

    Args:
        name: A function of StrictMath: atan2, hypot, pow.
        left: The first arguments.
        right: The second arguments, of the same length.

    Raises TypeError for arrays of another type, and ValueError for another function and lengths that differ.
    """
    cdef PrimitiveView first = view_of(left, b"g")
    cdef PrimitiveView second = view_of(right, b"g")
    same_length(second.length, first.length)
    cdef binary_t function = _binary(name)
    cdef ByteBuffer out = zeros(8 * first.length)
    cdef const double* one = <const double*>first.values
    cdef const double* other = <const double*>second.values
    cdef double* found = <double*>out.data
    cdef int64_t i
    with nogil:
        for i in range(first.length):
            found[i] = function(one[i], other[i])
    return _array(first.length, None, out)


def unary_value(str name not None, double x) -> float:
    """Return a function (see `unary`) of one double."""
    return _unary(name)(x)


def binary_value(str name not None, double x, double y) -> float:
    """Return a function (see `binary`) of one pair of doubles."""
    return _binary(name)(x, y)


cdef object _array(int64_t rows, object validity, ByteBuffer out):
    return pa.Array.from_buffers(
        pa.float64(), rows, [None if validity is None else pa.py_buffer(validity), pa.py_buffer(out)]
    )


cdef unary_t _unary(str name) except NULL:
    if name == "exp":
        return exp
    if name == "expm1":
        return expm1
    if name == "log":
        return log
    if name == "log10":
        return log10
    if name == "log1p":
        return log1p
    if name == "cbrt":
        return strict_powers.cbrt
    if name == "sinh":
        return sinh
    if name == "cosh":
        return cosh
    if name == "tanh":
        return tanh
    if name == "asin":
        return strict_angles.asin
    if name == "acos":
        return strict_angles.acos
    if name == "atan":
        return strict_angles.atan
    raise ValueError(f"{name!r} is no function of one double.")


cdef binary_t _binary(str name) except NULL:
    if name == "pow":
        return strict_powers.power
    if name == "hypot":
        return strict_powers.hypot
    if name == "atan2":
        return strict_angles.atan2
    raise ValueError(f"{name!r} is no function of two doubles.")


cdef double exp(double x) noexcept nogil:
    """e to the power of x: x = k ln 2 + r."""
    cdef int32_t size = high(x) & MAGNITUDE
    cdef bint negative = high(x) < 0
    cdef double above = 0.0, below = 0.0, rest, result
    cdef int32_t k = 0
    if size >= LARGEST_LOG:
        if x != x:
            return x
        if x > EXP_TOP:
            return INFINITY
        if x < EXP_BOTTOM:
            return 0.0
    if size > HALF_LN2:
        if size < MORE_LN2:
            k = -1 if negative else 1
            above = x + LN2_HIGH if negative else x - LN2_HIGH
            below = -LN2_LOW if negative else LN2_LOW
        else:
            k = <int32_t>(LOG2_E * x + (-0.5 if negative else 0.5))
            above = x - k * LN2_HIGH
            below = k * LN2_LOW
        x = above - below
    elif size < 0x3E300000:
        return 1.0 + x
    rest = kernel_of_exp(x, x * x)
    if k == 0:
        return 1.0 - ((x * rest) / (rest - 2.0) - x)
    result = 1.0 - ((below - (x * rest) / (2.0 - rest)) - above)
    return moved(result, k) if k >= -1021 else moved(result, k + 1000) * 9.33263618503218878990e-302


cdef double expm1(double x) noexcept nogil:
    """e to the power of x, minus 1."""
    cdef int32_t size = high(x) & MAGNITUDE
    cdef bint negative = high(x) < 0
    cdef double above, below, lost = 0.0, half, square, fit, t, e
    cdef int32_t k = 0
    if size >= 0x4043687A:
        if size >= LARGEST_LOG:
            if x != x:
                return x
            if x > EXP_TOP:
                return INFINITY
        if negative:
            return -1.0
    if size > HALF_LN2:
        if size < MORE_LN2:
            k = -1 if negative else 1
            above = x + LN2_HIGH if negative else x - LN2_HIGH
            below = -LN2_LOW if negative else LN2_LOW
        else:
            k = <int32_t>(LOG2_E * x + (-0.5 if negative else 0.5))
            above = x - k * LN2_HIGH
            below = k * LN2_LOW
        x = above - below
        lost = (above - x) - below
    elif size < 0x3C900000:
        return x
    half = 0.5 * x
    square = x * half
    fit = 1.0 + square * (
        -3.33333333333331316428e-02 + square * (
            1.58730158725481460165e-03 + square * (
                -7.93650757867487942473e-05 + square * (4.00821782732936239552e-06 + square * -2.01099218183624371326e-07)
            )
        )
    )
    t = 3.0 - fit * half
    e = square * ((fit - t) / (6.0 - x * t))
    if k == 0:
        return x - (x * e - square)
    e = x * (e - lost) - lost
    e -= square
    if k == -1:
        return 0.5 * (x - e) - 0.5
    if k == 1:
        return -2.0 * (e - (x + 0.5)) if x < -0.25 else 1.0 + 2.0 * (x - e)
    if k <= -2 or k > 56:
        return moved(1.0 - (e - x), k) - 1.0
    if k < 20:
        return moved(of_high(ONE - (0x200000 >> k)) - (e - x), k)
    return moved((x - (e + of_high((0x3FF - k) << 20))) + 1.0, k)


cdef inline double _series_of_log(double z) noexcept nogil:
    """The even powers of log((1 + s) / (1 - s)), as `log` sums them; z is the square of s."""
    cdef double w = z * z
    cdef double odd = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01))
    cdef double even = z * (
        6.666666666666735130e-01 + w * (
            2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)
        )
    )
    return even + odd


cdef double log(double x) noexcept nogil:
    """The natural logarithm: x = 2^k (1 + f)."""
    cdef int32_t word = high(x), k = 0, step
    cdef double f, s, series, half
    if word < LEAST_NORMAL:
        if x == 0.0:
            return -INFINITY
        if word < 0:
            return NAN
        k = -54
        x *= 1.80143985094819840000e+16
        word = high(x)
    if word >= NOT_FINITE:
        return x
    k += (word >> 20) - 1023
    word &= FRACTION
    step = (word + 0x95F64) & 0x100000
    x = with_high(x, word | (step ^ ONE))
    k += step >> 20
    f = x - 1.0
    if (FRACTION & (2 + word)) < 3:
        if f == 0.0:
            return k * LN2_HIGH + k * LN2_LOW if k else 0.0
        series = f * f * (0.5 - 0.33333333333333333 * f)
        return k * LN2_HIGH - ((series - k * LN2_LOW) - f) if k else f - series
    s = f / (2.0 + f)
    series = _series_of_log(s * s)
    if ((word - 0x6147A) | (0x6B851 - word)) > 0:
        half = 0.5 * f * f
        if k == 0:
            return f - (half - s * (half + series))
        return k * LN2_HIGH - ((half - (s * (half + series) + k * LN2_LOW)) - f)
    return k * LN2_HIGH - ((s * (f - series) - k * LN2_LOW) - f) if k else f - s * (f - series)


cdef double log10(double x) noexcept nogil:
    """The logarithm of base 10."""
    cdef int32_t word = high(x), k = 0, below
    cdef double y, z
    if word < LEAST_NORMAL:
        if x == 0.0:
            return -INFINITY
        if word < 0:
            return NAN
        k = -54
        x *= 1.80143985094819840000e+16
        word = high(x)
    if word >= NOT_FINITE:
        return x
    k += (word >> 20) - 1023
    below = 1 if k < 0 else 0
    y = k + below
    x = with_high(x, (word & FRACTION) | ((0x3FF - below) << 20))
    z = y * 3.69423907715893078616e-13 + 4.34294481903251816668e-01 * log(x)
    return z + y * 3.01029995663611771306e-01


cdef double log1p(double x) noexcept nogil:
    """The natural logarithm of 1 + x."""
    cdef int32_t word = high(x), size = high(x) & MAGNITUDE, k = 1, top = 1
    cdef double f = x, u, lost = 0.0, half, s, z, series
    if word < 0x3FDA827A:
        if size >= ONE:
            return -INFINITY if x == -1.0 else NAN
        if size < 0x3E200000:
            return x if size < 0x3C900000 else x - x * x * 0.5
        if word > 0 or word <= <int32_t>0xBFD2BEC3:
            k = 0
    if word >= NOT_FINITE:
        return x
    if k:
        if word < 0x43400000:
            u = 1.0 + x
            top = high(u)
            k = (top >> 20) - 1023
            lost = (1.0 - (u - x) if k > 0 else x - (u - 1.0)) / u
        else:
            u = x
            top = high(u)
            k = (top >> 20) - 1023
        top &= FRACTION
        if top < 0x6A09E:
            u = with_high(u, top | ONE)
        else:
            k += 1
            u = with_high(u, top | 0x3FE00000)
            top = (LEAST_NORMAL - top) >> 2
        f = u - 1.0
    half = 0.5 * f * f
    if top == 0:
        if f == 0.0:
            return k * LN2_HIGH + (lost + k * LN2_LOW) if k else 0.0
        series = half * (1.0 - 0.66666666666666666 * f)
        return k * LN2_HIGH - ((series - (k * LN2_LOW + lost)) - f) if k else f - series
    s = f / (2.0 + f)
    z = s * s
    series = z * (
        6.666666666666735130e-01 + z * (
            3.999999999940941908e-01 + z * (
                2.857142874366239149e-01 + z * (
                    2.222219843214978396e-01 + z * (
                        1.818357216161805012e-01 + z * (1.531383769920937332e-01 + z * 1.479819860511658591e-01)
                    )
                )
            )
        )
    )
    if k == 0:
        return f - (half - s * (half + series))
    return k * LN2_HIGH - ((half - (s * (half + series) + (k * LN2_LOW + lost))) - f)


cdef double sinh(double x) noexcept nogil:
    """The hyperbolic sine."""
    cdef int32_t size = high(x) & MAGNITUDE
    cdef double half = -0.5 if high(x) < 0 else 0.5, t
    if size >= NOT_FINITE or size < 0x3E300000:
        return x
    if size < TWENTY_TWO:
        t = expm1(fabs(x))
        return half * (2.0 * t - t * t / (t + 1.0)) if size < ONE else half * (t + t / (t + 1.0))
    if size < LARGEST_LOG:
        return half * exp(fabs(x))
    return _in_two_steps(x, half)


cdef double cosh(double x) noexcept nogil:
    """The hyperbolic cosine."""
    cdef int32_t size = high(x) & MAGNITUDE
    cdef double t, w
    if size >= NOT_FINITE:
        return x * x
    if size < HALF_LN2 + 1:
        t = expm1(fabs(x))
        w = 1.0 + t
        return w if size < 0x3C800000 else 1.0 + (t * t) / (w + w)
    if size < TWENTY_TWO:
        t = exp(fabs(x))
        return 0.5 * t + 0.5 / t
    if size < LARGEST_LOG:
        return 0.5 * exp(fabs(x))
    return _in_two_steps(x, 0.5)


cdef double _in_two_steps(double x, double half) noexcept nogil:
    """Half of e^|x|, with the sign of `half`, where e^|x| alone is infinite."""
    cdef double root
    if fabs(x) > of_bits(<uint64_t>0x408633CE8FB9F87D):
        return half * INFINITY
    root = exp(0.5 * fabs(x))
    return (half * root) * root


cdef double tanh(double x) noexcept nogil:
    """The hyperbolic tangent."""
    cdef int32_t size = high(x) & MAGNITUDE
    cdef double t, found
    if size >= NOT_FINITE:
        return 1.0 / x + (1.0 if high(x) >= 0 else -1.0)
    if size < 0x3C800000:
        return x * (1.0 + x)
    if size >= TWENTY_TWO:
        found = 1.0
    elif size >= ONE:
        t = expm1(2.0 * fabs(x))
        found = 1.0 - 2.0 / (t + 2.0)
    else:
        t = expm1(-2.0 * fabs(x))
        found = -t / (t + 2.0)
    return found if high(x) >= 0 else -found
