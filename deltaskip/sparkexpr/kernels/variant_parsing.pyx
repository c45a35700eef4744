"""JSON strings as variants.

A text that has anything out of the ordinary is left to the caller: what is not standard JSON, escapes of surrogates,
an object that has a name twice, names whose order is another one in UTF-16, numbers of more than 18 digits, doubles
that are not read exactly by one operation, more than 60 containers inside each other, more than 256 names.

# Parquet, Variant Binary Encoding; Spark 4.1, VariantBuilder.java
"""

import pyarrow as pa

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memmove

from deltaskip.sparkexpr.kernels.arrow cimport NO_MEMORY, BinaryView, ByteBuffer, binary_view, check, is_valid, zeros
from deltaskip.sparkexpr.kernels.byte_order cimport order_of_bytes
from deltaskip.sparkexpr.kernels.json_cursor cimport Cursor, Text, append_text, expect, scan_string, skip_scalar, skip_space
from deltaskip.sparkexpr.kernels.json_number cimport plain_int64, short_double
from deltaskip.sparkexpr.kernels.variant_values cimport (
    ARRAY_TYPE, DECIMAL4, DECIMAL8, DOUBLE, FALSE, INT8, OBJECT_TYPE, STRING, TRUE, put, width_of
)
from deltaskip.sparkexpr.kernels.written cimport Span, Written, row_of, written_like

cdef enum:
    LEFT = 1
    MOST_BYTES = 1 << 20
    MOST_NAMES = 256
    MOST_DIGITS = 18
    DEEPEST = 60
    SHORT_TEXT = 63
    # From this first byte on, order in UTF-16 may differ from that of bytes.
    HIGH_CHARACTER = 0xEE


cdef struct Member:
    # A member of an object or array: where its value begins, and its name by its number and place among the names.
    int64_t start
    int64_t id
    int64_t name
    int64_t size


cdef class _Parser:
    """The variant of one text: its values, the names with their ends, and the members of containers that are open."""
    cdef ByteBuffer out
    cdef ByteBuffer names
    cdef ByteBuffer members
    cdef int64_t[257] ends
    cdef int64_t count
    cdef Cursor cursor

    def __cinit__(self):
        self.out, self.names, self.members = ByteBuffer(), ByteBuffer(), ByteBuffer()
        self.ends[0] = 0


def variants_of(texts: ArrowArrayExportable) -> tuple[pa.BinaryArray, pa.BinaryArray, pa.UInt8Array]:
    """Return the two binaries of the variant of each JSON text, and as uint8 which texts are left to the caller.

    The binaries are null where the text is, and empty where it is left. Raises TypeError for other formats.
    """
    cdef BinaryView view = binary_view(texts)
    cdef Written values = written_like(view)
    cdef Written metadata = written_like(view)
    cdef ByteBuffer left = zeros(view.length)
    cdef _Parser parser = _Parser()
    cdef int64_t i
    cdef int code = 0
    with nogil:
        for i in range(view.length):
            if is_valid(view.validity, view.offset + i):
                code = _parsed(parser, row_of(view, i))
                if code == NO_MEMORY:
                    break
                left.data[i] = code
                if code == 0 and (
                    values.add(i, parser.out.data, parser.out.size) != 0 or _add_names(parser, metadata, i) != 0
                ):
                    break
                if code == 0:
                    continue
            values.end(i)
            metadata.end(i)
    check(NO_MEMORY if code == NO_MEMORY else 0)
    return (
        values.array(pa.binary()),
        metadata.array(pa.binary()),
        pa.Array.from_buffers(pa.uint8(), view.length, [None, pa.py_buffer(left)]),
    )


cdef int _parsed(_Parser parser, Span text) noexcept nogil:
    cdef Cursor* c = &parser.cursor
    cdef int code
    parser.out.size = parser.names.size = parser.members.size = parser.count = 0
    if text.size > MOST_BYTES:
        return LEFT
    c.at, c.end, c.fault, c.depth = text.data, text.data + text.size, NULL, 0
    c.one_line = c.bare_numbers = False
    code = _value(parser, 0)
    if code != 0:
        return code
    return LEFT if skip_space(c) != 0 or c.at < c.end else 0


cdef int _add_names(_Parser parser, Written metadata, int64_t i) noexcept nogil:
    cdef int width = width_of(parser.names.size if parser.names.size > parser.count else parser.count)
    cdef int64_t k
    if metadata.reserve(1 + width * (parser.count + 2) + parser.names.size + 8) != 0:
        return -1
    put(metadata.data, 1 | (width - 1) << 6, 1)
    put(metadata.data, parser.count, width)
    for k in range(parser.count + 1):
        put(metadata.data, parser.ends[k], width)
    metadata.data.append(parser.names.data, parser.names.size)
    metadata.end(i)
    return 0


cdef int _value(_Parser parser, int depth) noexcept nogil:
    """Append one value. Return LEFT or NO_MEMORY if that fails."""
    cdef Cursor* c = &parser.cursor
    cdef uint8_t first = skip_space(c)
    cdef const uint8_t* begin = c.at
    if depth > DEEPEST:
        return LEFT
    if parser.out.reserve(32) != 0:
        return NO_MEMORY
    if first == 0x7B or first == 0x5B:
        return _container(parser, depth, first == 0x7B)
    if first == 0x22:
        return _text(parser)
    if first == 0 or skip_scalar(c, first) != 0:
        return LEFT
    if first == 0x6E:
        put(parser.out, 0, 1)
        return 0
    if first == 0x74 or first == 0x66:
        put(parser.out, (TRUE if first == 0x74 else FALSE) << 2, 1)
        return 0
    return _number(begin, c.at - begin, parser.out)


cdef int _text(_Parser parser) noexcept nogil:
    cdef Text text
    cdef int64_t start = parser.out.size, size
    parser.cursor.at += 1
    if scan_string(&parser.cursor, &text) != 0 or _has_surrogate(&text):
        return LEFT
    # The size of a long text is put before it when it is known.
    parser.out.size += 5
    if append_text(parser.out, &text) != 0:
        return NO_MEMORY
    size = parser.out.size - start - 5
    if size <= SHORT_TEXT:
        memmove(parser.out.data + start + 1, parser.out.data + start + 5, size)
        parser.out.data[start] = <uint8_t>(size << 2 | 1)
        parser.out.size = start + 1 + size
        return 0
    parser.out.data[start] = STRING << 2
    memcpy(parser.out.data + start + 1, &size, 4)
    return 0


cdef bint _has_surrogate(Text* text) noexcept nogil:
    """Whether there is an escape of a surrogate, alone or in a pair."""
    cdef const uint8_t* p = text.data
    cdef const uint8_t* end = p + text.size
    while text.escaped:
        p = <const uint8_t*>memchr(p, 0x5C, end - p)
        if p == NULL or end - p < 4:
            return False
        if p[1] == 0x75 and p[2] | 0x20 == 0x64 and p[3] >= 0x38:
            return True
        p += 2
    return False


cdef int _number(const uint8_t* text, int64_t size, ByteBuffer out) noexcept nogil:
    cdef int64_t k, number = 0, digits = 0, scale = 0, low
    cdef int width
    cdef bint point = False
    cdef double real = 0
    for k in range(size):
        if text[k] | 0x20 == 0x65:
            if not short_double(text, size, &real):
                return LEFT
            put(out, DOUBLE << 2, 1)
            memcpy(&low, &real, 8)
            put(out, low, 8)
            return 0
    for k in range(size):
        if text[k] == 0x2E:
            point = True
        elif text[k] != 0x2D:
            digits += digits > 0 or text[k] != 0x30
            scale += point
            if digits <= MOST_DIGITS:
                number = number * 10 + (text[k] - 0x30)
    if not point:
        if not plain_int64(text, size, &number):
            return LEFT
        width = 0 if -128 <= number < 128 else 1 if -32768 <= number < 32768 else 2
        if width == 2 and not -2147483648 <= number <= 2147483647:
            width = 3
        put(out, (INT8 + width) << 2, 1)
        put(out, number, 1 << width)
        return 0
    if digits > MOST_DIGITS or scale > MOST_DIGITS:
        return LEFT
    number = -number if text[0] == 0x2D else number
    width = 4 if digits <= 9 and scale <= 9 else 8
    put(out, (DECIMAL4 if width == 4 else DECIMAL8) << 2, 1)
    put(out, scale, 1)
    put(out, number, width)
    return 0


cdef int _container(_Parser parser, int depth, bint named) noexcept nogil:
    cdef Cursor* c = &parser.cursor
    cdef int64_t start = parser.out.size, first = parser.members.size
    cdef uint8_t last = 0x7D if named else 0x5D, mark
    cdef Member member
    cdef int code
    member.id = member.name = member.size = 0
    c.at += 1
    mark = skip_space(c)
    if mark == last:
        c.at += 1
        return _end(parser, start, first, named)
    while True:
        if named:
            code = _name(parser, &member)
            if code != 0:
                return code
        member.start = parser.out.size - start
        if parser.members.append(&member, sizeof(Member)) != 0:
            return NO_MEMORY
        code = _value(parser, depth + 1)
        if code != 0:
            return code
        mark = skip_space(c)
        c.at += 1
        if mark == last:
            return _end(parser, start, first, named)
        if mark != 0x2C:
            return LEFT


cdef int _name(_Parser parser, Member* member) noexcept nogil:
    """Read a name and a colon, and find the name among those that were read before."""
    cdef Cursor* c = &parser.cursor
    cdef Text text
    cdef int64_t k, start = parser.names.size
    if expect(c, 0x22, NULL) != 0 or scan_string(c, &text) != 0 or _has_surrogate(&text) or expect(c, 0x3A, NULL) != 0:
        return LEFT
    if append_text(parser.names, &text) != 0:
        return NO_MEMORY
    member.size = parser.names.size - start
    for k in range(member.size):
        if parser.names.data[start + k] >= HIGH_CHARACTER:
            return LEFT
    for k in range(parser.count):
        if parser.ends[k + 1] - parser.ends[k] == member.size and (
            member.size == 0 or memcmp(parser.names.data + parser.ends[k], parser.names.data + start, member.size) == 0
        ):
            parser.names.size = start
            member.id, member.name = k, parser.ends[k]
            return 0
    if parser.count == MOST_NAMES:
        return LEFT
    member.id, member.name = parser.count, start
    parser.count += 1
    parser.ends[parser.count] = parser.names.size
    return 0


cdef int _end(_Parser parser, int64_t start, int64_t first, bint named) noexcept nogil:
    """Put the header of a container before its values, which were written from `start` on."""
    cdef Member* members = <Member*>(parser.members.data + first) if parser.members.size > first else NULL
    cdef int64_t k, count = (parser.members.size - first) // <int64_t>sizeof(Member), size = parser.out.size - start, head
    cdef int64_t last_id = 0
    cdef int width = width_of(size), id_width = 0
    cdef bint large = count > 0xFF
    if named:
        if not _sorted(members, count, parser.names.data):
            return LEFT
        for k in range(count):
            if members[k].id > last_id:
                last_id = members[k].id
        id_width = width_of(last_id)
    head = 1 + (4 if large else 1) + count * id_width + (count + 1) * width
    if parser.out.reserve(head + 16) != 0:
        return NO_MEMORY
    if size > 0:
        memmove(parser.out.data + start + head, parser.out.data + start, size)
    parser.out.size = start
    if named:
        put(parser.out, (large << 4 | id_width - 1 << 2 | width - 1) << 2 | OBJECT_TYPE, 1)
    else:
        put(parser.out, (large << 2 | width - 1) << 2 | ARRAY_TYPE, 1)
    put(parser.out, count, 4 if large else 1)
    if named:
        for k in range(count):
            put(parser.out, members[k].id, id_width)
    for k in range(count):
        put(parser.out, members[k].start, width)
    put(parser.out, size, width)
    parser.out.size = start + head + size
    parser.members.size = first
    return 0


cdef bint _sorted(Member* members, int64_t count, const uint8_t* names) noexcept nogil:
    """Sort members by their names; whether no two have the same one. Few are out of order."""
    cdef int64_t k, at
    cdef Member member
    cdef int order
    for k in range(1, count):
        member = members[k]
        at = k
        while at > 0:
            order = order_of_bytes(
                names + members[at - 1].name, members[at - 1].size, names + member.name, member.size
            )
            if order == 0:
                return False
            if order < 0:
                break
            members[at] = members[at - 1]
            at -= 1
        members[at] = member
    return True
