"""OPTIMIZE of a table: jobs of a bounded size, committed one by one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import table_keys
from deltaskip.dml.files_to_change import chosen_files
from deltaskip.dml.little_data import is_little_to_rewrite
from deltaskip.doors import first_line
from deltaskip.errors import InvalidArgument
from deltaskip.features.support_checks import CommitSummary
from deltaskip.log import Snapshot, refresh
from deltaskip.log.catalog_commits import check_permitted
from deltaskip.maintenance.optimize.bins import REWRITE_COLUMNS, Bin, Plan, binned_plan
from deltaskip.maintenance.optimize.jobs import CommittedBins, Execution, intact, parts_in_memory, run_job
from deltaskip.maintenance.optimize.optimize_result import FileSizes, OptimizeResult, commit_metrics
from deltaskip.maintenance.optimize.strategy import OptimizeRequest, Strategy, considered_scan, strategy_of
from deltaskip.progress import Progress as ProgressBar
from deltaskip.progress import table_name
from deltaskip.records import dataclass
from deltaskip.settings import options
from deltaskip.skipping.add_batches import FileBatch
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr.values.arrow_values import arrow_array, exact_sum, numpy_values, one_chunk
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.txn.operation import committed_before
from deltaskip.txn.write_options import PLAIN_WRITE, WriteOptions

_MOST_TRIES = 3

OptimizeProgress = Callable[[int, int], None]
"""Called with the bytes of files that were rewritten so far, and of all files to rewrite."""


def optimize_plan(snapshot: Snapshot, request: OptimizeRequest) -> Plan:
    """Return what OPTIMIZE rewrites of a version of a table. Raises as `optimize` does for its arguments."""
    strategy = strategy_of(snapshot, request)
    return binned_plan(considered_scan(snapshot, request), strategy)


def optimize(
    snapshot: Snapshot,
    request: OptimizeRequest,
    spark: Any = None,
    write: WriteOptions = PLAIN_WRITE,
    dry_run: bool = False,
    progress: OptimizeProgress | None = None,
) -> OptimizeResult:
    """Optimize the latest version of a table, see DeltaTable.optimize.

    Args:
        snapshot: A version of the table.
        request: The arguments of the OPTIMIZE.
        spark: The session that rewrites large files; None to do it in this process.
        write: How the commits are recorded. Only the last one has the version of the application, so that the rest is
            done by a repetition if the process is killed.
        dry_run: Whether only the plan is returned.
        progress: Called after each group of files, instead of a progress bar.
    """
    if progress is None:
        with ProgressBar(f"Optimizing {table_name(snapshot.root)}", blocks=True) as bar:
            return optimize(snapshot, request, spark, write, dry_run, bar.reach)
    started = current_ms()
    snapshot = refresh(snapshot)
    # Nothing is written if the commit would be refused.
    snapshot.check_writable(CommitSummary(adds_files=True, rows_checked=True))
    check_permitted(snapshot, "DATA_REORGANIZATION", "OPTIMIZE")
    plan = optimize_plan(snapshot, request)
    done = _Running(plan, started)
    if dry_run:
        return done.expected(plan.bins)
    txn = write.txn
    repeated = committed_before(snapshot, txn)
    if repeated:
        return replace(done.result(), nothing_written=repeated)
    # If Spark does not order the rows, the rows of a bin must fit in memory.
    divides = plan.strategy.columns and spark is None
    pending = deque(
        each for bin_ in plan.bins for each in (parts_in_memory(bin_, plan.strategy) if divides else (bin_,))
    )
    total = sum(each.size_in_bytes for each in pending)
    rewritten, planned = 0, snapshot.version

    def finished(each: Bin) -> None:
        nonlocal rewritten
        rewritten += each.size_in_bytes
        try:
            progress(min(rewritten, total), total)
        except Exception as error:
            raise InvalidArgument(
                f"progress failed while files of {snapshot.root} were rewritten: {first_line(error)}. Mend the "
                f"function, and call optimize again."
            ) from error

    small = is_little_to_rewrite(sum(each.size_in_bytes for each in plan.bins))
    execution = Execution(plan.strategy, _parameters(plan.strategy, request), spark, small, finished)
    while pending or txn is not None:
        job = list(_next_job(pending))
        latest = refresh(snapshot)
        if latest.version > planned:
            # Waiting bins belong to the version of the plan, even if other bins were planned again.
            job, broken = _still_there(latest, job)
            pending.extend(_again(latest, broken, done))
            snapshot = latest
            if not job and (pending or txn is None):
                continue
        last = None if pending else txn
        committed, broken = run_job(snapshot, job, execution, replace(write, txn=last))
        if committed is not None:
            done.commits.append(committed)
        if last is not None and (committed is not None or not job):
            txn = None
        if broken:
            snapshot = refresh(snapshot)
            pending.extend(_again(snapshot, broken, done))
    return done.result()


@dataclass(slots=True)
class _Running:
    """The commits so far."""

    plan: Plan
    started: int
    commits: list[CommittedBins] = field(default_factory=list)
    left_out: int = 0

    def result(self) -> OptimizeResult:
        """Return the result of all commits."""
        bins = [each for commit in self.commits for each in commit.bins]
        adds = [add for commit in self.commits for add in commit.added]
        removed = [each.files for each in bins]
        versions = tuple(commit.version for commit in self.commits)
        made = self._of(bins, FileSizes().and_files(add.size for add in adds))
        return replace(
            made,
            version=versions[-1] if versions else None,
            versions=versions,
            metrics=commit_metrics(adds, removed) if versions else {},
            dry_run=False,
        )

    def expected(self, bins: Sequence[Bin]) -> OptimizeResult:
        """Return the expected result of rewriting these bins."""
        count, size = sum(each.new_files for each in bins), sum(each.size_in_bytes for each in bins)
        return self._of(bins, FileSizes(count, size))

    def _of(self, bins: Sequence[Bin], added: FileSizes) -> OptimizeResult:
        strategy, removed = self.plan.strategy, FileSizes()
        vectors = deleted = 0
        for each in bins:
            removed = removed.and_files(each.files.logged["size"].to_pylist())
            vectors += each.files.num_vectors
            marked = pc.struct_field(one_chunk(each.files.listed["deletion_vector"]), "cardinality")
            deleted += exact_sum(marked)
        files, size, cubes = self.plan.clustered
        return OptimizeResult(
            version=None,
            versions=(),
            metrics={},
            kind=strategy.kind,
            columns=tuple(strategy.names),
            curve=strategy.curve if strategy.columns else None,
            added=added,
            removed=removed,
            partitions=len({each.partition for each in bins}),
            bins=len(bins),
            considered=self.plan.considered,
            considered_bytes=self.plan.considered_bytes,
            vectors_removed=vectors,
            deleted_rows=deleted,
            left_out=self.left_out,
            clustered_before=(files, size, len(cubes)),
            started_ms=self.started,
            ended_ms=current_ms(),
            dry_run=True,
            operation=strategy.operation,
        )


def _parameters(strategy: Strategy, request: OptimizeRequest) -> dict[str, object]:
    """# delta-spark, DeltaOperations.Optimize, Reorg"""
    given = [request.where] if request.where is not None else []
    if strategy.kind == "purge":
        return {"predicate": given, "applyPurge": True}
    found: dict[str, object] = {
        "predicate": list(given if request.predicates is None else request.predicates),
        "zOrderBy": strategy.names if strategy.kind == "zorder" else [],
        "clusterBy": strategy.names if strategy.kind == "clustering" else [],
        "auto": strategy.auto,
    }
    if strategy.kind == "bloom":
        found["bloom"] = strategy.names
    return {**found, "isFull": strategy.full} if strategy.kind == "clustering" else found


def _next_job(pending: deque[Bin]) -> Iterable[Bin]:
    """Take the bins of the next commit: at least one, and others as long as they are not too large together."""
    total = 0
    while pending and (not total or total + pending[0].size_in_bytes <= options.optimize_job_bytes):
        total += max(1, pending[0].size_in_bytes)
        yield pending.popleft()


def _still_there(latest: Snapshot, bins: Sequence[Bin]) -> tuple[list[Bin], list[Bin]]:
    there = intact(latest, bins)
    return (
        [each for each, is_there in zip(bins, there, strict=True) if is_there],
        [each for each, is_there in zip(bins, there, strict=True) if not is_there],
    )


def _again(latest: Snapshot, broken: Sequence[Bin], done: _Running) -> Iterator[Bin]:
    """The bins with those of their files that the table still has, in their present state."""
    strategy, time_zone = done.plan.strategy, done.plan.scan.time_zone
    for each in broken:
        if each.tries + 1 >= _MOST_TRIES:
            done.left_out += len(each.files)
            continue
        paths = one_chunk(table_keys(latest.table_root, one_chunk(each.files.logged["path"])))

        def there(batch: FileBatch, rows: npt.NDArray[Any], paths: pa.Array = paths) -> npt.NDArray[Any]:
            [logged] = batch.rows(["path"], arrow_array(rows, pa.int64()))
            found = pc.is_in(table_keys(latest.table_root, one_chunk(logged)), value_set=paths)
            return numpy_values(found.cast(pa.uint8())).astype(np.bool_)

        files = chosen_files(Scan(latest, ReadOptions(time_zone=time_zone)), REWRITE_COLUMNS, there)
        if len(files) > 1 or (len(files) and (strategy.names or files.num_vectors)):
            count = 1 if not strategy.columns else max(1, files.size_in_bytes // strategy.target_bytes)
            yield Bin(files, each.partition, count, each.tries + 1)
