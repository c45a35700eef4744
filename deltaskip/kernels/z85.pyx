"""Z85, the base 85 of ZeroMQ RFC 32: four bytes are five characters of an alphabet that JSON need not escape."""

import pyarrow as pa

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView, ByteBuffer, binary_view, is_valid, zeros
from deltaskip.sparkexpr.kernels.byte_order cimport byteswap32
from deltaskip.sparkexpr.kernels.variant_values cimport OBJECT_TYPE, unsigned_at
from deltaskip.sparkexpr.kernels.written cimport Span, Written, row_of, written_for

cdef uint8_t[256] DIGITS
cdef bytes ALPHABET = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
memset(DIGITS, 255, 256)
for _value, _character in enumerate(ALPHABET):
    DIGITS[<int>_character] = _value


def z85_decode(str text not None) -> bytes:
    """Decode Z85 text (ZeroMQ RFC 32): four bytes for every five characters.

    Raises ValueError for a length that is not a multiple of five, a character outside the alphabet, or five characters
    that encode more than 32 bits.
    """
    cdef bytes raw = text.encode()
    cdef const uint8_t* source = <const uint8_t*>PyBytes_AsString(raw)
    cdef Py_ssize_t size = len(raw), i
    if size % 5 != 0:
        raise ValueError(f"the length of Z85 text must be a multiple of 5, not {size}")
    cdef bytes out = PyBytes_FromStringAndSize(NULL, size // 5 * 4)
    cdef uint8_t* target = <uint8_t*>PyBytes_AsString(out)
    cdef uint64_t block
    cdef uint32_t word
    cdef int j
    for i in range(0, size, 5):
        block = 0
        for j in range(5):
            if DIGITS[source[i + j]] == 255:
                raise ValueError(f"{raw[i:i + 5]!r} contains a character that is not in the Z85 alphabet")
            block = block * 85 + DIGITS[source[i + j]]
        if block > 0xFFFFFFFFU:
            raise ValueError(f"{raw[i:i + 5]!r} encodes more than the 32 bits of a Z85 block")
        word = byteswap32(<uint32_t>block)
        memcpy(target + i // 5 * 4, &word, 4)
    return out


def z85_encode(bytes data not None) -> str:
    """Encode the bytes as Z85 text. Raises ValueError if their number is not a multiple of four."""
    if len(data) % 4 != 0:
        raise ValueError(f"Z85 encodes multiples of 4 bytes, not {len(data)} bytes.")
    cdef list out = []
    for i in range(0, len(data), 4):
        block = int.from_bytes(data[i : i + 4], "big")
        out.append(bytes(ALPHABET[block // 85**power % 85] for power in (4, 3, 2, 1, 0)))
    return b"".join(out).decode("ascii")


def z85_variants(texts: object) -> tuple[pa.BinaryArray, pa.BinaryArray]:
    """Decode variants that are their metadata and their value, one behind the other, as Z85 text.

    # PROTOCOL, Statistics for Variant Columns. Zeros that fill up the last four bytes stay at the end of the value. In the
    # example of the protocol, an object comes before its metadata, and a last group has fewer characters than five, one
    # more than its bytes; both are read, too.

    texts: string or large_string. Returns two binary arrays, values and metadata; both are null where the text is null,
    no Z85, or ends before the value.
    """
    cdef BinaryView view = binary_view(texts)
    cdef ByteBuffer bits = zeros((view.length + 7) // 8)
    cdef object valid = pa.py_buffer(bits)
    cdef Written values = written_for(valid, view.length)
    cdef Written metadata = written_for(valid, view.length)
    cdef ByteBuffer room = ByteBuffer()
    cdef Span text
    cdef int64_t i, head, size, first
    cdef int failed = 0
    cdef const uint8_t* start
    with nogil:
        for i in range(view.length):
            text = row_of(view, i)
            head = size = first = 0
            if is_valid(view.validity, view.offset + i) and text.size % 5 != 1:
                size = text.size // 5 * 4 + (text.size % 5 - 1 if text.size % 5 else 0)
                room.size = 0
                if room.reserve(size + 4) != 0:
                    failed = 1
                    break
                if _decoded(text, room.data):
                    first = _object_size(room.data, size)
                    head = _metadata_size(room.data + first, size - first, first == 0)
            start = room.data
            if head > 0:
                bits.data[i >> 3] |= <uint8_t>(1 << (i & 7))
            else:
                size = first = 0
            if metadata.add(i, start + first, head) != 0:
                break
            if values.add(i, start + (0 if first else head), first if first else size - head) != 0:
                break
    if failed:
        raise MemoryError()
    return values.array(pa.binary()), metadata.array(pa.binary())


cdef bint _decoded(Span text, uint8_t* target) noexcept nogil:
    """Whether the text is Z85, whose bytes are then at `target`, where there is room for four more."""
    cdef int64_t i
    cdef uint64_t block
    cdef uint32_t word
    cdef int j
    cdef uint8_t digit
    for i in range(0, text.size, 5):
        block = 0
        for j in range(5):
            # The greatest digits fill up the last group.
            digit = DIGITS[text.data[i + j]] if i + j < text.size else 84
            if digit == 255:
                return False
            block = block * 85 + digit
        if block > 0xFFFFFFFFU:
            return False
        word = byteswap32(<uint32_t>block)
        memcpy(target + i // 5 * 4, &word, 4)
    return True


cdef int64_t _object_size(const uint8_t* data, int64_t size) noexcept nogil:
    """Bytes of the object with which the bytes begin; 0 if they begin with metadata. # Parquet, Variant Encoding"""
    cdef uint8_t header
    cdef int width, wide
    cdef int64_t count, offsets, end
    if size < 1 or data[0] & 3 != OBJECT_TYPE:
        return 0
    header = data[0] >> 2
    width, wide = (header & 3) + 1, 4 if header & 16 else 1
    if size < 1 + wide:
        return 0
    count = unsigned_at(data + 1, wide)
    offsets = 1 + wide + count * ((header >> 2 & 3) + 1)
    end = offsets + (count + 1) * width
    if end > size:
        return 0
    end += unsigned_at(data + offsets + count * width, width)
    return end if end < size else 0


cdef int64_t _metadata_size(const uint8_t* data, int64_t size, bint before_value) noexcept nogil:
    """Bytes of the metadata with which the bytes begin; 0 if they end in it, or before a value that must follow."""
    cdef int width
    cdef int64_t names, first, last
    if size < 1 or data[0] & 0x0F != 1:
        return 0
    width = (data[0] >> 6) + 1
    if size < 1 + width:
        return 0
    names = unsigned_at(data + 1, width)
    first = 1 + width * (names + 2)
    if first > size:
        return 0
    last = first + unsigned_at(data + first - width, width)
    return last if last < size or (last == size and not before_value) else 0
