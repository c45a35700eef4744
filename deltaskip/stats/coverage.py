"""Coverage: which files have statistics, how far the bounds of files overlap, and recommendations."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.records import dataclass
from deltaskip.shown import Shown
from deltaskip.sparkexpr.values.arrow_values import numpy_values
from deltaskip.stats.stats_columns import STATS_COLUMNS

_MOST_ADVICE = 3
_Ordered = npt.NDArray[np.number[Any]]


@dataclass(frozen=True, slots=True, repr=False)
class ColumnCoverage(Shown):
    """Statistics of one column in the files of a table.

    Files whose rows are all NULL have no bounds to record and count as having them. The bounds of a partition column
    are its partition values.

    Attributes:
        name: Name of the column; dots separate nested fields.
        type: Data type as SQL text.
        partition: Whether it is a partition column.
        files_with_bounds: Number of files with min and max; None if the type or collation has no bounds that are used.
        files_with_null_count: Number of files with a null count.
        rows_with_bounds: Row count (`numRecords`) of the files with min and max; None as for `files_with_bounds`.
        rows_with_null_count: Row count of the files with a null count.
        overlap_depth: Average number of files whose [min, max] contains a value, over all minima and maxima; None if no
            file has both.
        files_met: Average number of files that an equality filter keeps: `overlap_depth` and the files without bounds.
        distinct_bounds: Number of distinct bounds.
        files_that_may_hide_nan: Number of files whose bounds may not include NaN, as their writer is not known: a
            predicate such as `column > value` reads them. None for types without NaN.
    """

    name: str
    type: str
    partition: bool
    files_with_bounds: int | None
    files_with_null_count: int
    rows_with_bounds: int | None
    rows_with_null_count: int
    overlap_depth: float | None
    files_met: float | None
    distinct_bounds: int | None
    files_that_may_hide_nan: int | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Advice(Shown):
    """A recommendation for one column.

    Attributes:
        action: "cluster" the table by the column, "optimize" a table that is clustered by it, "zorder" a partitioned
            table by it, "recompute" its statistics, or "declare" it in `delta.dataSkippingStatsColumns` and recompute.
        column: Name of the column.
        sentence: The recommendation as text.
        files_saved: Estimated number of additional files that an equality filter on the column would skip; None if
            the log does not contain values of the column.
    """

    action: Literal["cluster", "optimize", "zorder", "recompute", "declare"]
    column: str
    sentence: str
    files_saved: float | None


@dataclass(frozen=True, slots=True, repr=False)
class TableCoverage(Shown):
    """Statistics of one version of a table.

    Attributes:
        table_root: URI of the table.
        version: Version of the table.
        files: Number of active files.
        rows: Row count (`numRecords`) of the files that record it, including deleted rows.
        files_without_count: Number of files without a row count.
        columns: Statistics of each column, in the order of the schema.
        advice: Recommendations, the most effective first.
    """

    table_root: str
    version: int
    files: int
    rows: int
    files_without_count: int
    columns: tuple[ColumnCoverage, ...]
    advice: tuple[Advice, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the coverage as a dictionary for `json.dumps`."""
        return asdict(self)


def overlap(mins: Sequence[pa.Array], maxs: Sequence[pa.Array]) -> tuple[float, int] | None:
    """Average number of intervals that contain a bound, over all bounds, and the number of distinct bounds.

    mins, maxs: bounds in the kernels' layouts, batch by batch, without nulls. None if there are no bounds. Exact: the
    intervals that contain p are those with min <= p less those with max < p, both counted in sorted bounds.
    """
    files = sum(map(len, mins))
    if not files:
        return None
    points = _ordered([*mins, *maxs])
    lows, highs = np.sort(points[:files]), np.sort(points[files:])
    points = np.sort(points)
    begun = np.searchsorted(lows, points, side="right").sum(dtype=np.int64)
    ended = np.searchsorted(highs, points, side="left").sum(dtype=np.int64)
    # NaN sorts last, and does not compare greater than the value before it.
    distinct = 1 + int((points[1:] > points[:-1]).sum()) + int(points[-1] != points[-1] and points[0] == points[0])
    return float(begun - ended) / len(points), distinct


def value_overlap(files_of_value: Mapping[str, int]) -> tuple[float, int] | None:
    """Return the overlap, and the number of distinct bounds, of files with one value each; None without files.

    files_of_value: The number of files with each value.
    """
    counts = np.array(list(files_of_value.values()), np.float64)
    return (float((counts * counts).sum() / counts.sum()), len(counts)) if len(counts) else None


def advise(
    columns: Sequence[ColumnCoverage], files: int, collected: Container[str], clustered_by: Container[str]
) -> tuple[Advice, ...]:
    """Return the few changes that skip the most files for equality filters; changes of unknown effect come last.

    collected: names of the columns for which the table's properties require statistics. clustered_by: names of the
    columns that the table is already clustered by.
    """
    found: list[Advice] = []
    partitioned = any(each.partition for each in columns)
    for column in columns:
        if column.partition or column.files_with_bounds is None or not files:
            continue
        lacking = files - column.files_with_bounds
        # Recomputing gives boolean columns no bounds, as in delta-spark, but other writers' bounds may exist.
        if lacking and column.type != "boolean":
            found.append(_complete(column, lacking, files, column.name in collected))
        clustering = _cluster(column, files, column.name in clustered_by, partitioned)
        if clustering is not None:
            found.append(clustering)
    found.sort(key=lambda advice: -1.0 if advice.files_saved is None else advice.files_saved, reverse=True)
    return tuple(found[:_MOST_ADVICE])


def _complete(column: ColumnCoverage, lacking: int, files: int, collected: bool) -> Advice:
    if lacking < files:
        # Assume that the files without bounds overlap like the others.
        saved = lacking * (1 - (column.overlap_depth or 0) / (files - lacking))
        sentence = f"recompute statistics of {column.name} (missing in {lacking:,} of {files:,} files)"
        return Advice("recompute", column.name, sentence, saved)
    if collected:
        return Advice("recompute", column.name, f"recompute statistics of {column.name} (missing in all files)", None)
    sentence = f"add {column.name} to {STATS_COLUMNS} and recompute its statistics (missing in all files)"
    return Advice("declare", column.name, sentence, None)


def _cluster(column: ColumnCoverage, files: int, is_clustered: bool, partitioned: bool) -> Advice | None:
    if column.overlap_depth is None or not column.distinct_bounds or not column.files_with_bounds:
        return None
    # In a clustered table a value occurs in about one file, unless there are fewer values than files.
    best = max(1.0, column.files_with_bounds / column.distinct_bounds)
    if column.overlap_depth < 2 * best + 1:
        return None
    reads = f"reads {_rounded(column.overlap_depth)} of {files:,} files"
    if partitioned:
        # A partitioned table cannot be clustered, and files of each partition may have the value.
        return Advice("zorder", column.name, f"OPTIMIZE ZORDER BY ({column.name}) (an equality filter {reads})", None)
    reads += f"; about {_rounded(best)} if clustered"
    saved = column.overlap_depth - best
    if is_clustered:
        sentence = f"run OPTIMIZE to cluster by {column.name} (an equality filter {reads})"
        return Advice("optimize", column.name, sentence, saved)
    return Advice("cluster", column.name, f"CLUSTER BY {column.name} (an equality filter {reads})", saved)


def _rounded(files: float) -> str:
    return f"{files:,.1f}" if files < 10 and files != int(files) else f"{files:,.0f}"


def _ordered(bounds: Sequence[pa.Array]) -> _Ordered:
    """The ranks of the bounds. Equal bounds have equal ranks."""
    type_ = bounds[0].type
    if pa.types.is_integer(type_) or pa.types.is_floating(type_):
        numbers: _Ordered = np.concatenate([numpy_values(values) for values in bounds])
        return numbers
    if pa.types.is_decimal(type_):
        unscaled = _unscaled(pa.concat_arrays(list(bounds)))
        if unscaled is not None:
            return unscaled
        values = pa.concat_arrays(list(bounds))
    else:
        values = pa.concat_arrays([pc.cast(array, pa.large_binary()) for array in bounds])
    coded = values.dictionary_encode()
    order = numpy_values(pc.array_sort_indices(coded.dictionary))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    found: _Ordered = ranks[numpy_values(coded.indices)]
    return found


def _unscaled(values: pa.Array) -> _Ordered | None:
    """Unscaled decimals, where all fit 64 bits."""
    halves = np.frombuffer(values.buffers()[1], np.int64)[2 * values.offset :][: 2 * len(values)].reshape(-1, 2)
    low, high = halves[:, 0], halves[:, 1]
    return low if bool((high == low >> 63).all()) else None
