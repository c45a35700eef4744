"""Metrics of reading a scan in this process."""

from __future__ import annotations

from dataclasses import asdict
from time import perf_counter
from typing import Any

from deltaskip.fork_safety import new_lock
from deltaskip.log import Snapshot
from deltaskip.progress import LOGGER
from deltaskip.records import dataclass
from deltaskip.shown import Shown


@dataclass(frozen=True, slots=True, repr=False)
class ScanMetrics(Shown):
    """Files, row groups and rows that a read of a scan in this process has read and skipped.

    Where Polars reads the files of a LazyFrame itself, all row groups of the files count as read, and rows are 0.

    Attributes:
        files: Number of files that can contain matching rows; with a limit, some of them may not have been read.
        files_skipped: Number of files of the table that were skipped by the log.
        bytes: Size of `files` in bytes.
        row_groups: Number of row groups that were read.
        row_groups_skipped: Number of row groups in opened files that were skipped by their footers.
        rows: Number of rows that were returned.
        planning_seconds: Time until the files were known.
        reading_seconds: Time from then until the last row was taken, including time that the caller spends.
    """

    files: int
    files_skipped: int
    bytes: int
    row_groups: int
    row_groups_skipped: int
    rows: int
    planning_seconds: float
    reading_seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return the metrics as values that `json.dumps` accepts."""
        return asdict(self)

    def answered(self, what: str) -> str:
        """Return a sentence on what was read for an answer from the log. what: The answer."""
        read = (
            "no file was read"
            if not self.files
            else "1 file was read"
            if self.files == 1
            else (f"{self.files:,} files were read")
        )
        return f"{what}: {read} ({self.bytes:,} bytes), the log answers for the others"

    def __str__(self) -> str:
        return (
            f"{self.rows:,} rows of {self.files:,} files ({self.bytes:,} bytes; {self.files_skipped:,} files skipped) "
            f"and {self.row_groups:,} row groups ({self.row_groups_skipped:,} skipped), planned in "
            f"{self.planning_seconds:.3f} s and read in {self.reading_seconds:.3f} s"
        )


class ReadCounts:
    """Row groups that a read has seen so far; several threads may count. The read begins now."""

    def __init__(self) -> None:
        self._begun = self._planned = perf_counter()
        self.row_groups = 0
        self.skipped = 0
        self._lock = new_lock()

    def add(self, row_groups: int, skipped: int) -> None:
        """Count row groups of one file."""
        with self._lock:
            self.row_groups += row_groups
            self.skipped += skipped

    def plan_ends(self) -> None:
        """Note that the files are known now."""
        self._planned = perf_counter()

    def metrics(self, what: str, snapshot: Snapshot, files: int, size: int, rows: int) -> ScanMetrics:
        """Return, and log, the metrics of the read, which ends now.

        Args:
            what: The beginning of the line in the log.
            snapshot: The table.
            files: The number of files.
            size: Their size in bytes.
            rows: The number of rows that were returned.
        """
        others = snapshot.num_files - files
        times = self._planned - self._begun, perf_counter() - self._planned
        found = ScanMetrics(files, others, size, self.row_groups, self.skipped, rows, *times)
        LOGGER.info("%s %s at version %s: %s", what, snapshot.table_root, snapshot.version, found)
        return found
