"""File actions under construction, exported as Arrow columns at the end."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from deltaskip.sparkexpr.kernels.arrow cimport ByteBuffer
from deltaskip.sparkexpr.kernels.json_cursor cimport Text


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
    FIRST_LONG = 5
    FIRST_MAP = 13
    MAPS = 2
    LANED = 15          # fields below this one have a lane
    IS_REMOVE = 18      # further bits of a row's flags
    DATA_CHANGE_TRUE = 19


cdef class TextMap:
    """Entries of a map<string, string> column; the ends begin with a 0, as Arrow's offsets do."""
    cdef ByteBuffer keys
    cdef ByteBuffer key_ends
    cdef ByteBuffer values
    cdef ByteBuffer value_ends
    cdef ByteBuffer value_there     # one byte per entry
    cdef int32_t entries
    cdef void cut(self, int32_t entries) noexcept nogil
    cdef int add(self, Text* key, Text* value) noexcept nogil
    cdef int settle(self, int32_t first) noexcept nogil
    cdef int _rebuild(self, int32_t first) except -1
    cdef object entries_array(self)


cdef class FileRows:
    """Finished rows in lanes, and one row being filled. A lane has Arrow's layout: int32 ends that begin with a 0 for
    strings and maps, int64 values for longs. It starts with the first row that has the field."""
    cdef ByteBuffer commits         # int32
    cdef ByteBuffer flags           # uint32: bit f is set if Field f is present and not null
    cdef list owners                # of the pointers below
    cdef void* lanes[LANED]         # ByteBuffer; sizes are set when the rows are exported
    cdef void* strings[STRINGS]     # ByteBuffer
    cdef void* maps[MAPS]           # TextMap
    cdef int64_t length
    cdef int64_t capacity           # rows for which the lanes have memory
    cdef uint32_t kept              # bit by field: its lane is kept
    cdef uint32_t everywhere        # fields that every row has
    cdef uint32_t somewhere         # fields that some row has
    cdef uint32_t row_flags         # of the row being filled, as are the two below
    cdef int32_t row_commit
    cdef int64_t row_longs[LANED]   # by field
    cdef void start(self, int32_t commit, bint is_remove) noexcept nogil
    cdef int32_t end_before(self, int field) noexcept nogil
    cdef void clear(self, int field) noexcept nogil
    cdef int finish(self) noexcept nogil
    cdef void cut(self, int64_t length) noexcept nogil
    cdef int _keep(self, uint32_t fields) noexcept nogil
    cdef int _grow(self) noexcept nogil


cdef FileRows file_rows(int64_t text_bytes)
cdef object to_batch(FileRows rows, object schema)
