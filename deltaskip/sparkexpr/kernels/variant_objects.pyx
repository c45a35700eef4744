"""Reassembly of shredded objects: the values of a node whose typed_value is a struct of fields, see variant_building.

The fields of the struct are merged with those that `value` has unshredded, whose values are copied as they lie there,
since their ids are those of the same metadata.
"""

from libc.stdint cimport int64_t, uint8_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memcpy

from deltaskip.sparkexpr.kernels.arrow cimport (
    NO_MEMORY, BinaryView, ByteBuffer, PrimitiveView, binary_view, is_valid, primitive_view, zeros
)
from deltaskip.sparkexpr.kernels.lane cimport same_length, view_of, wrong_format
from deltaskip.sparkexpr.kernels.variant_values cimport (
    EMPTY, FINE, METADATA, NOT_OBJECT, OBJECT, OBJECT_TYPE, TOO_LARGE, TWICE, UNKNOWN_KEY, Column, Container,
    Dictionary, Output, Text, check_fault, column_of, id_at, is_there, item_of, key_of, open_container,
    open_dictionary, order_of, put, unsigned_at, value_column, width_of
)

__all__ = ["of_structs"]

# Sizes and offsets have four bytes or fewer.
cdef int64_t MOST_BYTES = 0xFFFFFFFF


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


def of_structs(
    present: ArrowArrayExportable, list names not None: list[bytes],
    object fields not None: Sequence[ArrowArrayExportable], metadata: ArrowArrayExportable,
    rows: ArrowArrayExportable | None = None, value: ArrowArrayExportable | None = None,
) -> pa.LargeBinaryArray:
    """Return the values of a node whose typed_value is a struct of fields.

    present: Booleans, whether typed_value is not null. names, fields: The name of each field as UTF-8, and its values.
    metadata: The metadata of variants as binary. rows: The number of each value's metadata as int64; None if there is
    one for each value. value: The column `value` as binary; None if the node has none.
    Raises TypeError for another format, and ValueError for what violates the specification.
    """
    cdef PrimitiveView flags = primitive_view(present)
    cdef PrimitiveView numbers = None if rows is None else view_of(rows, b"l")
    cdef BinaryView dictionaries = binary_view(metadata)
    cdef BinaryView view
    cdef list owners = []
    cdef Column given = value_column(value, flags.length, owners)
    cdef Output out = Output(flags.length)
    cdef int64_t k, count = len(names)
    cdef ByteBuffer columns = zeros(<int64_t>sizeof(Column) * count)
    cdef ByteBuffer keys = zeros(<int64_t>sizeof(Field) * count)
    cdef ByteBuffer residues = ByteBuffer.__new__(ByteBuffer)
    cdef ByteBuffer merged = ByteBuffer.__new__(ByteBuffer)
    cdef Column* column = <Column*>columns.data
    cdef Field* key = <Field*>keys.data
    cdef Column known = column_of(dictionaries)
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
        column[k] = column_of(view)
        key[k].name = Text(<const uint8_t*><const char*>name, len(name))
        if k > 0 and order_of(&key[k - 1].name, &key[k].name) == 0:
            raise ValueError(f"The field {name!r} is there twice.")
    with nogil:
        fault = _structs(flags, key, column, count, &known, numbers, &given, residues, merged, out)
    check_fault(fault)
    return out.array()


cdef int _no_nulls(PrimitiveView view) except -1:
    cdef int64_t i
    for i in range(view.length):
        if not is_valid(view.validity, view.offset + i):
            raise ValueError("A flag or row number is null.")
    return 0


cdef int _structs(
    PrimitiveView present, Field* keys, Column* columns, int64_t count, Column* metadata, PrimitiveView rows,
    Column* given, ByteBuffer residues, ByteBuffer merged, Output out
) noexcept nogil:
    """keys: By name; their ids are those in the metadata of the row before, -1 where it lacks the key."""
    cdef const int64_t* numbers = NULL
    cdef Dictionary known
    cdef Residue residue
    cdef Text text
    cdef int64_t i, row, found
    cdef int fault
    known = Dictionary(Text(NULL, 0), 1, 0, NULL, Text(NULL, 0))
    if rows is not None:
        numbers = <const int64_t*>rows.values
    for i in range(present.length):
        if not is_valid(present.values, present.offset + i):
            fault = out.copy(given, i)
            if fault != FINE:
                return fault
            continue
        row = i if numbers == NULL else numbers[i]
        if not is_there(metadata, row):
            return METADATA
        text = item_of(metadata, row)
        if text.size == 0:
            return METADATA
        if text.size != known.bytes.size or memcmp(text.data, known.bytes.data, text.size) != 0:
            fault = _open(text, keys, count, &known)
            if fault != FINE:
                return fault
        residue.count = 0
        residue.values = Text(NULL, 0)
        if is_there(given, i):
            fault = _unshredded(item_of(given, i), &known, residues, &residue)
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
    cdef int64_t k, number, left, right, middle
    cdef int order, fault
    cdef Text text
    fault = open_dictionary(bytes, known)
    if fault != FINE:
        return fault
    for k in range(count):
        keys[k].id = -1
    for number in range(known.count):
        fault = key_of(known, number, &text)
        if fault != FINE:
            return fault
        left, right = 0, count
        while left < right:
            middle = (left + right) >> 1
            order = order_of(&keys[middle].name, &text)
            if order == 0:
                keys[middle].id = number
                break
            if order < 0:
                left = middle + 1
            else:
                right = middle
    return FINE


cdef int _by_name(const void* a, const void* b) noexcept nogil:
    return order_of(&(<const Field*>a).name, &(<const Field*>b).name)


cdef int _unshredded(Text value, const Dictionary* known, ByteBuffer residues, Residue* residue) noexcept nogil:
    """Read the unshredded part of an object: its fields by name into the buffer."""
    cdef Container inside
    cdef int64_t i
    cdef int fault
    cdef bint ordered = True
    cdef Field* fields
    if value.size == 0:
        return EMPTY
    if value.data[0] & 3 != OBJECT_TYPE:
        return NOT_OBJECT
    if not open_container(value.data, value.size, &inside):
        return OBJECT
    residue.count = inside.count
    residue.values = Text(value.data + inside.start, unsigned_at(value.data + inside.start - inside.width, inside.width))
    if residue.values.size > value.size - inside.start:
        return OBJECT
    if residues.reserve(<int64_t>sizeof(Field) * inside.count) != 0:
        return NO_MEMORY
    fields = <Field*>residues.data
    for i in range(inside.count):
        fields[i].id = id_at(value.data, &inside, i)
        fields[i].start = unsigned_at(value.data + inside.offsets + i * inside.width, inside.width)
        fields[i].value = Text(NULL, 0)
        # A value has a byte at least.
        if fields[i].start >= residue.values.size:
            return OBJECT
        fault = key_of(known, fields[i].id, &fields[i].name)
        if fault != FINE:
            return fault
        ordered = ordered and (i == 0 or _by_name(&fields[i - 1], &fields[i]) < 0)
    if not ordered:
        # Some writers order keys by UTF-16.
        qsort(fields, inside.count, sizeof(Field), _by_name)
        for i in range(1, inside.count):
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
        if not is_there(&columns[k], i):
            continue
        if keys[k].id < 0:
            return UNKNOWN_KEY
        merged[n] = keys[k]
        merged[n].start = start
        merged[n].value = item_of(&columns[k], i)
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
    id_width, width = width_of(last_id), width_of(total)
    if out.reserve(total + count * id_width + (count + 1) * width + 16) != 0:
        return NO_MEMORY
    put(out, (large << 4 | id_width - 1 << 2 | width - 1) << 2 | OBJECT_TYPE, 1)
    put(out, count, 4 if large else 1)
    for k in range(count):
        put(out, fields[k].id, id_width)
    for k in range(count):
        put(out, fields[k].start, width)
    put(out, total, width)
    if residue.size > 0:
        memcpy(out.data + out.size, residue.data, residue.size)
        out.size += residue.size
    for k in range(count):
        if fields[k].value.data != NULL:
            memcpy(out.data + out.size, fields[k].value.data, fields[k].value.size)
            out.size += fields[k].value.size
    return FINE
