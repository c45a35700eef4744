"""Values at the end of a path in JSON texts, as Spark writes them, the lengths of arrays, and what is in both kinds
of containers.

A text that has anything out of the ordinary is left to the caller, by the kind 255: what is not standard JSON, escapes
of code units, numbers whose text depends on the version of Java, more than 60 containers inside each other.

# Spark 4.1, GetJsonObjectEvaluator, JsonExpressionUtils
"""

import pyarrow as pa

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t
from libc.string cimport memchr, memcmp

from deltaskip.sparkexpr.kernels.arrow cimport (
    NO_MEMORY, BinaryView, ByteBuffer, PrimitiveView, binary_view, check, is_valid, zeros
)
from deltaskip.sparkexpr.kernels.json_cursor cimport (
    Cursor, Text, append_text, expect, scan_string, skip_scalar, skip_space
)
from deltaskip.sparkexpr.kernels.lane cimport same_length, whole_view
from deltaskip.sparkexpr.kernels.written cimport Span, row_of


cdef enum:
    NOTHING = 0
    STRING = 1
    INTEGER = 2
    REAL = 3
    BOOLEAN = 4
    OBJECT = 5
    LIST = 6
    NULL_VALUE = 7
    TWICE = 64
    LEFT = 255
    NO_CONTAINERS = 0
    AS_THEY_STAND = 1
    MOST_BYTES = 1 << 20
    MOST_DIGITS = 400
    DEEPEST = 60
    FIGURES = 15


cdef struct Walk:
    Cursor cursor
    int64_t steps
    bint found
    bint twice
    uint8_t kind
    const uint8_t* begin
    const uint8_t* end


def texts_at(
    texts: ArrowArrayExportable, names: ArrowArrayExportable, indices: ArrowArrayExportable, int containers=2
) -> tuple[pa.StringArray, pa.UInt8Array]:
    """Return what is found at the end of a path in each text, and its kind as uint8.

    texts: strings. names: binary, the name of each step; indices: int64, its number from 0, or -1 where the name counts.
    The kinds: 0 nothing is found, 1 string, 2 integer, 3 number with a point, 4 boolean, 5 object, 6 array, 7 null, and
    255 for a text that is left to the caller; 64 is added if an object has the name of a step twice. Texts are null for
    0 and 255. containers: The texts of objects and arrays: 0 they are empty, 1 as they stand, 2 as Spark writes them.
    Raises TypeError for other formats, and ValueError for steps that do not fit.
    """
    cdef BinaryView view = binary_view(texts)
    cdef BinaryView name = binary_view(names)
    cdef PrimitiveView index = whole_view(indices, b"l")
    same_length(name.length, index.length)
    cdef ByteBuffer offsets = ByteBuffer()
    cdef ByteBuffer data = ByteBuffer()
    cdef ByteBuffer kinds = ByteBuffer()
    cdef ByteBuffer valid = zeros((view.length + 7) // 8)
    cdef Walk walk
    cdef int64_t i, before
    cdef int code = 0
    cdef uint8_t kind
    check(offsets.reserve(4 * view.length + 4))
    check(kinds.reserve(view.length + 1))
    check(data.reserve(64))
    with nogil:
        offsets.append_int32(0)
        for i in range(view.length):
            kind = NOTHING
            before = data.size
            if is_valid(view.validity, view.offset + i):
                walk.steps = name.length
                kind = _walked(&walk, row_of(view, i), name, <const int64_t*>index.values)
                if kind != NOTHING and kind != LEFT:
                    code = _write(&walk, containers, data)
                    if code == NO_MEMORY:
                        break
                    if code != 0 or data.size > INT32_MAX:
                        code = 0
                        data.size = before
                        kind = LEFT
                    elif walk.twice:
                        kind |= TWICE
            if kind != NOTHING and kind != LEFT:
                valid.data[i >> 3] |= <uint8_t>(1 << (i & 7))
            offsets.append_int32(<int32_t>data.size)
            kinds.append_byte(kind)
    check(code)
    found = pa.Array.from_buffers(
        pa.string(), view.length, [pa.py_buffer(valid), pa.py_buffer(offsets), pa.py_buffer(data)]
    )
    return found, pa.Array.from_buffers(pa.uint8(), view.length, [None, pa.py_buffer(kinds)])


def parts(
    texts: ArrowArrayExportable, int containers
) -> tuple[pa.Int32Array, pa.StringArray, pa.StringArray, pa.UInt8Array, pa.UInt8Array]:
    """Return what is in the array or the object of each text: their number for each text as int32, then their names,
    texts and kinds, and the kind of each text.

    Names are strings, "" for elements of arrays; texts, kinds and `containers` are those of `texts_at`. A text that is
    neither is left to the caller; its number is null, as that of a null text is.
    """
    cdef BinaryView view = binary_view(texts)
    cdef BinaryView none = binary_view(pa.nulls(0, pa.binary()))
    cdef ByteBuffer counts = ByteBuffer()
    cdef ByteBuffer kinds = ByteBuffer()
    cdef ByteBuffer valid = zeros((view.length + 7) // 8)
    cdef _Parts found
    cdef Walk walk
    cdef int64_t i, before, data_before, name_before
    cdef int code = 0
    cdef uint8_t kind
    found = _Parts()
    check(counts.reserve(4 * view.length + 4))
    check(kinds.reserve(view.length + 1))
    check(found.names.reserve(64))
    check(found.data.reserve(64))
    check(found.kinds.reserve(64))
    with nogil:
        code = found.ends.append_int32(0) | found.name_ends.append_int32(0)
        for i in range(view.length):
            if code != 0:
                break
            kind = NOTHING
            before = found.count
            data_before, name_before = found.data.size, found.names.size
            if is_valid(view.validity, view.offset + i):
                kind = _started(&walk, row_of(view, i))
                if kind != LEFT:
                    code = _parts(&walk, kind, containers, found, none)
                    if code == 1:
                        code = 0
                        kind = LEFT
                        found.count = before
                        found.data.size, found.names.size = data_before, name_before
                        found.kinds.size = before
                        found.ends.size = found.name_ends.size = 4 * (before + 1)
            if kind == OBJECT or kind == LIST:
                valid.data[i >> 3] |= <uint8_t>(1 << (i & 7))
            counts.append_int32(<int32_t>(found.count - before))
            kinds.append_byte(kind)
    check(code)
    return (
        pa.Array.from_buffers(pa.int32(), view.length, [pa.py_buffer(valid), pa.py_buffer(counts)]),
        pa.Array.from_buffers(
            pa.string(), found.count, [None, pa.py_buffer(found.name_ends), pa.py_buffer(found.names)]
        ),
        pa.Array.from_buffers(pa.string(), found.count, [None, pa.py_buffer(found.ends), pa.py_buffer(found.data)]),
        pa.Array.from_buffers(pa.uint8(), found.count, [None, pa.py_buffer(found.kinds)]),
        pa.Array.from_buffers(pa.uint8(), view.length, [None, pa.py_buffer(kinds)]),
    )


cdef class _Parts:
    """The names, texts and kinds of what is in objects and arrays."""
    cdef ByteBuffer names, name_ends, data, ends, kinds
    cdef int64_t count

    def __cinit__(self):
        self.names, self.name_ends, self.data = ByteBuffer(), ByteBuffer(), ByteBuffer()
        self.ends, self.kinds = ByteBuffer(), ByteBuffer()


cdef int _parts(Walk* walk, uint8_t kind, int containers, _Parts out, BinaryView none) noexcept nogil:
    """Append what is in the object or the array where the cursor is; 1 to leave the text."""
    cdef Cursor* c = &walk.cursor
    cdef Text key
    cdef uint8_t mark, last = 0x7D if kind == OBJECT else 0x5D
    cdef int code
    c.at += 1
    if skip_space(c) == last:
        return 0
    walk.steps = 0
    while True:
        if kind == OBJECT:
            if expect(c, 0x22, NULL) != 0 or scan_string(c, &key) != 0 or key.escaped or expect(c, 0x3A, NULL) != 0:
                return 1
            code = out.names.append(key.data, key.size)
            if code != 0:
                return code
        walk.found = False
        if _value(walk, 0, 1, none, NULL) != 0:
            return 1
        code = _write(walk, containers, out.data)
        if code != 0:
            return code
        if out.data.size > INT32_MAX or out.names.size > INT32_MAX:
            return 1
        code = out.ends.append_int32(<int32_t>out.data.size) | out.name_ends.append_int32(<int32_t>out.names.size)
        code |= out.kinds.append_byte(walk.kind)
        if code != 0:
            return NO_MEMORY
        out.count += 1
        mark = skip_space(c)
        c.at += 1
        if mark == last:
            return 0
        if mark != 0x2C:
            return 1


cdef uint8_t _started(Walk* walk, Span row) noexcept nogil:
    """Begin a text: whether it is an object or an array, or left to the caller."""
    cdef uint8_t first
    walk.found = walk.twice = False
    if row.size > MOST_BYTES:
        return LEFT
    walk.cursor.at = row.data
    walk.cursor.end = row.data + row.size
    walk.cursor.fault = NULL
    walk.cursor.depth = 0
    walk.cursor.one_line = walk.cursor.bare_numbers = False
    first = skip_space(&walk.cursor)
    return OBJECT if first == 0x7B else LIST if first == 0x5B else LEFT


cdef uint8_t _walked(Walk* walk, Span row, BinaryView names, const int64_t* indices) noexcept nogil:
    """The kind of what is at the end of the path in one text."""
    if _started(walk, row) == LEFT or _value(walk, 0, 0, names, indices) != 0:
        return LEFT
    return walk.kind if walk.found else NOTHING


cdef int _value(Walk* walk, int64_t step, int depth, BinaryView names, const int64_t* indices) noexcept nogil:
    """Pass one value, which is what `step` steps lead to, or beside the path if that is -1; not 0 to leave the text."""
    cdef Cursor* c = &walk.cursor
    cdef uint8_t first = skip_space(c)
    cdef const uint8_t* begin = c.at
    cdef bint ends = step == walk.steps and not walk.found
    cdef int64_t inner = -1 if ends or walk.found else step
    if depth > DEEPEST:
        return 1
    if first == 0x7B:
        if _object(walk, inner, depth, names, indices) != 0:
            return 1
    elif first == 0x5B:
        if _list(walk, inner, depth, names, indices) != 0:
            return 1
    elif _scalar(c, first) != 0:
        return 1
    if ends:
        walk.found = True
        walk.begin, walk.end = begin, c.at
        walk.kind = _kind(begin, c.at)
    return 0


cdef int _scalar(Cursor* c, uint8_t first) noexcept nogil:
    cdef const uint8_t* begin = c.at
    if skip_scalar(c, first) != 0:
        return 1
    if first != 0x22:
        return c.at - begin > MOST_DIGITS
    return _has_code_unit(begin, c.at)


cdef bint _has_code_unit(const uint8_t* p, const uint8_t* end) noexcept nogil:
    """Whether there may be an escape of a code unit."""
    while True:
        p = <const uint8_t*>memchr(p, 0x5C, end - p)
        if p == NULL or end - p < 2:
            return False
        if p[1] == 0x75:
            return True
        p += 2


cdef int _object(Walk* walk, int64_t step, int depth, BinaryView names, const int64_t* indices) noexcept nogil:
    cdef Cursor* c = &walk.cursor
    cdef Text key
    cdef bint here, named = step >= 0 and step < walk.steps and indices[step] < 0
    cdef int64_t matched = 0
    cdef uint8_t mark
    c.at += 1
    if skip_space(c) == 0x7D:
        c.at += 1
        return 0
    while True:
        if expect(c, 0x22, NULL) != 0 or scan_string(c, &key) != 0 or key.escaped or expect(c, 0x3A, NULL) != 0:
            return 1
        here = named and key.size == names.end(step) - names.start(step)
        here = here and (key.size == 0 or memcmp(key.data, names.data + names.start(step), key.size) == 0)
        matched += here
        here = here and not walk.found and skip_space(c) != 0x6E
        if _value(walk, step + 1 if here else -1, depth + 1, names, indices) != 0:
            return 1
        mark = skip_space(c)
        c.at += 1
        if mark == 0x7D:
            walk.twice |= matched > 1
            return 0
        if mark != 0x2C:
            return 1


cdef int _list(Walk* walk, int64_t step, int depth, BinaryView names, const int64_t* indices) noexcept nogil:
    cdef Cursor* c = &walk.cursor
    cdef bint numbered = step >= 0 and step < walk.steps and indices[step] >= 0
    cdef int64_t number = 0
    cdef uint8_t mark
    c.at += 1
    if skip_space(c) == 0x5D:
        c.at += 1
        return 0
    while True:
        if _value(walk, step + 1 if numbered and indices[step] == number else -1, depth + 1, names, indices) != 0:
            return 1
        number += 1
        mark = skip_space(c)
        c.at += 1
        if mark == 0x5D:
            return 0
        if mark != 0x2C:
            return 1


cdef uint8_t _kind(const uint8_t* p, const uint8_t* end) noexcept nogil:
    cdef uint8_t first = p[0]
    if first == 0x7B:
        return OBJECT
    if first == 0x5B:
        return LIST
    if first == 0x22:
        return STRING
    if first == 0x6E:
        return NULL_VALUE
    if first == 0x74 or first == 0x66:
        return BOOLEAN
    while p < end:
        if p[0] == 0x2E or p[0] | 0x20 == 0x65:
            return REAL
        p += 1
    return INTEGER


cdef int _write(Walk* walk, int containers, ByteBuffer out) noexcept nogil:
    """Append what was found: a string without quotes, anything else as JSON; 1 to leave the text."""
    cdef Cursor c
    cdef Text text
    if walk.kind == OBJECT or walk.kind == LIST:
        if containers == NO_CONTAINERS:
            return 0
        if containers == AS_THEY_STAND:
            return out.append(walk.begin, walk.end - walk.begin)
    if walk.kind == STRING:
        c = walk.cursor
        c.at, c.end = walk.begin + 1, walk.end
        if scan_string(&c, &text) != 0:
            return 1
        return append_text(out, &text)
    return _copy(walk.begin, walk.end, out)


cdef int _copy(const uint8_t* p, const uint8_t* end, ByteBuffer out) noexcept nogil:
    """Append JSON without blanks, its numbers as Spark writes them."""
    cdef const uint8_t* begin
    cdef int code
    if out.reserve(end - p + 16) != 0:
        return NO_MEMORY
    while p < end:
        begin = p
        if p[0] == 0x22:
            p += 1
            while p[0] != 0x22:
                # Jackson may escape what is beyond 16 bits.
                if p[0] == 0x5C or p[0] >= 0xF0:
                    return 1
                p += 1
            p += 1
            code = out.append(begin, p - begin)
        elif p[0] == 0x2D or 0x30 <= p[0] <= 0x39:
            while p < end and (0x2B <= p[0] <= 0x2E and p[0] != 0x2C or 0x30 <= p[0] <= 0x39 or p[0] | 0x20 == 0x65):
                p += 1
            code = _copy_number(begin, p, out)
        else:
            p += 1
            code = 0 if begin[0] <= 0x20 else out.append(begin, 1)
        if code != 0:
            return code
    return 0


cdef int _copy_number(const uint8_t* p, const uint8_t* end, ByteBuffer out) noexcept nogil:
    """Append an integer, or a number with a point and few digits near 1, whose text does not depend on Java."""
    cdef const uint8_t* begin = p
    cdef const uint8_t* point = <const uint8_t*>memchr(p, 0x2E, end - p)
    cdef const uint8_t* last = end
    cdef const uint8_t* q
    cdef bint minus = p[0] == 0x2D
    p += minus
    if point == NULL:
        if memchr(p, 0x65, end - p) != NULL or memchr(p, 0x45, end - p) != NULL or (minus and p[0] == 0x30):
            return 1
        return out.append(begin, end - begin)
    while last - point > 2 and last[-1] == 0x30:
        last -= 1
    if last - p > FIGURES + 1 or point - p > 7:
        return 1
    q = point + 1
    while q < end:
        if not 0x30 <= q[0] <= 0x39:
            return 1
        q += 1
    if p[0] == 0x30 and not (last - point == 2 and point[1] == 0x30):
        # Below 0.001 there is an exponent.
        if last - point > 3 and point[1] == 0x30 and point[2] == 0x30 and point[3] == 0x30:
            return 1
    return out.append(begin, last - begin)
