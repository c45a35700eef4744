"""Elements of lists by codes, which are equal where the elements are: repeated ones, and elements of another list."""

import pyarrow as pa

from libc.stdint cimport int64_t

from deltaskip.sparkexpr.kernels.arrow cimport ByteBuffer, PrimitiveView, zeros
from deltaskip.sparkexpr.kernels.lane cimport same_length, whole_view


def repeated_codes(lengths: ArrowArrayExportable, codes: ArrowArrayExportable, int64_t count) -> pa.UInt8Array:
    """Return for each element, as uint8, whether one before it in its list has its code.

    lengths: int64, the number of elements of each list. codes: int64, from 0 and below `count`, those of all lists in
    their order. Raises TypeError for other formats, and ValueError for nulls, and numbers that do not fit.
    """
    cdef PrimitiveView each = whole_view(lengths, b"l")
    cdef PrimitiveView view = _checked_codes(each, codes, count)
    cdef ByteBuffer out = zeros(view.length)
    cdef ByteBuffer last = zeros(8 * count)
    cdef int64_t* seen = <int64_t*>last.data
    cdef const int64_t* code = <const int64_t*>view.values
    cdef const int64_t* size = <const int64_t*>each.values
    cdef int64_t i, k, at = 0
    with nogil:
        for k in range(count):
            seen[k] = -1
        for i in range(each.length):
            for k in range(at, at + size[i]):
                out.data[k] = seen[code[k]] == i
                seen[code[k]] = i
            at += size[i]
    return pa.Array.from_buffers(pa.uint8(), view.length, [None, pa.py_buffer(out)])


def codes_among(
    lengths: ArrowArrayExportable, codes: ArrowArrayExportable, other_lengths: ArrowArrayExportable,
    other_codes: ArrowArrayExportable, int64_t count,
) -> pa.UInt8Array:
    """Return for each element, as uint8, whether one of the other list of its row has its code.

    Arguments and errors are those of `repeated_codes`; there are as many other lists as lists.
    """
    cdef PrimitiveView each = whole_view(lengths, b"l")
    cdef PrimitiveView others = whole_view(other_lengths, b"l")
    same_length(each.length, others.length)
    cdef PrimitiveView view = _checked_codes(each, codes, count)
    cdef PrimitiveView other_view = _checked_codes(others, other_codes, count)
    cdef ByteBuffer out = zeros(view.length)
    cdef ByteBuffer last = zeros(8 * count)
    cdef int64_t* seen = <int64_t*>last.data
    cdef const int64_t* code = <const int64_t*>view.values
    cdef const int64_t* other = <const int64_t*>other_view.values
    cdef const int64_t* size = <const int64_t*>each.values
    cdef const int64_t* other_size = <const int64_t*>others.values
    cdef int64_t i, k, at = 0, there = 0
    with nogil:
        for k in range(count):
            seen[k] = -1
        for i in range(each.length):
            for k in range(there, there + other_size[i]):
                seen[other[k]] = i
            there += other_size[i]
            for k in range(at, at + size[i]):
                out.data[k] = seen[code[k]] == i
            at += size[i]
    return pa.Array.from_buffers(pa.uint8(), view.length, [None, pa.py_buffer(out)])


cdef PrimitiveView _checked_codes(PrimitiveView lengths, object codes, int64_t count):
    cdef PrimitiveView view = whole_view(codes, b"l")
    cdef const int64_t* code = <const int64_t*>view.values
    cdef const int64_t* size = <const int64_t*>lengths.values
    cdef int64_t i, left = view.length
    cdef bint fits = count >= 0
    with nogil:
        for i in range(view.length):
            fits &= 0 <= code[i] < count
        for i in range(lengths.length):
            if not 0 <= size[i] <= left:
                fits = False
                break
            left -= size[i]
    if not fits or left != 0:
        raise ValueError("The codes or the lengths of the lists do not fit.")
    return view
