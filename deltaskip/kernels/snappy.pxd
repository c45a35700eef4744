"""Decompression of Snappy's raw format, the usual one of Parquet pages, without the GIL; the function is inline.

# Snappy compressed format description
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from deltaskip.kernels.byte_cursor cimport FINE, SHORT, Cursor, read_varint32

cdef enum:
    SNAPPY_MARGIN = 32      # bytes after the result that may be written to


cdef inline int snappy_decompress(Cursor cursor, uint8_t* out, int64_t size) noexcept nogil:
    """Write `size` bytes to `out`, which has room for SNAPPY_MARGIN more. Return FINE, or SHORT for other bytes."""
    cdef uint8_t* first = out
    cdef uint8_t* end = out + size
    cdef uint8_t* stop
    cdef const uint8_t* source
    cdef uint64_t length, word, mask, listed
    cdef int64_t offset
    cdef uint32_t tag, extra, wanted
    cdef bint short
    if read_varint32(&cursor, &length) != FINE or length != <uint64_t>size:
        return SHORT
    while cursor.at < cursor.end:
        tag = cursor.at[0]
        cursor.at += 1
        if tag & 3 == 0:
            length = (tag >> 2) + 1
            if length <= 16 and cursor.end - cursor.at >= 16 and end - out >= <int64_t>length:
                memcpy(out, cursor.at, 16)
                out += length
                cursor.at += length
                continue
            if length > 60:
                extra = <uint32_t>length - 60
                if cursor.end - cursor.at < extra:
                    return SHORT
                length = 0
                memcpy(&length, cursor.at, extra)
                length += 1
                cursor.at += extra
            if length > <uint64_t>(cursor.end - cursor.at) or length > <uint64_t>(end - out):
                return SHORT
            memcpy(out, cursor.at, length)
            out += length
            cursor.at += length
            continue
        if tag & 3 < 3 and cursor.end - cursor.at >= 4:
            # Both forms are computed, since a branch on the form would be predicted wrongly too often.
            memcpy(&extra, cursor.at, 4)
            short = tag & 3 == 1
            length = 4 + ((tag >> 2) & 7) if short else (tag >> 2) + 1
            offset = (tag >> 5 << 8) | (extra & 0xFF) if short else extra & 0xFFFF
            cursor.at += 1 if short else 2
            if offset == 8 and 4 <= length < 8 and out - first >= 8 and extra >> 8 & 0xFF == (7 - length) << 2 and short:
                # Integers that follow each other: the first bytes are those of the number before, and the others are
                # listed. No number waits for memory or for the length of the one before.
                memcpy(&word, out - 8, 8)
                mask = (<uint64_t>1 << (8 * length)) - 1
                wanted = tag | 8 << 8 | (extra >> 8 & 0xFF) << 16
                source = cursor.at - 2
                while cursor.end - source >= 16 and end - out >= 8:
                    memcpy(&extra, source, 4)
                    if extra & 0xFFFFFF != wanted:
                        break
                    memcpy(&listed, source + 3, 8)
                    word = word & mask | listed << (8 * length)
                    memcpy(out, &word, 8)
                    out += 8
                    source += 11 - length
                if source > cursor.at:
                    cursor.at = source
                    continue
            if 8 <= offset <= out - first and 4 <= length <= 8 and end - out >= <int64_t>length:
                # Numbers of eight bytes that are nearly alike. These bytes were written as one word, since bytes
                # of two writes would have to wait for both.
                source = out - offset
                memcpy(&extra, source, 4)
                word = extra
                memcpy(&extra, source + length - 4, 4)
                word |= <uint64_t>extra << (8 * length - 32)
                memcpy(out, &word, 8)
                out += length
                continue
            if 16 <= offset <= out - first and length <= 16 and end - out >= <int64_t>length:
                memcpy(out, out - offset, 16)
                out += length
                continue
        else:
            extra = 1 if tag & 3 == 1 else 2 if tag & 3 == 2 else 4
            if cursor.end - cursor.at < extra:
                return SHORT
            if extra == 1:
                length = 4 + ((tag >> 2) & 7)
                offset = (tag >> 5 << 8) | cursor.at[0]
            else:
                length = (tag >> 2) + 1
                offset = 0
                memcpy(&offset, cursor.at, extra)
            cursor.at += extra
        if offset == 0 or offset > out - first or length > <uint64_t>(end - out):
            return SHORT
        source = out - offset
        stop = out + length
        # The last write of each of these may be some bytes too long.
        if offset == 1 or offset == 2 or offset == 4 or offset == 8:
            # Numbers that are alike: nothing is read that was just written.
            memcpy(&word, source, 8)
            if offset == 1:
                word = (word & 0xFF) | (word & 0xFF) << 8
            if offset <= 2:
                word = (word & 0xFFFF) | (word & 0xFFFF) << 16
            if offset <= 4:
                word = word << 32 >> 32 | word << 32
            while out < stop:
                memcpy(out, &word, 8)
                out += 8
        elif offset >= 16:
            while out < stop:
                memcpy(out, source, 16)
                out += 16
                source += 16
        elif offset > 8:
            while out < stop:
                memcpy(out, source, 8)
                out += 8
                source += 8
        else:
            while out < stop:
                out[0] = source[0]
                out += 1
                source += 1
        out = stop
    return FINE if out == end else SHORT
