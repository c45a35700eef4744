"""First characters whose primary weights alone order strings relative to one literal, each computed by ICU once.

If the first characters of two texts have different primary weights, these order the texts, provided that each character
has the weights that it has by itself. This holds if no contraction starts with it and no combining mark follows, which
could take its place in canonical order. ICU is therefore called rarely: a column has more values than first characters.
"""

cimport cython

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from deltaskip.sparkexpr.kernels.icu_library cimport IcuCollator, begins_contraction

cdef enum:
    UNKNOWN = 0
    BELOW = 1
    ABOVE = 2
    UNSURE = 3
    CHARACTERS = 0x10000
    UNDECIDED = 2


cdef FirstOrders first_orders(IcuCollator collator, const uint8_t* literal, int64_t size):
    """The orders relative to a literal; None if its own first character decides nothing."""
    cdef int first = _lone_first(collator, literal, size)
    cdef FirstOrders orders
    if first < 0:
        return None
    orders = FirstOrders.__new__(FirstOrders)
    orders.known = <uint8_t*>calloc(CHARACTERS, 1)
    if orders.known == NULL:
        raise MemoryError
    orders.collator = collator
    orders.literal_size = _sequence_size(literal[0])
    memcpy(orders.literal, literal, orders.literal_size)
    return orders


@cython.final
cdef class FirstOrders:
    def __cinit__(self):
        self.known = NULL

    def __dealloc__(self):
        free(self.known)

    cdef int order(self, const uint8_t* text, int64_t size) noexcept nogil:
        """-1 or 1 if every text with this first character is below or above the literal; else UNDECIDED."""
        cdef int first = _lone_first(self.collator, text, size)
        if first < 0:
            return UNDECIDED
        if self.known[first] == UNKNOWN:
            self.known[first] = self.work_out(text, _sequence_size(text[0]))
        if self.known[first] == UNSURE:
            return UNDECIDED
        return 1 if self.known[first] == ABOVE else -1

    cdef uint8_t work_out(self, const uint8_t* first, int size) noexcept nogil:
        """U+FFFF has the highest primary weight of all, so a character can be above another one followed by U+FFFF only
        because of its own first weight."""
        cdef uint8_t[6] filled
        cdef int status = 0
        memcpy(filled, self.literal, self.literal_size)
        _append_highest(filled, self.literal_size)
        if self.collator.library.call.compare_utf8(
            self.collator.handle, <const char*>first, size, <const char*>filled, self.literal_size + 3, &status
        ) > 0:
            return ABOVE if status <= 0 else UNSURE
        memcpy(filled, first, size)
        _append_highest(filled, size)
        if self.collator.library.call.compare_utf8(
            self.collator.handle, <const char*>filled, size + 3, <const char*>self.literal, self.literal_size, &status
        ) < 0:
            return BELOW if status <= 0 else UNSURE
        return UNSURE


cdef inline void _append_highest(uint8_t* text, int size) noexcept nogil:
    text[size], text[size + 1], text[size + 2] = 0xEF, 0xBF, 0xBF


cdef inline int _sequence_size(uint8_t lead) noexcept nogil:
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3


cdef inline bint _is_base(uint8_t lead) noexcept nogil:
    """Whether no combining mark begins with this byte.

    Text that begins with such a byte does not change the preceding character. These are ASCII, U+00C0–00FF,
    U+0380–047F, U+5000–9FFF and U+B000–CFFF: letters, ideographs and Hangul syllables. None of their canonical
    decompositions begins with a combining mark.
    """
    return (
        lead < 0x80 or lead == 0xC3 or 0xCE <= lead <= 0xD1 or 0xE5 <= lead <= 0xE9 or lead == 0xEB or lead == 0xEC
    )


cdef inline int _lone_first(IcuCollator collator, const uint8_t* text, int64_t size) noexcept nogil:
    """The first character, if it is in the basic plane and has the weights that it has by itself; else -1."""
    cdef int length, first
    if size == 0 or not collator.weighed:
        return -1
    if text[0] < 0x80:
        length, first = 1, text[0]
    elif 0xC2 <= text[0] < 0xE0 and size >= 2 and text[1] & 0xC0 == 0x80:
        length, first = 2, (text[0] & 0x1F) << 6 | (text[1] & 0x3F)
    elif 0xE1 <= text[0] < 0xED and size >= 3 and text[1] & 0xC0 == 0x80 and text[2] & 0xC0 == 0x80:
        length, first = 3, (text[0] & 0x0F) << 12 | (text[1] & 0x3F) << 6 | (text[2] & 0x3F)
    else:
        return -1
    if length < size and not _is_base(text[length]):
        return -1
    return -1 if begins_contraction(collator, first) else first
