"""Values of a fixed width in pages of Parquet files, as a result has them; every function is inline."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy, memset

from deltaskip.sparkexpr.kernels.byte_order cimport byteswap64

cdef enum:
    EPOCH_DAY = 2_440_588   # the Julian day of 1970-01-01


cdef struct ValueForm:
    # Bytes of a value in pages, and in the result: see parquet_pages.RowTaker.
    int64_t width
    int64_t out_width
    bint big_endian
    bint int96


cdef inline bint is_converted(const ValueForm* form) noexcept nogil:
    """Whether values of a fixed width are others in the result."""
    return form.width > 0 and (form.width != form.out_width or form.big_endian or form.int96)


cdef inline void convert_value(const ValueForm* form, const uint8_t* value, uint8_t* out) noexcept nogil:
    """Write a value of fixed width as the result has it."""
    cdef int64_t i, size = min(form.width, form.out_width)
    cdef uint8_t highest = value[0] if form.big_endian else value[form.width - 1]
    cdef uint64_t micros = 0, low = 0, high = 0
    cdef int64_t nanos = 0
    cdef int32_t day = 0
    if form.int96:
        # Nanoseconds of a day, which may be below zero, and the number of the Julian day.
        memcpy(&nanos, value, 8)
        memcpy(&day, value + 8, 4)
        # Spark 4.1, DateTimeUtils.fromJulianDay: Java divides towards zero, and its product wraps.
        micros = <uint64_t>(nanos // 1000) + <uint64_t>(<int64_t>day - EPOCH_DAY) * <uint64_t>86_400_000_000
        memcpy(out, &micros, 8)
    elif form.big_endian and 8 <= form.width <= 16 and form.out_width == 16:
        # Most decimals: the low half, and of the high one what is there, which the shift extends by the sign.
        memcpy(&low, value + form.width - 8, 8)
        memcpy(&high, value, 8)
        low, high = byteswap64(low), byteswap64(high)
        high = <uint64_t>(<int64_t>high >> (8 * (16 - form.width) if form.width > 8 else 63))
        memcpy(out, &low, 8)
        memcpy(out + 8, &high, 8)
        size = form.out_width
    elif form.big_endian:
        for i in range(size):
            out[i] = value[form.width - 1 - i]
    elif size == 8:
        memcpy(out, value, 8)
    elif size == 4:
        memcpy(out, value, 4)
    else:
        memcpy(out, value, size)
    if size < form.out_width and not form.int96:
        memset(out + size, 0xFF if highest & 0x80 else 0, form.out_width - size)
