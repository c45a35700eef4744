"""Progress of work in this process: bars on the screen, and records of the logger `deltaskip`.

rich draws a bar on standard error for work that takes longer than a second, in terminals and in notebooks with
ipywidgets, but not into files and logs of jobs. One bar is shown at a time. The environment variable
DELTASKIP_PROGRESS=0 turns bars off. In the first second, nothing is imported for a bar and no thread is started.
"""

from __future__ import annotations

import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from deltaskip.fork_safety import new_lock
from deltaskip.printable import printable

if TYPE_CHECKING:
    from rich.progress import Progress as Display
    from rich.progress import TaskID


def _printable(record: logging.LogRecord) -> bool:
    """Escape names in a record, which is logged."""
    if isinstance(record.args, tuple):
        record.args = tuple(printable(each) if isinstance(each, str) else each for each in record.args)
    return True


class _Records(logging.LoggerAdapter[logging.Logger]):
    """A logger of what is done: a handler or filter of the program that fails is told on standard error."""

    def log(self, level: int, msg: object, *args: object, **kwargs: Any) -> None:
        try:
            super().log(level, msg, *args, stacklevel=2, **kwargs)
        except Exception:
            # As logging.Handler.handleError does.
            if logging.raiseExceptions and sys.stderr is not None:
                traceback.print_exc(file=sys.stderr)


LOGGER = _Records(logging.getLogger("deltaskip"))
"""Logs each read in this process and each commit at level INFO, and each plan of a scan at DEBUG."""
LOGGER.logger.addFilter(_printable)

SWITCH = "DELTASKIP_PROGRESS"
"""The environment variable that turns bars off."""

ProgressCallback = Callable[[str, int, int], None]
"""Called with the name of a step, its finished amount and its total."""

_AFTER_SECONDS = 1.0
_showing = new_lock()
_T = TypeVar("_T")


class Progress:
    """Shows the progress of some work, from one second after its start until its end. A context manager.

    Args:
        label: The operation, such as "Reading sales".
        total: The amount of work; None if it is unknown.
        unit: The counted objects, such as "files".
        blocks: Whether the work can go on for seconds without a call of this object. If bars are shown, a timer then
            watches the time.
    """

    def __init__(
        self,
        label: str,
        total: int | None = None,
        unit: Literal["bytes", "files", "rows"] = "bytes",
        *,
        blocks: bool = False,
    ) -> None:
        self._label = printable(label)
        self._total = total
        self._unit = unit
        self._done = 0
        self._from = time.monotonic() + _AFTER_SECONDS
        self._possible: bool | None = None
        self._shown: tuple[Display, TaskID] | None = None
        self._timer = Timer(_AFTER_SECONDS, self._show) if blocks and _has_viewer() else None
        # The timer may fire while the work ends.
        self._lock = new_lock()

    def __enter__(self) -> Self:
        if self._timer is not None:
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._possible = False
            if self._shown is not None:
                self._shown[0].stop()
                self._shown = None
                _showing.release()

    def advance(self, count: int) -> None:
        """Add to the finished bytes, files or rows."""
        self.reach(self._done + count, self._total)

    def reach(self, done: int, total: int | None) -> None:
        """Set the finished amount and the total."""
        self._done, self._total = done, total
        if self._shown is not None:
            display, task = self._shown
            display.update(task, completed=done, total=total, count=self._count())
        elif self._possible is not False and time.monotonic() >= self._from:
            self._show()

    def result(self, future: Future[_T]) -> _T:
        """Return the result of work that runs in a thread, and show the bar if the work takes longer than a second."""
        if self._shown is None and self._possible is not False and not future.done():
            wait([future], max(0.0, self._from - time.monotonic()))
            if not future.done():
                self._show()
        return future.result()

    def _show(self) -> None:
        with self._lock:
            if self._possible is None:
                self._possible = _has_viewer()
            if self._shown is None and self._possible and _showing.acquire(blocking=False):
                self._shown = self._displayed()

    def _displayed(self) -> tuple[Display, TaskID]:
        amount = "bytes" if self._unit == "bytes" else "{task.fields[count]}"
        display = display_of(("{task.description}", "bar", amount, "time", "left"), transient=True)
        # Labels contain names of tables, which may look like markup.
        label = self._label.replace("[", r"\[")
        task = display.add_task(label, total=self._total, completed=self._done, count=self._count())
        display.start()
        return display, task

    def _count(self) -> str:
        total = "" if self._total is None else f" of {self._total:,}"
        return f"{self._done:,}{total} {self._unit}"


def display_of(columns: Iterable[str], transient: bool) -> Display:
    """Return a rich display on standard error.

    Args:
        columns: The columns of each task: `spinner`, `bar`, `bytes`, `count`, `left` and `time` (left, and elapsed),
            or text with the fields of the task, as rich writes them.
        transient: Whether the display disappears at the end.
    """
    # Only a display needs this import.
    from rich import progress
    from rich.console import Console

    kinds = {
        "bar": progress.BarColumn,
        "bytes": progress.DownloadColumn,
        "count": progress.MofNCompleteColumn,
        "left": progress.TimeRemainingColumn,
        "time": progress.TimeElapsedColumn,
        "spinner": progress.SpinnerColumn,
    }
    made = [kinds[each]() if each in kinds else progress.TextColumn(each) for each in columns]
    return progress.Progress(*made, console=Console(stderr=True), transient=transient)


@contextmanager
def other_display() -> Iterator[None]:
    """Within the block, no bar starts, because other output replaces it."""
    mine = _showing.acquire(blocking=False)
    try:
        yield
    finally:
        if mine:
            _showing.release()


def table_name(root: str) -> str:
    """The last segment of a table's location, for labels."""
    return root.rstrip("/").rpartition("/")[2]


def _has_viewer() -> bool:
    """Whether a bar is visible: standard error is a terminal, or this is a notebook with widgets."""
    if os.environ.get(SWITCH) == "0":
        return False
    if sys.stderr is not None and sys.stderr.isatty():
        return os.environ.get("TERM") != "dumb"
    shell = sys.modules.get("IPython")
    found = None if shell is None else shell.get_ipython()
    if type(found).__name__ != "ZMQInteractiveShell":
        return False
    from importlib.util import find_spec

    return find_spec("ipywidgets") is not None
