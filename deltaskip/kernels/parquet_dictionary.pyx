"""Dictionaries of column chunks of Parquet files, which are untrusted: see parquet_pages.
# Parquet, Data Pages, Dictionary page
"""

from libc.stdint cimport INT32_MAX, int32_t, int64_t, uint8_t

from deltaskip.sparkexpr.kernels.arrow cimport NO_MEMORY, ByteBuffer
from deltaskip.kernels.byte_cursor cimport COUNT, ENCODING, FINE, SHORT, TEXT, Cursor, pass_bytes
from deltaskip.kernels.parquet_values cimport convert_value, is_converted
from deltaskip.kernels.parquet_views cimport VIEW
from deltaskip.sparkexpr.kernels.utf8_check cimport ASCII, BYTES, UTF8, Texts, are_texts, kind_of


cdef class Dictionary:
    def __cinit__(self):
        self._numbers, self.text_offsets, self.texts = ByteBuffer(), ByteBuffer(), ByteBuffer()

    cdef int hold(self) noexcept nogil:
        """Copy `self.values` to where it stays when other pages are decompressed."""
        cdef int64_t size = self.values.end - self.values.at
        self.page.size = 0
        if self.page.append(self.values.at, size) != 0:
            return NO_MEMORY
        self.values.at, self.values.end = self.page.data, self.page.data + size
        return FINE

    cdef int set(self, int64_t entries) noexcept nogil:
        """Take `self.values`, encoded as PLAIN, as the dictionary."""
        cdef Cursor cursor = self.values
        cdef int64_t i, before, longest = 0
        cdef int fault
        if self.form.width < 0:
            return ENCODING
        if self.codes:
            return self._set_codes(entries)
        if self.views is not None:
            return self._set_views(entries)
        # Byte arrays have four bytes of length.
        if entries > (cursor.end - cursor.at) // (self.form.width if self.form.width else 4):
            return SHORT
        if self.form.width == 0:
            self.starts.size = 0
            if self.starts.reserve(entries * 8 + 8) != 0:
                return NO_MEMORY
            for i in range(entries):
                before = cursor.at - self.values.at
                (<int64_t*>self.starts.data)[i] = before
                fault = pass_bytes(&cursor)
                if fault:
                    return fault
                longest = max(longest, cursor.at - self.values.at - before - 4)
        else:
            cursor.at += entries * self.form.width
        if cursor.at != cursor.end:
            return COUNT
        if self.text and not self._are_texts(entries, longest):
            return TEXT
        self.longest = longest
        if is_converted(&self.form) and self._convert(entries) != FINE:
            return NO_MEMORY
        self.entries = entries
        return FINE

    cdef int _set_codes(self, int64_t entries) noexcept nogil:
        """Take the entries of `self.values` as texts, and their numbers as the values of the dictionary."""
        cdef Cursor cursor = self.values
        cdef const uint8_t* at
        cdef int64_t i, first = max(0, self.text_offsets.size // 4 - 1)
        cdef int fault
        if entries > (cursor.end - cursor.at) // 4:
            return SHORT
        # The entries of a further dictionary are behind those of the ones before.
        self._numbers.size = 0
        if self.texts.size + (cursor.end - cursor.at) > self.most_bytes or first + entries >= INT32_MAX:
            return ENCODING
        if self._numbers.reserve(4 * entries + 4) != 0 or self.text_offsets.reserve(4 * entries + 8) != 0:
            return NO_MEMORY
        if self.texts.reserve(cursor.end - cursor.at + 8) != 0:
            return NO_MEMORY
        if self.text_offsets.size == 0:
            self.text_offsets.append_int32(0)
        for i in range(entries):
            at = cursor.at + 4
            fault = pass_bytes(&cursor)
            if fault:
                return fault
            self.texts.append(at, cursor.at - at)
            self.text_offsets.append_int32(<int32_t>self.texts.size)
            self._numbers.append_int32(<int32_t>(first + i))
        if cursor.at != cursor.end:
            return COUNT
        if self.text and not are_texts(self.texts.data, <const int32_t*>self.text_offsets.data + first, entries):
            return TEXT
        self.values.at = self._numbers.data
        self.values.end = self._numbers.data + self._numbers.size
        self.entries = entries
        return FINE

    cdef int _set_views(self, int64_t entries) noexcept nogil:
        """Take the entries of `self.values` as views, which are the values of the dictionary."""
        cdef Cursor cursor = self.values
        cdef int fault
        if entries > (cursor.end - cursor.at) // 4:
            return SHORT
        self.starts.size = 0
        if self.starts.reserve(entries * VIEW) != 0:
            return NO_MEMORY
        fault = self.views.write(&cursor, entries, self.starts.data)
        if fault:
            return fault
        if cursor.at != cursor.end:
            return COUNT
        self.values.at = self.starts.data
        self.values.end = self.starts.data + entries * VIEW
        self.entries = entries
        return FINE

    cdef int _convert(self, int64_t entries) noexcept nogil:
        """Make the entries of `self.values` what the result has, so that each is converted once."""
        cdef int64_t i, size = entries * self.form.out_width
        cdef const uint8_t* at = self.values.at
        self.starts.size = 0
        # A value may be written as 16 bytes.
        if self.starts.reserve(size + 16) != 0:
            return NO_MEMORY
        for i in range(entries):
            convert_value(&self.form, at + i * self.form.width, self.starts.data + i * self.form.out_width)
        self.values.at = self.starts.data
        self.values.end = self.starts.data + size
        return FINE

    cdef bint _are_texts(self, int64_t entries, int64_t longest) noexcept nogil:
        """Whether the entries of `self.values` are UTF-8; longest: the most bytes of one."""
        cdef const uint8_t* data = self.values.at
        cdef int64_t* starts = <int64_t*>self.starts.data
        cdef int64_t i, size = self.values.end - data
        cdef Texts kind = kind_of(data, size)
        # A length up to 127 is four bytes of ASCII, which are no part of a character.
        if kind == ASCII or (kind == UTF8 and longest < 128):
            return True
        starts[entries] = size
        for i in range(entries):
            if kind_of(data + starts[i] + 4, starts[i + 1] - starts[i] - 4) == BYTES:
                return False
        return True
