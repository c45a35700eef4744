"""File actions under construction: what commit_json reads, and how it becomes Arrow columns."""

import pyarrow as pa

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcmp, memset

from deltaskip.kernels.arrow cimport ByteBuffer, check
from deltaskip.kernels.json_cursor cimport Text, append_text

cdef enum:
    SMALL_MAP = 64  # up to here comparing every pair of keys is cheaper than a dict

FIELD_OF_COLUMN = {
    "path": PATH,
    "partition_values": PARTITION_VALUES,
    "size": SIZE,
    "modification_time": MODIFICATION_TIME,
    "data_change": DATA_CHANGE,
    "stats": STATS,
    "tags": TAGS,
    "deletion_vector": DELETION_VECTOR,
    "base_row_id": BASE_ROW_ID,
    "default_row_commit_version": DEFAULT_ROW_COMMIT_VERSION,
    "clustering_provider": CLUSTERING_PROVIDER,
    "deletion_timestamp": DELETION_TIMESTAMP,
    "storage_type": DV_STORAGE_TYPE,
    "path_or_inline_dv": DV_PATH,
    "offset": DV_OFFSET,
    "size_in_bytes": DV_SIZE,
    "cardinality": DV_CARDINALITY,
}


cdef class TextMap:
    def __cinit__(self):
        self.keys = ByteBuffer()
        self.key_ends = ByteBuffer()
        self.values = ByteBuffer()
        self.value_ends = ByteBuffer()
        self.value_there = ByteBuffer()
        self.entries = 0
        check(self.key_ends.append_int32(0))
        check(self.value_ends.append_int32(0))

    cdef void cut(self, int32_t entries) noexcept nogil:
        """Forget every entry from `entries` on."""
        if entries == self.entries:
            return
        self.entries = entries
        self.keys.size = (<int32_t*>self.key_ends.data)[entries]
        self.values.size = (<int32_t*>self.value_ends.data)[entries]
        self.key_ends.size = (<int64_t>entries + 1) * 4
        self.value_ends.size = (<int64_t>entries + 1) * 4
        self.value_there.size = entries

    cdef int add(self, Text* key, Text* value) noexcept nogil:
        """Append an entry; `value` is NULL for a null value. -1 when memory is out."""
        if append_text(self.keys, key) != 0 or self.key_ends.append_int32(<int32_t>self.keys.size) != 0:
            return -1
        if value != NULL and append_text(self.values, value) != 0:
            return -1
        if self.value_ends.append_int32(<int32_t>self.values.size) != 0:
            return -1
        self.entries += 1
        return self.value_there.append_byte(value != NULL)

    cdef int settle(self, int32_t first) noexcept nogil:
        """End the map that began at entry `first`: of a key that is there twice the last value stays."""
        cdef const int32_t* ends = <const int32_t*>self.key_ends.data
        cdef int32_t i, k, size
        cdef bint repeated = self.entries - first > SMALL_MAP
        if not repeated:
            for i in range(first + 1, self.entries):
                size = ends[i + 1] - ends[i]
                for k in range(first, i):
                    if ends[k + 1] - ends[k] == size and memcmp(self.keys.data + ends[k], self.keys.data + ends[i], size) == 0:
                        repeated = True
        if not repeated:
            return 0
        with gil:
            try:
                return self._rebuild(first)
            except MemoryError:
                return -1

    cdef int _rebuild(self, int32_t first) except -1:
        cdef const int32_t* key_ends = <const int32_t*>self.key_ends.data
        cdef const int32_t* value_ends = <const int32_t*>self.value_ends.data
        cdef int32_t i
        cdef Text key_text, value_text
        cdef dict entries = {}
        cdef bytes key, value
        for i in range(first, self.entries):
            key = (<char*>self.keys.data)[key_ends[i] : key_ends[i + 1]]
            entries[key] = None
            if self.value_there.data[i]:
                entries[key] = (<char*>self.values.data)[value_ends[i] : value_ends[i + 1]]
        self.cut(first)
        key_text.escaped = value_text.escaped = False
        for key, value in entries.items():
            key_text.data = <const uint8_t*><const char*>key
            key_text.size = len(key)
            if value is not None:
                value_text.data = <const uint8_t*><const char*>value
                value_text.size = len(value)
            check(self.add(&key_text, NULL if value is None else &value_text))
        return 0

    cdef object to_array(self, FileRows rows, int field):
        cdef ByteBuffer offsets = ByteBuffer()
        cdef const Row* row = <const Row*>rows.finished.data
        cdef int32_t* out = <int32_t*>_room(offsets, (rows.length + 1) * 4)
        cdef int64_t i
        for i in range(rows.length):
            out[i + 1] = row[i].map_ends[field - FIRST_MAP]
        there = pa.py_buffer(_packed(self.value_there))
        keys = pa.StringArray.from_buffers(self.entries, pa.py_buffer(self.key_ends), pa.py_buffer(self.keys), None, 0)
        values = pa.StringArray.from_buffers(self.entries, pa.py_buffer(self.value_ends), pa.py_buffer(self.values), there)
        map_type = pa.map_(pa.string(), pa.string())
        entries = pa.StructArray.from_arrays([keys, values], fields=[map_type.key_field, map_type.item_field])
        return pa.Array.from_buffers(map_type, rows.length, [_validity(rows, field), pa.py_buffer(offsets)], children=[entries])


cdef class FileRows:
    def __cinit__(self):
        cdef int k
        self.finished = ByteBuffer()
        self.owners = [ByteBuffer() for _ in range(STRINGS)] + [TextMap() for _ in range(MAPS)]
        for k in range(STRINGS):
            self.strings[k] = <void*>self.owners[k]
        for k in range(MAPS):
            self.maps[k] = <void*>self.owners[STRINGS + k]
        self.length = 0
        self.all_present = <uint32_t>-1
        self.any_present = 0
        memset(&self.row, 0, sizeof(Row))
        memset(&self.last, 0, sizeof(Row))

    cdef void start(self, int32_t commit, bint is_remove) noexcept nogil:
        memset(&self.row, 0, sizeof(Row))
        self.row.commit = commit
        self.row.is_remove = is_remove

    cdef void clear(self, int field) noexcept nogil:
        """Make the field null in `row`, forgetting what an earlier key of the same name brought."""
        self.row.present &= ~(<uint32_t>1 << field)
        if field < STRINGS:
            (<ByteBuffer>self.strings[field]).size = self.last.string_ends[field]
        elif FIRST_MAP <= field < FIRST_MAP + MAPS:
            (<TextMap>self.maps[field - FIRST_MAP]).cut(self.last.map_ends[field - FIRST_MAP])
        elif field == DELETION_VECTOR:
            self.clear(DV_STORAGE_TYPE)
            self.clear(DV_PATH)
            self.clear(DV_OFFSET)
            self.clear(DV_SIZE)
            self.clear(DV_CARDINALITY)

    cdef int finish(self) noexcept nogil:
        """Add `row`: 0, or -1 when memory is out."""
        cdef int k
        for k in range(STRINGS):
            self.row.string_ends[k] = <int32_t>(<ByteBuffer>self.strings[k]).size
        for k in range(MAPS):
            self.row.map_ends[k] = (<TextMap>self.maps[k]).entries
        self.all_present &= self.row.present
        self.any_present |= self.row.present
        self.last = self.row
        self.length += 1
        return self.finished.append(&self.row, sizeof(Row))

    cdef void cut(self, int64_t length) noexcept nogil:
        """Forget every row from `length` on, and the one being filled."""
        cdef int k
        self.length = length
        self.finished.size = length * <int64_t>sizeof(Row)
        memset(&self.last, 0, sizeof(Row))
        if length > 0:
            self.last = (<Row*>self.finished.data)[length - 1]
        for k in range(STRINGS):
            self.clear(k)
        for k in range(MAPS):
            self.clear(FIRST_MAP + k)


cdef object to_batch(FileRows rows, object schema):
    """The finished rows as a record batch of `schema`; they must not be touched afterwards."""
    columns = [_column(rows, field.name, field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


cdef object _column(FileRows rows, str name, object type):
    if name == "commit":
        return _commits(rows, type)
    if name == "is_remove":
        return pa.Array.from_buffers(type, rows.length, [None, _flags(rows, True)], 0)
    cdef int field = FIELD_OF_COLUMN[name]
    if not rows.any_present >> field & 1:
        return pa.nulls(rows.length, type)
    if field < STRINGS:
        return _strings(rows, field, type)
    if field < FIRST_MAP:
        return _longs(rows, field, type)
    if field == DATA_CHANGE:
        return pa.Array.from_buffers(type, rows.length, [_validity(rows, field), _flags(rows, False)])
    if field == DELETION_VECTOR:
        children = [_column(rows, child.name, child.type) for child in type]
        return pa.Array.from_buffers(type, rows.length, [_validity(rows, field)], children=children)
    return (<TextMap>rows.maps[field - FIRST_MAP]).to_array(rows, field)


cdef uint8_t* _room(ByteBuffer buffer, int64_t size) except NULL:
    """Give the buffer `size` zero bytes (and never none, so that there is something to point at)."""
    check(buffer.reserve(size + 1))
    memset(buffer.data, 0, size)
    buffer.size = size
    return buffer.data


cdef object _validity(FileRows rows, int field):
    """The bitmap of the rows that have the field, or None where all have it."""
    if rows.all_present >> field & 1:
        return None
    cdef ByteBuffer bitmap = ByteBuffer()
    cdef const Row* row = <const Row*>rows.finished.data
    cdef uint8_t* out = _room(bitmap, (rows.length + 7) // 8)
    cdef int64_t i
    for i in range(rows.length):
        out[i >> 3] |= (row[i].present >> field & 1) << (i & 7)
    return pa.py_buffer(bitmap)


cdef object _flags(FileRows rows, bint removes):
    cdef ByteBuffer bitmap = ByteBuffer()
    cdef const Row* row = <const Row*>rows.finished.data
    cdef uint8_t* out = _room(bitmap, (rows.length + 7) // 8)
    cdef int64_t i
    for i in range(rows.length):
        out[i >> 3] |= (row[i].is_remove if removes else row[i].data_change) << (i & 7)
    return pa.py_buffer(bitmap)


cdef ByteBuffer _packed(ByteBuffer flags):
    """A bitmap of bytes that are 0 or 1."""
    cdef ByteBuffer bitmap = ByteBuffer()
    cdef uint8_t* out = _room(bitmap, (flags.size + 7) // 8)
    cdef int64_t i
    for i in range(flags.size):
        out[i >> 3] |= flags.data[i] << (i & 7)
    return bitmap


cdef object _commits(FileRows rows, object type):
    cdef ByteBuffer values = ByteBuffer()
    cdef const Row* row = <const Row*>rows.finished.data
    cdef int32_t* out = <int32_t*>_room(values, rows.length * 4)
    cdef int64_t i
    for i in range(rows.length):
        out[i] = row[i].commit
    return pa.Array.from_buffers(type, rows.length, [None, pa.py_buffer(values)], 0)


cdef object _strings(FileRows rows, int field, object type):
    cdef ByteBuffer offsets = ByteBuffer()
    cdef const Row* row = <const Row*>rows.finished.data
    cdef int32_t* out = <int32_t*>_room(offsets, (rows.length + 1) * 4)
    cdef int64_t i
    for i in range(rows.length):
        out[i + 1] = row[i].string_ends[field]
    data = pa.py_buffer(<ByteBuffer>rows.strings[field])
    return pa.Array.from_buffers(type, rows.length, [_validity(rows, field), pa.py_buffer(offsets), data])


cdef object _longs(FileRows rows, int field, object type):
    cdef ByteBuffer values = ByteBuffer()
    cdef const Row* row = <const Row*>rows.finished.data
    cdef bint narrow = type == pa.int32()
    cdef uint8_t* out = _room(values, rows.length * (4 if narrow else 8))
    cdef int64_t i
    for i in range(rows.length):
        if narrow:
            (<int32_t*>out)[i] = <int32_t>row[i].longs[field - FIRST_LONG]
        else:
            (<int64_t*>out)[i] = row[i].longs[field - FIRST_LONG]
    return pa.Array.from_buffers(type, rows.length, [_validity(rows, field), pa.py_buffer(values)])
