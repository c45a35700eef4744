"""The plan and the result of recomputing statistics; their import does not load the code that commits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any

from deltaskip.records import dataclass
from deltaskip.shown import Shown


@dataclass(frozen=True, slots=True, repr=False)
class ColumnPlan(Shown):
    """The changes of one column by a recomputation of statistics.

    Attributes:
        lacking: Number of files to read that lack some statistic of the column. As long as a file lacks the bounds,
            every predicate on the column keeps it.
        files_met: Average number of files of the table that an equality predicate keeps now, as in `ColumnCoverage`.
            None if the column has no bounds, no file shows how its values are distributed, or overlap is not measured.
        files_met_then: The same afterwards, if the files without bounds overlap like the others.
    """

    lacking: int
    files_met: float | None
    files_met_then: float | None


@dataclass(frozen=True, slots=True, repr=False)
class RecomputePlan(Shown):
    """The expected result of a recomputation of statistics at this version of the table.

    Attributes:
        version: Version of the table.
        files: Number of files to read.
        bytes: Total size of the files to read.
        done: Number of files that are skipped because an interrupted run already finished them.
        wide: Number of files to read whose bounds are wide because rows were deleted, and would become tight.
        columns: The columns whose statistics would be computed, by name.
        collations: Versioned identifiers of the collated bounds that would be written.
        not_indexed: Number of columns that the table's properties leave out of the statistics, as in `Recomputed`.
    """

    version: int
    files: int
    bytes: int
    done: int
    wide: int
    columns: Mapping[str, ColumnPlan]
    collations: tuple[str, ...]
    not_indexed: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as values that `json.dumps` accepts."""
        return asdict(self)


@dataclass(frozen=True, slots=True, repr=False)
class IndexedKeys(Shown):
    """What was done for a key index.

    Attributes:
        columns: The columns with an index.
        files: Data files whose keys were read, summed over the columns.
        keys: Keys that were written.
        bytes: Bytes that were written.
        parts: Paths of the new parts, below the table.
        removed: Paths of the parts that were deleted.
        left_out: URIs of data files that this process could not read; queries keep them.
        seconds: The time it took.
    """

    columns: tuple[str, ...] = ()
    files: int = 0
    keys: int = 0
    bytes: int = 0
    parts: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(slots=True, repr=False)
class Recomputed(Shown):
    """Result of recomputing statistics; during the run, the progress so far.

    Attributes:
        files: Number of files whose statistics were committed.
        unchanged: Number of files whose statistics in the log were already equal to the computed ones. Files whose tags
            did not contain the provenance of their statistics were committed with it.
        rows: Row count of the files that were read.
        bytes: Size of the files that were read.
        left_out: Paths, as logged, of files that other writers removed or replaced during the run.
        versions: Versions of the table that were committed, in order.
        not_indexed: Number of columns without statistics because `delta.dataSkippingStatsColumns` or
            `delta.dataSkippingNumIndexedCols` of the table leaves them out; 0 if `columns` names the columns.
        index: What was done for the key index, if that was asked for.
    """

    files: int = 0
    unchanged: int = 0
    rows: int = 0
    bytes: int = 0
    left_out: list[str] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)
    not_indexed: int = 0
    index: IndexedKeys | None = None
