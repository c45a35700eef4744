"""Overwriting: new rows replace all rows, the rows in their partitions, or the rows that match a predicate.

# PROTOCOL, Add File and Remove File; delta-spark's operation WRITE with mode Overwrite
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from deltaskip import arguments
from deltaskip.actions import parse_partition_value
from deltaskip.data_files.append import PARTITION_BY, append_to
from deltaskip.data_files.data import GivenRows
from deltaskip.data_files.written_rows import WrittenRows
from deltaskip.dml.changed_rows import AppliedChanges, check_first
from deltaskip.dml.delete import remove_rows
from deltaskip.dml.execution import RowExecution
from deltaskip.dml.files_to_change import FilesToChange, PartitionKey, files_of_partitions
from deltaskip.dml.merge.clauses import MergeClause, checked_condition, expression_text
from deltaskip.dml.merge.merge import MatchedFiles, Merge, matched_files, merge_source, without_frames
from deltaskip.dml.merge.merge_execution import MergeSource
from deltaskip.dml.rows_to_change import RowsToChange, execution_of, rows_to_change
from deltaskip.errors import InvalidArgument, OptionAdvice, PredicateError, SchemaError
from deltaskip.log import Snapshot
from deltaskip.predicates import as_columns_of, given_predicate, written_node
from deltaskip.records import dataclass
from deltaskip.rows.plan import SchemaMode
from deltaskip.skipping.joins.name_resolution import condition_of, default_aliases
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr import exact_sql, nodes
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.types import StructField, StructType, physical_name
from deltaskip.transforms import Transform
from deltaskip.txn.operation import commit_operation
from deltaskip.txn.result import WriteResult
from deltaskip.txn.transaction import Transaction
from deltaskip.txn.write_options import PLAIN_WRITE, TABLE_FILES, FileOptions, WriteOptions

# A predicate with more partitions than this is recorded column by column, so that checking it stays fast.
_MOST_PARTITIONS = 64


_WHERE = OptionAdvice("where", text="where")
_ON = OptionAdvice("on", text="on")
_UNCHANGED = OptionAdvice("data_change", False)
_DYNAMIC = OptionAdvice("partitions", "dynamic")
_REPLACE_SCHEMA = OptionAdvice("schema_mode", "replace")


@dataclass(frozen=True, slots=True)
class Matching:
    """The condition under which a new row replaces a row of the table.

    Attributes:
        on: The condition, as `Merge` has it.
        columns: The columns whose values it compares by `=`; () for another condition.
        target: The given name of the table in the condition; None for the default.
        source: The given name of the new rows there; None for the default.
    """

    on: Any
    columns: tuple[str, ...] = ()
    target: str | None = None
    source: str | None = None

    @classmethod
    def of(cls, on: Any, schema: StructType, target: str | None, source: str | None) -> Matching:
        """Return the condition that a caller gives, or that of names of columns.

        Args:
            on: The condition, or the names of columns, as for DeltaTable.merge.
            schema: The columns of the table.
            target: The name of the table; None for the default.
            source: The name of the new rows; None for the default.

        Raises PredicateError for a list with a string that is no name, and for an empty condition.
        """
        condition = condition_of(on, schema, target, source)
        if condition is on:
            return cls(checked_condition("on", on), (), target, source)
        return cls(condition, arguments.names("on", on), target or "target", source or "source")

    def aliases(self, of_frame: bool) -> tuple[str | None, str | None]:
        """The names of the table and of the new rows in the condition. of_frame: whether these are a DataFrame."""
        return default_aliases(self.target, self.source, of_frame)

    @property
    def parameters(self) -> dict[str, object]:
        """The parameters in the table's history. # delta-spark 4.4, DeltaOperations.Write"""
        if self.columns:
            return {"replaceUsingCols": f"({', '.join(self.columns)})"}
        return {"replaceOnCond": expression_text(self.on)}

    def found(self, transaction: Transaction, source: MergeSource, frame: Any = None) -> MatchedFiles:
        """Return the rows of the table that match a row of the source. frame: the DataFrame of the source, or None."""
        root = transaction.snapshot.table_root
        target, alias = self.aliases(frame is not None)
        statement = Merge(self.on, (MergeClause("matched", "delete"),), alias, target)
        return matched_files(transaction, without_frames(statement, root, frame), source)


@dataclass(frozen=True, slots=True)
class Overwrite:
    """The rows that an overwrite replaces, and the treatment of the schema.

    Attributes:
        where: SQL text of the predicate of the rows to replace, from `predicate_text`; None for all rows.
        partitions: "static" replaces all rows, "dynamic" the rows in the partitions of the new rows.
        schema_mode: "keep", "merge" or "replace".
        partition_by: How a replaced schema is partitioned; None to keep the table's partitioning.
        matching: The rows to replace are those that match a new row; None for those of the other attributes.

    Raises:
        InvalidArgument: Arguments exclude each other.
    """

    where: str | None = None
    partitions: Literal["static", "dynamic"] = "static"
    schema_mode: SchemaMode = "keep"
    partition_by: tuple[Transform, ...] | None = None
    matching: Matching | None = None

    @property
    def replaces_some(self) -> bool:
        """Whether rows of the table may stay."""
        return self.where is not None or self.partitions == "dynamic" or self.matching is not None

    def __post_init__(self) -> None:
        # delta-spark, WriteIntoDelta: overwriteSchema is refused with dynamic partition overwrite and replaceWhere.
        # delta-spark, validateReplaceOnOrUsingOptionCombinations
        if self.matching is not None and (self.where is not None or self.partitions == "dynamic"):
            other = _WHERE if self.where is not None else _DYNAMIC
            raise InvalidArgument(
                f"Specify either {_ON} or {other}, not both: each names the rows to replace."
            ).advising(_ON, other)
        if self.matching is not None and self.schema_mode == "replace":
            raise InvalidArgument(f"{_REPLACE_SCHEMA} replaces all rows, so {_ON} cannot be given with it.").advising(
                _REPLACE_SCHEMA, _ON
            )
        if self.partitions == "dynamic" and self.where is not None:
            raise InvalidArgument(
                f"Specify either {_WHERE} or {_DYNAMIC}, not both: each names the rows to replace."
            ).advising(_WHERE, _DYNAMIC)
        if self.schema_mode == "replace" and (self.partitions == "dynamic" or self.where is not None):
            other = _WHERE if self.where is not None else _DYNAMIC
            raise InvalidArgument(f"{_REPLACE_SCHEMA} replaces all rows, so {other} cannot be given with it.").advising(
                _REPLACE_SCHEMA, other
            )
        if self.partition_by is not None and self.schema_mode != "replace":
            raise InvalidArgument(
                f"{PARTITION_BY} can be given only with {_REPLACE_SCHEMA}, which rewrites all rows."
            ).advising(PARTITION_BY, _REPLACE_SCHEMA)


@dataclass(frozen=True, slots=True, eq=False)
class PlannedOverwrite:
    """The plan of an overwrite of a version of a table.

    Attributes:
        replaced: The rows to remove, and the treatment of the schema.
        execution: Reads and writes the rows of files that lose only some rows.
        change: The files that lose rows; None if the partitions of the new rows decide.
    """

    replaced: Overwrite
    execution: RowExecution
    change: RowsToChange | MatchedFiles | None


def predicate_text(where: object, params: object, snapshot: Snapshot) -> str | None:
    """Return a predicate on a table's rows as the SQL text that is recorded and checked; None for None.

    Raises PredicateError for a PySpark expression without SQL text or with a column of another DataFrame, and as
    `given_predicate` does.
    """
    where = given_predicate(where, params, snapshot.schema)
    if where is None or isinstance(where, str):
        return None if where is None else arguments.text("where", where)
    node = written_node(as_columns_of(where, snapshot.table_root))
    without_text = next((part for part in nodes.walk(node) if isinstance(part, nodes.UnprintableExpression)), None)
    if without_text is not None:
        raise PredicateError(
            f"The expression {without_text.sql} of where cannot be written as SQL text: pass where as text."
        )
    return exact_sql(node)


def overwrite(snapshot: Snapshot, data: Any, replaced: Overwrite, options: WriteOptions = PLAIN_WRITE) -> WriteResult:
    """Overwrite rows of the table, see DeltaTable.overwrite."""
    rows = GivenRows(data)
    if replaced.matching is not None and not options.data_change:
        raise InvalidArgument(
            f"Rows that match new ones are replaced, which changes rows of {snapshot.root}: leave out either {_ON} or "
            f"{_UNCHANGED}."
        ).advising(_ON, _UNCHANGED)

    def act(transaction: Transaction) -> Mapping[str, int]:
        metrics = overwrite_in(transaction, rows, replaced, options.time_zone, options.files)
        if not options.data_change:
            transaction.changes.rearrange()
        return metrics

    return commit_operation(snapshot, "WRITE", act, options, rows.repeatable)


def overwrite_in(
    transaction: Transaction,
    rows: GivenRows,
    replaced: Overwrite,
    time_zone: str = "UTC",
    files: FileOptions = TABLE_FILES,
) -> dict[str, int]:
    """Add an overwrite to a transaction that does not change files yet, and return Delta's metrics of it.

    Args:
        transaction: The transaction. Its `discard` deletes the files.
        rows: The new rows.
        replaced: The rows to replace.
        time_zone: Time zone of the predicate and of casts; a DataFrame uses the time zone of its session.
        files: How the data files of the new rows are made.

    Raises:
        InvalidCommit: The transaction adds or removes files already.
        PredicateError: The predicate is not valid, or fails for a row.
        SchemaError: The columns of the rows do not fit the table.
        RowViolation: A row violates a constraint or does not match the predicate, or a value does not fit its column.
        UnsupportedFeature: The table needs a feature that deltaskip cannot write, or Spark for an expression.
        StorageError: The files cannot be written.
    """
    check_first(transaction, "overwrite")
    if replaced.matching is not None:
        _, alias = replaced.matching.aliases(rows.frame is not None)
        source = merge_source(rows, alias, None, time_zone, transaction.snapshot)
        try:
            found = replaced.matching.found(transaction, source, rows.frame)
            plan = PlannedOverwrite(replaced, found.execution, found)
            return _written_and_replaced(transaction, source.computed(), plan, time_zone, files)
        finally:
            source.release()
    with transaction.cost.phase("plan"):
        plan = plan_overwrite(transaction.snapshot, replaced, rows.frame, time_zone)
    return _written_and_replaced(transaction, rows, plan, time_zone, files)


def _written_and_replaced(
    transaction: Transaction, rows: GivenRows, plan: PlannedOverwrite, time_zone: str, files: FileOptions
) -> dict[str, int]:
    """Write the new rows, and remove those that they replace."""
    replaced = plan.replaced
    with transaction.cost.phase("write"):
        try:
            written = append_to(
                transaction,
                rows,
                replaced.schema_mode,
                time_zone,
                where=replaced.where,
                partition_by=replaced.partition_by,
                files=files,
            )
        except SchemaError as error:
            if replaced.schema_mode == "replace" or replaced.replaces_some:
                raise
            cure = f"To replace the columns of the table by those of the rows, overwrite with {_REPLACE_SCHEMA}."
            raise type(error)(f"{error} {cure}").advising(_REPLACE_SCHEMA) from error
    return replace_rows(transaction, plan, written)


def plan_overwrite(snapshot: Snapshot, replaced: Overwrite, spark: Any, time_zone: str) -> PlannedOverwrite:
    """Return the plan of an overwrite. Only the log is read.

    Args:
        snapshot: The version of the table.
        replaced: The rows to replace.
        spark: The DataFrame with the new rows; None to read and write rows in this process.
        time_zone: Time zone of the predicate; a session uses its own.

    Raises:
        PredicateError: The predicate is not valid.
        UnsupportedFeature: The predicate can only be evaluated by Spark.
    """
    execution = execution_of(snapshot, spark, time_zone, "Overwriting")
    by_rows = replaced.partitions == "dynamic" and snapshot.partition_columns
    return PlannedOverwrite(
        replaced, execution, None if by_rows else rows_to_change(snapshot, replaced.where, execution)
    )


def replace_rows(transaction: Transaction, plan: PlannedOverwrite, written: WrittenRows) -> dict[str, int]:
    """Remove the rows that an overwrite replaces, and return Delta's metrics of it.

    Args:
        transaction: The transaction, to which the new files were added.
        plan: The rows to remove.
        written: The new files.

    Raises:
        PredicateError: The predicate fails for a row.
        UnsupportedFeature: The predicate can only be evaluated by Spark, or the table is append-only.
        StorageError: A file cannot be read or written.
    """
    replaced, dynamic = plan.replaced, plan.change is None
    transaction.set_parameters(_parameters(transaction, replaced, dynamic))
    change = plan.change or _change_of_partitions(transaction.snapshot, written, plan.execution)
    removed = AppliedChanges()
    if change is not None:
        transaction.read_scan(change.scan, removes=not dynamic)
        if isinstance(change, MatchedFiles):
            removed = change.remove(transaction, written.files)
        else:
            removed = remove_rows(transaction, change, written.files)
    return _metrics(written, removed, replaced.where is not None or replaced.matching is not None)


def _change_of_partitions(snapshot: Snapshot, written: WrittenRows, execution: RowExecution) -> RowsToChange | None:
    """The removal of all rows in the partitions of the new rows; None if there are none."""
    fields, mode = snapshot.partition_fields, snapshot.mapping_mode
    names = [physical_name(field, mode) for field in fields]
    partitions = {tuple(file.partition_values[name] for name in names) for file in written.files}
    if not partitions:
        return None
    scan = execution.planned(Scan(snapshot, ReadOptions(_of_partitions(fields, partitions))))
    whole = files_of_partitions(scan, partitions)
    return RowsToChange(execution, scan, FilesToChange(whole, whole.take([])))


def _of_partitions(fields: Sequence[StructField], partitions: set[PartitionKey]) -> nodes.Node:
    """A predicate that is TRUE in these partitions; if they are many, it may be TRUE in others with the same values."""
    if len(partitions) <= _MOST_PARTITIONS:
        return nodes.Or(tuple(nodes.And(tuple(map(_is, fields, key))) for key in sorted(partitions, key=repr)))
    columns = [sorted(set(texts), key=repr) for texts in zip(*partitions, strict=True)]
    return nodes.And(tuple(_is_one_of(field, texts) for field, texts in zip(fields, columns, strict=True)))


def _is(field: StructField, text: str | None) -> nodes.Node:
    return n.Compare("<=>", nodes.Column((field.name,)), n.Literal(_value(field, text), field.type))


def _is_one_of(field: StructField, texts: Sequence[str | None]) -> nodes.Node:
    column = nodes.Column((field.name,))
    values = tuple(n.Literal(_value(field, text), field.type) for text in texts if text is not None)
    legs: list[nodes.Node] = [nodes.In(column, values)] if values else []
    return nodes.Or((*legs, n.IsNull(column))) if None in texts else nodes.Or(tuple(legs))


def _value(field: StructField, text: str | None) -> Any:
    return None if text is None else parse_partition_value(text, field.type)


def _parameters(transaction: Transaction, options: Overwrite, dynamic: bool) -> dict[str, object]:
    found: dict[str, object] = {"mode": "Overwrite", "partitionBy": list(transaction.metadata.partition_columns)}
    if options.where is not None:
        found["predicate"] = options.where
    if options.matching is not None:
        found |= options.matching.parameters
    if dynamic:
        found["isDynamicPartitionOverwrite"] = True
    if options.schema_mode != "keep":
        found["canOverwriteSchema" if options.schema_mode == "replace" else "canMergeSchema"] = True
    return found


def _metrics(written: WrittenRows, removed: AppliedChanges, counted: bool) -> dict[str, int]:
    """Delta's metrics. Rows that were written again count as output, as in delta-spark."""
    found = {
        "numFiles": len(written.files) + len(removed.added),
        "numOutputRows": written.rows + removed.copied,
        "numOutputBytes": written.size_in_bytes + removed.added_bytes,
        "numRemovedFiles": removed.files,
        "numRemovedBytes": removed.bytes,
    }
    if counted:
        found |= {"numCopiedRows": removed.copied, "numAddedChangeFiles": removed.change_files}
        if removed.deleted is not None:
            found["numDeletedRows"] = removed.deleted
    return found
