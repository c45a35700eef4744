"""Arithmetic of decimals of 128 bits, as far as 127 bits suffice.

Every function returns the results and a state for each row: 0 is done, where a row is null as well, 1 is left to the
caller (more than 127 bits, or more digits than the type of the result has), 2 is a division of a number by zero. What
stands in rows of other states than 0 is null.

# Spark 4.1, Decimal.scala: what is cut to 39 digits or places before it is rounded half up is rounded as the exact number
"""

import pyarrow as pa

from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from deltaskip.sparkexpr.kernels.arrow cimport (
    ByteBuffer, PrimitiveView, check_decimal128, is_valid, primitive_view, zeros as new_bytes
)
from deltaskip.sparkexpr.kernels.lane cimport same_length

cdef extern from *:
    """
    typedef __int128 deltaskip_int128;
    """
    ctypedef long long int128 "deltaskip_int128"
    bint multiplied_beyond "__builtin_mul_overflow"(int128 a, int128 b, int128* product) nogil
    bint added_beyond "__builtin_add_overflow"(int128 a, int128 b, int128* total) nogil
    bint subtracted_beyond "__builtin_sub_overflow"(int128 a, int128 b, int128* difference) nogil

cdef enum:
    DONE = 0
    LEFT_OVER = 1
    BY_ZERO = 2

cdef enum Operation:
    SUM
    DIFFERENCE
    PRODUCT
    QUOTIENT
    REMAINDER
    WHOLE

cdef enum Rounding:
    HALF_UP
    HALF_EVEN
    FLOOR
    CEILING
    TOWARDS_ZERO

cdef dict OPERATIONS = {"+": SUM, "-": DIFFERENCE, "*": PRODUCT, "/": QUOTIENT, "%": REMAINDER, "div": WHOLE}
cdef dict ROUNDINGS = {
    "half up": HALF_UP, "half even": HALF_EVEN, "floor": FLOOR, "ceiling": CEILING, "towards zero": TOWARDS_ZERO
}


def compute(
    left: ArrowArrayExportable, right: ArrowArrayExportable, int left_scale, int right_scale, str op not None,
    int precision, int scale,
) -> tuple[pa.Decimal128Array, pa.UInt8Array]:
    """Return `left op right`, rounded half up, as decimal128(38, scale), and the states as uint8.

    Args:
        left: The left operands, a decimal128 array.
        right: The right operands, of the same length. One side may have a single value instead, which is that of every
            row.
        left_scale: The scale of the left operands.
        right_scale: The scale of the right operands.
        op: One of + - * / % (with the sign of the left operand) and div (towards zero).
        precision: The most digits of a result.
        scale: The scale of the result.

    Raises TypeError for arrays of another type, and ValueError for lengths that differ and other operators.
    """
    cdef PrimitiveView first = primitive_view(left)
    cdef PrimitiveView second = primitive_view(right)
    cdef int64_t rows = _rows(first, second)
    if op not in OPERATIONS:
        raise ValueError(f"{op!r} is no operator of decimals.")
    cdef Operation operation = OPERATIONS[op]
    _check_scales(left_scale, right_scale, precision, scale)
    cdef ByteBuffer found = new_bytes(16 * rows)
    cdef ByteBuffer validity = new_bytes((rows + 7) // 8)
    cdef ByteBuffer states = new_bytes(rows)
    with nogil:
        _compute(
            first, second, rows, left_scale, right_scale, operation, precision, scale,
            <int128*>found.data, validity.data, states.data,
        )
    return _arrays(found, validity, states, rows, scale)


def rescale(
    values: ArrowArrayExportable, int old_scale, int precision, int scale, str rounding not None="half up", int zeros=0
) -> tuple[pa.Decimal128Array, pa.UInt8Array]:
    """Return decimals at another scale as decimal128(38, scale), and the states as uint8.

    Args:
        values: The decimals, a decimal128 array.
        old_scale: Their scale.
        precision: The most digits of a result.
        scale: The scale of the result.
        rounding: "half up", "half even", "floor", "ceiling" or "towards zero".
        zeros: To how many digits before the point they are rounded, if the scale is 0.

    Raises TypeError for an array of another type, and ValueError for another rounding and zeros at another scale.
    """
    cdef PrimitiveView view = primitive_view(values)
    check_decimal128(view)
    if rounding not in ROUNDINGS:
        raise ValueError(f"{rounding!r} is no rounding.")
    cdef Rounding mode = ROUNDINGS[rounding]
    _check_scales(old_scale, 0, precision, scale)
    if not 0 <= zeros <= (38 - old_scale if scale == 0 else 0):
        raise ValueError("The digits that are rounded away are at most 38, and zeros are at scale 0.")
    cdef int64_t rows = view.length
    cdef ByteBuffer found = new_bytes(16 * rows)
    cdef ByteBuffer validity = new_bytes((rows + 7) // 8)
    cdef ByteBuffer states = new_bytes(rows)
    with nogil:
        _rescale(view, old_scale, precision, scale, mode, zeros, <int128*>found.data, validity.data, states.data)
    return _arrays(found, validity, states, rows, scale)


cdef int64_t _rows(PrimitiveView first, PrimitiveView second) except -1:
    """The number of rows of two operands, of which one may be a single value."""
    check_decimal128(first)
    check_decimal128(second)
    if second.length == 1:
        return first.length
    if first.length != 1:
        same_length(second.length, first.length)
    return second.length


cdef int _check_scales(int one, int other, int precision, int scale) except -1:
    if not (0 <= one <= 38 and 0 <= other <= 38 and 0 <= scale <= 38 and 1 <= precision <= 38):
        raise ValueError("Scales are from 0 to 38, and precisions from 1 to 38.")
    return 0


cdef object _arrays(ByteBuffer found, ByteBuffer validity, ByteBuffer states, int64_t rows, int scale):
    buffers = [pa.py_buffer(validity), pa.py_buffer(found)]
    return (
        pa.Array.from_buffers(pa.decimal128(38, scale), rows, buffers),
        pa.Array.from_buffers(pa.uint8(), rows, [None, pa.py_buffer(states)]),
    )


cdef int _compute(
    PrimitiveView first, PrimitiveView second, int64_t rows, int left_scale, int right_scale, Operation op,
    int precision, int scale, int128* out, uint8_t* validity, uint8_t* states,
) noexcept nogil:
    cdef const int128* a = <const int128*>first.values
    cdef const int128* b = <const int128*>second.values
    # The factor of each side, and the scale of the integer that comes out.
    cdef int up, down, common, wide = left_scale if left_scale > right_scale else right_scale
    cdef int128 left_factor = 1, right_factor = 1, limit, unit = 1, one, other, result
    cdef int64_t i
    if op == QUOTIENT:
        up = right_scale - left_scale + scale
        down = -up if up < 0 else 0
        up = up if up > 0 else 0
        common = scale
    elif op == PRODUCT:
        up, down, common = 0, 0, left_scale + right_scale
    else:
        up, down = wide - left_scale, wide - right_scale
        common = 0 if op == WHOLE else wide
    cdef bint fits = up <= 38 and down <= 38 and common - scale <= 38
    if fits:
        left_factor, right_factor = power(up), power(down)
        if common > scale:
            unit = power(common - scale)
    limit = power(precision)
    # Numbers of 64 bits, which times up to 10^18 or each other have less than 127.
    cdef bint narrow = fits and unit == 1 and common == scale and op <= PRODUCT and up <= 18 and down <= 18
    cdef int64_t j, left_step = first.length != 1, right_step = second.length != 1
    for i in range(rows):
        j = i * right_step
        if not is_valid(first.validity, first.offset + i * left_step) or not is_valid(second.validity, second.offset + j):
            continue
        one, other = unaligned(a + i * left_step), unaligned(b + j)
        if narrow and one == <int64_t>one and other == <int64_t>other:
            if op == PRODUCT:
                result = one * other
            elif op == SUM:
                result = one * left_factor + other * right_factor
            else:
                result = one * left_factor - other * right_factor
            states[i] = LEFT_OVER
            store(result, limit, i, out, validity, states)
            continue
        states[i] = LEFT_OVER
        if op >= QUOTIENT and other == 0:
            states[i] = BY_ZERO
            continue
        if not fits or common < scale:
            continue
        if multiplied_beyond(one, left_factor, &one):
            continue
        if multiplied_beyond(other, right_factor, &other):
            continue
        if op == SUM:
            if added_beyond(one, other, &result):
                continue
        elif op == DIFFERENCE:
            if subtracted_beyond(one, other, &result):
                continue
        elif op == PRODUCT:
            if multiplied_beyond(one, other, &result):
                continue
        elif op == QUOTIENT:
            result = half_up(one, other)
        else:
            result = one / other
            if op == REMAINDER:
                result = one - result * other
        if unit != 1:
            result = half_up(result, unit)
        store(result, limit, i, out, validity, states)
    return 0


cdef int _rescale(
    PrimitiveView view, int old_scale, int precision, int scale, Rounding mode, int whole_zeros, int128* out,
    uint8_t* validity, uint8_t* states,
) noexcept nogil:
    cdef const int128* values = <const int128*>view.values
    cdef int128 up = power(scale - old_scale if scale > old_scale else 0)
    cdef int128 unit = power((old_scale - scale if old_scale > scale else 0) + whole_zeros)
    cdef int128 limit = power(precision), back = power(whole_zeros), value, whole
    cdef int64_t i
    for i in range(view.length):
        if not is_valid(view.validity, view.offset + i):
            continue
        states[i] = LEFT_OVER
        if multiplied_beyond(unaligned(values + i), up, &value):
            continue
        if unit != 1:
            if mode == HALF_UP:
                value = half_up(value, unit)
            elif mode == HALF_EVEN:
                value = half_even(value, unit)
            else:
                whole = value / unit
                if whole * unit != value:
                    if mode == FLOOR and value < 0:
                        whole = whole - 1
                    elif mode == CEILING and value > 0:
                        whole = whole + 1
                value = whole
            if multiplied_beyond(value, back, &value):
                continue
        store(value, limit, i, out, validity, states)
    return 0


cdef inline void store(
    int128 value, int128 limit, int64_t i, int128* out, uint8_t* validity, uint8_t* states
) noexcept nogil:
    """Keep a result that has no more digits than allowed."""
    if magnitude(value) < limit:
        states[i] = DONE
        validity[i >> 3] |= <uint8_t>(1 << (i & 7))
        out[i] = value


cdef inline int128 half_up(int128 dividend, int128 divisor) noexcept nogil:
    """The quotient, rounded half away from zero."""
    cdef int128 quotient = dividend / divisor
    cdef int128 rest = magnitude(dividend - quotient * divisor)
    if rest >= magnitude(divisor) - rest:
        return quotient + (1 if (dividend < 0) == (divisor < 0) else -1)
    return quotient


cdef inline int128 half_even(int128 dividend, int128 divisor) noexcept nogil:
    """The quotient by a positive divisor, rounded to the nearest, and to the even one of two."""
    cdef int128 quotient = dividend / divisor
    cdef int128 rest = magnitude(dividend - quotient * divisor), other = divisor - rest
    if rest > other or (rest == other and quotient % 2 != 0):
        return quotient + (-1 if dividend < 0 else 1)
    return quotient


cdef inline int128 power(int exponent) noexcept nogil:
    """Ten to an exponent from 0 to 38."""
    cdef int128 found = 1
    cdef int k
    for k in range(exponent):
        found = found * 10
    return found


cdef inline int128 magnitude(int128 value) noexcept nogil:
    # Decimals have at most 38 digits, so that the sign of none is lost.
    return -value if value < 0 else value


cdef inline int128 unaligned(const int128* place) noexcept nogil:
    """The number at a place that is a multiple of 8."""
    cdef int128 found
    memcpy(&found, place, 16)
    return found
