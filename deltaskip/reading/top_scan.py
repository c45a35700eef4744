"""A scan of the first rows in an order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, ClassVar, NoReturn, Self

import pyarrow as pa

from deltaskip.doors import door
from deltaskip.errors import DeltaSkipError, InvalidArgument
from deltaskip.fork_safety import cached_property
from deltaskip.log import same_table
from deltaskip.log.loading import of_one_table
from deltaskip.progress import LOGGER, Progress, table_name
from deltaskip.reading.arrow_rows import READ_COLUMNS, arrow_schema_of, batches_of
from deltaskip.reading.metrics import ReadCounts, ScanMetrics
from deltaskip.reading.selected_columns import nested_value
from deltaskip.reading.sort_keys import SortKey, first_rows
from deltaskip.reading.table_scan import TableScan
from deltaskip.skipping.row_order import OrderTerm, bound_terms, given_terms
from deltaskip.skipping.top_files import certain_threshold, ordered_files, parts_of
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.meaning import SessionMeaning
from deltaskip.sparkexpr.values.arrow_values import domain_values, exact_sum, one_chunk

if TYPE_CHECKING:
    from deltaskip.skipping.explain.report import Explain

_LEAST_HELD = 1 << 14
"""Rows that are held before those that are not among the first are dropped."""


@door
@of_one_table
class TopScan(TableScan):
    """A scan of the first rows of another scan in an order, made by `TableScan.top`.

    Its rows come in that order. `files` returns the files that the log does not rule out, and the rows that are read in
    this process rule out more of them.

    Args:
        rows: The scan of all rows.
        number: How many rows to return.
        by: The order, as `TableScan.top` takes it.
    """

    _planned_from: ClassVar[tuple[str, ...]] = (*TableScan._planned_from, "_rows", "_by", "order", "_terms")

    # The attributes are those of the scan of all rows.
    def __init__(self, rows: TableScan, number: int, by: object) -> None:
        vars(self).update(vars(rows))
        self._rows = rows
        self._by = by if isinstance(by, str) else tuple(by) if isinstance(by, list) else by
        try:
            self.order = given_terms(rows, self._by)
            self._terms: tuple[OrderTerm, ...] = bound_terms(rows, self.order)
        except DeltaSkipError as error:
            raise type(error)(f"{error} {self._at_version()}") from error
        self.limit = number
        if not isinstance(self._by, str):
            # A Column of PySpark belongs to its session.
            self._by = self.order

    def _given(self) -> dict[str, object]:
        given = super()._given()
        number = given.pop("limit")
        return {**given, "top": number, "by": ", ".join(map(str, self.order))}

    @cached_property
    def _pruned(self) -> TableScan:
        """The scan of the rows that the log does not rule out, in any order."""
        return _with(self._rows, self._certain)

    @cached_property
    def _certain(self) -> n.Node | None:
        """The condition of these rows; None for every row."""
        return certain_threshold(self._rows.compiled, self._terms[0], self.limit or 0)

    def files(self, stats: bool = False, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the files that can contain one of the first rows, as `Scan.files` does."""
        return self._pruned.files(stats, columns)

    def file_batches(self, stats: bool = False, columns: Sequence[str] | None = None) -> pa.RecordBatchReader:
        """Return a reader of the files of `files`, see `LogScan.file_batches`."""
        return self._pruned.file_batches(stats, columns)

    def paths(self) -> list[str]:
        """Return the paths of `files`, see `Scan.paths`."""
        return self._pruned.paths()

    def partitions(self) -> pa.Table:
        """Return the partitions of `files`, see `LogScan.partitions`."""
        return self._pruned.partitions()

    def explain(self) -> Explain:
        """Return how many files each part of the predicate skips.

        The condition that the log proves for the first rows is one part of it.
        """
        return self._pruned.explain()

    def estimated_rows(self) -> int:
        """Return the estimated number of rows, at most the number of the first rows."""
        return min(self._rows.estimated_rows(), self.limit or 0)

    def negated(self) -> NoReturn:
        """Raise InvalidArgument: the other rows are not those that a predicate does not match."""
        raise InvalidArgument(f"The rows behind the first {self.limit:,} are not a scan {self._at_version()}.")

    def replanned(self, meaning: SessionMeaning, collation_version: str) -> Self:
        """See `LogScan.replanned`. The order is understood as the session does, too."""
        rows = self._rows.replanned(meaning, collation_version)
        return self if rows is self._rows else type(self)(rows, self.limit or 0, self._by)

    def at_one_time(self) -> Self:
        """See `LogScan.at_one_time`."""
        rows = self._rows.at_one_time()
        return self if rows is self._rows else type(self)(rows, self.limit or 0, self._by)

    def count(self, read: bool = True) -> int:
        """Return the number of rows: of all matching ones, at most the number of the first. See `TableScan.count`."""
        return min(self._rows.count(read), self.limit or 0)

    def _narrowed(self, names: Sequence[str], predicate: n.Node | None, limit: int | None = None) -> Self:
        assert predicate is None, "a filter applies to the first rows"
        number = self.limit or 0
        return type(self)(self._rows._narrowed(names, None), number if limit is None else min(number, limit), self._by)

    def _batches(self, finished: Callable[[ScanMetrics], None] | None = None) -> Iterator[pa.RecordBatch]:
        return _top_batches(self, finished or self._finished)


class _FirstRows:
    """The first rows among those that were added.

    Args:
        keys: The terms of the order.
        count: How many rows are wanted.
        schema: The schema of the rows.
    """

    def __init__(self, keys: Sequence[SortKey], count: int, schema: pa.Schema) -> None:
        self._keys = keys
        self._count = count
        self._names = [f"key {number}" for number in range(len(keys))]
        self._schema = schema
        self._held: list[pa.Table] = []
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows."""
        values = [key.values(batch) for key in self._keys]
        keys = [key.keys(each) for key, each in zip(self._keys, values, strict=True)]
        names = [*batch.schema.names, *self._names, "value"]
        self._held.append(pa.table([*batch.columns, *keys, values[0]], names))
        self._rows += batch.num_rows
        if self._rows > 2 * max(self._count, _LEAST_HELD):
            self._shrink()

    def _shrink(self) -> pa.Table | None:
        """Drop the rows that are not among the first, and return the others in their order."""
        if not self._held:
            return None
        table = pa.concat_tables(self._held).combine_chunks()
        found = first_rows(self._keys, [one_chunk(table[name]) for name in self._names], self._count)
        self._held = [table.take(found)]
        self._rows = len(found)
        return self._held[0]

    def last(self) -> pa.Array | None:
        """Return the value of the first term in the last wanted row, as an array; None if there are fewer rows."""
        table = self._shrink()
        return None if table is None or len(table) < self._count else one_chunk(table["value"].slice(len(table) - 1))

    def table(self) -> pa.Table:
        """Return the first rows in their order."""
        table = self._shrink()
        if table is None:
            return self._schema.empty_table()
        return table.select(self._schema.names)


@door
def _top_batches(scan: TopScan, finished: Callable[[ScanMetrics], None]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of the scan in their order."""
    number = scan.limit or 0
    if not number:
        return
    begun, counts = time.perf_counter(), ReadCounts()
    snapshot, rows = scan.snapshot, _of_columns(scan)
    keys = [SortKey.of(rows, term) for term in scan._terms]
    left = ordered_files(scan._pruned.compiled, scan._terms[0], READ_COLUMNS)
    planned = time.perf_counter()
    found = _FirstRows(keys, number, arrow_schema_of(rows))
    read, size, current = 0, 0, _with(rows, scan._certain)
    with (
        same_table(snapshot),
        Progress(f"Reading {table_name(snapshot.table_root)}", exact_sum(left.files["size"])) as bar,
    ):
        for count in parts_of(left, number):
            files, left = left.split(count)
            read, size = read + len(files), size + exact_sum(files["size"])
            for batch in batches_of(current, files, counts, bar.advance):
                if batch.num_rows:
                    found.add(batch)
            last = found.last() if len(left) else None
            threshold = _threshold(scan._terms, last)
            if threshold is not None:
                current = _with(rows, threshold)
                left = left.kept_by(current.compiled)
            if not len(left):
                break
    table = found.table()
    times = planned - begun, time.perf_counter() - planned
    metrics = ScanMetrics(read, snapshot.num_files - read, size, counts.row_groups, counts.skipped, len(table), *times)
    LOGGER.info("Read the first rows of %s at version %s: %s", snapshot.table_root, snapshot.version, metrics)
    finished(metrics)
    yield from _selected(scan, table)


def _of_columns(scan: TopScan) -> TableScan:
    """The scan of all rows with the top-level columns that are returned, and those of the order."""
    rows = copy(scan._rows.at_one_time())
    names = [path[0] for path in rows.paths_by_name.values()]
    for term in scan._terms:
        names += sorted(n.top_level_columns(term.node))
    rows._paths = None
    rows.columns = rows._named = tuple(dict.fromkeys(names))
    return rows


def _with(rows: TableScan, condition: n.Node | None) -> TableScan:
    """The scan of the rows that also satisfy a condition."""
    return rows if condition is None else rows._narrowed(list(rows.paths_by_name), condition)


def _threshold(terms: Sequence[OrderTerm], last: pa.Array | None) -> n.Node | None:
    """The condition of the rows that can be among the first, if `last` has the last value; None for every row."""
    if last is None or not terms[0].prunes:
        return None
    [value] = domain_values(last)
    return terms[0].not_behind(value, strict=len(terms) == 1)


def _selected(scan: TopScan, table: pa.Table) -> Iterator[pa.RecordBatch]:
    schema = arrow_schema_of(scan)
    paths = scan.paths_by_name.values()
    for batch in table.to_batches():
        arrays = [nested_value(batch.column(path[0]), path[1:]) for path in paths]
        if arrays:
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        else:
            yield pa.RecordBatch.from_struct_array(pa.StructArray.from_buffers(pa.struct([]), batch.num_rows, [None]))
