"""Functions of java.lang.Math that versions of the JVM compute differently, where all of them agree.

HotSpot has sin, cos and tan of its own on x86-64, tanh and cbrt from Java 24 and 25 on, and uses fdlibm's elsewhere (as
StrictMath does). Its own are nearly rounded correctly: measured over 2.8 million numbers they are never more than 0.08
units of the last place (tan; the others 0.02) further from the exact value than the nearest double is. A result is
therefore certain if fdlibm's is the double nearest to the exact value, and would still be if that were moved by `slack`
units. The exact value is that of C's long double, which has to have at least 64 bits.
"""

import pyarrow as pa

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t

from deltaskip.sparkexpr.kernels.arrow cimport ByteBuffer, PrimitiveView, validity_buffer, zeros
from deltaskip.sparkexpr.kernels.lane cimport view_of
from deltaskip.sparkexpr.kernels.strict_math cimport chopped, high, of_high, tanh
from deltaskip.sparkexpr.kernels.strict_powers cimport cbrt

cdef extern from "<math.h>" nogil:
    long double sinl(long double)
    long double cosl(long double)
    long double tanl(long double)
    long double tanhl(long double)
    long double cbrtl(long double)
    double nextafter(double, double)

cdef extern from "<float.h>" nogil:
    int LDBL_MANT_DIG

ctypedef double (*strict_t)(double) noexcept nogil
ctypedef long double (*exact_t)(long double) nogil

cdef enum:
    MAGNITUDE = 0x7FFFFFFF
    NOT_FINITE = 0x7FF00000
    SMALL = 0x3E400000
    QUARTER_PI = 0x3FE921FB
    # 2^19 pi / 2: from there on the angle is reduced otherwise, and left over.
    LARGE_ANGLE = 0x413921FB

cdef double SLACK = 0.05
cdef double SLACK_OF_TAN = 0.12

# pi / 2 in pieces of 33 bits, each with the rest.
cdef double FIRST = 1.57079632673412561417e+00
cdef double FIRST_REST = 6.07710050650619224932e-11
cdef double SECOND = 6.07710050630396597660e-11
cdef double SECOND_REST = 2.02226624879595063154e-21
cdef double THIRD = 2.02226624871116645580e-21
cdef double THIRD_REST = 8.47842766036889956997e-32


cdef struct Angle:
    # The rest of an angle beyond `turns` quarters of a turn, as the sum of two doubles.
    double rest
    double tail
    int turns


def agreed(str name not None, values: ArrowArrayExportable) -> tuple[pa.DoubleArray, pa.UInt8Array]:
    """Return a function of each double of a float64 array, and as uint8 where it is not certain (1).

    Args:
        name: cbrt, cos, sin, tan or tanh.
        values: The arguments; null where they are null, which is certain.

    Raises TypeError for an array of another type, and ValueError for another function.
    """
    cdef PrimitiveView view = view_of(values, b"g")
    cdef strict_t strict = NULL
    cdef exact_t exact = NULL
    cdef double slack = SLACK
    cdef bint angle = True
    if name == "sin":
        strict, exact = sin, sinl
    elif name == "cos":
        strict, exact = cos, cosl
    elif name == "tan":
        strict, exact, slack = tan, tanl, SLACK_OF_TAN
    elif name == "tanh":
        strict, exact, angle = tanh, tanhl, False
    elif name == "cbrt":
        strict, exact, angle = cbrt, cbrtl, False
    else:
        raise ValueError(f"{name!r} is no function of one double.")
    cdef ByteBuffer out = zeros(8 * view.length)
    cdef ByteBuffer states = zeros(view.length)
    cdef const double* given = <const double*>view.values
    cdef double* found = <double*>out.data
    cdef int64_t i
    cdef int32_t size
    with nogil:
        for i in range(view.length):
            size = high(given[i]) & MAGNITUDE
            if angle and LARGE_ANGLE <= size < NOT_FINITE:
                states.data[i] = 1
                continue
            found[i] = strict(given[i])
            if size < NOT_FINITE and not (given[i] == 0.0):
                states.data[i] = not _certain(found[i], exact(given[i]), slack)
    validity = validity_buffer(view.validity, view.offset, view.length)
    array = pa.Array.from_buffers(
        pa.float64(), view.length, [None if validity is None else pa.py_buffer(validity), pa.py_buffer(out)]
    )
    return array, pa.Array.from_buffers(pa.uint8(), view.length, [None, pa.py_buffer(states)])


cdef bint _certain(double found, long double exact, double slack) noexcept nogil:
    """Whether a double is the one nearest to the exact value, and by how far."""
    cdef double unit = nextafter(fabs(found), 1e308) - fabs(found)
    cdef long double moved = <long double>slack * unit
    return LDBL_MANT_DIG >= 64 and <double>(exact - moved) == found and <double>(exact + moved) == found


cdef Angle _reduced(double x) noexcept nogil:
    """An angle beyond a quarter of pi without its quarters of a turn."""
    cdef int32_t size = high(x) & MAGNITUDE
    cdef double sign = -1.0 if high(x) < 0 else 1.0, rest, tail, turns, before
    cdef Angle found
    x = fabs(x)
    if size < 0x4002D97C:
        rest = x - FIRST
        tail = FIRST_REST
        if size == 0x3FF921FB:
            rest -= SECOND
            tail = SECOND_REST
        found.turns = 1
        found.rest = rest - tail
    else:
        found.turns = <int>(x * 6.36619772367581382433e-01 + 0.5)
        turns = found.turns
        rest = x - turns * FIRST
        tail = turns * FIRST_REST
        found.rest = rest - tail
        if found.turns >= 32 or size == high(turns * 1.5707963267948966):
            if (size >> 20) - ((high(found.rest) >> 20) & 0x7FF) > 16:
                before = rest
                tail = turns * SECOND
                rest = before - tail
                tail = turns * SECOND_REST - ((before - rest) - tail)
                found.rest = rest - tail
                if (size >> 20) - ((high(found.rest) >> 20) & 0x7FF) > 49:
                    before = rest
                    tail = turns * THIRD
                    rest = before - tail
                    tail = turns * THIRD_REST - ((before - rest) - tail)
                    found.rest = rest - tail
    found.tail = (rest - found.rest) - tail
    if sign < 0:
        found.rest, found.tail, found.turns = -found.rest, -found.tail, -found.turns
    return found


cdef Angle _angle(double x) noexcept nogil:
    cdef Angle found
    if (high(x) & MAGNITUDE) <= QUARTER_PI:
        found.rest, found.tail, found.turns = x, 0.0, 0
        return found
    return _reduced(x)


cdef double sin(double x) noexcept nogil:
    cdef Angle angle
    if (high(x) & MAGNITUDE) >= NOT_FINITE:
        return x - x
    angle = _angle(x)
    cdef double found = _cos_part(angle) if angle.turns & 1 else _sin_part(angle)
    return -found if angle.turns & 2 else found


cdef double cos(double x) noexcept nogil:
    cdef Angle angle
    if (high(x) & MAGNITUDE) >= NOT_FINITE:
        return x - x
    angle = _angle(x)
    cdef double found = _sin_part(angle) if angle.turns & 1 else _cos_part(angle)
    return -found if (angle.turns + 1) & 2 else found


cdef double tan(double x) noexcept nogil:
    if (high(x) & MAGNITUDE) >= NOT_FINITE:
        return x - x
    return _tan_part(_angle(x))


cdef double _sin_part(Angle angle) noexcept nogil:
    """The sine of an angle of up to pi / 4."""
    cdef double x = angle.rest, y = angle.tail, z, v, r
    if (high(x) & MAGNITUDE) < SMALL:
        return x
    z = x * x
    v = z * x
    r = 8.33333333332248946124e-03 + z * (
        -1.98412698298579493134e-04 + z * (
            2.75573137070700676789e-06 + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)
        )
    )
    if angle.turns == 0:
        return x + v * (-1.66666666666666324348e-01 + z * r)
    return x - ((z * (0.5 * y - v * r) - y) - v * -1.66666666666666324348e-01)


cdef double _cos_part(Angle angle) noexcept nogil:
    """The cosine of an angle of up to pi / 4."""
    cdef double x = angle.rest, z, r, shift
    cdef int32_t size = high(x) & MAGNITUDE
    if size < SMALL:
        return 1.0
    z = x * x
    r = z * (
        4.16666666666666019037e-02 + z * (
            -1.38888888888741095749e-03 + z * (
                2.48015872894767294178e-05 + z * (
                    -2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)
                )
            )
        )
    )
    if size < 0x3FD33333:
        return 1.0 - (0.5 * z - (z * r - x * angle.tail))
    shift = 0.28125 if size > 0x3FE90000 else of_high(size - 0x00200000)
    return (1.0 - shift) - ((0.5 * z - shift) - (z * r - x * angle.tail))


cdef double _tan_part(Angle angle) noexcept nogil:
    """The tangent of an angle of up to pi / 4, or -1 / tangent after an odd number of quarters."""
    cdef double x = angle.rest, y = angle.tail, z, w, r, v, s, side = -1.0 if angle.turns & 1 else 1.0
    cdef int32_t size = high(x) & MAGNITUDE
    cdef bint negative = high(x) < 0
    if size < 0x3E300000:
        return x if side > 0 else _negative_inverse(x + y, x, y)
    if size >= 0x3FE59428:
        if negative:
            x, y = -x, -y
        x = (QUARTER - x) + (QUARTER_REST - y)
        y = 0.0
    z = x * x
    w = z * z
    r = 1.33333333333201242699e-01 + w * (
        2.18694882948595424599e-02 + w * (
            3.59207910759131235356e-03 + w * (
                5.88041240820264096874e-04 + w * (7.81794442939557092300e-05 + w * -1.85586374855275456654e-05)
            )
        )
    )
    v = z * (
        5.39682539762260521377e-02 + w * (
            8.86323982359930005737e-03 + w * (
                1.45620945432529025516e-03 + w * (
                    2.46463134818469906812e-04 + w * (7.14072491382608190305e-05 + w * 2.59073051863633712884e-05)
                )
            )
        )
    )
    s = z * x
    r = y + z * (s * (r + v) + y)
    r += 3.33333333333334091986e-01 * s
    w = x + r
    if size >= 0x3FE59428:
        return (-1.0 if negative else 1.0) * (side - 2.0 * (x - (w * w / (w + side) - r)))
    return w if side > 0 else _negative_inverse(w, x, r)


cdef double QUARTER = 7.85398163397448278999e-01
cdef double QUARTER_REST = 3.06161699786838301793e-17


cdef double _negative_inverse(double w, double x, double rest) noexcept nogil:
    """-1 / (x + rest), where w is that sum as a double."""
    cdef double z = chopped(w), a = -1.0 / w, t = chopped(-1.0 / w)
    return t + a * ((1.0 + t * z) + t * (rest - (z - x)))
