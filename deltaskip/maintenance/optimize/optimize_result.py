"""The result of an OPTIMIZE, committed or expected, in Delta's metrics and more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, field
from typing import TYPE_CHECKING, Any, Literal

from deltaskip.records import dataclass
from deltaskip.shown import Shown, counted_files

if TYPE_CHECKING:
    from deltaskip.actions import AddFile
    from deltaskip.dml.files_to_change import DataFiles


@dataclass(frozen=True, slots=True, repr=False)
class FileSizes(Shown):
    """Number and sizes of files.

    Attributes:
        files: Number of files.
        bytes: Their size.
        least: Size of the smallest; None without files.
        greatest: Size of the largest; None without files.
    """

    files: int = 0
    bytes: int = 0
    least: int | None = None
    greatest: int | None = None

    def _brief(self) -> str:
        return counted_files(self.files, self.bytes)

    @property
    def average(self) -> float:
        """Average size; 0 without files."""
        return self.bytes / self.files if self.files else 0.0

    def and_files(self, sizes: Iterable[int]) -> FileSizes:
        """Return the sizes of these files and of others."""
        more = list(sizes)
        if not more:
            return self
        least = min(more) if self.least is None else min(self.least, *more)
        greatest = max(more) if self.greatest is None else max(self.greatest, *more)
        return FileSizes(self.files + len(more), self.bytes + sum(more), least, greatest)


@dataclass(frozen=True, slots=True, repr=False)
class OptimizeResult(Shown):
    """The result of an OPTIMIZE, committed or expected.

    Attributes:
        version: The last version that was committed; None if nothing was committed.
        versions: All versions that were committed.
        operation: Name of the operation in the table's history.
        metrics: Delta's metrics of the operation, such as numRemovedFiles, over all commits.
        kind: "compaction", "zorder" or "clustering"; "purge" where deletion vectors are dropped, "bloom"
            where Bloom filters are added.
        columns: Names of the columns that order the rows.
        curve: The curve: "range", "zorder" or "hilbert"; None for compaction.
        added: Sizes of the new files; for a dry run the expected number and size.
        removed: Sizes of the files that they replace.
        partitions: Number of partitions with new files.
        bins: Number of groups of files that were rewritten together.
        considered: Number of files of the table, or of the partitions that `where` selects.
        considered_bytes: Their size.
        vectors_removed: Number of deletion vectors that are no longer needed.
        deleted_rows: Number of rows that they deleted.
        left_out: Number of files that were not rewritten, because other writers changed them in every attempt.
        clustered_before: Number and size of files that were clustered by the same columns, and the number of their
            cubes.
        started_ms: When it began, in milliseconds since the epoch.
        ended_ms: When it ended.
        dry_run: Whether nothing was written.
        nothing_written: As in WriteResult.
    """

    version: int | None
    versions: tuple[int, ...]
    metrics: Mapping[str, int]
    kind: Literal["compaction", "zorder", "clustering", "purge", "bloom"]
    columns: tuple[str, ...]
    curve: str | None
    added: FileSizes
    removed: FileSizes
    partitions: int
    bins: int
    considered: int
    considered_bytes: int
    vectors_removed: int = 0
    deleted_rows: int = 0
    left_out: int = 0
    clustered_before: tuple[int, int, int] = (0, 0, 0)
    started_ms: int = 0
    ended_ms: int = 0
    dry_run: bool = False
    operation: str = field(default="OPTIMIZE")
    nothing_written: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the result as a dictionary for `json.dumps`."""
        return asdict(self)


def commit_metrics(added: Sequence[AddFile], removed: Sequence[DataFiles]) -> dict[str, int]:
    """Return Delta's metrics of a commit.

    # delta-spark, OptimizeExecutor.createMetrics
    """
    sizes = sorted(add.size for add in added) or [0]
    found = {
        "numAddedFiles": len(added),
        "numAddedBytes": sum(add.size for add in added),
        "numRemovedFiles": sum(map(len, removed)),
        "numRemovedBytes": sum(each.size_in_bytes for each in removed),
        "numDeletionVectorsRemoved": sum(each.num_vectors for each in removed),
        "minFileSize": sizes[0],
        "maxFileSize": sizes[-1],
    }
    for percent in (25, 50, 75):
        found[f"p{percent}FileSize"] = sizes[len(sizes) * percent // 100]
    return found
