"""A file for random access over a function that reads ranges, and many ranges of a file at once."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

import pyarrow as pa

Range = tuple[int, int]
"""Offset and length of bytes of a file."""

# Ranges with at most this many bytes between them are read as one. Over a network, one more request costs as much as
# the bytes that are transferred meanwhile: at 30 ms and 100 MB/s 3 MB, shared by some hundreds of requests in flight.
_GAP_BYTES = 12 << 10


class RangeFile(io.RawIOBase):
    """A file of `size` bytes for pyarrow.PythonFile. Each read is one range, since Arrow already joins its reads.

    read_at: Reads (offset, length). close: Called once, when the file is closed.
    """

    def __init__(
        self, size: int, read_at: Callable[[int, int], bytes], close: Callable[[], object] | None = None
    ) -> None:
        super().__init__()
        self._size = size
        self._read_at = read_at
        self._close = close
        self._position = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position of the next read."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to `offset` from the start, the position or the end, and return the new position."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def read(self, size: int = -1) -> bytes:
        """Read the next `size` bytes, or all remaining bytes if it is negative."""
        rest = max(0, self._size - self._position)
        length = rest if size is None or size < 0 else min(size, rest)
        data = self._read_at(self._position, length)
        self._position += len(data)
        return data

    def close(self) -> None:
        """Close the file and its source."""
        if not self.closed and self._close is not None:
            self._close()
        super().close()


class RemoteInput(pa.PythonFile):  # type: ignore[misc]
    """A remote file that is open for random access.

    Args:
        file: The file.
        read_side_by_side: Reads several ranges, which do not overlap and are not joined, at once.
    """

    read_side_by_side: Callable[[Sequence[Range]], Sequence[bytes]]

    def __new__(cls, file: RangeFile, read_side_by_side: Callable[[Sequence[Range]], Sequence[bytes]]) -> RemoteInput:
        opened: RemoteInput = super().__new__(cls, file, "r")
        opened.read_side_by_side = read_side_by_side
        return opened

    def __init__(self, *_: object) -> None:
        super().__init__()


def read_ranges(source: pa.NativeFile, ranges: Sequence[Range]) -> list[memoryview]:
    """Return the bytes of ranges of an open file; fewer at its end. Neighbours are joined, remote ranges read at once.

    Memory holds the ranges and the bytes between neighbours.

    Args:
        source: The file.
        ranges: The ranges, in any order; they may overlap.
    """
    order = sorted(range(len(ranges)), key=ranges.__getitem__)
    spans: list[Range] = []
    owner = [0] * len(ranges)
    for number in order:
        offset, length = ranges[number]
        start, size = spans[-1] if spans else (0, 0)
        if spans and offset - start - size <= _GAP_BYTES:
            spans[-1] = start, max(size, offset + length - start)
        else:
            spans.append((offset, length))
        owner[number] = len(spans) - 1
    if isinstance(source, RemoteInput):
        found = source.read_side_by_side(spans)
    else:
        found = [_read_at(source, offset, length) for offset, length in spans]
    views = [memoryview(data) for data in found]
    parts = []
    for (offset, length), span in zip(ranges, owner, strict=True):
        start = offset - spans[span][0]
        parts.append(views[span][start : start + length])
    return parts


def _read_at(source: pa.NativeFile, offset: int, length: int) -> pa.Buffer:
    # Arrow reuses its memory, while the memory of a new `bytes` often must be cleared first.
    source.seek(offset)
    return source.read_buffer(length)
