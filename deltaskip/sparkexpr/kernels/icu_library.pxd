"""Pointers to ICU's C functions in one library of one version, and an immutable collator of that library."""

from libc.stdint cimport int8_t, int32_t, uint8_t, uint16_t


ctypedef void (*get_version_t)(uint8_t* version) noexcept nogil
ctypedef void* (*open_t)(const char* locale, int* status) noexcept nogil
ctypedef void (*close_t)(void* collator) noexcept nogil
ctypedef void (*set_attribute_t)(void* collator, int attribute, int value, int* status) noexcept nogil
ctypedef int (*get_attribute_t)(const void* collator, int attribute, int* status) noexcept nogil
ctypedef int (*compare_utf8_t)(
    const void* collator, const char* left, int32_t left_size, const char* right, int32_t right_size, int* status
) noexcept nogil
ctypedef int32_t (*sort_key_t)(
    const void* collator, const uint16_t* source, int32_t size, uint8_t* key, int32_t capacity
) noexcept nogil
ctypedef void (*special_strings_t)(
    const void* collator, void* contractions, void* expansions, int8_t add_prefixes, int* status
) noexcept nogil
ctypedef void* (*set_open_t)() noexcept nogil
ctypedef void (*set_close_t)(void* chars) noexcept nogil
ctypedef int32_t (*set_size_t)(const void* chars) noexcept nogil
ctypedef int32_t (*set_item_t)(
    const void* chars, int32_t index, int32_t* first, int32_t* last, uint16_t* text, int32_t capacity, int* status
) noexcept nogil
ctypedef int32_t (*count_available_t)() noexcept nogil
ctypedef const char* (*get_available_t)(int32_t index) noexcept nogil
ctypedef void (*set_data_directory_t)(const char* folder) noexcept nogil
ctypedef void (*set_file_access_t)(int access, int* status) noexcept nogil
ctypedef int8_t (*set_contains_t)(const void* chars, int32_t char) noexcept nogil


cdef struct Functions:
    get_version_t get_version
    open_t open
    close_t close
    set_attribute_t set_attribute
    get_attribute_t get_attribute
    compare_utf8_t compare_utf8
    sort_key_t sort_key
    special_strings_t special_strings
    set_open_t set_open
    set_close_t set_close
    set_size_t set_size
    set_item_t set_item
    set_contains_t set_contains
    count_available_t count_available
    get_available_t get_available


cdef class IcuLibrary:
    """One ICU4C in this process. It is never unloaded: ICU keeps pointers of its own."""
    cdef Functions call
    cdef readonly str path
    cdef readonly str version
    cdef readonly str suffix
    cdef readonly str source
    cdef int _bind(self, void* handle) except -1
    cdef int _read_data(self, void* handle, str folder) except -1
    cdef void* _symbol(self, void* handle, str name) except NULL


cdef class IcuCollator:
    """An immutable UCollator, which any number of threads may use at once.

    ranks[c]: the rank of the ASCII character c among all of them by primary weight, from 1; equal weights share a rank.
    0 for bytes that are not ASCII, and for characters whose weight depends on what follows or is not a single weight.
    weighed: whether ranks and begins_contraction were computed; else the collation orders no characters by themselves.
    """
    cdef readonly IcuLibrary library
    cdef readonly str locale
    cdef readonly bint case_level
    cdef void* handle
    cdef uint8_t[256] ranks
    cdef bint weighed
    cdef uint8_t[8192] contracting
    cdef object ascii_keys
    cdef int _rank(self, bytes tag) except -1
    cdef int _attribute(self, int attribute) except? -2


cdef inline bint begins_contraction(IcuCollator collator, int character) noexcept nogil:
    """Whether a contraction of the locale begins with the character, which must be in the basic plane."""
    return (collator.contracting[character >> 3] >> (character & 7)) & 1
