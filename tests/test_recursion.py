"""Recursion beyond the stack of one thread: results, errors, context variables, small stacks and signals."""

import contextvars
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from deltaskip.recursion import deep
from tests.each import refuses
from tests.noted import raising

DEPTH = 20_000
_name = contextvars.ContextVar("name", default="")


@deep
def count(n: int) -> int:
    """The number of levels below the first; each has calls of Python and of compiled code between it and the next."""
    return max(map(_next, [n])) if n else 0


def _next(n: int) -> int:
    return 1 + count(n - 1)


class Counter:
    """A method that calls itself."""

    @deep
    def down(self, n: int) -> int:
        return 1 + self.down(n - 1) if n else 0


def stood_at(frames: int, call: Callable[[], Any]) -> Any:
    """The result of a call with that many frames below it."""
    return stood_at(frames - 1, call) if frames else call()


def in_thread(call: Callable[[], Any], stack_bytes: int) -> Any:
    """The result of a call on a thread with a small stack."""
    found: list[Any] = []
    before = threading.stack_size(stack_bytes)
    try:
        thread = threading.Thread(target=lambda: found.append(call()))
        thread.start()
        assert threading.stack_size() == stack_bytes
    finally:
        threading.stack_size(before)
    thread.join()
    return found[0]


def test_any_depth_gives_the_result_and_leaves_the_limit_of_python() -> None:
    limit = sys.getrecursionlimit()
    assert count(DEPTH) == DEPTH
    assert Counter().down(DEPTH) == DEPTH
    assert sys.getrecursionlimit() == limit


def test_a_caller_deep_in_its_own_stack_goes_as_deep() -> None:
    room = sys.getrecursionlimit() - 120
    frame, used = sys._getframe(), 0
    while frame is not None:
        frame, used = frame.f_back, used + 1
    assert stood_at(room - used, lambda: count(DEPTH)) == DEPTH


@pytest.mark.parametrize("kilobytes", [64, 256])
def test_a_small_stack_of_a_thread_is_enough(kilobytes: int) -> None:
    assert in_thread(lambda: count(DEPTH), kilobytes * 1024) == DEPTH


def test_no_thread_is_left() -> None:
    before = set(threading.enumerate())
    count(DEPTH)
    assert not [thread for thread in threading.enumerate() if thread not in before]


def test_an_error_comes_with_the_frames_of_its_own_thread_only() -> None:
    @deep
    def fail(n: int) -> int:
        if not n:
            raise ValueError("the last level")
        return fail(n - 1)

    with pytest.raises(ValueError, match="the last level") as caught:
        fail(DEPTH)
    lines, traceback = 0, caught.value.__traceback__
    while traceback is not None:
        lines, last, traceback = lines + 1, traceback.tb_frame.f_code.co_name, traceback.tb_next
    assert last == "fail"
    assert lines < 1000


def test_an_error_is_caught_and_another_raised_at_any_level() -> None:
    @deep
    def fail(n: int) -> int:
        if not n:
            raise ValueError("the last level")
        try:
            return fail(n - 1)
        except ValueError as error:
            if n % 1000:
                raise
            raise ValueError(f"level {n}") from error

    refuses(ValueError, f"level {DEPTH}", fail, DEPTH)


def test_context_variables_are_those_of_the_caller() -> None:
    @deep
    def names(n: int) -> set[str]:
        return names(n - 1) | {_name.get()} if n else set()

    token = _name.set("caller")
    try:
        assert names(2000) == {"caller"}
    finally:
        _name.reset(token)


@pytest.mark.skipif(threading.current_thread() is not threading.main_thread(), reason="signals reach the main thread")
def test_an_interrupt_ends_the_call_and_its_threads() -> None:
    reached: list[int] = []

    @deep
    def endless(n: int) -> int:
        if n == 5000:
            os.kill(os.getpid(), signal.SIGINT)
        if n == 20_000:
            raise AssertionError("no interrupt ended the call")
        time.sleep(0 if n < 5000 else 0.001)
        reached.append(n)
        return endless(n + 1)

    # Processes that a shell runs in the background ignore interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        refuses(KeyboardInterrupt, None, endless, 0)
    finally:
        signal.signal(signal.SIGINT, before)
    time.sleep(0.5)
    ended = len(reached)
    time.sleep(0.2)
    assert len(reached) == ended


def test_a_process_without_further_threads_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    import _thread

    monkeypatch.setattr(_thread, "start_new_thread", raising(RuntimeError("can't start new thread")))
    refuses(RecursionError, "can't start new thread", count, DEPTH)
