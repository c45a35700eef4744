"""Reads that begin before their turn: the threads are those of the process."""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from deltaskip.reading.read_ahead import read_ahead


def numbers(count: int, read: Callable[[int], Iterator[int]]) -> Iterator[int]:
    return read_ahead(((1, partial(read, number)) for number in range(count)), 1_000)


def one(number: int) -> Iterator[int]:
    yield number


def test_reads_within_reads_do_not_wait_for_their_own_thread() -> None:
    def inner(number: int) -> Iterator[int]:
        yield from (10 * number + each for each in numbers(5, one))

    found: list[int] = []
    thread = threading.Thread(target=lambda: found.extend(numbers(20, inner)), daemon=True)
    thread.start()
    thread.join(60)
    assert found == [10 * number + each for number in range(20) for each in range(5)]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    assert list(numbers(8, one)) == list(range(8))
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(list_of, (8,)).get(60) == list(range(8))


def list_of(count: int) -> list[int]:
    return list(numbers(count, one))


def test_what_was_begun_has_ended_when_the_rows_are_closed_early() -> None:
    begun, ended = [], []

    def slow(number: int) -> Iterator[int]:
        begun.append(number)
        threading.Event().wait(0.05)
        ended.append(number)
        yield number

    rows = numbers(50, slow)
    assert next(rows) == 0
    rows.close()  # type: ignore[attr-defined]
    assert sorted(begun) == sorted(ended) and len(begun) < 50


def test_a_read_that_fails_in_its_thread_raises_in_its_turn() -> None:
    def failing(number: int) -> Iterator[int]:
        if number == 3:
            raise ValueError("three")
        yield number

    found: list[int] = []
    with pytest.raises(ValueError, match="three"):
        found.extend(numbers(8, failing))
    rows = numbers(8, failing)
    assert [next(rows) for _ in range(3)] == [0, 1, 2]
