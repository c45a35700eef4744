"""Minimum and maximum of an Arrow array in Spark's order, without nulls.

Runs without nulls go through loops that the compiler vectorizes; an array with nulls is split into such runs.
"""

from libc.stdint cimport INT64_MAX, INT64_MIN, int8_t, int16_t, int32_t, int64_t, uint8_t, uint64_t, uintptr_t
from libc.string cimport memset

from deltaskip.sparkexpr.kernels.arrow cimport (
    BinaryView, Decimal128, PrimitiveView, binary_view, check_decimal128, is_valid, primitive_view
)
from deltaskip.sparkexpr.kernels.byte_order cimport first_eight, order_of_bytes
from deltaskip.sparkexpr.kernels.lane cimport Lane, integer_t, integer_width, new_lane, real_t, wide_void, wrong_format

cdef enum:
    LONG_STRETCH = 1024

cdef struct RealExtremes:
    double least
    double greatest
    bint nan


def integer_extremes(values: ArrowArrayExportable) -> tuple[int, int] | None:
    """Return (min, max) of int8 to int64, date32 or timestamps as integers, or None if every value is null.

    Raises TypeError for another format.
    """
    cdef PrimitiveView view = primitive_view(values)
    cdef int width = integer_width(view)
    if width == 0:
        raise wrong_format("a signed integer, date32 or timestamp", view.format)
    cdef int64_t[2] found
    found[0], found[1] = INT64_MAX, INT64_MIN
    with nogil:
        if width == 1:
            _integers(<const int8_t*>view.values, view, found)
        elif width == 2:
            _integers(<const int16_t*>view.values, view, found)
        elif width == 4:
            _integers(<const int32_t*>view.values, view, found)
        else:
            _integers(<const int64_t*>view.values, view, found)
    return None if found[0] > found[1] else (found[0], found[1])


def float_extremes(values: ArrowArrayExportable) -> tuple[float, float] | None:
    """Return (min, max) of float or double, or None if every value is null.

    NaN is the greatest value, and the min only if there is no other. -0.0 equals 0.0, and the first one is returned.
    Raises TypeError for another format.
    """
    cdef PrimitiveView view = primitive_view(values)
    cdef RealExtremes found = RealExtremes(0, 0, False)
    if view.format not in (b"f", b"g"):
        raise wrong_format("float or double", view.format)
    cdef bint single = view.format == b"f"
    cdef double infinity = float("inf")
    found.least, found.greatest = infinity, -infinity
    with nogil:
        if single:
            _reals(<const float*>view.values, view, &found)
        else:
            _reals(<const double*>view.values, view, &found)
    if found.least > found.greatest:
        return (float("nan"), float("nan")) if found.nan else None
    return found.least, (float("nan") if found.nan else found.greatest)


def decimal_extremes(values: ArrowArrayExportable) -> tuple[int, int] | None:
    """Return (min, max) of decimal128 as unscaled integers, or None if every value is null.

    Raises TypeError for another format.
    """
    cdef PrimitiveView view = primitive_view(values)
    cdef Decimal128 least, greatest
    cdef bint some
    check_decimal128(view)
    with nogil:
        some = _decimals(<const Decimal128*>view.values, view, &least, &greatest)
    if not some:
        return None
    return _unscaled(least), _unscaled(greatest)


def binary_extremes(values: ArrowArrayExportable) -> tuple[int, int] | None:
    """Return the positions of the first min and the first max of strings or binary, by unsigned bytes.

    None if every value is null. Raises TypeError for another format.
    """
    cdef BinaryView view = binary_view(values)
    cdef int64_t least = -1, greatest = -1
    with nogil:
        _strings(view, &least, &greatest)
    return None if least < 0 else (least, greatest)


def used_entries(codes: ArrowArrayExportable, int64_t entries) -> Lane:
    """Return the mask of the `entries` of a dictionary that the codes refer to. Null codes refer to none.

    codes: int8 to int64. Raises TypeError for another format, and ValueError for a code outside the dictionary.
    """
    cdef PrimitiveView view = primitive_view(codes)
    cdef int width = integer_width(view)
    cdef Lane lane = new_lane(entries)
    cdef bint inside
    if width == 0:
        raise wrong_format("a signed integer", view.format)
    with nogil:
        memset(lane.keep, 0, entries)
        if width == 1:
            inside = _mark(<const int8_t*>view.values, view, entries, lane.keep)
        elif width == 2:
            inside = _mark(<const int16_t*>view.values, view, entries, lane.keep)
        elif width == 4:
            inside = _mark(<const int32_t*>view.values, view, entries, lane.keep)
        else:
            inside = _mark(<const int64_t*>view.values, view, entries, lane.keep)
    if not inside:
        raise ValueError(f"A code is outside the dictionary of {entries} entries.")
    return lane


cdef object _unscaled(Decimal128 value):
    return (int(value.high) << 64) | int(value.low)


cdef inline int64_t _stretch(PrimitiveView view, int64_t start) noexcept nogil:
    """The end of the run of valid values that begins at `start`, which is valid; skips whole bytes of the bitmap."""
    cdef int64_t i = start, position
    if view.validity == NULL:
        return view.length
    while i < view.length:
        position = view.offset + i
        if position & 7 == 0 and i + 8 <= view.length and view.validity[position >> 3] == 0xFF:
            i += 8
        elif is_valid(view.validity, position):
            i += 1
        else:
            return i
    return i


cdef int _integers(const integer_t* v, PrimitiveView view, int64_t* found) noexcept nogil:
    cdef int64_t i = 0, end
    while i < view.length:
        if view.validity != NULL and not is_valid(view.validity, view.offset + i):
            i += 1
            continue
        end = _stretch(view, i)
        _integer_stretch(v + i, end - i, found)
        i = end
    return 0


cdef int _integer_stretch(const integer_t* v, int64_t n, int64_t* found) noexcept nogil:
    """Vectors that cross a cache line take 1.5 times as long, so long runs are aligned to cache lines.

    For 64-bit integers the comparisons take longer than the memory access, aligned or not.
    """
    cdef int64_t head, whole
    if integer_t is not int64_t:
        if n >= LONG_STRETCH:
            head = (64 - <int64_t>(<uintptr_t>v % 64)) % 64 // <int64_t>sizeof(integer_t)
            whole = (n - head) // 64 * 64
            if head > 0:
                _quarters(v, head, found)
            _lanes(v + head, whole, found)
            v += head + whole
            n -= head + whole
    if n > 0:
        _quarters(v, n, found)
    return 0


cdef wide_void _lanes(const integer_t* v, int64_t n, int64_t* found) noexcept nogil:
    """Extremes of a multiple of 64 values, in 64 accumulators that the compiler vectorizes."""
    cdef integer_t[64] least
    cdef integer_t[64] greatest
    cdef int64_t i, k
    for k in range(64):
        least[k] = greatest[k] = v[0]
    for i in range(0, n, 64):
        for k in range(64):
            least[k] = v[i + k] if v[i + k] < least[k] else least[k]
            greatest[k] = v[i + k] if v[i + k] > greatest[k] else greatest[k]
    for k in range(64):
        if least[k] < found[0]:
            found[0] = least[k]
        if greatest[k] > found[1]:
            found[1] = greatest[k]


cdef wide_void _quarters(const integer_t* v, int64_t n, int64_t* found) noexcept nogil:
    """Extremes of the four quarters in parallel, so no comparison waits for the previous one."""
    cdef integer_t least = v[0], greatest = v[0]
    cdef integer_t least1 = v[0], least2 = v[0], least3 = v[0]
    cdef integer_t greatest1 = v[0], greatest2 = v[0], greatest3 = v[0]
    cdef int64_t i, quarter = n // 4
    cdef const integer_t* v1 = v + quarter
    cdef const integer_t* v2 = v1 + quarter
    cdef const integer_t* v3 = v2 + quarter
    for i in range(quarter):
        least = v[i] if v[i] < least else least
        least1 = v1[i] if v1[i] < least1 else least1
        least2 = v2[i] if v2[i] < least2 else least2
        least3 = v3[i] if v3[i] < least3 else least3
        greatest = v[i] if v[i] > greatest else greatest
        greatest1 = v1[i] if v1[i] > greatest1 else greatest1
        greatest2 = v2[i] if v2[i] > greatest2 else greatest2
        greatest3 = v3[i] if v3[i] > greatest3 else greatest3
    for i in range(4 * quarter, n):
        least = v[i] if v[i] < least else least
        greatest = v[i] if v[i] > greatest else greatest
    least = least if least < least1 else least1
    least2 = least2 if least2 < least3 else least3
    least = least if least < least2 else least2
    greatest = greatest if greatest > greatest1 else greatest1
    greatest2 = greatest2 if greatest2 > greatest3 else greatest3
    greatest = greatest if greatest > greatest2 else greatest2
    if least < found[0]:
        found[0] = least
    if greatest > found[1]:
        found[1] = greatest


cdef int _reals(const real_t* v, PrimitiveView view, RealExtremes* found) noexcept nogil:
    cdef int64_t i = 0, end
    while i < view.length:
        if view.validity != NULL and not is_valid(view.validity, view.offset + i):
            i += 1
            continue
        end = _stretch(view, i)
        _real_stretch(v + i, end - i, found)
        i = end
    # Zeros of both signs are equal, and the loops above do not record which came first.
    if found.least == 0:
        found.least = _first_zero(v, view)
    if found.greatest == 0:
        found.greatest = _first_zero(v, view)
    return 0


cdef wide_void _real_stretch(const real_t* v, int64_t n, RealExtremes* found) noexcept nogil:
    """A comparison with NaN is false, so NaN changes neither extreme; eight accumulators vectorize."""
    cdef real_t[8] least
    cdef real_t[8] greatest
    cdef int64_t i, k, whole = n - n % 8
    cdef uint8_t nan = 0
    for k in range(8):
        least[k] = <real_t>found.least
        greatest[k] = <real_t>found.greatest
    for i in range(0, whole, 8):
        for k in range(8):
            least[k] = v[i + k] if v[i + k] < least[k] else least[k]
            greatest[k] = v[i + k] if v[i + k] > greatest[k] else greatest[k]
    for i in range(whole, n):
        least[0] = v[i] if v[i] < least[0] else least[0]
        greatest[0] = v[i] if v[i] > greatest[0] else greatest[0]
    for i in range(n):
        nan |= v[i] != v[i]
    for k in range(8):
        if least[k] < found.least:
            found.least = least[k]
        if greatest[k] > found.greatest:
            found.greatest = greatest[k]
    found.nan |= nan


cdef double _first_zero(const real_t* v, PrimitiveView view) noexcept nogil:
    cdef int64_t i
    for i in range(view.length):
        if v[i] == 0 and is_valid(view.validity, view.offset + i):
            return v[i]
    return 0


cdef bint _decimals(
    const Decimal128* v, PrimitiveView view, Decimal128* least, Decimal128* greatest
) noexcept nogil:
    cdef int64_t i
    cdef bint some = False
    for i in range(view.length):
        if view.validity != NULL and not is_valid(view.validity, view.offset + i):
            continue
        if not some:
            least[0] = greatest[0] = v[i]
            some = True
        elif v[i].high < least.high or (v[i].high == least.high and v[i].low < least.low):
            least[0] = v[i]
        elif v[i].high > greatest.high or (v[i].high == greatest.high and v[i].low > greatest.low):
            greatest[0] = v[i]
    return some


cdef int _strings(BinaryView view, int64_t* least, int64_t* greatest) noexcept nogil:
    """Most values differ from both extremes in their first eight bytes."""
    cdef int64_t i, start, size, low_start = 0, low_size = 0, high_start = 0, high_size = 0
    cdef uint64_t word, low = 0, high = 0
    cdef uint8_t nothing = 0
    cdef const uint8_t* data = view.data if view.data != NULL else &nothing
    for i in range(view.length):
        if view.validity != NULL and not is_valid(view.validity, view.offset + i):
            continue
        start = view.start(i)
        size = view.end(i) - start
        word = first_eight(data + start, size)
        if least[0] < 0:
            least[0] = greatest[0] = i
            low = high = word
            low_start = high_start = start
            low_size = high_size = size
            continue
        if word < low or (word == low and order_of_bytes(data + start, size, data + low_start, low_size) < 0):
            least[0], low, low_start, low_size = i, word, start, size
        elif word > high or (word == high and order_of_bytes(data + start, size, data + high_start, high_size) > 0):
            greatest[0], high, high_start, high_size = i, word, start, size
    return 0


cdef bint _mark(const integer_t* codes, PrimitiveView view, int64_t entries, uint8_t* used) noexcept nogil:
    cdef int64_t i
    for i in range(view.length):
        if view.validity != NULL and not is_valid(view.validity, view.offset + i):
            continue
        if codes[i] < 0 or codes[i] >= entries:
            return False
        used[codes[i]] = 1
    return True
