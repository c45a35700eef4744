"""Reassembly of shredded variants: each function makes the variant values of one node of a shredding schema.

A node is a pair of columns, `value` and `typed_value`, in which a value is in one or the other; an object may be in
both. Nodes are made from the leaves up: the values of fields and elements are input of the object or array around
them. The result of a node is large_binary, null where the value is missing. The bytes of `value` and of metadata are
untrusted: they are read within their bounds, and what violates the format is rejected with the reason.

# Parquet, Variant Binary Encoding and Variant Shredding
"""

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from deltaskip.sparkexpr.kernels.arrow cimport (
    NO_MEMORY, BinaryView, ByteBuffer, Decimal128, PrimitiveView, binary_view, check_decimal128, is_valid,
    primitive_view
)
from deltaskip.sparkexpr.kernels.lane cimport view_of
from deltaskip.sparkexpr.kernels.variant_values cimport (
    ARRAY_TYPE, BINARY, BOTH, DATE, DECIMAL4, DECIMAL8, DECIMAL16, DOUBLE, EMPTY, FALSE, FINE, FLOAT, INT8, INT16,
    INT32, INT64, STRING, TIME, TIMESTAMP, TIMESTAMP_NANOS, TIMESTAMP_NTZ, TIMESTAMP_NTZ_NANOS, TOO_LARGE, TRUE, UUID,
    UUID_SIZE, Column, Output, Text, check_fault, column_of, is_there, item_of, put, value_column, width_of
)

__all__ = ["of_lists", "of_numbers", "of_texts"]

cdef enum:
    MOST_SHORT = 63

# Sizes and offsets have four bytes or fewer.
cdef int64_t MOST_BYTES = 0xFFFFFFFF
cdef int64_t NINE_DIGITS = 999999999
cdef int64_t EIGHTEEN_DIGITS = 999999999999999999


def of_numbers(typed: ArrowArrayExportable, value: ArrowArrayExportable | None = None) -> pa.LargeBinaryArray:
    """Return the values of a node whose typed_value has a fixed width.

    Integers and decimals become the narrowest type that holds them, as Spark makes them.

    typed: Booleans, signed integers, floats, decimal128, dates, and times or timestamps of microseconds, timestamps also
    of nanoseconds. value: The column `value` as binary; None if the node has none.
    Raises TypeError for another format, and ValueError for what violates the specification.
    """
    cdef PrimitiveView numbers = primitive_view(typed)
    cdef list owners = []
    cdef Column given = value_column(value, numbers.length, owners)
    cdef Output out = Output(numbers.length)
    cdef int fault, kind = _primitive_type(numbers.format), scale = 0
    if kind == DECIMAL16:
        check_decimal128(numbers)
        scale = int(numbers.format.split(b",")[1])
        if not 0 <= scale <= 38:
            raise TypeError(f"Decimals of a variant have 0 to 38 digits after the point, not {scale}.")
    with nogil:
        fault = _numbers(numbers, kind, scale, &given, out)
    check_fault(fault)
    return out.array()


def of_texts(
    typed: ArrowArrayExportable, value: ArrowArrayExportable | None = None, bint uuid=False
) -> pa.LargeBinaryArray:
    """Return the values of a node whose typed_value is a string or binary.

    typed: Strings or binary. value: As of of_numbers. uuid: Whether the values are the 16 bytes of UUIDs.
    Raises TypeError for another format, and ValueError for what violates the specification.
    """
    cdef BinaryView texts = binary_view(typed)
    cdef list owners = []
    cdef Column given = value_column(value, texts.length, owners)
    cdef Column column = column_of(texts)
    cdef Output out = Output(texts.length)
    cdef int fault, kind = UUID if uuid else STRING if texts.format in (b"u", b"U") else BINARY
    with nogil:
        fault = _texts(&column, texts.length, kind, &given, out)
    check_fault(fault)
    return out.array()


def of_lists(
    lengths: ArrowArrayExportable, elements: ArrowArrayExportable, value: ArrowArrayExportable | None = None
) -> pa.LargeBinaryArray:
    """Return the values of a node whose typed_value is a list.

    lengths: Numbers of elements as int64, null where typed_value is. elements: The values of all elements, one list
    after the other; a missing one becomes a variant null. value: As of of_numbers.
    Raises TypeError for another format, and ValueError for what violates the specification.
    """
    cdef PrimitiveView sizes = view_of(lengths, b"l")
    cdef BinaryView items = binary_view(elements)
    cdef list owners = []
    cdef Column given = value_column(value, sizes.length, owners)
    cdef Column column = column_of(items)
    cdef Output out = Output(sizes.length)
    cdef const int64_t* counts = <const int64_t*>sizes.values
    cdef int64_t i, left = items.length
    cdef int fault
    for i in range(sizes.length):
        if is_valid(sizes.validity, sizes.offset + i):
            if counts[i] < 0 or counts[i] > left:
                raise ValueError("The lengths of the lists are not those of the elements.")
            left -= counts[i]
    with nogil:
        fault = _lists(sizes, &column, &given, out)
    check_fault(fault)
    return out.array()


# Types by Arrow's C format. Timestamps with a time zone are instants.
_PRIMITIVE_TYPES = {
    b"b": TRUE, b"c": INT8, b"s": INT16, b"i": INT32, b"l": INT64, b"f": FLOAT, b"g": DOUBLE, b"tdD": DATE,
    b"ttu": TIME, b"tsu:": TIMESTAMP_NTZ, b"tsn:": TIMESTAMP_NTZ_NANOS,
}


cdef int _primitive_type(bytes fmt) except -1:
    if fmt.startswith(b"d:"):
        return DECIMAL16
    found = _PRIMITIVE_TYPES.get(fmt)
    if found is None:
        found = TIMESTAMP if fmt.startswith(b"tsu:") else TIMESTAMP_NANOS if fmt.startswith(b"tsn:") else None
    if found is None:
        raise TypeError(f"A variant has no primitive type for the Arrow format {fmt.decode()!r}.")
    return found


cdef int _texts(Column* texts, int64_t length, int kind, Column* given, Output out) noexcept nogil:
    cdef int64_t i
    cdef int fault
    cdef Text text
    for i in range(length):
        if not is_there(texts, i):
            fault = out.copy(given, i)
        elif is_there(given, i):
            fault = BOTH
        else:
            text = item_of(texts, i)
            fault = FINE
            if kind == UUID and text.size != 16:
                fault = UUID_SIZE
            elif text.size > MOST_BYTES:
                fault = TOO_LARGE
            elif out.data.reserve(text.size + 8) != 0:
                fault = NO_MEMORY
            if fault == FINE:
                if kind == STRING and text.size <= MOST_SHORT:
                    put(out.data, text.size << 2 | 1, 1)
                else:
                    put(out.data, kind << 2, 1)
                    if kind != UUID:
                        put(out.data, text.size, 4)
                out.data.append(text.data, text.size)
                fault = out.end(True)
        if fault != FINE:
            return fault
    return FINE


cdef int _numbers(PrimitiveView view, int kind, int scale, Column* given, Output out) noexcept nogil:
    cdef int64_t i
    cdef int fault
    for i in range(view.length):
        if not is_valid(view.validity, view.offset + i):
            fault = out.copy(given, i)
        elif is_there(given, i):
            fault = BOTH
        else:
            fault = out.data.reserve(24)
            if fault == FINE:
                _put_number(view, i, kind, scale, out.data)
                fault = out.end(True)
        if fault != FINE:
            return fault
    return FINE


cdef void _put_number(PrimitiveView view, int64_t i, int kind, int scale, ByteBuffer out) noexcept nogil:
    cdef int64_t position = view.offset + i
    if kind == TRUE:
        put(out, (TRUE if view.values[position >> 3] >> (position & 7) & 1 else FALSE) << 2, 1)
    elif kind == INT8:
        _put_integer((<const int8_t*>view.values)[i], out)
    elif kind == INT16:
        _put_integer((<const int16_t*>view.values)[i], out)
    elif kind == INT32:
        _put_integer((<const int32_t*>view.values)[i], out)
    elif kind == INT64:
        _put_integer((<const int64_t*>view.values)[i], out)
    elif kind == DECIMAL16:
        _put_decimal((<const Decimal128*>view.values)[i], scale, out)
    else:
        put(out, kind << 2, 1)
        memcpy(out.data + out.size, view.values + i * view.width, view.width)
        out.size += view.width


cdef void _put_integer(int64_t number, ByteBuffer out) noexcept nogil:
    if number == <int8_t>number:
        put(out, INT8 << 2, 1)
        put(out, number, 1)
    elif number == <int16_t>number:
        put(out, INT16 << 2, 1)
        put(out, number, 2)
    elif number == <int32_t>number:
        put(out, INT32 << 2, 1)
        put(out, number, 4)
    else:
        put(out, INT64 << 2, 1)
        put(out, number, 8)


cdef void _put_decimal(Decimal128 number, int scale, ByteBuffer out) noexcept nogil:
    cdef int64_t low = <int64_t>number.low
    cdef bint fits = number.high == (-1 if low < 0 else 0)
    if fits and scale <= 9 and -NINE_DIGITS <= low <= NINE_DIGITS:
        put(out, DECIMAL4 << 2, 1)
        put(out, scale, 1)
        put(out, low, 4)
    elif fits and scale <= 18 and -EIGHTEEN_DIGITS <= low <= EIGHTEEN_DIGITS:
        put(out, DECIMAL8 << 2, 1)
        put(out, scale, 1)
        put(out, low, 8)
    else:
        put(out, DECIMAL16 << 2, 1)
        put(out, scale, 1)
        put(out, low, 8)
        put(out, number.high, 8)


cdef int _lists(PrimitiveView sizes, Column* items, Column* given, Output out) noexcept nogil:
    cdef const int64_t* counts = <const int64_t*>sizes.values
    cdef int64_t i, first = 0
    cdef int fault
    for i in range(sizes.length):
        if not is_valid(sizes.validity, sizes.offset + i):
            fault = out.copy(given, i)
        elif is_there(given, i):
            fault = BOTH
        else:
            fault = _list(items, first, counts[i], out.data)
            first += counts[i]
            if fault == FINE:
                fault = out.end(True)
        if fault != FINE:
            return fault
    return FINE


cdef int _list(Column* items, int64_t first, int64_t count, ByteBuffer out) noexcept nogil:
    """Append an array of these elements."""
    cdef int64_t i, size, total = 0
    cdef int width
    cdef bint large = count > 0xFF
    cdef Text item
    for i in range(first, first + count):
        size = 1
        if is_there(items, i):
            size = item_of(items, i).size
            if size == 0:
                return EMPTY
        if size > MOST_BYTES - total:
            return TOO_LARGE
        total += size
    if count > MOST_BYTES:
        return TOO_LARGE
    width = width_of(total)
    if out.reserve(total + (count + 1) * width + 16) != 0:
        return NO_MEMORY
    put(out, (large << 2 | width - 1) << 2 | ARRAY_TYPE, 1)
    put(out, count, 4 if large else 1)
    total = 0
    for i in range(first, first + count):
        put(out, total, width)
        total += item_of(items, i).size if is_there(items, i) else 1
    put(out, total, width)
    for i in range(first, first + count):
        if is_there(items, i):
            item = item_of(items, i)
            memcpy(out.data + out.size, item.data, item.size)
            out.size += item.size
        else:
            put(out, 0, 1)
    return FINE
