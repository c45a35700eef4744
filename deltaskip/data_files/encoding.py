"""Data files encoded side by side, each in order by one thread at a time, while the next rows are prepared."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from threading import Condition, Semaphore
from typing import TypeVar

import pyarrow as pa

from deltaskip.actions import AddFile
from deltaskip.data_files.data_file import OpenDataFile, leaves_with_nan
from deltaskip.fork_safety import new_lock

# Most threads wait for the disk; files that several threads wait for are synced together.
_THREADS = 16
# Ratio of the size of a file to the size of its rows in memory, until it is known from a file of the same write.
_USUAL_SHARE = 0.4

T = TypeVar("T")
R = TypeVar("R")


class Encoders:
    """Threads that encode row groups, as many at once as there are processors, and close files.

    Attributes:
        alone: Whether further work runs in the calling thread, because there is little of it.
        done: An add action for each closed file.
        share: Ratio of the size of files to the size of their rows in memory, as far as it is known.
    """

    def __init__(self) -> None:
        self.done: list[AddFile] = []
        self.share = _USUAL_SHARE
        self.alone = False
        self.stopped = False
        self._pools: dict[bool, ThreadPoolExecutor] = {}
        self.processors = Semaphore(processors())
        self._bytes = 0
        self._changed = Condition()
        self._error: BaseException | None = None

    def each(self, function: Callable[[T], R], values: Iterable[T]) -> list[R]:
        """Return the results of a function that releases the GIL, for each value."""
        return list(self._pool(False).map(function, values))

    def run(self, task: Callable[[], None], waits: bool) -> None:
        """Run a task in a thread. After its error the others stop, and `check` raises it.

        waits: Whether it waits for a disk or an answer.
        """

        def guarded() -> None:
            try:
                task()
            except BaseException as error:
                with self._changed:
                    self._error = self._error or error
                    self.stopped = True
                    self._changed.notify_all()

        if self.alone:
            guarded()
        else:
            self._pool(waits).submit(guarded)

    def _pool(self, waits: bool) -> ThreadPoolExecutor:
        """The threads that wait, or that encode, which pyarrow does without the GIL: more would only compete for it."""
        if waits not in self._pools:
            self._pools[waits] = ThreadPoolExecutor(_THREADS if waits else processors(), "deltaskip")
        return self._pools[waits]

    def take(self, n_bytes: int) -> None:
        """Count bytes that wait for a thread. Raises an earlier error."""
        self.check()
        with self._changed:
            self._bytes += n_bytes

    def wait(self, most_bytes: int) -> None:
        """Wait until at most this many bytes wait. Raises an earlier error."""
        with self._changed:
            self._changed.wait_for(lambda: self.stopped or self._bytes <= most_bytes)
        self.check()

    def give_back(self, n_bytes: int) -> None:
        """Count bytes that no longer wait."""
        with self._changed:
            self._bytes -= n_bytes
            self._changed.notify_all()

    def check(self) -> None:
        """Raise the first error of a thread."""
        if self._error is not None:
            raise self._error

    def finish(self) -> list[AddFile]:
        """Return an add action for each file once all sequences are closed; they must have been ended."""
        self._shut_down()
        self.check()
        return self.done

    def stop(self) -> None:
        """Let threads begin no further task, and wait for the tasks that they have begun."""
        self.stopped = True
        self._shut_down()

    def _shut_down(self) -> None:
        for waits in sorted(self._pools):
            self._pools[waits].shutdown()


class FileSequence:
    """Files of one partition that are written one after the other, from row groups in order.

    Args:
        encoders: The threads.
        begin: Opens a file, given the leaves without statistics in its footer.
        close: Closes a file and returns its add action.
        target_bytes: Size at which the next file begins.
        in_memory: Whether the files are in memory until they are complete, so that threads do not wait for the disk.
    """

    def __init__(
        self,
        encoders: Encoders,
        begin: Callable[[frozenset[str]], OpenDataFile],
        close: Callable[[OpenDataFile], AddFile],
        target_bytes: int,
        in_memory: bool = False,
    ) -> None:
        self._encoders = encoders
        self._in_memory = in_memory
        self._writing: AbstractContextManager[object] = nullcontext() if in_memory else encoders.processors
        self._begin = begin
        self._close = close
        self._target_bytes = target_bytes
        self._file: OpenDataFile | None = None
        self._size = 0
        self._queue: deque[tuple[pa.Table | None, int]] = deque()
        self._queued = 0
        self._running = False
        self._lock = new_lock()

    @property
    def expected_bytes(self) -> float:
        """Size of the current file with the rows that wait for it."""
        return self._size + self._queued * self._encoders.share

    def put(self, rows: pa.Table, n_bytes: int) -> None:
        """Queue rows to be written as a row group. n_bytes: Their size in memory. Raises an earlier error."""
        self._encoders.take(n_bytes)
        self._enqueue(rows, n_bytes)

    def end(self) -> None:
        """Queue the closing of the file after its rows."""
        self._enqueue(None, 0)

    def abandon(self) -> None:
        """Discard the open file. All threads have stopped."""
        if self._file is not None:
            self._file.abandon()

    def _enqueue(self, rows: pa.Table | None, n_bytes: int) -> None:
        with self._lock:
            self._queue.append((rows, n_bytes))
            self._queued += n_bytes
            if self._running:
                return
            self._running = True
        self._encoders.run(self._work_off, waits=not self._in_memory)

    def _work_off(self) -> None:
        while not self._encoders.stopped:
            with self._lock:
                if not self._queue:
                    self._running = False
                    return
                rows, n_bytes = self._queue.popleft()
            if rows is None:
                self._finish_file()
                continue
            try:
                self._write(rows, n_bytes)
            finally:
                del rows
                with self._lock:
                    self._queued -= n_bytes
                self._encoders.give_back(n_bytes)

    def _write(self, rows: pa.Table, n_bytes: int) -> None:
        nan = frozenset(leaves_with_nan(rows))
        if self._file is not None and not nan <= self._file.without_statistics:
            self._finish_file()
        if self._file is None:
            self._file = self._begin(nan)
        with self._writing:
            self._file.write(rows)
        size = self._file.size
        self._encoders.share = (size - self._size) / max(1, n_bytes)
        self._size = size
        if size >= self._target_bytes:
            self._finish_file()

    def _finish_file(self) -> None:
        file, self._file, self._size = self._file, None, 0
        if file is not None:
            self._encoders.done.append(self._close(file))


def processors() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
