"""Reassembly of shredded variants: each function makes the variant values of one node of a shredding schema.

A node is a pair of columns, `value` and `typed_value`, in which a value is in one or the other; an object may be in
both. Nodes are made from the leaves up: the values of fields and elements are input of the object or array around
them. The result of a node is large_binary, null where the value is missing. The bytes of `value` and of metadata are
untrusted: they are read within their bounds, and what violates the format is rejected with the reason.

# Parquet, Variant Binary Encoding and Variant Shredding
"""

import pyarrow as pa

from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint32_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memcpy

from deltaskip.kernels.arrow cimport (
    NO_MEMORY, BinaryView, ByteBuffer, Decimal128, PrimitiveView, binary_view, check, check_decimal128, is_valid,
    primitive_view, zeros
)
from deltaskip.kernels.byte_order cimport order_of_bytes
from deltaskip.kernels.lane cimport same_length, wrong_format

__all__ = ["of_lists", "of_numbers", "of_structs", "of_texts"]

cdef enum Fault:
    FINE = 0
    BOTH = 1
    EMPTY = 2
    METADATA = 3
    KEY = 4
    UNKNOWN_KEY = 5
    NOT_OBJECT = 6
    OBJECT = 7
    TWICE = 8
    TOO_LARGE = 9
    UUID_SIZE = 10

REASONS = {
    BOTH: "value and typed_value are both set where only an object can be in both",
    EMPTY: "a value has no bytes",
    METADATA: "its metadata is missing, of another version than 1, or ends before its dictionary does",
    KEY: "a key lies outside of the dictionary in its metadata",
    UNKNOWN_KEY: "the dictionary in its metadata lacks the key of a shredded field",
    NOT_OBJECT: "the value beside a shredded object is not an object",
    OBJECT: "an object ends before its last field does",
    TWICE: "an object has a field twice",
    TOO_LARGE: "a string, array or object would have 4 GiB or more",
    UUID_SIZE: "a UUID does not have 16 bytes",
}

# Types of primitive values; those of numbers are in `_primitive_type`.
cdef enum Primitive:
    TRUE = 1
    FALSE = 2
    INT8 = 3
    INT16 = 4
    INT32 = 5
    INT64 = 6
    DOUBLE = 7
    DECIMAL4 = 8
    DECIMAL8 = 9
    DECIMAL16 = 10
    DATE = 11
    TIMESTAMP = 12
    TIMESTAMP_NTZ = 13
    FLOAT = 14
    BINARY = 15
    STRING = 16
    TIME = 17
    TIMESTAMP_NANOS = 18
    TIMESTAMP_NTZ_NANOS = 19
    UUID = 20

cdef enum:
    OBJECT_TYPE = 2
    ARRAY_TYPE = 3
    MOST_SHORT = 63

cdef int64_t MOST_BYTES = 0xFFFFFFFF
cdef int64_t NINE_DIGITS = 999999999
cdef int64_t EIGHTEEN_DIGITS = 999999999999999999


cdef struct Column:
    # Values of a binary array; none of the offsets is set where there is no column.
    const int32_t* offsets32
    const int64_t* offsets64
    const uint8_t* data
    const uint8_t* validity
    int64_t offset


cdef struct Text:
    const uint8_t* data
    int64_t size


cdef struct Dictionary:
    # The metadata of a row.
    Text bytes
    int width
    int64_t count
    const uint8_t* offsets
    Text texts


cdef struct Field:
    # A field of an object. `value.data` is NULL for one of the unshredded part, whose values are copied as a whole.
    Text name
    int64_t id
    int64_t start
    Text value


cdef struct Residue:
    # The unshredded part of an object: its fields by name, and their values as they lie there.
    int64_t count
    Text values


cdef class _Output:
    """The values of a node: large_binary that grows by one value after the other."""

    cdef ByteBuffer data
    cdef ByteBuffer offsets
    cdef ByteBuffer validity
    cdef int64_t length
    cdef int64_t nulls

    def __cinit__(self, int64_t length):
        self.data = ByteBuffer.__new__(ByteBuffer)
        self.offsets = ByteBuffer.__new__(ByteBuffer)
        check(self.offsets.reserve(8 * length + 8))
        check(self.offsets.append_int64(0))
        self.validity = zeros((length + 7) >> 3)
        self.length = 0
        self.nulls = 0

    cdef int end(self, bint valid) noexcept nogil:
        """End the value whose bytes were appended."""
        cdef uint8_t* bits = self.validity.data
        bits[self.length >> 3] |= <uint8_t>(valid << (self.length & 7))
        self.nulls += not valid
        self.length += 1
        return self.offsets.append_int64(self.data.size)

    cdef int copy(self, Column* column, int64_t i) noexcept nogil:
        """Append a value as it is, or null."""
        cdef Text value
        if not _there(column, i):
            return self.end(False)
        value = _item(column, i)
        if value.size == 0:
            return EMPTY
        return NO_MEMORY if self.data.append(value.data, value.size) != 0 else self.end(True)

    cdef object array(self):
        validity = pa.py_buffer(self.validity) if self.nulls else None
        buffers = [validity, pa.py_buffer(self.offsets), pa.py_buffer(self.data)]
        return pa.Array.from_buffers(pa.large_binary(), self.length, buffers, self.nulls)


def of_numbers(object typed, object value=None):
    """Return the values of a node whose typed_value has a fixed width.

    Integers and decimals become the narrowest type that holds them, as Spark makes them.

    typed: Booleans, signed integers, floats, decimal128, dates, and times or timestamps of microseconds, timestamps also
    of nanoseconds. value: The column `value` as binary; None if the node has none.
    Raises TypeError for another format, and ValueError for what violates the specification.
    """
    cdef PrimitiveView numbers = primitive_view(typed)
    cdef list owners = []
    cdef Column given = _value_column(value, numbers.length, owners)
    cdef _Output out = _Output(numbers.length)
    cdef int fault, kind = _primitive_type(numbers.format), scale = 0
    if kind == DECIMAL16:
        check_decimal128(numbers)
        scale = int(numbers.format.split(b",")[1])
        if not 0 <= scale <= 38:
            raise TypeError(f"Decimals of a variant have 0 to 38 digits after the point, not {scale}.")
    with nogil:
        fault = _numbers(numbers, kind, scale, &given, out)
    _check(fault)
    return out.array()


def of_texts(object typed, object value=None, bint uuid=False):
    """Return the values of a node whose typed_value is a string or binary.

    typed: Strings or binary. value: As of of_numbers. uuid: Whether the values are the 16 bytes of UUIDs.
    Raises TypeError for another format, and ValueError for what violates the specification.
    """
    cdef BinaryView texts = binary_view(typed)
    cdef list owners = []
    cdef Column given = _value_column(value, texts.length, owners)
    cdef Column column = _column(texts)
    cdef _Output out = _Output(texts.length)
    cdef int fault, kind = UUID if uuid else STRING if texts.format in (b"u", b"U") else BINARY
    with nogil:
        fault = _texts(&column, texts.length, kind, &given, out)
    _check(fault)
    return out.array()


def of_lists(object lengths, object elements, object value=None):
    """Return the values of a node whose typed_value is a list.

    lengths: Numbers of elements as int64, null where typed_value is. elements: The values of all elements, one list
    after the other; a missing one becomes a variant null. value: As of of_numbers.
    Raises TypeError for another format, and ValueError for what violates the specification.
    """
    cdef PrimitiveView sizes = _longs(lengths)
    cdef BinaryView items = binary_view(elements)
    cdef list owners = []
    cdef Column given = _value_column(value, sizes.length, owners)
    cdef Column column = _column(items)
    cdef _Output out = _Output(sizes.length)
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
    _check(fault)
    return out.array()


def of_structs(object present, list names not None, object fields not None, object metadata, object rows=None,
               object value=None):
    """Return the values of a node whose typed_value is a struct of fields.

    present: Booleans, whether typed_value is not null. names, fields: The name of each field as UTF-8, and its values.
    metadata: The metadata of variants as binary. rows: The number of each value's metadata as int64; None if there is
    one for each value. value: As of of_numbers.
    Raises TypeError for another format, and ValueError for what violates the specification.
    """
    cdef PrimitiveView flags = primitive_view(present)
    cdef PrimitiveView numbers = None if rows is None else _longs(rows)
    cdef BinaryView dictionaries = binary_view(metadata)
    cdef BinaryView view
    cdef list owners = []
    cdef Column given = _value_column(value, flags.length, owners)
    cdef _Output out = _Output(flags.length)
    cdef int64_t k, count = len(names)
    cdef ByteBuffer columns = zeros(<int64_t>sizeof(Column) * count)
    cdef ByteBuffer keys = zeros(<int64_t>sizeof(Field) * count)
    cdef ByteBuffer residues = ByteBuffer.__new__(ByteBuffer)
    cdef ByteBuffer merged = ByteBuffer.__new__(ByteBuffer)
    cdef Column* column = <Column*>columns.data
    cdef Field* key = <Field*>keys.data
    cdef Column known = _column(dictionaries)
    cdef bytes name
    cdef int fault
    if flags.format != b"b":
        raise wrong_format("boolean", flags.format)
    if len(fields) != count:
        raise ValueError(f"{count} names were given for {len(fields)} fields.")
    _no_nulls(flags)
    same_length(flags.length, dictionaries.length if numbers is None else numbers.length)
    if numbers is not None:
        _no_nulls(numbers)
        for k in range(numbers.length):
            if not 0 <= (<const int64_t*>numbers.values)[k] < dictionaries.length:
                raise ValueError("A row has no metadata.")
    order = sorted(range(count), key=names.__getitem__)
    for k in range(count):
        name = names[order[k]]
        view = binary_view(fields[order[k]])
        same_length(flags.length, view.length)
        owners.append((name, view))
        column[k] = _column(view)
        key[k].name = Text(<const uint8_t*><const char*>name, len(name))
        if k > 0 and _order(&key[k - 1].name, &key[k].name) == 0:
            raise ValueError(f"The field {name!r} is there twice.")
    with nogil:
        fault = _structs(flags, key, column, count, &known, numbers, &given, residues, merged, out)
    _check(fault)
    return out.array()


cdef int _check(int fault) except -1:
    if fault in REASONS:
        raise ValueError(REASONS[fault])
    return check(fault)


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


cdef PrimitiveView _longs(object array):
    cdef PrimitiveView view = primitive_view(array)
    if view.format != b"l":
        raise wrong_format("int64", view.format)
    return view


cdef int _no_nulls(PrimitiveView view) except -1:
    cdef int64_t i
    for i in range(view.length):
        if not is_valid(view.validity, view.offset + i):
            raise ValueError("A flag or row number is null.")
    return 0


cdef Column _column(BinaryView view) noexcept:
    return Column(view.offsets32, view.offsets64, view.data, view.validity, view.offset)


cdef Column _value_column(object value, int64_t length, list owners) except *:
    cdef BinaryView view
    if value is None:
        return Column(NULL, NULL, NULL, NULL, 0)
    view = binary_view(value)
    same_length(length, view.length)
    owners.append(view)
    return _column(view)


cdef inline bint _there(Column* column, int64_t i) noexcept nogil:
    if column.offsets32 == NULL and column.offsets64 == NULL:
        return False
    return is_valid(column.validity, column.offset + i)


cdef inline Text _item(Column* column, int64_t i) noexcept nogil:
    cdef int64_t start, end
    if column.offsets64 == NULL:
        start, end = column.offsets32[i], column.offsets32[i + 1]
    else:
        start, end = column.offsets64[i], column.offsets64[i + 1]
    return Text(column.data + start, end - start)


cdef inline int _order(const Text* a, const Text* b) noexcept nogil:
    return order_of_bytes(a.data, a.size, b.data, b.size)


cdef inline int64_t _number(const uint8_t* data, int width) noexcept nogil:
    """An unsigned number of one to four bytes, the lowest first."""
    cdef uint32_t number = 0
    memcpy(&number, data, width)
    return number


cdef inline int _width_of(int64_t most) noexcept nogil:
    """Bytes of numbers up to this one."""
    return 1 if most <= 0xFF else 2 if most <= 0xFFFF else 3 if most <= 0xFFFFFF else 4


cdef inline void _put(ByteBuffer out, int64_t number, int width) noexcept nogil:
    """Append a number for which memory is reserved."""
    memcpy(out.data + out.size, &number, width)
    out.size += width


cdef int _texts(Column* texts, int64_t length, int kind, Column* given, _Output out) noexcept nogil:
    cdef int64_t i
    cdef int fault
    cdef Text text
    for i in range(length):
        if not _there(texts, i):
            fault = out.copy(given, i)
        elif _there(given, i):
            fault = BOTH
        else:
            text = _item(texts, i)
            fault = FINE
            if kind == UUID and text.size != 16:
                fault = UUID_SIZE
            elif text.size > MOST_BYTES:
                fault = TOO_LARGE
            elif out.data.reserve(text.size + 8) != 0:
                fault = NO_MEMORY
            if fault == FINE:
                if kind == STRING and text.size <= MOST_SHORT:
                    _put(out.data, text.size << 2 | 1, 1)
                else:
                    _put(out.data, kind << 2, 1)
                    if kind != UUID:
                        _put(out.data, text.size, 4)
                out.data.append(text.data, text.size)
                fault = out.end(True)
        if fault != FINE:
            return fault
    return FINE


cdef int _numbers(PrimitiveView view, int kind, int scale, Column* given, _Output out) noexcept nogil:
    cdef int64_t i
    cdef int fault
    for i in range(view.length):
        if not is_valid(view.validity, view.offset + i):
            fault = out.copy(given, i)
        elif _there(given, i):
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
        _put(out, (TRUE if view.values[position >> 3] >> (position & 7) & 1 else FALSE) << 2, 1)
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
        _put(out, kind << 2, 1)
        memcpy(out.data + out.size, view.values + i * view.width, view.width)
        out.size += view.width


cdef void _put_integer(int64_t number, ByteBuffer out) noexcept nogil:
    if number == <int8_t>number:
        _put(out, INT8 << 2, 1)
        _put(out, number, 1)
    elif number == <int16_t>number:
        _put(out, INT16 << 2, 1)
        _put(out, number, 2)
    elif number == <int32_t>number:
        _put(out, INT32 << 2, 1)
        _put(out, number, 4)
    else:
        _put(out, INT64 << 2, 1)
        _put(out, number, 8)


cdef void _put_decimal(Decimal128 number, int scale, ByteBuffer out) noexcept nogil:
    cdef int64_t low = <int64_t>number.low
    cdef bint fits = number.high == (-1 if low < 0 else 0)
    if fits and scale <= 9 and -NINE_DIGITS <= low <= NINE_DIGITS:
        _put(out, DECIMAL4 << 2, 1)
        _put(out, scale, 1)
        _put(out, low, 4)
    elif fits and scale <= 18 and -EIGHTEEN_DIGITS <= low <= EIGHTEEN_DIGITS:
        _put(out, DECIMAL8 << 2, 1)
        _put(out, scale, 1)
        _put(out, low, 8)
    else:
        _put(out, DECIMAL16 << 2, 1)
        _put(out, scale, 1)
        _put(out, low, 8)
        _put(out, number.high, 8)


cdef int _lists(PrimitiveView sizes, Column* items, Column* given, _Output out) noexcept nogil:
    cdef const int64_t* counts = <const int64_t*>sizes.values
    cdef int64_t i, first = 0
    cdef int fault
    for i in range(sizes.length):
        if not is_valid(sizes.validity, sizes.offset + i):
            fault = out.copy(given, i)
        elif _there(given, i):
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
        if _there(items, i):
            size = _item(items, i).size
            if size == 0:
                return EMPTY
        if size > MOST_BYTES - total:
            return TOO_LARGE
        total += size
    if count > MOST_BYTES:
        return TOO_LARGE
    width = _width_of(total)
    if out.reserve(total + (count + 1) * width + 16) != 0:
        return NO_MEMORY
    _put(out, (large << 2 | width - 1) << 2 | ARRAY_TYPE, 1)
    _put(out, count, 4 if large else 1)
    total = 0
    for i in range(first, first + count):
        _put(out, total, width)
        total += _item(items, i).size if _there(items, i) else 1
    _put(out, total, width)
    for i in range(first, first + count):
        if _there(items, i):
            item = _item(items, i)
            memcpy(out.data + out.size, item.data, item.size)
            out.size += item.size
        else:
            _put(out, 0, 1)
    return FINE


cdef int _structs(
    PrimitiveView present, Field* keys, Column* columns, int64_t count, Column* metadata, PrimitiveView rows,
    Column* given, ByteBuffer residues, ByteBuffer merged, _Output out
) noexcept nogil:
    """keys: By name; their ids are those in the metadata of the row before, -1 where it lacks the key."""
    cdef const int64_t* numbers = NULL if rows is None else <const int64_t*>rows.values
    cdef Dictionary known
    cdef Residue residue
    cdef Text text
    cdef int64_t i, row, found
    cdef int fault
    known = Dictionary(Text(NULL, 0), 1, 0, NULL, Text(NULL, 0))
    for i in range(present.length):
        if not is_valid(present.values, present.offset + i):
            fault = out.copy(given, i)
            if fault != FINE:
                return fault
            continue
        row = i if numbers == NULL else numbers[i]
        if not _there(metadata, row):
            return METADATA
        text = _item(metadata, row)
        if text.size == 0:
            return METADATA
        if text.size != known.bytes.size or memcmp(text.data, known.bytes.data, text.size) != 0:
            fault = _open(text, keys, count, &known)
            if fault != FINE:
                return fault
        residue.count = 0
        residue.values = Text(NULL, 0)
        if _there(given, i):
            fault = _unshredded(_item(given, i), &known, residues, &residue)
            if fault != FINE:
                return fault
        if merged.reserve(<int64_t>sizeof(Field) * (count + residue.count)) != 0:
            return NO_MEMORY
        found = 0
        fault = _merged(keys, columns, count, i, <Field*>residues.data, &residue, <Field*>merged.data, &found)
        if fault == FINE:
            fault = _object(<Field*>merged.data, found, residue.values, out.data)
        if fault == FINE:
            fault = out.end(True)
        if fault != FINE:
            return fault
    return FINE


cdef int _open(Text bytes, Field* keys, int64_t count, Dictionary* known) noexcept nogil:
    """Find the ids of the keys in the dictionary of some metadata."""
    cdef int64_t k, number, left, right, middle, used
    cdef int order, fault
    cdef Text text
    known.bytes = bytes
    known.width = (bytes.data[0] >> 6) + 1
    if bytes.data[0] & 0x0F != 1 or bytes.size < 1 + known.width:
        return METADATA
    known.count = _number(bytes.data + 1, known.width)
    used = 1 + known.width * (known.count + 2)
    if used > bytes.size:
        return METADATA
    known.offsets = bytes.data + 1 + known.width
    known.texts = Text(bytes.data + used, bytes.size - used)
    for k in range(count):
        keys[k].id = -1
    for number in range(known.count):
        fault = _key(known, number, &text)
        if fault != FINE:
            return fault
        left, right = 0, count
        while left < right:
            middle = (left + right) >> 1
            order = _order(&keys[middle].name, &text)
            if order == 0:
                keys[middle].id = number
                break
            if order < 0:
                left = middle + 1
            else:
                right = middle
    return FINE


cdef int _key(const Dictionary* known, int64_t number, Text* key) noexcept nogil:
    cdef const uint8_t* at = known.offsets + number * known.width
    cdef int64_t start, end
    if number >= known.count:
        return KEY
    start, end = _number(at, known.width), _number(at + known.width, known.width)
    if start > end or end > known.texts.size:
        return KEY
    key[0] = Text(known.texts.data + start, end - start)
    return FINE


cdef int _by_name(const void* a, const void* b) noexcept nogil:
    return _order(&(<const Field*>a).name, &(<const Field*>b).name)


cdef int _unshredded(Text value, const Dictionary* known, ByteBuffer residues, Residue* residue) noexcept nogil:
    """Read the unshredded part of an object: its fields by name into the buffer."""
    cdef int64_t i, count, ids, offsets, used
    cdef int id_width, width, fault
    cdef bint ordered = True, large
    cdef Field* fields
    if value.size == 0:
        return EMPTY
    if value.data[0] & 3 != OBJECT_TYPE:
        return NOT_OBJECT
    width = (value.data[0] >> 2 & 3) + 1
    id_width = (value.data[0] >> 4 & 3) + 1
    large = value.data[0] >> 6 & 1
    ids = 5 if large else 2
    if value.size < ids:
        return OBJECT
    count = _number(value.data + 1, 4 if large else 1)
    offsets = ids + count * id_width
    used = offsets + (count + 1) * width
    if used > value.size:
        return OBJECT
    residue.count = count
    residue.values = Text(value.data + used, _number(value.data + used - width, width))
    if residue.values.size > value.size - used:
        return OBJECT
    if residues.reserve(<int64_t>sizeof(Field) * count) != 0:
        return NO_MEMORY
    fields = <Field*>residues.data
    for i in range(count):
        fields[i].id = _number(value.data + ids + i * id_width, id_width)
        fields[i].start = _number(value.data + offsets + i * width, width)
        fields[i].value = Text(NULL, 0)
        # A value has a byte at least.
        if fields[i].start >= residue.values.size:
            return OBJECT
        fault = _key(known, fields[i].id, &fields[i].name)
        if fault != FINE:
            return fault
        ordered = ordered and (i == 0 or _by_name(&fields[i - 1], &fields[i]) < 0)
    if not ordered:
        # Some writers order keys by UTF-16.
        qsort(fields, count, sizeof(Field), _by_name)
        for i in range(1, count):
            if _by_name(&fields[i - 1], &fields[i]) == 0:
                return TWICE
    return FINE


cdef int _merged(
    const Field* keys, Column* columns, int64_t count, int64_t i, const Field* residues, const Residue* residue,
    Field* merged, int64_t* found
) noexcept nogil:
    """Merge the fields of one object by name."""
    cdef int64_t k, r = 0, n = 0, start = residue.values.size
    cdef int order
    for k in range(count):
        while r < residue.count:
            order = _by_name(&residues[r], &keys[k])
            if order == 0:
                return TWICE
            if order > 0:
                break
            merged[n] = residues[r]
            n += 1
            r += 1
        if not _there(&columns[k], i):
            continue
        if keys[k].id < 0:
            return UNKNOWN_KEY
        merged[n] = keys[k]
        merged[n].start = start
        merged[n].value = _item(&columns[k], i)
        if merged[n].value.size == 0:
            return EMPTY
        start += merged[n].value.size
        n += 1
    while r < residue.count:
        merged[n] = residues[r]
        n += 1
        r += 1
    found[0] = n
    return FINE


cdef int _object(const Field* fields, int64_t count, Text residue, ByteBuffer out) noexcept nogil:
    """Append an object of these fields, which are ordered by name."""
    cdef int64_t k, total = residue.size, last_id = 0
    cdef int id_width, width
    cdef bint large = count > 0xFF
    for k in range(count):
        if fields[k].id > last_id:
            last_id = fields[k].id
        if fields[k].value.size > MOST_BYTES - total:
            return TOO_LARGE
        total += fields[k].value.size
    if count > MOST_BYTES:
        return TOO_LARGE
    id_width, width = _width_of(last_id), _width_of(total)
    if out.reserve(total + count * id_width + (count + 1) * width + 16) != 0:
        return NO_MEMORY
    _put(out, (large << 4 | id_width - 1 << 2 | width - 1) << 2 | OBJECT_TYPE, 1)
    _put(out, count, 4 if large else 1)
    for k in range(count):
        _put(out, fields[k].id, id_width)
    for k in range(count):
        _put(out, fields[k].start, width)
    _put(out, total, width)
    if residue.size > 0:
        memcpy(out.data + out.size, residue.data, residue.size)
        out.size += residue.size
    for k in range(count):
        if fields[k].value.data != NULL:
            memcpy(out.data + out.size, fields[k].value.data, fields[k].value.size)
            out.size += fields[k].value.size
    return FINE
