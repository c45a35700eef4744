"""File actions under construction: one `Row` each, strings beside them, turned into Arrow columns at the end."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from deltaskip.kernels.arrow cimport ByteBuffer
from deltaskip.kernels.json_cursor cimport Text


# Strings come first, then longs, then maps: a field's number less the group's first is its slot in the row.
cdef enum Field:
    PATH = 0
    STATS = 1
    CLUSTERING_PROVIDER = 2
    DV_STORAGE_TYPE = 3
    DV_PATH = 4
    SIZE = 5
    MODIFICATION_TIME = 6
    BASE_ROW_ID = 7
    DEFAULT_ROW_COMMIT_VERSION = 8
    DELETION_TIMESTAMP = 9
    DV_CARDINALITY = 10
    DV_OFFSET = 11
    DV_SIZE = 12
    PARTITION_VALUES = 13
    TAGS = 14
    DATA_CHANGE = 15
    DELETION_VECTOR = 16
    UNKNOWN = 17

cdef enum:
    STRINGS = 5
    LONGS = 8
    MAPS = 2
    FIRST_LONG = 5
    FIRST_MAP = 13


cdef struct Row:
    uint32_t present                # bit f: Field f is there and not null
    int32_t commit
    bint is_remove
    bint data_change
    int32_t string_ends[STRINGS]    # where the row's part of each string column ends
    int32_t map_ends[MAPS]
    int64_t longs[LONGS]


cdef class TextMap:
    """Entries of a map<string, string> column; the ends begin with a 0, as Arrow's offsets do."""
    cdef ByteBuffer keys
    cdef ByteBuffer key_ends
    cdef ByteBuffer values
    cdef ByteBuffer value_ends
    cdef ByteBuffer value_there     # a byte an entry
    cdef int32_t entries
    cdef void cut(self, int32_t entries) noexcept nogil
    cdef int add(self, Text* key, Text* value) noexcept nogil
    cdef int settle(self, int32_t first) noexcept nogil
    cdef int _rebuild(self, int32_t first) except -1
    cdef object to_array(self, FileRows rows, int field)


cdef class FileRows:
    """`row` is the one being filled; `last` is the one before it, whose ends say where `row`'s bytes begin."""
    cdef ByteBuffer finished
    cdef Row row
    cdef Row last
    cdef uint32_t all_present
    cdef uint32_t any_present
    cdef readonly int64_t length
    cdef list owners                # of the pointers below
    cdef void* strings[STRINGS]     # ByteBuffer
    cdef void* maps[MAPS]           # TextMap
    cdef void start(self, int32_t commit, bint is_remove) noexcept nogil
    cdef void clear(self, int field) noexcept nogil
    cdef int finish(self) noexcept nogil
    cdef void cut(self, int64_t length) noexcept nogil


cdef object to_batch(FileRows rows, object schema)
