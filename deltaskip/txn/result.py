"""Results of operations on tables, and costs of changes of rows: files and bytes by their use, and seconds by phase."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from typing import Literal

from deltaskip.records import dataclass
from deltaskip.shown import Shown, counted_files


@dataclass(frozen=True, slots=True, repr=False)
class WriteResult(Shown):
    """The result of an operation on a table.

    Attributes:
        version: The version that was committed; None if nothing was committed, because the application's version had
            been committed before or nothing would have changed.
        operation: Name of the operation in the table's history.
        metrics: Delta's metrics of the operation, such as numOutputRows, by name.
        cost: Files and bytes that a change of rows read, skipped, rewrote and marked, and its seconds by phase; None
            for operations that do not change existing rows.
        time_zone: The time zone in which local times of the rows, such as datetimes without a zone, became instants of
            TIMESTAMP columns, or the reverse; "" if none did. The argument `time_zone` chooses it.
        nothing_written: Why nothing was committed, if the reason is `txn`: the table has this version of the
            application, or a later one. Otherwise "".
    """

    version: int | None
    operation: str
    metrics: Mapping[str, int] = field(default_factory=dict)
    cost: ChangeCost | None = field(default=None, kw_only=True)
    time_zone: str = field(default="", kw_only=True)
    nothing_written: str = field(default="", kw_only=True)


Phase = Literal["plan", "read", "write", "commit"]
Usage = Literal["read", "skipped", "removed", "rewritten", "marked", "added"]


@dataclass(frozen=True, slots=True, repr=False)
class FileCount(Shown):
    """A number of data files and their size.

    Attributes:
        files: Number of files.
        bytes: Size of the files.
    """

    files: int = 0
    bytes: int = 0

    def _brief(self) -> str:
        return counted_files(self.files, self.bytes)

    def __add__(self, other: FileCount) -> FileCount:
        return FileCount(self.files + other.files, self.bytes + other.bytes)

    def __sub__(self, other: FileCount) -> FileCount:
        return FileCount(self.files - other.files, self.bytes - other.bytes)


@dataclass(frozen=True, slots=True, repr=False)
class ChangeCost(Shown):
    """The cost of a change of rows: the files that it read and wrote, and its time.

    Attributes:
        read: Files whose columns were read to find the rows that change.
        skipped: Files of the table that the change neither read nor changed.
        removed: Files that were removed with all their rows, whether they were read or not.
        rewritten: Files that lost some rows, and whose other rows were written to new files.
        marked: Files whose rows were deleted by deletion vectors, so that no row was written again.
        added: New data files.
        seconds: Seconds by phase: "plan" finds the files by the log, "read" finds the rows, "write" writes files and
            deletion vectors, "commit" writes the commit, with retries.
        attempts: Number of attempts, more than one after conflicts with other writers. The seconds are the sum over all
            attempts; the files are those of the last attempt.
    """

    read: FileCount = FileCount()
    skipped: FileCount = FileCount()
    removed: FileCount = FileCount()
    rewritten: FileCount = FileCount()
    marked: FileCount = FileCount()
    added: FileCount = FileCount()
    seconds: Mapping[str, float] = field(default_factory=dict)
    attempts: int = 1


class CostMeter:
    """Counts the cost of one change of rows while it is carried out.

    Attributes:
        seconds: Seconds by phase so far.
        attempts: Number of attempts so far.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.attempts = 1
        self._counts: dict[str, FileCount] = {}

    def count(self, usage: Usage, files: int, size_in_bytes: int) -> None:
        """Count files for one usage."""
        self._counts[usage] = self._counts.get(usage, FileCount()) + FileCount(files, size_in_bytes)

    @contextmanager
    def phase(self, name: Phase) -> Iterator[None]:
        """Add the time of the block to a phase."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start

    def repeat(self) -> CostMeter:
        """Return the meter of the next attempt."""
        again = CostMeter()
        again.seconds, again.attempts = self.seconds, self.attempts + 1
        return again

    def counts(self, usage: Usage) -> bool:
        """Whether files of a usage were counted."""
        return usage in self._counts

    @property
    def cost(self) -> ChangeCost | None:
        """The cost so far; None if no file was counted."""
        if not self._counts:
            return None
        return ChangeCost(**self._counts, seconds=dict(self.seconds), attempts=self.attempts)
