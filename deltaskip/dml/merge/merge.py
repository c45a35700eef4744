"""A MERGE: planned against the latest version of the table, executed by an engine, and committed as one version.

# delta-spark's operation MERGE
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deltaskip.actions import AddFile
from deltaskip.data_files.append import set_schema
from deltaskip.data_files.data import GivenRows
from deltaskip.dml.change_plan import ChangePlan, plan_of_files
from deltaskip.dml.changed_rows import AppliedChanges, ChangedRows, apply_changes, check_first
from deltaskip.dml.execution import RowExecution
from deltaskip.dml.files_to_change import DataFiles, FilesToChange, kept_files, no_files
from deltaskip.dml.matching import removed_rows_match
from deltaskip.dml.merge.arrow_source import ArrowMergeSource
from deltaskip.dml.merge.clauses import ClauseKind, MergeClause, check_clauses, expression_text, reads_only_changed_rows
from deltaskip.dml.merge.merge_assignments import evolved_columns, planned_clauses
from deltaskip.dml.merge.merge_execution import MatchedRows, MergeJoin, MergeSource, MergingEngine, SourceRows
from deltaskip.dml.positions import RowPositions
from deltaskip.engine import engine
from deltaskip.features.row_tracking import row_id_columns
from deltaskip.log import Snapshot
from deltaskip.predicates import as_columns_of, expression_node
from deltaskip.records import dataclass
from deltaskip.rows.plan import evolved_schema
from deltaskip.schema.mapping import mapping_mode
from deltaskip.skipping.joins.name_resolution import Names, check_sides
from deltaskip.skipping.joins.source_keys import MatchTemplate, match_template, scan_of
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr.nodes import Literal, Node
from deltaskip.sparkexpr.types import BOOLEAN, StructType
from deltaskip.transforms.partitioning_property import hidden_columns
from deltaskip.txn.operation import commit_operation
from deltaskip.txn.result import WriteResult
from deltaskip.txn.transaction import Transaction
from deltaskip.txn.write_options import PLAIN_WRITE, WriteOptions

_OPERATION = "MERGE"
# The name of the table in expressions with columns of its DataFrames, if it has no name.
_FRAME = "__deltaskip_target"

_ACTIONS: dict[ClauseKind, str] = {
    "matched": "matchedPredicates",
    "not matched": "notMatchedPredicates",
    "not matched by source": "notMatchedBySourcePredicates",
}


@dataclass(frozen=True, slots=True)
class Merge:
    """A MERGE as the caller describes it.

    Attributes:
        on: The condition: SQL text, a PySpark Column or an expression of `deltaskip.col`.
        clauses: The clauses in their order.
        source_alias: The name of the source in expressions; None for the alias of its DataFrame, see `default_aliases`.
        target_alias: The name of the table in expressions; None for none.
        evolves: Whether new columns of the source are added to the table.
    """

    on: Any
    clauses: tuple[MergeClause, ...]
    source_alias: str | None = None
    target_alias: str | None = None
    evolves: bool = False


def without_frames(statement: Merge, table: str, source: Any) -> Merge:
    """Return a merge with names in place of columns of the table's DataFrames, such as `table.toDF()["id"]`.

    Args:
        statement: The merge.
        table: The location of the table.
        source: The DataFrame that is merged; None for other rows.

    Raises PredicateError for a column that belongs to a DataFrame of both sides, or of neither.
    """
    alias = statement.target_alias or _FRAME
    has_frames = False

    def named(value: Any) -> Any:
        nonlocal has_frames
        found = as_columns_of(value, table, alias, source)
        has_frames |= found is not value
        return found

    clauses = tuple(
        replace(
            clause,
            where=named(clause.where),
            values=clause.values and {name: named(value) for name, value in clause.values.items()},
        )
        for clause in statement.clauses
    )
    on = named(statement.on)
    return replace(statement, on=on, clauses=clauses, target_alias=alias if has_frames else statement.target_alias)


def merge(
    snapshot: Snapshot, statement: Merge, source: MergeSource, options: WriteOptions = PLAIN_WRITE
) -> WriteResult:
    """Merge rows of a source into the table, see DeltaTable.merge. The source is released at the end."""
    check_clauses(statement.clauses, snapshot.root)
    try:
        return commit_operation(
            snapshot, _OPERATION, lambda transaction: merge_in(transaction, statement, source), options
        )
    finally:
        source.release()


def plan_merge(snapshot: Snapshot, statement: Merge, source: MergeSource) -> ChangePlan:
    """Return which files a merge may touch; the source is read and released, the table only planned."""
    check_clauses(statement.clauses, snapshot.root)
    try:
        resolved = _resolved(Transaction(snapshot, _OPERATION, {}, False), statement, source)
        plan = _plan(resolved, _prepared(resolved, source))
    finally:
        source.release()
    files = plan.join.files
    return plan_of_files(_OPERATION, plan.scan, FilesToChange(files.take([]), files))


def merge_in(transaction: Transaction, statement: Merge, source: MergeSource) -> dict[str, int]:
    """Add a merge to a transaction that does not change files yet, and return Delta's metrics of it.

    Args:
        transaction: The transaction. Its `discard` deletes the files that are written.
        statement: The merge.
        source: The rows of the source.

    Raises:
        InvalidCommit: The transaction adds or removes files already.
        AmbiguousMerge: Several rows of the source match one row of the target.
        PredicateError: A condition or expression is not valid, or a condition fails for a row.
        SchemaError: A column does not exist or cannot be set.
        RowViolation: A row violates a constraint, or a value does not fit its column.
        UnsupportedFeature: An expression can only be evaluated by Spark.
        StorageError: Storage failed.
    """
    start = time.monotonic()
    check_first(transaction, "merge")
    transaction.set_parameters(_parameters(statement))
    with transaction.cost.phase("plan"):
        resolved = _resolved(transaction, statement, source)
        rows = _prepared(resolved, source)
        began = time.monotonic()
        plan = _plan(resolved, rows)
        source_seconds = time.monotonic() - began
    with transaction.cost.phase("read"):
        found = rows.matched(plan.join)
    transaction.read_scan(plan.scan, removes=reads_only_changed_rows(statement.clauses))
    transaction.changes.rows_match = removed_rows_match
    files = plan.join.files
    transaction.cost.count("read", len(files), files.size_in_bytes)
    scanned = time.monotonic()
    applied = AppliedChanges()
    changes = any(found.counts.values())
    if resolved.configuration is not None:
        set_schema(transaction, plan.join.schema, resolved.configuration)
    if changes or found.inserts:
        changed = ChangedRows(files.take([]), files, found.deleted, found.updated, found.new, inserts=found.inserts)
        applied = apply_changes(transaction, changed, rows.execution)
    end = time.monotonic()
    times = {
        "scanTimeMs": scanned - source_seconds - start,
        "rewriteTimeMs": end - scanned,
        "executionTimeMs": end - start,
        "materializeSourceTimeMs": source_seconds,
    }
    return _metrics(plan.join, found, applied, rows.count()) | {
        name: int(seconds * 1000) for name, seconds in times.items()
    }


@dataclass(frozen=True, slots=True)
class MatchedFiles:
    """The rows of a table that match a row of a source, found but not removed yet.

    Attributes:
        scan: The scan that found the files.
        files: The files that may contain such rows.
        deleted: For each file the positions of the rows; None for no rows.
        execution: Reads and writes the rows of the table.
    """

    scan: Scan
    files: DataFiles
    deleted: RowPositions | None
    execution: RowExecution

    def remove(self, transaction: Transaction, inserted: Sequence[AddFile]) -> AppliedChanges:
        """Add the actions that remove the rows, see `apply_changes`. inserted: the new files of the transaction."""
        transaction.changes.rows_match = removed_rows_match
        changed = ChangedRows(self.files.take([]), self.files, self.deleted)
        return apply_changes(transaction, changed, self.execution, inserted)


def matched_files(transaction: Transaction, statement: Merge, source: MergeSource) -> MatchedFiles:
    """Return the rows of the table that a merge which only deletes would delete. Raises as `merge_in` does."""
    with transaction.cost.phase("plan"):
        resolved = _resolved(transaction, statement, source)
        rows = _prepared(resolved, source)
        plan = _plan(resolved, rows)
    files = plan.join.files
    transaction.cost.count("read", len(files), files.size_in_bytes)
    with transaction.cost.phase("read"):
        return MatchedFiles(plan.scan, files, rows.matched(plan.join).deleted, rows.execution)


@dataclass(frozen=True, slots=True)
class _Resolved:
    """A merge with all names of columns resolved, before its files are known.

    Attributes:
        join: The merge, without files.
        on: Its condition, not bound.
        names: The names of both sides.
        incoming: The schema of the source.
        template: The condition on rows of the table that values of the source complete.
        configuration: Properties to set with a changed schema, or None.
        sees_all: Whether a clause may apply to any row of the table.
    """

    join: MergeJoin
    on: Node
    names: Names
    incoming: StructType
    template: MatchTemplate
    configuration: Mapping[str, str] | None
    sees_all: bool


@dataclass(frozen=True, slots=True)
class _Plan:
    """A merge with the files that it may touch, and the scan that found them, whose rows it depends on."""

    join: MergeJoin
    scan: Scan


def _resolved(transaction: Transaction, statement: Merge, source: MergeSource) -> _Resolved:
    """Resolve the columns of a merge. Nothing is read."""
    snapshot, metadata, schema = transaction.snapshot, transaction.metadata, transaction.schema
    root = snapshot.root
    properties = snapshot.typed(metadata.configuration)
    mode = mapping_mode(transaction.protocol, properties)
    incoming = source.schema_for(schema)
    after, configuration = schema, None
    if statement.evolves:
        new = evolved_columns(statement.clauses, schema, incoming, statement.target_alias, root)
        after, set_with = evolved_schema(schema, properties, new, metadata.partition_columns, mode)
        if after != schema:
            configuration = set_with
            properties = snapshot.typed({**metadata.configuration, **set_with})
    clauses = planned_clauses(
        statement.clauses,
        after,
        incoming,
        evolves=statement.evolves,
        target_alias=statement.target_alias,
        table=root,
        hidden=hidden_columns(after, metadata.partition_columns, properties.configuration),
    )
    on = expression_node(statement.on, meaning=source.meaning([statement.on]))
    names = Names(snapshot.schema, incoming, statement.target_alias, statement.source_alias, source.is_plain)
    check_sides(on, names, root)
    template = match_template(on, snapshot, incoming, names, source.time_zone)
    join = MergeJoin(
        snapshot=snapshot,
        files=no_files(snapshot),
        on=statement.on,
        clauses=clauses,
        schema=after,
        properties=properties,
        partition_columns=tuple(metadata.partition_columns),
        mapping_mode=mode,
        target_alias=statement.target_alias,
        row_ids=row_id_columns(properties, snapshot.protocol),
        keys=template.columns,
        evolves=statement.evolves,
    )
    sees_all = any(clause.kind == "not matched by source" for clause in statement.clauses)
    return _Resolved(join, on, names, incoming, template, configuration, sees_all)


def _prepared(resolved: _Resolved, source: MergeSource) -> SourceRows:
    """The rows of the source with the execution that was chosen. Nothing is read yet."""
    rows = source.prepared(resolved.join, resolved.incoming)
    check_sides(resolved.on, resolved.names, resolved.join.snapshot.root, prepared=True)
    return rows


def _plan(resolved: _Resolved, rows: SourceRows) -> _Plan:
    """Plan a merge by the log and the keys of the source, which is read; the rows of the table are not."""
    scan = _scan(resolved, rows)
    return _Plan(replace(resolved.join, files=kept_files(scan)), scan)


def _scan(resolved: _Resolved, rows: SourceRows) -> Scan:
    """The scan of the files that the merge may touch."""
    snapshot, template, execution = resolved.join.snapshot, resolved.template, rows.execution
    if resolved.sees_all:
        rows.count()
        return execution.planned(scan_of(snapshot, Literal(True, BOOLEAN), execution.time_zone))
    values = rows.key_values(template.keys, False)
    scan = execution.planned(scan_of(snapshot, template.predicate(values), execution.time_zone))
    if not any(key.equal for key in template.keys) or len(scan.files(columns=["path"])) < 2:
        return scan
    values = rows.key_values(template.keys, True)
    if all(each.values is None for each in values):
        return scan
    return execution.planned(scan_of(snapshot, template.predicate(values), execution.time_zone))


def _metrics(join: MergeJoin, found: MatchedRows, applied: AppliedChanges, source_rows: int) -> dict[str, int]:
    def rows(kind: ClauseKind, action: str) -> int:
        return sum(
            count
            for number, count in found.counts.items()
            if join.clauses[number].kind == kind and join.clauses[number].action == action
        )

    matched_updated, matched_deleted = rows("matched", "update"), rows("matched", "delete")
    left_updated = rows("not matched by source", "update")
    left_deleted = rows("not matched by source", "delete")
    return {
        "numSourceRows": source_rows,
        "numTargetRowsInserted": applied.inserted,
        "numTargetRowsUpdated": matched_updated + left_updated,
        "numTargetRowsMatchedUpdated": matched_updated,
        "numTargetRowsNotMatchedBySourceUpdated": left_updated,
        "numTargetRowsDeleted": matched_deleted + left_deleted,
        "numTargetRowsMatchedDeleted": matched_deleted,
        "numTargetRowsNotMatchedBySourceDeleted": left_deleted,
        "numTargetRowsCopied": applied.copied,
        "numOutputRows": applied.inserted + matched_updated + left_updated + applied.copied,
        "numTargetFilesAdded": len(applied.added),
        "numTargetBytesAdded": applied.added_bytes,
        "numTargetFilesRemoved": applied.files,
        "numTargetBytesRemoved": applied.bytes,
        "numTargetChangeFilesAdded": applied.change_files,
        "numTargetDeletionVectorsAdded": applied.marked,
        "numTargetDeletionVectorsUpdated": applied.marked_again,
        "numTargetDeletionVectorsRemoved": applied.vectors_removed,
    }


def _parameters(statement: Merge) -> dict[str, object]:
    """The parameters in the table's history."""
    found: dict[str, object] = {"predicate": [expression_text(statement.on)]}
    for kind, name in _ACTIONS.items():
        found[name] = [
            {
                **({} if clause.where is None else {"predicate": expression_text(clause.where)}),
                "actionType": clause.action,
            }
            for clause in statement.clauses
            if clause.kind == kind
        ]
    return found


def merge_source(rows: GivenRows, alias: str | None, spark: Any, time_zone: str, snapshot: Snapshot) -> MergeSource:
    """Return the source of a merge.

    Args:
        rows: Its rows.
        alias: The name of the source in expressions; None for the alias of its DataFrame.
        spark: A session for Arrow data; None to join them in this process.
        time_zone: Time zone of expressions in this process.
        snapshot: The table.
    """
    table = snapshot.root
    if rows.frame is None and spark is None:
        return ArrowMergeSource(rows, table, alias, time_zone)
    given, session = rows.frame, rows.frame
    if given is None:
        rows.schema_for(snapshot.schema)
        given, session = rows.table(table), spark
    return engine(f"Merging into {table}", MergingEngine).merge_source(session, given, alias)
