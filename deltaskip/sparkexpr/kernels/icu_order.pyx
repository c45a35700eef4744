"""Strings in the order of an ICU collation: comparison with a literal, minimum and maximum.

If the first characters of two strings that differ in primary weight are ASCII, and so are all characters before them
and the one after each, those two weights order the strings (IcuCollator.ranks): no accent, contraction or expansion can
affect them. Long columns are also compared with a literal by first characters. ICU compares everything else.
"""

import pyarrow as pa

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memcpy

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView, ByteBuffer, binary_view, is_valid
from deltaskip.sparkexpr.kernels.icu_library cimport IcuCollator
from deltaskip.sparkexpr.kernels.icu_first_characters cimport FirstOrders, first_orders
from deltaskip.sparkexpr.kernels.icu_texts cimport (
    ICU_FAILED, TOO_LONG, Texts, check_icu, text_at, text_of, texts_of, validity_of
)
from deltaskip.sparkexpr.kernels.utf8 cimport Text

cdef enum:
    UNDECIDED = 2

# Minimum number of values for which caching the order of first characters pays off.
cdef int64_t MANY = 4096

# A text that many others are compared with. Its first `ranked` characters have a rank.
cdef struct Bound:
    Text text
    int64_t ranked
    uint8_t first_rank

cdef extern from *:
    int trailing_zeros "__builtin_ctzll"(unsigned long long word) noexcept nogil


def compare(
    IcuCollator collator not None, array: ArrowArrayExportable, bytes literal not None, bint rtrim=False
) -> pa.Int8Array:
    """Return int8: -1, 0 or 1 as each value is below, equal to or above `literal`; nulls stay null.

    Bytes that are not UTF-8 and `rtrim` as in icu_keys.sort_keys. Raises TypeError for another format, and
    ValueError for a string of 1 GiB or more.
    """
    cdef BinaryView view = binary_view(array)
    cdef Texts texts = texts_of(view, rtrim)
    cdef Text other = text_of(literal, rtrim)
    cdef ByteBuffer orders = ByteBuffer.__new__(ByteBuffer)
    cdef FirstOrders firsts = first_orders(collator, other.data, other.size) if view.length >= MANY else None
    cdef int code
    with nogil:
        code = orders.reserve(texts.length)
        if code == 0:
            code = _compare(collator, texts, other, firsts, <int8_t*>orders.data)
            orders.size = texts.length
    check_icu(code)
    return pa.Array.from_buffers(pa.int8(), view.length, [validity_of(texts), pa.py_buffer(orders)])


def min_max(IcuCollator collator not None, array: ArrowArrayExportable, bint rtrim=False) -> tuple[int, int] | None:
    """Return the positions of the first min and the first max, or None if every value is null.

    Bytes that are not UTF-8 and `rtrim` as in icu_keys.sort_keys. Raises TypeError for another format, and
    ValueError for a string of 1 GiB or more.
    """
    cdef BinaryView view = binary_view(array)
    cdef Texts texts = texts_of(view, rtrim)
    cdef int64_t least = -1, greatest = -1
    cdef int code
    with nogil:
        code = _min_max(collator, texts, &least, &greatest)
    check_icu(code)
    return None if least < 0 else (least, greatest)


def compare_texts(IcuCollator collator not None, bytes left not None, bytes right not None, bint rtrim=False) -> int:
    """Return -1, 0 or 1 as `left` is below, equal to or above `right`. Raises ValueError for strings over 1 GiB."""
    cdef Text a = text_of(left, rtrim)
    cdef Text b = text_of(right, rtrim)
    cdef int order = 0, code
    with nogil:
        code = _icu_order(collator, a, b, &order)
    check_icu(code)
    return order


cdef inline bint _alone(Text text, int64_t i) noexcept nogil:
    """Whether character i is the last or is followed by an ASCII character."""
    return i + 1 >= text.size or text.data[i + 1] < 0x80


cdef inline int _primary_order(const uint8_t* ranks, Text a, Bound* bound) noexcept nogil:
    """-1 or 1 if the first primary weights that differ belong to lone ASCII characters; else UNDECIDED."""
    cdef Text b = bound.text
    cdef int64_t shared = a.size if a.size < b.size else b.size
    cdef int64_t i = _same_ranked(a, bound, shared)
    cdef uint8_t left, right
    while i < shared:
        left, right = ranks[a.data[i]], ranks[b.data[i]]
        if left == 0 or right == 0:
            return UNDECIDED
        if left != right:
            return (1 if left > right else -1) if _alone(a, i) and _alone(b, i) else UNDECIDED
        i += 1
    if a.size > shared and ranks[a.data[shared]] != 0 and _alone(a, shared):
        return 1
    if b.size > shared and ranks[b.data[shared]] != 0 and _alone(b, shared):
        return -1
    return UNDECIDED


cdef inline int64_t _same_ranked(Text a, Bound* bound, int64_t shared) noexcept nogil:
    """Length of the common prefix of characters with a rank, or less: eight bytes are compared at a time."""
    cdef int64_t i = 0, limit = shared if shared < bound.ranked else bound.ranked
    cdef uint64_t left, right
    while i + 8 <= limit:
        memcpy(&left, a.data + i, 8)
        memcpy(&right, bound.text.data + i, 8)
        if left != right:
            return i + (trailing_zeros(left ^ right) >> 3)
        i += 8
    return i


cdef inline Bound _bound(const uint8_t* ranks, Text text, uint8_t no_rank) noexcept nogil:
    """The text as a bound. Its first rank is 0 if it is empty, `no_rank` if the first character decides nothing."""
    cdef int64_t ranked = 0
    cdef uint8_t first = 0
    while ranked < text.size and ranks[text.data[ranked]] != 0:
        ranked += 1
    if text.size > 0:
        first = ranks[text.data[0]] if ranked > 0 and _alone(text, 0) else no_rank
    return Bound(text, ranked, first)


cdef inline int _order(IcuCollator collator, Text text, Bound* bound, int* order) noexcept nogil:
    """Set the order of a text relative to the bound. Return a negative code on failure."""
    order[0] = _primary_order(collator.ranks, text, bound)
    if order[0] != UNDECIDED:
        return 0
    return _icu_order(collator, text, bound.text, order)


cdef int _icu_order(IcuCollator collator, Text a, Text b, int* order) noexcept nogil:
    cdef int status = 0
    cdef char nothing = 0
    if a.size == b.size and (a.size == 0 or memcmp(a.data, b.data, a.size) == 0):
        order[0] = 0
        return 0
    if a.size >= 1 << 30 or b.size >= 1 << 30:
        return TOO_LONG
    order[0] = collator.library.call.compare_utf8(
        collator.handle,
        <const char*>a.data if a.size > 0 else &nothing, <int32_t>a.size,
        <const char*>b.data if b.size > 0 else &nothing, <int32_t>b.size,
        &status,
    )
    return ICU_FAILED if status > 0 else 0


cdef int _compare(
    IcuCollator collator, Texts texts, Text literal, FirstOrders firsts, int8_t* orders
) noexcept nogil:
    cdef int64_t i
    cdef int code, order = 0
    cdef Text text
    cdef bint by_first = firsts is not None
    cdef Bound bound = _bound(collator.ranks, literal, 0)
    for i in range(texts.length):
        if texts.validity != NULL and not is_valid(texts.validity, texts.offset + i):
            orders[i] = 0
            continue
        text = text_at(&texts, i)
        order = _primary_order(collator.ranks, text, &bound)
        if order == UNDECIDED and by_first:
            order = firsts.order(text.data, text.size)
        if order == UNDECIDED:
            code = _icu_order(collator, text, literal, &order)
            if code != 0:
                return code
        orders[i] = <int8_t>order
    return 0


cdef int _min_max(IcuCollator collator, Texts texts, int64_t* least, int64_t* greatest) noexcept nogil:
    """A value whose first character ranks between those of the bounds needs no further comparison."""
    cdef int64_t i
    cdef int code, order = 0
    cdef Text text
    cdef Bound low = Bound(Text(NULL, 0), 0, 0)
    cdef Bound high = low
    for i in range(texts.length):
        if texts.validity != NULL and not is_valid(texts.validity, texts.offset + i):
            continue
        text = text_at(&texts, i)
        if least[0] < 0:
            least[0] = greatest[0] = i
            low, high = _bound(collator.ranks, text, 255), _bound(collator.ranks, text, 0)
            continue
        if text.size > 0 and _alone(text, 0) and low.first_rank < collator.ranks[text.data[0]] < high.first_rank:
            continue
        code = _order(collator, text, &low, &order)
        if code != 0:
            return code
        if order < 0:
            least[0], low = i, _bound(collator.ranks, text, 255)
            continue
        code = _order(collator, text, &high, &order)
        if code != 0:
            return code
        if order > 0:
            greatest[0], high = i, _bound(collator.ranks, text, 0)
    return 0
