"""Writers that are killed at each of their steps in turn, in this process."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from deltaskip.storage.kill_points import observe_kill_points


class Killed(BaseException):
    """Ends a write as a kill would: nothing may catch it."""


def killed_at_each_step(begin: Callable[[int], Callable[[], object]], step: int = 1) -> Iterator[tuple[int, list[str]]]:
    """Kill a writer at its first step, another one at its second, and so on, until one gets through.

    Yields the number of each writer and the steps that it has reached; if there are fewer than the number, it is the
    one that got through.

    Args:
        begin: Returns the write of a number, before which nothing is killed.
        step: How many steps further the next one is killed.
    """
    for at in itertools.count(step=step):
        write, reached = begin(at), list[str]()

        def kill(name: str, at: int = at, reached: list[str] = reached) -> None:
            reached.append(name)
            if len(reached) > at:
                raise Killed

        observe_kill_points(kill)
        try:
            write()
        except Killed:
            pass
        finally:
            observe_kill_points(None)
        yield at, reached
        if len(reached) <= at:
            return
