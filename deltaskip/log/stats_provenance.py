"""Provenance of statistics: which files have statistics from a writer that is known to record NaN.

Spark sorts NaN above every number, and Delta's own statistics record it as a maximum. Other writers omit it
(docs/pages/soundness.md, trap 1), so the maximum of a float column is trusted only if the commit that added the file
was written by Spark. A file's statistics may be older than the add that contains them (deletion vectors, clones,
restores), so only an add of a new file counts, and no unknown writer must have added the same path.

Commits are deleted after their retention. The proofs in the tags of a file (stats.tags) and the promise of the table's
owner (`deltaskip.floatBounds`) remain.

Statistics that this package computed (operation COMPUTE STATS, all columns) are exact for the file's values, whichever
writer wrote the file: NaN is recorded, and a bound under a collation is not a truncated string.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import CommitInfo, canonical_paths
from deltaskip.errors import CorruptLog, StorageError
from deltaskip.lazy_regex import regex
from deltaskip.log.commit import members_of, read_commits
from deltaskip.log.file_names import LogFile
from deltaskip.log.segment import list_commits
from deltaskip.sparkexpr.values.arrow_values import FALSE, arrow_array, is_true, numpy_values, one_chunk
from deltaskip.storage import Storage

_RECORDS_NAN = regex(r"(Apache-Spark/.*Delta-Lake/|Databricks-Runtime/)")
_COPIES_STATISTICS = frozenset(("CLONE", "CONVERT", "RESTORE"))
_REWRITES_WITHOUT_CHANGE = frozenset(("OPTIMIZE", "REORG", "AUTO COMPACTION"))
_THIS = regex(r"deltaskip/")
COMPUTE_OPERATION = "COMPUTE STATS"
"""Operation of commits with computed statistics; its parameter `complete` is true if all columns were computed."""

_NO_PATHS = pa.nulls(0, pa.string())
_MOST_BYTES = 64 << 20
"""Larger commits are not read for provenance alone: their files count as written by unknown writers."""


class Writers:
    """Provenance by canonical path: statistics that record NaN, that deltaskip computed, or of an unknown writer."""

    def __init__(self, trusted: pa.Array, computed: pa.Array, doubted: pa.Array) -> None:
        self._trusted = pa.concat_arrays([trusted, computed])
        self._computed = computed
        self._doubted = doubted

    def __bool__(self) -> bool:
        """Whether the commits that the log still contains identify the writer of any file."""
        return bool(len(self._trusted) or len(self._doubted))

    def record_nan(self, paths: pa.Array) -> pa.BooleanArray:
        """Return for each path (as logged) whether the statistics come from a writer that records NaN."""
        return _within(paths, self._trusted)

    def unknown(self, paths: pa.Array) -> pa.BooleanArray:
        """Return for each path (as logged) whether a writer added it that is not known to record NaN."""
        return _within(paths, self._doubted)

    def computed(self, paths: pa.Array) -> pa.BooleanArray:
        """Return for each path (as logged) whether this package computed all of the statistics from the values."""
        return _within(paths, self._computed)


def _within(paths: pa.Array, known: pa.Array) -> pa.BooleanArray:
    if not len(known):
        return pa.repeat(FALSE, len(paths))
    return pc.is_in(canonical_paths(paths), value_set=known)


def read_writers(storage: Storage, root: str, version: int, newer_than: int) -> Writers:
    """Read the provenance of all commits up to `version`.

    Only commits after `newer_than` are read if all are too large, or if an older one, which the version does not need,
    cannot be read.
    """
    commits = [commit for commit in list_commits(storage, root, 0) if commit.version <= version]
    newer = [commit for commit in commits if commit.version > newer_than]
    if sum(commit.file.size for commit in commits) > _MOST_BYTES:
        return _writers(storage, root, newer)
    try:
        return _writers(storage, root, commits)
    except (CorruptLog, StorageError):
        return _writers(storage, root, newer)


def _writers(storage: Storage, root: str, files: list[LogFile]) -> Writers:
    if not files:
        return Writers(_NO_PATHS, _NO_PATHS, _NO_PATHS)
    commits = read_commits(storage, root, files, ["data_change"])
    infos = {
        action.commit: CommitInfo.from_json(members_of(commits, action))
        for action in commits.others
        if action.name == "commitInfo"
    }
    adds = commits.actions.filter(pc.invert(commits.actions["is_remove"])).combine_chunks()
    if not len(adds):
        return Writers(_NO_PATHS, _NO_PATHS, _NO_PATHS)
    try:
        paths = canonical_paths(one_chunk(adds["path"]))
    except ValueError as error:
        raise CorruptLog(f"The log of {root} is damaged: {error}; rewrite the commit that contains it.") from error
    ordinals = adds["commit"]
    known = pc.is_in(ordinals, value_set=_ordinals(infos, _is_known))
    fresh = pc.or_(
        pc.and_(is_true(adds["data_change"]), pc.is_in(ordinals, value_set=_ordinals(infos, _adds_new))),
        pc.is_in(ordinals, value_set=_ordinals(infos, _rewrites)),
    )
    fresh = pc.and_(fresh, pc.is_null(adds["deletion_vector"]))
    believed = paths.filter(one_chunk(fresh))
    doubted = paths.filter(one_chunk(pc.invert(known)))
    if len(doubted):
        believed = believed.filter(pc.invert(pc.is_in(believed, value_set=doubted)))
    by_computing = pc.is_in(ordinals, value_set=_ordinals(infos, _computes))
    computed = _last_where(paths, one_chunk(by_computing)) if pc.any(by_computing).as_py() else _NO_PATHS
    return Writers(believed, computed, doubted)


def _last_where(paths: pa.Array, holds: pa.BooleanArray) -> pa.Array:
    """The distinct paths for whose last occurrence the condition holds."""
    coded = paths.dictionary_encode()
    codes = numpy_values(coded.indices)
    last = np.zeros(len(coded.dictionary), np.int64)
    # The last assignment to a repeated index wins.
    last[codes] = np.arange(len(codes))
    return coded.dictionary.filter(arrow_array(numpy_values(holds)[last]))


def _computes(info: CommitInfo) -> bool:
    parameters = info.members.get("operationParameters")
    complete = isinstance(parameters, dict) and str(parameters.get("complete")).lower() == "true"
    by_this = info.engine_info is not None and _THIS.match(info.engine_info) is not None
    return by_this and complete and info.operation == COMPUTE_OPERATION


def _ordinals(infos: Mapping[int, CommitInfo], holds: Callable[[CommitInfo], bool]) -> pa.Array:
    return arrow_array([ordinal for ordinal, info in infos.items() if holds(info)], pa.int32())


def _is_known(info: CommitInfo) -> bool:
    return info.engine_info is not None and _RECORDS_NAN.match(info.engine_info) is not None


def _adds_new(info: CommitInfo) -> bool:
    return _is_known(info) and info.operation is not None and info.operation not in _COPIES_STATISTICS


def _rewrites(info: CommitInfo) -> bool:
    return _is_known(info) and info.operation in _REWRITES_WITHOUT_CHANGE
