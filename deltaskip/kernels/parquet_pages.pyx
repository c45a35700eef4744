"""Decoding of Parquet column chunks: of all their rows, or of some, for which only these values are copied.

Pages are plain or have a dictionary. All bytes are untrusted: each is read through a checked cursor, and what violates
the format, or is encoded in another way, raises ValueError, after which another reader has to be asked. A page of which
a row is taken is checked as a whole: it has as many levels, values and bytes as its header says, and every index is one
of the dictionary, so that the row is the one that decoding the whole page would give. Of pages without a row to take,
only the headers are read.
# Parquet, Data Pages; Parquet Encodings: Plain, Dictionary, and Run Length Encoding / Bit-Packing Hybrid
"""

import pyarrow as pa

from libc.stdint cimport INT32_MAX, INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memmove, memset

from deltaskip.sparkexpr.kernels.arrow cimport NO_MEMORY, ByteBuffer, HeldBytes, check, zeros
from deltaskip.kernels.byte_cursor cimport (
    ACCESS, CODEC, COUNT, ENCODING, FINE, HEADER, INDEX, LONG, NUMBER, ORDER, OTHER, SHORT, TEXT, WIDTH,
    Cursor, cursor_over, pass_by, pass_bytes,
)
from deltaskip.kernels.parquet_compression cimport UNCOMPRESSED, ZSTD, PagesAhead, decompressed, is_known
from deltaskip.kernels.parquet_dictionary cimport Dictionary
from deltaskip.kernels.parquet_headers cimport (
    DATA_PAGE, DATA_PAGE_V2, DICTIONARY_PAGE, PLAIN, PLAIN_DICTIONARY, RLE, RLE_DICTIONARY, PageHeader, read_page_header,
)
from deltaskip.kernels.parquet_hybrid cimport (
    Hybrid,
    ends_at,
    hybrid_of,
    item_at,
    level_at,
    next_run,
    packed_item,
    pass_items,
    pass_levels,
    whole_words,
)
from deltaskip.kernels.parquet_levels cimport NestedLevels, clear_nulls, sized_levels
from deltaskip.kernels.parquet_values cimport convert_value
from deltaskip.kernels.parquet_views cimport AT_ONCE, VIEW, StringViews
from deltaskip.sparkexpr.kernels.utf8_check cimport are_texts

__all__ = ["CODECS", "RowTaker"]

cdef enum:
    MOST_SPARE = 16         # buffers that are kept, and bytes of each
    MOST_SPARE_BYTES = 4 << 20
    AT_A_TIME = 256         # strings for which room is reserved at once
    SHORT_BYTES = 256       # bytes of each, at most

CODECS: Mapping[str, int] = {"UNCOMPRESSED": 0, "SNAPPY": 1, "GZIP": 2, "BROTLI": 4, "ZSTD": 6}
"""Numbers of the codecs of column chunks (parquet.thrift, CompressionCodec) by the names that pyarrow has for them."""

REASONS = {
    SHORT: "it ends before its last value does",
    NUMBER: "a number has too many bits, or counts too many values",
    WIDTH: "an index has more than 32 bits",
    INDEX: "an index is not one of the dictionary",
    ORDER: "the rows to take do not ascend",
    LONG: "its strings have more bytes than are taken at once",
    HEADER: "its header is not one of Parquet",
    ENCODING: "its encoding is not read here",
    CODEC: "it cannot be decompressed",
    TEXT: "a string is not UTF-8",
    COUNT: "it has other numbers of values or bytes than its header says",
    OTHER: "the file is not one that is read here",
    ACCESS: "the file cannot be opened or read",
}


cdef int checked(int fault) except -1:
    """Raise what a fault stands for: ValueError, or MemoryError."""
    if fault in REASONS:
        raise ValueError(f"the page is damaged, or not read here: {REASONS[fault]}")
    return check(fault)


cdef list _SPARE = []


cdef ByteBuffer _scratch():
    """A buffer for bytes of pages: one that was used before, whose memory is there already."""
    cdef ByteBuffer buffer = _SPARE.pop() if _SPARE else ByteBuffer.__new__(ByteBuffer)
    buffer.size = 0
    return buffer


cdef void _keep(ByteBuffer buffer):
    """Keep a buffer for later."""
    if buffer.capacity <= MOST_SPARE_BYTES and len(_SPARE) < MOST_SPARE:
        _SPARE.append(buffer)


def values_in(object data not None: Buffer) -> int:
    """Return the number of values, null or not, of the data pages in a buffer.

    Raises:
        ValueError: A header violates the format.
    """
    cdef HeldBytes held = HeldBytes(data)
    cdef Cursor chunk = cursor_over(held)
    cdef PageHeader header
    cdef int64_t found = 0
    while chunk.at < chunk.end:
        checked(read_page_header(&chunk, &header))
        checked(pass_by(&chunk, header.size))
        if header.kind != DICTIONARY_PAGE:
            found += header.values
    return found


cdef class RowTaker:
    """Collects the values of all or some rows of column chunks that follow each other.

    Args:
        positions: Buffer of int64: the rows to take, ascending; None for all.
        rows: Number of rows of all column chunks.
        width: Bytes of a value in the pages; 0 for byte arrays, -1 for booleans, -2 for INT96, which become microseconds,
            -3 for byte arrays that must be UTF-8, of which every entry of a dictionary is checked.
        out_width: Bytes of a value in the result, for fixed widths: less keeps the low ones, more extends the sign.
        big_endian: Whether values are big-endian numbers, to be turned.
        optional: Whether the column can be null.
        most_bytes: The most bytes of byte arrays to take, at most 2,147,483,647.
        codes: Whether byte arrays are taken as the numbers of their entries in the dictionaries of all column chunks, as
            int32. The dictionaries follow each other.
        views: Whether byte arrays are taken as views of Arrow with one buffer, of which an entry of a dictionary has its
            bytes once for all rows. All rows are taken.
        defined: Of a nested column, the level of definition of a value; -1 for others. All rows are taken, `rows` are the
            levels, and `optional` is whether values can be missing, for which the result may have a slot.
        slot: The lowest level of definition that has a slot in the result: lower ones are of lists that are empty or null.
        repeated: Whether there are levels of repetition, of one list.

    Raises:
        ValueError: Arguments that do not fit together.
    """

    def __init__(
        self, positions: Buffer | npt.NDArray[Any] | None, int64_t rows, int64_t width, int64_t out_width,
        bint big_endian, bint optional, int64_t most_bytes=INT32_MAX, bint codes=False, bint views=False,
        int defined=-1, int slot=0, bint repeated=False,
    ):
        cdef HeldBytes held
        if not 0 <= rows <= INT64_MAX // 32 or not -3 <= width <= 32 or (width > 0 and not 1 <= out_width <= 32) or most_bytes > INT32_MAX:
            raise ValueError("these are no widths of values, or too many bytes")
        self.text = width == -3
        if self.text:
            width = 0
        if (codes or views) and (width != 0 or (codes and views)):
            raise ValueError("only byte arrays are taken as numbers of entries, or as views")
        if views and positions is not None:
            raise ValueError("views are taken of all rows")
        self.optional, self.most_bytes = optional, most_bytes
        self.dictionary = Dictionary.__new__(Dictionary)
        self.dictionary.text, self.dictionary.codes, self.dictionary.most_bytes = self.text, codes, most_bytes
        self.has_dictionary = False
        if defined >= 0:
            if positions is not None or codes or not 0 <= slot <= defined < 256 or optional != (defined > 0):
                raise ValueError("these are no levels, or not all rows are taken")
            self.nested = NestedLevels(rows, defined, slot, repeated)
        if codes:
            width = out_width = 4
        if views:
            width = out_width = VIEW
            self.views = self.dictionary.views = StringViews.__new__(StringViews)
            self.views.text, self.views.most_bytes = self.text, most_bytes
        self.form.int96 = width == -2
        if self.form.int96:
            width, out_width, big_endian = 12, 8, False
        self.form.width, self.form.out_width, self.form.big_endian = width, out_width, big_endian
        self.dictionary.form = self.form
        self.positions = NULL
        self.every = positions is None
        self.count = self.chunk_rows = rows
        if positions is not None:
            self.rows = HeldBytes(positions)
            if self.rows.view.len % 8:
                raise ValueError("these are not positions")
            self.positions = <const int64_t*>self.rows.view.buf
            self.count = self.rows.view.len // 8
        self.done = self.first_row = self.nulls = 0
        self.dictionary.starts, self.dictionary.page, self.page = _scratch(), _scratch(), _scratch()
        self.ahead = PagesAhead.__new__(PagesAhead)
        self.validity = zeros((self.count + 7) >> 3)
        self.valid = self.validity.data
        memset(self.valid, 0xFF, self.validity.size)
        if width > 0:
            # Arrow's memory is used again, which that of the system is not: it costs more time than decoding.
            self.fixed = pa.allocate_buffer(self.count * out_width)
            held = HeldBytes(self.fixed)
            self.out = <uint8_t*>held.view.buf
        elif width == 0:
            self.values = _scratch()
            self.offsets = zeros((self.count + 1) * 4)
        else:
            self.values = zeros((self.count + 7) >> 3)
            self.out = self.values.data

    def take_chunk(self, object data not None: Buffer, int64_t values, int codec, int64_t first_row=-1) -> None:
        """Take the rows of the next column chunk, or of pages that follow each other in one.

        Args:
            data: Buffer of the column chunk, or of some pages: of its dictionary, which comes before all others, or data.
            values: Number of their values, null or not.
            codec: Its codec, one of CODECS.
            first_row: Number of the first row in pages, of a nested column of the first level; -1 for a column chunk.

        Raises:
            ValueError: A page violates the format, or another reader is needed.
        """
        cdef HeldBytes held = HeldBytes(data)
        cdef Cursor chunk = cursor_over(held)
        cdef int fault
        if first_row < 0 or not self.has_dictionary:
            self.dictionary_data = held
        with nogil:
            if first_row < 0:
                fault = self.take(chunk, values, codec)
            elif self.every and first_row != (self.first_row if self.nested is not None else self.done):
                fault = ORDER
            else:
                self.first_row = first_row
                fault = self._pages(chunk, values, codec)
        checked(fault)

    def finish(self) -> tuple[pa.Buffer | None, ...]:
        """Return the buffers of the values: validity (None without nulls), offsets of byte arrays, and values.

        Of views these are validity, the views, and buffers of the strings that are not in the views themselves.

        Raises:
            ValueError: A row was not in the pages.
        """
        cdef HeldBytes held
        if self.done != self.count and not (self.nested is not None and self.first_row == self.count):
            raise ValueError("rows are missing in the pages")
        validity = pa.py_buffer(self.validity) if self.nulls else None
        if self.form.width == 0 and self.values.capacity <= MOST_SPARE_BYTES:
            self.fixed = pa.allocate_buffer(self.values.size)
            held = HeldBytes(self.fixed)
            if self.values.size:
                memcpy(held.view.buf, self.values.data, self.values.size)
            _keep(self.values)
            self.values = None
        # In this order the next RowTaker gets each for what it was.
        _keep(self.page)
        _keep(self.dictionary.page)
        _keep(self.dictionary.starts)
        self.dictionary.starts = self.dictionary.page = self.page = ByteBuffer.__new__(ByteBuffer)
        self.has_dictionary = False
        if self.views is not None:
            return validity, self.fixed, *self.views.taken()
        values = pa.py_buffer(self.values) if self.fixed is None else self.fixed
        return validity, None if self.offsets is None else pa.py_buffer(self.offsets), values

    def levels(self) -> tuple[int, pa.Buffer, pa.Buffer]:
        """Return the number of slots of a nested column, and the levels of definition and of repetition, as bytes.

        Without levels of repetition they are empty. The buffers of `finish` may be longer than the slots.
        """
        return self.done, pa.py_buffer(self.nested.definitions), pa.py_buffer(self.nested.repetitions)

    def entries_taken(self) -> tuple[pa.Buffer, pa.Buffer]:
        """Return the buffers of the entries of the dictionaries, of which codes were taken: offsets and bytes.

        Raises:
            ValueError: There is no dictionary.
        """
        if not self.dictionary.codes or self.dictionary.text_offsets.size == 0:
            raise ValueError("there is no dictionary")
        return pa.py_buffer(self.dictionary.text_offsets), pa.py_buffer(self.dictionary.texts)

    cdef bint wanted(self, int64_t values) noexcept nogil:
        """Whether one of the rows to take is among the next ones, which are so many."""
        if self.every:
            return values > 0
        return self.done < self.count and self.positions[self.done] < self.first_row + values

    cdef bint wants(self, int64_t* at, int64_t first_row, int64_t values) noexcept nogil:
        """Whether one of the rows to take is among so many from `first_row` on; at: a place before it in positions."""
        if self.every:
            return values > 0
        while at[0] < self.count and self.positions[at[0]] < first_row:
            at[0] += 1
        return at[0] < self.count and self.positions[at[0]] < first_row + values

    cdef int take(self, Cursor chunk, int64_t values, int codec) noexcept nogil:
        """Take the rows of the next column chunk, see `take_chunk`."""
        self.has_dictionary = False
        return self._pages(chunk, values, codec)

    cdef int _pages(self, Cursor chunk, int64_t values, int codec) noexcept nogil:
        """Take the rows of the next pages, which have so many values."""
        cdef PageHeader header
        cdef Cursor page, begin
        cdef int64_t seen = 0
        cdef int fault
        cdef bint wanted
        # pyarrow refuses others also where no page is compressed.
        if not is_known(codec):
            return CODEC
        if not 0 <= values <= self.chunk_rows - self.first_row:
            return COUNT
        while chunk.at < chunk.end:
            begin = chunk
            fault = read_page_header(&chunk, &header)
            if fault:
                return fault
            page.at = chunk.at
            fault = pass_by(&chunk, header.size)
            if fault:
                return fault
            page.end = chunk.at
            wanted = header.kind == DICTIONARY_PAGE or self.wanted(header.values)
            if codec == ZSTD and wanted and not self.ahead.has(page):
                self.ahead.clear()
                self.look_ahead(begin, self.first_row)
                self.ahead.decompress()
            if header.kind == DICTIONARY_PAGE:
                # There is one, before all others.
                if self.has_dictionary or seen > 0:
                    return HEADER
                if header.encoding != PLAIN and header.encoding != PLAIN_DICTIONARY:
                    return ENCODING
                fault = decompressed(
                    page, header.plain_size, codec, self.ahead, self.dictionary.page, &self.dictionary.values
                )
                if fault == FINE and codec == ZSTD and self.dictionary.values.at != self.dictionary.page.data:
                    fault = self.dictionary.hold()
                if fault == FINE:
                    fault = self.dictionary.set(header.values)
                if fault:
                    return fault
                self.has_dictionary = True
            else:
                if header.values > values - seen:
                    return COUNT
                seen += header.values
                if wanted:
                    fault = self._data_page(page, &header, codec)
                    if fault:
                        return fault
                self.first_row += header.values
        return FINE if seen == values else COUNT

    cdef void look_ahead(self, Cursor chunk, int64_t first_row) noexcept nogil:
        """Add the next pages, of which the first has this row, to those that are decompressed together."""
        cdef PageHeader header
        cdef Cursor page
        cdef int64_t size, at = self.done
        while chunk.at < chunk.end and not self.ahead.is_full():
            if read_page_header(&chunk, &header) != FINE:
                return
            page.at = chunk.at
            if pass_by(&chunk, header.size) != FINE:
                return
            page.end, size = chunk.at, header.plain_size
            if header.kind != DICTIONARY_PAGE:
                first_row += header.values
                if not self.wants(&at, first_row - header.values, header.values):
                    continue
                if header.kind == DATA_PAGE_V2:
                    size -= header.repetition_bytes + header.level_bytes
                    if not header.compressed or pass_by(&page, header.repetition_bytes + header.level_bytes) != FINE:
                        return
            if not self.ahead.add(page, size):
                return

    cdef int _data_page(self, Cursor page, const PageHeader* header, int codec) noexcept nogil:
        """Take the rows of a data page."""
        cdef Cursor levels, repetitions
        cdef Values source
        cdef uint32_t size
        cdef int64_t nulls, first
        cdef int fault, width
        cdef bint repeated = self.nested is not None and self.nested.repeated
        memset(&source, 0, sizeof(source))
        levels.at = levels.end = repetitions.at = repetitions.end = page.at
        if header.kind == DATA_PAGE_V2:
            # Levels, which are not compressed, before the values.
            if header.repetition_bytes > min(page.end - page.at, header.plain_size):
                return COUNT
            if header.level_bytes > min(page.end - page.at, header.plain_size) - header.repetition_bytes:
                return COUNT
            if header.repetition_bytes and not repeated:
                return COUNT
            if header.rows != header.values and not repeated:
                return COUNT
            if header.level_bytes and not self.optional:
                return COUNT
            page.at += header.repetition_bytes
            repetitions.end = levels.at = page.at
            page.at += header.level_bytes
            levels.end = page.at
            fault = decompressed(page, header.plain_size - header.level_bytes - header.repetition_bytes,
                                 codec if header.compressed else UNCOMPRESSED, self.ahead, self.page, &source.plain)
            if fault:
                return fault
        else:
            fault = decompressed(page, header.plain_size, codec, self.ahead, self.page, &source.plain)
            if fault:
                return fault
            if repeated:
                fault = sized_levels(&source.plain, header.repetition_encoding, &repetitions)
                if fault:
                    return fault
            if self.optional:
                fault = sized_levels(&source.plain, header.level_encoding, &levels)
                if fault:
                    return fault
        if self.form.width < 0 and header.encoding == RLE:
            source.hybrid = True
            if source.plain.at < source.plain.end:
                # The number of bytes, in front of the runs.
                if source.plain.end - source.plain.at < 4:
                    return SHORT
                memcpy(&size, source.plain.at, 4)
                source.plain.at += 4
                if size != source.plain.end - source.plain.at:
                    return COUNT
                source.numbers = hybrid_of(source.plain, 1)
        elif self.has_dictionary and (header.encoding == PLAIN_DICTIONARY or header.encoding == RLE_DICTIONARY):
            source.hybrid = True
            # A page of nulls only may have no values, not even the width of an index.
            if source.plain.at < source.plain.end:
                if source.plain.at[0] > 32:
                    return WIDTH
                width = source.plain.at[0]
                source.plain.at += 1
                source.numbers = hybrid_of(source.plain, width)
        elif header.encoding != PLAIN or self.dictionary.codes:
            return ENCODING
        nulls = header.nulls if header.kind == DATA_PAGE_V2 else -1
        first = self.done
        if self.every:
            fault = self._every(repetitions, levels, &source, header.values, nulls)
        else:
            fault = self._whole(levels, source, header.values, nulls)
            if fault == FINE:
                fault = self._some(levels, &source, header.values)
        if fault == FINE and self.text and self.views is None and not source.hybrid:
            # Pages are small enough to be in the processor's cache still.
            if not are_texts(self.values.data, <const int32_t*>self.offsets.data + first, self.done - first):
                return TEXT
        return fault

    cdef int _whole(self, Cursor levels, Values source, int64_t values, int64_t nulls) noexcept nogil:
        """Check a page as taking all of its rows does; nulls: their number, -1 if it is not known."""
        cdef Hybrid hybrid = hybrid_of(levels, 1)
        cdef int64_t i, present = values
        cdef int fault = FINE
        if self.optional:
            fault = pass_levels(&hybrid, values)
            present = hybrid.ones
        if fault:
            return fault
        if source.hybrid:
            fault = pass_items(&source.numbers, present, self.dictionary.entries if self.form.width >= 0 else 2)
        elif self.form.width == 0:
            for i in range(present):
                fault = pass_bytes(&source.plain)
                if fault:
                    return fault
        elif self.form.width > 0:
            fault = SHORT if present > (source.plain.end - source.plain.at) // self.form.width else FINE
            source.plain.at += present * self.form.width
        if fault:
            return fault
        source.passed = present
        return self._all_passed(&hybrid, &source, values, nulls)

    cdef int _all_passed(self, const Hybrid* levels, const Values* source, int64_t values, int64_t nulls) noexcept nogil:
        """Check that the levels and the values of a page, all of which were passed, end after the last."""
        if self.optional and not ends_at(levels, values):
            return COUNT
        if nulls >= 0 and source.passed != values - nulls:
            return COUNT
        return self._ends(source)

    cdef int _ends(self, const Values* source) noexcept nogil:
        """Check that a page ends after its last value, all of which were passed."""
        if source.hybrid:
            return FINE if source.passed == 0 or ends_at(&source.numbers, source.passed) else COUNT
        if self.form.width < 0:
            return FINE if source.plain.end - source.plain.at == (source.passed + 7) >> 3 else COUNT
        return FINE if source.plain.at == source.plain.end else COUNT

    cdef int _some(self, Cursor levels, Values* source, int64_t values) noexcept nogil:
        """Take those rows of a page that are wanted."""
        cdef Hybrid hybrid = hybrid_of(levels, 1)
        cdef int64_t number
        cdef bint present
        cdef int fault
        while self.done < self.count and self.positions[self.done] < self.first_row + values:
            fault = self._find(&hybrid, &present, &number)
            if fault:
                return fault
            if present:
                fault = self._value(source, number)
                if fault:
                    return fault
            else:
                self._nulls(1)
        return FINE

    cdef int _find(self, Hybrid* levels, bint* present, int64_t* number) noexcept nogil:
        """Whether the next row has a value, and which of the page."""
        cdef int64_t row = self.positions[self.done] - self.first_row
        cdef int fault
        if row < 0 or (self.done > 0 and self.positions[self.done] <= self.positions[self.done - 1]):
            return ORDER
        present[0] = True
        number[0] = row
        if self.optional:
            fault = level_at(levels, row, present)
            if fault:
                return fault
            number[0] = levels.ones
        return FINE

    cdef int _value(self, Values* source, int64_t number) noexcept nogil:
        """Take a value of a page, which is after those that were passed."""
        cdef int64_t size = source.plain.end - source.plain.at
        cdef uint32_t found = 0
        cdef int fault
        if source.hybrid:
            fault = item_at(&source.numbers, number, &found)
            if fault:
                return fault
            if self.form.width >= 0:
                return self._entry(found)
            self._bit(found)
            return FINE
        if self.form.width == 0:
            while source.passed < number:
                fault = pass_bytes(&source.plain)
                if fault:
                    return fault
                source.passed += 1
            source.passed += 1
            return self._add_bytes(&source.plain)
        if self.form.width < 0:
            if number >> 3 >= size:
                return SHORT
            self._bit((source.plain.at[number >> 3] >> (number & 7)) & 1)
            return FINE
        if number >= size // self.form.width:
            return SHORT
        self._copy(source.plain.at + number * self.form.width)
        return FINE

    cdef int _every(self, Cursor repetitions, Cursor levels, Values* source, int64_t values, int64_t nulls) noexcept nogil:
        """Take all rows of a page; nulls: their number, -1 if it is not known."""
        cdef Hybrid hybrid = hybrid_of(levels, 1)
        cdef int64_t first = self.done, present = values, slots = values
        cdef int fault
        if self.nested is not None:
            fault = self.nested.next(repetitions, levels, values, self.valid, self.done, &slots, &present)
            if fault:
                return fault
            if nulls >= 0 and present != values - nulls:
                return COUNT
            fault = self._next_values(source, present)
            if fault:
                return fault
            if present < slots:
                self._spread(first, slots, present)
            return self._ends(source)  # the levels were checked
        if self.optional:
            fault = clear_nulls(&hybrid, values, self.valid, self.done, &present)
            if fault:
                return fault
        fault = self._next_values(source, present)
        if fault:
            return fault
        if present < values:
            self._spread(first, values, present)
        return self._all_passed(&hybrid, source, values, nulls)

    cdef void _spread(self, int64_t first, int64_t values, int64_t present) noexcept nogil:
        """Move the values of a page, which were taken without room for nulls, to their rows, from the last to the first.

        first: the first row; values: the number of rows.
        """
        cdef int32_t* ends = NULL
        cdef uint64_t* longs = NULL
        cdef uint64_t* pairs = NULL
        cdef uint32_t* ints = NULL
        cdef int64_t i, row, place, left = present
        cdef bint there
        if self.form.width == 0:
            ends = <int32_t*>self.offsets.data + first + 1
        elif self.form.width > 0 and self.form.out_width == 8:
            longs = <uint64_t*>self.out + first
        elif self.form.width > 0 and self.form.out_width == 16:
            pairs = <uint64_t*>self.out + 2 * first
        elif self.form.width > 0 and self.form.out_width == 4:
            ints = <uint32_t*>self.out + first
        for i in range(values - 1, -1, -1):
            row = first + i
            there = (self.valid[row >> 3] >> (row & 7)) & 1
            if ends != NULL:
                ends[i] = ends[left - 1]
                left -= there
                continue
            left -= there
            if longs != NULL:
                longs[i] = longs[left] if there else 0
            elif ints != NULL:
                ints[i] = ints[left] if there else 0
            elif pairs != NULL:
                pairs[2 * i] = pairs[2 * left] if there else 0
                pairs[2 * i + 1] = pairs[2 * left + 1] if there else 0
            elif self.form.width < 0:
                place = first + left
                there = there and (self.out[place >> 3] >> (place & 7)) & 1
                self.out[row >> 3] = <uint8_t>((self.out[row >> 3] & ~(1 << (row & 7))) | (<int>there << (row & 7)))
            elif there:
                memmove(self.out + row * self.form.out_width, self.out + (first + left) * self.form.out_width, self.form.out_width)
            else:
                memset(self.out + row * self.form.out_width, 0, self.form.out_width)
        self.done = first + values
        self.nulls += values - present

    cdef int _next_values(self, Values* source, int64_t n) noexcept nogil:
        """Take the next n values of a page."""
        cdef int64_t i, low
        cdef int64_t* longs
        cdef int fault
        if source.hybrid:
            return self._next_numbers(source, n)
        if self.views is not None:
            fault = self.views.write(&source.plain, n, self.out + self.done * VIEW)
            if fault:
                return fault
            source.passed += n
            self.done += n
        elif self.form.width == 0:
            for i in range(n):
                fault = self._add_bytes(&source.plain)
                if fault:
                    return fault
            source.passed += n
        elif self.form.width < 0:
            if source.passed + n > (source.plain.end - source.plain.at) * 8:
                return SHORT
            for i in range(source.passed, source.passed + n):
                self._bit((source.plain.at[i >> 3] >> (i & 7)) & 1)
            source.passed += n
        elif n > (source.plain.end - source.plain.at) // self.form.width:
            return SHORT
        elif self.form.width == self.form.out_width and not self.form.big_endian:
            memcpy(self.out + self.done * self.form.width, source.plain.at, n * self.form.width)
            source.plain.at += n * self.form.width
            source.passed += n
            self.done += n
        elif self.form.width == 8 and self.form.out_width == 16 and not self.form.big_endian:
            longs = <int64_t*>(self.out + self.done * 16)
            for i in range(n):
                memcpy(&low, source.plain.at + i * 8, 8)
                longs[2 * i] = low
                longs[2 * i + 1] = low >> 63
            source.plain.at += n * self.form.width
            source.passed += n
            self.done += n
        else:
            for i in range(n):
                self._copy(source.plain.at + i * self.form.width)
            source.plain.at += n * self.form.width
            source.passed += n
        return FINE

    cdef int _next_numbers(self, Values* source, int64_t n) noexcept nogil:
        """Take the next n values of a page with a dictionary, or of booleans in runs."""
        cdef Hybrid* numbers = &source.numbers
        cdef int64_t end = source.passed + n
        cdef int64_t i, stop
        cdef uint64_t* longs = <uint64_t*>self.out
        cdef uint32_t* ints = <uint32_t*>self.out
        cdef int wide = <int>self.form.out_width if self.form.width > 0 else 0
        cdef int64_t fast, bit, done, entries, width
        cdef uint64_t mask, word, item
        cdef const uint8_t* bits
        cdef const uint8_t* dictionary
        cdef int fault = FINE
        while source.passed < end:
            if source.passed >= numbers.first + numbers.count:
                fault = next_run(numbers)
                if fault:
                    return fault
                continue
            stop = min(end, numbers.first + numbers.count)
            if not numbers.packed:
                fault = self._entries(numbers.value, stop - source.passed)
                if fault:
                    return fault
            else:
                fast = source.passed
                if self.form.width == 0:
                    fast = max(fast, min(stop, numbers.first + whole_words(numbers)))
                    fault = self._next_strings(numbers, source.passed, fast)
                    if fault:
                        return fault
                elif wide == 16 or wide == 8 or wide == 4:
                    fast = max(fast, min(stop, numbers.first + whole_words(numbers)))
                    mask = (<uint64_t>1 << numbers.width) - 1
                    bit = (source.passed - numbers.first) * numbers.width
                    done = self.done
                    # Local names, since what is written could be any member of another name.
                    bits, entries, dictionary, width = numbers.bits, self.dictionary.entries, self.dictionary.values.at, numbers.width
                    for i in range(fast - source.passed):
                        memcpy(&word, bits + (bit >> 3), 8)
                        item = (word >> (bit & 7)) & mask
                        if item >= <uint64_t>entries:
                            return INDEX
                        if wide == 16:
                            memcpy(&longs[2 * (done + i)], dictionary + item * 16, 16)
                        elif wide == 8:
                            memcpy(&longs[done + i], dictionary + item * 8, 8)
                        else:
                            memcpy(&ints[done + i], dictionary + item * 4, 4)
                        bit += width
                    self.done += fast - source.passed
                for i in range(fast, stop):
                    fault = self._entries(packed_item(numbers, i), 1)
                    if fault:
                        return fault
            source.passed = stop
        return FINE

    cdef int _next_strings(self, const Hybrid* numbers, int64_t first, int64_t end) noexcept nogil:
        """Take the strings of the dictionary for items of a packed run, which are in eight bytes that can be read."""
        cdef uint64_t mask = (<uint64_t>1 << numbers.width) - 1
        cdef int64_t bit = (first - numbers.first) * numbers.width
        cdef int64_t i, place, stop
        cdef uint64_t word, item
        cdef uint32_t size
        cdef const uint8_t* at
        # Local names, as above. Behind `last` are fewer bytes than are copied at once.
        cdef const uint8_t* dictionary = self.dictionary.values.at
        cdef const uint8_t* last = self.dictionary.values.end - AT_ONCE
        cdef const int64_t* starts = <const int64_t*>self.dictionary.starts.data
        cdef const uint8_t* bits = numbers.bits
        cdef int64_t entries = self.dictionary.entries, width = numbers.width
        cdef int32_t* ends = <int32_t*>self.offsets.data + 1 + self.done
        cdef uint8_t* out
        cdef int fault
        i = first
        while i < end:
            stop = min(end, i + AT_A_TIME)
            if self.dictionary.longest > SHORT_BYTES or self.values.size + AT_A_TIME * SHORT_BYTES > self.most_bytes:
                while i < stop:
                    fault = self._entry(packed_item(numbers, i))
                    if fault:
                        return fault
                    i += 1
                bit = (i - numbers.first) * width
                ends = <int32_t*>self.offsets.data + 1 + self.done
                continue
            if self.values.reserve(AT_A_TIME * SHORT_BYTES + AT_ONCE) != 0:
                return NO_MEMORY
            out = self.values.data
            place = self.values.size
            self.done += stop - i
            while i < stop:
                memcpy(&word, bits + (bit >> 3), 8)
                item = (word >> (bit & 7)) & mask
                if item >= <uint64_t>entries:
                    return INDEX
                at = dictionary + starts[item] + 4
                memcpy(&size, at - 4, 4)
                if size <= AT_ONCE and at <= last:
                    memcpy(out + place, at, AT_ONCE)
                else:
                    memcpy(out + place, at, size)
                place += size
                ends[0] = <int32_t>place
                ends += 1
                bit += width
                i += 1
            self.values.size = place
        return FINE

    cdef int _entries(self, unsigned int index, int64_t n) noexcept nogil:
        """Take an entry of the dictionary, or a boolean, n times."""
        cdef int64_t i
        cdef int fault
        for i in range(n):
            if self.form.width < 0:
                self._bit(index)
            else:
                fault = self._entry(index)
                if fault:
                    return fault
        return FINE

    cdef int _entry(self, unsigned int index) noexcept nogil:
        """Take an entry of the dictionary."""
        cdef Cursor entry = self.dictionary.values
        if index >= self.dictionary.entries:
            return INDEX
        if self.form.width == 0:
            entry.at += (<int64_t*>self.dictionary.starts.data)[index]
            return self._add_bytes(&entry)
        memcpy(self.out + self.done * self.form.out_width, entry.at + index * self.form.out_width, self.form.out_width)
        self.done += 1
        return FINE

    cdef void _copy(self, const uint8_t* value) noexcept nogil:
        """Take a value of fixed width."""
        convert_value(&self.form, value, self.out + self.done * self.form.out_width)
        self.done += 1

    cdef void _bit(self, bint value) noexcept nogil:
        """Take a boolean."""
        self.out[self.done >> 3] |= <uint8_t>((<int>value & 1) << (self.done & 7))
        self.done += 1

    cdef void _nulls(self, int64_t n) noexcept nogil:
        """Take n nulls."""
        for _ in range(n):
            self.valid[self.done >> 3] &= <uint8_t>~(1 << (self.done & 7))
            self.done += 1
            if self.form.width == 0:
                (<int32_t*>self.offsets.data)[self.done] = <int32_t>self.values.size
        if self.form.width > 0:
            memset(self.out + (self.done - n) * self.form.out_width, 0, n * self.form.out_width)
        self.nulls += n

    cdef int _add_bytes(self, Cursor* cursor) noexcept nogil:
        """Take the byte array at the cursor, which has its length in front, and pass it."""
        cdef uint32_t size
        cdef uint8_t* out
        if cursor.end - cursor.at < 4:
            return SHORT
        memcpy(&size, cursor.at, 4)
        cursor.at += 4
        if size > cursor.end - cursor.at:
            return SHORT
        if self.values.size + size > self.most_bytes:
            return LONG
        if self.values.capacity - self.values.size < <int64_t>size + AT_ONCE and self.values.reserve(size + AT_ONCE) != 0:
            return NO_MEMORY
        out = self.values.data + self.values.size
        # A number of bytes that the compiler knows is copied faster.
        if size <= AT_ONCE and cursor.end - cursor.at >= AT_ONCE:
            memcpy(out, cursor.at, AT_ONCE)
        else:
            memcpy(out, cursor.at, size)
        cursor.at += size
        self.values.size += size
        self.done += 1
        (<int32_t*>self.offsets.data)[self.done] = <int32_t>self.values.size
        return FINE
