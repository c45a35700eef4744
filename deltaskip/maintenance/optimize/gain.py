"""The gain of an OPTIMIZE, expected and measured: the number of files, and how many an equality filter reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow.compute as pc

from deltaskip.errors import DeltaSkipError
from deltaskip.json_text import parse_json
from deltaskip.log import Snapshot, load_snapshot
from deltaskip.log.history import HistoryEntry
from deltaskip.maintenance.optimize.optimize import optimize_plan
from deltaskip.maintenance.optimize.strategy import OptimizeRequest
from deltaskip.records import dataclass
from deltaskip.skipping.table_coverage import table_coverage
from deltaskip.sparkexpr.values.arrow_values import exact_sum, one_chunk
from deltaskip.stats.coverage import TableCoverage

_MOST_COLUMNS = 4
# benchmarks/README.md, curves: a filter on one of several columns keeps about this many times as many files as an
# ideal grid.
_CURVE_COST = 1.2


@dataclass(frozen=True, slots=True)
class FilterGain:
    """Files that an equality filter on a column reads.

    Attributes:
        column: Name of the column.
        before: Average number of files without the change.
        after: Average number of files with it.
    """

    column: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class ExpectedGain:
    """The expected result of an OPTIMIZE.

    Attributes:
        kind: "compaction" or "clustering".
        files: Number of files that it rewrites.
        bytes: Size of these files.
        new_files: Number of files that replace them.
        deleted_rows: Number of rows deleted by deletion vectors that are dropped.
        zorder: Columns by which Z-ordering would gain most, with the number of files that filters on each would read;
            empty if none would gain, and for clustered tables.
    """

    kind: str
    files: int
    bytes: int
    new_files: int
    deleted_rows: int
    zorder: tuple[FilterGain, ...]


@dataclass(frozen=True, slots=True)
class MeasuredGain:
    """The result of the last OPTIMIZE.

    Attributes:
        versions: Its first and last version.
        files_before: Number of files before it.
        files_after: Number of files after it.
        filters: The files that filters read, for its columns, or for the columns on which it had an effect.
    """

    versions: tuple[int, int]
    files_before: int
    files_after: int
    filters: tuple[FilterGain, ...]


def expected_gain(snapshot: Snapshot, coverage: TableCoverage) -> ExpectedGain | None:
    """Return the expected result of OPTIMIZE on this version; None if the clustering columns cannot be read.

    coverage: The statistics of the version, with overlap.
    """
    try:
        plan = optimize_plan(snapshot, OptimizeRequest())
    except DeltaSkipError:
        return None
    vectors = (one_chunk(each.files.listed["deletion_vector"]) for each in plan.bins)
    deleted = sum(exact_sum(pc.struct_field(each, "cardinality")) for each in vectors)
    size = sum(each.size_in_bytes for each in plan.bins)
    counts = sum(len(each.files) for each in plan.bins), size, sum(each.new_files for each in plan.bins)
    files = coverage.files if plan.strategy.columns else coverage.files - counts[0] + counts[2]
    ordered = () if plan.strategy.columns else tuple(_zorder(coverage, max(1, files)))
    return ExpectedGain(plan.strategy.kind, *counts, deleted, ordered)


def measured_gain(snapshot: Snapshot, coverage: TableCoverage, history: Iterable[HistoryEntry]) -> MeasuredGain | None:
    """Return the result of the last OPTIMIZE; None if there is none, or if the version before it cannot be read.

    Args:
        snapshot: The version to measure.
        coverage: Its statistics, with overlap.
        history: Its latest commits, newest first.
    """
    entries = list(history)
    last = next((i for i, entry in enumerate(entries) if entry.operation == "OPTIMIZE"), None)
    if last is None:
        return None
    first = last
    while first + 1 < len(entries) and entries[first + 1].operation == "OPTIMIZE":
        first += 1
    version = entries[first].version - 1
    try:
        before = table_coverage(load_snapshot(snapshot.storage, snapshot.root, version))
    except DeltaSkipError:
        return None
    columns = _columns_of(entries[last].operation_parameters)
    met = {column.name: column.files_met for column in before.columns if not column.partition}
    found = []
    for column in coverage.columns:
        was, now = met.get(column.name), column.files_met
        if was is None or now is None or (columns and column.name not in columns):
            continue
        if columns or abs(was - now) >= 1:
            found.append(FilterGain(column.name, was, now))
    return MeasuredGain((version + 1, entries[last].version), before.files, coverage.files, tuple(found))


def _zorder(coverage: TableCoverage, files: int) -> Iterable[FilterGain]:
    """The columns whose filters would gain most; columns are added as long as filters on all of them gain."""
    candidates = sorted(
        (
            (column.files_met, column.name)
            for column in coverage.columns
            if not column.partition and column.files_met is not None and (column.distinct_bounds or 0) > 1
        ),
        reverse=True,
    )
    share = files / max(1, coverage.files)
    best: list[FilterGain] = []
    for count in range(1, min(_MOST_COLUMNS, len(candidates)) + 1):
        # An ideal grid of `count` sides: a filter on one column reads all files along the others.
        after = 1.0 if count == 1 else min(float(files), _CURVE_COST * files ** ((count - 1) / count))
        chosen = [FilterGain(name, met, after) for met, name in candidates[:count]]
        if any(each.before * share < 2 * after + 1 for each in chosen):
            break
        best = chosen
    return best


def _columns_of(parameters: Mapping[str, Any]) -> list[str]:
    """The columns by which a commit ordered rows."""
    for name in ("zOrderBy", "clusterBy"):
        try:
            found = parse_json(str(parameters.get(name) or "[]"))
        except ValueError:
            continue
        if isinstance(found, list) and found:
            return [str(each) for each in found]
    return []
