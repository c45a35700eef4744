"""A file for random access, made of a function that reads a range of it."""

import io
from collections.abc import Callable

__all__ = ["RangeFile"]


class RangeFile(io.RawIOBase):
    """A file of `size` bytes, for pyarrow.PythonFile: one range a read, as Arrow already joins those that it wants.

    read_at: the bytes at an offset, so many. close: called once, when the file is closed.
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
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Where the next read starts."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to `offset` from the start, from here or from the end; where that is."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def read(self, size: int = -1) -> bytes:
        """The next `size` bytes, all of the rest where it is negative."""
        rest = max(0, self._size - self._position)
        length = rest if size is None or size < 0 else min(size, rest)
        data = self._read_at(self._position, length)
        self._position += len(data)
        return data

    def close(self) -> None:
        """Close what the ranges are read from."""
        if not self.closed and self._close is not None:
            self._close()
        super().close()
