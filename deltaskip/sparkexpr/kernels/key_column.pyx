"""Sort keys prepared for comparison with many literals: one word per key, so most compare as one number.

The word is the eight bytes after the prefix that all keys share. All bytes are compared only if the words are equal.
"""

from cpython.bytes cimport PyBytes_AsString, PyBytes_Size
from libc.stdint cimport UINT64_MAX, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcmp, memcpy, memset

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView, binary_view, is_valid
from deltaskip.sparkexpr.kernels.byte_order cimport first_eight, kept_orders, order_of_bytes
from deltaskip.sparkexpr.kernels.lane cimport Lane, keep_missing, new_lane, wide_void

cdef enum:
    TIE = 2


cdef class KeyColumn:
    """Binary values, such as sort keys, prepared for comparison with many others in unsigned byte order.

    Holds the array and eight bytes more per value. With `prefix`, only as many bytes of each value are compared as the
    key has. Raises TypeError for an array that is neither binary nor large_binary.
    """

    cdef object array
    cdef BinaryView view
    cdef uint64_t* words
    cdef int64_t shared

    def __cinit__(self):
        self.words = NULL

    def __init__(self, keys: pa.Array):
        self.array = keys
        self.view = binary_view(keys)
        self.words = <uint64_t*>malloc(8 * self.view.length + 8)
        if self.words == NULL:
            raise MemoryError
        with nogil:
            self.shared = _shared(self.view)
            _fill(self.view, self.shared, self.words)

    def __dealloc__(self):
        free(self.words)

    def __len__(self):
        return self.view.length

    @property
    def nbytes(self) -> int:
        """Size of the keys and their words in bytes."""
        return self.array.nbytes + 8 * self.view.length

    def keep(self, str op not None: Op, bytes key not None, bint prefix=False) -> Lane:
        """Return the keep mask of `value op key`. Nulls are kept. Raises ValueError for another operator."""
        cdef Lane lane
        cdef uint8_t[3] by_order
        cdef const uint8_t* text
        cdef int64_t size
        kept_orders(op, by_order)
        lane = new_lane(self.view.length)
        text, size = <const uint8_t*>PyBytes_AsString(key), PyBytes_Size(key)
        with nogil:
            _orders(self.view, self.shared, self.words, text, size, prefix, by_order, lane.keep)
            keep_missing(self.view.validity, self.view.offset, self.view.length, lane.keep)
        return lane


cdef int64_t _first_valid(BinaryView view) noexcept nogil:
    cdef int64_t i
    for i in range(view.length):
        if is_valid(view.validity, view.offset + i):
            return i
    return -1


cdef int64_t _shared(BinaryView view) noexcept nogil:
    """Length of the prefix that all keys share; 0 if every key is null."""
    cdef int64_t i, size, at = _first_valid(view)
    cdef const uint8_t* first
    cdef const uint8_t* other
    cdef int64_t shared = 0
    if at < 0:
        return 0
    first = view.data + view.start(at)
    shared = view.end(at) - view.start(at)
    for i in range(at + 1, view.length):
        if shared == 0:
            return 0
        if not is_valid(view.validity, view.offset + i):
            continue
        other = view.data + view.start(i)
        size = view.end(i) - view.start(i)
        if size < shared:
            shared = size
        if memcmp(first, other, shared) != 0:
            shared = _same(first, other, shared)
    return shared


cdef int64_t _same(const uint8_t* a, const uint8_t* b, int64_t limit) noexcept nogil:
    cdef int64_t i = 0
    while i < limit and a[i] == b[i]:
        i += 1
    return i


cdef void _fill(BinaryView view, int64_t shared, uint64_t* words) noexcept nogil:
    cdef int64_t i, start
    for i in range(view.length):
        words[i] = 0
        if is_valid(view.validity, view.offset + i):
            start = view.start(i) + shared
            words[i] = first_eight(view.data + start, view.end(i) - start)


cdef void _orders(
    BinaryView view, int64_t shared, const uint64_t* words, const uint8_t* key, int64_t size, bint prefix,
    const uint8_t* by_order, uint8_t* out
) noexcept nogil:
    cdef int64_t first = _first_valid(view), begins = size if size < shared else shared
    cdef int order = 0
    cdef uint64_t mask = UINT64_MAX
    if first < 0:
        memset(out, by_order[1], view.length)
        return
    order = memcmp(view.data + view.start(first), key, begins) if begins > 0 else 0
    if order == 0 and size < shared and not prefix:
        order = 1
    if order == 0 and (size > shared or not prefix):
        if prefix and size - shared < 8:
            mask = ~(UINT64_MAX >> (8 * (size - shared)))
        _byfirst_eight(words, view.length, first_eight(key + shared, size - shared), mask, by_order, out)
        _break_ties(view, shared, key, size, prefix, by_order, out)
        return
    memset(out, by_order[(order > 0) - (order < 0) + 1], view.length)


cdef wide_void _byfirst_eight(
    const uint64_t* words, int64_t n, uint64_t word, uint64_t mask, const uint8_t* by_order, uint8_t* out
) noexcept nogil:
    cdef int64_t i
    cdef uint8_t below = by_order[0], above = by_order[2]
    for i in range(n):
        out[i] = TIE if words[i] & mask == word else (below if words[i] & mask < word else above)


cdef void _break_ties(
    BinaryView view, int64_t shared, const uint8_t* key, int64_t size, bint prefix, const uint8_t* by_order,
    uint8_t* out
) noexcept nogil:
    cdef int64_t start, length, i, n = view.length
    cdef int order
    cdef const uint8_t* tie = <const uint8_t*>memchr(out, TIE, n)
    while tie != NULL:
        i = tie - out
        order = 0
        if is_valid(view.validity, view.offset + i):
            start = view.start(i)
            length = view.end(i) - start
            if prefix and length > size:
                length = size
            order = order_of_bytes(view.data + start, length, key, size)
        out[i] = by_order[order + 1]
        tie = <const uint8_t*>memchr(out + i + 1, TIE, n - i - 1)
