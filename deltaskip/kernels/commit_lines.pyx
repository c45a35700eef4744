"""Parser of the lines of commits.

A line is parsed in one pass. A file action becomes one row of `FileRows`; of other actions only the position is kept.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memset

from deltaskip.sparkexpr.kernels.arrow cimport ByteBuffer, check
from deltaskip.sparkexpr.kernels.byte_masks cimport same_bytes
from deltaskip.kernels.file_rows cimport (
    DATA_CHANGE, DATA_CHANGE_TRUE, DELETION_VECTOR, DV_CARDINALITY, DV_OFFSET, DV_PATH, DV_SIZE, DV_STORAGE_TYPE,
    FIRST_MAP, PATH, STATS, STRINGS, UNKNOWN, TextMap,
)
from deltaskip.sparkexpr.kernels.json_cursor cimport (
    SYNTAX, Cursor, Text, append_text, copy_string, expect, fail, is_word, read_key, scan_string, skip_number, skip_space,
    skip_value, skip_word, starts_number, undo_key,
)
from deltaskip.sparkexpr.kernels.json_number cimport plain_int64

cdef extern from *:
    """
    /* Keys by field number, as writers write them. */
    #define DELTASKIP_KEY(name) {"\\"" name "\\":", sizeof("\\"" name "\\":") - 1}
    static const struct { const char* text; int64_t size; } commit_keys[] = {
        DELTASKIP_KEY("path"), DELTASKIP_KEY("stats"), DELTASKIP_KEY("clusteringProvider"),
        DELTASKIP_KEY("storageType"), DELTASKIP_KEY("pathOrInlineDv"),
        DELTASKIP_KEY("size"), DELTASKIP_KEY("modificationTime"), DELTASKIP_KEY("baseRowId"),
        DELTASKIP_KEY("defaultRowCommitVersion"), DELTASKIP_KEY("deletionTimestamp"),
        DELTASKIP_KEY("cardinality"), DELTASKIP_KEY("offset"), DELTASKIP_KEY("sizeInBytes"),
        DELTASKIP_KEY("partitionValues"), DELTASKIP_KEY("tags"),
        DELTASKIP_KEY("dataChange"), DELTASKIP_KEY("deletionVector"), {"", 0},
    };
    """
    ctypedef struct Key:
        const char* text
        int64_t size
    const Key[18] KEYS "commit_keys"

cdef enum:
    DELETION_VECTOR_FIELDS = 1 << DV_STORAGE_TYPE | 1 << DV_PATH | 1 << DV_CARDINALITY | 1 << DV_OFFSET | 1 << DV_SIZE
    ACTION_FIELDS = (1 << UNKNOWN) - 1 & ~DELETION_VECTOR_FIELDS


# Positions in the data of an action that is not a file action; `name` has no quotes and may have escapes.
cdef struct Other:
    int32_t commit
    int64_t line
    const uint8_t* name
    int64_t name_size
    const uint8_t* begin
    const uint8_t* end


cdef class CommitLines:
    def __cinit__(self):
        self.others = ByteBuffer()
        self.scratch = ByteBuffer()
        self.wanted = DELETION_VECTOR_FIELDS
        memset(self.after, 0, sizeof(self.after))

    cdef void open(self, const uint8_t* begin, const uint8_t* end, int32_t commit) noexcept nogil:
        if end - begin >= 3 and begin[0] == 0xEF and begin[1] == 0xBB and begin[2] == 0xBF:
            begin += 3
        self.cursor.at = begin
        self.cursor.end = end
        self.cursor.fault = NULL
        self.cursor.one_line = True
        self.cursor.bare_numbers = False
        self.commit = commit
        self.line = 1
        self.fault_field = UNKNOWN

    cdef str reason(self):
        cdef str fault = self.cursor.fault.decode("ascii")
        if self.fault_field == UNKNOWN:
            return fault
        cdef str name = KEYS[self.fault_field].text[1 : KEYS[self.fault_field].size - 2].decode("ascii")
        if DELETION_VECTOR_FIELDS >> self.fault_field & 1:
            name = f"deletionVector.{name}"
        return f"{'remove' if self.is_remove else 'add'}.{name} {fault}"

    cdef list found(self, const uint8_t* data):
        """Return the other actions that are not null; if a key occurs twice in a line, the last one."""
        cdef const Other* other = <const Other*>self.others.data
        cdef Text text
        cdef int64_t i, begin, end
        cdef dict actions = {}
        text.escaped = True
        for i in range(self.others.size // <int64_t>sizeof(Other)):
            self.scratch.size = 0
            text.data = other[i].name
            text.size = other[i].name_size
            check(append_text(self.scratch, &text))
            name = (<char*>self.scratch.data)[: self.scratch.size].decode()
            begin = other[i].begin - data
            end = other[i].end - data
            if other[i].begin[0] == 0x6E:
                actions.pop((other[i].commit, other[i].line, name), None)
            else:
                actions[other[i].commit, other[i].line, name] = (other[i].commit, other[i].line, name, begin, end)
        return list(actions.values())

    cdef int run(self, int64_t chunk_bytes) noexcept nogil:
        """Parse lines up to the end of the commit or of the chunk. Return 0, SYNTAX, or -1 if memory is exhausted."""
        cdef Cursor* c = &self.cursor
        cdef const uint8_t* begin
        cdef int code
        while True:
            skip_space(c)
            if c.at == c.end:
                return 0
            if c.at[0] == 0x0A:
                c.at += 1
                self.line += 1
                continue
            if c.at - self.chunk >= chunk_bytes:
                return 0
            begin = c.at
            code = self.read_line(0, 0)
            if code != 0:
                return code
            skip_space(c)
            if c.at < c.end and c.at[0] != 0x0A:
                return fail(c, c.at, b"more text follows the object")
            if c.at - begin > MAX_LINE_BYTES:
                self.fault_field = UNKNOWN
                c.at = begin
                c.fault = b"the line is longer than 2**30 bytes"
                return SYNTAX

    cdef int read_line(self, int64_t old_adds, int64_t old_removes) noexcept nogil:
        """Read one object. The first `old_adds` members named add and `old_removes` named remove are skipped: an
        earlier pass over the line has checked them and found that later ones override them."""
        cdef Cursor* c = &self.cursor
        cdef const uint8_t* begin = c.at
        cdef int64_t first_row = self.rows.length
        cdef int64_t first_other = self.others.size
        cdef int64_t adds = 0
        cdef int64_t removes = 0
        cdef uint8_t ch
        cdef Text key, name
        cdef Other other
        cdef int code
        c.depth = 1
        if expect(c, 0x7B, b"the line is not a JSON object") != 0:
            return SYNTAX
        if skip_space(c) == 0x7D:
            c.at += 1
            return 0
        while True:
            if expect(c, 0x22, b"a key is missing") != 0 or scan_string(c, &name) != 0:
                return SYNTAX
            key = name
            if undo_key(&key, self.scratch) != 0:
                return -1
            if expect(c, 0x3A, b"a colon is missing after a key") != 0:
                return SYNTAX
            ch = skip_space(c)
            if is_word(key.data, key.size, b"add", 3):
                adds += 1
                code = self.read_file(False) if adds > old_adds else skip_value(c)
            elif is_word(key.data, key.size, b"remove", 6):
                removes += 1
                code = self.read_file(True) if removes > old_removes else skip_value(c)
            else:
                other.commit = self.commit
                other.line = self.line
                other.name = name.data
                other.name_size = name.size
                other.begin = c.at
                code = skip_value(c)
                other.end = c.at
                if code == 0:
                    code = self.others.append(&other, sizeof(Other))
            if code != 0:
                return code
            ch = skip_space(c)
            if ch == 0x7D:
                break
            if expect(c, 0x2C, b"a comma or a closing bracket is missing") != 0:
                return SYNTAX
        c.at += 1
        if adds <= old_adds + 1 and removes <= old_removes + 1:
            return 0
        c.at = begin
        self.rows.cut(first_row)
        self.others.size = first_other
        return self.read_line(adds - 1 if adds > 0 else 0, removes - 1 if removes > 0 else 0)

    cdef int read_file(self, bint is_remove) noexcept nogil:
        """Read the value of add or remove into a new row; null makes no row."""
        cdef Cursor* c = &self.cursor
        cdef const uint8_t* begin = c.at
        cdef int code
        self.is_remove = is_remove
        if c.at < c.end and c.at[0] == 0x6E:
            return skip_word(c, b"null", 4)
        if expect(c, 0x7B, b"the action is not a JSON object") != 0:
            return SYNTAX
        self.rows.start(self.commit, is_remove)
        code = self.read_members(ACTION_FIELDS)
        if code != 0:
            return code
        if not self.rows.row_flags >> PATH & 1:
            return self.mistyped(PATH, begin, b"is missing")
        return self.rows.finish()

    cdef int read_members(self, uint32_t among) noexcept nogil:
        """Read the wanted fields among `among` of an object whose opening bracket has been read."""
        cdef Cursor* c = &self.cursor
        cdef Text key
        cdef int field = UNKNOWN
        cdef int before, code
        cdef uint8_t ch
        c.depth += 1
        if skip_space(c) != 0x7D:
            while True:
                before = field
                field = self.after[before]
                if among >> field & 1 and c.end - c.at > KEYS[field].size and (
                    same_bytes(c.at, <const uint8_t*>KEYS[field].text, KEYS[field].size)
                ):
                    c.at += KEYS[field].size
                else:
                    code = read_key(c, &key, self.scratch)
                    if code != 0:
                        return code
                    field = field_of(&key, among)
                    self.after[before] = field
                skip_space(c)
                code = self.read_field(field) if self.wanted & among & <uint32_t>1 << field else skip_value(c)
                if code != 0:
                    return code
                ch = skip_space(c)
                if ch == 0x7D:
                    break
                if ch != 0x2C:
                    return fail(c, c.at, b"a comma or a closing bracket is missing")
                c.at += 1
                skip_space(c)
        c.at += 1
        c.depth -= 1
        return 0

    cdef int read_field(self, int field) noexcept nogil:
        """Read the value of a wanted field into the row; the cursor is at its first byte."""
        cdef Cursor* c = &self.cursor
        cdef const uint8_t* begin = c.at
        cdef uint8_t ch = begin[0] if begin < c.end else 0
        cdef uint32_t bit = <uint32_t>1 << field
        cdef int code
        self.rows.clear(field)
        if ch == 0x6E:
            return skip_word(c, b"null", 4)
        if field < STRINGS:
            code = self.read_string(field, ch)
        elif field < FIRST_MAP:
            code = self.read_long(field, ch)
        elif field == DELETION_VECTOR:
            if ch != 0x7B:
                return self.mistyped(field, begin, b"is not a JSON object")
            c.at += 1
            code = self.read_members(DELETION_VECTOR_FIELDS)
        elif field == DATA_CHANGE:
            if ch != 0x74 and ch != 0x66:
                return self.mistyped(field, begin, b"is not a boolean")
            self.rows.row_flags &= ~(<uint32_t>1 << DATA_CHANGE_TRUE)
            self.rows.row_flags |= <uint32_t>(ch == 0x74) << DATA_CHANGE_TRUE
            code = skip_word(c, b"true", 4) if ch == 0x74 else skip_word(c, b"false", 5)
        else:
            code = self.read_map(field)
        self.rows.row_flags |= bit
        return code

    cdef int read_string(self, int field, uint8_t ch) noexcept nogil:
        cdef Cursor* c = &self.cursor
        cdef Text text
        if ch == 0x22:
            c.at += 1
            return copy_string(c, <ByteBuffer>self.rows.strings[field])
        if field != STATS or ch != 0x7B:
            return self.mistyped(field, c.at, b"is not a string")
        text.data = c.at
        text.escaped = False
        if skip_value(c) != 0:
            return SYNTAX
        text.size = c.at - text.data
        return append_text(<ByteBuffer>self.rows.strings[field], &text)

    cdef int read_long(self, int field, uint8_t ch) noexcept nogil:
        cdef Cursor* c = &self.cursor
        cdef const uint8_t* begin = c.at
        cdef int64_t* value = &self.rows.row_longs[field]
        if not starts_number(c, ch):
            return self.mistyped(field, begin, b"is not a number")
        if skip_number(c) != 0:
            return SYNTAX
        if not plain_int64(begin, c.at - begin, value):
            return self.mistyped(field, begin, b"is not a 64-bit integer")
        if (field == DV_OFFSET or field == DV_SIZE) and value[0] != <int32_t>value[0]:
            return self.mistyped(field, begin, b"is not a 32-bit integer")
        return 0

    cdef int read_map(self, int field) noexcept nogil:
        """Read an object of scalars: a number or boolean keeps its text."""
        cdef Cursor* c = &self.cursor
        cdef int32_t first = self.rows.end_before(field)
        cdef Text key, value
        cdef uint8_t ch
        cdef int code
        if expect(c, 0x7B, NULL) != 0:
            return self.mistyped(field, c.at, b"is not a JSON object")
        if skip_space(c) == 0x7D:
            c.at += 1
            return 0
        while True:
            code = read_key(c, &key, self.scratch)
            if code != 0:
                return code
            ch = skip_space(c)
            value.data = c.at
            value.escaped = False
            if ch == 0x22:
                c.at += 1
                code = scan_string(c, &value)
            elif ch == 0x7B or ch == 0x5B:
                return self.mistyped(field, c.at, b"contains a value that is not a string")
            else:
                code = skip_value(c)
                value.size = c.at - value.data
            if code != 0:
                return code
            if (<TextMap>self.rows.maps[field - FIRST_MAP]).add(&key, NULL if ch == 0x6E else &value) != 0:
                return -1
            if skip_space(c) == 0x7D:
                break
            if expect(c, 0x2C, b"a comma or a closing bracket is missing") != 0:
                return SYNTAX
        c.at += 1
        return (<TextMap>self.rows.maps[field - FIRST_MAP]).settle(first)

    cdef int mistyped(self, int field, const uint8_t* at, const char* fault) noexcept nogil:
        """Stop at valid JSON of the wrong type for the field, or at the end of the text."""
        if at < self.cursor.end and at[0] != 0x0A:
            self.fault_field = field
        return fail(&self.cursor, at, fault)


cdef inline int field_of(const Text* key, uint32_t among) noexcept nogil:
    """The field among `among` with this JSON name, or UNKNOWN."""
    cdef int field
    for field in range(<int>UNKNOWN):
        if among >> field & 1 and is_word(key.data, key.size, KEYS[field].text + 1, KEYS[field].size - 3):
            return field
    return UNKNOWN
