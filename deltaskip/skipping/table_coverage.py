"""The statistics of every file of a snapshot, gathered column by column for `DeltaTable.stats`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.engine import current_collation_version
from deltaskip.errors import SchemaError
from deltaskip.features.clustering import CLUSTERING_DOMAIN, ordered_clustering_paths
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.skipping.add_batches import FileBatch, candidates
from deltaskip.skipping.partition_columns import map_values
from deltaskip.skipping.program import Keep, Program
from deltaskip.skipping.proofs.collated import spellings
from deltaskip.sparkexpr.collations import Collation, Collations
from deltaskip.sparkexpr.types import Resolved, collation_of, display_name, fold_name, leaves, simple_string
from deltaskip.sparkexpr.values.arrow_values import exact_sum, is_true
from deltaskip.stats.collated_bounds import collated_leaf
from deltaskip.stats.coverage import ColumnCoverage, TableCoverage, advise, overlap, value_overlap
from deltaskip.stats.layout import BoundKind, StatField, StatLeaf, stat_field
from deltaskip.stats.logged_stats import LoggedStats
from deltaskip.stats.stats_columns import indexed_columns

_GROUP_BYTES = 256 << 20
_BYTES_PER_FILE = 64
"""Approximate size of the bounds of one column of one file."""


def table_coverage(snapshot: Snapshot, depth: bool = True) -> TableCoverage:
    """Return which statistics the files of a snapshot have, with recommendations.

    Columns are read a few at a time, so that memory does not grow with their number.

    Args:
        snapshot: Snapshot to measure.
        depth: Whether to measure how far the bounds of files overlap. Without it, bounds are not kept in memory and
            there are no recommendations.
    """
    batches = [_LiveFiles(batch) for batch in candidates(snapshot, Program(Keep()))]
    files = sum(batch.count for batch in batches)
    partitions = {fold_name(name) for name in snapshot.partition_columns}
    found: dict[tuple[str, ...], ColumnCoverage] = {}
    columns = leaves(snapshot.schema, snapshot.mapping_mode)
    data = [column for column in columns if fold_name(column.logical[0]) not in partitions]
    for group in _groups(data, max(1, _GROUP_BYTES // (_BYTES_PER_FILE * max(files, 1)))):
        for column, coverage in zip(group, _group_coverage(group, batches, depth), strict=True):
            found[column.physical] = coverage
    rows = sum(batch.rows for batch in batches)
    for column in columns:
        if column.physical not in found:
            found[column.physical] = _partition_coverage(column, batches, files, rows, depth)
    ordered = tuple(found[column.physical] for column in columns)
    return TableCoverage(
        table_root=snapshot.table_root,
        version=snapshot.version,
        files=files,
        rows=rows,
        files_without_count=sum(batch.records.null_count for batch in batches),
        columns=ordered,
        advice=advise(ordered, files, _collected(snapshot), clustering_columns(snapshot)) if depth else (),
    )


def _collected(snapshot: Snapshot) -> frozenset[str]:
    """Names of the columns that writers collect statistics for; none if the table's properties cannot be read."""
    try:
        columns = indexed_columns(
            snapshot.schema,
            partition_columns=snapshot.partition_columns,
            mapping_mode=snapshot.mapping_mode,
            properties=snapshot.properties,
        )
    except SchemaError:
        # Writers refuse such properties too, so the recommendation to declare the columns again is right.
        return frozenset()
    return frozenset(display_name(column.logical) for column in columns)


class _LiveFiles:
    """The files of a batch that are part of the snapshot. Statistics are decoded on each use and never cached."""

    def __init__(self, batch: FileBatch) -> None:
        self._batch = batch
        self._live = batch.live(None)
        self.count = batch.num_rows if self._live is None else len(self._live)
        self.records = self.live(LoggedStats(batch.num_rows, batch.adds).num_records())
        self.rows = exact_sum(self.records)

    def live(self, values: pa.Array) -> pa.Array:
        """Select the values of live files from one value for each row of the batch."""
        return values if self._live is None else values.take(self._live)

    def statistics(self, stats: Sequence[StatLeaf]) -> LoggedStats:
        """Statistics with `stats` decoded, one value for each row of the batch."""
        statistics = LoggedStats(self._batch.num_rows, self._batch.adds)
        statistics.load(stats)
        return statistics

    def partition_values(self, name: str) -> pa.Array:
        """Partition values as text; name: physical name of the column."""
        return self.live(map_values(self._batch.raw(["partition_values"])[0], name))

    def rows_of(self, missing: pa.Array) -> int:
        """Rows of the files that are not `missing`."""
        return self.rows - exact_sum(self.records.filter(missing))


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The leaves of a column's minimum and maximum, and its collation, if it has one."""

    leaves: tuple[StatLeaf, StatLeaf]
    collation: Collation | None

    def ordered(self, values: pa.Array) -> pa.Array:
        """The bounds as values that compare in binary order as the column's values do."""
        return values if self.collation is None else self.collation.sort_keys(values)


def _bound_leaves(field: StatField, column: Resolved) -> _Bounds | None:
    """The statistics that bound a column; None if the column has no bounds, or its collation is not available."""
    declared = collation_of(column)
    if field.kind is None:
        return None
    if declared is None:
        return _Bounds((StatLeaf("minValues", field), StatLeaf("maxValues", field)), None)
    collation = Collations(current_collation_version()).evaluator(declared)
    if collation is None:
        return None
    keys = spellings(collation.id, declared)
    return _Bounds((collated_leaf(field, "min", keys), collated_leaf(field, "max", keys)), collation)


class _Gathered:
    """Counts and bounds of one column so far."""

    def __init__(self, column: Resolved) -> None:
        self.field = stat_field(column)
        self.type = simple_string(column.type, column.field)
        self._bounds = _bound_leaves(self.field, column)
        self.bounded = self._bounds is not None
        self.files = self.with_bounds = self.with_null_count = self.bounds_rows = self.null_count_rows = 0
        self.hiding_nan = 0
        self.mins: list[pa.Array] = []
        self.maxs: list[pa.Array] = []

    def leaves(self) -> list[StatLeaf]:
        """Statistics to decode."""
        return [StatLeaf("nullCount", self.field), *(() if self._bounds is None else self._bounds.leaves)]

    def add(self, files: _LiveFiles, statistics: LoggedStats, depth: bool) -> None:
        """Add one batch; with `depth`, keep its bounds."""
        nulls = files.live(statistics.null_count(self.field))
        self.files += files.count
        self.with_null_count += files.count - nulls.null_count
        self.null_count_rows += files.rows_of(nulls.is_null())
        if self._bounds is None:
            return
        low, high = (files.live(self._bounds.ordered(statistics.leaf(leaf))) for leaf in self._bounds.leaves)
        unbounded = pc.or_(low.is_null(), high.is_null())
        if self.field.kind is BoundKind.DOUBLE:
            covered = files.live(statistics.max_covers_nan(self.field))
            self.hiding_nan += pc.sum(pc.and_not(pc.invert(covered), high.is_null())).as_py() or 0
        if depth:
            bounded = pc.invert(unbounded) if low.null_count or high.null_count else None
            self.mins.append(low if bounded is None else low.filter(bounded))
            self.maxs.append(high if bounded is None else high.filter(bounded))
        lacking = pc.and_not(unbounded, is_true(pc.equal(nulls, files.records)))
        self.with_bounds += files.count - (pc.sum(lacking).as_py() or 0)
        self.bounds_rows += files.rows_of(lacking)

    def coverage(self) -> ColumnCoverage:
        """Return the coverage over all batches, and release their bounds."""
        measured = overlap(self.mins, self.maxs)
        self.mins, self.maxs = [], []
        return ColumnCoverage(
            name=self.field.label,
            type=self.type,
            partition=False,
            files_with_bounds=self.with_bounds if self.bounded else None,
            files_with_null_count=self.with_null_count,
            rows_with_bounds=self.bounds_rows if self.bounded else None,
            rows_with_null_count=self.null_count_rows,
            overlap_depth=None if measured is None else measured[0],
            files_met=None if measured is None else measured[0] + (self.files - self.with_bounds),
            distinct_bounds=None if measured is None else measured[1],
            files_that_may_hide_nan=self.hiding_nan if self.field.kind is BoundKind.DOUBLE else None,
        )


def _groups(columns: Sequence[Resolved], size: int) -> Iterator[Sequence[Resolved]]:
    for start in range(0, len(columns), size):
        yield columns[start : start + size]


def _group_coverage(columns: Sequence[Resolved], batches: Sequence[_LiveFiles], depth: bool) -> list[ColumnCoverage]:
    gathered = [_Gathered(column) for column in columns]
    wanted = [leaf for one in gathered for leaf in one.leaves()]
    for files in batches:
        statistics = files.statistics(wanted)
        for one in gathered:
            one.add(files, statistics, depth)
    return [one.coverage() for one in gathered]


def _partition_coverage(
    column: Resolved, batches: Sequence[_LiveFiles], files: int, rows: int, depth: bool
) -> ColumnCoverage:
    """Partition values are the bounds: every file has them."""
    measured = None
    if depth:
        files_of_value: Counter[str] = Counter()
        for batch in batches:
            values, counts = pc.value_counts(batch.partition_values(column.physical[0]).drop_null()).flatten()
            files_of_value.update(dict(zip(values.to_pylist(), counts.to_pylist(), strict=True)))
        measured = value_overlap(files_of_value)
    return ColumnCoverage(
        name=display_name(column.logical),
        type=simple_string(column.type, column.field),
        partition=True,
        files_with_bounds=files,
        files_with_null_count=files,
        rows_with_bounds=rows,
        rows_with_null_count=rows,
        overlap_depth=None if measured is None else measured[0],
        files_met=None if measured is None else measured[0],
        distinct_bounds=None if measured is None else measured[1],
    )


def clustering_columns(snapshot: Snapshot) -> list[str]:
    """Return the names of the columns that the table is clustered by, from the domain `delta.clustering`."""
    domain = snapshot.domains.get(CLUSTERING_DOMAIN)
    paths = None if domain is None else ordered_clustering_paths(domain.configuration)
    names = {column.physical: column.logical for column in leaves(snapshot.schema, snapshot.mapping_mode)}
    return [display_name(names[path]) for path in paths or () if path in names]
