"""Batch reads of the data source: files are chosen on the driver, and read by pyarrow in Python workers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from heapq import heapreplace
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from deltaskip.change_feed.change_scan import ChangeScan
from deltaskip.errors import DeltaSkipError
from deltaskip.reading.arrow_rows import row_reads
from deltaskip.reading.read_ahead import Reads
from deltaskip.reading.table_scan import TableScan
from deltaskip.records import dataclass
from deltaskip.recursion import deep
from deltaskip.spark.columns.column_parts import function
from deltaskip.spark.source.options import SourceOptions
from deltaskip.spark.source.session_checks import SessionChecks
from deltaskip.spark.source.workers import SentToWorkers
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr import to_node
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.types import TIMESTAMP_NTZ

# The cost of opening a file, in bytes that could be read meanwhile: spark.sql.files.openCostInBytes.
_OPEN_BYTES = 4 << 20


_EPOCH = datetime(1970, 1, 1)
_FUNCTIONS = {
    "EqualTo": "=",
    "EqualNullSafe": "<=>",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "StringStartsWith": "startswith",
    "StringEndsWith": "endswith",
    "StringContains": "contains",
}


# Filters of a query, in Spark 4.1 and newer: Spark passes conjuncts that compare one column with a constant. It passes
# no other conjuncts, and of the comparisons of collated strings only IS NOT NULL. It calls `pushFilters` if
# `spark.sql.python.filterPushdown.enabled` is true, and refuses readers with this method if the setting is false.
# Spark 4.1, pyspark.sql.datasource: Filter, DataSourceReader.pushFilters
@deep
def predicate_of(pushed: Any) -> Node | None:
    """Return the predicate that holds for the same rows as a filter; None if no predicate does.

    Args:
        pushed: An object of one of PySpark's classes of filters, which PySpark 4.0 does not have.
    """
    kind = type(pushed).__name__
    if kind == "Not":
        child = predicate_of(pushed.child)
        return None if child is None else n.Not(child)
    column = n.Column(tuple(pushed.attribute))
    try:
        match kind:
            case "IsNull":
                return n.IsNull(column)
            case "IsNotNull":
                return n.Not(n.IsNull(column))
            case "In":
                return n.In(column, tuple(map(_literal, pushed.value)))
            case _ if kind in _FUNCTIONS:
                return function(_FUNCTIONS[kind], (column, _literal(pushed.value)))
    except (TypeError, DeltaSkipError):
        # A constant of a type that predicates do not have, such as an array.
        return None
    return None


def _literal(value: object) -> Node:
    """The literal of a constant. A datetime without a time zone is a TIMESTAMP_NTZ, whatever the session's zone."""
    if isinstance(value, datetime) and value.tzinfo is None:
        return n.Literal((value - _EPOCH) // timedelta(microseconds=1), TIMESTAMP_NTZ)
    return to_node(value)


@dataclass
class FilePartition(InputPartition):  # type: ignore[misc]
    """Files that one task reads.

    Attributes:
        reads: Functions that read rows of one file each, or of several small ones.
        checks: The settings of the session that the task checks; None for nothing.
    """

    reads: Sequence[Callable[[], Iterator[pa.RecordBatch]]]
    checks: SessionChecks | None = None

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the files. Raises InvalidArgument as `SessionChecks.check` does."""
        if self.checks is not None:
            self.checks.check()
        for read in self.reads:
            yield from read()


class BatchReader(SentToWorkers, DataSourceReader):  # type: ignore[misc]
    """Reads the rows of a scan, or of a change data feed.

    Args:
        options: The options.
        scan: The rows, or the changes.
    """

    def __init__(self, options: SourceOptions, scan: TableScan | ChangeScan) -> None:
        self._options: SourceOptions | None = options
        self._scan: TableScan | ChangeScan | None = scan

    def __getstate__(self) -> dict[str, object]:
        """Exclude the scan and the options: executors get the files of their partition."""
        return {**self.__dict__, "_scan": None, "_options": None}

    def partitions(self) -> list[FilePartition]:
        """Return the files of each task."""
        scan, options = self._scan, self._options
        assert scan is not None and options is not None
        most = options.partition_bytes
        reads = scan.reads() if isinstance(scan, ChangeScan) else row_reads(scan, most)
        return partitions_of(reads, most, options.session_checks(scan.snapshot))

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition."""
        yield from partition.rows()


class FilteringReader(BatchReader):
    """Reads the rows that match the filters of the query. Spark passes filters if its settings allow it.

    Args:
        options: The options.
        scan: The rows to read, apart from the filters.
    """

    def pushFilters(self, filters: Sequence[Any]) -> Iterable[Any]:
        """Read only rows that match the filters with a predicate. Spark applies all filters again."""
        assert self._options is not None and self._scan is not None
        found = [predicate for predicate in map(predicate_of, filters) if predicate is not None]
        self._scan = self._options.narrowed(self._scan, found)
        return filters


def partitions_of(reads: Reads, most_bytes: int, checks: SessionChecks | None = None) -> list[FilePartition]:
    """Return the files in partitions of about the same number of bytes, at least one.

    Args:
        reads: Bytes of files, and the functions that read them.
        most_bytes: Upper limit for the bytes of a partition; smaller partitions are used to occupy every core.
        checks: The settings of the session that every task checks.
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
