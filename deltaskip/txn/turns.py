"""Taking turns: operations on a local table that lost against another writer are repeated one at a time.

Of several processes that change the same files only one can commit, and what the others have read and written is lost.
A lock of the log's folder, which the system releases when a process ends, lets them follow each other. It protects
nothing: commits are atomic without it, and where it cannot be had, an operation is repeated as if there were none.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from deltaskip.log import LOG_FOLDER, Snapshot
from deltaskip.storage import LocalStorage, join

__all__ = ["turn"]

_LONGEST_SECONDS = 5.0
_PAUSE_SECONDS = 0.002


@contextmanager
def turn(snapshot: Snapshot) -> Iterator[None]:
    """Return a context that begins when no other process is in one for the same table, or after a few seconds."""
    handle = _locked(snapshot) if isinstance(snapshot.storage, LocalStorage) else None
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _locked(snapshot: Snapshot) -> int | None:
    """An open handle of the log's folder, which is locked if possible; None if it cannot be opened."""
    try:
        import fcntl

        handle = os.open(join(snapshot.root, LOG_FOLDER), os.O_RDONLY | os.O_CLOEXEC)
    except (ImportError, OSError):
        return None
    until = time.monotonic() + _LONGEST_SECONDS
    with suppress(OSError):
        while time.monotonic() < until:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_PAUSE_SECONDS)
    return handle
