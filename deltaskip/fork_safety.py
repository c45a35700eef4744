"""Locks, threads and lazy attributes of which a forked child gets new ones.

A thread that holds a lock does not exist in a child that another thread forks, as gunicorn, Celery and multiprocessing
do: nothing would ever release the lock there. So locks and cached properties come from this module, and lasting threads
are forgotten with `in_child` (see `test_architecture.py`).
"""

import functools
import os
from collections.abc import Callable
from threading import Lock, RLock
from typing import Any, TypeVar
from weakref import WeakSet

T = TypeVar("T")

_locks: WeakSet[Any] = WeakSet()


def new_lock() -> Lock:
    """Return a lock."""
    return _kept(Lock())


def new_reentrant_lock() -> RLock:
    """Return a lock that its thread may take again."""
    return _kept(RLock())


class cached_property(functools.cached_property[T]):  # noqa: N801 (the name of functools)
    """functools.cached_property. On Python 3.11 it has a lock, which all objects of the class share."""

    def __init__(self, func: Callable[[Any], T]) -> None:
        super().__init__(func)
        if hasattr(self, "lock"):
            _kept(self.lock)


def in_child(renew: Callable[[], object]) -> None:
    """Call a function in each forked child, before anything else runs there."""
    os.register_at_fork(after_in_child=renew)


def _kept(lock: T) -> T:
    _locks.add(lock)
    return lock


def _renew() -> None:
    for lock in _locks:
        # As the standard library does with its own locks.
        lock._at_fork_reinit()


in_child(_renew)
