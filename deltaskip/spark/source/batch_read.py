"""Batch reads of the data source: files are chosen on the driver, and read by pyarrow in Python workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heapreplace
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from deltaskip.change_feed.scan import ChangeScan
from deltaskip.reading.arrow_rows import row_reads
from deltaskip.reading.read_ahead import Reads
from deltaskip.reading.table_scan import TableScan
from deltaskip.records import dataclass
from deltaskip.spark.source.options import SourceOptions
from deltaskip.spark.source.pushed_filters import predicate_of
from deltaskip.spark.source.session_checks import SessionChecks

__all__ = ["BatchReader", "FilePartition", "FilteringReader", "partitions_of"]

# What opening a file costs beside reading it, in bytes: spark.sql.files.openCostInBytes.
_OPEN_BYTES = 4 << 20


@dataclass
class FilePartition(InputPartition):  # type: ignore[misc]
    """Files that one task reads.

    Attributes:
        reads: Functions that read rows of one file each, or of several small ones.
        checks: What the task checks of the session; None for nothing.
    """

    reads: Sequence[Callable[[], Iterator[pa.RecordBatch]]]
    checks: SessionChecks | None = None

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the files. Raises InvalidArgument as `SessionChecks.check` does."""
        if self.checks is not None:
            self.checks.check()
        for read in self.reads:
            yield from read()


class BatchReader(DataSourceReader):  # type: ignore[misc]
    """Reads the rows of a scan, or of a change data feed.

    Args:
        options: The options.
        scan: What is read.
    """

    def __init__(self, options: SourceOptions, scan: TableScan | ChangeScan) -> None:
        self._options: SourceOptions | None = options
        self._scan: TableScan | ChangeScan | None = scan

    def __getstate__(self) -> dict[str, object]:
        """Nothing of the scan and the options: executors get the files of their partition."""
        return {**self.__dict__, "_scan": None, "_options": None}

    def partitions(self) -> list[FilePartition]:
        """Return the files of each task."""
        scan, options = self._scan, self._options
        assert scan is not None and options is not None
        most = options.partition_bytes
        reads = scan.reads()[1] if isinstance(scan, ChangeScan) else row_reads(scan, most)
        return partitions_of(reads, most, options.session_checks(scan.snapshot))

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition."""
        yield from partition.rows()


class FilteringReader(BatchReader):
    """Reads the rows that match the filters of the query, which Spark passes where its settings say so.

    Args:
        options: The options.
        scan: What is read, as far as the filters do not say.
    """

    def pushFilters(self, filters: Sequence[Any]) -> Iterable[Any]:
        """Read only rows that match the filters that have predicates. Spark applies all of them once more."""
        assert self._options is not None and self._scan is not None
        found = [predicate for predicate in map(predicate_of, filters) if predicate is not None]
        self._scan = self._options.narrowed(self._scan, found)
        return filters


def partitions_of(reads: Reads, most_bytes: int, checks: SessionChecks | None = None) -> list[FilePartition]:
    """Return the files in partitions of about the same number of bytes, at least one.

    Args:
        reads: Bytes of files, and what reads them.
        most_bytes: Bytes of a partition, if there are enough for every core.
        checks: What every task checks of the session.
    """
    pieces = sorted(reads, key=lambda piece: -piece[0])
    total = sum(size + _OPEN_BYTES for size, _ in pieces)
    wanted = min(most_bytes, max(_OPEN_BYTES, total // (os.cpu_count() or 1)))
    count = max(1, min(len(pieces), -(-total // wanted)))
    parts: list[list[Callable[[], Iterator[pa.RecordBatch]]]] = [[] for _ in range(count)]
    loads = [(0, number) for number in range(count)]
    for size, read in pieces:
        load, least = loads[0]
        parts[least].append(read)
        heapreplace(loads, (load + size + _OPEN_BYTES, least))
    return [FilePartition(part, checks) for part in parts]
