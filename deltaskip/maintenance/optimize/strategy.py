"""Strategies of OPTIMIZE: compaction, Z-order or clustering, and the refusals of each.

# delta-spark, OptimizeTableCommand; PROTOCOL, Clustered Table
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from deltaskip.errors import InvalidArgument, OptionAdvice, PredicateError, SchemaError, UnsupportedFeature
from deltaskip.features.clustering import CLUSTERING_DOMAIN, ordered_clustering_paths
from deltaskip.features.registry import has_feature
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.clock import at_time
from deltaskip.sparkexpr.nodes import Node, columns_of
from deltaskip.sparkexpr.values.calendar import current_micros
from deltaskip.stats.bloom_filters import bloom_columns
from deltaskip.stats.stats_columns import INDEXED_COLUMNS, STATS_COLUMNS, StatColumn

DEFAULT_TARGET_BYTES = 1 << 30
"""Size of optimized files, as in delta-spark; the table property `delta.targetFileSize` takes precedence."""

LEAST_SMALL_FILES = 50
"""A partition with fewer small files is left alone by auto compaction. # delta-spark, autoCompact.minNumFiles"""
# delta-spark, autoCompact.maxFileSize: files of at most half of it are small.
_AUTO_BYTES = 128 << 20

_UNORDERED = (t.StructType, t.ArrayType, t.MapType, *t.GEOSPATIAL)

CurveName = Literal["range", "zorder", "hilbert"]
"""The order of rows: by one column, or along a space-filling curve through several."""


@dataclass(frozen=True, slots=True)
class OptimizeRequest:
    """The arguments of an OPTIMIZE.

    Attributes:
        where: SQL text of a predicate on partition columns; None for the whole table.
        target_bytes: Size of new files; None for the table's, or the default.
        zorder_by: Names of the columns to Z-order by.
        full: Whether all files of a clustered table are rewritten.
        time_zone: Time zone of the predicate.
        purge: Whether only files with a deletion vector are rewritten, each by itself.
        predicates: The predicate in the table's history; None for `where`.
        bloom: Names of columns: only files that lack a Bloom filter of one of them are rewritten, each by itself.
        auto: Whether only partitions with many small files are compacted, as after a write.
    """

    where: str | None = None
    target_bytes: int | None = None
    zorder_by: tuple[str, ...] = ()
    full: bool = False
    time_zone: str = "UTC"
    purge: bool = False
    predicates: tuple[str, ...] | None = None
    bloom: tuple[str, ...] = ()
    auto: bool = False


@dataclass(frozen=True, slots=True)
class Strategy:
    """The strategy of an OPTIMIZE of one version of a table.

    Attributes:
        kind: "compaction" joins small files, "zorder" orders all rows of each partition, "clustering" orders the rows
            of files that are not clustered yet, "purge" rewrites files with a deletion vector without deleted rows,
            "bloom" files that lack a Bloom filter.
        columns: The columns that order the rows; none for compaction.
        curve: The curve.
        target_bytes: Size of new files.
        full: Whether files that are already clustered are clustered again.
        filters: The columns whose Bloom filters files must have.
        auto: Whether only partitions with many small files are compacted.
    """

    kind: Literal["compaction", "zorder", "clustering", "purge", "bloom"]
    columns: tuple[t.Resolved, ...]
    curve: CurveName
    target_bytes: int
    full: bool = False
    filters: tuple[StatColumn, ...] = ()
    auto: bool = False

    @property
    def operation(self) -> str:
        """Name of the operation in the table's history."""
        return "REORG" if self.kind == "purge" else "OPTIMIZE"

    @property
    def names(self) -> list[str]:
        """Names of the columns, with dots before nested fields."""
        return [t.display_name(column.logical) for column in self.columns or self.filters]


def strategy_of(snapshot: Snapshot, request: OptimizeRequest) -> Strategy:
    """Return how a version of a table is optimized.

    Raises:
        SchemaError: A column does not exist, is a partition column, or has no statistics; or there are Z-order columns,
            and the table is clustered.
        UnsupportedFeature: The table is clustered, and the request has a predicate.
        InvalidArgument: The request is for all files of a clustered table, and the table is not clustered.
    """
    target = request.target_bytes or snapshot.table_properties.target_file_bytes or DEFAULT_TARGET_BYTES
    if request.purge:
        return Strategy("purge", (), "range", target)
    if request.bloom:
        return Strategy("bloom", (), "range", target, filters=_filtered_columns(snapshot, request.bloom))
    if request.auto:
        return Strategy("compaction", (), "range", _AUTO_BYTES, auto=True)
    clustered = has_feature(snapshot.protocol, "clustering")
    if clustered and request.where is not None:
        raise UnsupportedFeature(
            f"OPTIMIZE command for Delta table with clustering doesn't support partition predicates. Please remove the "
            f"predicates: {request.where} (table {snapshot.root})."
        )
    if clustered and request.zorder_by:
        raise SchemaError(
            f"OPTIMIZE command for Delta table with clustering cannot specify ZORDER BY. Please remove ZORDER BY "
            f"({', '.join(request.zorder_by)}), or set other clustering columns (table {snapshot.root})."
        )
    columns = _clustering_columns(snapshot) if clustered else ()
    if columns:
        return Strategy("clustering", columns, curve_through(columns), target, request.full)
    if request.full:
        full = OptionAdvice("full", True)
        raise InvalidArgument(
            f"{full} clusters all files again, but {snapshot.root} has no clustering columns."
        ).advising(full)
    columns = tuple(_zorder_column(snapshot, name) for name in request.zorder_by)
    if columns:
        _check_distinct(snapshot, columns)
        _check_statistics(snapshot, columns)
        return Strategy("zorder", columns, curve_through(columns), target)
    return Strategy("compaction", (), "range", target)


def _filtered_columns(snapshot: Snapshot, names: Sequence[str]) -> tuple[StatColumn, ...]:
    paths = [t.column_path("bloom", name) for name in names]

    def refusal(name: str) -> str:
        return (
            f"{snapshot.root} has no column {name} that can have a Bloom filter: name columns that are no partition "
            f"columns, with integers, dates, timestamps, decimals, strings or binary."
        )

    return bloom_columns(paths, snapshot.schema, snapshot.partition_columns, snapshot.mapping_mode, refusal)


def considered_scan(snapshot: Snapshot, request: OptimizeRequest) -> Scan:
    """Return the scan of the files that are considered.

    Raises:
        PredicateError: The predicate is not valid, or uses other columns than partition columns.
    """
    scan = Scan(snapshot, ReadOptions(_timed(snapshot, request), time_zone=request.time_zone))
    partitions = list(snapshot.partition_columns)
    known = {t.fold_name(name) for name in partitions}
    for path in sorted(columns_of(scan.predicate)):
        if t.fold_name(path[0]) not in known:
            cure = "" if partitions else "; leave where out, since the table has none"
            raise PredicateError(
                f"Predicate references non-partition column '{t.display_name(path)}'. Only the partition columns may "
                f"be referenced: [{', '.join(partitions)}]{cure} (table {snapshot.root})."
            )
    return scan


def _timed(snapshot: Snapshot, request: OptimizeRequest) -> str | Node | None:
    """The predicate with the functions of the present time at one time, so that partition values decide it."""
    try:
        node = None if request.where is None else parse_sql(request.where)
    except PredicateError:
        node = None
    if node is None:
        return request.where
    timed = at_time(node, current_micros(), request.time_zone, snapshot.schema.names)
    return request.where if timed == node else timed


def curve_through(columns: Sequence[t.Resolved]) -> CurveName:
    """Return the curve that orders rows by these columns."""
    return "range" if len(columns) == 1 else "hilbert"


def _clustering_columns(snapshot: Snapshot) -> tuple[t.Resolved, ...]:
    domain = snapshot.domains.get(CLUSTERING_DOMAIN)
    paths = None if domain is None else ordered_clustering_paths(domain.configuration)
    found = {column.physical: column for column in t.leaves(snapshot.schema, snapshot.mapping_mode)}
    missing = next((path for path in paths or () if path not in found), None)
    if missing is not None:
        raise SchemaError(
            f"The clustering column {t.display_name(missing)} of {snapshot.root} does not exist: set the clustering "
            f"columns again, for example with alter_sql('CLUSTER BY (…)')."
        )
    return tuple(found[path] for path in paths or ())


def _zorder_column(snapshot: Snapshot, name: str) -> t.Resolved:
    path = t.column_path("zorder_by", name)
    if t.fold_name(path[0]) in {t.fold_name(each) for each in snapshot.partition_columns}:
        raise SchemaError(
            f"{name} is a partition column. Z-Ordering can only be performed on data columns (table {snapshot.root})."
        )
    try:
        return t.resolve(snapshot.schema, path, snapshot.mapping_mode)
    except PredicateError as error:
        raise SchemaError(
            f"Z-Ordering column {name} does not exist in data schema of {snapshot.root}: {error}"
        ) from error


def _check_distinct(snapshot: Snapshot, columns: Sequence[t.Resolved]) -> None:
    seen: set[tuple[str, ...]] = set()
    for column in columns:
        if column.physical in seen:
            raise SchemaError(f"{snapshot.root} cannot be Z-ordered by {t.display_name(column.logical)} twice.")
        seen.add(column.physical)


def _check_statistics(snapshot: Snapshot, columns: Sequence[t.Resolved]) -> None:
    """Refuse columns without statistics, by which no file could be skipped, and columns without an order.

    # delta-spark, DELTA_ZORDERING_ON_COLUMN_WITHOUT_STATS
    """
    nested = next(
        (column for column in columns if isinstance(column.type, _UNORDERED) or column.type == t.VARIANT), None
    )
    if nested is not None:
        raise SchemaError(
            f"{snapshot.root} cannot be Z-ordered by {t.display_name(nested.logical)}, because its type "
            f"{t.simple_string(nested.type, nested.field)} has no order: choose other columns."
        )
    indexed = snapshot.indexed_columns()
    there = {column.physical for column in indexed}
    without = [t.display_name(column.logical) for column in columns if column.physical not in there]
    if without:
        raise SchemaError(
            f"Z-Ordering on [{', '.join(without)}] will be ineffective, because {snapshot.root} does not collect "
            f"statistics of these columns: list them in {STATS_COLUMNS}, or raise {INDEXED_COLUMNS}."
        )
