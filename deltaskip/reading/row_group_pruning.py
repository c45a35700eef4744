"""Skipping of row groups of data files, and of pages in them: Parquet footers and page indexes bound the values inside.

Row groups that their bounds do not rule out are checked against Bloom filters, if the file has them.

The program that has skipped files by the log's statistics is evaluated once more, over the statistics of row groups,
and then over those of the pages in each remaining one. `stats.footer` proves these statistics, with two differences:

* Bounds of float and double columns are used for any writer, as bounds of the numbers without NaN, which writers
  omit: a NaN as a bound makes it unknown, and where a NaN would match the row group is read, unless the writer is known
  to order NaN last.
* Deleted rows count, so bounds and null counts may cover more rows than are read. A row group is skipped
  only if no row of it matches, deleted or not.

A row group is read if its footer proves nothing: bounds under a collation, and parts that read partition columns.

The pages of different columns begin at different rows, so the rows between two beginnings are evaluated like a small
row group: the bounds of their pages hold for them, but the null counts only if no value or every value is null.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from deltaskip.errors import StorageError, UnsupportedFeature
from deltaskip.fork_safety import cached_property
from deltaskip.reading.row_groups import RowGroups, is_narrow
from deltaskip.recursion import deep
from deltaskip.skipping import program as p
from deltaskip.skipping.add_batches import candidates
from deltaskip.skipping.evaluate import PartitionEvaluator, keep_mask
from deltaskip.skipping.log_scan import LogScan
from deltaskip.skipping.sought_values import Sought, SoughtValues
from deltaskip.sparkexpr.collations import Collation
from deltaskip.sparkexpr.kernels import Lane, constant_lane
from deltaskip.sparkexpr.types import VARIANT, MappingMode
from deltaskip.sparkexpr.values import of_unscaled
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values
from deltaskip.stats import footer as f
from deltaskip.stats.bloom_filters import Stored, has_filter, may_contain, stored_as
from deltaskip.stats.collated_bounds import CollatedBounds
from deltaskip.stats.facts import ColumnFacts
from deltaskip.stats.layout import BoundKind, Side, StatField
from deltaskip.stats.page_index import page_statistics, pages_of
from deltaskip.stats.stats_columns import StatColumn, every_column

# A file with a single row group of at most this size is read without checking its footer.
# A filter reports one in 20 to 100 missing values as present, so it seldom excludes a longer list.
_MOST_SOUGHT = 256
_SMALL_BYTES = 2 << 20
# parquet.thrift, RowGroup: uncompressed bytes
_PLAIN_BYTES = 2


class RowGroupPruning:
    """Finds the row groups of data files that can contain rows matching a predicate. It can be pickled.

    Args:
        root: The term to evaluate, see `of`.
        columns: The columns that it reads.
        mode: The column mapping mode of the table.
        logged: Whether the log has these statistics for every file, so that the footer of a file with one row group
            proves no more.
    """

    def __init__(self, root: p.Term, columns: Sequence[StatColumn], mode: MappingMode, logged: bool = False) -> None:
        self._root = root
        self._columns = tuple(columns)
        self._mode = mode
        self._logged = logged
        self._planner = f.Planner(self._columns, mode, exact_floats=True)

    def __reduce__(self) -> tuple[Any, ...]:
        return RowGroupPruning, (self._root, self._columns, self._mode, self._logged)

    @cached_property
    def _sought(self) -> SoughtValues | None:
        return SoughtValues.of(self._root, _MOST_SOUGHT)

    @classmethod
    def of(cls, scan: LogScan, files_are_known: bool = True, constants: Sequence[str] = ()) -> RowGroupPruning | None:
        """Return the pruning of a scan; None if footers cannot prove anything about its predicate.

        Args:
            scan: The scan.
            files_are_known: Whether this process has found the files of the scan.
            constants: Columns beside the partition columns that are not in files, or not in all of them.
        """
        root = _by_footers(scan.compiled.program.root)
        program = p.Program(root)
        wanted = {leaf.field.physical for leaf in program.stat_leaves if leaf.field is not None}
        if not wanted:
            return None
        snapshot = scan.snapshot
        others = (*snapshot.partition_columns, *constants)
        every = every_column(snapshot.schema, others, snapshot.mapping_mode)
        columns = [column for column in every if column.physical in wanted]
        if not columns:
            return None
        logged = files_are_known and all(
            not batch.statistics.leaf(leaf).null_count
            for batch in candidates(snapshot, program)
            for leaf in program.stat_leaves
        )
        return cls(root, columns, snapshot.mapping_mode, logged)

    def kept(
        self,
        source: pa.NativeFile,
        metadata: pq.FileMetaData,
        location: str,
        own: Callable[[], f.Footer | None] | None = None,
    ) -> list[int] | None:
        """Return the indexes of the row groups that can contain matching rows, ascending; None for all of them.

        Args:
            source: The file, open for reading.
            metadata: Its footer.
            location: The file, for messages.
            own: Returns the footer as `stats.footer` reads it, or None if it is damaged; if None, it is read.
        """
        groups = metadata.num_row_groups
        if groups == 0 or (groups == 1 and self._is_read(metadata.row_group(0))):
            return None
        try:
            footer = f.read_footer(f.OpenSource(source), location) if own is None else own()
            if footer is None:
                return None
            plans = self._planner.plans(footer)
            statistics = _RowGroups(footer, plans)
            kept = numpy_values(keep_mask(self._root, statistics, statistics.partitions).to_arrow())
            if len(footer.row_groups) != groups:
                return None
            left = np.flatnonzero(kept)
            leaves = [plan.nodes[-1].first_leaf for plan in plans if plan.nodes and plan.nodes[-1].is_leaf]
            filtered = any(has_filter(footer, group, leaf) for leaf in leaves for group in left.tolist())
            if filtered and self._sought is not None:
                read = source, footer, plans, left
                found = _filtered_groups(self._sought, *read, statistics, statistics.partitions)
                kept = kept if found is None else kept & found
        except (StorageError, UnsupportedFeature, *f.DAMAGE):
            # pyarrow reads files whose footer proves nothing.
            return None
        return None if kept.all() else np.flatnonzero(kept).tolist()

    def _is_read(self, only: pq.RowGroupMetaData) -> bool:
        """Whether the only row group of a file is read without checking its footer or Bloom filters."""
        return only.total_byte_size <= _SMALL_BYTES or (self._logged and self._sought is None)

    def rows(self, source: pa.NativeFile, footer: f.Footer, groups: RowGroups, one_in: int) -> npt.NDArray[Any] | None:
        """Return positions in the file, ascending, of the rows in pages that can contain matching rows; None for all.

        Args:
            source: The file, open for reading.
            footer: Its footer.
            groups: The row groups that are left.
            one_in: If more than one in this many rows can match, ranges of rows are read: of each row group from the
                first row that can match to the last.
        """
        found: list[tuple[int, int]] = []
        spans: list[tuple[int, int]] = []
        rows, taken = groups.num_rows, 0
        try:
            for number, start in zip(groups.numbers, groups.starts, strict=True):
                if footer.row_groups[number][_PLAIN_BYTES] <= _SMALL_BYTES:
                    return None
                many = taken * one_in > rows
                own = [(0, footer.group_rows(number))] if many else self._ranges(source, footer, number)
                taken += sum(end - first for first, end in own)
                found += [(start + first, start + end) for first, end in own]
                spans += [(start + own[0][0], start + own[-1][1])] if own else []
        except (UnsupportedFeature, *f.DAMAGE):
            return None
        if taken * one_in > rows:
            found = spans
            if not is_narrow(sum(end - first for first, end in spans), rows):
                return None
        return np.concatenate([np.zeros(0, np.int64), *(np.arange(*each, dtype=np.int64) for each in found)])

    def _ranges(self, source: pa.NativeFile, footer: f.Footer, group: int) -> list[tuple[int, int]]:
        """The rows of a row group, from first to end, that can match."""
        plans = self._planner.plans(footer)
        nodes = [plan.nodes[-1] for plan in plans if plan.nodes]
        bounded = {node.first_leaf for node in nodes if node.is_leaf and not node.is_repeated}
        pages = pages_of(source, footer, group, sorted(bounded))
        known = page_statistics(source, footer, group, pages)
        rows = footer.group_rows(group)
        if not known:
            return [(0, rows)]
        starts = np.unique(np.concatenate([[0, rows], *(pages[leaf].rows for leaf in known)]))
        lengths = np.diff(starts).tolist()
        columns: dict[int, list[dict[int, Any]]] = {}
        for leaf in {node.first_leaf for node in nodes}:
            statistics: list[dict[int, Any]] = [{}] * len(lengths)
            if leaf in known:
                at = np.searchsorted(pages[leaf].rows, starts[:-1], "right") - 1
                whole = np.diff(pages[leaf].rows)[at] == lengths
                each = zip(at.tolist(), whole.tolist(), lengths, strict=True)
                statistics = [_within(known[leaf][page], all_of_it, length) for page, all_of_it, length in each]
            columns[leaf] = [
                {f.META: {f.NUM_VALUES: length, f.STATISTICS: each}}
                for length, each in zip(lengths, statistics, strict=True)
            ]
        parts = [
            {f.COLUMNS: {leaf: column[number] for leaf, column in columns.items()}, f.GROUP_ROWS: length}
            for number, length in enumerate(lengths)
        ]
        statistics_of = _RowGroups(replace(footer, row_groups=parts), plans)
        kept = numpy_values(keep_mask(self._root, statistics_of, statistics_of.partitions).to_arrow())
        edges = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]])))
        return list(zip(starts[edges[::2]].tolist(), starts[edges[1::2]].tolist(), strict=True))


def _within(statistics: dict[int, Any], all_of_it: bool, rows: int) -> dict[int, Any]:
    """The statistics of a page, as far as they hold for some of its rows."""
    if all_of_it or statistics.get(f.NULL_COUNT, 0) == 0:
        return statistics
    if f.MIN not in statistics:
        return {f.NULL_COUNT: rows}
    return {number: value for number, value in statistics.items() if number != f.NULL_COUNT}


@deep
def _by_footers(term: p.Term) -> p.Term:
    """The term without the parts that footers cannot prove, which keep every row group."""
    match term:
        case p.Leaf(_, inner):
            return _by_footers(inner)
        case p.AllOf(children):
            left = [child for child in map(_by_footers, children) if not isinstance(child, p.Keep)]
            return p.AllOf(tuple(left)) if left else p.Keep()
        case p.AnyOf(children):
            found = tuple(map(_by_footers, children))
            return p.Keep() if any(isinstance(child, p.Keep) for child in found) else p.AnyOf(found)
        case p.CollatedBound() | p.CollatedPrefix() | p.PartitionTerm():
            return p.Keep()
        case _ if any(_is_logged_only(leaf.field) for leaf in p.Program(term).stat_leaves):
            return p.Keep()
        case _:
            return term


def _is_logged_only(field: StatField | None) -> bool:
    """Whether footers have no bounds of the values: those of paths in a variant, and of expressions."""
    return field is not None and not field.is_column and field.container == VARIANT


class _RowGroups:
    """Statistics of the row groups of one file (skipping.Statistics)."""

    def __init__(self, footer: f.Footer, plans: Sequence[f.FooterColumn]) -> None:
        self.num_rows = len(footer.row_groups)
        self._footer = footer
        self._plans = {plan.column.physical: plan for plan in plans}
        self._facts: dict[tuple[str, ...], list[ColumnFacts]] = {}

    def bound(self, field: StatField, side: Side) -> pa.Array:
        facts = self._of(field)
        found = [each.extremes.low if side == "min" else each.extremes.high for each in facts]
        if field.inside:
            return arrow_array([box and box.bound(field.inside, side) for box in found], pa.float64())
        match field.kind:
            case BoundKind.DOUBLE:
                if not self._orders_nan(field):
                    found = [None if _has_nan(each) else value for each, value in zip(facts, found, strict=True)]
                return arrow_array(found, pa.float64())
            case BoundKind.TEXT:
                return arrow_array(found, pa.large_binary())
            case BoundKind.DECIMAL:
                precision, scale = field.type.precision, field.type.scale  # type: ignore[attr-defined]
                return arrow_array(
                    [(None if each is None else of_unscaled(int(each), scale)) for each in found],
                    pa.decimal128(precision, scale),
                )
            case _:
                return arrow_array(found, pa.int64())

    def null_count(self, field: StatField) -> pa.Array:
        return arrow_array([each.null_count for each in self._of(field)], pa.int64())

    def num_records(self) -> pa.Array:
        return arrow_array([self._footer.group_rows(group) for group in range(self.num_rows)], pa.int64())

    def max_covers_nan(self, field: StatField) -> pa.BooleanArray:
        return arrow_array([self._orders_nan(field)] * self.num_rows)

    def collated(self, field: StatField, side: Side, keys: tuple[str, ...], collation: Collation) -> CollatedBounds:
        """Always unknown: footers have bounds in binary order only."""
        return CollatedBounds(pa.nulls(self.num_rows, pa.string()), collation)

    def partitions(self, term: p.PartitionTerm) -> Lane:
        """Every row group: a file's partition values are not in its footer."""
        return constant_lane(self.num_rows, True)

    def _of(self, field: StatField) -> list[ColumnFacts]:
        """The facts of a column in each row group."""
        found = self._facts.get(field.physical)
        if found is None:
            plan = self._plans.get(field.physical)
            groups: Sequence[Mapping[int, Any]] = self._footer.row_groups
            found = [ColumnFacts(None) if plan is None else f.footer_facts(plan, [group])[0] for group in groups]
            self._facts[field.physical] = found
        return found

    def _orders_nan(self, field: StatField) -> bool:
        plan = self._plans.get(field.physical)
        return plan is not None and plan.orders_nan


def _has_nan(facts: ColumnFacts) -> bool:
    return any(isinstance(value, float) and math.isnan(value) for value in (facts.extremes.low, facts.extremes.high))


def _filtered_groups(
    sought: SoughtValues,
    source: pa.NativeFile,
    footer: f.Footer,
    plans: Sequence[f.FooterColumn],
    groups: npt.NDArray[np.int64],
    statistics: p.Statistics,
    partitions: PartitionEvaluator,
) -> npt.NDArray[np.bool_] | None:
    """Return the row groups that can contain matching rows; None if the file has no filter that could tell.

    Args:
        sought: The predicate, with the values that it seeks.
        source: The file, open for reading.
        footer: Its footer.
        plans: The columns of the predicate in it.
        groups: Indexes of the row groups that statistics do not rule out.
        statistics: Their statistics, and those of the others.
        partitions: As for `keep_mask`.
    """
    by_column = {plan.column.physical: plan for plan in plans}
    asked: list[tuple[int, int, list[bytes]]] = []
    owner: list[tuple[Sought, int]] = []
    for each in sought.every:
        plan = by_column.get(each.field.physical)
        stored = None if plan is None else _stored(plan, each)
        if plan is None or not plan.nodes or stored is None:
            continue
        leaf = plan.nodes[-1].first_leaf
        values = [data for value in each.listed() if (data := stored(value)) is not None]
        for group in groups.tolist():
            if has_filter(footer, group, leaf):
                asked.append((group, leaf, values))
                owner.append((each, group))
    if not asked:
        return None
    masks = {id(each): np.ones(len(footer.row_groups), np.bool_) for each in sought.every}
    for (each, group), there in zip(owner, may_contain(source, footer, asked).tolist(), strict=True):
        masks[id(each)][group] = there
    return sought.evaluated(masks, statistics, partitions)


def _stored(plan: f.FooterColumn, sought: Sought) -> Stored | None:
    """The function that converts values to the stored form; None if the file may store them differently."""
    if not plan.nodes or not plan.nodes[-1].is_leaf or any(node.is_repeated for node in plan.nodes):
        return None
    if plan.not_before is not None and any(int(value) < plan.not_before for value in sought.listed()):
        return None
    return stored_as(plan.nodes[-1], plan.column.type)
