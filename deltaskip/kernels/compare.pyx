"""Comparison of statistics with a literal or with each other: Arrow columns in, keep masks out.

A row is kept if the comparison is true or a statistic is missing (null). Loops are branch-free, so they vectorize.
Missing values are a second, word-wise pass, which runs only if the array has a validity bitmap. The six operators are
three loops (less, less or equal, equal) and their complements.
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

from deltaskip.sparkexpr.kernels.arrow cimport Decimal128, PrimitiveView, check_decimal128, primitive_view
from deltaskip.sparkexpr.kernels.byte_order cimport check_operator
from deltaskip.sparkexpr.kernels.lane cimport (
    Lane, expand_bits, integer_t, integer_width, keep_missing, new_lane, pair_width, real_t, wide_void, wrong_format
)

__all__ = ["compare_columns_int64", "compare_decimal128", "compare_double", "compare_int64"]

cdef enum Loop:
    LESS
    LESS_EQUAL
    EQUAL
    NOT_NAN
    ALWAYS
    NEVER

cdef struct Comparison:
    Loop loop
    uint8_t flip

def compare_int64(values: ArrowArrayExportable, str op not None: Op, literal: int) -> Lane:
    """Return the keep mask of `value op literal` for whole numbers.

    values: int8, int16, int32, int64, date32, timestamp (the raw number in any unit) or boolean (0 and 1).
    literal: Any int. Outside the values' range, the result is the same for every value.
    Raises TypeError for another format and ValueError for another operator.
    """
    cdef PrimitiveView view = primitive_view(values)
    cdef int width = integer_width(view)
    cdef Comparison how = _comparison(op)
    cdef Lane lane = new_lane(view.length)
    cdef int64_t number = 0
    cdef int bits = 8 * width if width > 0 else 8
    if _beyond(literal, bits):
        how.loop = ALWAYS if literal > 0 and how.loop != EQUAL else NEVER
    else:
        number = literal
    with nogil:
        if width == 0:
            expand_bits(view.values, view.offset, view.length, lane.keep)
            _compare_integers[int8_t](<const int8_t*>lane.keep, view.length, number, how, lane.keep)
        elif width == 1:
            _compare_integers[int8_t](<const int8_t*>view.values, view.length, number, how, lane.keep)
        elif width == 2:
            _compare_integers[int16_t](<const int16_t*>view.values, view.length, number, how, lane.keep)
        elif width == 4:
            _compare_integers[int32_t](<const int32_t*>view.values, view.length, number, how, lane.keep)
        else:
            _compare_integers[int64_t](<const int64_t*>view.values, view.length, number, how, lane.keep)
        keep_missing(view.validity, view.offset, view.length, lane.keep)
    return lane


def compare_double(values: ArrowArrayExportable, str op not None: Op, double literal) -> Lane:
    """Return the keep mask of `value op literal` for float32 (widened) or float64, in Spark's order.

    NaN equals itself and is above all other values; -0.0 = 0.0.
    Raises TypeError for another format and ValueError for another operator.
    """
    cdef PrimitiveView view = primitive_view(values)
    cdef Comparison how = _comparison(op)
    cdef Lane lane = new_lane(view.length)
    if view.format not in (b"f", b"g"):
        raise wrong_format("float32 or float64", view.format)
    if literal != literal:
        if how.loop == LESS:
            how.loop = NOT_NAN
        elif how.loop == LESS_EQUAL:
            how.loop = ALWAYS
        else:
            how.loop = NOT_NAN
            how.flip ^= 1
    cdef bint single = view.format == b"f"
    with nogil:
        if single:
            _compare_reals[float](<const float*>view.values, view.length, literal, how, lane.keep)
        else:
            _compare_reals[double](<const double*>view.values, view.length, literal, how, lane.keep)
        keep_missing(view.validity, view.offset, view.length, lane.keep)
    return lane


def compare_decimal128(values: ArrowArrayExportable, str op not None: Op, literal: int) -> Lane:
    """Return the keep mask of `value op literal` for decimal128.

    literal: Any int, unscaled at the values' scale. Outside 128 bits, the result is the same for every value.
    Raises TypeError for another format and ValueError for another operator.
    """
    cdef PrimitiveView view = primitive_view(values)
    cdef Comparison how = _comparison(op)
    cdef Lane lane = new_lane(view.length)
    cdef Decimal128 number = Decimal128(0, 0)
    check_decimal128(view)
    if _beyond(literal, 128):
        how.loop = ALWAYS if literal > 0 and how.loop != EQUAL else NEVER
    else:
        number.low = literal & 0xFFFFFFFFFFFFFFFF
        number.high = literal >> 64
    with nogil:
        _compare_decimals(<const Decimal128*>view.values, view.length, number, how, lane.keep)
        keep_missing(view.validity, view.offset, view.length, lane.keep)
    return lane


def compare_columns_int64(left: ArrowArrayExportable, right: ArrowArrayExportable, str op not None: Op) -> Lane:
    """Return the keep mask of `left op right` row by row, of one format that compare_int64 accepts except booleans.

    Rows with a null on either side are kept. Raises TypeError for other or different formats, and ValueError for
    different lengths.
    """
    cdef PrimitiveView a = primitive_view(left)
    cdef PrimitiveView b = primitive_view(right)
    cdef int width = pair_width(a, b)
    cdef Comparison how = _comparison(op)
    cdef Lane lane = new_lane(a.length)
    cdef int64_t n = a.length
    cdef const uint8_t* x = a.values
    cdef const uint8_t* y = b.values
    with nogil:
        if width == 1:
            _compare_columns[int8_t](<const int8_t*>x, <const int8_t*>y, n, how, lane.keep)
        elif width == 2:
            _compare_columns[int16_t](<const int16_t*>x, <const int16_t*>y, n, how, lane.keep)
        elif width == 4:
            _compare_columns[int32_t](<const int32_t*>x, <const int32_t*>y, n, how, lane.keep)
        else:
            _compare_columns[int64_t](<const int64_t*>x, <const int64_t*>y, n, how, lane.keep)
        keep_missing(a.validity, a.offset, n, lane.keep)
        keep_missing(b.validity, b.offset, n, lane.keep)
    return lane


cdef Comparison _comparison(str op) except *:
    cdef Comparison how
    check_operator(op)
    how.flip = op in ("gt", "ge", "ne")
    if op in ("lt", "ge"):
        how.loop = LESS
    elif op in ("le", "gt"):
        how.loop = LESS_EQUAL
    else:
        how.loop = EQUAL
    return how


cdef bint _beyond(object literal, object bits) except *:
    """Whether the int does not fit in a two's complement number of `bits` bits."""
    if not isinstance(literal, int):
        raise TypeError(f"The literal must be an int, not {type(literal).__name__}.")
    return (literal if literal >= 0 else ~literal).bit_length() >= bits


cdef void _constant(Comparison how, int64_t n, uint8_t* keep) noexcept nogil:
    if n > 0:
        memset(keep, (how.loop == ALWAYS) ^ how.flip, n)


cdef wide_void _compare_integers(
    const integer_t* v, int64_t n, int64_t number, Comparison how, uint8_t* keep
) noexcept nogil:
    cdef int64_t i
    cdef integer_t literal = <integer_t>number
    cdef uint8_t flip = how.flip
    if how.loop == LESS:
        for i in range(n):
            keep[i] = <uint8_t>(v[i] < literal) ^ flip
    elif how.loop == LESS_EQUAL:
        for i in range(n):
            keep[i] = <uint8_t>(v[i] <= literal) ^ flip
    elif how.loop == EQUAL:
        for i in range(n):
            keep[i] = <uint8_t>(v[i] == literal) ^ flip
    else:
        _constant(how, n, keep)


cdef wide_void _compare_reals(const real_t* v, int64_t n, double literal, Comparison how, uint8_t* keep) noexcept nogil:
    """A NaN literal arrives as NOT_NAN or ALWAYS. For all others IEEE decides: NaN is neither below nor equal."""
    cdef int64_t i
    cdef uint8_t flip = how.flip
    if how.loop == LESS:
        for i in range(n):
            keep[i] = <uint8_t>(<double>v[i] < literal) ^ flip
    elif how.loop == LESS_EQUAL:
        for i in range(n):
            keep[i] = <uint8_t>(<double>v[i] <= literal) ^ flip
    elif how.loop == EQUAL:
        for i in range(n):
            keep[i] = <uint8_t>(<double>v[i] == literal) ^ flip
    elif how.loop == NOT_NAN:
        for i in range(n):
            keep[i] = <uint8_t>(v[i] == v[i]) ^ flip
    else:
        _constant(how, n, keep)


cdef wide_void _compare_decimals(
    const Decimal128* v, int64_t n, Decimal128 literal, Comparison how, uint8_t* keep
) noexcept nogil:
    cdef int64_t i
    cdef uint8_t flip = how.flip
    cdef uint64_t low = literal.low
    cdef int64_t high = literal.high
    if how.loop == LESS:
        for i in range(n):
            keep[i] = <uint8_t>((v[i].high < high) | ((v[i].high == high) & (v[i].low < low))) ^ flip
    elif how.loop == LESS_EQUAL:
        for i in range(n):
            keep[i] = <uint8_t>((v[i].high < high) | ((v[i].high == high) & (v[i].low <= low))) ^ flip
    elif how.loop == EQUAL:
        for i in range(n):
            keep[i] = <uint8_t>((v[i].high == high) & (v[i].low == low)) ^ flip
    else:
        _constant(how, n, keep)


cdef wide_void _compare_columns(
    const integer_t* a, const integer_t* b, int64_t n, Comparison how, uint8_t* keep
) noexcept nogil:
    cdef int64_t i
    cdef uint8_t flip = how.flip
    if how.loop == LESS:
        for i in range(n):
            keep[i] = <uint8_t>(a[i] < b[i]) ^ flip
    elif how.loop == LESS_EQUAL:
        for i in range(n):
            keep[i] = <uint8_t>(a[i] <= b[i]) ^ flip
    else:
        for i in range(n):
            keep[i] = <uint8_t>(a[i] == b[i]) ^ flip
