"""Numbers of Parquet pages: levels of definition, indexes of dictionaries and booleans; every function is inline.

Those that return an int return FINE or the reason why the bytes cannot be read.
# Parquet Encodings: Run Length Encoding / Bit-Packing Hybrid
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from deltaskip.kernels.byte_cursor cimport FINE, INDEX, NUMBER, SHORT, Cursor, pass_by, read_varint32

cdef extern from *:
    int popcount32 "__builtin_popcount"(unsigned int word) noexcept nogil


cdef struct Hybrid:
    # Numbers as runs of one value and groups of eight packed ones. The run has items `first` to `first + count`.
    Cursor left
    int width
    int64_t first
    int64_t count
    bint packed
    uint32_t value
    const uint8_t* bits
    # For levels: how many of the items before `seen` are 1.
    int64_t seen
    int64_t ones


cdef inline Hybrid hybrid_of(Cursor cursor, int width) noexcept nogil:
    cdef Hybrid hybrid
    memset(&hybrid, 0, sizeof(hybrid))
    hybrid.left = cursor
    hybrid.width = width
    return hybrid


cdef inline int next_run(Hybrid* hybrid) noexcept nogil:
    cdef uint64_t header
    cdef int64_t size
    cdef int fault = read_varint32(&hybrid.left, &header)
    if fault:
        return fault
    hybrid.first += hybrid.count
    hybrid.count = 0
    # Other readers end at a run of nothing.
    if header >> 1 == 0:
        return NUMBER
    hybrid.packed = header & 1
    if hybrid.packed:
        hybrid.bits = hybrid.left.at
        fault = pass_by(&hybrid.left, (header >> 1) * hybrid.width)
        if fault == FINE:
            hybrid.count = <int64_t>(header >> 1) * 8
        return fault
    size = (hybrid.width + 7) >> 3
    if hybrid.left.end - hybrid.left.at < size:
        return SHORT
    hybrid.count = <int64_t>(header >> 1)
    hybrid.value = 0
    memcpy(&hybrid.value, hybrid.left.at, size)
    hybrid.left.at += size
    return NUMBER if <uint64_t>hybrid.value >> hybrid.width else FINE


cdef inline uint32_t packed_item(const Hybrid* hybrid, int64_t i) noexcept nogil:
    """Item i of the packed run."""
    cdef int64_t bit = (i - hybrid.first) * hybrid.width
    cdef const uint8_t* at = hybrid.bits + (bit >> 3)
    cdef int64_t most = hybrid.bits + (hybrid.count >> 3) * hybrid.width - at
    cdef uint64_t word = 0
    if most >= 8:
        memcpy(&word, at, 8)
    else:
        memcpy(&word, at, most)
    word >>= bit & 7
    return <uint32_t>(word & ((<uint64_t>1 << hybrid.width) - 1))


cdef inline int64_t whole_words(const Hybrid* hybrid) noexcept nogil:
    """How many items of the packed run are in eight bytes that can be read: all but the last."""
    return 0 if hybrid.width == 0 else max(0, ((hybrid.count >> 3) * hybrid.width - 8) * 8 // hybrid.width)


cdef inline int item_at(Hybrid* hybrid, int64_t i, uint32_t* value) noexcept nogil:
    """Item i, which is not before the one that was asked for last."""
    cdef int fault
    while i >= hybrid.first + hybrid.count:
        fault = next_run(hybrid)
        if fault:
            return fault
    value[0] = packed_item(hybrid, i) if hybrid.packed else hybrid.value
    return FINE


cdef inline int pass_items(Hybrid* hybrid, int64_t n, uint64_t limit) noexcept nogil:
    """Pass the first n items of all, which have to be below the limit; else, the fault is INDEX."""
    cdef int64_t i, stop, fast, bit
    cdef uint64_t word, mask = (<uint64_t>1 << hybrid.width) - 1
    cdef uint64_t most = 0
    cdef int fault
    while hybrid.first + hybrid.count < n:
        fault = next_run(hybrid)
        if fault:
            return fault
        stop = min(n - hybrid.first, hybrid.count)
        if not hybrid.packed:
            most = max(most, hybrid.value)
        elif limit <= mask:
            fast = min(stop, whole_words(hybrid))
            bit = 0
            for i in range(fast):
                memcpy(&word, hybrid.bits + (bit >> 3), 8)
                most = max(most, (word >> (bit & 7)) & mask)
                bit += hybrid.width
            for i in range(fast, stop):
                most = max(most, packed_item(hybrid, hybrid.first + i))
    return FINE if n == 0 or most < limit else INDEX


cdef inline int items_to(Hybrid* hybrid, int64_t n, int most, uint8_t* out) noexcept nogil:
    """Write the first n items of all as bytes; they have at most 8 bits, and more than `most` is the fault NUMBER."""
    cdef int64_t i, stop, fast, bit
    cdef uint64_t word, mask = (<uint64_t>1 << hybrid.width) - 1
    cdef uint64_t highest = 0
    cdef int fault
    while hybrid.first + hybrid.count < n:
        fault = next_run(hybrid)
        if fault:
            return fault
        stop = min(n - hybrid.first, hybrid.count)
        if not hybrid.packed:
            highest = max(highest, hybrid.value)
            memset(out + hybrid.first, <int>hybrid.value, stop)
            continue
        fast = min(stop, whole_words(hybrid))
        bit = 0
        for i in range(fast):
            memcpy(&word, hybrid.bits + (bit >> 3), 8)
            word = (word >> (bit & 7)) & mask
            highest = max(highest, word)
            out[hybrid.first + i] = <uint8_t>word
            bit += hybrid.width
        for i in range(fast, stop):
            word = packed_item(hybrid, hybrid.first + i)
            highest = max(highest, word)
            out[hybrid.first + i] = <uint8_t>word
    return FINE if highest <= <uint64_t>most else NUMBER


cdef inline bint ends_at(const Hybrid* hybrid, int64_t n) noexcept nogil:
    """Whether there are n items, apart from those that fill the last packed groups, of which DuckDB writes 32."""
    cdef int64_t more = hybrid.first + hybrid.count - n
    return hybrid.left.at == hybrid.left.end and 0 <= more < (256 if hybrid.packed else 1)


cdef inline int pass_levels(Hybrid* levels, int64_t i) noexcept nogil:
    """Pass the levels before row i; `levels.ones` becomes the number of values before it."""
    cdef int64_t stop, bit
    cdef int fault
    while levels.seen < i:
        if levels.seen >= levels.first + levels.count:
            fault = next_run(levels)
            if fault:
                return fault
            continue
        stop = min(i, levels.first + levels.count)
        if levels.packed:
            bit = levels.seen - levels.first
            while levels.seen < stop:
                if bit & 7 == 0 and stop - levels.seen >= 8:
                    levels.ones += popcount32(levels.bits[bit >> 3])
                    levels.seen += 8
                    bit += 8
                else:
                    levels.ones += (levels.bits[bit >> 3] >> (bit & 7)) & 1
                    levels.seen += 1
                    bit += 1
        else:
            if levels.value:
                levels.ones += stop - levels.seen
            levels.seen = stop
    return FINE


cdef inline int level_at(Hybrid* levels, int64_t i, bint* present) noexcept nogil:
    """Whether row i has a value; `levels.ones` becomes the number of values before it."""
    cdef uint32_t value = 0
    cdef int fault = pass_levels(levels, i)
    if fault == FINE:
        fault = item_at(levels, i, &value)
    present[0] = value
    return fault
