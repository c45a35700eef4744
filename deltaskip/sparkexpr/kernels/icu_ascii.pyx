"""ICU's sort keys of ASCII strings, assembled from the keys of single characters.

A key consists of the bytes of its levels, separated by 01 and followed by 00. In an ASCII text without contractions and
expansions every character has one weight on each level: its own primary one, the common secondary one, and a tertiary
one that is common or that of an upper-case letter. ICU writes equal leading bytes of some primary weights once, and
runs of common weights as numbers; the exact form is derived from keys that ICU makes when a collation is opened. Pieces
that do not reproduce ICU's keys of some hundred texts are not used.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint64_t
from libc.string cimport memcpy, memset

from deltaskip.sparkexpr.kernels.icu_library cimport IcuCollator, begins_contraction

cdef enum:
    FRENCH = 0
    CASE_LEVEL = 3
    STRENGTH = 5
    TERTIARY = 2
    OFF = 16
    NO_KIND = 0
    COMMON = 1
    UPPER = 2
    IGNORABLE = 3
    LOWER_FOLLOWS = 0x03
    HIGHER_FOLLOWS = 0xFF
    SAMPLES = 300


cdef AsciiKeys ascii_keys(IcuCollator collator):
    """The pieces of the collator's keys, computed once; `levels` is 0 if its keys have another form."""
    cdef AsciiKeys keys
    if collator.ascii_keys is None:
        keys = AsciiKeys.__new__(AsciiKeys)
        keys._take(collator)
        if keys.levels > 0 and not keys._holds(collator):
            keys.levels = 0
        collator.ascii_keys = keys
    return <AsciiKeys>collator.ascii_keys


cdef class AsciiKeys:
    def __cinit__(self):
        self.levels = 0
        memset(self.kinds, 0, sizeof(self.kinds))
        memset(self.compressed, 0, sizeof(self.compressed))

    cdef int64_t write(self, const uint8_t* text, int64_t size, uint8_t* key) noexcept nogil:
        """Write the key, at most 16 × `size` + 64 bytes. Return its size, or -1 if the pieces do not cover it."""
        cdef int64_t i, upper, n = 0, count = 0, common = 0
        cdef uint8_t lead = 0, kind
        cdef uint8_t[LONGEST_ASCII * LONGEST_PIECE + LONGEST_PIECE] cases
        cdef int64_t case_size = 0
        if size > LONGEST_ASCII:
            return -1
        for i in range(size):
            if text[i] >= 0x80:
                return -1
            kind = self.kinds[text[i]]
            if kind == NO_KIND:
                return -1
            if kind == IGNORABLE:
                continue
            n = _write_primary(self, text[i], &lead, key, n)
            count += 1
            # No branch on the letter's case, which a processor cannot predict.
            upper = kind == UPPER
            memcpy(cases + case_size, self.case_runs[common].data, LONGEST_PIECE)
            case_size += upper * self.case_runs[common].size
            common = (common + 1) * (1 - upper)
        if self.levels >= 2:
            key[n] = 1
            n = _write(&self.secondaries[count], key, n + 1)
        if self.levels >= 3:
            key[n] = 1
            memcpy(key + n + 1, cases, case_size)
            n = _write(&self.case_ends[common], key, n + 1 + case_size)
        key[n] = 0
        return n + 1

    cdef int _take(self, IcuCollator collator) except -1:
        """Derive the pieces from ICU's keys; `levels` stays 0 if the collation has other levels."""
        cdef int strength = collator._attribute(STRENGTH)
        cdef int i
        if not collator.weighed or not 0 <= strength <= TERTIARY:
            return 0
        if collator._attribute(FRENCH) != OFF or collator._attribute(CASE_LEVEL) != OFF:
            return 0
        letter = next(
            (chr(c) for c in range(97, 123) if collator.ranks[c] != 0 and collator.ranks[c - 32] != 0), None
        )
        if letter is None:
            return 0
        sample, upper, empty = (_levels(collator, text) for text in (letter, letter.upper(), ""))
        if not len(sample) == len(upper) == len(empty) == strength + 1 or any(empty):
            return 0
        for i in range(LONGEST_ASCII + 1):
            common = _levels(collator, letter * i)
            if not (
                _piece(&self.secondaries[i], common[1] if strength > 0 else b"")
                and _piece(&self.case_ends[i], common[2] if strength > 1 else b"")
                and _piece(
                    &self.case_runs[i], _levels(collator, letter * i + letter.upper())[2] if strength > 1 else b""
                )
            ):
                return 0
        for i in range(128):
            self._take_character(collator, i, sample, upper, empty)
        self.levels = strength + 1
        return 0

    cdef int _take_character(self, IcuCollator collator, int character, list sample, list upper, list empty) except -1:
        """Derive the weights of one character; it gets no kind if these keys cannot hold its weights."""
        own = _levels(collator, chr(character))
        if collator.ranks[character] == 0:
            if own == empty and not begins_contraction(collator, character):
                self.kinds[character] = IGNORABLE
            return 0
        twice = _levels(collator, chr(character) * 2)[0]
        primary = own[0]
        if own[1:] != sample[1:] and own[1:] != upper[1:]:
            return 0
        if not 1 <= len(primary) <= 4 or not _piece(&self.tails[character], primary[1:]):
            return 0
        if len(primary) > 1 and twice == primary + primary[1:]:
            self.compressed[character] = 1
        elif twice != primary + primary:
            return 0
        self.leads[character] = primary[0]
        self.kinds[character] = COMMON if own[1:] == sample[1:] else UPPER
        return 0

    cdef bint _holds(self, IcuCollator collator) except -1:
        """Whether the pieces reproduce ICU's keys of many texts."""
        cdef uint8_t[LONGEST_ASCII] text
        cdef uint8_t[16 * LONGEST_ASCII + 64] key
        cdef uint8_t[128] known
        cdef int i, j, size, count = 0
        cdef int64_t written
        cdef uint64_t state = 1
        for i in range(128):
            if self.kinds[i] != NO_KIND:
                known[count] = <uint8_t>i
                count += 1
        for i in range(SAMPLES):
            # Mostly short texts, and some of every length.
            size = i % 7 if i % 3 else i % (LONGEST_ASCII + 1)
            for j in range(size):
                state = state * 6364136223846793005ULL + 1442695040888963407ULL
                text[j] = known[(state >> 33) % <uint64_t>count]
            written = self.write(text, size, key)
            if written < 0 or PyBytes_FromStringAndSize(<char*>key, written) != _key(collator, text, size):
                return False
        return True


cdef inline int64_t _write_primary(
    AsciiKeys keys, uint8_t character, uint8_t* lead, uint8_t* key, int64_t n
) noexcept nogil:
    """Write a primary weight after n bytes; `lead` is the leading byte that is not repeated, 0 for none."""
    cdef uint8_t own = keys.leads[character]
    if own != lead[0]:
        if lead[0] != 0:
            key[n] = LOWER_FOLLOWS if own < lead[0] else HIGHER_FOLLOWS
            n += 1
        key[n] = own
        n += 1
        lead[0] = own if keys.compressed[character] else 0
    return _write(&keys.tails[character], key, n)


cdef inline int64_t _write(const Piece* piece, uint8_t* out, int64_t n) noexcept nogil:
    memcpy(out + n, piece.data, LONGEST_PIECE)
    return n + piece.size


cdef bint _piece(Piece* piece, bytes data):
    """Fill the piece; False if the data is too long for it."""
    cdef int i
    if len(data) > LONGEST_PIECE:
        return False
    piece.size = <uint8_t>len(data)
    memset(piece.data, 0, LONGEST_PIECE)
    for i in range(piece.size):
        piece.data[i] = data[i]
    return True


cdef list _levels(IcuCollator collator, str text):
    """The bytes of each level of the key of an ASCII text."""
    cdef bytes encoded = text.encode("ascii")
    return _key(collator, encoded, len(encoded)).removesuffix(b"\x00").split(b"\x01")


cdef bytes _key(IcuCollator collator, const uint8_t* text, int size):
    cdef uint16_t[LONGEST_ASCII + 1] units
    cdef uint8_t[2048] key
    cdef int i
    cdef int32_t written
    for i in range(size):
        units[i] = text[i]
    written = collator.library.call.sort_key(collator.handle, units, size, key, 2048)
    return PyBytes_FromStringAndSize(<char*>key, written) if 0 < written <= 2048 else b"\x00"
