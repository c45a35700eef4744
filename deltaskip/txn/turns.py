"""Turns: processes that change one local table wait for each other, instead of losing conflicts.

If several processes change the same files, only one can commit, and the reads and writes of the others are lost.
A lock of a folder of the table, which the system releases when a process ends, makes them take turns. It is advisory:
commits are atomic without it, and if it cannot be acquired, an operation continues without it.

There are two kinds of turns. The turn of an operation lasts while the operation reads and writes; an operation waits
for it after it has lost, and from the beginning while its process has lost or waited lately. The turn of a commit lasts
for one attempt of a commit whose actions do not depend on the order.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from types import TracebackType
from typing import Literal

from deltaskip.log import Snapshot
from deltaskip.path_bytes import encoded
from deltaskip.storage import LOG_FOLDER, LocalStorage, join

_LONGEST_SECONDS = 5.0
# A commit waits only for other commits, and an operation that has not lost may continue without its turn.
_SHORT_SECONDS = 0.5
_FIRST_PAUSE_SECONDS = 0.0005
_LONGEST_PAUSE_SECONDS = 0.004
_BUSY_SECONDS = 2.0

_busy_until: dict[str, float] = {}
"""The time until which other processes are expected to take turns, by the folder that is locked."""


class Turn:
    """The turn of one operation or commit, which is taken at most once. The block ends it.

    Args:
        snapshot: A version of the table.
        of: The kind of turn: other operations wait for it, or only other commits.
    """

    def __init__(self, snapshot: Snapshot, of: Literal["operation", "commit"] = "operation") -> None:
        self._folder = join(snapshot.root, LOG_FOLDER) if of == "operation" else snapshot.root
        self._is_local = isinstance(snapshot.storage, LocalStorage)
        self._longest = _LONGEST_SECONDS if of == "operation" else _SHORT_SECONDS
        self._handle: int | None = None

    def __enter__(self) -> Turn:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.end()

    @property
    def is_taken(self) -> bool:
        """Whether all others that take turns wait for this one to end."""
        return self._handle is not None

    def take_if_busy(self) -> None:
        """Wait for the turn for a short time, if the process has lost or waited for such a turn lately."""
        if time.monotonic() < _busy_until.get(self._folder, 0.0):
            self._take(_SHORT_SECONDS)
        else:
            _busy_until.pop(self._folder, None)

    def take(self) -> None:
        """Wait for the turn after a loss, at most for a few seconds."""
        if self._is_local and self._handle is None:
            _busy_until[self._folder] = time.monotonic() + _BUSY_SECONDS
            self._take(self._longest)

    def end(self) -> None:
        """Let others have the turn."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _take(self, longest: float) -> None:
        try:
            import fcntl

            self._handle = os.open(encoded(self._folder), os.O_RDONLY | os.O_CLOEXEC)
        except (ImportError, OSError):
            return
        until, pause = time.monotonic() + longest, _FIRST_PAUSE_SECONDS
        with suppress(OSError):
            while time.monotonic() < until:
                try:
                    fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return
                except BlockingIOError:
                    _busy_until[self._folder] = time.monotonic() + _BUSY_SECONDS
                    time.sleep(pause)
                    pause = min(_LONGEST_PAUSE_SECONDS, pause * 2)
        self.end()
