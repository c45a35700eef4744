"""Matches of regular expressions in strings, with the choices of a backtracking matcher, in linear time.

A program is a list of instructions. `Program` says what each does. The matcher takes the first alternative and comes
back for the second, as Java's does, but visits no mark (an instruction where ways meet) twice at one place of a text:
where it failed once, it fails again. So one text takes time in proportion to its length times that of the program.
"""

import pyarrow as pa

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from deltaskip.sparkexpr.kernels.arrow cimport (
    NO_MEMORY, BinaryView, ByteBuffer, PrimitiveView, binary_view, check, is_valid
)
from deltaskip.sparkexpr.kernels.lane cimport whole_view
from deltaskip.sparkexpr.kernels.utf8 cimport decode

cdef enum Operation:
    CHARACTER
    SPLIT
    JUMP
    SAVE
    ASSERT
    FOUND
    MARK

cdef enum Place:
    BEGIN
    END
    LAST
    LINE_BEGIN
    LINE_END
    BOUNDARY
    NO_BOUNDARY

cdef enum Outcome:
    FAILED = 0
    MATCHED = 1
    UNSURE = 2

cdef dict OPERATIONS = {
    "character": CHARACTER, "split": SPLIT, "jump": JUMP, "save": SAVE, "assert": ASSERT, "found": FOUND, "mark": MARK
}
PLACES: Mapping[str, int] = {
    "begin": BEGIN, "end": END, "last": LAST, "line begin": LINE_BEGIN, "line end": LINE_END, "boundary": BOUNDARY,
    "no boundary": NO_BOUNDARY,
}
"""The number of each kind of assertion."""

cdef enum:
    # Sizes of one instruction and of one entry of the stack.
    WIDTH = 4
    ENTRY = 3
    # Bytes of the marks visited in one text; longer texts are not sure.
    MOST_VISITED = 1 << 25


cdef class Program:
    """A program for `search`, checked.

    Args:
        code: The instructions: ("character", set), ("split", first, second), ("jump", to), ("save", slot),
            ("assert", place), ("found",) and ("mark",). `first`, `second` and `to` are indexes of instructions. Slot
            2g is the begin of group g, and 2g + 1 its end; group 0 is the whole match, whose begin is not saved.
        sets: The code points of each set, and those of which it is not sure whether they are in it.
        groups: The number of groups besides group 0.
        first: Bits of the bytes with which a match may begin; None if one may be empty.
        anchored: Whether a match begins at the begin of the text.
    """
    cdef int32_t* code
    cdef int32_t* ranges
    cdef int32_t* bounds
    cdef uint8_t* ascii
    cdef int64_t size
    cdef int64_t marks
    cdef int64_t slots
    cdef bint filtered
    cdef bint anchored
    cdef uint8_t[32] first

    def __cinit__(
        self, list code not None: list[tuple[object, ...]],
        list sets not None: Sequence[tuple[Sequence[tuple[int, int]], Sequence[tuple[int, int]]]], int groups,
        bytes first, bint anchored,
    ):
        cdef int64_t i, at = 0, total = sum([len(inside) + len(unsure) for inside, unsure in sets])
        cdef int32_t low, high, point
        if not code or code[len(code) - 1] != ("found",) or not 0 <= groups < 1 << 16 or (first is not None and len(first) != 32):
            raise ValueError("A program ends where it has found a match, and has as many groups as it saves.")
        self.size, self.slots = len(code), 2 * groups + 2
        self.code = <int32_t*>calloc(self.size * WIDTH, sizeof(int32_t))
        self.ranges = <int32_t*>calloc(2 * total + 1, sizeof(int32_t))
        self.bounds = <int32_t*>calloc(3 * len(sets) + 1, sizeof(int32_t))
        self.ascii = <uint8_t*>calloc(16 * len(sets) + 1, 1)
        if self.code == NULL or self.ranges == NULL or self.bounds == NULL or self.ascii == NULL:
            raise MemoryError
        for i, (inside, unsure) in enumerate(sets):
            self.bounds[3 * i] = at
            for low, high in inside:
                self.ranges[2 * at], self.ranges[2 * at + 1] = low, high
                at += 1
                for point in range(max(low, 0), min(high, 0x7F) + 1):
                    self.ascii[16 * i + (point >> 3)] |= 1 << (point & 7)
            self.bounds[3 * i + 1] = at
            for low, high in unsure:
                self.ranges[2 * at], self.ranges[2 * at + 1] = low, high
                at += 1
            self.bounds[3 * i + 2] = at
        for i, (name, *operands) in enumerate(code):
            self.set_instruction(i, OPERATIONS[name], operands, len(sets))
        self.filtered, self.anchored = first is not None, anchored
        for i in range(32):
            self.first[i] = first[i] if first is not None else 0xFF

    cdef int set_instruction(self, int64_t i, int operation, list operands, int64_t sets) except -1:
        cdef int64_t most = {
            CHARACTER: sets, SPLIT: self.size, JUMP: self.size, SAVE: self.slots, ASSERT: len(PLACES)
        }.get(operation, 0)
        cdef int64_t count = {SPLIT: 2, FOUND: 0, MARK: 0}.get(operation, 1)
        if len(operands) != count or not all([0 <= operand < most for operand in operands]):
            raise ValueError("An instruction has operands that are not in the program.")
        self.code[WIDTH * i] = operation
        for k, operand in enumerate(operands):
            self.code[WIDTH * i + 1 + k] = operand
        if operation == SPLIT or operation == MARK:
            self.code[WIDTH * i + 3] = self.marks
            self.marks += 1
        return 0

    def __dealloc__(self):
        free(self.code)
        free(self.ranges)
        free(self.bounds)
        free(self.ascii)


cdef struct Machine:
    const int32_t* code
    const int32_t* ranges
    const int32_t* bounds
    const uint8_t* ascii
    const uint8_t* first
    int64_t marks
    bint filtered
    bint anchored
    # Whether more matches are looked for in a text.
    bint on
    uint8_t* visited
    int64_t visited_capacity
    int64_t* stack
    int64_t stack_size
    int64_t stack_capacity
    int64_t* trail
    int64_t trail_size
    int64_t trail_capacity
    int64_t* slots


def search(
    texts: ArrowArrayExportable, Program program not None, list groups not None: list[int], int64_t most
) -> tuple[pa.Int64Array, pa.Int64Array, pa.UInt8Array]:
    """Find matches from left to right, none of which overlap, as Java finds them.

    Returns where the matches of each text begin, as an int64 array that is longer by one than the texts; the begin and
    end of each group of each match in the data of the strings, as int64, -1 for a group that took no part; and for
    each text whether it is sure, as uint8: 1 if its matches depend on the version of Java, or it is too long. It has
    no matches then. A null has none either.

    Args:
        texts: An array of strings.
        program: The regular expression.
        groups: The groups whose places are wanted.
        most: The most matches of one text.

    Raises TypeError for another format and ValueError for a group that the program does not have.
    """
    cdef BinaryView view = binary_view(texts)
    cdef ByteBuffer offsets = ByteBuffer.__new__(ByteBuffer)
    cdef ByteBuffer spans = ByteBuffer.__new__(ByteBuffer)
    cdef ByteBuffer states = ByteBuffer.__new__(ByteBuffer)
    cdef Machine machine
    cdef int32_t* wanted
    cdef int64_t count = len(groups)
    cdef int code = 0
    if not all([0 <= group < program.slots // 2 for group in groups]):
        raise ValueError("The program has no such group.")
    memset(&machine, 0, sizeof(Machine))
    machine.code, machine.ranges, machine.bounds = program.code, program.ranges, program.bounds
    machine.ascii, machine.first, machine.marks = program.ascii, program.first, program.marks
    machine.filtered, machine.anchored, machine.on = program.filtered, program.anchored, most > 1
    machine.slots = <int64_t*>malloc(program.slots * sizeof(int64_t))
    wanted = <int32_t*>malloc((count + 1) * sizeof(int32_t))
    try:
        if machine.slots == NULL or wanted == NULL:
            raise MemoryError
        for i, group in enumerate(groups):
            wanted[i] = group
        with nogil:
            code = _search(view, &machine, program.slots, wanted, count, most, offsets, spans, states)
    finally:
        free(machine.slots)
        free(machine.visited)
        free(machine.stack)
        free(machine.trail)
        free(wanted)
    check(code)
    return (
        pa.Array.from_buffers(pa.int64(), view.length + 1, [None, pa.py_buffer(offsets)]),
        pa.Array.from_buffers(pa.int64(), len(spans) // 8, [None, pa.py_buffer(spans)]),
        pa.Array.from_buffers(pa.uint8(), view.length, [None, pa.py_buffer(states)]),
    )


def joined(
    object data not None: Buffer, starts: ArrowArrayExportable, ends: ArrowArrayExportable,
    offsets: ArrowArrayExportable,
) -> tuple[pa.Buffer, pa.Buffer]:
    """Return strings of pieces of some bytes, as the buffers of a string array: offsets as int32, and data.

    Args:
        data: The bytes.
        starts: Where each piece begins, as int64.
        ends: Where it ends.
        offsets: Where the pieces of each string begin, as an int64 array that is longer by one than the strings.

    Raises OverflowError for more than 2 GiB, and ValueError for places beyond the data.
    """
    cdef const uint8_t[::1] source = data
    cdef PrimitiveView start = whole_view(starts, b"l"), end = whole_view(ends, b"l"), at = whole_view(offsets, b"l")
    cdef ByteBuffer sizes = ByteBuffer.__new__(ByteBuffer), out = ByteBuffer.__new__(ByteBuffer)
    cdef int code
    if start.length != end.length or at.length < 1:
        raise ValueError("Pieces have as many ends as begins.")
    with nogil:
        code = _joined(
            &source[0] if source.shape[0] else NULL, source.shape[0], <const int64_t*>start.values,
            <const int64_t*>end.values, start.length, <const int64_t*>at.values, at.length, sizes, out
        )
    if code == 1:
        raise ValueError("A piece is not within the data.")
    if code == 2:
        raise OverflowError("The strings have more than 2 GiB.")
    check(code)
    return pa.py_buffer(sizes), pa.py_buffer(out)


cdef int _joined(
    const uint8_t* data, int64_t size, const int64_t* starts, const int64_t* ends, int64_t pieces,
    const int64_t* offsets, int64_t count, ByteBuffer sizes, ByteBuffer out
) noexcept nogil:
    cdef int64_t i, k
    for i in range(count):
        if not 0 <= offsets[i] <= pieces or (i > 0 and offsets[i] < offsets[i - 1]):
            return 1
        if i > 0:
            for k in range(offsets[i - 1], offsets[i]):
                if not 0 <= starts[k] <= ends[k] <= size:
                    return 1
                if ends[k] - starts[k] > 0x7FFFFFFF - out.size:
                    return 2
                if out.append(data + starts[k], ends[k] - starts[k]) != 0:
                    return NO_MEMORY
        if sizes.append_int32(<int32_t>out.size) != 0:
            return NO_MEMORY
    return 0


cdef int _search(
    BinaryView view, Machine* machine, int64_t slots, const int32_t* wanted, int64_t groups, int64_t most,
    ByteBuffer offsets, ByteBuffer spans, ByteBuffer states
) noexcept nogil:
    cdef int64_t i, count = 0, start, before
    cdef int found
    if offsets.append_int64(0) != 0:
        return NO_MEMORY
    for i in range(view.length):
        found = FAILED
        if is_valid(view.validity, view.offset + i):
            start, before = view.start(i), spans.size
            found = _text(
                machine, view.data + start, view.end(i) - start, start, slots, wanted, groups, most, spans, &count
            )
            if found == NO_MEMORY:
                return NO_MEMORY
            if found == UNSURE:
                spans.size = before
                count = (<int64_t*>offsets.data)[i]
        if offsets.append_int64(count) != 0 or states.append_byte(found == UNSURE) != 0:
            return NO_MEMORY
    return 0


cdef int _text(
    Machine* machine, const uint8_t* text, int64_t size, int64_t start, int64_t slots, const int32_t* wanted,
    int64_t groups, int64_t most, ByteBuffer spans, int64_t* count
) noexcept nogil:
    """Append the matches of one text to `spans` and `count`."""
    cdef int64_t at = 0, left = most, k, bits = machine.marks * (size + 1), needed = (bits >> 3) + 1
    cdef int64_t begin, end
    cdef int found
    cdef uint8_t* grown
    if needed > MOST_VISITED:
        return UNSURE
    if needed > machine.visited_capacity:
        grown = <uint8_t*>realloc(machine.visited, 2 * needed)
        if grown == NULL:
            return NO_MEMORY
        machine.visited, machine.visited_capacity = grown, 2 * needed
    memset(machine.visited, 0, needed)
    while left > 0 and at <= size:
        found = _next(machine, text, size, slots, at)
        if found != MATCHED:
            return found
        count[0] += 1
        left -= 1
        for k in range(groups):
            begin, end = machine.slots[2 * wanted[k]], machine.slots[2 * wanted[k] + 1]
            if begin < 0 or end < 0:
                begin, end = -1 - start, -1 - start
            if spans.append_int64(begin + start) != 0 or spans.append_int64(end + start) != 0:
                return NO_MEMORY
        at = machine.slots[1]
        _forget(machine, at)
        if at == machine.slots[0] and left > 0:
            if at == size:
                break
            if text[at] >= 0xF0:
                # Java goes on in the middle of a surrogate pair.
                return UNSURE
            decode(text, size, &at)
    return MATCHED


cdef void _forget(Machine* machine, int64_t end) noexcept nogil:
    """Forget the marks at the end of a match: they have not failed."""
    cdef int64_t bit
    while machine.trail_size > 0:
        machine.trail_size -= 1
        bit = machine.trail[machine.trail_size]
        if bit // machine.marks < end:
            break
        machine.visited[bit >> 3] &= ~(1 << (bit & 7))
    machine.trail_size = 0


cdef int _next(Machine* machine, const uint8_t* text, int64_t size, int64_t slots, int64_t at) noexcept nogil:
    """The next match from `at` on, whose groups are in the slots."""
    cdef int found
    cdef int64_t k
    if machine.anchored:
        if at > 0:
            return FAILED
        return _run(machine, text, size, slots, 0)
    while True:
        if machine.filtered:
            while at < size and not machine.first[text[at] >> 3] >> (text[at] & 7) & 1:
                at += 1
            if at >= size:
                return FAILED
        found = _run(machine, text, size, slots, at)
        if found != FAILED:
            return found
        if at >= size:
            return FAILED
        at += 1
        while at < size and text[at] & 0xC0 == 0x80:
            at += 1


cdef inline int _push(Machine* machine, int64_t a, int64_t b) noexcept nogil:
    cdef int64_t* grown
    cdef int64_t* entry
    if machine.stack_size + ENTRY > machine.stack_capacity:
        grown = <int64_t*>realloc(machine.stack, (2 * machine.stack_capacity + 64 * ENTRY) * sizeof(int64_t))
        if grown == NULL:
            return NO_MEMORY
        machine.stack, machine.stack_capacity = grown, 2 * machine.stack_capacity + 64 * ENTRY
    entry = machine.stack + machine.stack_size
    entry[0], entry[1], entry[2] = a, b, machine.trail_size
    machine.stack_size += ENTRY
    return 0


cdef inline int _visit(Machine* machine, int64_t mark, int64_t at) noexcept nogil:
    """Mark a place of the text as visited: FAILED if it was before."""
    cdef int64_t bit = at * machine.marks + mark
    cdef int64_t* grown
    if machine.visited[bit >> 3] >> (bit & 7) & 1:
        return FAILED
    machine.visited[bit >> 3] |= 1 << (bit & 7)
    if machine.on:
        if machine.trail_size == machine.trail_capacity:
            grown = <int64_t*>realloc(machine.trail, (2 * machine.trail_capacity + 64) * sizeof(int64_t))
            if grown == NULL:
                return NO_MEMORY
            machine.trail, machine.trail_capacity = grown, 2 * machine.trail_capacity + 64
        machine.trail[machine.trail_size] = bit
        machine.trail_size += 1
    return MATCHED


cdef int _run(Machine* machine, const uint8_t* text, int64_t size, int64_t slots, int64_t at) noexcept nogil:
    """Match from `at` on."""
    cdef const int32_t* instruction
    cdef int64_t pc = 0, k
    cdef int found
    for k in range(slots):
        machine.slots[k] = -1
    machine.slots[0] = at
    machine.stack_size = 0
    machine.trail_size = 0
    while True:
        instruction = machine.code + WIDTH * pc
        found = MATCHED
        if instruction[0] == CHARACTER:
            if at >= size:
                found = FAILED
            elif text[at] < 0x80:
                found = machine.ascii[16 * instruction[1] + (text[at] >> 3)] >> (text[at] & 7) & 1
                at += found
            else:
                found = _in_set(machine, instruction[1], decode(text, size, &at))
            pc += 1
        elif instruction[0] == SPLIT:
            found = _visit(machine, instruction[3], at)
            if found == MATCHED:
                pc = instruction[1]
                if _push(machine, instruction[2], at) != 0:
                    return NO_MEMORY
        elif instruction[0] == MARK:
            found = _visit(machine, instruction[3], at)
            pc += 1
        elif instruction[0] == JUMP:
            pc = instruction[1]
        elif instruction[0] == SAVE:
            if machine.stack_size > 0 and _push(machine, -1 - instruction[1], machine.slots[instruction[1]]) != 0:
                return NO_MEMORY
            machine.slots[instruction[1]] = at
            pc += 1
        elif instruction[0] == ASSERT:
            found = _stands(text, size, at, instruction[1])
            pc += 1
        else:
            machine.slots[1] = at
            return MATCHED
        if found == MATCHED:
            continue
        if found != FAILED:
            return found
        while True:
            if machine.stack_size == 0:
                return FAILED
            machine.stack_size -= ENTRY
            pc, at = machine.stack[machine.stack_size], machine.stack[machine.stack_size + 1]
            machine.trail_size = machine.stack[machine.stack_size + 2]
            if pc >= 0:
                break
            machine.slots[-1 - pc] = at


cdef int _in_set(Machine* machine, int64_t number, int32_t point) noexcept nogil:
    cdef const int32_t* bounds = machine.bounds + 3 * number
    if _among(machine.ranges, bounds[0], bounds[1], point):
        return MATCHED
    return UNSURE if _among(machine.ranges, bounds[1], bounds[2], point) else FAILED


cdef bint _among(const int32_t* ranges, int64_t low, int64_t high, int32_t point) noexcept nogil:
    """Whether a code point is in one of the ranges, which are in order."""
    cdef int64_t middle
    while low < high:
        middle = (low + high) >> 1
        if point < ranges[2 * middle]:
            high = middle
        elif point > ranges[2 * middle + 1]:
            low = middle + 1
        else:
            return True
    return False


cdef int _stands(const uint8_t* text, int64_t size, int64_t at, int place) noexcept nogil:
    """Whether an assertion holds at a place."""
    cdef bint before, after
    if place == BEGIN:
        return at == 0
    if place == END:
        return at == size
    if place == LAST:
        return at == size or at + _line_end(text, size, at) == size
    if place == LINE_END:
        return at == size or _line_end(text, size, at) > 0
    if place == LINE_BEGIN:
        if at == size:
            return FAILED
        if at == 0 or text[at - 1] == 0x0A:
            return MATCHED
        if text[at - 1] == 0x0D:
            return text[at] != 0x0A
        if at >= 2 and text[at - 2] == 0xC2 and text[at - 1] == 0x85:
            return MATCHED
        return at >= 3 and text[at - 3] == 0xE2 and text[at - 2] == 0x80 and text[at - 1] & 0xFE == 0xA8
    if (at > 0 and text[at - 1] >= 0x80) or (at < size and text[at] >= 0x80):
        # Which of these belong to words depends on the version of Java.
        return UNSURE
    before = at > 0 and _in_word(text[at - 1])
    after = at < size and _in_word(text[at])
    return (before != after) == (place == BOUNDARY)


cdef bint _in_word(uint8_t c) noexcept nogil:
    return 0x30 <= c <= 0x39 or 0x41 <= c <= 0x5A or c == 0x5F or 0x61 <= c <= 0x7A


cdef int64_t _line_end(const uint8_t* text, int64_t size, int64_t at) noexcept nogil:
    """The length of the line end at a place before the end of the text; 0 if none begins there."""
    cdef uint8_t c = text[at]
    if c == 0x0A:
        return 0 if at > 0 and text[at - 1] == 0x0D else 1
    if c == 0x0D:
        return 2 if at + 1 < size and text[at + 1] == 0x0A else 1
    if c == 0xC2:
        return 2 if at + 1 < size and text[at + 1] == 0x85 else 0
    if c == 0xE2:
        return 3 if at + 2 < size and text[at + 1] == 0x80 and text[at + 2] & 0xFE == 0xA8 else 0
    return 0
