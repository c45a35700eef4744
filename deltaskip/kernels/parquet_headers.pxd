"""Headers of Parquet pages, read without Python objects; every function is inline.

# parquet.thrift, PageHeader
"""

from libc.stdint cimport int64_t

from deltaskip.kernels.byte_cursor cimport FINE, HEADER, Cursor
from deltaskip.kernels.thrift_cursor cimport (
    FALSE_VALUE,
    I16,
    I32,
    I64,
    STOP,
    STRUCT,
    TRUE_VALUE,
    Field,
    pass_field,
    read_field,
    read_int,
    read_number,
)


cdef struct PageHeader:
    int64_t kind
    int64_t plain_size
    int64_t size
    # Of the data or dictionary page; -1 for what its header lacks.
    int64_t values
    int64_t encoding
    int64_t level_encoding
    int64_t level_bytes
    int64_t repetition_bytes
    bint compressed


cdef inline int read_parts(Cursor* cursor, int64_t* numbers, int depth) noexcept nogil:
    """Read a struct of numbers and booleans: fields 1 to 8 to `numbers[1]` to `numbers[8]`, which are -1 without."""
    cdef Field field
    cdef int fault
    cdef int i
    for i in range(9):
        numbers[i] = -1
    field.number = 0
    while True:
        fault = read_field(cursor, &field)
        if fault or field.kind == STOP:
            return fault
        if 0 < field.number < 9 and (field.kind == TRUE_VALUE or field.kind == FALSE_VALUE):
            numbers[field.number] = field.kind == TRUE_VALUE
        elif 0 < field.number < 9 and (field.kind == I16 or field.kind == I32 or field.kind == I64):
            fault = read_number(cursor, &numbers[field.number])
        else:
            fault = pass_field(cursor, &field, depth)
        if fault:
            return fault


cdef inline int read_page_header(Cursor* cursor, PageHeader* header) noexcept nogil:
    """Read a page header (parquet.thrift, PageHeader)."""
    cdef Field field
    cdef int64_t numbers[9]
    cdef int fault
    header.kind = header.plain_size = header.size = header.values = header.encoding = -1
    header.level_encoding = header.level_bytes = header.repetition_bytes = -1
    header.compressed = True
    field.number = 0
    while True:
        fault = read_field(cursor, &field)
        if fault:
            return fault
        if field.kind == STOP:
            return FINE if header.kind >= 0 and header.plain_size >= 0 and header.size >= 0 else HEADER
        if field.number == 1:
            fault = read_int(cursor, &field, &header.kind)
        elif field.number == 2:
            fault = read_int(cursor, &field, &header.plain_size)
        elif field.number == 3:
            fault = read_int(cursor, &field, &header.size)
        elif field.kind == STRUCT and (field.number == 5 or field.number == 7 or field.number == 8):
            fault = read_parts(cursor, numbers, 1)
            header.values, header.encoding, header.level_encoding = numbers[1], numbers[2], numbers[3]
            if field.number == 8:
                header.encoding, header.level_bytes, header.repetition_bytes = numbers[4], numbers[5], numbers[6]
                header.compressed = numbers[7] != 0
        else:
            fault = pass_field(cursor, &field, 1)
        if fault:
            return fault
