"""Values at the end of a path in variants.

A variant that is not valid on the way, and what has no form here, is left to the caller: other versions, decimals of
more than 18 digits, texts that are no UTF-8, types that came later.

# Parquet, Variant Binary Encoding
"""

import pyarrow as pa

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t
from libc.string cimport memcmp, memcpy

from deltaskip.sparkexpr.kernels.arrow cimport (
    BinaryView, ByteBuffer, PrimitiveView, binary_view, is_valid, zeros
)
from deltaskip.sparkexpr.kernels.json_cursor cimport Cursor, check_utf8
from deltaskip.sparkexpr.kernels.lane cimport same_length, whole_view
from deltaskip.sparkexpr.kernels.variant_values cimport (
    ARRAY_TYPE, BINARY, DATE, DECIMAL4, DECIMAL8, DECIMAL16, DOUBLE, FALSE, FINE, FLOAT, INT8, INT16, INT32, INT64,
    OBJECT_TYPE, STRING, TIME, TIMESTAMP, TIMESTAMP_NTZ, UUID, Container, Dictionary, Text, id_at, key_of,
    open_container, open_dictionary, unsigned_at
)
from deltaskip.sparkexpr.kernels.written cimport Span, Written, row_of, written_for

cdef enum:
    SHORT_TEXT = 1
    # Kinds of values beside the types of primitive ones; integers are INT64, decimals DECIMAL4.
    OBJECT = 100
    LIST = 101
    MISSING = 254
    LEFT = 255
    MOST_SCALE = 18

cdef int64_t MOST_DECIMAL = 1000000000000000000


cdef struct Item:
    uint8_t kind
    int64_t number
    int32_t scale
    # The bytes of a text or of binary, and all of a value that is no object and no array.
    Span bytes
    Span whole


def items_at(
    values: ArrowArrayExportable, metadata: ArrowArrayExportable, names: ArrowArrayExportable,
    indices: ArrowArrayExportable, bint whole=False,
) -> tuple[pa.UInt8Array, pa.Int64Array, pa.Int32Array, pa.BinaryArray]:
    """Return the kind, the number, the scale and the bytes of what is at the end of a path in each variant.

    values, metadata: The two binaries of each variant. names: binary, the name of each step; indices: int64, its number
    from 0, or -1 where the name counts.
    The kinds, as uint8: 0 null, 1 true, 2 false, 6 an integer, 7 the bits of a double, 8 a decimal without zeros at its
    end, 11 a date, 12 and 13 a time with and without zone, 15 binary, 16 a text, 100 an object, 101 an array, 254
    nothing, also where a variant is null, and 255 for a variant that is left to the caller. Numbers are int64, scales
    int32. whole: Whether the bytes are those of the value with its header. They are null for kinds from 100 on.
    Raises TypeError for other formats, and ValueError for arrays of different lengths.
    """
    cdef BinaryView view = binary_view(values)
    cdef BinaryView keys = binary_view(metadata)
    cdef BinaryView name = binary_view(names)
    cdef PrimitiveView index = whole_view(indices, b"l")
    same_length(name.length, index.length)
    same_length(view.length, keys.length)
    cdef ByteBuffer kinds = zeros(view.length)
    cdef ByteBuffer numbers = zeros(8 * view.length)
    cdef ByteBuffer scales = zeros(4 * view.length)
    cdef ByteBuffer bits = zeros((view.length + 7) // 8)
    cdef Written out = written_for(pa.py_buffer(bits), view.length)
    cdef Item item
    cdef Span taken
    cdef int64_t i
    with nogil:
        for i in range(view.length):
            item.kind, item.number, item.scale = MISSING, 0, 0
            item.bytes.data = item.whole.data = NULL
            item.bytes.size = item.whole.size = 0
            if is_valid(view.validity, view.offset + i) and is_valid(keys.validity, keys.offset + i):
                _find(row_of(view, i), row_of(keys, i), name, <const int64_t*>index.values, &item)
            kinds.data[i] = item.kind
            (<int64_t*>numbers.data)[i] = item.number
            (<int32_t*>scales.data)[i] = item.scale
            if item.kind < OBJECT:
                bits.data[i >> 3] |= <uint8_t>(1 << (i & 7))
            taken = item.whole if whole else item.bytes
            if out.add(i, taken.data, taken.size) != 0:
                break
    return (
        pa.Array.from_buffers(pa.uint8(), view.length, [None, pa.py_buffer(kinds)]),
        pa.Array.from_buffers(pa.int64(), view.length, [None, pa.py_buffer(numbers)]),
        pa.Array.from_buffers(pa.int32(), view.length, [None, pa.py_buffer(scales)]),
        out.array(pa.binary()),
    )


cdef void _find(Span value, Span metadata, BinaryView names, const int64_t* indices, Item* item) noexcept nogil:
    cdef int64_t at = 0, step
    cdef uint8_t basic
    for step in range(names.length):
        if at >= value.size:
            item.kind = LEFT
            return
        basic = value.data[at] & 3
        if (basic == OBJECT_TYPE and indices[step] < 0) or (basic == ARRAY_TYPE and indices[step] >= 0):
            at = _member(value, at, metadata, names, step, indices[step])
        else:
            at = -1
        if at < 0:
            item.kind = MISSING if at == -1 else LEFT
            return
    _read(value, at, item)


cdef int64_t _member(
    Span value, int64_t at, Span metadata, BinaryView names, int64_t step, int64_t number
) noexcept nogil:
    """The place of a member of the object or array at a place; -1 if there is none, -2 to leave the variant."""
    cdef Container inside
    cdef int64_t place
    if not open_container(value.data + at, value.size - at, &inside):
        return -2
    if number < 0:
        number = _named(value.data + at, &inside, metadata, names, step)
        if number < 0:
            return number
    elif number >= inside.count:
        return -1
    place = at + inside.start + unsigned_at(value.data + at + inside.offsets + number * inside.width, inside.width)
    return place if place < value.size else -2


cdef int64_t _named(
    const uint8_t* data, const Container* inside, Span metadata, BinaryView names, int64_t step
) noexcept nogil:
    """The number of the member with the name of a step; -1 if there is none, -2 to leave the variant."""
    cdef Dictionary known
    cdef Text key
    cdef int64_t k, wanted = names.end(step) - names.start(step)
    if open_dictionary(Text(metadata.data, metadata.size), &known) != FINE:
        return -2
    for k in range(inside.count):
        if key_of(&known, id_at(data, inside, k), &key) != FINE:
            return -2
        if key.size == wanted and (wanted == 0 or memcmp(key.data, names.data + names.start(step), wanted) == 0):
            return k
    return -1


cdef void _read(Span value, int64_t at, Item* item) noexcept nogil:
    """Read the item at a place."""
    cdef uint8_t basic, header
    cdef int64_t size, left
    cdef const uint8_t* data
    item.kind = LEFT
    if at >= value.size:
        return
    basic, header = value.data[at] & 3, value.data[at] >> 2
    item.whole.data = value.data + at
    data, left = value.data + at + 1, value.size - at - 1
    if basic == OBJECT_TYPE or basic == ARRAY_TYPE:
        item.kind = OBJECT if basic == OBJECT_TYPE else LIST
        return
    if basic == SHORT_TEXT:
        size = _bytes(STRING, data, header, left, item)
    elif header == BINARY or header == STRING:
        size = 4 + _bytes(header, data + 4, unsigned_at(data, 4), left - 4, item) if left >= 4 else -1
    else:
        size = _number(header, data, left, item)
    item.whole.size = 1 + size
    if size < 0 or item.kind == LEFT:
        item.kind = LEFT
        item.bytes.size = item.whole.size = 0


cdef int64_t _bytes(uint8_t kind, const uint8_t* data, int64_t size, int64_t left, Item* item) noexcept nogil:
    cdef Cursor cursor
    if size > left:
        return -5
    cursor.at, cursor.end, cursor.fault, cursor.one_line = data, data + size, NULL, False
    if kind == STRING and check_utf8(&cursor, data, data + size) != 0:
        return -5
    item.kind = kind
    item.bytes.data, item.bytes.size = data, size
    return size


cdef int64_t _number(uint8_t kind, const uint8_t* data, int64_t left, Item* item) noexcept nogil:
    """Read a value of a fixed size. Return the size; -1 for another kind, or if it ends too early."""
    cdef int64_t wide = 0
    cdef int32_t number = 0
    cdef int16_t short = 0
    cdef int64_t size = _size(kind)
    if size < 0 or size > left:
        return -1
    item.kind = kind
    if kind <= FALSE:
        return 0
    if kind == INT8:
        item.kind, item.number = INT64, <int8_t>data[0]
    elif kind == INT16:
        memcpy(&short, data, 2)
        item.kind, item.number = INT64, short
    elif kind == INT32 or kind == DATE:
        memcpy(&number, data, 4)
        item.kind, item.number = INT64 if kind == INT32 else DATE, number
    elif kind == DECIMAL4:
        memcpy(&number, data + 1, 4)
        _decimal(number, data[0], item)
    elif kind == DECIMAL8:
        memcpy(&wide, data + 1, 8)
        _decimal(wide, data[0], item)
    else:
        memcpy(&wide, data, 8)
        item.number = wide
    return size


cdef int64_t _size(uint8_t kind) noexcept nogil:
    if kind <= FALSE:
        return 0
    if kind == INT8:
        return 1
    if kind == INT16:
        return 2
    if kind == INT32 or kind == DATE:
        return 4
    if kind == INT64 or kind == DOUBLE or kind == TIMESTAMP or kind == TIMESTAMP_NTZ:
        return 8
    if kind == DECIMAL4:
        return 5
    return 9 if kind == DECIMAL8 else -1


cdef void _decimal(int64_t number, int32_t scale, Item* item) noexcept nogil:
    while scale > 0 and number % 10 == 0:
        number //= 10
        scale -= 1
    item.kind = DECIMAL4 if -MOST_DECIMAL < number < MOST_DECIMAL and scale <= MOST_SCALE else LEFT
    item.number, item.scale = number, scale


def members_of(
    values: ArrowArrayExportable, metadata: ArrowArrayExportable, name: ArrowArrayExportable
) -> pa.BinaryArray:
    """Return the member of a name in each variant that is an object, as binary; null where there is none.

    values, metadata: The two binaries of each variant. name: binary, one value.
    Raises TypeError for other formats, and ValueError for arrays of different lengths and variants that are not valid.
    """
    cdef BinaryView view = binary_view(values)
    cdef BinaryView keys = binary_view(metadata)
    cdef BinaryView names = binary_view(name)
    same_length(view.length, keys.length)
    same_length(names.length, 1)
    cdef ByteBuffer bits = zeros((view.length + 7) // 8)
    cdef Written out = written_for(pa.py_buffer(bits), view.length)
    cdef Span value
    cdef int64_t i, at, size
    cdef bint wrong = False
    with nogil:
        for i in range(view.length):
            value = row_of(view, i)
            at, size = -1, 0
            if value.size and value.data[0] & 3 == OBJECT_TYPE:
                at = _member(value, 0, row_of(keys, i), names, 0, -1)
                size = 0 if at < 0 else _value_size(value, at)
                if at == -2 or size < 0:
                    wrong = True
                    break
            if at >= 0:
                bits.data[i >> 3] |= <uint8_t>(1 << (i & 7))
            if out.add(i, value.data + max(at, 0), size) != 0:
                break
    if wrong:
        raise ValueError("a variant is not valid")
    return out.array(pa.binary())


def without_members(
    values: ArrowArrayExportable, metadata: ArrowArrayExportable, names: ArrowArrayExportable
) -> pa.BinaryArray:
    """Return variants without the members of some names, as binary; null for objects that then have no member.

    values, metadata: The two binaries of each variant. names: binary. Other values than objects are unchanged.
    Raises TypeError for other formats, and ValueError for arrays of different lengths and variants that are not valid.
    """
    cdef BinaryView view = binary_view(values)
    cdef BinaryView keys = binary_view(metadata)
    cdef BinaryView name = binary_view(names)
    same_length(view.length, keys.length)
    cdef ByteBuffer bits = zeros((view.length + 7) // 8)
    cdef Written out = written_for(pa.py_buffer(bits), view.length)
    cdef ByteBuffer built = ByteBuffer()
    cdef Span value
    cdef int64_t i, left
    cdef int fault = 0
    with nogil:
        for i in range(view.length):
            value = row_of(view, i)
            left = value.size
            if value.size and value.data[0] & 3 == OBJECT_TYPE:
                built.size = 0
                fault = _without(value, row_of(keys, i), name, built)
                if fault != 0:
                    break
                left = built.size
                value.data = built.data
            if left:
                bits.data[i >> 3] |= <uint8_t>(1 << (i & 7))
            if out.add(i, value.data, left) != 0:
                break
    if fault == 1:
        raise MemoryError()
    if fault == 2:
        raise ValueError("a variant is not valid")
    return out.array(pa.binary())


cdef int _without(Span value, Span metadata, BinaryView names, ByteBuffer out) noexcept nogil:
    """Append the object at the start of a value without some members, nothing if none is left; 1 or 2 for a fault."""
    cdef Container inside
    cdef Dictionary known
    cdef Text key
    cdef int width
    cdef int64_t k, at, size, offsets, start, kept = 0, total = 0, written = 0
    if (
        not open_container(value.data, value.size, &inside)
        or open_dictionary(Text(metadata.data, metadata.size), &known) != FINE
    ):
        return 2
    # Offsets of the new object are at most as great, so that its widths are enough.
    if out.reserve(value.size) != 0:
        return 1
    width = inside.id_width
    for k in range(inside.count):
        if key_of(&known, id_at(value.data, &inside, k), &key) != FINE:
            return 2
        if not _is_named(key, names):
            memcpy(out.data + inside.ids + kept * width, value.data + inside.ids + k * width, width)
            kept += 1
    if kept == 0:
        return 0
    offsets = inside.ids + kept * width
    width = inside.width
    start = offsets + (kept + 1) * width
    for k in range(inside.count):
        key_of(&known, id_at(value.data, &inside, k), &key)
        if _is_named(key, names):
            continue
        at = inside.start + unsigned_at(value.data + inside.offsets + k * width, width)
        size = _value_size(value, at)
        if size < 0 or start + total + size > value.size:
            return 2
        memcpy(out.data + offsets + written * width, &total, width)
        memcpy(out.data + start + total, value.data + at, size)
        total += size
        written += 1
    memcpy(out.data + offsets + written * width, &total, width)
    out.data[0] = value.data[0]
    memcpy(out.data + 1, &kept, inside.ids - 1)
    out.size = start + total
    return 0


cdef bint _is_named(Text key, BinaryView names) noexcept nogil:
    cdef int64_t i, size
    for i in range(names.length):
        size = names.end(i) - names.start(i)
        if size == key.size and (size == 0 or memcmp(key.data, names.data + names.start(i), size) == 0):
            return True
    return False


cdef int64_t _value_size(Span value, int64_t at) noexcept nogil:
    """Bytes of the value at a place; -1 if it is not valid."""
    cdef uint8_t basic, header
    cdef int64_t left = value.size - at, size = -1
    cdef Container inside
    cdef const uint8_t* data = value.data + at
    if left < 1:
        return -1
    basic, header = data[0] & 3, data[0] >> 2
    if basic == SHORT_TEXT:
        size = 1 + header
    elif basic == OBJECT_TYPE or basic == ARRAY_TYPE:
        if not open_container(data, left, &inside):
            return -1
        size = inside.start + unsigned_at(data + inside.start - inside.width, inside.width)
    elif header == BINARY or header == STRING:
        size = 5 + unsigned_at(data + 1, 4) if left >= 5 else -1
    elif header == DECIMAL16 or header == UUID:
        size = 18 if header == DECIMAL16 else 17
    elif header == FLOAT:
        size = 5
    elif TIME <= header < UUID:
        # Also those of nanoseconds.
        size = 9
    elif _size(header) >= 0:
        size = 1 + _size(header)
    return size if size <= left else -1
