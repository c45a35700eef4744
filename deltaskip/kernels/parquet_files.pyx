"""Small Parquet files on a local disk, read together: footers and column chunks without a Python object for each.

A file that is not read here (a footer that is damaged or encrypted, more than one row group) has no key, and another
reader has to be asked for it. All bytes are untrusted, as in kernels.parquet_pages.
# Parquet, File Format and Metadata; parquet.thrift, FileMetaData
"""

cimport cython
from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize
from libc.stdint cimport INT32_MAX, int64_t, uint8_t, uint32_t
from libc.string cimport memcmp, memcpy, memset
from posix.fcntl cimport O_NONBLOCK, O_RDONLY, open
from posix.stat cimport S_ISREG, fstat, struct_stat
from posix.unistd cimport close, pread

from deltaskip.sparkexpr.kernels.arrow cimport NO_MEMORY, ByteBuffer, check
from deltaskip.kernels.byte_cursor cimport ACCESS, COUNT, FINE, HEADER, OTHER, SHORT, Cursor
from deltaskip.kernels.parquet_compression cimport ZSTD
from deltaskip.kernels.parquet_pages cimport RowTaker, checked
from deltaskip.kernels.thrift_cursor cimport (
    BINARY,
    FALSE_VALUE,
    I32,
    I64,
    LIST,
    STOP,
    STRUCT,
    TRUE_VALUE,
    Field,
    pass_field,
    read_field,
    read_int,
    read_list,
)

__all__ = ["ParquetFiles"]

cdef extern from "<fcntl.h>":
    int O_CLOEXEC

cdef enum:
    TAIL_BYTES = 1 << 15    # read at first, which is more than most footers have
    MAGIC_BYTES = 4
    MOST_ROWS = 0x7FFFFFFF  # of a file
    MOST_TOGETHER = 1 << 18 # bytes of column chunks that are read together
    # The fields 1 to 7 and 9 of the metadata of a column chunk.
    REQUIRED = 0x2FE

cdef struct Chunk:
    int64_t kind
    int64_t codec
    int64_t values
    int64_t size
    int64_t start
    # How many repetition and definition levels its size statistics count; 0 if they do not.
    int64_t repetitions
    int64_t definitions

cdef struct File:
    int handle
    int fault
    int64_t size
    int64_t rows
    int64_t plain_size
    # Where its column chunks and its key begin in the buffers of all files, and how many and how long they are.
    int64_t first_chunk
    int64_t chunks
    int64_t key_start
    int64_t key_size


# Without the collector of cycles, as its buffers are needed to close the files and are in no cycle.
@cython.no_gc
cdef class ParquetFiles:
    """Some files that are open for reading. Only one thread uses it at a time.

    Args:
        paths: Their paths, as bytes.
    """
    cdef ByteBuffer files
    cdef ByteBuffer chunks
    cdef ByteBuffer keys
    cdef ByteBuffer scratch
    cdef int64_t count

    def __init__(self, list paths not None: list[bytes]):
        cdef int64_t i, count = len(paths)
        cdef int fault = FINE
        cdef ByteBuffer names = ByteBuffer.__new__(ByteBuffer)
        self.count = 0
        self.files = ByteBuffer.__new__(ByteBuffer)
        self.chunks = ByteBuffer.__new__(ByteBuffer)
        self.keys = ByteBuffer.__new__(ByteBuffer)
        self.scratch = ByteBuffer.__new__(ByteBuffer)
        check(self.files.reserve(count * sizeof(File) + 1))
        memset(self.files.data, 0, self.files.capacity)
        for each in paths:
            check(names.append_int64(<int64_t>PyBytes_AsString(each)))
        with nogil:
            for i in range(count):
                self.count += 1
                fault = self._open(<const char*>(<int64_t*>names.data)[i], self._file(i))
                self._file(i).fault = fault
                if fault == NO_MEMORY:
                    break
        if fault == NO_MEMORY:
            raise MemoryError

    def __len__(self):
        return self.count

    def __dealloc__(self):
        self._close()

    def close(self) -> None:
        """Close the files."""
        self._close()

    def key(self, int64_t number) -> bytes | None:
        """Return bytes that are equal for files with the same schema, metadata and writer; None if a file is not read here."""
        cdef File* file = self._checked_file(number)
        if file.fault != FINE:
            return None
        return PyBytes_FromStringAndSize(<const char*>self.keys.data + file.key_start, file.key_size)

    def rows(self, int64_t number) -> int:
        """Return the number of rows of a file."""
        return self._checked_file(number).rows

    def plain_size(self, int64_t number) -> int:
        """Return the bytes of the columns of a file before they were compressed, as its footer has them."""
        return self._checked_file(number).plain_size

    def take(
        self, positions: Buffer | npt.NDArray[Any] | None, int64_t leaf, int64_t width, int64_t out_width,
        bint big_endian, bint optional, int64_t most_bytes=INT32_MAX, bint views=False, bint codes=False,
    ) -> tuple[pa.Buffer | None, ...]:
        """Return the buffers of values of a column: validity (None without nulls), offsets (of byte arrays) and values.

        Args:
            positions: Buffer of int64: the rows to take, counted from the first of the first file, ascending; None
                for all rows of all files.
            leaf: Number of the column among the Parquet columns.
            width: As of RowTaker, and so are all that follow.
            out_width: See there.
            big_endian: See there.
            optional: See there.
            most_bytes: See there.
            views: See there.
            codes: See there; the buffers of `RowTaker.entries_taken` follow.

        Raises:
            ValueError: A page or a file is not read here.
        """
        cdef int64_t rows = 0
        cdef int64_t i
        cdef int fault = FINE
        cdef RowTaker taker
        for i in range(self.count):
            rows += self._file(i).rows
        taker = RowTaker(positions, rows, width, out_width, big_endian, optional, most_bytes, codes, views)
        with nogil:
            i = 0
            while i < self.count and fault == FINE:
                fault = self._take_some(&i, leaf, taker)
        checked(fault)
        return (*taker.finish(), *(taker.entries_taken() if codes else ()))

    cdef File* _file(self, int64_t number) noexcept nogil:
        return <File*>self.files.data + number

    cdef File* _checked_file(self, int64_t number) except NULL:
        if not 0 <= number < self.count:
            raise IndexError("there is no file of this number")
        return self._file(number)

    cdef void _close(self) noexcept:
        cdef int64_t i
        for i in range(self.count):
            if self._file(i).handle > 0:
                close(self._file(i).handle - 1)
            self._file(i).handle = 0

    cdef int _take_some(self, int64_t* number, int64_t leaf, RowTaker taker) noexcept nogil:
        """Take the rows of the next files, as many as are small enough to be read together, from this number on."""
        cdef Chunk* chunk
        cdef Cursor data
        cdef int64_t i, first = number[0], size = 0, row = taker.first_row, at = taker.done
        cdef int fault = FINE
        self.scratch.size = 0
        while number[0] < self.count:
            fault = self._check(self._file(number[0]), leaf, taker)
            if fault:
                return fault
            chunk = self._chunk_of(number[0], leaf)
            size += chunk.size
            if number[0] > first and size > MOST_TOGETHER:
                break
            if taker.wants(&at, row, chunk.values) and self._read(self._file(number[0]), chunk.start, chunk.size) != FINE:
                return ACCESS
            row += chunk.values
            number[0] += 1
        taker.ahead.clear()
        if number[0] > first + 1:
            row, at = taker.first_row, taker.done
            data.at = data.end = self.scratch.data
            for i in range(first, number[0]):
                chunk = self._chunk_of(i, leaf)
                if taker.wants(&at, row, chunk.values):
                    data.at, data.end = data.end, data.end + chunk.size
                    if chunk.codec == ZSTD:
                        taker.look_ahead(data, row)
                row += chunk.values
            taker.ahead.decompress()
        data.at = data.end = self.scratch.data
        for i in range(first, number[0]):
            chunk = self._chunk_of(i, leaf)
            if not taker.wanted(chunk.values):
                taker.first_row += chunk.values
                continue
            data.at, data.end = data.end, data.end + chunk.size
            fault = taker.take(data, chunk.values, <int>chunk.codec)
            if fault:
                return fault
        return FINE

    cdef Chunk* _chunk_of(self, int64_t number, int64_t leaf) noexcept nogil:
        return <Chunk*>self.chunks.data + self._file(number).first_chunk + leaf

    cdef int _check(self, File* file, int64_t leaf, RowTaker taker) noexcept nogil:
        """Check that a file has a column chunk of the rows to take."""
        cdef Chunk* chunk
        cdef bint strings = taker.views is not None or taker.dictionary.codes
        if file.fault:
            return file.fault
        if not 0 <= leaf < file.chunks:
            return OTHER
        chunk = <Chunk*>self.chunks.data + file.first_chunk + leaf
        if chunk.values != file.rows:
            return COUNT
        if not _has_width(chunk.kind, taker.form.int96, 0 if strings else taker.form.width):
            return HEADER
        # pyarrow raises an error for other numbers of levels than those of the column.
        if chunk.repetitions > 1 or (chunk.definitions and chunk.definitions != 1 + taker.optional):
            return COUNT
        return FINE

    cdef int _read(self, File* file, int64_t start, int64_t size) noexcept nogil:
        """Add bytes of a file to `scratch`."""
        cdef int64_t done = 0
        cdef int64_t got
        if file.handle == 0 or self.scratch.reserve(size + 1) != 0:
            return ACCESS
        while done < size:
            got = pread(file.handle - 1, self.scratch.data + self.scratch.size, size - done, start + done)
            if got <= 0:
                return ACCESS
            self.scratch.size += got
            done += got
        return FINE

    cdef int _open(self, const char* path, File* file) noexcept nogil:
        """Open a file and read its footer."""
        cdef struct_stat status
        cdef uint32_t footer_size
        cdef int64_t tail
        cdef Cursor footer
        # A handle more than the number, so that zeros stand for files that are not open.
        file.handle = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) + 1
        if file.handle == 0 or fstat(file.handle - 1, &status) != 0 or not S_ISREG(status.st_mode):
            return ACCESS
        file.size = status.st_size
        tail = min(file.size, TAIL_BYTES)
        self.scratch.size = 0
        if file.size < 12 or self._read(file, file.size - tail, tail) != FINE:
            return SHORT
        if memcmp(self.scratch.data + tail - MAGIC_BYTES, b"PAR1", MAGIC_BYTES) != 0:
            return OTHER
        memcpy(&footer_size, self.scratch.data + tail - 8, 4)
        if footer_size > file.size - 12:
            return SHORT
        if <int64_t>footer_size + 8 > tail:
            tail = <int64_t>footer_size + 8
            self.scratch.size = 0
            if self._read(file, file.size - tail, tail) != FINE:
                return SHORT
        footer.end = self.scratch.data + tail - 8
        footer.at = footer.end - footer_size
        return self._footer(footer, file)

    cdef int _footer(self, Cursor cursor, File* file) noexcept nogil:
        """Read a footer (parquet.thrift, FileMetaData)."""
        cdef Field field
        cdef const uint8_t* start
        cdef int64_t items = 0, rows = -1
        cdef int item = STOP
        cdef bint grouped = False, found
        cdef int64_t version = 0, last = 0
        cdef int fault
        file.first_chunk = self.chunks.size // sizeof(Chunk)
        file.key_start = self.keys.size
        file.rows = -1
        field.number = 0
        while True:
            fault = read_field(&cursor, &field)
            if fault:
                return fault
            start = cursor.at
            if field.kind == STOP:
                file.key_size = self.keys.size - file.key_start
                found = grouped and version > 0 and cursor.at == cursor.end
                return FINE if found and rows == file.rows and 0 <= rows <= MOST_ROWS else OTHER
            if field.number <= last:
                return HEADER
            last = field.number
            if field.number == 1:
                fault = read_int(&cursor, &field, I32, &version)
            elif field.number == 3:
                fault = read_int(&cursor, &field, I64, &rows)
            elif field.number == 4:
                if field.kind != LIST or grouped:
                    return HEADER
                fault = read_list(&cursor, &item, &items)
                if fault == FINE and (item != STRUCT or items != 1):
                    fault = OTHER
                if fault == FINE:
                    fault = self._row_group(&cursor, file)
                grouped = True
            elif field.number == 8 or field.number == 9:
                # Encrypted or signed.
                return OTHER
            else:
                # The schema, the pairs of keys and values, and the writer.
                found = field.number == 2 or field.number == 5 or field.number == 6
                if found and field.kind != (BINARY if field.number == 6 else LIST):
                    return HEADER
                fault = pass_field(&cursor, &field, 1)
                if fault == FINE and found:
                    if self.keys.append_int64(field.number) != 0 or self.keys.append(start, cursor.at - start) != 0:
                        fault = NO_MEMORY
            if fault:
                return fault

    cdef int _row_group(self, Cursor* cursor, File* file) noexcept nogil:
        """Read the row group of a file (parquet.thrift, RowGroup)."""
        cdef Field field
        cdef int64_t items = 0, i, last = 0
        cdef int item = STOP
        cdef int fault
        file.plain_size = -1
        field.number = 0
        while True:
            fault = read_field(cursor, &field)
            if fault:
                return fault
            if field.kind == STOP:
                return FINE if file.plain_size >= 0 and file.rows >= 0 else HEADER
            if field.number <= last:
                return HEADER
            last = field.number
            if field.number == 1:
                if field.kind != LIST:
                    return HEADER
                fault = read_list(cursor, &item, &items)
                if fault == FINE and item != STRUCT:
                    fault = HEADER
                i = 0
                while fault == FINE and i < items:
                    fault = self._chunk(cursor, file)
                    i += 1
            elif field.number == 2:
                fault = read_int(cursor, &field, I64, &file.plain_size)
            elif field.number == 3:
                fault = read_int(cursor, &field, I64, &file.rows)
            elif field.number == 4:
                # The order of the rows: columns, whether they descend, and whether nulls come first.
                fault = _pass_structs(cursor, &field, 1 << 1, 0b1100, 0)
            else:
                fault = pass_field(cursor, &field, 2)
            if fault:
                return fault

    cdef int _chunk(self, Cursor* cursor, File* file) noexcept nogil:
        """Read a column chunk (parquet.thrift, ColumnChunk)."""
        cdef Field field
        cdef Chunk chunk
        cdef int64_t offset = -1, last = 0
        cdef int fault
        memset(&chunk, 0, sizeof(chunk))
        chunk.kind = chunk.values = -1
        field.number = 0
        while True:
            fault = read_field(cursor, &field)
            if fault:
                return fault
            if field.kind == STOP:
                break
            if field.number <= last:
                return HEADER
            last = field.number
            if field.number == 2:
                fault = read_int(cursor, &field, I64, &offset)
            elif field.number == 3 and field.kind == STRUCT:
                fault = _metadata(cursor, &chunk)
            elif field.number == 1 or field.number == 8 or field.number == 9:
                # In another file, or encrypted.
                return OTHER
            else:
                fault = pass_field(cursor, &field, 3)
            if fault:
                return fault
        if offset < 0 or chunk.values < 0 or chunk.start < MAGIC_BYTES or not 0 <= chunk.size <= file.size - chunk.start:
            return HEADER
        file.chunks += 1
        return NO_MEMORY if self.chunks.append(&chunk, sizeof(chunk)) != 0 else FINE


cdef int _metadata(Cursor* cursor, Chunk* chunk) noexcept nogil:
    """Read the metadata of a column chunk (parquet.thrift, ColumnMetaData)."""
    cdef Field field
    cdef int64_t data_page = -1, dictionary_page = -1, plain_size = -1, last = 0
    cdef int found = 0
    cdef int fault
    field.number = 0
    while True:
        fault = read_field(cursor, &field)
        if fault:
            return fault
        if field.kind == STOP:
            # Writers state 0 for a dictionary that is not there.
            chunk.start = dictionary_page if 0 < dictionary_page < data_page else data_page
            return FINE if found & REQUIRED == REQUIRED else HEADER
        if field.number <= last:
            return HEADER
        last = field.number
        if field.number < 10:
            found |= 1 << field.number
        if field.number == 1:
            fault = read_int(cursor, &field, I32, &chunk.kind)
        elif field.number == 2:
            fault = _pass_list(cursor, &field, I32)
        elif field.number == 3:
            fault = _pass_list(cursor, &field, BINARY)
        elif field.number == 4:
            fault = read_int(cursor, &field, I32, &chunk.codec)
        elif field.number == 5:
            fault = read_int(cursor, &field, I64, &chunk.values)
        elif field.number == 6:
            fault = read_int(cursor, &field, I64, &plain_size)
        elif field.number == 7:
            fault = read_int(cursor, &field, I64, &chunk.size)
        elif field.number == 8:
            # Pairs of key and value, of which the former is there.
            fault = _pass_structs(cursor, &field, 0, 0, 1 << 1)
        elif field.number == 13:
            # Numbers of pages: their kind, encoding and count.
            fault = _pass_structs(cursor, &field, 0b1110, 0, 0)
        elif field.number == 9:
            fault = read_int(cursor, &field, I64, &data_page)
        elif field.number == 11:
            fault = read_int(cursor, &field, I64, &dictionary_page)
        elif field.number == 16:
            fault = _size_statistics(cursor, chunk) if field.kind == STRUCT else HEADER
        else:
            fault = pass_field(cursor, &field, 4)
        if fault:
            return fault


cdef int _size_statistics(Cursor* cursor, Chunk* chunk) noexcept nogil:
    """Read how many levels the histograms of a column chunk have (parquet.thrift, SizeStatistics)."""
    cdef Field field
    cdef Cursor ahead
    cdef int item = STOP
    cdef int fault
    field.number = 0
    while True:
        fault = read_field(cursor, &field)
        if fault or field.kind == STOP:
            return fault
        ahead = cursor[0]
        if field.number == 1 and chunk.kind != 6:
            return HEADER
        if field.number == 2:
            fault = _pass_list(cursor, &field, I64) or read_list(&ahead, &item, &chunk.repetitions)
        elif field.number == 3:
            fault = _pass_list(cursor, &field, I64) or read_list(&ahead, &item, &chunk.definitions)
        else:
            fault = pass_field(cursor, &field, 5)
        if fault:
            return fault


cdef int _pass_list(Cursor* cursor, const Field* field, int kind) noexcept nogil:
    """Pass a list of items of one kind."""
    cdef Cursor ahead = cursor[0]
    cdef int64_t items = 0
    cdef int item = STOP
    cdef int fault = read_list(&ahead, &item, &items) if field.kind == LIST else HEADER
    if fault == FINE and items and item != kind:
        fault = HEADER
    return fault if fault else pass_field(cursor, field, 4)


cdef int _pass_structs(Cursor* cursor, const Field* field, int numbers, int booleans, int texts) noexcept nogil:
    """Pass a list of structs, each of which has these fields, as bits by their numbers: I32, booleans and binaries."""
    cdef Field part
    cdef int64_t items = 0, i
    cdef int item = STOP, found, bit
    cdef int fault = read_list(cursor, &item, &items) if field.kind == LIST else HEADER
    if fault == FINE and items and item != STRUCT:
        return HEADER
    if fault:
        return fault
    for i in range(items):
        part.number = found = 0
        while True:
            fault = read_field(cursor, &part)
            if fault:
                return fault
            if part.kind == STOP:
                break
            bit = 1 << part.number if part.number < 30 else 0
            if part.kind == I32:
                found |= bit & numbers
            elif part.kind == TRUE_VALUE or part.kind == FALSE_VALUE:
                found |= bit & booleans
            elif part.kind == BINARY:
                found |= bit & texts
            fault = pass_field(cursor, &part, 5)
            if fault:
                return fault
        if found != numbers | booleans | texts:
            return HEADER
    return FINE


cdef bint _has_width(int64_t kind, bint int96, int64_t width) noexcept nogil:
    """Whether values of a physical type (parquet.thrift, Type) have the width that RowTaker was told."""
    if kind == 7:
        return width > 0
    if kind == 3 or int96:
        return kind == 3 and int96
    if kind == 0:
        return width == -1
    if kind == 6:
        return width == 0
    return width == (4 if kind == 1 or kind == 4 else 8 if kind == 2 or kind == 5 else -3)
