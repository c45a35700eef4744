"""The result of recomputing statistics, apart from the code that commits, so that importing it is cheap."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["Recomputed"]


@dataclass(slots=True)
class Recomputed:
    """Result of recomputing statistics; during the run, what was done so far.

    Attributes:
        files: Number of files whose statistics were committed.
        unchanged: Number of files whose statistics in the log were already equal to the computed ones.
        rows: Row count of the files that were read.
        bytes: Size of the files that were read.
        left_out: Paths, as logged, of files that other writers removed or replaced during the run.
        versions: Versions of the table that were committed, in order.
    """

    files: int = 0
    unchanged: int = 0
    rows: int = 0
    bytes: int = 0
    left_out: list[str] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)
