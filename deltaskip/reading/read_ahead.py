"""Reading several files at once while their rows are used in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain, islice
from typing import TypeVar

import pyarrow as pa

__all__ = ["Reads", "read_ahead"]

Reads = Iterator[tuple[int, Callable[[], Iterator[pa.RecordBatch]]]]
"""Bytes of files, and functions that read rows of them."""

_T = TypeVar("_T")
# Reads over a network that wait at once, as far as their bytes fit into memory.
_IN_FLIGHT = 32


def read_ahead(
    reads: Iterable[tuple[int, Callable[[], Iterable[_T]]]],
    most_bytes: int,
    done: Callable[[int], object] = lambda _: None,
    remote: bool = False,
) -> Iterator[_T]:
    """Yield what each read yields, in order. Threads carry out the next reads meanwhile, as far as they are small.

    Args:
        reads: Bytes of a read, and a function that begins it.
        most_bytes: Bytes that may be read ahead. A larger read is not carried out before its turn.
        done: Gets the bytes of each read when all that it yields was taken.
        remote: Whether reads wait for a network, so that many are in flight at once.
    """
    reads = iter(reads)
    beginning = list(islice(reads, 2))
    if len(beginning) == 1:
        # A thread would only take time to start.
        [(size, read)] = beginning
        yield from read()
        done(size)
        return
    at_once = max(2, pa.cpu_count())
    ahead = _IN_FLIGHT if remote else at_once
    pool: ThreadPoolExecutor | None = None
    waiting: deque[tuple[int, Future[list[_T]] | Callable[[], Iterable[_T]]]] = deque()
    total = 0

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
                pool = pool or ThreadPoolExecutor(ahead, "deltaskip")
                waiting.append((size, pool.submit(_listed, read)))
                total += size
            else:
                waiting.append((size, read))
            while waiting and (len(waiting) > ahead + 1 or total > most_bytes or not small):
                yield from first()
        while waiting:
            yield from first()
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def _listed(read: Callable[[], Iterable[_T]]) -> list[_T]:
    return list(read())
