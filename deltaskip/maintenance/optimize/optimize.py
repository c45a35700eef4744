"""OPTIMIZE of a table: jobs of a bounded size, committed one by one, on top of other writers' commits.

A job rewrites bins together. Rows only move, so other writers' appends never conflict, and their changes conflict only
if they touch a file of the job: a bin is committed if each of its files is still in the table with the deletion vector
with which it was read. Otherwise its new files are deleted, and the bin is rewritten from the files that the table then
has.

# delta-spark, OptimizeTableCommand: it commits again if all files that it read are still there
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field, replace
from functools import partial
from threading import Condition
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import AddFile, dv_ids, remove_files, table_keys
from deltaskip.data_files.file_layout import layout_after
from deltaskip.data_files.parquet_writer import DataFileLayout
from deltaskip.data_files.written_rows import WrittenRows
from deltaskip.dml.files_to_change import chosen_files
from deltaskip.dml.little_data import is_little_to_rewrite
from deltaskip.doors import first_line
from deltaskip.engine import engine
from deltaskip.errors import CommitConflict, InvalidArgument
from deltaskip.features.row_tracking import ROW_TRACKING_DOMAIN, row_id_columns
from deltaskip.features.support_checks import CommitSummary
from deltaskip.lazy_regex import regex
from deltaskip.log import Snapshot, refresh
from deltaskip.log.catalog_commits import check_permitted
from deltaskip.maintenance.optimize.bins import REWRITE_COLUMNS, Bin, Plan, binned_plan
from deltaskip.maintenance.optimize.optimize_result import FileSizes, OptimizeResult, commit_metrics
from deltaskip.maintenance.optimize.rewriting import ArrowRewriting, Rewriting, RewritingEngine, RowOrder
from deltaskip.maintenance.optimize.strategy import OptimizeRequest, Strategy, considered_scan, strategy_of
from deltaskip.maintenance.optimize.zcubes import CLUSTERING_PROVIDER, cube_tags
from deltaskip.progress import Progress as ProgressBar
from deltaskip.progress import table_name
from deltaskip.records import dataclass
from deltaskip.settings import options
from deltaskip.skipping.add_batches import FileBatch
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr.values.arrow_values import arrow_array, exact_sum, numpy_values, one_chunk
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.txn.known_files import known_files
from deltaskip.txn.operation import MAX_TRIES, committed_before, record_version
from deltaskip.txn.transaction import Transaction
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


# Bytes of files that this process rewrites at once. Ordered rows are in memory, several times as large.
_MEMORY_BYTES = 1 << 30
# The mark of identity columns moves with every append, and no file depends on it.
_IDENTITY_MARK = regex(r'\\?"delta\.identity\.highWaterMark\\?":-?\d+')


@dataclass(frozen=True, slots=True)
class Execution:
    """The execution of an OPTIMIZE, which is the same for all of its jobs.

    Attributes:
        strategy: How the rows of the bins are ordered.
        parameters: Parameters of the operation in the table's history.
        spark: The session that rewrites files; None to do it in this process.
        small: Whether this process rewrites the files rather than Spark, since their total size is small.
        finished: Called with each bin whose new files are written.
    """

    strategy: Strategy
    parameters: Mapping[str, object]
    spark: Any
    small: bool
    finished: Callable[[Bin], None]

    def rewritings(self, snapshot: Snapshot) -> Sequence[Rewriting]:
        """Return the engines that rewrite files of a version of the table, the preferred one first."""
        here = ArrowRewriting(snapshot)
        if self.spark is None:
            return [here]
        asked = engine(f"Optimizing {snapshot.table_root}", RewritingEngine)
        by_spark = asked.rewriting(self.spark, snapshot)
        return [here, by_spark] if self.small else [by_spark, here]

    def session(self) -> AbstractContextManager[None]:
        """Return a context in which several threads may rewrite files."""
        return nullcontext() if self.spark is None else engine("OPTIMIZE").writing_session(self.spark)


@dataclass(frozen=True, slots=True)
class CommittedBins:
    """One commit: its version, the bins that it replaces, and the new files."""

    version: int
    bins: tuple[Bin, ...]
    added: tuple[AddFile, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Done:
    """A bin, and the files that replace it."""

    bin: Bin
    written: WrittenRows
    adds: tuple[AddFile, ...]


def run_job(
    snapshot: Snapshot, bins: Sequence[Bin], execution: Execution, write: WriteOptions = PLAIN_WRITE
) -> tuple[CommittedBins | None, list[Bin]]:
    """Rewrite bins and commit the new files.

    Args:
        snapshot: The version of the table that contains the files of the bins.
        bins: The bins.
        execution: Rewrites them.
        write: How the commit is recorded.

    Returns:
        The commit, None if there is none; and the bins whose files others have changed.

    Raises:
        UnsupportedFeature: No engine can rewrite a file, or the table needs a feature that deltaskip cannot write.
        StorageError: A file cannot be read or written. Nothing of the job is left.
        CommitConflict: Others committed first in every attempt.
    """
    done = _gaining(snapshot, _rewritten(snapshot, bins, execution), execution.strategy)
    base = snapshot
    broken: list[Bin] = []
    left = MAX_TRIES
    while True:
        left -= 1
        keep: list[_Done] = []
        operation, parameters = execution.strategy.operation, execution.parameters
        transaction = Transaction(base, operation, parameters, False, write.user_metadata)
        transaction.changes.undo.append(partial(_delete, snapshot, done, keep))
        try:
            if record_version(transaction, write.txn):
                # Another process has already done it.
                transaction.discard()
                return None, broken
            _put(transaction, done)
            if not transaction.has_actions:
                return None, broken
            version = transaction.commit()
        except CommitConflict:
            base = refresh(base)
            if left and _same_shape(snapshot, base):
                there = intact(base, [each.bin for each in done])
                keep += [each for each, is_there in zip(done, there, strict=True) if is_there]
            broken += [each.bin for each in done if each not in keep]
            transaction.discard()
            if not keep:
                return None, broken
            done = list(keep)
            continue
        except BaseException:
            transaction.discard()
            raise
        adds = tuple(add for each in done for add in each.adds)
        return CommittedBins(version, tuple(each.bin for each in done), adds), broken


def parts_in_memory(each: Bin, strategy: Strategy) -> Iterator[Bin]:
    """Yield the bin, or the parts of it that fit in memory."""
    if each.size_in_bytes <= _MEMORY_BYTES:
        yield each
        return
    sizes = numpy_values(one_chunk(each.files.logged["size"]))
    parts = (np.cumsum(sizes, dtype=np.int64) - 1) // _MEMORY_BYTES
    for part in np.unique(parts):
        files = each.files.take(np.flatnonzero(parts == part).tolist())
        yield Bin(files, each.partition, max(1, files.size_in_bytes // strategy.target_bytes))


def intact(snapshot: Snapshot, bins: Sequence[Bin]) -> list[bool]:
    """Return for each bin whether the table has all of its files, with the same deletion vectors."""
    root = snapshot.table_root
    keys = [table_keys(root, one_chunk(each.files.logged["path"])).to_pylist() for each in bins]
    known = known_files(snapshot, [key for each in keys for key in each])
    found = []
    for each, names in zip(bins, keys, strict=True):
        vectors = dv_ids(one_chunk(each.files.logged["deletion_vector"])).to_pylist()
        found.append(
            all(key in known and known[key].dv_id == vector for key, vector in zip(names, vectors, strict=True))
        )
    return found


@dataclass(slots=True)
class _Memory:
    """Limits the bytes of files that are rewritten at the same time."""

    _running_bytes: int = 0
    _changed: Condition = field(default_factory=Condition)

    @contextmanager
    def turn(self, size_bytes: int) -> Iterator[None]:
        """Wait until the files being rewritten take at most _MEMORY_BYTES with these, or only these are left."""
        with self._changed:
            self._changed.wait_for(lambda: not self._running_bytes or self._running_bytes + size_bytes <= _MEMORY_BYTES)
            self._running_bytes += size_bytes
        try:
            yield
        finally:
            with self._changed:
                self._running_bytes -= size_bytes
                self._changed.notify_all()


def _rewritten(snapshot: Snapshot, bins: Sequence[Bin], execution: Execution) -> list[_Done]:
    """Write the new files of all bins, several at once. After an error no file is left."""
    row_ids = row_id_columns(snapshot.table_properties, snapshot.protocol)
    layout = layout_after(snapshot, snapshot.protocol, snapshot.metadata, snapshot.schema, snapshot.domains, "UTC")
    if row_ids is not None:
        layout = replace(layout, extra=row_ids.fields)
    layout = replace(layout, bloom=tuple(dict.fromkeys((*layout.bloom, *execution.strategy.filters))))
    strategy, rewritings = execution.strategy, execution.rewritings(snapshot)
    memory = _Memory()

    def one(each: Bin) -> _Done:
        order = RowOrder(strategy.columns, strategy.curve, each.new_files) if strategy.columns else None
        with nullcontext() if execution.spark is not None else memory.turn(each.size_in_bytes):
            files = each.files.listed
            written = _chosen(rewritings, files, layout).rewrite(files, order, row_ids, layout)
        done = _Done(each, written, tuple(_adds(written, strategy)))
        try:
            execution.finished(each)
        except BaseException:
            _delete(snapshot, [done])
            raise
        return done

    if len(bins) == 1:
        return [one(bins[0])]
    with execution.session(), ThreadPoolExecutor(max(2, int(pa.cpu_count())), "deltaskip") as pool:
        running: list[Future[_Done]] = [pool.submit(one, each) for each in bins]
        try:
            return [each.result() for each in running]
        except BaseException:
            for each in running:
                each.cancel()
            _delete(snapshot, [each.result() for each in running if not each.cancelled() and not each.exception()])
            raise


def _gaining(snapshot: Snapshot, done: list[_Done], strategy: Strategy) -> list[_Done]:
    """The bins whose new files are fewer, or free of deleted rows; the new files of others are deleted.

    Files without rows whose number of rows is not logged stay, if nothing else is rewritten: a commit that changes no
    data has to show that it removes none.

    Rows with NaN are in separate files if footers prove that other files have none.
    """
    if not any(each.adds for each in done):
        done = [each for each in done if not each.bin.files.listed["num_records"].null_count]
    if strategy.kind != "compaction":
        return done
    gaining = [each for each in done if len(each.adds) < len(each.bin.files) or each.bin.files.num_vectors]
    _delete(snapshot, done, gaining)
    return gaining


def _chosen(rewritings: Sequence[Rewriting], files: pa.Table, layout: DataFileLayout) -> Rewriting:
    """The first engine that can rewrite files; if none can, the last one, whose error says why."""
    return next((each for each in rewritings[:-1] if each.can_rewrite(files, layout)), rewritings[-1])


def _adds(written: WrittenRows, strategy: Strategy) -> Sequence[AddFile]:
    """The add actions of a bin's new files, as files that change no data."""
    cube = cube_tags(strategy) if strategy.kind == "clustering" else {}
    provider = CLUSTERING_PROVIDER if cube else None
    found = []
    for add in written.files:
        tags = {**cube, **(add.tags or {})}
        found.append(replace(add, data_change=False, tags=tags or None, clustering_provider=provider))
    return found


def _put(transaction: Transaction, done: Sequence[_Done]) -> None:
    now = current_ms()
    for each in done:
        transaction.remove(*remove_files(each.bin.files.logged, now, data_change=False))
        transaction.add_written(*each.adds)
    if row_id_columns(transaction.snapshot.table_properties) is not None:
        transaction.changes.row_ids_kept = True
    metrics = commit_metrics([add for each in done for add in each.adds], [each.bin.files for each in done])
    transaction.set_metrics(metrics)


def _delete(snapshot: Snapshot, done: Sequence[_Done], kept: Sequence[_Done] = ()) -> None:
    for each in done:
        if each not in kept:
            each.written.delete(snapshot.storage, snapshot.root)


def _same_shape(one: Snapshot, other: Snapshot) -> bool:
    """Whether files that were written for one version are valid for the other."""

    def shape(snapshot: Snapshot) -> tuple[Any, ...]:
        metadata = snapshot.metadata
        found = snapshot.domains.items()
        domains = {name: domain.configuration for name, domain in found if name != ROW_TRACKING_DOMAIN}
        schema = _IDENTITY_MARK.sub("", metadata.schema_string or "")
        partitions, properties = tuple(metadata.partition_columns), dict(metadata.configuration)
        return schema, partitions, properties, snapshot.protocol, domains, metadata.id

    return shape(one) == shape(other)
