"""Values that change while a block runs, where blocks of several threads overlap."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from deltaskip.doors import first_line
from deltaskip.errors import MaintenanceWarning
from deltaskip.warning import warn

# The values of blocks that have not ended, by key: the value before the first block, then one for each block.
_asked: dict[Hashable, list[tuple[object, Any]]] = {}
_lock = Lock()


@contextmanager
def holding(key: Hashable, value: Any, get: Callable[[], Any], put: Callable[[Any], None]) -> Iterator[None]:
    """Put a value within the block, and the former one at its end.

    Blocks may be within each other and overlap in threads: the last one that began and has not ended decides, and the
    value from before the first one returns when none is left.

    Args:
        key: Identifies the value; equal for all blocks that change it.
        value: The value within the block.
        get: Returns the value. It is called only when no other block holds one.
        put: Changes the value. It is called only if the value differs from the one before.
    """
    block = object()
    with _lock:
        held = _asked.get(key) or [(None, get())]
        if held[-1][1] != value:
            put(value)
        _asked[key] = [*held, (block, value)]
    try:
        yield
    finally:
        with _lock:
            held = _asked.pop(key)
            left = [each for each in held if each[0] is not block]
            if len(left) > 1:
                _asked[key] = left
            if left[-1][1] != held[-1][1]:
                _put_back(key, put, left[-1][1])


def _put_back(key: Hashable, put: Callable[[Any], None], value: Any) -> None:
    """An error would hide what the block has done, and leave it undone though nothing of it is wrong."""
    try:
        put(value)
    except Exception as error:
        what = key[-1] if isinstance(key, tuple) else key
        warn(f"The setting {what} of the Spark session could not be put back: {first_line(error)}.", MaintenanceWarning)
