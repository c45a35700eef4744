"""Leaves of JSON strings to Arrow columns.

The wanted paths form a tree of keys. A text is parsed along that tree in one pass, and all other members are skipped.
A key is found in a hash table, so that the time depends on the bytes of a text and not on the number of wanted keys.
The value of a leaf stays on its node until the whole text is known to be valid, and then goes to the leaf's column.
"""

from typing import NamedTuple

import pyarrow as pa

cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memset

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView, ByteBuffer, binary_view, check, is_valid, zeros
from deltaskip.sparkexpr.kernels.byte_masks cimport same_bytes
from deltaskip.sparkexpr.kernels.json_cursor cimport (
    MAX_DEPTH, SYNTAX, Cursor, Text, read_key, scan_string, skip_brackets, skip_scalar, skip_space, skip_value,
    starts_number,
)
from deltaskip.kernels.leaf_column cimport (
    DOUBLES, IS_BOOLEAN, IS_INVALID, IS_MISSING, IS_NESTED, IS_NULL, IS_NUMBER, IS_STRING, LONGS, TEXTS, Kind,
    LeafColumn, Wanted,
)

MISSING: int = 0
JSON_NULL: int = 1
STRING: int = 2
NUMBER: int = 3
BOOLEAN: int = 4
NESTED: int = 5
INVALID: int = 6

cdef enum:
    NOBODY = -1
    NOT_JSON = -2
    OUT_OF_MEMORY = -3
    FIRST_SLOTS = 64
    SHAPE = 48
    LONGEST_IDENTIFIER = 256

# COLLATIONS RFC, Per-file Statistics: the keys of this member are collation identifiers, whose letter case means nothing.
cdef bytes COLLATED = b"statsWithCollation"


class Leaf(NamedTuple):
    """The values at one path, one per text.

    Attributes:
        text: large_string: strings unescaped, numbers as written, "true", "false"; null for every other kind.
        kind: uint8: 0 missing, 1 JSON null, 2 string, 3 number, 4 boolean, 5 object or array, 6 the whole text is not JSON.
    """

    text: pa.Array
    kind: pa.Array



def extract_leaves(stats: pa.Array, paths: Sequence[tuple[str, ...]]) -> list[Leaf]:
    """Return the values at `paths` (keys from the root through objects only) of each JSON text, in their order.

    stats: string, large_string, binary or large_binary Array (not chunked). A null text has kind 0 everywhere.
    A key of a path that occurs twice in its object makes every leaf at or below it missing (kind 0).
    Bare NaN, Infinity and -Infinity are numbers. Values outside the paths are skipped: brackets, strings and the
    end of the text are checked there, numbers and literals are not.

    Raises TypeError for an array of another type, ValueError for an empty path.
    """
    return [Leaf(*leaf) for leaf in _extract(stats, paths, TEXTS)]


def extract_int64(stats: pa.Array, paths: Sequence[tuple[str, ...]]) -> list[tuple[pa.Array, pa.Array]]:
    """As extract_leaves, but (int64 values, uint8 kinds).

    A value is there if the number is integral and in range (12, 12.0, 1.2e1), else it is null. A number of more than 15
    digits with a point or an exponent is null, as the double that it is the text of may have lost digits.
    """
    return _extract(stats, paths, LONGS)


def extract_double(stats: pa.Array, paths: Sequence[tuple[str, ...]]) -> list[tuple[pa.Array, pa.Array]]:
    """As extract_leaves, but (double values, uint8 kinds).

    A value is the double nearest to the number, infinite beyond the range; NaN and infinities if written without
    quotes; else null.
    """
    return _extract(stats, paths, DOUBLES)


def count_comparisons(stats: pa.Array, paths: Sequence[tuple[str, ...]]) -> int:
    """Return how many comparisons of a key with a wanted key `extract_leaves` makes; tests bound its work by it."""
    return _read(stats, paths, TEXTS)[0].comparisons


cdef tuple _read(object stats, object paths, Wanted wanted):
    cdef BinaryView texts = binary_view(stats)
    cdef _KeyTree tree = _KeyTree(wanted)
    cdef int code
    leaves = [tree.add(tuple(path), texts.length) for path in paths]
    with nogil:
        code = tree.read(texts)
    check(code)
    return tree, leaves


cdef list _extract(object stats, object paths, Wanted wanted):
    cdef _KeyTree tree
    tree, leaves = _read(stats, paths, wanted)
    arrays = [(<LeafColumn>column).finish(wanted) for column in tree.owners]
    return [arrays[leaf] for leaf in leaves]


# A key as written in a text, from its quote through its colon, and its node.
cdef struct Seen:
    const uint8_t* raw
    int64_t size
    int node


cdef struct Node:
    const uint8_t* key
    int64_t key_size
    int parent
    int leaf            # its column, or NOBODY
    int64_t seen        # the last row that has it
    int64_t repeated    # the last row that has it twice
    bint any_case       # a lower-case key of it stands for those in any letter case that are not wanted themselves
    Kind kind
    Text text
    int shape           # which of `shapes` is that of its object, or NOBODY if no key below it is wanted
    int shape_size


# The first members of an object in an earlier text: texts of one column are similar.
cdef struct Shape:
    Seen[SHAPE] members


cdef inline uint64_t hash_key(int parent, const uint8_t* key, int64_t size) noexcept nogil:
    """FNV-1a over the bytes of a key, begun with the number of its parent."""
    cdef uint64_t found = (0xCBF29CE484222325ULL ^ <uint64_t>parent) * 0x100000001B3ULL
    cdef int64_t i
    for i in range(size):
        found = (found ^ key[i]) * 0x100000001B3ULL
    return found ^ found >> 32


@cython.final
cdef class _KeyTree:
    """The wanted paths, node 0 is the root of every text."""
    cdef ByteBuffer nodes       # Node by Node
    cdef ByteBuffer shapes      # Shape by Shape
    cdef ByteBuffer slots       # hash table: int32 numbers of nodes, 0 is free; at most half of it is used
    cdef ByteBuffer leaves      # int64: node of each leaf
    cdef ByteBuffer columns     # borrowed LeafColumn pointers; `owners` holds them
    cdef ByteBuffer scratch
    cdef list owners
    cdef list keys
    cdef Wanted wanted
    cdef Cursor cursor
    cdef const uint8_t* readable
    cdef bint repeats           # a key of the row occurs twice
    cdef readonly int64_t comparisons   # how often a key was compared with a wanted key

    def __cinit__(self, Wanted wanted):
        self.nodes = ByteBuffer()
        self.shapes = ByteBuffer()
        self.slots = zeros(FIRST_SLOTS * sizeof(int32_t))
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
        node.leaf = node.shape = NOBODY
        node.seen = node.repeated = -1
        node.parent = parent
        check(self.nodes.append(&node, sizeof(Node)))
        if parent != NOBODY:
            self.add_shape(self.node(parent))
            self.add_slot(number)
        return number

    cdef int add_shape(self, Node* node) except -1:
        cdef Shape shape
        if node.shape == NOBODY:
            node.shape = <int>(self.shapes.size // <int64_t>sizeof(Shape))
            memset(&shape, 0, sizeof(Shape))
            check(self.shapes.append(&shape, sizeof(Shape)))
        return 0

    cdef int add_slot(self, int number) except -1:
        cdef int64_t slots = self.slots.size // <int64_t>sizeof(int32_t)
        cdef int other
        if 2 * <int64_t>number > slots:
            self.slots = zeros(2 * slots * sizeof(int32_t))
            for other in range(1, number):
                self.fill_slot(other)
        self.fill_slot(number)
        return 0

    cdef void fill_slot(self, int number) noexcept nogil:
        cdef Node* node = self.node(number)
        cdef int32_t* slots = <int32_t*>self.slots.data
        cdef uint64_t mask = <uint64_t>(self.slots.size // <int64_t>sizeof(int32_t)) - 1
        cdef uint64_t place = hash_key(node.parent, node.key, node.key_size) & mask
        while slots[place] != 0:
            place = (place + 1) & mask
        slots[place] = number

    cdef int add(self, tuple path, int64_t rows) except -2:
        """Add the path if it is new, and return its leaf."""
        cdef int number = 0
        cdef int child
        cdef bytes key
        cdef void* column
        if not 0 < len(path) <= MAX_DEPTH:
            raise ValueError(f"A path must have 1 to {MAX_DEPTH} keys, not {len(path)}.")
        for part in path:
            key = part.encode()
            child = self.exact_child(number, <const uint8_t*><const char*>key, len(key))
            number = self.add_node(key, number) if child == NOBODY else child
            if self.node(number).parent == 0 and key == COLLATED:
                self.node(number).any_case = True
        if self.node(number).leaf == NOBODY:
            self.node(number).leaf = len(self.owners)
            self.owners.append(LeafColumn(rows))
            column = <void*>self.owners[len(self.owners) - 1]
            check(self.columns.append(&column, sizeof(column)))
            check(self.leaves.append_int64(number))
        return self.node(number).leaf

    cdef int child_of(self, int number, const uint8_t* key, int64_t size) noexcept nogil:
        cdef uint8_t[LONGEST_IDENTIFIER] lower
        cdef int64_t i
        cdef int child = self.exact_child(number, key, size)
        if child != NOBODY or not self.node(number).any_case or size > LONGEST_IDENTIFIER:
            return child
        for i in range(size):
            lower[i] = key[i] + 0x20 if 0x41 <= key[i] <= 0x5A else key[i]
        return self.exact_child(number, lower, size)

    cdef int exact_child(self, int number, const uint8_t* key, int64_t size) noexcept nogil:
        cdef const int32_t* slots = <const int32_t*>self.slots.data
        cdef uint64_t mask = <uint64_t>(self.slots.size // <int64_t>sizeof(int32_t)) - 1
        cdef uint64_t place = hash_key(number, key, size) & mask
        cdef Node* child
        while slots[place] != 0:
            self.comparisons += 1
            child = self.node(slots[place])
            if child.parent == number and child.key_size == size and same_bytes(child.key, key, size):
                return slots[place]
            place = (place + 1) & mask
        return NOBODY

    cdef int read(self, BinaryView texts) noexcept nogil:
        """Fill every column. Return 0, or -1 if memory is exhausted."""
        cdef int64_t row
        cdef int code
        self.cursor.one_line = False
        self.cursor.bare_numbers = True
        if texts.length > 0:
            self.readable = texts.data + texts.end(texts.length - 1)
        for row in range(texts.length):
            code = 0
            if is_valid(texts.validity, texts.offset + row):
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
        if skip_space(c) == 0x7B and self.node(0).shape != NOBODY:
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
        """Read an object after its opening bracket. Recursion goes no deeper than the longest path."""
        cdef Cursor* c = &self.cursor
        cdef Node* node = self.node(number)
        cdef Seen* shape
        cdef Seen* seen
        cdef uint8_t ch
        cdef int child, code
        c.depth += 1
        if skip_space(c) == 0x7D:
            c.at += 1
            c.depth -= 1
            return 0
        shape = seen = (<Shape*>self.shapes.data)[node.shape].members
        while True:
            if seen < shape + node.shape_size and c.end - c.at > seen.size and (
                same_bytes(c.at, seen.raw, seen.size)
            ):
                c.at += seen.size
                child = seen.node
            else:
                child = self.read_child(number, shape, seen - shape)
                if child < NOBODY:
                    return SYNTAX if child == NOT_JSON else -1
            seen += 1
            code = self.skip_unwanted() if child == NOBODY else self.read_wanted(child, row)
            if code != 0:
                return code
            ch = skip_space(c)
            if ch == 0x7D:
                break
            if ch != 0x2C:
                return SYNTAX
            c.at += 1
            skip_space(c)
        c.at += 1
        c.depth -= 1
        return 0

    cdef int read_child(self, int number, Seen* shape, int64_t place) noexcept nogil:
        """Skip a key and store it at its position in the shape. Return its child, or NOBODY, NOT_JSON, OUT_OF_MEMORY."""
        cdef Cursor* c = &self.cursor
        cdef const uint8_t* raw = c.at
        cdef Text key
        cdef int code = read_key(c, &key, self.scratch)
        if code != 0:
            return NOT_JSON if code == SYNTAX else OUT_OF_MEMORY
        cdef int child = self.child_of(number, key.data, key.size)
        if place < SHAPE:
            shape[place].raw = raw
            shape[place].size = c.at - raw
            shape[place].node = child
            if place == self.node(number).shape_size:
                self.node(number).shape_size += 1
        return child

    cdef int skip_unwanted(self) noexcept nogil:
        cdef Cursor* c = &self.cursor
        cdef uint8_t ch = skip_space(c)
        if ch == 0x7B or ch == 0x5B:
            return skip_brackets(c, self.readable)
        return skip_scalar(c, ch)

    cdef int read_wanted(self, int number, int64_t row) noexcept nogil:
        """Set the kind and text of the key's value on the node."""
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
        if ch == 0x7B and node.shape != NOBODY:
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
