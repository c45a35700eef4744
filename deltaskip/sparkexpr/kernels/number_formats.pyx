"""Numbers as strings in formats such as `$99,999.00S`, and back, with the tokens of `expr.number_format`.

# Spark 4.1, ToNumberParser.scala
"""

import pyarrow as pa

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memmove, memset

from deltaskip.sparkexpr.kernels.arrow cimport (
    BinaryView, ByteBuffer, PrimitiveView, binary_view, is_valid, primitive_view, validity_buffer, zeros
)
from deltaskip.sparkexpr.kernels.lane cimport same_length, wrong_format
from deltaskip.sparkexpr.kernels.written cimport Span, Written, row_of, written_like

cdef enum:
    EXACTLY = 0x30
    UP_TO = 0x39
    SEPARATOR = 0x2C
    POINT = 0x2E
    DOLLAR = 0x24
    SIGN = 0x53
    MINUS = 0x4D
    OPENED = 0x3C
    MOST_WRITTEN = 512


cdef struct Writing:
    uint8_t[512] text
    int64_t size


def written_in(
    texts: ArrowArrayExportable, int scale, bytes tokens not None, counts: ArrowArrayExportable, int whole, int part
) -> pa.StringArray:
    """Return numbers, given as texts of integers with `scale` digits behind the point, in a format.

    tokens: The tokens of `expr.number_format`, each as a byte: `0` exactly and `9` up to so many digits, `,`, `.`, `$`,
    `S`, `M` for MI, `<` and `>`. counts: The digits of each as int32. whole, part: All digits before and behind the point.
    The result is null where the text is. Raises ValueError for a format that is very long.
    """
    cdef BinaryView view = binary_view(texts)
    cdef PrimitiveView sizes = _counts(counts, len(tokens))
    cdef Written out = written_like(view)
    cdef const uint8_t* codes = tokens
    cdef int64_t i, count = len(tokens)
    if whole < 0 or part < 0 or whole + part > 38 or count > 100 or scale < 0:
        raise ValueError("The format is too long.")
    cdef Writing writing
    with nogil:
        for i in range(view.length):
            writing.size = 0
            if is_valid(view.validity, view.offset + i):
                _write(row_of(view, i), scale, codes, <const int32_t*>sizes.values, count, whole, part, &writing)
            if out.add(i, writing.text, writing.size) != 0:
                break
    return out.array(pa.string())


def read_in(
    texts: ArrowArrayExportable, bytes tokens not None, counts: ArrowArrayExportable, int whole, int part
) -> tuple[pa.Int64Array, pa.UInt8Array]:
    """Return the numbers that texts have in a format, as int64 without the point, and their states as uint8.

    The format is that of `written_in`. The states: 0 a number, 1 the text does not have the format, and 2 for a text
    that is left to the caller. The numbers are null where the texts are. Raises ValueError for more than 18 digits.
    """
    cdef BinaryView view = binary_view(texts)
    cdef PrimitiveView sizes = _counts(counts, len(tokens))
    cdef const uint8_t* codes = tokens
    cdef int64_t i, count = len(tokens)
    if whole < 0 or part < 0 or whole + part > 18:
        raise ValueError("The format has more than 18 digits.")
    cdef ByteBuffer out = zeros(8 * view.length)
    cdef ByteBuffer states = zeros(view.length)
    with nogil:
        for i in range(view.length):
            if is_valid(view.validity, view.offset + i):
                states.data[i] = _read(
                    row_of(view, i), codes, <const int32_t*>sizes.values, count, whole, part, <int64_t*>out.data + i
                )
    validity = validity_buffer(view.validity, view.offset, view.length)
    return (
        pa.Array.from_buffers(pa.int64(), view.length, [validity, pa.py_buffer(out)]),
        pa.Array.from_buffers(pa.uint8(), view.length, [None, pa.py_buffer(states)]),
    )


cdef PrimitiveView _counts(object values, int64_t length):
    cdef PrimitiveView view = primitive_view(values)
    if view.format != b"i":
        raise wrong_format("int32", view.format)
    same_length(view.length, length)
    return view


cdef void _insert(Writing* writing, int64_t at, uint8_t character) noexcept nogil:
    if writing.size >= MOST_WRITTEN:
        return
    memmove(writing.text + at + 1, writing.text + at, writing.size - at)
    writing.text[at] = character
    writing.size += 1


cdef void _before_spaces(Writing* writing, uint8_t character) noexcept nogil:
    """Write a character before the spaces at the end."""
    cdef int64_t at = writing.size
    while at > 0 and writing.text[at - 1] == 0x20:
        at -= 1
    _insert(writing, at, character)


cdef void _space(Writing* writing) noexcept nogil:
    """Write a space before the signs at the end."""
    cdef int64_t at = writing.size
    while at > 0 and (
        writing.text[at - 1] == 0x2B or writing.text[at - 1] == 0x2D or writing.text[at - 1] == 0x3C
    ):
        at -= 1
    _insert(writing, at, 0x20)


cdef void _strip_point(Writing* writing) noexcept nogil:
    """Write a space for a point that no digit follows."""
    cdef int64_t at
    for at in range(writing.size):
        if writing.text[at] == 0x2E:
            if at + 1 == writing.size or writing.text[at + 1] == 0x20:
                writing.text[at] = 0x20
            return


cdef void _write(
    Span text, int scale, const uint8_t* codes, const int32_t* counts, int64_t count, int whole, int part,
    Writing* writing
) noexcept nogil:
    cdef bint negative = text.size > 0 and text.data[0] == 0x2D
    cdef const uint8_t* digits = text.data + negative
    cdef int64_t before = text.size - negative - scale, first = 0, behind = scale, k, at, token
    # The characters for the digits of the format: before the point, and behind it.
    cdef uint8_t[80] given
    cdef uint8_t code
    while first < before and digits[first] == 0x30:
        first += 1
    while behind > 0 and (before + behind <= 0 or digits[before + behind - 1] == 0x30):
        behind -= 1
    memset(given, 0x20, whole)
    memset(given + whole, 0x30, part)
    if before - first > whole or behind > part:
        memset(given, 0x23, whole + part)
    else:
        for k in range(first, before):
            given[whole - before + k] = digits[k]
        for k in range(behind):
            given[whole + k] = digits[before + k] if before + k >= 0 else 0x30
    negative = negative and not _is_zero(digits, text.size - negative)
    at = 0
    for token in range(count):
        code = codes[token]
        if code == EXACTLY or code == UP_TO:
            for k in range(counts[token]):
                if given[at] != 0x20:
                    _insert(writing, writing.size, given[at])
                elif code == EXACTLY:
                    _insert(writing, writing.size, 0x30)
                else:
                    _space(writing)
                at += 1
        elif code == SEPARATOR:
            if writing.size > 0 and 0x30 <= writing.text[writing.size - 1] <= 0x39:
                _insert(writing, writing.size, SEPARATOR)
            else:
                _space(writing)
        elif code == POINT:
            if writing.size > 0 and writing.text[writing.size - 1] == 0x20:
                writing.text[writing.size - 1] = 0x30
            _insert(writing, writing.size, POINT)
        elif code == DOLLAR:
            _insert(writing, writing.size, code)
        elif code == SIGN:
            _strip_point(writing)
            _before_spaces(writing, 0x2D if negative else 0x2B)
        elif code == MINUS and negative:
            _strip_point(writing)
            _before_spaces(writing, 0x2D)
        elif code == MINUS:
            _insert(writing, writing.size, 0x20)
        elif code == OPENED:
            if negative:
                _insert(writing, writing.size, code)
        else:
            _strip_point(writing)
            if negative:
                _before_spaces(writing, 0x3E)
            else:
                _insert(writing, writing.size, 0x20)
                _insert(writing, writing.size, 0x20)
    _strip_point(writing)
    if writing.size == 0 or (writing.size == 1 and (writing.text[0] == 0x2B or writing.text[0] == 0x2D)):
        writing.text[0], writing.size = 0x30, 1


cdef uint8_t _sign_of(uint8_t code) noexcept nogil:
    """The character that a token stands for."""
    return 0x2D if code == MINUS or code == SIGN else code


cdef int _read(
    Span text, const uint8_t* codes, const int32_t* counts, int64_t count, int whole, int part, int64_t* number
) noexcept nogil:
    cdef int64_t at = 0, token = 0, first, k, digits = 0, behind = 0, significant = 0
    cdef bint negative = False, pointed = False, opened = False, closed = False
    cdef uint8_t code, character
    for k in range(text.size):
        if text.data[k] >= 0x80:
            return 2
    number[0] = 0
    while token < count:
        code = codes[token]
        if code == EXACTLY or code == UP_TO or code == SEPARATOR:
            first = at
            while at < text.size and (
                0x30 <= text.data[at] <= 0x39 or text.data[at] == SEPARATOR or _is_blank(text.data[at])
            ):
                if 0x30 <= text.data[at] <= 0x39:
                    digits += 1
                    behind += pointed
                    if not pointed:
                        significant += significant > 0 or text.data[at] != 0x30
                    if significant + behind <= 18:
                        number[0] = number[0] * 10 + (text.data[at] - 0x30)
                at += 1
            k = token
            while token < count and (codes[token] == EXACTLY or codes[token] == UP_TO or codes[token] == SEPARATOR):
                token += 1
            if not _is_grouped(text.data + first, at - first, codes + k, counts + k, token - k):
                return 1
            continue
        token += 1
        character = text.data[at] if at < text.size else 0
        if character != _sign_of(code) and not (code == SIGN and character == 0x2B) or at == text.size:
            # Only the dollar must not be missing, unless the text has ended.
            if code == DOLLAR and at < text.size:
                return 1
            continue
        at += 1
        if code == POINT:
            pointed = True
        elif code == SIGN or code == MINUS:
            negative ^= character == 0x2D
        elif code == OPENED:
            opened = True
        elif code == 0x3E:
            if not opened:
                return 1
            closed = True
            negative = not negative
    if at < text.size or opened != closed or digits == 0:
        return 1
    if significant > whole:
        return 2
    for k in range(part - behind):
        number[0] *= 10
    if negative:
        number[0] = -number[0]
    return 0


cdef bint _is_blank(uint8_t character) noexcept nogil:
    """Whether Java takes a character of ASCII for white space."""
    return character == 0x20 or 0x09 <= character <= 0x0D or 0x1C <= character <= 0x1F


cdef bint _is_grouped(
    const uint8_t* text, int64_t size, const uint8_t* codes, const int32_t* counts, int64_t count
) noexcept nogil:
    """Whether there are as many digits as a format has between its separators, from the last ones on."""
    cdef int64_t at = size, token = count, digits
    cdef bint left = True
    while token > 0:
        token -= 1
        if codes[token] == SEPARATOR:
            continue
        digits = 0
        while at > 0 and text[at - 1] != SEPARATOR:
            at -= 1
            digits += not _is_blank(text[at])
        # A separator is before further digits, if only none.
        left = at > 0
        at -= left
        if digits > counts[token] or (codes[token] == EXACTLY and digits < counts[token]):
            return False
    return not left


cdef bint _is_zero(const uint8_t* digits, int64_t size) noexcept nogil:
    cdef int64_t k
    for k in range(size):
        if digits[k] != 0x30:
            return False
    return True
