"""Recomputation of statistics: the same files are added again with new statistics, with dataChange false.

Each table of results becomes one commit, so that memory is bounded and an interrupted job loses only uncommitted
results. Files that other writers replaced or removed in the meantime are left out; the others are committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import FILE_SCHEMA, add_actions, table_key, table_keys, with_stats
from deltaskip.doors import first_line
from deltaskip.engine import engine
from deltaskip.errors import CommitConflict, DataFileMissing, InvalidArgument
from deltaskip.json_text import parse_json
from deltaskip.log import Snapshot, refresh
from deltaskip.log.stats_provenance import COMPUTE_OPERATION
from deltaskip.maintenance.recompute.computed_files import RecomputingEngine, computed_here
from deltaskip.maintenance.recompute.expression_stats import with_bounds_of_expressions
from deltaskip.maintenance.recompute.recomputed import Recomputed
from deltaskip.maintenance.recompute.request import RecomputeRequest, files_to_read
from deltaskip.progress import Progress, table_name
from deltaskip.sparkexpr.values.arrow_values import arrow_array, exact_sum
from deltaskip.stats.stats_columns import StatColumn
from deltaskip.stats.tags import stats_tags
from deltaskip.txn.collation_versions import announce
from deltaskip.txn.transaction import Transaction
from deltaskip.txn.winners import read_winners

_STATE_ATTEMPTS = 10


def recompute(
    snapshot: Snapshot,
    request: RecomputeRequest,
    spark: Any,
    batch_files: int,
    progress: Callable[[Recomputed], None] | None = None,
) -> Recomputed:
    """Compute the statistics that a request names, and commit them.

    Args:
        snapshot: The table.
        request: The files and statistics.
        spark: A session whose jobs read the files; None for this process.
        batch_files: Files for one commit.
        progress: Called with the result so far after each commit, instead of a progress bar.

    Raises as Transaction.commit does, and CommitConflict if the table's schema or features changed.
    """
    compute = computed_here
    if spark is not None:
        asked = engine(f"Recomputing statistics of {snapshot.table_root}", RecomputingEngine)
        compute = partial(asked.recompute_statistics, spark)
    files = files_to_read(snapshot, request)
    results = compute(snapshot, files, request.statistics, merge=not request.complete, job_files=batch_files)
    results = with_bounds_of_expressions(snapshot, results, request.expressions)
    statistics = request.statistics
    done = commit_statistics(snapshot, results, request.identifiers, request.parameters, progress, statistics.columns)
    done.not_indexed = request.not_indexed
    return done


def commit_statistics(
    snapshot: Snapshot,
    results: Iterable[pa.Table],
    identifiers: Iterable[str],
    parameters: Mapping[str, object],
    progress: Callable[[Recomputed], None] | None = None,
    columns: Sequence[StatColumn] = (),
) -> Recomputed:
    """Commit each table of results, RESULT_SCHEMA, that was computed from `snapshot`.

    identifiers: the versioned collations whose bounds the statistics contain, which the table will list.
    parameters: of the operation COMPUTE STATS in the table's history. progress: called after each commit,
    instead of a progress bar.
    columns: the columns that were computed, whose provenance the files' tags will contain.
    Raises CommitConflict if the table's schema or features changed, and as Transaction.commit does.
    """
    if progress is None:
        label = f"Recomputing statistics of {table_name(snapshot.root)}"
        with Progress(label, unit="files", blocks=True) as bar:

            def show(done: Recomputed) -> None:
                bar.reach(done.files + done.unchanged + len(done.left_out), None)

            return commit_statistics(snapshot, results, identifiers, parameters, show, columns)
    done = Recomputed()
    wanted = sorted(set(identifiers))
    others = _OtherWriters(snapshot, done)
    for result in _computed(results, snapshot):
        _commit(others, result, wanted, parameters, columns, done)
        done.rows += exact_sum(result["num_records"])
        done.bytes += exact_sum(result["size"])
        try:
            progress(done)
        except Exception as error:
            raise InvalidArgument(
                f"progress failed after statistics of {snapshot.root} were committed: {first_line(error)}. Mend the "
                f"function, and call recompute_stats again for the other files."
            ) from error
    return done


def _computed(results: Iterable[pa.Table], snapshot: Snapshot) -> Iterator[pa.Table]:
    """The results; the error of a missing data file names the table, which may be at another location."""
    try:
        yield from results
    except DataFileMissing as error:
        raise DataFileMissing(f"{error} (table {snapshot.table_root}, version {snapshot.version})") from error


class _OtherWriters:
    """Files that other writers have changed since the recomputation began.

    Only the commits since then are read: a table may have so many files that reading all of them for each batch would
    take longer than the computation.
    """

    def __init__(self, snapshot: Snapshot, done: Recomputed) -> None:
        self.snapshot = snapshot
        self.touched: pa.Array = pa.nulls(0, pa.string())
        self._done = done

    def refresh(self) -> Snapshot:
        """Return the latest snapshot, and add the paths that others have added or removed to `touched`."""
        latest = refresh(self.snapshot)
        if latest.version > self.snapshot.version:
            winners = read_winners(self.snapshot, latest, self.snapshot.version)
            own = arrow_array(self._done.versions, pa.int64())
            for is_remove in (False, True):
                paths, _, versions = winners.paths(is_remove)
                others = pc.invert(pc.is_in(versions, value_set=own))
                self.touched = pa.concat_arrays([self.touched, paths.filter(others)])
        self.snapshot = latest
        return latest


def _commit(
    others: _OtherWriters,
    result: pa.Table,
    identifiers: list[str],
    parameters: Mapping[str, object],
    columns: Sequence[StatColumn],
    done: Recomputed,
) -> None:
    schema = others.snapshot.metadata.schema_string
    for attempt in range(_STATE_ATTEMPTS):
        snapshot = others.refresh()
        transaction = Transaction(snapshot, COMPUTE_OPERATION, parameters)
        added, same, gone = _put(transaction, others.touched, result, columns)
        if added:
            announce(transaction, identifiers)
        try:
            late = _commit_rest(transaction, added)
        except CommitConflict as conflict:
            retried = conflict.kind in ("protocol", "domain") or (
                conflict.kind == "metadata" and refresh(snapshot).metadata.schema_string == schema
            )
            if not retried or attempt + 1 == _STATE_ATTEMPTS:
                raise
            continue
        done.files += len(set(added).difference(same, late))
        done.unchanged += len(same.difference(late))
        done.left_out += [*gone, *late]
        if transaction.version is not None:
            done.versions.append(transaction.version)
        return
    raise AssertionError("the last attempt returns or raises")


def _commit_rest(transaction: Transaction, added: list[str]) -> list[str]:
    """Commit, leaving out files that conflict with other writers; return the paths that were left out."""
    late: list[str] = []
    while len(late) < len(added):
        try:
            transaction.commit()
            break
        except CommitConflict as conflict:
            if not conflict.paths:
                raise
            transaction.leave_out(*conflict.paths)
            root = transaction.snapshot.table_root
            keys = {table_key(root, path) for path in conflict.paths}
            late += [path for path in added if table_key(root, path) in keys]
    return late


def _put(
    transaction: Transaction, touched: pa.Array, result: pa.Table, columns: Sequence[StatColumn]
) -> tuple[list[str], set[str], list[str]]:
    """Add the files again; return (added paths, paths with equal statistics, paths changed by others).

    Files with equal statistics are added again only if their tags do not yet contain the provenance.
    """
    added: list[str] = []
    gone: list[str] = []
    same: set[str] = set()
    logged = [result["logged_stats" if name == "stats" else name] for name in FILE_SCHEMA.names]
    files = add_actions(pa.Table.from_arrays(logged, schema=FILE_SCHEMA))
    keys = table_keys(transaction.snapshot.table_root, result["path"])
    is_touched = pc.is_in(keys, value_set=touched).to_pylist()
    for file, stats, is_gone in zip(files, result["stats"].to_pylist(), is_touched, strict=True):
        if is_gone:
            gone.append(file.path)
            continue
        tags = stats_tags(stats, columns, file.tags)
        if _same(file.stats, stats):
            same.add(file.path)
            if tags == file.tags:
                continue
            stats = file.stats
        transaction.add_again(replace(with_stats(file, stats), tags=tags))
        added.append(file.path)
    return added, same, gone


def _same(old: str | None, new: str) -> bool:
    """Whether both contain the same values, with numbers compared digit by digit."""
    if old == new:
        return True
    try:
        return old is not None and bool(_parsed(old) == _parsed(new))
    except ValueError:
        return False


def _parsed(text: str) -> Any:
    return parse_json(text, parse_float=str, parse_int=str)
