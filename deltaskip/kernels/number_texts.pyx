"""Numbers as texts of other bases, with commas, and in formats of digits and signs, and back.

# Spark 4.1, NumberConverter.scala, FormatNumber, ToNumberParser.scala; Java 17, DecimalFormat
"""

import pyarrow as pa

from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdio cimport snprintf
from libc.string cimport memmove, memset

from deltaskip.kernels.arrow cimport (
    BinaryView, ByteBuffer, PrimitiveView, binary_view, is_valid, primitive_view, validity_buffer, zeros
)
from deltaskip.kernels.lane cimport same_length, wrong_format
from deltaskip.kernels.written cimport Span, Written, row_of, written_for, written_like

cdef enum:
    NO_NUMBER
    CONVERTED
    BEYOND

# The tokens of a format, and how much of a text it can make.
cdef enum:
    EXACTLY = 0x30
    UP_TO = 0x39
    SEPARATOR = 0x2C
    POINT = 0x2E
    MOST_WRITTEN = 512
    MOST_PLACES = 14

# Of a double so many digits are those of its shortest text.
cdef double[15] BELOW = [1e15, 1e14, 1e13, 1e12, 1e11, 1e10, 1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1]

cdef const char* DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


cdef struct Writing:
    uint8_t[512] text
    int64_t size


def in_base(object texts, object sources, object targets):
    """Return integers of 64 bits, written in base `source`, in base `target`, and as uint8 which are beyond 64 bits.

    sources, targets: int32 for each row; a text has a sign if the target is negative. The result is null where a text
    is, or is empty, or a base is not one; what a base is where it is null does not matter. Raises TypeError for other
    types, and ValueError for arrays of different lengths.
    """
    cdef BinaryView view = binary_view(texts)
    cdef PrimitiveView from_ = _bases(sources, view.length)
    cdef PrimitiveView to = _bases(targets, view.length)
    cdef ByteBuffer bits = zeros((view.length + 7) // 8)
    cdef ByteBuffer beyond = zeros(view.length)
    cdef Written out = written_for(pa.py_buffer(bits), view.length)
    cdef uint8_t[66] digits
    cdef int64_t i, start
    cdef int found
    with nogil:
        for i in range(view.length):
            start = 66
            found = _converted(
                row_of(view, i), (<const int32_t*>from_.values)[i], (<const int32_t*>to.values)[i], digits, &start
            )
            beyond.data[i] = found == BEYOND
            bits.data[i >> 3] |= <uint8_t>((found != NO_NUMBER) << (i & 7))
            if out.add(i, digits + start, 66 - start) != 0:
                break
    return out.array(pa.string()), pa.Array.from_buffers(pa.uint8(), view.length, [None, pa.py_buffer(beyond)])


def fixed_digits(object values, int places):
    """Return doubles with so many digits behind the point, rounded half to even, as texts without the point.

    Returns also as uint8 which are left to the caller: infinity, NaN, and those with more than 15 digits. The texts are
    null where the values are. Raises TypeError for other types, and ValueError for another number than 0 to 14.
    """
    cdef PrimitiveView view = primitive_view(values)
    if view.format != b"g":
        raise wrong_format("double", view.format)
    if not 0 <= places <= MOST_PLACES:
        raise ValueError(f"Numbers have 0 to {MOST_PLACES} digits behind the point here, not {places}.")
    cdef Written out = written_for(validity_buffer(view.validity, view.offset, view.length), view.length)
    cdef ByteBuffer left = zeros(view.length)
    cdef const double* given = <const double*>view.values
    cdef char[64] text
    cdef int64_t i, at, size
    with nogil:
        for i in range(view.length):
            size = 0
            if fabs(given[i]) < BELOW[places]:
                snprintf(text, 64, "%.*f", places, given[i])
                for at in range(64):
                    if text[at] == 0:
                        break
                    # What is no digit is the sign, or a point of some locale.
                    if at == 0 and text[at] == 0x2D or 0x30 <= text[at] <= 0x39:
                        text[size] = text[at]
                        size += 1
            else:
                left.data[i] = 1
            if out.add(i, <const uint8_t*>text, size) != 0:
                break
    return out.array(pa.string()), pa.Array.from_buffers(pa.uint8(), view.length, [None, pa.py_buffer(left)])


def grouped(object texts, int scale, int whole, int least, int group):
    """Return the texts of integers as numbers with `scale` of their digits behind a point.

    whole, least: How many digits are written before and behind the point at least; zeros are added, or left out.
    group: The number of digits between commas; 0 without commas. The result is null where the text is.
    """
    cdef BinaryView view = binary_view(texts)
    cdef Written out = written_like(view)
    cdef int64_t i
    with nogil:
        for i in range(view.length):
            if is_valid(view.validity, view.offset + i) and _group(row_of(view, i), scale, whole, least, group, out) != 0:
                break
            out.end(i)
    return out.array(pa.string())


def written_in(object texts, int scale, bytes tokens not None, object counts, int whole, int part):
    """Return numbers, given as texts of integers with `scale` digits behind the point, in a format.

    tokens: The tokens of `expr.number_format`, each as a byte: `0` exactly and `9` up to so many digits, `,`, `.`, `$`,
    `S`, `M` for MI, `<` and `>`. counts: The digits of each as int32. whole, part: All digits before and behind the point.
    The result is null where the text is. Raises ValueError for a format that is very long.
    """
    cdef BinaryView view = binary_view(texts)
    cdef PrimitiveView sizes = _bases(counts, len(tokens))
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


def read_in(object texts, bytes tokens not None, object counts, int whole, int part):
    """Return the numbers that texts have in a format, as int64 without the point, and their states as uint8.

    The format is that of `written_in`. The states: 0 a number, 1 the text does not have the format, and 2 for a text
    that is left to the caller. The numbers are null where the texts are. Raises ValueError for more than 18 digits.
    """
    cdef BinaryView view = binary_view(texts)
    cdef PrimitiveView sizes = _bases(counts, len(tokens))
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


cdef PrimitiveView _bases(object values, int64_t length):
    cdef PrimitiveView view = primitive_view(values)
    if view.format != b"i":
        raise wrong_format("int32", view.format)
    same_length(view.length, length)
    return view


cdef int _digit(uint8_t byte) noexcept nogil:
    """The value of a digit or letter; a great number for another character."""
    if 0x30 <= byte <= 0x39:
        return byte - 0x30
    byte &= 0xDF
    return byte - 0x37 if 0x41 <= byte <= 0x5A else 99


cdef int _group(Span text, int scale, int whole, int least, int group, Written out) noexcept nogil:
    """Append a number with commas."""
    cdef bint negative = text.size > 0 and text.data[0] == 0x2D
    cdef const uint8_t* digits = text.data + negative
    cdef int64_t size = text.size - negative, before = size - scale, first = 0, behind = scale, k, width
    # Digits before `first` are zeros, and missing ones are, too.
    while first < before and digits[first] == 0x30:
        first += 1
    while behind > least and (before + behind <= 0 or digits[before + behind - 1] == 0x30):
        behind -= 1
    width = before - first if before > first else 0
    width = whole if width < whole else width
    if width == 0 and behind == 0 and least == 0:
        width = 1
    if out.reserve(2 * width + (behind if behind > least else least) + 4) != 0:
        return -1
    if negative:
        out.data.append_byte(0x2D)
    for k in range(width, 0, -1):
        out.data.append_byte(digits[before - k] if 0 <= before - k else 0x30)
        if group > 0 and k > 1 and (k - 1) % group == 0:
            out.data.append_byte(0x2C)
    if behind > 0 or least > 0:
        out.data.append_byte(0x2E)
        for k in range(behind if behind > least else least):
            out.data.append_byte(digits[before + k] if k < behind and 0 <= before + k else 0x30)
    return 0


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
        elif code == 0x24:
            _insert(writing, writing.size, code)
        elif code == 0x53:
            _strip_point(writing)
            _before_spaces(writing, 0x2D if negative else 0x2B)
        elif code == 0x4D and negative:
            _strip_point(writing)
            _before_spaces(writing, 0x2D)
        elif code == 0x4D:
            _insert(writing, writing.size, 0x20)
        elif code == 0x3C:
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
    return 0x2D if code == 0x4D or code == 0x53 else code


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
        if character != _sign_of(code) and not (code == 0x53 and character == 0x2B) or at == text.size:
            # Only the dollar must not be missing, unless the text has ended.
            if code == 0x24 and at < text.size:
                return 1
            continue
        at += 1
        if code == POINT:
            pointed = True
        elif code == 0x53 or code == 0x4D:
            negative ^= character == 0x2D
        elif code == 0x3C:
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


cdef int _converted(Span text, int32_t source, int32_t target, uint8_t* out, int64_t* start) noexcept nogil:
    """Write the digits before the end of `out`, which has 66 bytes, from `start` on."""
    cdef int64_t at = 0, end = text.size
    cdef bint negative = False, signed = target < 0
    cdef uint64_t value = 0, base
    cdef int digit
    if not 2 <= source <= 36 or not (2 <= target <= 36 or -36 <= target <= -2):
        return NO_NUMBER
    while at < end and text.data[at] == 0x20:
        at += 1
    while at < end and text.data[end - 1] == 0x20:
        end -= 1
    if at == end:
        return NO_NUMBER
    if text.data[at] == 0x2D:
        negative = True
        at += 1
    while at < end:
        digit = _digit(text.data[at])
        if digit >= source:
            break
        if value > (~<uint64_t>0 - <uint64_t>digit) // <uint64_t>source:
            return BEYOND
        value = value * <uint64_t>source + <uint64_t>digit
        at += 1
    if negative and not signed:
        value = ~<uint64_t>0 if <int64_t>value < 0 else 0 - value
    if signed and <int64_t>value < 0:
        value, negative = 0 - value, True
    base = <uint64_t>(-target if signed else target)
    while True:
        start[0] -= 1
        out[start[0]] = DIGITS[value % base]
        value //= base
        if value == 0:
            break
    if negative and signed:
        start[0] -= 1
        out[start[0]] = 0x2D
    return CONVERTED
