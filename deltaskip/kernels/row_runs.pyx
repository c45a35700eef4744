"""Rows of Arrow buffers that follow each other, copied in runs: faster than by a mask where few rows are left out."""

import pyarrow as pa

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcpy

from deltaskip.sparkexpr.kernels.arrow cimport ByteBuffer, HeldBytes, check, is_valid, zeros

__all__ = ["Runs", "bits_in", "bytes_in", "offsets_in", "runs_of"]


cdef class Runs:
    """First rows of runs, and the rows after their last ones, ascending.

    Attributes:
        rows: The number of rows in them.
        end: The row after the last one.
    """
    cdef ByteBuffer bounds
    cdef const int64_t* at
    cdef int64_t count
    cdef readonly int64_t rows
    cdef readonly int64_t end

    def numbers(self) -> pa.Buffer:
        """Return the rows, int64."""
        cdef HeldBytes out = _new(8 * self.rows)
        cdef int64_t* to = <int64_t*>out.view.buf
        cdef int64_t i, row
        with nogil:
            for i in range(self.count):
                for row in range(self.at[2 * i], self.at[2 * i + 1]):
                    to[0] = row
                    to += 1
        return <object>out.view.obj

    cdef int add(self, int64_t start, int64_t end) noexcept nogil:
        """Add a run, or extend the last one that it continues."""
        if start == end:
            return 0
        self.rows += end - start
        if self.count and self.end == start:
            (<int64_t*>self.bounds.data)[2 * self.count - 1] = end
        else:
            if self.bounds.append_int64(start) or self.bounds.append_int64(end):
                return -1
            self.count += 1
        self.end = end
        self.at = <const int64_t*>self.bounds.data
        return 0


cdef Runs new_runs():
    cdef Runs found = Runs.__new__(Runs)
    found.bounds = ByteBuffer.__new__(ByteBuffer)
    return found


def runs_of(object mask not None: Buffer | npt.NDArray[Any]) -> Runs:
    """Return the runs of rows whose byte in the mask is not 0."""
    cdef HeldBytes held = HeldBytes(mask)
    cdef const uint8_t* at = <const uint8_t*>held.view.buf
    cdef int64_t i = 0, start, count = held.view.len
    cdef Runs found = new_runs()
    cdef int fault = 0
    with nogil:
        while i < count and not fault:
            while i < count and not at[i]:
                i += 1
            start = i
            while i < count and at[i]:
                i += 1
            fault = found.add(start, i)
    check(fault)
    return found


def bytes_in(object data not None: Buffer | npt.NDArray[Any], int64_t width, int64_t first, Runs runs not None) -> pa.Buffer:
    """Return the values in the runs.

    Args:
        data: Values of the same number of bytes.
        width: Bytes of a value, at least 1.
        first: The value of row 0.
        runs: The runs.

    Raises:
        ValueError: A run is not within the data.
    """
    cdef HeldBytes held = HeldBytes(data)
    cdef const uint8_t* at = <const uint8_t*>held.view.buf
    cdef int64_t i, start, size
    if width < 1 or first < 0 or first + runs.end > held.view.len // width:
        raise ValueError("a run of rows is not within the values")
    cdef HeldBytes out = _new(runs.rows * width)
    cdef uint8_t* to = <uint8_t*>out.view.buf
    with nogil:
        for i in range(runs.count):
            start = runs.at[2 * i]
            size = (runs.at[2 * i + 1] - start) * width
            memcpy(to, at + (first + start) * width, size)
            to += size
    return <object>out.view.obj


def bits_in(object data not None: Buffer | npt.NDArray[Any], int64_t first, Runs runs not None) -> pa.Buffer:
    """Return the bits in the runs: a validity bitmap, or booleans.

    Args:
        data: Bits, the lowest of a byte first.
        first: The bit of row 0.
        runs: The runs.

    Raises:
        ValueError: A run is not within the data.
    """
    cdef HeldBytes held = HeldBytes(data)
    cdef const uint8_t* at = <const uint8_t*>held.view.buf
    cdef int64_t i, bit, done = 0
    if first < 0 or first + runs.end > 8 * held.view.len:
        raise ValueError("a run of rows is not within the bits")
    cdef ByteBuffer out = zeros((runs.rows + 7) // 8)
    with nogil:
        for i in range(runs.count):
            for bit in range(first + runs.at[2 * i], first + runs.at[2 * i + 1]):
                if is_valid(at, bit):
                    out.data[done >> 3] |= 1 << (done & 7)
                done += 1
    return pa.py_buffer(out)


def offsets_in(object offsets not None: Buffer | npt.NDArray[Any], int64_t first, Runs runs not None) -> tuple[pa.Buffer, Runs]:
    """Return the offsets of strings or lists in the runs, and the runs of their bytes or elements.

    Args:
        offsets: Offsets, int32.
        first: The offset of row 0.
        runs: The runs.

    Raises:
        ValueError: A run is not within the offsets, or they do not ascend.
    """
    cdef HeldBytes held = HeldBytes(offsets)
    cdef const int32_t* at = <const int32_t*>held.view.buf
    cdef Runs inner = new_runs()
    cdef int64_t i, row, moved
    cdef int32_t before = 0
    cdef int fault = 0
    cdef bint ascend = True
    if first < 0 or first + runs.end >= held.view.len // 4:
        raise ValueError("a run of rows is not within the offsets")
    at += first
    cdef HeldBytes out = _new(4 * (runs.rows + 1))
    cdef int32_t* to = <int32_t*>out.view.buf
    to[0] = 0
    with nogil:
        for i in range(runs.count):
            moved = inner.rows - at[runs.at[2 * i]]
            before = at[runs.at[2 * i]]
            ascend = ascend and before >= inner.end
            for row in range(runs.at[2 * i] + 1, runs.at[2 * i + 1] + 1):
                ascend = ascend and at[row] >= before
                before = at[row]
                to += 1
                to[0] = <int32_t>(before + moved)
            if ascend:
                fault = inner.add(at[runs.at[2 * i]], before)
            if fault or not ascend:
                break
    if not ascend:
        raise ValueError("the offsets do not ascend")
    check(fault)
    return <object>out.view.obj, inner


cdef HeldBytes _new(int64_t size):
    """Bytes of Arrow's own memory, which it uses again: new memory costs more than the copy."""
    return HeldBytes(pa.allocate_buffer(size))
