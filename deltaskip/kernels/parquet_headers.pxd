"""Headers of Parquet pages, read without Python objects; every function is inline.

What other readers of Thrift refuse or read in another way (fields that are missing, of another kind, or out of their
order) is not read here.
# parquet.thrift, PageHeader
"""

from libc.stdint cimport int64_t

from deltaskip.kernels.byte_cursor cimport FINE, HEADER, Cursor
from deltaskip.kernels.thrift_cursor cimport (
    FALSE_VALUE,
    I32,
    STOP,
    STRUCT,
    TRUE_VALUE,
    Field,
    pass_field,
    read_field,
    read_int,
)

cdef enum Encoding:
    PLAIN = 0
    PLAIN_DICTIONARY = 2
    RLE = 3
    RLE_DICTIONARY = 8

cdef enum PageKind:
    DATA_PAGE = 0
    DICTIONARY_PAGE = 2
    DATA_PAGE_V2 = 3


cdef struct PageHeader:
    int64_t kind
    int64_t plain_size
    int64_t size
    # Data pages and dictionary pages have:
    int64_t values
    int64_t encoding
    # Data pages of version 1 have:
    int64_t level_encoding
    int64_t repetition_encoding
    # Data pages of version 2 have:
    int64_t nulls
    int64_t rows
    int64_t level_bytes
    int64_t repetition_bytes
    bint compressed


cdef inline int read_parts(Cursor* cursor, int64_t* numbers, int count) noexcept nogil:
    """Read a struct whose fields 1 to `count` are numbers, to `numbers[1]` and on; field 7, a boolean, is 1 without."""
    cdef Field field
    cdef int fault, i
    cdef int64_t last = 0
    for i in range(1, 7):
        numbers[i] = -1
    numbers[7] = 1
    field.number = 0
    while True:
        fault = read_field(cursor, &field)
        if fault:
            return fault
        if field.kind == STOP:
            break
        if field.number <= last:
            return HEADER
        last = field.number
        if field.number <= count:
            fault = read_int(cursor, &field, I32, &numbers[field.number])
        elif count == 6 and field.number == 7:
            if field.kind != TRUE_VALUE and field.kind != FALSE_VALUE:
                return HEADER
            numbers[7] = field.kind == TRUE_VALUE
        else:
            fault = pass_field(cursor, &field, 1)
        if fault:
            return fault
    for i in range(1, count + 1):
        if numbers[i] < 0:
            return HEADER
    return FINE


cdef inline int read_page_header(Cursor* cursor, PageHeader* header) noexcept nogil:
    """Read a page header (parquet.thrift, PageHeader)."""
    cdef Field field
    cdef int64_t numbers[8]
    cdef int64_t last = 0
    cdef int fault, kind = -1
    header.kind = header.plain_size = header.size = -1
    header.compressed = True
    field.number = 0
    while True:
        fault = read_field(cursor, &field)
        if fault:
            return fault
        if field.kind == STOP:
            return FINE if header.kind == kind and header.plain_size >= 0 and header.size >= 0 else HEADER
        if field.number <= last:
            return HEADER
        last = field.number
        if field.number == 1:
            fault = read_int(cursor, &field, I32, &header.kind)
        elif field.number == 2:
            fault = read_int(cursor, &field, I32, &header.plain_size)
        elif field.number == 3:
            fault = read_int(cursor, &field, I32, &header.size)
        elif field.number == 5 or field.number == 7 or field.number == 8:
            if field.kind != STRUCT or kind >= 0:
                return HEADER
            kind = DATA_PAGE if field.number == 5 else DICTIONARY_PAGE if field.number == 7 else DATA_PAGE_V2
            fault = read_parts(cursor, numbers, 4 if kind == DATA_PAGE else 2 if kind == DICTIONARY_PAGE else 6)
            header.values, header.encoding, header.level_encoding = numbers[1], numbers[2], numbers[3]
            header.repetition_encoding = numbers[4]
            if kind == DATA_PAGE_V2:
                header.nulls, header.rows, header.encoding = numbers[2], numbers[3], numbers[4]
                header.level_bytes, header.repetition_bytes, header.compressed = numbers[5], numbers[6], numbers[7] != 0
        else:
            fault = pass_field(cursor, &field, 1)
        if fault:
            return fault
