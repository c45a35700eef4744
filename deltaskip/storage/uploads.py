"""Files that are uploaded in parts while they are written."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from mmap import ACCESS_READ, mmap
from threading import Event, Thread
from typing import Protocol, runtime_checkable

from deltaskip.errors import StorageError
from deltaskip.fork_safety import new_lock
from deltaskip.path_bytes import encoded
from deltaskip.storage.catalog_storage import storage_below
from deltaskip.storage.interface import IN_FLIGHT, Storage

# Larger files are uploaded in parts of this size, as obstore does.
PART_BYTES = 5 << 20

# Of the parts in flight over all uploads of this process, each upload has at least a few. Each part is held in memory.
# One connection transfers some megabytes a second, so the last parts of a file should not wait for others.
_LEAST_IN_FLIGHT = 4

_POLL_SECONDS = 0.02

Begin = Callable[[], None]


def publish_growing(storage: Storage, path: str) -> AbstractContextManager[tuple[str, Begin]]:
    """Return a context manager as `Storage.publish` does, which also yields the function that begins the upload.

    From then on its bytes are uploaded once, as they are written, so only its end may change. If a store does not
    accept parts, the file is uploaded when the block ends.

    Args:
        storage: The storage of the file.
        path: Its location.
    """
    below = storage_below(storage)
    return below.publish_growing(path) if isinstance(below, _Growing) else _published_whole(storage, path)


@runtime_checkable
class _Growing(Protocol):
    """A storage that takes the parts of a file while it is written."""

    def publish_growing(self, path: str) -> AbstractContextManager[tuple[str, Begin]]: ...


class _Uploads:
    """The uploads of this process that are in progress."""

    def __init__(self) -> None:
        self._lock, self._count = new_lock(), 0

    @contextmanager
    def one_more(self) -> Iterator[int]:
        """Yield how many parts of one more upload may be in flight at once; it is in progress until the block ends."""
        with self._lock:
            self._count += 1
            share = max(_LEAST_IN_FLIGHT, IN_FLIGHT // self._count)
        try:
            yield share
        finally:
            with self._lock:
                self._count -= 1


UPLOADS = _Uploads()


@contextmanager
def _published_whole(storage: Storage, path: str) -> Iterator[tuple[str, Begin]]:
    with storage.publish(path) as file:
        yield file, lambda: None


class PartsUpload:
    """A local file that a separate thread uploads while it grows, once it is longer than a part.

    Args:
        file: The local file.
        send: Uploads an object from its parts. If the iterator of the parts raises, no object is created.
    """

    def __init__(self, file: str, send: Callable[[Iterator[mmap]], None]) -> None:
        self._file = file
        self._send = send
        self._is_whole, self._is_stopped = Event(), False
        self._thread: Thread | None = None
        self._is_sent = False
        self._error: BaseException | None = None

    def begin(self) -> None:
        """Upload from now on. Raises the error of an earlier part."""
        if self._error is not None:
            raise self._error
        if self._thread is None:
            self._thread = Thread(target=self._upload, name="deltaskip", daemon=True)
            self._thread.start()

    def finish(self) -> bool:
        """Return whether the object exists with the whole file; False if no part was uploaded. Raises the error."""
        if self._thread is None:
            return False
        self._is_whole.set()
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._is_sent

    def stop(self) -> None:
        """Stop the upload, and abandon its parts."""
        self._is_stopped = True
        with suppress(BaseException):
            self.finish()

    def _upload(self) -> None:
        try:
            self._wait(0)
            if not self._is_whole.is_set():
                self._send(self._parts())
                self._is_sent = True
        except BaseException as error:
            self._error = error

    def _wait(self, at: int) -> int:
        """Return the size of the file once there is a part after `at`, or the file is complete."""
        while True:
            is_whole = self._is_whole.is_set()
            if self._is_stopped:
                raise StorageError("The upload was stopped.")
            size = os.stat(encoded(self._file)).st_size
            if is_whole or size - at >= PART_BYTES:
                return size
            self._is_whole.wait(_POLL_SECONDS)

    def _parts(self) -> Iterator[mmap]:
        with open(encoded(self._file), "rb") as file:
            at = 0
            while (size := self._wait(at)) > at:
                # The pages of the file itself, without a copy.
                part = mmap(file.fileno(), min(PART_BYTES, size - at), access=ACCESS_READ, offset=at)
                at += len(part)
                yield part
