"""Reading several files at once while their rows are used in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from itertools import chain, islice
from typing import TypeVar

import pyarrow as pa

from deltaskip.fork_safety import in_child
from deltaskip.storage.interface import IN_FLIGHT

Reads = Iterator[tuple[int, Callable[[], Iterator[pa.RecordBatch]]]]
"""Bytes of files, and functions that read rows of them."""

_T = TypeVar("_T")
# Bytes of rows that are held before their turn.
_HELD_BYTES = 128 << 20

_this_thread = threading.local()


@cache
def _threads(count: int) -> ThreadPoolExecutor:
    """The threads that read, for all reads of the process: new threads would get new memory for each read."""
    return ThreadPoolExecutor(count, "deltaskip", initializer=lambda: setattr(_this_thread, "reads", True))


# The threads do not exist in a forked process.
in_child(_threads.cache_clear)


def read_ahead(
    reads: Iterable[tuple[int, Callable[[], Iterable[_T]]]],
    most_bytes: int,
    done: Callable[[int], object] = lambda _: None,
    remote: bool = False,
) -> Iterator[_T]:
    """Yield what each read yields, in order. Threads begin the next reads meanwhile, as far as they are small.

    A read that yields many rows waits for its turn with the rest of them.

    Args:
        reads: Bytes of a read, and a function that begins it.
        most_bytes: Bytes that may be read ahead. A larger read is not carried out before its turn.
        done: Called with the bytes of each read when everything that it yields was taken.
        remote: Whether reads wait for a network, so that many are in flight at once.
    """
    reads = iter(reads)
    beginning = list(islice(reads, 2))
    within = getattr(_this_thread, "reads", False)
    if len(beginning) == 1 or within:
        # Not worth starting a thread, and a thread that reads must not wait for another.
        for size, read in chain(beginning, reads):
            yield from read()
            done(size)
        return
    at_once = max(2, pa.cpu_count())
    # As far as their bytes fit into memory.
    ahead = IN_FLIGHT if remote else at_once
    waiting: deque[tuple[int, Future[Iterable[_T]] | Callable[[], Iterable[_T]]]] = deque()
    total, held = 0, _HELD_BYTES // (ahead + 2)

    def first() -> Iterator[_T]:
        nonlocal total
        size, read = waiting.popleft()
        if isinstance(read, Future):
            total -= size
            yield from read.result()
        else:
            yield from read()
        done(size)

    try:
        for size, read in chain(beginning, reads):
            small = size <= most_bytes // at_once
            if small:
                waiting.append((size, _threads(ahead).submit(_begun, read, held)))
                total += size
            else:
                waiting.append((size, read))
            while waiting and (len(waiting) > ahead + 1 or total > most_bytes or not small):
                yield from first()
        while waiting:
            yield from first()
    finally:
        begun = [read for _, read in waiting if isinstance(read, Future) and not read.cancel()]
        # After an early end no file is open. One of the threads, which may collect garbage, must not wait for itself.
        if not getattr(_this_thread, "reads", False):
            wait(begun)


def _begun(read: Callable[[], Iterable[_T]], most_bytes: int) -> Iterable[_T]:
    """The results of a read. The first ones, up to a number of bytes, are read into memory now."""
    rest = iter(read())
    found: list[_T] = []
    size = 0
    for each in rest:
        found.append(each)
        size += getattr(each, "nbytes", 0)
        if size >= most_bytes:
            return _released(found, rest)
    return found


def _released(found: list[_T], rest: Iterator[_T]) -> Iterator[_T]:
    """Yield `found`, then `rest`, and drop each batch when it has been yielded."""
    found.reverse()
    while found:
        yield found.pop()
    yield from rest
