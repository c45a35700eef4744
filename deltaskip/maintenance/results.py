"""Results of maintenance operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

import pyarrow as pa

from deltaskip.records import dataclass
from deltaskip.txn.result import WriteResult


@dataclass(frozen=True, slots=True, repr=False)
class VacuumResult(WriteResult):
    """The files that a VACUUM deleted, or would delete.

    Attributes:
        dry_run: Whether nothing was deleted.
        paths: The files, by their paths below the table, not encoded: an Arrow string array.
        num_files: Number of files.
        size_in_bytes: Size of the files.
        directories: Directories that were empty, or became empty, by their paths below the table.
        sidecars: Sidecar files of the log that no checkpoint needs.
        left_over: Temporary files of the log that killed writers left behind, by their paths below the table.
        key_parts: Parts of the key index that no query needs, by their paths below the table.
        seconds: Seconds by phase: "find" finds the files, "delete" deletes them.
    """

    dry_run: bool = False
    paths: pa.Array = field(default_factory=lambda: pa.nulls(0, pa.string()))
    num_files: int = 0
    size_in_bytes: int = 0
    directories: tuple[str, ...] = ()
    sidecars: tuple[str, ...] = ()
    left_over: tuple[str, ...] = ()
    key_parts: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def files(self) -> list[str]:
        """The files, by their paths below the table."""
        return self.paths.to_pylist()  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, repr=False)
class PartitioningResult(WriteResult):
    """The result of `DeltaTable.replace_partitioning`; the version is None if the table already has this layout.

    The metrics of a rewrite are numRemovedFiles, numRemovedBytes, numAddedFiles, numAddedBytes and numOutputRows.

    Attributes:
        kind: "rewritten": all rows are in new files, partitioned by the new columns. "clustering": no file was written;
            the table has clustering columns, by which OPTIMIZE orders data.
        partition_columns: Names of the partition columns.
        hidden_columns: The partition columns that scans leave out.
        clustering_columns: Names of the clustering columns.
    """

    kind: Literal["rewritten", "clustering"] = "rewritten"
    partition_columns: tuple[str, ...] = ()
    hidden_columns: tuple[str, ...] = ()
    clustering_columns: tuple[str, ...] = ()
