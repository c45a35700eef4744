"""File actions under construction: rows filled by the parser of commits, exported as Arrow columns."""

import pyarrow as pa

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t
from libc.string cimport memcmp, memset

from deltaskip.sparkexpr.kernels.arrow cimport ByteBuffer, check, zeros
from deltaskip.sparkexpr.kernels.json_cursor cimport Text, append_text, first_bit

cdef enum:
    SMALL_MAP = 64              # up to this size, comparing every pair of keys is cheaper than a dict
    RESERVED_BYTES = 1 << 26    # reserving is free where the system allocates pages on first touch; copying is not

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


TEXT_MAP = pa.map_(pa.string(), pa.string())


cdef inline int64_t lane_bytes(int field, int64_t rows) noexcept nogil:
    return (rows + 1) * (8 if FIRST_LONG <= field < FIRST_MAP else 4)


cdef inline int put_end(ByteBuffer ends, int64_t end) noexcept nogil:
    if ends.capacity - ends.size < 4 and ends.reserve(4) != 0:
        return -1
    (<int32_t*>(ends.data + ends.size))[0] = <int32_t>end
    ends.size += 4
    return 0


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
        """Remove every entry from `entries` on."""
        if entries == self.entries:
            return
        self.entries = entries
        self.keys.size = (<int32_t*>self.key_ends.data)[entries]
        self.values.size = (<int32_t*>self.value_ends.data)[entries]
        self.key_ends.size = (<int64_t>entries + 1) * 4
        self.value_ends.size = (<int64_t>entries + 1) * 4
        self.value_there.size = entries

    cdef int add(self, Text* key, Text* value) noexcept nogil:
        """Append an entry; `value` is NULL for a null value. -1 if memory is exhausted."""
        if append_text(self.keys, key) != 0 or (value != NULL and append_text(self.values, value) != 0):
            return -1
        if put_end(self.key_ends, self.keys.size) != 0 or put_end(self.value_ends, self.values.size) != 0:
            return -1
        self.entries += 1
        return self.value_there.append_byte(value != NULL)

    cdef int settle(self, int32_t first) noexcept nogil:
        """End the map that began at entry `first`. If a key occurs twice, its last value is kept."""
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

    cdef object entries_array(self):
        """The entries of all maps as Arrow's struct<key, value>."""
        cdef ByteBuffer there = zeros((self.entries + 7) // 8)
        cdef int32_t i
        for i in range(self.entries):
            there.data[i >> 3] |= self.value_there.data[i] << (i & 7)
        keys = pa.Array.from_buffers(
            pa.string(), self.entries, [None, pa.py_buffer(self.key_ends), pa.py_buffer(self.keys)], 0
        )
        values = pa.Array.from_buffers(
            pa.string(), self.entries, [pa.py_buffer(there), pa.py_buffer(self.value_ends), pa.py_buffer(self.values)]
        )
        return pa.StructArray.from_arrays([keys, values], fields=[TEXT_MAP.key_field, TEXT_MAP.item_field])


cdef class FileRows:
    def __cinit__(self):
        cdef int k
        self.commits = ByteBuffer()
        self.flags = ByteBuffer()
        self.owners = [ByteBuffer() for _ in range(LANED + STRINGS)] + [TextMap() for _ in range(MAPS)]
        for k in range(LANED):
            self.lanes[k] = <void*>self.owners[k]
        for k in range(STRINGS):
            self.strings[k] = <void*>self.owners[LANED + k]
        for k in range(MAPS):
            self.maps[k] = <void*>self.owners[LANED + STRINGS + k]
        self.length = 0
        self.capacity = 0
        self.kept = 0
        self.everywhere = <uint32_t>-1
        self.somewhere = 0

    cdef void start(self, int32_t commit, bint is_remove) noexcept nogil:
        self.row_commit = commit
        self.row_flags = <uint32_t>is_remove << IS_REMOVE

    cdef int32_t end_before(self, int field) noexcept nogil:
        """Start of the bytes or entries of the row being filled."""
        return (<int32_t*>(<ByteBuffer>self.lanes[field]).data)[self.length] if self.kept >> field & 1 else 0

    cdef void clear(self, int field) noexcept nogil:
        """Set the field of the row being filled to null, which removes the value of an earlier key of its name."""
        self.row_flags &= ~(<uint32_t>1 << field)
        if field < STRINGS:
            (<ByteBuffer>self.strings[field]).size = self.end_before(field)
        elif field == DELETION_VECTOR:
            self.clear(DV_STORAGE_TYPE)
            self.clear(DV_PATH)
            self.clear(DV_OFFSET)
            self.clear(DV_SIZE)
            self.clear(DV_CARDINALITY)
        elif FIRST_MAP <= field < LANED:
            (<TextMap>self.maps[field - FIRST_MAP]).cut(self.end_before(field))

    cdef int finish(self) noexcept nogil:
        """Add the row being filled: 0, or -1 if memory is exhausted."""
        cdef uint32_t fields = self.row_flags & ((<uint32_t>1 << LANED) - 1) & ~self.kept
        cdef int64_t i = self.length
        cdef int field
        if i == self.capacity and self._grow() != 0:
            return -1
        if fields != 0 and self._keep(fields) != 0:
            return -1
        fields = self.kept
        while fields != 0:
            field = first_bit(fields)
            fields &= fields - 1
            if field < STRINGS:
                (<int32_t*>(<ByteBuffer>self.lanes[field]).data)[i + 1] = <int32_t>(<ByteBuffer>self.strings[field]).size
            elif field < FIRST_MAP:
                (<int64_t*>(<ByteBuffer>self.lanes[field]).data)[i] = (
                    self.row_longs[field] if self.row_flags >> field & 1 else 0
                )
            else:
                (<int32_t*>(<ByteBuffer>self.lanes[field]).data)[i + 1] = (<TextMap>self.maps[field - FIRST_MAP]).entries
        (<int32_t*>self.commits.data)[i] = self.row_commit
        (<uint32_t*>self.flags.data)[i] = self.row_flags
        self.everywhere &= self.row_flags
        self.somewhere |= self.row_flags
        self.length += 1
        return 0

    cdef void cut(self, int64_t length) noexcept nogil:
        """Remove every row from `length` on, and the one being filled."""
        cdef int field
        self.length = length
        for field in range(LANED):
            self.clear(field)

    cdef int _keep(self, uint32_t fields) noexcept nogil:
        """Begin the lanes of these fields, which no earlier row has."""
        cdef int field
        for field in range(LANED):
            if fields >> field & 1:
                if (<ByteBuffer>self.lanes[field]).reserve(lane_bytes(field, self.capacity)) != 0:
                    return -1
                memset((<ByteBuffer>self.lanes[field]).data, 0, lane_bytes(field, self.length))
        self.kept |= fields
        return 0

    cdef int _grow(self) noexcept nogil:
        cdef int64_t capacity = self.capacity * 2 if self.capacity > 0 else 1024
        cdef int field
        if self.commits.reserve(capacity * 4) != 0 or self.flags.reserve(capacity * 4) != 0:
            return -1
        for field in range(LANED):
            if self.kept >> field & 1 and (<ByteBuffer>self.lanes[field]).reserve(lane_bytes(field, capacity)) != 0:
                return -1
        self.capacity = capacity
        return 0


cdef FileRows file_rows(int64_t text_bytes):
    """Return an object without rows, with memory for the rows of `text_bytes` of JSON."""
    cdef FileRows rows = FileRows()
    cdef int64_t room = min(text_bytes, <int64_t>RESERVED_BYTES) + 128
    check((<ByteBuffer>rows.strings[<int>PATH]).reserve(room))
    check((<ByteBuffer>rows.strings[<int>STATS]).reserve(room))
    return rows


cdef object to_batch(FileRows rows, object schema):
    """Return the finished rows as a record batch of `schema`. They must not change afterwards."""
    columns = [_column(rows, field.name, field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


cdef object _column(FileRows rows, str name, object type):
    if name == "commit":
        rows.commits.size = rows.length * 4
        return pa.Array.from_buffers(type, rows.length, [None, pa.py_buffer(rows.commits)], 0)
    if name == "is_remove":
        return pa.Array.from_buffers(type, rows.length, [None, _bitmap(rows, IS_REMOVE)], 0)
    cdef int field = FIELD_OF_COLUMN[name]
    if not rows.somewhere >> field & 1:
        return pa.nulls(rows.length, type)
    validity = None if rows.everywhere >> field & 1 else _bitmap(rows, field)
    if field == DATA_CHANGE:
        return pa.Array.from_buffers(type, rows.length, [validity, _bitmap(rows, DATA_CHANGE_TRUE)])
    if field == DELETION_VECTOR:
        children = [_column(rows, child.name, child.type) for child in type]
        return pa.Array.from_buffers(type, rows.length, [validity], children=children)
    cdef ByteBuffer lane = <ByteBuffer>rows.lanes[field]
    if field == DV_OFFSET or field == DV_SIZE:
        return pa.Array.from_buffers(type, rows.length, [validity, _narrow(lane, rows.length)])
    lane.size = lane_bytes(field, rows.length)
    if field < STRINGS:
        text = pa.py_buffer(<ByteBuffer>rows.strings[field])
        return pa.Array.from_buffers(type, rows.length, [validity, pa.py_buffer(lane), text])
    if field < FIRST_MAP:
        return pa.Array.from_buffers(type, rows.length, [validity, pa.py_buffer(lane)])
    entries = (<TextMap>rows.maps[field - FIRST_MAP]).entries_array()
    return pa.Array.from_buffers(type, rows.length, [validity, pa.py_buffer(lane)], children=[entries])


cdef object _bitmap(FileRows rows, int flag):
    cdef ByteBuffer bitmap = zeros((rows.length + 7) // 8)
    cdef const uint32_t* flags = <const uint32_t*>rows.flags.data
    cdef uint8_t* out = bitmap.data
    cdef int64_t i
    for i in range(rows.length):
        out[i >> 3] |= (flags[i] >> flag & 1) << (i & 7)
    return pa.py_buffer(bitmap)


cdef object _narrow(ByteBuffer longs, int64_t length):
    """The int64 lane as int32; every value is known to fit."""
    cdef ByteBuffer ints = zeros(length * 4)
    cdef int32_t* out = <int32_t*>ints.data
    cdef int64_t i
    for i in range(length):
        out[i] = <int32_t>(<int64_t*>longs.data)[i]
    return pa.py_buffer(ints)
