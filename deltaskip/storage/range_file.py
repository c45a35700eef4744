"""A file for random access over a function that reads ranges."""

import io
from collections.abc import Callable

__all__ = ["RangeFile"]


class RangeFile(io.RawIOBase):
    """A file of `size` bytes for pyarrow.PythonFile. Each read is one range, since Arrow joins its reads itself.

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
