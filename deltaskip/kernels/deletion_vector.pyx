"""Decoding of deletion vectors: serialized Roaring bitmaps to sorted int64 columns of row indexes.

The bytes are untrusted: they are read through one checked cursor, and a bitmap that violates the format is rejected
with the reason. Formats: RoaringFormatSpec (32-bit bitmaps, cookies 12346 and 12347) inside the 64-bit portable
extension, or inside the older native one, each after its magic number. roaring_encode writes the portable form.
"""

import pyarrow as pa

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport INT64_MAX, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from deltaskip.sparkexpr.kernels.arrow cimport NO_MEMORY, ByteBuffer, PrimitiveView, check
from deltaskip.sparkexpr.kernels.byte_order cimport byteswap32
from deltaskip.sparkexpr.kernels.lane cimport Lane, new_lane
from deltaskip.kernels.roaring_encode cimport (
    ARRAY_LIMIT, BITMAP_BYTES, NO_RUNS, OFFSETS_FROM, PORTABLE, WITH_RUNS, row_indexes
)

__all__ = ["decode", "live_rows"]

cdef extern from *:
    """
    #include <stdint.h>
    typedef uint16_t __attribute__((aligned(1), may_alias)) ds_unaligned16;
    """
    ctypedef uint16_t unaligned16 "ds_unaligned16"
    int popcount64 "__builtin_popcountll"(uint64_t word) noexcept nogil
    int lowest_bit "__builtin_ctzll"(uint64_t word) noexcept nogil

cdef uint32_t NATIVE = 1681511376
cdef int64_t FIRST_ROWS = 1 << 24

cdef enum Fault:
    FINE = 0
    SHORT = 1
    MAGIC = 2
    BUCKETS = 3
    KEYS = 4
    COOKIE = 5
    CONTAINERS = 6
    ORDER = 7
    COUNT = 8
    RUNS = 9
    OFFSETS = 10
    LEFTOVER = 11
    CARDINALITY = 12

REASONS = {
    SHORT: "it ends before its last container does",
    MAGIC: "its magic number is neither 1681511377 nor 1681511376",
    BUCKETS: "it declares more buckets than its bytes can contain",
    KEYS: "a bucket's key is negative or not above the one before it",
    COOKIE: "a bitmap begins with neither cookie 12346 nor 12347",
    CONTAINERS: "a bitmap declares too many containers, or their keys do not ascend",
    ORDER: "the values of an array container do not ascend",
    COUNT: "the number of values in a container differs from its header",
    RUNS: "the runs of a container overlap, do not ascend or pass its end",
    OFFSETS: "an offset or size in a header is not where a container begins or a bitmap ends",
    LEFTOVER: "there are bytes after the last container",
    CARDINALITY: "its number of rows differs from the cardinality in its descriptor",
}

cdef struct Cursor:
    const uint8_t* at
    const uint8_t* end


def decode(data: bytes | bytearray | memoryview | pa.Buffer, int64_t expected_cardinality) -> pa.Int64Array:
    """Return the row indexes of a serialized deletion vector, ascending, as int64.

    data: Buffer of the magic number and the bitmap, and nothing else. Raises ValueError with the reason if the bytes
    violate the format or do not contain `expected_cardinality` indexes. Memory grows only with the indexes present.
    # PROTOCOL, Deletion Vector Format. Its own inline example is native with a big-endian header, which is read too.
    """
    cdef ByteBuffer out = ByteBuffer.__new__(ByteBuffer)
    cdef Py_buffer view
    cdef Cursor cursor
    cdef int fault
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        cursor.at = <const uint8_t*>view.buf
        cursor.end = cursor.at + view.len
        with nogil:
            fault = _decode(&cursor, expected_cardinality, out)
    finally:
        PyBuffer_Release(&view)
    if fault in REASONS:
        raise ValueError(f"the deletion vector is damaged: {REASONS[fault]}")
    check(fault)
    return pa.Array.from_buffers(pa.int64(), out.size // 8, [None, pa.py_buffer(out)])


def live_rows(indexes: ArrowArrayExportable, int64_t start, int64_t length) -> Lane:
    """Return the keep mask of rows `start` to `start + length` of a file: 0 for the rows in `indexes`, else 1.

    indexes: Ascending int64, as `decode` returns them. Raises ValueError for a negative start or length, or for nulls.
    """
    cdef PrimitiveView view = row_indexes(indexes)
    cdef const int64_t* values = <const int64_t*>view.values
    if start < 0 or length < 0 or start > INT64_MAX - length:
        raise ValueError(f"The range of rows {start} to {start} + {length} is invalid.")
    cdef Lane lane = new_lane(length)
    cdef int64_t i, left, right, middle
    with nogil:
        memset(lane.keep, 1, length)
        left, right = 0, view.length
        while left < right:
            middle = left + ((right - left) >> 1)
            if values[middle] < start:
                left = middle + 1
            else:
                right = middle
        for i in range(left, view.length):
            if values[i] < start or values[i] - start >= length:
                break
            lane.keep[values[i] - start] = 0
    return lane


cdef inline int64_t _left(Cursor* cursor) noexcept nogil:
    return cursor.end - cursor.at


cdef inline const uint8_t* _take(Cursor* cursor, int64_t n) noexcept nogil:
    """The next `n` bytes, or NULL if fewer remain."""
    cdef const uint8_t* taken = cursor.at
    if n < 0 or _left(cursor) < n:
        return NULL
    cursor.at += n
    return taken


cdef inline int _read32(Cursor* cursor, uint32_t* value) noexcept nogil:
    cdef const uint8_t* taken = _take(cursor, 4)
    if taken == NULL:
        return SHORT
    memcpy(value, taken, 4)
    return FINE


cdef inline int64_t _word16(const uint8_t* data, int64_t i) noexcept nogil:
    return (<const unaligned16*>data)[i]


cdef int _decode(Cursor* cursor, int64_t expected, ByteBuffer out) noexcept nogil:
    cdef uint32_t magic = 0
    cdef int fault = _read32(cursor, &magic)
    # A container takes ten bytes or more and holds 65536 rows or fewer. Reserve for the largest possible result; unused
    # pages cost only address space. Growing step by step would copy the rows.
    if fault == FINE and 0 <= expected <= FIRST_ROWS and expected // 65536 <= _left(cursor) // 10:
        if out.reserve(8 * expected) != 0:
            return NO_MEMORY
    if fault == FINE:
        if magic == PORTABLE:
            fault = _decode_portable(cursor, expected, out)
        elif magic == NATIVE:
            fault = _decode_native(cursor, expected, False, out)
        elif byteswap32(magic) == NATIVE:
            fault = _decode_native(cursor, expected, True, out)
        else:
            fault = MAGIC
    if fault == FINE and _left(cursor) != 0:
        fault = LEFTOVER
    if fault == FINE and out.size // 8 != expected:
        fault = CARDINALITY
    return fault


cdef int _decode_portable(Cursor* cursor, int64_t expected, ByteBuffer out) noexcept nogil:
    """64-bit bucket count, then for each its 32-bit key and bitmap."""
    cdef uint64_t buckets, i
    cdef uint32_t key = 0
    cdef int64_t previous = -1
    cdef int fault
    cdef const uint8_t* taken = _take(cursor, 8)
    if taken == NULL:
        return SHORT
    memcpy(&buckets, taken, 8)
    # A key and an empty bitmap take twelve bytes.
    if buckets > <uint64_t>(_left(cursor) // 12):
        return BUCKETS
    for i in range(buckets):
        fault = _read32(cursor, &key)
        if fault != FINE:
            return fault
        if key > 0x7FFFFFFF or <int64_t>key <= previous:
            return KEYS
        previous = key
        fault = _decode_bitmap(cursor, <int64_t>key << 32, expected, out)
        if fault != FINE:
            return fault
    return FINE


cdef int _decode_native(Cursor* cursor, int64_t expected, bint big_endian, ByteBuffer out) noexcept nogil:
    """32-bit bucket count, then for each its size and bitmap; a bucket's key is its position."""
    cdef uint32_t buckets = 0, size = 0, i
    cdef Cursor part
    cdef int fault = _read32(cursor, &buckets)
    if fault != FINE:
        return fault
    if big_endian:
        buckets = byteswap32(buckets)
    if buckets > _left(cursor) // 12:
        return BUCKETS
    for i in range(buckets):
        fault = _read32(cursor, &size)
        if fault != FINE:
            return fault
        if big_endian:
            size = byteswap32(size)
        part.at = _take(cursor, size)
        if part.at == NULL:
            return SHORT
        part.end = part.at + size
        fault = _decode_bitmap(&part, <int64_t>i << 32, expected, out)
        if fault != FINE:
            return fault
        if part.at != part.end:
            return OFFSETS
    return FINE


cdef int _decode_bitmap(Cursor* cursor, int64_t base, int64_t expected, ByteBuffer out) noexcept nogil:
    """One 32-bit bitmap: cookie, run flags, keys and cardinalities, offsets if the format has them, containers."""
    cdef const uint8_t* start = cursor.at
    cdef const uint8_t* flags = NULL
    cdef const uint8_t* headers
    cdef const uint8_t* offsets = NULL
    cdef uint32_t cookie = 0, count = 0, offset
    cdef int64_t i, key, cardinality, previous = -1
    cdef bint runs
    cdef int fault = _read32(cursor, &cookie)
    if fault == FINE and cookie == NO_RUNS:
        fault = _read32(cursor, &count)
    elif fault == FINE and cookie & 0xFFFF == WITH_RUNS:
        count = (cookie >> 16) + 1
        flags = _take(cursor, (count + 7) // 8)
        if flags == NULL:
            fault = SHORT
    elif fault == FINE:
        fault = COOKIE
    if fault != FINE:
        return fault
    if count > 65536:
        return CONTAINERS
    headers = _take(cursor, 4 * <int64_t>count)
    if headers == NULL:
        return SHORT
    if flags == NULL or count >= OFFSETS_FROM:
        offsets = _take(cursor, 4 * <int64_t>count)
        if offsets == NULL:
            return SHORT
    for i in range(count):
        key = _word16(headers, 2 * i)
        cardinality = _word16(headers, 2 * i + 1) + 1
        if key <= previous:
            return CONTAINERS
        previous = key
        if offsets != NULL:
            memcpy(&offset, offsets + 4 * i, 4)
            if offset != cursor.at - start:
                return OFFSETS
        if cardinality > expected - out.size // 8:
            return CARDINALITY
        if out.reserve(8 * cardinality) != 0:
            return NO_MEMORY
        runs = flags != NULL and (flags[i >> 3] >> (i & 7)) & 1
        fault = _decode_container(cursor, base | (key << 16), cardinality, runs, <int64_t*>(out.data + out.size))
        if fault != FINE:
            return fault
        out.size += 8 * cardinality
    return FINE


cdef int _decode_container(
    Cursor* cursor, int64_t base, int64_t cardinality, bint runs, int64_t* out
) noexcept nogil:
    """Write exactly `cardinality` values, for which memory is reserved, or return a fault."""
    cdef const uint8_t* data
    cdef int64_t count
    if runs:
        data = _take(cursor, 2)
        if data == NULL:
            return SHORT
        count = _word16(data, 0)
        data = _take(cursor, 4 * count)
        return SHORT if data == NULL else _decode_runs(data, count, base, cardinality, out)
    data = _take(cursor, 2 * cardinality if cardinality <= ARRAY_LIMIT else BITMAP_BYTES)
    if data == NULL:
        return SHORT
    if cardinality <= ARRAY_LIMIT:
        return _decode_array(<const unaligned16*>data, base, cardinality, out)
    return _decode_words(data, base, cardinality, out)


cdef int _decode_array(const unaligned16* values, int64_t base, int64_t cardinality, int64_t* out) noexcept nogil:
    cdef int64_t i
    cdef bint unordered = False
    for i in range(1, cardinality):
        unordered |= values[i] <= values[i - 1]
    for i in range(cardinality):
        out[i] = base | values[i]
    return ORDER if unordered else FINE


cdef int _decode_runs(
    const uint8_t* data, int64_t count, int64_t base, int64_t cardinality, int64_t* out
) noexcept nogil:
    """Pairs of first value and length - 1."""
    cdef int64_t i, j, first, length, written = 0, above = -1
    for i in range(count):
        first = _word16(data, 2 * i)
        length = _word16(data, 2 * i + 1) + 1
        if first <= above or first + length > 65536:
            return RUNS
        if written + length > cardinality:
            return COUNT
        for j in range(length):
            out[written + j] = base + first + j
        written += length
        above = first + length - 1
    return FINE if written == cardinality else COUNT


cdef int _decode_words(const uint8_t* data, int64_t base, int64_t cardinality, int64_t* out) noexcept nogil:
    """A bit for each of 65536 values."""
    cdef int64_t i, total = 0, written = 0, first = base
    cdef uint64_t word
    for i in range(0, BITMAP_BYTES, 8):
        memcpy(&word, data + i, 8)
        total += popcount64(word)
    if total != cardinality:
        return COUNT
    for i in range(0, BITMAP_BYTES, 8):
        memcpy(&word, data + i, 8)
        while word != 0:
            out[written] = first + lowest_bit(word)
            written += 1
            word &= word - 1
        first += 64
    return FINE
