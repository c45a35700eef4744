"""Leaves of JSON texts straight to Arrow columns.

The wanted paths make a tree of keys. A text is walked along that tree once; what no path leads to is skipped. What a leaf
holds is only noted on its node until the text has proved to be whole, then it goes to the leaf's column.
"""

from collections import namedtuple

import pyarrow as pa

cimport cython
from libc.math cimport INFINITY, NAN
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memset

from deltaskip.kernels.arrow cimport BinaryView, ByteBuffer, PrimitiveView, binary_view, check, primitive_view
from deltaskip.kernels.json_cursor cimport (
    MAX_DEPTH, SYNTAX, Cursor, Text, append_text, expect, is_word, plain_int64, read_key, scan_string, skip_brackets,
    skip_number, skip_scalar, skip_space, skip_value, skip_word, starts_number,
)

MISSING = 0
JSON_NULL = 1
STRING = 2
NUMBER = 3
BOOLEAN = 4
NESTED = 5
INVALID = 6

cdef enum Kind:
    IS_MISSING = 0
    IS_NULL = 1
    IS_STRING = 2
    IS_NUMBER = 3
    IS_BOOLEAN = 4
    IS_NESTED = 5
    IS_INVALID = 6

cdef enum Wanted:
    TEXTS
    LONGS
    DOUBLES

cdef enum:
    NOBODY = -1

Leaf = namedtuple("Leaf", ("text", "kind"))


def extract_leaves(stats, paths):
    return [Leaf(*leaf) for leaf in _extract(stats, paths, TEXTS)]


def extract_int64(stats, paths):
    return _extract(stats, paths, LONGS)


def extract_double(stats, paths):
    return _extract(stats, paths, DOUBLES)


cdef list _extract(object stats, object paths, Wanted wanted):
    cdef BinaryView texts = binary_view(stats)
    cdef KeyTree tree = KeyTree(wanted)
    cdef int code
    leaves = [tree.add(tuple(path), texts.length) for path in paths]
    with nogil:
        code = tree.read(texts)
    check(code)
    arrays = [(<LeafColumn>column).finish(wanted) for column in tree.owners]
    return [arrays[leaf] for leaf in leaves]


cdef struct Node:
    const uint8_t* key
    int64_t key_size
    bint plain          # the key needs no escape, so that its bytes between quotes are the key
    int child           # the first of its children, each of which names the next
    int sibling
    int parent
    int guess           # the child that is likely to come next
    int leaf            # its column, or NOBODY
    int64_t seen        # the last row that has it
    int64_t repeated    # the last row that has it twice
    Kind kind
    Text text


cdef class LeafColumn:
    """A leaf's values, an item a row; `doubts` are the rows of numbers that Arrow must parse, their texts in `text`."""
    cdef ByteBuffer kinds       # uint8
    cdef ByteBuffer there       # bitmap
    cdef ByteBuffer values      # int64, double, or int64 ends of texts that begin with a 0
    cdef ByteBuffer text
    cdef ByteBuffer doubts      # int64
    cdef ByteBuffer doubt_ends  # int64
    cdef int64_t rows

    def __cinit__(self, int64_t rows):
        self.rows = rows
        self.kinds = _zeros(rows)
        self.there = _zeros((rows + 7) // 8)
        self.values = _zeros((rows + 1) * 8)
        self.text = ByteBuffer()
        self.doubts = ByteBuffer()
        self.doubt_ends = _zeros(8)

    cdef int put(self, int64_t row, Wanted wanted, Kind kind, Text* text) noexcept nogil:
        """Set one item: 0, or -1 when memory is out."""
        cdef bint there = wanted == TEXTS and IS_STRING <= kind <= IS_BOOLEAN
        self.kinds.data[row] = kind
        if wanted == TEXTS:
            if there and append_text(self.text, text) != 0:
                return -1
            (<int64_t*>self.values.data)[row + 1] = self.text.size
        elif kind == IS_NUMBER and wanted == LONGS:
            there = plain_int64(text.data, text.size, <int64_t*>self.values.data + row)
        elif kind == IS_NUMBER:
            there = True
            if not short_double(text.data, text.size, <double*>self.values.data + row):
                if append_text(self.text, text) != 0 or self.doubts.append_int64(row) != 0:
                    return -1
                if self.doubt_ends.append_int64(self.text.size) != 0:
                    return -1
        if there:
            self.there.data[row >> 3] = <uint8_t>(self.there.data[row >> 3] | 1 << (row & 7))
        return 0

    cdef tuple finish(self, Wanted wanted):
        there = pa.py_buffer(self.there)
        kinds = pa.Array.from_buffers(pa.uint8(), self.rows, [None, pa.py_buffer(self.kinds)], 0)
        if wanted == TEXTS:
            buffers = [there, pa.py_buffer(self.values), pa.py_buffer(self.text)]
            return pa.Array.from_buffers(pa.large_string(), self.rows, buffers), kinds
        if self.doubts.size > 0:
            self.settle_doubts()
        self.values.size = self.rows * 8
        type = pa.int64() if wanted == LONGS else pa.float64()
        return pa.Array.from_buffers(type, self.rows, [there, pa.py_buffer(self.values)]), kinds

    cdef int settle_doubts(self) except -1:
        """Let Arrow find the double nearest to each text, and Python where one is too big or too small for Arrow."""
        cdef int64_t i
        cdef int64_t n = self.doubts.size // 8
        cdef PrimitiveView doubles
        texts = pa.Array.from_buffers(pa.large_string(), n, [None, pa.py_buffer(self.doubt_ends), pa.py_buffer(self.text)])
        try:
            parsed = texts.cast(pa.float64())
        except pa.ArrowInvalid:
            parsed = pa.array([float(text) for text in texts.to_pylist()], pa.float64())
        doubles = primitive_view(parsed, 8)
        for i in range(n):
            (<double*>self.values.data)[(<int64_t*>self.doubts.data)[i]] = (<const double*>doubles.values)[i]
        return 0


@cython.final
cdef class KeyTree:
    """The wanted paths, node 0 being the root of every text."""
    cdef ByteBuffer nodes       # Node by Node
    cdef ByteBuffer leaves      # int64: node of each leaf
    cdef ByteBuffer columns     # borrowed LeafColumn pointers; `owners` holds them
    cdef ByteBuffer scratch
    cdef list owners
    cdef list keys
    cdef Wanted wanted
    cdef Cursor cursor
    cdef const uint8_t* readable
    cdef bint repeats           # some key of the row came twice

    def __cinit__(self, Wanted wanted):
        self.nodes = ByteBuffer()
        self.leaves = ByteBuffer()
        self.columns = ByteBuffer()
        self.scratch = ByteBuffer()
        self.owners = []
        self.keys = []
        self.wanted = wanted
        self.add_node(b"", NOBODY)

    cdef Node* node(self, int number) noexcept nogil:
        return <Node*>self.nodes.data + number

    cdef int add_node(self, bytes key, int parent) except -2:
        cdef Node node
        cdef int number = <int>(self.nodes.size // <int64_t>sizeof(Node))
        self.keys.append(key)
        memset(&node, 0, sizeof(Node))
        node.key = <const uint8_t*><const char*>key
        node.key_size = len(key)
        node.plain = all(byte >= 0x20 and byte != 0x22 and byte != 0x5C for byte in key)
        node.child = node.guess = node.leaf = NOBODY
        node.seen = node.repeated = -1
        node.parent = parent
        node.sibling = NOBODY
        if parent != NOBODY:
            node.sibling = self.node(parent).child
            self.node(parent).child = number
        check(self.nodes.append(&node, sizeof(Node)))
        return number

    cdef int add(self, tuple path, int64_t rows) except -2:
        """The leaf of this path."""
        cdef int number = 0
        cdef int child
        cdef bytes key
        cdef void* column
        if not 0 < len(path) <= MAX_DEPTH:
            raise ValueError(f"a path has 1 to {MAX_DEPTH} keys, not {len(path)}")
        for part in path:
            key = part.encode()
            child = self.child_of(number, <const uint8_t*><const char*>key, len(key))
            number = self.add_node(key, number) if child == NOBODY else child
        if self.node(number).leaf == NOBODY:
            self.node(number).leaf = len(self.owners)
            self.owners.append(LeafColumn(rows))
            column = <void*>self.owners[len(self.owners) - 1]
            check(self.columns.append(&column, sizeof(column)))
            check(self.leaves.append_int64(number))
        return self.node(number).leaf

    cdef int child_of(self, int number, const uint8_t* key, int64_t size) noexcept nogil:
        cdef int child = self.node(number).child
        while child != NOBODY:
            if self.node(child).key_size == size and memcmp(self.node(child).key, key, size) == 0:
                break
            child = self.node(child).sibling
        return child

    cdef int read(self, BinaryView texts) noexcept nogil:
        """Fill every column: 0, or -1 when memory is out."""
        cdef int64_t row
        cdef int code
        self.cursor.one_line = False
        self.cursor.bare_numbers = True
        if texts.length > 0:
            self.readable = texts.data + texts.end(texts.length - 1)
        for row in range(texts.length):
            code = 0
            if texts.is_valid(row):
                self.cursor.at = texts.data + texts.start(row)
                self.cursor.end = texts.data + texts.end(row)
                self.cursor.depth = 0
                self.repeats = False
                code = self.read_text(row)
            if code == -1 or self.put_row(row, code) != 0:
                return -1
        return 0

    cdef int put_row(self, int64_t row, int code) noexcept nogil:
        cdef int64_t leaf
        cdef Node* node
        cdef Kind kind
        for leaf in range(self.leaves.size // 8):
            node = self.node(<int>(<int64_t*>self.leaves.data)[leaf])
            kind = IS_INVALID if code != 0 else node.kind if node.seen == row else IS_MISSING
            if self.repeats and kind != IS_INVALID and self.is_repeated(node, row):
                kind = IS_MISSING
            if (<LeafColumn>(<void**>self.columns.data)[leaf]).put(row, self.wanted, kind, &node.text) != 0:
                return -1
        return 0

    cdef bint is_repeated(self, Node* node, int64_t row) noexcept nogil:
        while node.repeated != row:
            if node.parent == NOBODY:
                return False
            node = self.node(node.parent)
        return True

    cdef int read_text(self, int64_t row) noexcept nogil:
        cdef Cursor* c = &self.cursor
        cdef int code
        if skip_space(c) == 0x7B:
            c.at += 1
            code = self.read_object(0, row)
        else:
            code = skip_value(c)
        if code == 0:
            skip_space(c)
            if c.at != c.end:
                return SYNTAX
        return code

    cdef int read_object(self, int number, int64_t row) noexcept nogil:
        """Read an object whose opening bracket has been passed. Recursion goes no deeper than the longest path."""
        cdef Cursor* c = &self.cursor
        cdef Text key
        cdef Node* likely
        cdef int child, code
        c.depth += 1
        if skip_space(c) == 0x7D:
            c.at += 1
            c.depth -= 1
            return 0
        while True:
            child = self.node(number).guess
            likely = self.node(child) if child != NOBODY else NULL
            if likely != NULL and likely.plain and c.end - c.at > likely.key_size + 2 and (
                c.at[0] == 0x22 and c.at[likely.key_size + 1] == 0x22 and c.at[likely.key_size + 2] == 0x3A
            ) and memcmp(c.at + 1, likely.key, likely.key_size) == 0:
                c.at += likely.key_size + 3
            else:
                code = read_key(c, &key, self.scratch)
                if code != 0:
                    return code
                child = self.child_of(number, key.data, key.size)
            if child == NOBODY:
                code = self.skip_unwanted()
            else:
                code = self.read_wanted(child, row)
                likely = self.node(child)
                self.node(number).guess = self.node(number).child if likely.sibling == NOBODY else likely.sibling
            if code != 0:
                return code
            if skip_space(c) == 0x7D:
                break
            if expect(c, 0x2C, b"a comma or a closing bracket is missing") != 0:
                return SYNTAX
            skip_space(c)
        c.at += 1
        c.depth -= 1
        return 0

    cdef int skip_unwanted(self) noexcept nogil:
        cdef Cursor* c = &self.cursor
        cdef uint8_t ch = skip_space(c)
        if ch == 0x7B or ch == 0x5B:
            return skip_brackets(c, self.readable)
        return skip_scalar(c, ch)

    cdef int read_wanted(self, int number, int64_t row) noexcept nogil:
        """Note on the node what its key's value is."""
        cdef Cursor* c = &self.cursor
        cdef Node* node = self.node(number)
        cdef uint8_t ch = skip_space(c)
        cdef int code
        if node.seen == row:
            node.repeated = row
            self.repeats = True
        node.seen = row
        node.text.data = c.at
        node.text.escaped = False
        if ch == 0x22:
            node.kind = IS_STRING
            c.at += 1
            return scan_string(c, &node.text)
        if ch == 0x7B and node.child != NOBODY:
            node.kind = IS_NESTED
            c.at += 1
            return self.read_object(number, row)
        if ch == 0x7B or ch == 0x5B:
            node.kind = IS_NESTED
            return skip_brackets(c, self.readable)
        node.kind = IS_NUMBER if starts_number(c, ch) else IS_NULL if ch == 0x6E else IS_BOOLEAN
        code = skip_scalar(c, ch)
        node.text.size = c.at - node.text.data
        return code


cdef ByteBuffer _zeros(int64_t size):
    cdef ByteBuffer buffer = ByteBuffer()
    check(buffer.reserve(size + 1))
    memset(buffer.data, 0, size)
    buffer.size = size
    return buffer


cdef inline bint short_double(const uint8_t* p, int64_t size, double* value) noexcept nogil:
    """The number's double where one multiplication or division gives it exactly: the digits fit 53 bits and the power
    of ten is at most 22, so that both are doubles and IEEE 754 rounds once. Bare numbers too."""
    cdef const uint8_t* end = p + size
    cdef bint negative = p[0] == 0x2D
    cdef uint64_t digits = 0
    cdef int power = 0
    cdef int exponent = 0
    cdef bint point = False
    cdef bint minus = False
    if negative:
        p += 1
    if p[0] == 0x4E or p[0] == 0x49:
        value[0] = NAN if p[0] == 0x4E else -INFINITY if negative else INFINITY
        return True
    while p < end and p[0] | 0x20 != 0x65:
        if p[0] == 0x2E:
            point = True
        else:
            digits = digits * 10 + (p[0] - 0x30)
            power -= point
            if digits > <uint64_t>1 << 53 or power < -400:
                return False
        p += 1
    if p < end:
        p += 1
        minus = p[0] == 0x2D
        p += minus or p[0] == 0x2B
        while p < end:
            exponent = exponent * 10 + (p[0] - 0x30)
            if exponent > 400:
                return False
            p += 1
        power += -exponent if minus else exponent
    if not -22 <= power <= 22:
        return False
    value[0] = <double>digits / POWERS[-power] if power < 0 else <double>digits * POWERS[power]
    if negative:
        value[0] = -value[0]
    return True


cdef double[23] POWERS
for _power in range(23):
    POWERS[_power] = 10.0**_power
