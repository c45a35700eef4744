"""What a recomputation of statistics would do, computed from the log alone. Needs no Spark."""

from __future__ import annotations

from deltaskip.log import Snapshot
from deltaskip.maintenance.recompute.recomputed import ColumnPlan, RecomputePlan
from deltaskip.maintenance.recompute.request import RecomputeRequest, chosen_files, finished_files, not_done
from deltaskip.records import dataclass
from deltaskip.schema import display_name
from deltaskip.skipping.coverage import table_coverage
from deltaskip.stats.coverage import ColumnCoverage
from deltaskip.stats.merge import lacking_columns

__all__ = ["Work", "recompute_plan", "recompute_work"]


@dataclass(frozen=True, slots=True)
class Work:
    """How much a recomputation would read.

    files, bytes: number and total size of the files to read. done: files that are skipped because an interrupted run
    already finished them. wide: files to read whose bounds are wide because rows were deleted, and would become tight.
    lacking: for each column of the request, the number of files to read that lack some statistic of it.
    """

    files: int
    bytes: int
    done: int
    wide: int
    lacking: tuple[int, ...]


def recompute_plan(snapshot: Snapshot, request: RecomputeRequest, overlap: bool = True) -> RecomputePlan:
    """What DeltaTable.recompute_stats would do for this request; reads only the log. overlap: compare bounds too."""
    work = recompute_work(snapshot, request)
    found = {column.name: column for column in table_coverage(snapshot).columns} if overlap else {}
    names = [display_name(column.logical) for column in request.statistics.columns]
    plans = {
        name: _column_plan(found.get(name), count, snapshot.num_files)
        for name, count in zip(names, work.lacking, strict=True)
    }
    return RecomputePlan(snapshot.version, work.files, work.bytes, work.done, work.wide, plans, request.identifiers)


def recompute_work(snapshot: Snapshot, request: RecomputeRequest) -> Work:
    """How much DeltaTable.recompute_stats would read for this request; does not compare bounds."""
    before = finished_files(snapshot, request)
    lacking = [0] * len(request.statistics.columns)
    chosen = done = size = wide = 0
    for batch in chosen_files(snapshot, request.where, ["path", "size", "stats"]):
        files = not_done(batch, before)
        done += len(batch) - len(files)
        for text, file_size in zip(files["stats"].to_pylist(), files["size"].to_pylist(), strict=True):
            missing, is_wide = lacking_columns(text, request.statistics)
            for i in missing:
                lacking[i] += 1
            if missing or not request.only_missing:
                chosen += 1
                size += file_size or 0
                wide += is_wide
    return Work(chosen, size, done, wide, tuple(lacking))


def _column_plan(coverage: ColumnCoverage | None, lacking: int, files: int) -> ColumnPlan:
    if coverage is None or not coverage.files_with_bounds or coverage.overlap_depth is None:
        return ColumnPlan(lacking, None, None)
    bounded = coverage.files_with_bounds
    gained = min(lacking, files - bounded)
    # Assume that a point lies in the same share of files with new bounds as of files that have bounds now.
    then = coverage.overlap_depth * (bounded + gained) / bounded + (files - bounded - gained)
    return ColumnPlan(lacking, coverage.files_met, min(then, float(files)))
