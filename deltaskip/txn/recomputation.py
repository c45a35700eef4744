"""Statistics that were computed anew, brought into the table: the same files again, with dataChange false.

Each table of results becomes one commit, so that memory is bounded and a job that dies has lost only what was not yet
committed. A file that another writer rewrote or deleted meanwhile is left out; the rest lands.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import AddFile, DeletionVectorDescriptor, canonical_path, canonical_paths
from deltaskip.errors import CommitConflict
from deltaskip.log import Snapshot, refresh
from deltaskip.log.live_adds import live_adds
from deltaskip.log.replay import dv_ids
from deltaskip.schema import display_name
from deltaskip.stats.file_facts import StatisticsRequest
from deltaskip.txn.collation_versions import announce
from deltaskip.txn.transaction import Transaction

__all__ = ["Recomputed", "commit_statistics", "run_parameters"]

_ROWS = 8192
_STATE_ATTEMPTS = 10

Begin = Callable[[Snapshot], Transaction]


@dataclass(slots=True)
class Recomputed:
    """What a recomputation has done so far.

    files: whose statistics were committed. unchanged: whose statistics the log had already, in whatever spelling.
    left_out: paths, as logged, of files that other writers ended or replaced meanwhile. rows, bytes: of the files that
    were looked at. versions: of the table, one a commit.
    """

    files: int = 0
    unchanged: int = 0
    rows: int = 0
    bytes: int = 0
    left_out: list[str] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)


def run_parameters(request: StatisticsRequest, complete: bool) -> dict[str, Any]:
    """What the table's history says of a recomputation: equal where the same is computed of a file.

    complete: whether the request is of all columns that have statistics.
    """
    pairs = zip(request.columns, request.collations, strict=True)
    return {
        "mode": request.mode,
        "columns": [display_name(column.logical) for column in request.columns],
        "collations": {display_name(column.logical): list(each) for column, each in pairs if each},
        "kernelSpelling": request.kernel_spelling,
        "complete": complete,
    }


def commit_statistics(
    snapshot: Snapshot,
    results: Iterable[pa.Table],
    identifiers: Iterable[str],
    begin: Begin,
    progress: Callable[[Recomputed], None] = lambda _done: None,
) -> Recomputed:
    """Commit each table of results: path as logged, dv_id, stats, num_records and size.

    identifiers: the versioned collations whose bounds the statistics hold, which the table is to list. begin: makes the
    transaction on a snapshot. progress: called after each commit.
    Raises CommitConflict where the table's schema or features changed, and what Transaction.commit raises.
    """
    done = Recomputed()
    wanted = sorted(set(identifiers))
    for result in results:
        snapshot = _commit(snapshot, result, wanted, begin, done)
        done.rows += pc.sum(result["num_records"]).as_py() or 0
        done.bytes += pc.sum(result["size"]).as_py() or 0
        progress(done)
    return done


def _commit(
    snapshot: Snapshot, result: pa.Table, identifiers: list[str], begin: Begin, done: Recomputed
) -> Snapshot:
    schema = snapshot.metadata.schema_string
    for attempt in range(_STATE_ATTEMPTS):
        snapshot = refresh(snapshot)
        transaction = begin(snapshot)
        added, unchanged, gone = _put(transaction, snapshot, result)
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
        done.files += len(added) - len(late)
        done.unchanged += unchanged
        done.left_out += [*gone, *late]
        if transaction.version is not None:
            done.versions.append(transaction.version)
        return snapshot
    raise AssertionError("the last attempt returns or raises")


def _commit_rest(transaction: Transaction, added: list[str]) -> list[str]:
    """Commit what no other writer got at; the paths that had to be left out."""
    late: list[str] = []
    while len(late) < len(added):
        try:
            transaction.commit()
            break
        except CommitConflict as conflict:
            if not conflict.paths:
                raise
            transaction.leave_out(*conflict.paths)
            keys = {canonical_path(path) for path in conflict.paths}
            late += [path for path in added if canonical_path(path) in keys]
    return late


def _put(transaction: Transaction, snapshot: Snapshot, result: pa.Table) -> tuple[list[str], int, list[str]]:
    """Add the files again; (paths added, number of those with such statistics already, paths that are gone)."""
    keys = canonical_paths(result["path"].combine_chunks())
    vectors = result["dv_id"].to_pylist()
    wanted = dict(zip(zip(keys.to_pylist(), vectors, strict=True), result["stats"].to_pylist(), strict=True))
    added: list[str] = []
    unchanged = 0
    for batch in live_adds(snapshot, _ROWS):
        paths = canonical_paths(batch["path"])
        chosen = pc.indices_nonzero(pc.is_in(paths, value_set=keys))
        if not len(chosen):
            continue
        ids = dv_ids(batch["deletion_vector"]).take(chosen).to_pylist()
        rows = zip(paths.take(chosen).to_pylist(), ids, batch.take(chosen).to_pylist(), strict=True)
        for path, vector, row in rows:
            stats = wanted.pop((path, vector), None)
            if stats is None:
                continue
            if _same(row["stats"], stats):
                unchanged += 1
            else:
                transaction.add(_again(row, stats))
                added.append(row["path"])
    logged = dict(zip(keys.to_pylist(), result["path"].to_pylist(), strict=True))
    return added, unchanged, [logged[path] for path, _ in wanted]


def _again(row: Mapping[str, Any], stats: str) -> AddFile:
    vector = row["deletion_vector"]
    return AddFile(
        path=row["path"],
        partition_values=dict(row["partition_values"]),
        size=row["size"],
        modification_time=row["modification_time"],
        data_change=False,
        stats=stats,
        tags=None if row["tags"] is None else dict(row["tags"]),
        deletion_vector=None if vector is None else DeletionVectorDescriptor(**vector),
        base_row_id=row["base_row_id"],
        default_row_commit_version=row["default_row_commit_version"],
        clustering_provider=row["clustering_provider"],
    )


def _same(old: str | None, new: str) -> bool:
    """Whether both say the same, number for number and digit for digit."""
    if old == new:
        return True
    try:
        return old is not None and bool(_parsed(old) == _parsed(new))
    except (ValueError, RecursionError):
        return False


def _parsed(text: str) -> Any:
    return json.loads(text, parse_float=str, parse_int=str)
