"""Z85, the base 85 of ZeroMQ RFC 32: four bytes are five characters of an alphabet that JSON need not escape."""

from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from deltaskip.sparkexpr.kernels.byte_order cimport byteswap32

cdef uint8_t[256] DIGITS
cdef bytes ALPHABET = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
memset(DIGITS, 255, 256)
for _value, _character in enumerate(ALPHABET):
    DIGITS[<int>_character] = _value


def z85_decode(str text not None):
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


def z85_encode(bytes data not None):
    """Encode the bytes as Z85 text. Raises ValueError if their number is not a multiple of four."""
    if len(data) % 4 != 0:
        raise ValueError(f"Z85 encodes multiples of 4 bytes, not {len(data)} bytes.")
    cdef list out = []
    for i in range(0, len(data), 4):
        block = int.from_bytes(data[i : i + 4], "big")
        out.append(bytes(ALPHABET[block // 85**power % 85] for power in (4, 3, 2, 1, 0)))
    return b"".join(out).decode("ascii")
