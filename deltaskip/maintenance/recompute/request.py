"""The request of a recomputation: files to read and statistics to compute, and its plan. Needs no Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip import errors
from deltaskip.actions import CommitInfo, canonical_paths, decode_paths
from deltaskip.arguments import flag, texts
from deltaskip.features.registry import has_feature_or_preview
from deltaskip.json_text import parse_json
from deltaskip.log import Snapshot
from deltaskip.log.commit import read_commits
from deltaskip.log.file_names import LogFile
from deltaskip.log.segment import list_commits
from deltaskip.log.stats_provenance import COMPUTE_OPERATION
from deltaskip.maintenance.recompute.recomputed import ColumnPlan, RecomputePlan
from deltaskip.records import dataclass
from deltaskip.skipping.file_predicates import expressions_of
from deltaskip.skipping.proofs.expression_bounds import BoundedExpression
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.skipping.table_coverage import table_coverage
from deltaskip.sparkexpr.collations import kept_versions
from deltaskip.sparkexpr.types import display_name
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.stats.computation import ColumnCollations, statistics_request
from deltaskip.stats.coverage import ColumnCoverage
from deltaskip.stats.file_facts import Mode, StatisticsRequest
from deltaskip.stats.merged_stats import has_statistics, lacking_columns, lacks_expressions
from deltaskip.stats.stats_columns import INDEXED_COLUMNS, StatColumn, declared_collations
from deltaskip.stats.tight_bounds import writes_tight_bounds
from deltaskip.storage.interface import read_whole
from deltaskip.txn.intent import parameter_value
from deltaskip.version import engine_info

_LOG_ROWS = 8192
_OF_ARGUMENTS = (
    errors.CollationUnavailable,
    errors.InvalidArgument,
    errors.InvalidArgumentType,
    errors.InvalidCollation,
    errors.PredicateError,
    errors.SchemaError,
)


# An interrupted run is among the newest commits of the table.
_NEWEST_COMMITS = 1000
_HEAD_BYTES = 64 << 10
_READERS = 32


@dataclass(frozen=True, slots=True)
class RecomputeRequest:
    """The files of a table to read, and the statistics to compute for each of them.

    statistics: what to compute for each file. complete: whether that is all columns that have statistics; if not, the
    logged statistics of the other columns stay. where: a predicate; only files that may contain a matching row are
    read, None for all. only_missing: only files that lack some of the statistics. resume: skip the files that an
    interrupted run with the same settings already finished. not_indexed: number of columns that the table's properties
    leave out of the statistics. expressions: what the bounds of expressions are computed of.
    """

    statistics: StatisticsRequest
    complete: bool = True
    where: object = None
    only_missing: bool = False
    resume: bool = True
    not_indexed: int = 0
    expressions: tuple[BoundedExpression, ...] = ()

    @property
    def identifiers(self) -> tuple[str, ...]:
        """Versioned collations whose bounds are computed, each once."""
        return tuple(dict.fromkeys(identifier for each in self.statistics.collations for identifier in each))

    @property
    def signatures(self) -> list[str]:
        """The signatures of the expressions."""
        return [each.bounds.signature for each in self.expressions]

    @property
    def parameters(self) -> dict[str, Any]:
        """The operation parameters in the table's history: equal if and only if the same statistics are computed."""
        request = self.statistics
        pairs = zip(request.columns, request.collations, strict=True)
        return {
            "mode": request.mode,
            "columns": [display_name(column.logical) for column in request.columns],
            "collations": {display_name(column.logical): list(each) for column, each in pairs if each},
            "kernelSpelling": request.kernel_spelling,
            "complete": self.complete,
            **({"expressions": self.signatures} if self.expressions else {}),
        }


def recompute_request(
    snapshot: Snapshot,
    where: object = None,
    columns: Sequence[str] | None = None,
    collations: ColumnCollations | Sequence[str] | None = None,
    mode: Mode = "auto",
    only_missing: bool = False,
    *,
    resume: bool = True,
    kernel_spelling: bool = False,
    spark_version: str | None = None,
) -> RecomputeRequest:
    """The request for this version of a table, with the arguments of DeltaTable.recompute_stats.

    collations: as in stats.compute; None for the versions that the metadata domain `collations` lists and, if the table
    has the feature, `spark_version`, the collation version of the session, as far as this process can evaluate them.
    Raises as stats.compute does for columns and collations.
    """
    try:
        columns = None if columns is None else texts("columns", columns)
        for name, value in (("only_missing", only_missing), ("resume", resume), ("kernel_spelling", kernel_spelling)):
            flag(name, value)
        if collations is not None and not isinstance(collations, Mapping):
            collations = texts("collation_versions", collations)
        chosen = snapshot.indexed_columns(columns=columns)
        every = snapshot.indexed_columns({INDEXED_COLUMNS: "-1"}) if columns is None else chosen
        not_indexed = len(every) - len(chosen)
        statistics = statistics_request(
            chosen,
            _default_collations(snapshot, chosen, spark_version) if collations is None else collations,
            mapping_mode=snapshot.mapping_mode,
            mode=mode,
            tight_bounds=writes_tight_bounds(snapshot.protocol, snapshot.properties),
            kernel_spelling=kernel_spelling,
        )
    except _OF_ARGUMENTS as error:
        raise type(error)(f"{error} (table {snapshot.table_root}, version {snapshot.version})") from error
    paths = {column.physical for column in statistics.columns}
    expressions = tuple(each for each in expressions_of(snapshot) if columns is None or each.bounds.physical in paths)
    return RecomputeRequest(statistics, columns is None, where, only_missing, resume, not_indexed, expressions)


def files_to_read(snapshot: Snapshot, request: RecomputeRequest) -> Iterator[pa.RecordBatch]:
    """The files whose statistics are computed, as batches of FILE_SCHEMA with at most a few thousand rows."""
    done = _finished_files(snapshot, request)
    for batch in _wanted_files(snapshot, request.where):
        files = _not_done(batch, done)
        if request.only_missing:
            lacking = [
                not has_statistics(text, request.statistics) or lacks_expressions(text, request.signatures)
                for text in files["stats"].to_pylist()
            ]
            files = files.filter(arrow_array(lacking, pa.bool_()))
        yield files


def _finished_files(snapshot: Snapshot, request: RecomputeRequest) -> pa.Array | None:
    """Canonical paths of the files that an interrupted run already finished; None if the request does not resume."""
    return computed_before(snapshot, request.parameters) if request.resume else None


def _wanted_files(snapshot: Snapshot, where: object, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
    """The files that may contain rows matching `where`, all if it is None; columns: of FILE_SCHEMA, None for all."""
    kept = (
        None if where is None else Scan(snapshot, ReadOptions(where)).files(columns=["path"])["path"].combine_chunks()
    )
    for batch in snapshot.add_batches(_LOG_ROWS, columns):
        yield batch if kept is None else batch.filter(pc.is_in(decode_paths(batch["path"]), value_set=kept))


def _not_done(files: pa.RecordBatch, done: pa.Array | None) -> pa.RecordBatch:
    """The files whose path is not among the canonical paths `done`."""
    if done is None or not len(done):
        return files
    return files.filter(pc.invert(pc.is_in(canonical_paths(files["path"]), value_set=done)))


def _default_collations(
    snapshot: Snapshot, columns: Sequence[StatColumn], spark_version: str | None
) -> dict[str, list[str]]:
    """The default collated bounds of each column; see recompute_request.

    A table without the feature `collations` has none: adding it would lock out writers that do not know it.
    """
    listed = kept_versions(snapshot.domains)
    if spark_version is None or not has_feature_or_preview(snapshot.protocol, "collations"):
        return declared_collations(columns, listed)
    for column in columns:
        if column.collation is not None:
            listed.setdefault(column.collation, ())
    return declared_collations(columns, {name: (*versions, spark_version) for name, versions in listed.items()})


# The statistics of a file depend on its values, and its values never change: statistics that the same version of this
# package computed with the same settings, and that were not replaced since, need not be computed again.
def computed_before(snapshot: Snapshot, parameters: Mapping[str, Any]) -> pa.Array:
    """Canonical paths of the files whose statistics were computed with these operation parameters.

    These are the files whose newest add is in a commit of the operation COMPUTE STATS, written by this version of the
    package with the same parameters, among the newest thousand commits.
    """
    first = max(0, snapshot.version - _NEWEST_COMMITS + 1)
    listed = list_commits(snapshot.storage, snapshot.root, first)
    files = [file for file in listed if file.version <= snapshot.version]
    with ThreadPoolExecutor(_READERS, "deltaskip") as pool:
        done = list(pool.map(lambda file: _is_of(_provenance(snapshot, file), parameters), files))
    found: pa.Array = pa.nulls(0, pa.string())
    if not any(done):
        return found
    for file, is_done in list(zip(files, done, strict=True))[done.index(True) :]:
        actions = read_commits(snapshot.storage, snapshot.root, [file], ["path"]).actions
        adds = actions.filter(pc.invert(actions["is_remove"]))
        paths = canonical_paths(adds["path"].combine_chunks())
        found = found.filter(pc.invert(pc.is_in(found, value_set=paths)))
        if is_done:
            found = pa.concat_arrays([found, paths])
    return found


def _provenance(snapshot: Snapshot, file: LogFile) -> CommitInfo | None:
    """The first action of a commit if it is the commitInfo of a recomputation, which this package writes first."""
    head = snapshot.storage.read_range(file.path, 0, _HEAD_BYTES)
    if COMPUTE_OPERATION.encode() not in head:
        return None
    line, end, _ = head.partition(b"\n")
    if not end and file.file.size > _HEAD_BYTES:
        line = read_whole(snapshot.storage, file.file).partition(b"\n")[0]
    try:
        action = parse_json(line)
    except ValueError:
        return None
    info = action.get("commitInfo") if isinstance(action, dict) else None
    return CommitInfo.from_json(info) if isinstance(info, dict) else None


def _is_of(info: CommitInfo | None, parameters: Mapping[str, Any]) -> bool:
    if info is None or info.operation != COMPUTE_OPERATION or info.engine_info != engine_info():
        return False
    logged = info.members.get("operationParameters")
    if not isinstance(logged, dict) or set(logged) != set(parameters):
        return False
    return all(parameter_value(logged[name], value) == value for name, value in parameters.items())


def recompute_plan(snapshot: Snapshot, request: RecomputeRequest, overlap: bool = True) -> RecomputePlan:
    """The expected result of DeltaTable.recompute_stats, from the log alone. overlap: whether to compare bounds."""
    before = _finished_files(snapshot, request)
    lacking = [0] * len(request.statistics.columns)
    chosen = done = size = wide = 0
    for batch in _wanted_files(snapshot, request.where, ["path", "size", "stats"]):
        files = _not_done(batch, before)
        done += len(batch) - len(files)
        for text, file_size in zip(files["stats"].to_pylist(), files["size"].to_pylist(), strict=True):
            missing, is_wide = lacking_columns(text, request.statistics)
            for i in missing:
                lacking[i] += 1
            if missing or not request.only_missing or lacks_expressions(text, request.signatures):
                chosen += 1
                size += file_size or 0
                wide += is_wide
    found = {column.name: column for column in table_coverage(snapshot).columns} if overlap else {}
    names = [display_name(column.logical) for column in request.statistics.columns]
    plans = {
        name: _column_plan(found.get(name), count, snapshot.num_files)
        for name, count in zip(names, lacking, strict=True)
    }
    return RecomputePlan(snapshot.version, chosen, size, done, wide, plans, request.identifiers, request.not_indexed)


def _column_plan(coverage: ColumnCoverage | None, lacking: int, files: int) -> ColumnPlan:
    if coverage is None or not coverage.files_with_bounds or coverage.overlap_depth is None:
        return ColumnPlan(lacking, None, None)
    bounded = coverage.files_with_bounds
    gained = min(lacking, files - bounded)
    # Assume that a point lies in the same share of files with new bounds as of files that have bounds now.
    then = coverage.overlap_depth * (bounded + gained) / bounded + (files - bounded - gained)
    return ColumnPlan(lacking, coverage.files_met, min(then, float(files)))
