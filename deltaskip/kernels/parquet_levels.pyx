"""Levels of definition and repetition of Parquet pages, which are untrusted: see parquet_pages.
# Parquet, Nested Encoding
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from deltaskip.sparkexpr.kernels.arrow cimport NO_MEMORY, ByteBuffer, check
from deltaskip.kernels.byte_cursor cimport COUNT, ENCODING, FINE, SHORT, Cursor, pass_by
from deltaskip.kernels.parquet_headers cimport RLE
from deltaskip.kernels.parquet_hybrid cimport Hybrid, ends_at, hybrid_of, items_to, next_run, popcount32


cdef class NestedLevels:
    def __init__(self, int64_t n, int defined, int slot, bint repeated):
        """n: levels of all pages; for the others see parquet_pages.RowTaker."""
        self._defined, self._slot, self.repeated = defined, slot, repeated
        self._bits = 0
        while defined >> self._bits:
            self._bits += 1
        self.definitions, self.repetitions = ByteBuffer(), ByteBuffer()
        check(self.definitions.reserve(n))
        check(self.repetitions.reserve(n if repeated else 0))

    cdef int next(
        self, Cursor repetitions, Cursor definitions, int64_t n, uint8_t* valid, int64_t at, int64_t* slots, int64_t* present
    ) noexcept nogil:
        """Keep the levels of a page, and clear the bits of slots, from `at` on, that are null; their number, and that of values."""
        cdef Hybrid hybrid
        cdef uint8_t* levels
        cdef int64_t i, there, found = 0, first = at
        cdef int defined = self._defined, slot = self._slot
        cdef int fault
        if self.repeated:
            hybrid = hybrid_of(repetitions, 1)
            if self.repetitions.reserve(n) != 0:
                return NO_MEMORY
            fault = items_to(&hybrid, n, 1, self.repetitions.data + self.repetitions.size)
            if fault:
                return fault
            if not ends_at(&hybrid, n):
                return COUNT
            self.repetitions.size += n
        if self.definitions.reserve(n) != 0:
            return NO_MEMORY
        levels = self.definitions.data + self.definitions.size
        self.definitions.size += n
        slots[0] = present[0] = n
        if defined == 0:
            memset(levels, 0, n)
            return FINE
        hybrid = hybrid_of(definitions, self._bits)
        fault = items_to(&hybrid, n, defined, levels)
        if fault:
            return fault
        if not ends_at(&hybrid, n):
            return COUNT
        for i in range(n):
            found += levels[i] == defined
        if found == n:
            return FINE
        present[0] = found
        for i in range(n):
            # The bit of what is no slot is that of the next one, which may be in a page without nulls.
            there = levels[i] == defined or levels[i] < slot
            valid[at >> 3] = <uint8_t>((valid[at >> 3] & ~(1 << (at & 7))) | there << (at & 7))
            at += levels[i] >= slot
        slots[0] = at - first
        return FINE


cdef int clear_nulls(Hybrid* levels, int64_t n, uint8_t* valid, int64_t at, int64_t* present) noexcept nogil:
    """Clear the bits, from `at` on, of those of n rows that are null; `present` becomes the number of the others."""
    cdef int64_t row = 0, stop, bit, place
    cdef unsigned int absent
    cdef int fault
    present[0] = 0
    while row < n:
        if row >= levels.first + levels.count:
            fault = next_run(levels)
            if fault:
                return fault
            continue
        stop = min(n, levels.first + levels.count)
        if not levels.packed and levels.value:
            present[0] += stop - row
            row = stop
        while row < stop:
            bit, place = row - levels.first, at + row
            if not levels.packed:
                absent = 1
            elif bit & 7 == 0 and stop - row >= 8:
                absent = ~levels.bits[bit >> 3] & 0xFF
                present[0] += 8 - popcount32(absent)
                row += 8
                if absent:
                    valid[place >> 3] &= <uint8_t>~(absent << (place & 7))
                    if place & 7:
                        valid[(place >> 3) + 1] &= <uint8_t>~(absent >> (8 - (place & 7)))
                continue
            else:
                absent = ~(levels.bits[bit >> 3] >> (bit & 7)) & 1
            valid[place >> 3] &= <uint8_t>~(absent << (place & 7))
            present[0] += 1 - absent
            row += 1
    return FINE


cdef int sized_levels(Cursor* page, int64_t encoding, Cursor* levels) noexcept nogil:
    """Pass levels, which are behind the number of their bytes."""
    cdef uint32_t size
    cdef int fault
    if encoding != RLE:
        return ENCODING
    if page.end - page.at < 4:
        return SHORT
    memcpy(&size, page.at, 4)
    page.at += 4
    levels.at = page.at
    fault = pass_by(page, size)
    levels.end = page.at
    return fault
