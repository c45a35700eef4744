"""Row-level concurrency: two changes that delete different rows of one file by deletion vectors do not conflict.

A deletion vector is a set of positions in a file that never changes, so that a transaction which comes after a winner
can unite both sets instead of being repeated. For each file that winners removed or added again, that is active before
and after them, and that the transaction changes or has read:

| what the winners did to the file | what the transaction does to it | outcome |
|---|---|---|
| marked rows | marks other rows | the file is added again with the union, and removed with the winners' vector |
| marked rows | marks some of the same rows, and only removes rows | the same: a row that is gone need not be removed |
| marked rows | marks some of the same rows, and writes rows | conflict: it would write rows that no longer exist |
| marked rows | removes it whole, and only removes rows | the file is removed with the winners' vector |
| marked rows | removes it whole, and writes rows | conflict: it copied or updated rows that no longer exist |
| marked rows | reads it by a predicate | no conflict if no row that went matches the predicate |
| marked rows | has read it by name | conflict: it may depend on every row |
| changed statistics or tags | marks rows | the file is added again as the winners added it, with its own vector |
| anything | changes statistics or tags | conflict |
| unmarked rows, as RESTORE does | anything | conflict: rows came back |
| removed it | anything | conflict |

Rows that the transaction reads and winners removed: a transaction that removes exactly the rows which match its
predicates (DELETE, UPDATE, overwrite by predicate) has read no other row, so that the third line decides. For other
transactions (MERGE) the predicates are evaluated over the removed rows; if that is impossible, it is a conflict.

A winner's *new* files are always checked against the predicates (`txn.conflicts`): a winner
that sets x = 15 and a transaction that deletes where x > 10 are a conflict, although they mark different rows. So
under Serializable the result is as if the transaction followed the winners. Under WriteSerializable blind appends may
be ordered after it; a commit that marks rows is never a blind append.

# PROTOCOL, Deletion Vectors; Add File and Remove File
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import AddFile, DeletionVectorDescriptor, absolute_uris
from deltaskip.errors import DeltaSkipError
from deltaskip.features.registry import has_feature
from deltaskip.log import Snapshot
from deltaskip.log.deletion_vectors import read_deletion_vector, vector_folder, vector_location, write_deletion_vectors
from deltaskip.records import dataclass
from deltaskip.sparkexpr.values.arrow_values import arrow_array, one_chunk
from deltaskip.stats.merged_stats import widened_stats
from deltaskip.stats.stats_text import num_records, parsed_stats
from deltaskip.txn.changes import expanded
from deltaskip.txn.intent import Intent
from deltaskip.txn.known_files import Known, active_adds, known_files
from deltaskip.txn.winners import Winners

_Rows = npt.NDArray[Any]

# More files than this are not looked up; the transaction is repeated instead.
_MOST_FILES = 10_000


@dataclass(frozen=True, slots=True)
class United:
    """A transaction that follows winners which marked rows of files that it changes or has read.

    Attributes:
        intent: The transaction with the united vectors.
        winners: The winners without the files that are settled.
        written: Files of deletion vectors that were written, below the table's root.
        superseded: Locations of deletion vector files that the transaction no longer refers to.
        already_gone: Number of rows that the transaction would have removed and that were already gone.
    """

    intent: Intent
    winners: Winners
    written: tuple[str, ...] = ()
    superseded: tuple[str, ...] = ()
    already_gone: int = 0


@dataclass(frozen=True, slots=True)
class _Shared:
    """A settled file: its add action after the winners, the rows that they deleted, and all rows to delete."""

    now: AddFile
    marked: _Rows
    union: _Rows
    already_gone: int


def unite(intent: Intent, winners: Winners, latest: Snapshot) -> United:
    """Return the transaction on top of the winners, for the files in which they only deleted rows by vectors.

    Other files are unchanged, so that conflict detection finds them.

    Args:
        intent: The transaction.
        winners: The commits that came first.
        latest: The version that they made.
    """
    nothing = United(intent, winners)
    marks = has_feature(intent.base.protocol, "deletionVectors")
    if not marks or intent.copies_state or winners.others("metaData"):
        return nothing
    keys = _candidates(intent, winners)
    if not keys or len(keys) > _MOST_FILES:
        return nothing
    intent = expanded(intent, keys)
    now, before = active_adds(latest, keys), known_files(intent.base, keys)
    settled: dict[str, _Shared] = {}
    for key in keys:
        if key in now and key in before:
            shared = _settled(intent, key, now[key], before[key])
            if shared is not None:
                settled[key] = shared
    if not settled:
        return nothing
    return _united(intent, winners, settled)


def _candidates(intent: Intent, winners: Winners) -> list[str]:
    """Keys of the winners' files that the transaction changes or has read by a predicate."""
    found: dict[str, None] = {}
    removed, raw, _ = winners.paths(is_remove=True)
    touched = set(intent.touched)
    if len(raw):
        uris = absolute_uris(intent.base.table_root, raw)
        read = pa.nulls(len(raw), pa.bool_()).is_valid()
        for scan in intent.scans:
            read = pc.or_(read, pc.is_in(uris, value_set=one_chunk(scan.files(columns=["uri"])["uri"])))
        for key, was_read in zip(removed.to_pylist(), read.to_pylist(), strict=True):
            if was_read or key in touched:
                found[key] = None
    added, _, _ = winners.paths(is_remove=False)
    found.update((key, None) for key in added.to_pylist() if key in intent.adds)
    return list(found)


def _settled(intent: Intent, key: str, now: AddFile, known: Known) -> _Shared | None:
    """The state of a file after both transactions; None for a conflict."""
    remove, add = intent.removes.get(key), intent.adds.get(key)
    same = (now.size, dict(now.partition_values)) == (known.size, dict(known.partition_values or {}))
    if not same or key in intent.files or (add is not None and remove is None):
        return None
    base = intent.base
    try:
        vector = known.vector if remove is None else remove.deletion_vector
        before, marked = (_rows(base, each) for each in (vector, now.deletion_vector))
        mine = _rows(base, None if add is None else add.deletion_vector)
    except DeltaSkipError:
        return None
    if len(np.setdiff1d(before, marked, assume_unique=True)):
        return None
    if add is not None and (len(np.setdiff1d(before, mine, assume_unique=True)) or not add.data_change):
        return None
    gone = np.setdiff1d(marked, before, assume_unique=True)
    if not _reads_hold(intent, now, gone):
        return None
    if remove is None:
        return _Shared(now, marked, marked, 0)
    if add is None:
        return _Shared(now, marked, marked, len(gone)) if intent.only_removes or not len(gone) else None
    again = len(np.intersect1d(gone, np.setdiff1d(mine, before, assume_unique=True), assume_unique=True))
    if again and not intent.only_removes:
        return None
    return _Shared(now, marked, np.union1d(marked, mine), again)


def _reads_hold(intent: Intent, now: AddFile, gone: _Rows) -> bool:
    """Whether the transaction read none of the rows that winners removed, apart from rows that it removes itself."""
    reads = [scan for scan in intent.scans if id(scan) not in intent.removed_scans]
    if not len(gone) or not reads:
        return True
    match = intent.rows_match
    return match is not None and not any(match(scan, now.path, arrow_array(gone)) for scan in reads)


def _rows(base: Snapshot, vector: DeletionVectorDescriptor | None) -> _Rows:
    if vector is None:
        return np.zeros(0, np.int64)
    rows: _Rows = np.asarray(read_deletion_vector(base.storage, base.table_root, vector))
    return rows


def _united(intent: Intent, winners: Winners, settled: Mapping[str, _Shared]) -> United:
    adds, removes = dict(intent.adds), dict(intent.removes)
    replaced: list[AddFile] = []
    marking: list[str] = []
    for key, shared in settled.items():
        remove, add = removes.get(key), adds.pop(key, None)
        if remove is None:
            continue
        removes[key] = replace(remove, deletion_vector=shared.now.deletion_vector)
        if add is None:
            continue
        replaced.append(add)
        if len(shared.union) == len(shared.marked):
            # The winners removed all rows of this file that it would remove.
            del removes[key]
        elif len(shared.union) < _count(shared.now, add):
            marking.append(key)
    if not marking and not replace(intent, adds=adds, removes=removes).actions:
        # The winners removed all rows that it would remove; repeated, it finds none.
        return United(intent, winners)
    written: tuple[str, ...] = ()
    if marking:
        root, storage = intent.base.root, intent.base.storage
        vectors = write_deletion_vectors(
            storage, root, (arrow_array(settled[key].union) for key in marking), _prefix(replaced)
        )
        written = vectors.paths
        for key, descriptor in zip(marking, vectors.descriptors, strict=True):
            shared = settled[key]
            stats = widened_stats(shared.now.stats, _count(shared.now, intent.adds[key]), len(shared.marked))
            adds[key] = replace(shared.now, deletion_vector=descriptor, stats=stats, data_change=True)
    already_gone = sum(shared.already_gone for shared in settled.values())
    new = replace(intent, adds=adds, removes=removes, metrics=_metrics(intent, already_gone))
    root = intent.base.table_root
    superseded = _vector_files(root, replaced) - _vector_files(root, adds.values())
    return United(new, winners.without(settled), written, tuple(sorted(superseded)), already_gone)


def _count(now: AddFile, add: AddFile) -> int:
    """The number of rows in a file; if the winners' add lacks it, from the transaction's add, which was checked."""
    for each in (now, add):
        found = num_records(parsed_stats(each.stats))
        if found is not None:
            return found
    raise AssertionError("an add with a deletion vector has a row count")


def _metrics(intent: Intent, already_gone: int) -> Mapping[str, str]:
    deleted = intent.metrics.get("numDeletedRows")
    if not already_gone or deleted is None:
        return intent.metrics
    return {**intent.metrics, "numDeletedRows": str(int(deleted) - already_gone)}


def _prefix(adds: Sequence[AddFile]) -> str:
    """The folder of the vectors that are replaced."""
    vectors = (add.deletion_vector for add in adds)
    return next((vector_folder(each) for each in vectors if each is not None and each.storage_type == "u"), "")


def _vector_files(root: str, adds: Iterable[AddFile]) -> set[str]:
    """Locations of the files of vectors that adds refer to."""
    vectors = (add.deletion_vector for add in adds)
    return {vector_location(root, each) or "" for each in vectors if each is not None} - {""}
