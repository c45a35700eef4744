"""Comparison of binary and string statistics by unsigned bytes, in which a prefix is below the longer value.

Most values differ in their first eight bytes, which compare as one number without a branch on the result. All bytes
are compared only if these are equal.
"""

from typing import TYPE_CHECKING

from cpython.bytes cimport PyBytes_AsString, PyBytes_Size
from libc.stdint cimport INT64_MAX, UINT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView, binary_view, check, is_valid
from deltaskip.sparkexpr.kernels.byte_order cimport byteswap64, first_eight, kept_orders, order_of_bytes
from deltaskip.sparkexpr.kernels.lane cimport Lane, keep_missing, new_lane, no_nulls, same_length

cdef struct Strings:
    const int32_t* offsets32
    const int64_t* offsets64
    const uint8_t* data
    int64_t last


if TYPE_CHECKING:
    from typing import Literal

    Op = Literal["lt", "le", "gt", "ge", "eq", "ne"]


def compare_binary(values: ArrowArrayExportable, str op not None: Op, bytes literal not None) -> Lane:
    """Return the keep mask of `value op literal` for strings or binary, in the order of unsigned bytes.

    Raises TypeError for another format and ValueError for another operator.
    """
    cdef BinaryView view = binary_view(values)
    cdef uint8_t[3] kept
    kept_orders(op, kept)
    cdef Lane lane = new_lane(view.length)
    cdef Strings strings = _strings(view)
    cdef const uint8_t* text = <const uint8_t*>PyBytes_AsString(literal)
    cdef int64_t size = PyBytes_Size(literal)
    with nogil:
        _compare_strings(strings, view.length, text, size, kept, lane.keep)
        keep_missing(view.validity, view.offset, view.length, lane.keep)
    return lane


def max_may_reach(values: ArrowArrayExportable, bytes literal not None, int64_t cut_from, bint strict=False) -> Lane:
    """Return the keep mask of upper bounds, possibly truncated, that allow a value >= `literal` (> with `strict`).

    A bound of `cut_from` bytes or more may be only a prefix of the true maximum, so it is kept if the literal begins
    with it. `cut_from` must be the fewest bytes at which any writer truncates: a limit counted in code points or UTF-16
    units is reached with at least as many bytes; a cut moved back to a character's start, with fewer.
    Raises TypeError for another format.
    """
    cdef BinaryView view = binary_view(values)
    cdef Lane lane = new_lane(view.length)
    cdef Strings strings = _strings(view)
    cdef const uint8_t* text = <const uint8_t*>PyBytes_AsString(literal)
    cdef int64_t size = PyBytes_Size(literal)
    cdef uint8_t[3] kept
    kept[0], kept[1], kept[2] = 0, not strict, 1
    with nogil:
        _compare_strings(strings, view.length, text, size, kept, lane.keep)
        _keep_cut_prefixes(strings, view.length, text, size, cut_from, lane.keep)
        keep_missing(view.validity, view.offset, view.length, lane.keep)
    return lane


def in_range_binary(
    mins: ArrowArrayExportable, maxs: ArrowArrayExportable, points: ArrowArrayExportable, cut_from: int | None = None
) -> Lane:
    """Return the keep mask of rows with a point p, min <= p <= max, in the order of compare_binary.

    mins, maxs, points: String or binary, any offsets; points ascending, without nulls. A null bound is no limit on its
    side. With `cut_from`, a max of that many bytes or more also admits every point that begins with it (see
    max_may_reach). Raises TypeError for other formats, and ValueError for different lengths or points out of order.
    """
    cdef BinaryView low = binary_view(mins)
    cdef BinaryView high = binary_view(maxs)
    cdef BinaryView view = binary_view(points)
    cdef int64_t cut = INT64_MAX if cut_from is None else cut_from
    same_length(low.length, high.length)
    no_nulls(view.validity, view.offset, view.length)
    cdef Lane lane = new_lane(low.length)
    cdef Strings p = _strings(view)
    cdef bint ordered
    cdef int code = 0
    with nogil:
        ordered = _strings_ascending(p, view.length)
        if ordered:
            code = _strings_in_range(low, high, p, view.length, cut, lane.keep)
    check(code)
    if not ordered:
        raise ValueError("The points must be ascending.")
    return lane


cdef Strings _strings(BinaryView view) noexcept nogil:
    cdef Strings strings = Strings(view.offsets32, view.offsets64, view.data, 0)
    if view.length > 0:
        strings.last = _at(strings, view.length)
    return strings


cdef inline int64_t _at(Strings s, int64_t i) noexcept nogil:
    return s.offsets32[i] if s.offsets64 == NULL else s.offsets64[i]


cdef inline uint64_t _head(const uint8_t* text, int64_t size, bint readable) noexcept nogil:
    """The first eight bytes as a number that orders as they do; zeros follow a shorter text.

    readable: eight bytes may be read at `text` regardless of its size.
    """
    cdef uint64_t word
    if readable and 0 < size < 8:
        memcpy(&word, text, 8)
        return (byteswap64(word) >> (64 - 8 * size)) << (64 - 8 * size)
    return first_eight(text, size)


cdef void _compare_strings(
    Strings s, int64_t n, const uint8_t* literal, int64_t size, const uint8_t* kept, uint8_t* keep
) noexcept nogil:
    """keep[i] = kept[0], [1] or [2] as value i is below, equal to or above the literal."""
    cdef int64_t i, end, start = 0
    cdef uint64_t value_head, head = first_eight(literal, size)
    # One word and a shift: for a table or a condition the compiler emits a branch, which random values mispredict.
    cdef uint32_t by_order = kept[0] | <uint32_t>kept[1] << 8 | <uint32_t>kept[2] << 16
    if n > 0:
        start = _at(s, 0)
    for i in range(n):
        end = _at(s, i + 1)
        value_head = _head(s.data + start, end - start, start + 8 <= s.last)
        if value_head != head:
            keep[i] = <uint8_t>(by_order >> (<int>(value_head > head) << 4))
        else:
            keep[i] = kept[1 + order_of_bytes(s.data + start, end - start, literal, size)]
        start = end


cdef void _keep_cut_prefixes(
    Strings s, int64_t n, const uint8_t* literal, int64_t size, int64_t cut_from, uint8_t* keep
) noexcept nogil:
    cdef int64_t i, start, length
    for i in range(n):
        start = _at(s, i)
        length = _at(s, i + 1) - start
        if cut_from <= length <= size and (length == 0 or memcmp(s.data + start, literal, length) == 0):
            keep[i] = 1


cdef bint _strings_ascending(Strings points, int64_t n) noexcept nogil:
    cdef int64_t i, a, b
    for i in range(1, n):
        a, b = _at(points, i - 1), _at(points, i)
        if order_of_bytes(points.data + a, b - a, points.data + b, _at(points, i + 1) - b) > 0:
            return False
    return True


cdef inline int64_t _first_head(const uint64_t* heads, int64_t n, uint64_t head) noexcept nogil:
    """The first head that is not below `head`, or `n`; without a branch on the outcome."""
    cdef int64_t half, base = 0, left = n
    while left > 1:
        half = left >> 1
        base += half if heads[base + half - 1] < head else 0
        left -= half
    return base + (heads[base] < head)


cdef int64_t _first_string(
    Strings points, const uint64_t* heads, int64_t n, const uint8_t* low, int64_t low_size, uint64_t head
) noexcept nogil:
    """The first point that is not below `low`, or `n`; bytes are compared only among points of the same head."""
    cdef int64_t middle, start, right, left = _first_head(heads, n, head)
    if left == n or heads[left] != head:
        return left
    right = n if head == UINT64_MAX else _first_head(heads, n, head + 1)
    while left < right:
        middle = left + ((right - left) >> 1)
        start = _at(points, middle)
        if order_of_bytes(points.data + start, _at(points, middle + 1) - start, low, low_size) < 0:
            left = middle + 1
        else:
            right = middle
    return left


cdef int _strings_in_range(
    BinaryView mins, BinaryView maxs, Strings points, int64_t size, int64_t cut_from, uint8_t* keep
) noexcept nogil:
    """0, or -1 if memory is exhausted. Only the first point at or above min can be the witness: a later one within max,
    or beginning with it, implies it."""
    cdef Strings low = _strings(mins)
    cdef Strings high = _strings(maxs)
    cdef int64_t i, first, start, length, point, point_size
    cdef uint64_t* heads
    if size == 0:
        memset(keep, 0, mins.length)
        return 0
    heads = <uint64_t*>malloc(8 * size)
    if heads == NULL:
        return -1
    for i in range(size):
        start = _at(points, i)
        heads[i] = first_eight(points.data + start, _at(points, i + 1) - start)
    for i in range(mins.length):
        first = 0
        if is_valid(mins.validity, mins.offset + i):
            start = _at(low, i)
            length = _at(low, i + 1) - start
            first = _first_string(
                points, heads, size, low.data + start, length, _head(low.data + start, length, start + 8 <= low.last)
            )
        if first == size:
            keep[i] = 0
            continue
        if not is_valid(maxs.validity, maxs.offset + i):
            keep[i] = 1
            continue
        start = _at(high, i)
        length = _at(high, i + 1) - start
        point = _at(points, first)
        point_size = _at(points, first + 1) - point
        keep[i] = order_of_bytes(points.data + point, point_size, high.data + start, length) <= 0 or (
            cut_from <= length <= point_size
            and (length == 0 or memcmp(points.data + point, high.data + start, length) == 0)
        )
    free(heads)
    return 0
