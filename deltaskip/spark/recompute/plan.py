"""What a recomputation of statistics would do, told from the log alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from deltaskip.schema import display_name
from deltaskip.spark.recompute.job import chosen_files, not_done, recompute_request
from deltaskip.stats.computation import Collations
from deltaskip.stats.coverage import ColumnCoverage
from deltaskip.stats.file_facts import Mode, StatisticsRequest
from deltaskip.stats.merge import lacking_columns
from deltaskip.table.table import DeltaTable
from deltaskip.txn.recompute.commit import run_parameters
from deltaskip.txn.recompute.resume import computed_before

__all__ = ["ColumnPlan", "RecomputePlan", "Work", "recompute_plan", "recompute_work"]


@dataclass(frozen=True, slots=True)
class ColumnPlan:
    """lacking: files, of those that would be read, without some statistic of the column that would be computed; as long
    as they lack its bounds, every predicate on it keeps them. files_met: files of the table that a point predicate
    keeps now, on average (see ColumnCoverage); files_met_then: the same afterwards, if the files without bounds overlap
    as the others do. None where the column has no bounds, or no file shows what its values are like.
    """

    lacking: int
    files_met: float | None
    files_met_then: float | None


@dataclass(frozen=True, slots=True)
class Work:
    """files, bytes: that would be read. done: files that would be left alone since an earlier run has done them. wide:
    files to read whose bounds are wide since rows of them were deleted, and would become tight. lacking: for each
    column of the request the files to read without some statistic of it.
    """

    files: int
    bytes: int
    done: int
    wide: int
    lacking: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RecomputePlan:
    """files, bytes, done, wide: as in Work. columns: that would get statistics, by name; collations: versioned."""

    version: int
    files: int
    bytes: int
    done: int
    wide: int
    columns: Mapping[str, ColumnPlan]
    collations: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """For json.dumps."""
        return asdict(self)


def recompute_plan(
    table: DeltaTable,
    where: object = None,
    columns: Sequence[str] | None = None,
    collations: Collations | Sequence[str] | None = None,
    mode: Mode = "auto",
    only_missing: bool = False,
    again: bool = False,
) -> RecomputePlan:
    """What DeltaTable.recompute_stats would do with the same arguments; nothing is read but the log."""
    request = recompute_request(table.snapshot, columns, collations, mode)
    work = _work(table, request, where, columns is None, only_missing, again)
    coverage = table.inspect_stats()
    found = {column.name: column for column in coverage.columns}
    names = [display_name(column.logical) for column in request.columns]
    plans = {
        name: _column_plan(found.get(name), count, coverage.files)
        for name, count in zip(names, work.lacking, strict=True)
    }
    identifiers = dict.fromkeys(identifier for each in request.collations for identifier in each)
    return RecomputePlan(table.version, work.files, work.bytes, work.done, work.wide, plans, tuple(identifiers))


def recompute_work(
    table: DeltaTable,
    where: object = None,
    columns: Sequence[str] | None = None,
    collations: Collations | Sequence[str] | None = None,
    mode: Mode = "auto",
    only_missing: bool = False,
    again: bool = False,
) -> Work:
    """How much DeltaTable.recompute_stats would do with the same arguments; bounds are not looked at."""
    request = recompute_request(table.snapshot, columns, collations, mode)
    return _work(table, request, where, columns is None, only_missing, again)


def _work(
    table: DeltaTable, request: StatisticsRequest, where: object, complete: bool, only_missing: bool, again: bool
) -> Work:
    before = None if again else computed_before(table.snapshot, run_parameters(request, complete=complete))
    lacking = [0] * len(request.columns)
    chosen = done = size = wide = 0
    for batch in chosen_files(table, where, ["path", "size", "stats"]):
        files = not_done(batch, before)
        done += len(batch) - len(files)
        for text, file_size in zip(files["stats"].to_pylist(), files["size"].to_pylist(), strict=True):
            missing, is_wide = lacking_columns(text, request)
            for i in missing:
                lacking[i] += 1
            if missing or not only_missing:
                chosen += 1
                size += file_size
                wide += is_wide
    return Work(chosen, size, done, wide, tuple(lacking))


def _column_plan(coverage: ColumnCoverage | None, lacking: int, files: int) -> ColumnPlan:
    if coverage is None or not coverage.files_with_bounds or coverage.overlap_depth is None:
        return ColumnPlan(lacking, None, None)
    bounded = coverage.files_with_bounds
    gained = min(lacking, files - bounded)
    # As many files meet a point, of each hundred, as of those that have bounds now.
    then = coverage.overlap_depth * (bounded + gained) / bounded + (files - bounded - gained)
    return ColumnPlan(lacking, coverage.files_met, min(then, float(files)))
