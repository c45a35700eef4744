"""Whether strings are UTF-8, which neither Parquet nor pyarrow's reader ensures."""

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

from deltaskip.sparkexpr.kernels.arrow cimport BinaryView, binary_view, is_valid

cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__GNUC__)
    #include <immintrin.h>

    static int ds_has_avx2(void) { return __builtin_cpu_supports("avx2") != 0; }

    /* What is wrong with a byte after another one, if all three tables have its bit for the halves of the two bytes.
       Unicode, table 3-7. */
    enum {
        DS_END = 0x01,      /* no continuation after the first byte of a sequence */
        DS_BEGIN = 0x02,    /* a continuation after ASCII */
        DS_C0 = 0x04,       /* after C0 and C1 */
        DS_E0 = 0x08,       /* 80 to 9F after E0 */
        DS_ED = 0x10,       /* A0 to BF after ED */
        DS_F0 = 0x20,       /* 80 to 8F after F0, and after F5 to FF */
        DS_F4 = 0x40,       /* 90 to BF after F4 to FF */
        DS_TWO = 0x80,      /* a continuation after a continuation, unless one of the two bytes before asks for it */
        DS_ANY = DS_END | DS_BEGIN | DS_TWO,
        DS_F5 = DS_ANY | DS_F0 | DS_F4,
        DS_80 = DS_BEGIN | DS_TWO | DS_C0,
        DS_A0 = DS_80 | DS_ED | DS_F4
    };
    static const uint8_t DS_FIRST_HIGH[16] = {
        DS_BEGIN, DS_BEGIN, DS_BEGIN, DS_BEGIN, DS_BEGIN, DS_BEGIN, DS_BEGIN, DS_BEGIN, DS_TWO, DS_TWO, DS_TWO, DS_TWO,
        DS_END | DS_C0, DS_END, DS_END | DS_E0 | DS_ED, DS_END | DS_F0 | DS_F4
    };
    static const uint8_t DS_FIRST_LOW[16] = {
        DS_ANY | DS_C0 | DS_E0 | DS_F0, DS_ANY | DS_C0, DS_ANY, DS_ANY, DS_ANY | DS_F4, DS_F5, DS_F5, DS_F5,
        DS_F5, DS_F5, DS_F5, DS_F5, DS_F5, DS_F5 | DS_ED, DS_F5, DS_F5
    };
    static const uint8_t DS_SECOND_HIGH[16] = {
        DS_END, DS_END, DS_END, DS_END, DS_END, DS_END, DS_END, DS_END,
        DS_80 | DS_E0 | DS_F0, DS_80 | DS_E0 | DS_F4, DS_A0, DS_A0, DS_END, DS_END, DS_END, DS_END
    };

    /* Check the blocks of 64 bytes from `at` on, before which there are three bytes; open: whether a sequence may go
       on in the first block. Return the kind of the blocks. */
    __attribute__((target("avx2")))
    static int ds_kind_of_blocks(const uint8_t* data, int64_t at, int64_t size, int open) {
        const __m256i first_high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)DS_FIRST_HIGH));
        const __m256i first_low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)DS_FIRST_LOW));
        const __m256i second_high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i*)DS_SECOND_HIGH));
        const __m256i low = _mm256_set1_epi8(0x0F), top = _mm256_set1_epi8((char)0x80);
        const __m256i third = _mm256_set1_epi8(0xE0 - 0x80), fourth = _mm256_set1_epi8(0xF0 - 0x80);
        __m256i wrong = _mm256_setzero_si256();
        int kind = 0, i;
        for (; at + 64 <= size; at += 64) {
            const __m256i* block = (const __m256i*)(data + at);
            const __m256i ends = _mm256_loadu_si256(block + 1);
            if (!open && !_mm256_movemask_epi8(_mm256_or_si256(_mm256_loadu_si256(block), ends))) continue;
            kind = 1;
            for (i = 0; i < 64; i += 32) {
                const __m256i second = _mm256_loadu_si256((const __m256i*)(data + at + i));
                const __m256i first = _mm256_loadu_si256((const __m256i*)(data + at + i - 1));
                const __m256i before = _mm256_loadu_si256((const __m256i*)(data + at + i - 2));
                const __m256i earlier = _mm256_loadu_si256((const __m256i*)(data + at + i - 3));
                __m256i found = _mm256_shuffle_epi8(first_high, _mm256_and_si256(_mm256_srli_epi16(first, 4), low));
                __m256i asked = _mm256_or_si256(_mm256_subs_epu8(before, third), _mm256_subs_epu8(earlier, fourth));
                found = _mm256_and_si256(found, _mm256_shuffle_epi8(first_low, _mm256_and_si256(first, low)));
                found = _mm256_and_si256(
                    found, _mm256_shuffle_epi8(second_high, _mm256_and_si256(_mm256_srli_epi16(second, 4), low)));
                wrong = _mm256_or_si256(wrong, _mm256_xor_si256(found, _mm256_and_si256(asked, top)));
            }
            open = (uint32_t)_mm256_movemask_epi8(ends) >> 29 != 0;
        }
        return _mm256_testz_si256(wrong, wrong) ? kind : 2;
    }
    #else
    static int ds_has_avx2(void) { return 0; }
    static int ds_kind_of_blocks(const uint8_t* data, int64_t at, int64_t size, int open) { return 2; }
    #endif
    """
    int has_avx2 "ds_has_avx2"() noexcept nogil
    int kind_of_blocks "ds_kind_of_blocks"(const uint8_t* data, int64_t at, int64_t size, int open) noexcept nogil

cdef enum:
    BLOCK = 64
    # Strings that are checked together.
    AT_ONCE = 512
    # The longest part of a sequence before its last byte.
    BEFORE = 3

ctypedef fused offset_t:
    int32_t
    int64_t

cdef bint HAS_AVX2 = has_avx2() != 0


def are_utf8(values: ArrowArrayExportable) -> bool:
    """Return whether every string of an array is UTF-8. Raises TypeError for other types."""
    cdef BinaryView view = binary_view(values)
    cdef bint found
    with nogil:
        found = view.length == 0 or _are_utf8(view)
    return found


cdef bint are_texts(const uint8_t* data, const int32_t* offsets, int64_t count) noexcept nogil:
    """Whether every string of an array without nulls is UTF-8, by its offsets."""
    return _are_all(data, offsets, count)


cdef bint _are_utf8(BinaryView view) noexcept nogil:
    cdef int64_t i
    if view.offsets64 == NULL:
        if _are_all(view.data, view.offsets32, view.length):
            return True
    elif _are_all(view.data, view.offsets64, view.length):
        return True
    # The bytes of nulls do not count.
    for i in range(view.length if view.validity != NULL else 0):
        if is_valid(view.validity, view.offset + i):
            if kind_of(view.data + view.start(i), view.end(i) - view.start(i)) == BYTES:
                return False
    return view.validity != NULL


cdef bint _are_all(const uint8_t* data, const offset_t* offsets, int64_t count) noexcept nogil:
    """Whether the bytes of all strings together are UTF-8, and each string starts at a character."""
    cdef int64_t first = 0, stop
    while first < count:
        # The bytes of so many strings are still in the processor's cache when their first ones are read again.
        stop = min(count, first + AT_ONCE)
        if not _are_few(data, offsets + first, stop - first):
            return False
        first = stop
    return True


cdef bint _are_few(const uint8_t* data, const offset_t* offsets, int64_t count) noexcept nogil:
    cdef offset_t end = offsets[count]
    cdef Texts kind = kind_of(data + offsets[0], end - offsets[0])
    cdef int8_t least = 0
    cdef int64_t i
    if kind != UTF8:
        return kind == ASCII
    while count > 0 and offsets[count] == end:
        count -= 1
    # As signed numbers, 80 to BF are the least.
    for i in range(1, count + 1):
        least = min(least, <int8_t>data[offsets[i]])
    return least >= <int8_t>0xC0


cdef Texts kind_of(const uint8_t* data, int64_t size) noexcept nogil:
    """Whether bytes are ASCII, other UTF-8, or neither."""
    cdef uint8_t[BLOCK + BEFORE] last
    cdef int64_t at = 0, i
    cdef uint64_t word, high
    cdef int kind = ASCII, blocks
    # Whether a sequence may go on in the next block.
    cdef bint open = False
    while at + BLOCK <= size:
        if at == BLOCK and HAS_AVX2:
            blocks = kind_of_blocks(data, at, size, open)
            if blocks == BYTES:
                return BYTES
            kind |= blocks
            at = size - size % BLOCK
            break
        high = 0
        for i in range(0, BLOCK, 8):
            memcpy(&word, data + at + i, 8)
            high |= word
        if high & 0x8080808080808080ULL or open:
            kind = UTF8
            if at < BEFORE:
                for i in range(BEFORE):
                    last[i] = 0
                memcpy(last + BEFORE, data, BLOCK)
                if _errors(last + BEFORE, BLOCK):
                    return BYTES
            elif _errors(data + at, BLOCK):
                return BYTES
            open = (data[at + BLOCK - 1] | data[at + BLOCK - 2] | data[at + BLOCK - 3]) >= 0x80
        at += BLOCK
    # The rest ends with at least one zero, which no sequence contains.
    for i in range(BLOCK + BEFORE):
        last[i] = 0
    for i in range(max(at - BEFORE, 0), size):
        last[i - at + BEFORE] = data[i]
        if data[i] >= 0x80:
            kind = UTF8
    return BYTES if kind and _errors(last + BEFORE, BLOCK) else <Texts>kind


cdef inline uint8_t _errors(const uint8_t* data, int size) noexcept nogil:
    """Not 0 if a byte does not go on from the three before it. # Unicode, table 3-7."""
    cdef uint8_t found = 0, c, p
    cdef int i
    for i in range(size):
        c, p = data[i], data[i - 1]
        found |= ((c & 0xC0) == 0x80) ^ ((p >= 0xC0) | (data[i - 2] >= 0xE0) | (data[i - 3] >= 0xF0))
        found |= (c == 0xC0) | (c == 0xC1) | (c >= 0xF5)
        found |= ((p == 0xE0) & (c < 0xA0)) | ((p == 0xED) & (c > 0x9F))
        found |= ((p == 0xF0) & (c < 0x90)) | ((p == 0xF4) & (c > 0x8F))
    return found
