"""The order of unsigned bytes, in which a prefix is below the longer value; every function here is inline.

Most values differ in their first eight bytes, which compare as one number. The machine is little endian.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy


cdef extern from *:
    """
    #if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    #error "the kernels need a little-endian machine"
    #endif
    """
    uint32_t byteswap32 "__builtin_bswap32"(uint32_t word) noexcept nogil
    uint64_t byteswap64 "__builtin_bswap64"(uint64_t word) noexcept nogil


cdef inline uint64_t first_eight(const uint8_t* text, int64_t size) noexcept nogil:
    """The first eight bytes as a number that orders as they do; zeros follow a shorter text."""
    cdef uint64_t word = 0
    if size >= 8:
        memcpy(&word, text, 8)
    elif size > 0:
        memcpy(&word, text, size)
    return byteswap64(word)


cdef inline int order_of_bytes(const uint8_t* a, int64_t a_size, const uint8_t* b, int64_t b_size) noexcept nogil:
    """-1, 0 or 1 as `a` is below, equal to or above `b`."""
    cdef int64_t shared = a_size if a_size < b_size else b_size
    cdef int order = memcmp(a, b, shared) if shared > 0 else 0
    if order == 0:
        return (a_size > b_size) - (a_size < b_size)
    return (order > 0) - (order < 0)


cdef inline int kept_orders(str op, uint8_t* kept) except -1:
    """Fill kept[0], [1] and [2] with the result of `value op literal` for a value below, equal to and above it."""
    check_operator(op)
    kept[0] = op in ("lt", "le", "ne")
    kept[1] = op in ("le", "ge", "eq")
    kept[2] = op in ("gt", "ge", "ne")
    return 0


cdef inline int check_operator(str op) except -1:
    if op not in ("lt", "le", "gt", "ge", "eq", "ne"):
        raise ValueError(f"Unknown operator {op!r}; expected lt, le, gt, ge, eq or ne.")
    return 0
