"""Thrift's compact protocol, read without Python objects; every function is inline.

Those that return an int return FINE or the reason why the bytes cannot be read.
# Apache Thrift, Thrift compact protocol encoding
"""

# Every reader of a struct has a loop of its own over `read_field`. One loop for all, which takes where numbers go from
# a table, reads footers at a half to a fifth of the speed.

from libc.stdint cimport INT16_MAX, int64_t, uint8_t, uint64_t

from deltaskip.kernels.byte_cursor cimport FINE, HEADER, SHORT, Cursor, pass_by, read_varint

cdef enum Kind:
    STOP = 0
    TRUE_VALUE = 1
    FALSE_VALUE = 2
    BYTE = 3
    I16 = 4
    I32 = 5
    I64 = 6
    DOUBLE = 7
    BINARY = 8
    LIST = 9
    SET = 10
    MAP = 11
    STRUCT = 12
    DEEPEST = 64

cdef struct Field:
    int64_t number
    int kind


cdef inline int read_number(Cursor* cursor, int64_t* value) noexcept nogil:
    """Read a signed number of any width."""
    cdef uint64_t zigzag
    cdef int fault = read_varint(cursor, &zigzag)
    value[0] = <int64_t>(zigzag >> 1) ^ -<int64_t>(zigzag & 1)
    return fault


cdef inline int read_field(Cursor* cursor, Field* field) noexcept nogil:
    """Read the header of the next field; before the first one, the number is 0. After the last, the kind is STOP."""
    cdef uint8_t header
    cdef int fault
    if cursor.at == cursor.end:
        return SHORT
    header = cursor.at[0]
    cursor.at += 1
    field.kind = header & 0x0F
    if field.kind == STOP or header >> 4:
        field.number += header >> 4
        return FINE
    fault = read_number(cursor, &field.number)
    # Thrift's other readers take the low bits of a longer one.
    return fault if fault or 0 <= field.number <= INT16_MAX else HEADER


cdef inline int read_list(Cursor* cursor, int* kind, int64_t* items) noexcept nogil:
    """Read the header of a list; each item has a byte at least."""
    cdef uint8_t header
    cdef uint64_t size
    cdef int fault
    if cursor.at == cursor.end:
        return SHORT
    header = cursor.at[0]
    cursor.at += 1
    kind[0] = header & 0x0F
    if kind[0] > STRUCT:
        # Thrift's other readers refuse a kind that does not exist even where the list is empty.
        return HEADER
    size = header >> 4
    if size == 15:
        fault = read_varint(cursor, &size)
        if fault:
            return fault
    if size > <uint64_t>(cursor.end - cursor.at):
        return SHORT
    items[0] = <int64_t>size
    return FINE


cdef inline int pass_value(Cursor* cursor, int kind, int depth) noexcept nogil:
    """Pass a value, which is not a boolean that its field's header holds."""
    cdef uint64_t size
    cdef int64_t items = 0, i
    cdef int item = STOP, fault
    cdef Field field
    if depth > DEEPEST:
        return HEADER
    if kind == I16 or kind == I32 or kind == I64:
        return read_varint(cursor, &size)
    if kind == BINARY:
        fault = read_varint(cursor, &size)
        return fault if fault else pass_by(cursor, size)
    if kind == TRUE_VALUE or kind == FALSE_VALUE or kind == BYTE:
        return pass_by(cursor, 1)
    if kind == DOUBLE:
        return pass_by(cursor, 8)
    if kind == LIST or kind == SET:
        fault = read_list(cursor, &item, &items)
        i = 0
        while fault == FINE and i < items:
            fault = pass_value(cursor, item, depth + 1)
            i += 1
        return fault
    if kind == STRUCT:
        field.number = 0
        while True:
            fault = read_field(cursor, &field)
            if fault or field.kind == STOP:
                return fault
            fault = pass_field(cursor, &field, depth + 1)
            if fault:
                return fault
    # No Parquet struct that is read here has a map.
    return HEADER


cdef inline int pass_field(Cursor* cursor, const Field* field, int depth) noexcept nogil:
    """Pass the value of a field."""
    if field.kind == TRUE_VALUE or field.kind == FALSE_VALUE:
        return FINE
    return pass_value(cursor, field.kind, depth)


cdef inline int read_int(Cursor* cursor, const Field* field, int kind, int64_t* value) noexcept nogil:
    """Read the number that a field has. Thrift's other readers take it for absent if it is of another kind."""
    return read_number(cursor, value) if field.kind == kind else HEADER
