"""Lists of literals against bounds: the keep mask of rows whose range contains a point.

Points are sorted, so one binary search per row decides: only the first point at or above min can be the witness, as
any later one within max implies it.
"""

from libc.stdint cimport INT64_MAX, INT64_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from deltaskip.sparkexpr.kernels.arrow cimport PrimitiveView, is_valid, primitive_view
from deltaskip.sparkexpr.kernels.lane cimport (
    Lane, integer_t, new_lane, no_nulls, pair_width, real_t, same_length, wrong_format
)


def in_range_int64(mins: ArrowArrayExportable, maxs: ArrowArrayExportable, points: ArrowArrayExportable) -> Lane:
    """Return the keep mask of rows with a point p, min <= p <= max. A null min or max is no limit on its side.

    mins, maxs: One format that compare_int64 accepts except booleans. points: int64, ascending, without nulls; without
    points no row is kept. Raises TypeError for other formats, and ValueError for different lengths or points out of
    order.
    """
    cdef PrimitiveView low = primitive_view(mins)
    cdef PrimitiveView high = primitive_view(maxs)
    cdef PrimitiveView view = primitive_view(points)
    cdef int width = pair_width(low, high)
    if view.format != b"l":
        raise wrong_format("int64 points", view.format)
    cdef const int64_t* p = <const int64_t*>view.values
    cdef Lane lane = new_lane(low.length)
    cdef bint ordered
    no_nulls(view.validity, view.offset, view.length)
    with nogil:
        ordered = _ascending(p, view.length)
        if not ordered:
            pass
        elif width == 1:
            _integers_in_range[int8_t](low, high, <int8_t>0, p, view.length, lane.keep)
        elif width == 2:
            _integers_in_range[int16_t](low, high, <int16_t>0, p, view.length, lane.keep)
        elif width == 4:
            _integers_in_range[int32_t](low, high, <int32_t>0, p, view.length, lane.keep)
        else:
            _integers_in_range[int64_t](low, high, <int64_t>0, p, view.length, lane.keep)
    if not ordered:
        raise ValueError("The points must be ascending.")
    return lane


def in_range_double(mins: ArrowArrayExportable, maxs: ArrowArrayExportable, points: ArrowArrayExportable) -> Lane:
    """Return the keep mask of rows with a point p, min <= p <= max, in Spark's order of doubles (see compare_double).

    mins, maxs: Both float32 or both float64. points: float64, ascending in that order, without nulls. A null bound is
    no limit on its side. Raises TypeError for other formats, and ValueError for different lengths or points out of
    order.
    """
    cdef PrimitiveView low = primitive_view(mins)
    cdef PrimitiveView high = primitive_view(maxs)
    cdef PrimitiveView view = primitive_view(points)
    if low.format not in (b"f", b"g") or low.format != high.format:
        raise wrong_format("float32 or float64 of one format", low.format + b" and " + high.format)
    if view.format != b"g":
        raise wrong_format("float64 points", view.format)
    same_length(low.length, high.length)
    no_nulls(view.validity, view.offset, view.length)
    cdef Lane lane = new_lane(low.length)
    cdef const double* p = <const double*>view.values
    cdef int64_t* keys = <int64_t*>malloc(8 * (view.length + 1))
    cdef bint single = low.format == b"f"
    cdef bint ordered
    cdef int64_t i
    if keys == NULL:
        raise MemoryError
    with nogil:
        for i in range(view.length):
            keys[i] = _order_key(p[i])
        ordered = _ascending(keys, view.length)
        if ordered and single:
            _reals_in_range[float](low, high, <float>0, keys, view.length, lane.keep)
        elif ordered:
            _reals_in_range[double](low, high, <double>0, keys, view.length, lane.keep)
        free(keys)
    if not ordered:
        raise ValueError("The points must be ascending.")
    return lane


cdef inline int64_t _order_key(double value) noexcept nogil:
    """A number in Spark's order of doubles: zeros are equal, NaN is above all others and equal to itself."""
    cdef int64_t key
    if value != value:
        return INT64_MAX
    if value == 0:
        return 0
    memcpy(&key, &value, 8)
    return key ^ ((key >> 63) & INT64_MAX)


cdef inline uint8_t _has_point(const int64_t* points, int64_t n, int64_t low, int64_t high) noexcept nogil:
    """1 where the first point that is not below `low` exists and is not above `high`."""
    cdef int64_t half, base = 0, left = n
    if n == 0:
        return 0
    while left > 1:
        half = left >> 1
        base += half if points[base + half - 1] < low else 0
        left -= half
    base += points[base] < low
    return base < n and points[base] <= high


cdef bint _ascending(const int64_t* points, int64_t n) noexcept nogil:
    cdef int64_t i
    for i in range(1, n):
        if points[i] < points[i - 1]:
            return False
    return True


cdef void _integers_in_range(
    PrimitiveView mins, PrimitiveView maxs, integer_t width, const int64_t* points, int64_t size, uint8_t* keep
) noexcept nogil:
    """`width` only chooses the type of the bounds."""
    cdef const integer_t* low = <const integer_t*>mins.values
    cdef const integer_t* high = <const integer_t*>maxs.values
    cdef int64_t i
    for i in range(mins.length):
        keep[i] = _has_point(
            points,
            size,
            low[i] if is_valid(mins.validity, mins.offset + i) else INT64_MIN,
            high[i] if is_valid(maxs.validity, maxs.offset + i) else INT64_MAX,
        )


cdef void _reals_in_range(
    PrimitiveView mins, PrimitiveView maxs, real_t width, const int64_t* keys, int64_t size, uint8_t* keep
) noexcept nogil:
    """`width` only chooses the type of the bounds. Points and bounds compare as order keys."""
    cdef const real_t* low = <const real_t*>mins.values
    cdef const real_t* high = <const real_t*>maxs.values
    cdef int64_t i
    for i in range(mins.length):
        keep[i] = _has_point(
            keys,
            size,
            _order_key(low[i]) if is_valid(mins.validity, mins.offset + i) else INT64_MIN,
            _order_key(high[i]) if is_valid(maxs.validity, maxs.offset + i) else INT64_MAX,
        )
