"""Whether pyarrow can be asked for the metadata of the column chunks of a Parquet file.

pyarrow ends the process instead of raising an error if a row group has other columns than the schema, a column chunk
is encrypted or has another type than its column, a bound is too short, or size statistics do not fit the column. A chunk
of fewer values than the row group has rows is read without an error, as if the rest of the rows were not there. More nulls
than values are refused, too, and where pages begin is told by numbers of the kind that pyarrow reads. The bytes of a footer
are untrusted.
# parquet.thrift, FileMetaData, SchemaElement, ColumnMetaData, Statistics, SizeStatistics
"""

from libc.stdint cimport INT64_MAX, int64_t, uint64_t

from deltaskip.sparkexpr.kernels.arrow cimport NO_MEMORY, ByteBuffer, HeldBytes, check
from deltaskip.kernels.byte_cursor cimport COUNT, FINE, HEADER, OTHER, SHORT, Cursor, pass_by, read_varint
from deltaskip.kernels.thrift_cursor cimport (
    BINARY,
    I32,
    I64,
    LIST,
    STOP,
    STRUCT,
    Field,
    pass_field,
    pass_value,
    read_field,
    read_int,
    read_list,
)

__all__ = ["footer_fits"]

cdef enum:
    BYTE_ARRAY = 6
    OPTIONAL = 1
    REPEATED = 2
    DEEPEST_COLUMN = 1000

cdef struct Leaf:
    int64_t kind
    # Bytes of a value of fixed length.
    int64_t length
    # Greatest levels of repetition and definition.
    int64_t repeated
    int64_t defined


def footer_fits(object footer not None: Buffer) -> bool:
    """Return whether the metadata of every column chunk in a footer fits its schema, and can be read.

    Args:
        footer: Buffer of the bytes of its FileMetaData.
    """
    cdef HeldBytes held = HeldBytes(footer)
    cdef ByteBuffer leaves = ByteBuffer.__new__(ByteBuffer)
    cdef Cursor cursor
    cdef int fault
    cursor.at = <const unsigned char*>held.view.buf
    cursor.end = cursor.at + held.view.len
    with nogil:
        fault = _footer(&cursor, leaves)
    if fault == NO_MEMORY:
        check(fault)
    return fault == FINE


cdef int _footer(Cursor* cursor, ByteBuffer leaves) noexcept nogil:
    """Read a footer, of which the schema goes before the row groups."""
    cdef Field field
    cdef int64_t items = 0, i, rows = -1, rows_of_groups = 0
    cdef int item = STOP
    cdef int fault
    field.number = 0
    while True:
        fault = read_field(cursor, &field)
        if fault:
            return fault
        if field.kind == STOP:
            # Some writers leave 0 or -1 in the footer.
            return FINE if rows <= 0 or rows == rows_of_groups else COUNT
        if field.number == 3:
            fault = read_int(cursor, &field, I64, &rows)
            if fault:
                return fault
            continue
        if field.number != 2 and field.number != 4:
            fault = pass_field(cursor, &field, 1)
            if fault:
                return fault
            continue
        if field.kind != LIST:
            return HEADER
        fault = read_list(cursor, &item, &items)
        if fault:
            return fault
        if item != STRUCT:
            return HEADER
        if field.number == 2:
            fault = _schema(cursor, items, leaves)
        else:
            i = 0
            while fault == FINE and i < items:
                fault = _row_group(cursor, leaves, &rows_of_groups)
                i += 1
        if fault:
            return fault


cdef int _schema(Cursor* cursor, int64_t elements, ByteBuffer leaves) noexcept nogil:
    """Collect the columns of a schema, whose elements go from the root to the leaves."""
    # For each group around the next element: the number of children to come, and the levels.
    cdef int64_t left[DEEPEST_COLUMN]
    cdef Leaf levels[DEEPEST_COLUMN]
    cdef Leaf leaf
    cdef int64_t i, repetition = 0, children = 0
    cdef int depth = -1
    cdef int fault
    if leaves.size:
        return HEADER
    for i in range(elements):
        fault = _element(cursor, &leaf, &repetition, &children)
        if fault:
            return fault
        leaf.repeated = leaf.defined = 0
        if depth >= 0:
            leaf.repeated = levels[depth].repeated + (repetition == REPEATED)
            leaf.defined = levels[depth].defined + (repetition == REPEATED or repetition == OPTIONAL)
            left[depth] -= 1
        elif i > 0:
            return COUNT
        if children > 0 or leaf.kind < 0 or i == 0:
            if depth + 1 == DEEPEST_COLUMN:
                return COUNT
            depth += 1
            left[depth] = children
            levels[depth] = leaf
        elif leaves.append(&leaf, sizeof(leaf)) != 0:
            return NO_MEMORY
        while depth >= 0 and left[depth] <= 0:
            depth -= 1
    return FINE if depth < 0 else COUNT


cdef int _element(Cursor* cursor, Leaf* leaf, int64_t* repetition, int64_t* children) noexcept nogil:
    """Read an element of a schema."""
    cdef Field field
    cdef int fault
    leaf.kind = -1
    leaf.length = repetition[0] = children[0] = 0
    field.number = 0
    while True:
        fault = read_field(cursor, &field)
        if fault or field.kind == STOP:
            return fault
        if field.number == 1:
            fault = read_int(cursor, &field, I32, &leaf.kind)
        elif field.number == 2:
            fault = read_int(cursor, &field, I32, &leaf.length)
        elif field.number == 3:
            fault = read_int(cursor, &field, I32, repetition)
        elif field.number == 5:
            fault = read_int(cursor, &field, I32, children)
        else:
            fault = pass_field(cursor, &field, 2)
        if fault:
            return fault


cdef int _row_group(Cursor* cursor, ByteBuffer leaves, int64_t* all_rows) noexcept nogil:
    """Read a row group, which has a column chunk for every leaf, and add its rows to those of all row groups.

    A column outside of lists and maps has a value or a null in every row, and others have one or more.
    """
    cdef Field field
    cdef const Leaf* leaf
    cdef int64_t items = 0, i, rows = -1, values = 0
    cdef int64_t fewest = INT64_MAX, most_flat = -1
    cdef int item = STOP
    cdef bint found = False
    cdef int fault
    field.number = 0
    while True:
        fault = read_field(cursor, &field)
        if fault:
            return fault
        if field.kind == STOP:
            if not found or rows < 0 or rows > INT64_MAX - all_rows[0]:
                return COUNT
            all_rows[0] += rows
            return FINE if most_flat <= rows <= fewest else COUNT
        if field.number == 3:
            fault = read_int(cursor, &field, I64, &rows)
            if fault:
                return fault
            continue
        if field.number != 1:
            fault = pass_field(cursor, &field, 2)
            if fault:
                return fault
            continue
        if field.kind != LIST or found:
            return HEADER
        fault = read_list(cursor, &item, &items)
        if fault:
            return fault
        if item != STRUCT or items != <int64_t>(leaves.size // sizeof(Leaf)):
            return COUNT
        found = True
        for i in range(items):
            leaf = <const Leaf*>leaves.data + i
            fault = _chunk(cursor, leaf, &values)
            if fault:
                return fault
            fewest = min(fewest, values)
            if leaf.repeated == 0:
                most_flat = max(most_flat, values)


cdef int _chunk(Cursor* cursor, const Leaf* leaf, int64_t* values) noexcept nogil:
    """Read a column chunk, and the number of its values with nulls."""
    cdef Field field
    cdef bint found = False
    cdef int fault
    field.number = 0
    while True:
        fault = read_field(cursor, &field)
        if fault:
            return fault
        if field.kind == STOP:
            return FINE if found else OTHER
        if field.number == 3:
            found = True
            fault = _metadata(cursor, leaf, values) if field.kind == STRUCT else HEADER
        elif field.number == 8 or field.number == 9:
            # Encrypted.
            return OTHER
        else:
            fault = pass_field(cursor, &field, 3)
        if fault:
            return fault


cdef int _metadata(Cursor* cursor, const Leaf* leaf, int64_t* values) noexcept nogil:
    """Read the metadata of a column chunk, and the number of its values with nulls."""
    cdef Field field
    cdef int64_t kind = -1, nulls = 0, offset = 0
    cdef int fault
    values[0] = -1
    field.number = 0
    while True:
        fault = read_field(cursor, &field)
        if fault:
            return fault
        if field.kind == STOP:
            return FINE if 0 <= nulls <= values[0] else COUNT
        if field.number == 1:
            fault = read_int(cursor, &field, I32, &kind)
            if fault == FINE and kind != leaf.kind:
                fault = OTHER
        elif field.number == 5:
            fault = read_int(cursor, &field, I64, values)
        elif field.number == 9 or field.number == 11:
            # Where pages begin.
            fault = read_int(cursor, &field, I64, &offset)
        elif field.number == 12:
            fault = _statistics(cursor, leaf, &nulls) if field.kind == STRUCT else HEADER
        elif field.number == 16:
            fault = _size_statistics(cursor, leaf) if field.kind == STRUCT else HEADER
        else:
            fault = pass_field(cursor, &field, 4)
        if fault:
            return fault


cdef int _statistics(Cursor* cursor, const Leaf* leaf, int64_t* nulls) noexcept nogil:
    """Read the bounds of a column chunk, which are values of its type, and the number of its nulls if that is there."""
    cdef Field field
    cdef uint64_t size = 0
    cdef uint64_t width = _width(leaf)
    cdef int fault
    field.number = 0
    while True:
        fault = read_field(cursor, &field)
        if fault or field.kind == STOP:
            return fault
        if field.number == 1 or field.number == 2 or field.number == 5 or field.number == 6:
            fault = read_varint(cursor, &size) if field.kind == BINARY else HEADER
            if fault == FINE:
                fault = SHORT if size < width else pass_by(cursor, size)
        elif field.number == 3:
            fault = read_int(cursor, &field, I64, nulls)
        else:
            fault = pass_field(cursor, &field, 5)
        if fault:
            return fault


cdef uint64_t _width(const Leaf* leaf) noexcept nogil:
    """The bytes of a value by the physical type (parquet.thrift, Type); 0 if they differ."""
    if leaf.kind == 0:
        return 1
    if leaf.kind == 1 or leaf.kind == 4:
        return 4
    if leaf.kind == 2 or leaf.kind == 5:
        return 8
    if leaf.kind == 3:
        return 12
    return <uint64_t>leaf.length if leaf.kind == 7 else 0


cdef int _size_statistics(Cursor* cursor, const Leaf* leaf) noexcept nogil:
    """Read the sizes of byte arrays, and how many values have each level."""
    cdef Field field
    cdef int64_t items = 0, i, levels
    cdef int item = STOP
    cdef int fault
    field.number = 0
    while True:
        fault = read_field(cursor, &field)
        if fault or field.kind == STOP:
            return fault
        if field.number == 1 and leaf.kind != BYTE_ARRAY:
            return OTHER
        if field.number == 2 or field.number == 3:
            levels = 1 + (leaf.repeated if field.number == 2 else leaf.defined)
            fault = read_list(cursor, &item, &items) if field.kind == LIST else HEADER
            if fault == FINE and (item != I64 or (items != 0 and items != levels)):
                fault = COUNT
            i = 0
            while fault == FINE and i < items:
                fault = pass_value(cursor, item, 6)
                i += 1
        else:
            fault = pass_field(cursor, &field, 5)
        if fault:
            return fault
