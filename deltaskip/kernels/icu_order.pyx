"""Strings in an ICU collation's order: sort keys, comparison with a literal, least and greatest.

Two strings of which the first characters that differ in primary weight are ASCII, with nothing but ASCII up to them and
one character past them, are ordered by those two weights (IcuCollator.ranks): no accent, contraction or expansion can
reach them. Long columns are compared with a literal by first characters besides. Everything else ICU itself compares.
"""

import pyarrow as pa

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport INT32_MAX, int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, memset

from deltaskip.kernels.arrow cimport BinaryView, ByteBuffer, binary_view
from deltaskip.kernels.icu cimport IcuCollator
from deltaskip.kernels.icu_ascii cimport LONGEST_ASCII, AsciiKeys, ascii_keys
from deltaskip.kernels.icu_first cimport FirstOrders, first_orders
from deltaskip.kernels.lane cimport is_valid

cdef enum:
    UNDECIDED = 2
    NO_MEMORY = -1
    TOO_LONG = -2
    ICU_FAILED = -3

# A key is written where it ends up if so much room is there; most are 1.5 times as long as their text.
cdef int64_t KEY_ROOM = 512

# From so many values on, what their first characters say is worth noting down.
cdef int64_t MANY = 4096

# From so many values on, the pieces of ASCII keys are worth working out, which takes as long as some hundred keys.
cdef int64_t SOME = 1024

cdef struct Texts:
    const int32_t* offsets32
    const int64_t* offsets64
    const uint8_t* data
    const uint8_t* validity
    int64_t offset
    int64_t length
    bint trim

cdef struct Text:
    const uint8_t* data
    int64_t size

# A text that many others are compared with: `ranked` of its first characters have a rank.
cdef struct Bound:
    Text text
    int64_t ranked
    uint8_t first_rank

cdef extern from *:
    int trailing_zeros "__builtin_ctzll"(unsigned long long word) noexcept nogil


def sort_keys(IcuCollator collator not None, object array, bint rtrim=False):
    """A large_binary array of ICU's sort keys, final zero included; nulls stay null.

    Their unsigned byte order is the collation. Bytes that are not UTF-8 count as U+FFFD, one for each maximal part.
    rtrim: trailing U+0020 do not count. Raises TypeError on another format, ValueError on a string of 1 GiB or more.
    """
    cdef BinaryView view = binary_view(array)
    cdef Texts texts = _texts(view, rtrim)
    cdef ByteBuffer ends = ByteBuffer.__new__(ByteBuffer)
    cdef ByteBuffer keys = ByteBuffer.__new__(ByteBuffer)
    cdef AsciiKeys pieces = ascii_keys(collator) if view.length >= SOME else None
    cdef int code
    with nogil:
        code = _sort_keys(collator, texts, pieces, ends, keys)
    _check(code)
    buffers = [_validity(texts), pa.py_buffer(ends), pa.py_buffer(keys)]
    return pa.Array.from_buffers(pa.large_binary(), view.length, buffers)


def sort_key(IcuCollator collator not None, bytes text not None, bint rtrim=False):
    """The sort key of one text, as in sort_keys."""
    cdef ByteBuffer ends = ByteBuffer.__new__(ByteBuffer)
    cdef ByteBuffer keys = ByteBuffer.__new__(ByteBuffer)
    cdef int64_t[2] offsets
    cdef int code
    offsets[0], offsets[1] = 0, PyBytes_GET_SIZE(text)
    cdef Texts texts = Texts(NULL, &offsets[0], <const uint8_t*>PyBytes_AS_STRING(text), NULL, 0, 1, rtrim)
    with nogil:
        code = _sort_keys(collator, texts, None, ends, keys)
    _check(code)
    return PyBytes_FromStringAndSize(<const char*>keys.data, keys.size)


def compare(IcuCollator collator not None, object array, bytes literal not None, bint rtrim=False):
    """An int8 array: -1, 0 or 1 as each value is below, equal to or above `literal`; nulls stay null.

    Bytes that are not UTF-8 and `rtrim` as in sort_keys. Raises TypeError on another format, ValueError on a string of
    1 GiB or more.
    """
    cdef BinaryView view = binary_view(array)
    cdef Texts texts = _texts(view, rtrim)
    cdef Text other = _text(literal, rtrim)
    cdef ByteBuffer orders = ByteBuffer.__new__(ByteBuffer)
    cdef FirstOrders firsts = first_orders(collator, other.data, other.size) if view.length >= MANY else None
    cdef int code
    with nogil:
        code = orders.reserve(texts.length)
        if code == 0:
            code = _compare(collator, texts, other, firsts, <int8_t*>orders.data)
            orders.size = texts.length
    _check(code)
    return pa.Array.from_buffers(pa.int8(), view.length, [_validity(texts), pa.py_buffer(orders)])


def min_max(IcuCollator collator not None, object array, bint rtrim=False):
    """The positions of the first least and the first greatest value, or None where every value is null.

    Bytes that are not UTF-8 and `rtrim` as in sort_keys. Raises TypeError on another format, ValueError on a string of
    1 GiB or more.
    """
    cdef BinaryView view = binary_view(array)
    cdef Texts texts = _texts(view, rtrim)
    cdef int64_t least = -1, greatest = -1
    cdef int code
    with nogil:
        code = _min_max(collator, texts, &least, &greatest)
    _check(code)
    return None if least < 0 else (least, greatest)


def compare_texts(IcuCollator collator not None, bytes left not None, bytes right not None, bint rtrim=False):
    """-1, 0 or 1 as `left` is below, equal to or above `right`; raises ValueError on a string of 1 GiB or more."""
    cdef Text a = _text(left, rtrim)
    cdef Text b = _text(right, rtrim)
    cdef int order = 0, code
    with nogil:
        code = _icu_order(collator, a, b, &order)
    _check(code)
    return order


cdef int _check(int code) except -1:
    if code == NO_MEMORY:
        raise MemoryError
    if code == TOO_LONG:
        raise ValueError("a string has 1 GiB or more, which is too long for ICU")
    if code == ICU_FAILED:
        raise MemoryError("ICU could not compare two strings")
    return 0


cdef Texts _texts(BinaryView view, bint rtrim):
    return Texts(view.offsets32, view.offsets64, view.data, view.validity, view.offset, view.length, rtrim)


cdef Text _text(bytes text, bint rtrim):
    return _trimmed(<const uint8_t*>PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text), rtrim)


cdef inline Text _trimmed(const uint8_t* data, int64_t size, bint rtrim) noexcept nogil:
    """Spark's RTRIM: bytes 0x20 at the end do not count, and no other white space."""
    if rtrim:
        while size > 0 and data[size - 1] == 0x20:
            size -= 1
    return Text(data, size)


cdef inline Text _at(const Texts* texts, int64_t i) noexcept nogil:
    cdef int64_t start, end
    if texts.offsets64 == NULL:
        start, end = texts.offsets32[i], texts.offsets32[i + 1]
    else:
        start, end = texts.offsets64[i], texts.offsets64[i + 1]
    return _trimmed(texts.data + start, end - start, texts.trim)


cdef object _validity(Texts texts):
    """The validity bitmap of an array of the same nulls that begins at bit 0; None without nulls."""
    cdef ByteBuffer bits
    cdef int64_t i, size = (texts.length + 7) // 8
    if texts.validity == NULL:
        return None
    bits = ByteBuffer.__new__(ByteBuffer)
    _check(bits.reserve(size + 1))
    memset(bits.data, 0, size)
    for i in range(texts.length):
        if is_valid(texts.validity, texts.offset + i):
            bits.data[i >> 3] = <uint8_t>(bits.data[i >> 3] | 1 << (i & 7))
    bits.size = size
    return pa.py_buffer(bits)


cdef inline bint _alone(Text text, int64_t i) noexcept nogil:
    """Whether nothing but ASCII follows character i."""
    return i + 1 >= text.size or text.data[i + 1] < 0x80


cdef inline int _primary_order(const uint8_t* ranks, Text a, Bound* bound) noexcept nogil:
    """-1 or 1 where the first unlike primary weights are those of lone ASCII characters; else UNDECIDED."""
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
    """How many characters with a rank the two begin with alike, or fewer: eight bytes are looked at at a time."""
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
    """The text as a bound; its first rank is 0 where it is empty, `no_rank` where the first character decides nothing."""
    cdef int64_t ranked = 0
    cdef uint8_t first = 0
    while ranked < text.size and ranks[text.data[ranked]] != 0:
        ranked += 1
    if text.size > 0:
        first = ranks[text.data[0]] if ranked > 0 and _alone(text, 0) else no_rank
    return Bound(text, ranked, first)


cdef inline int _order(IcuCollator collator, Text text, Bound* bound, int* order) noexcept nogil:
    """Set the order of a text beside the bound; a negative code where that fails."""
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
        text = _at(&texts, i)
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
    """A value whose first character is ranked between those of the bounds is told apart by it alone."""
    cdef int64_t i
    cdef int code, order = 0
    cdef Text text
    cdef Bound low = Bound(Text(NULL, 0), 0, 0)
    cdef Bound high = low
    for i in range(texts.length):
        if texts.validity != NULL and not is_valid(texts.validity, texts.offset + i):
            continue
        text = _at(&texts, i)
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


cdef int _sort_keys(
    IcuCollator collator, Texts texts, AsciiKeys pieces, ByteBuffer ends, ByteBuffer keys
) noexcept nogil:
    cdef int64_t i, room = 0
    cdef int code = ends.reserve((texts.length + 1) * 8)
    cdef uint16_t* units = NULL
    cdef Text text
    cdef bint by_pieces = pieces is not None and pieces.levels > 0
    cdef int64_t written
    if code == 0:
        code = ends.append_int64(0)
    for i in range(texts.length):
        if code != 0:
            break
        if texts.validity == NULL or is_valid(texts.validity, texts.offset + i):
            text = _at(&texts, i)
            written = -1
            if by_pieces and text.size <= LONGEST_ASCII:
                code = keys.reserve(text.size * 8 + KEY_ROOM)
                if code != 0:
                    break
                written = pieces.write(text.data, text.size, keys.data + keys.size)
            if text.size > room and written < 0:
                free(units)
                room = text.size * 2
                units = <uint16_t*>malloc(room * sizeof(uint16_t))
            if written >= 0:
                keys.size += written
            elif text.size > 0 and units == NULL:
                code = NO_MEMORY
            else:
                code = _append_key(collator, text, units, keys)
        if code == 0:
            code = ends.append_int64(keys.size)
    free(units)
    return code


cdef int _append_key(IcuCollator collator, Text text, uint16_t* units, ByteBuffer keys) noexcept nogil:
    cdef int32_t size, capacity
    cdef int64_t free_bytes
    cdef uint16_t nothing = 0
    if text.size >= 1 << 30:
        return TOO_LONG
    if keys.reserve(text.size * 2 + KEY_ROOM) != 0:
        return NO_MEMORY
    size = _to_utf16(text, units)
    while True:
        free_bytes = keys.capacity - keys.size
        capacity = <int32_t>free_bytes if free_bytes < INT32_MAX else INT32_MAX
        capacity = collator.library.call.sort_key(
            collator.handle, units if size > 0 else &nothing, size, keys.data + keys.size, capacity
        )
        if capacity <= 0:
            return ICU_FAILED
        if capacity <= free_bytes:
            keys.size += capacity
            return 0
        if keys.reserve(capacity) != 0:
            return NO_MEMORY


cdef int32_t _to_utf16(Text text, uint16_t* units) noexcept nogil:
    """UTF-16 units of the text, never more than it has bytes. Each maximal ill-formed part becomes one U+FFFD.

    # Unicode 15.0, section 3.9, table 3-7 and "U+FFFD Substitution of Maximal Subparts"
    """
    cdef int64_t i = 0
    cdef int32_t n = 0
    cdef uint8_t lead
    cdef uint32_t char
    cdef int needed
    while i < text.size:
        lead = text.data[i]
        i += 1
        if lead < 0x80:
            units[n] = lead
            n += 1
            continue
        char, needed = 0xFFFD, 0
        if 0xC2 <= lead < 0xE0:
            char, needed = lead & 0x1F, 1
        elif 0xE0 <= lead < 0xF0:
            char, needed = lead & 0x0F, 2
        elif 0xF0 <= lead < 0xF5:
            char, needed = lead & 0x07, 3
        if needed > 1 and (i == text.size or not _second_fits(lead, text.data[i])):
            char, needed = 0xFFFD, 0
        while needed > 0:
            if i == text.size or text.data[i] & 0xC0 != 0x80:
                char = 0xFFFD
                break
            char = char << 6 | (text.data[i] & 0x3F)
            i += 1
            needed -= 1
        if char >= 0x10000:
            units[n] = <uint16_t>(0xD7C0 + (char >> 10))
            n += 1
            char = 0xDC00 | (char & 0x3FF)
        units[n] = <uint16_t>char
        n += 1
    return n


cdef inline bint _second_fits(uint8_t lead, uint8_t second) noexcept nogil:
    """Whether `second` may follow the lead byte of a three- or four-byte sequence."""
    if lead == 0xE0:
        return 0xA0 <= second < 0xC0
    if lead == 0xED:
        return 0x80 <= second < 0xA0
    if lead == 0xF0:
        return 0x90 <= second < 0xC0
    if lead == 0xF4:
        return 0x80 <= second < 0x90
    return 0x80 <= second < 0xC0
