"""A write of the data source: planned on the driver, carried out by Python workers, and committed by the driver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import pyarrow as pa
from pyspark import TaskContext

from deltaskip.data_files.append import PlannedAppend, add_rows, plan_append, write_metrics
from deltaskip.data_files.data import GivenRows
from deltaskip.data_files.parquet_writer import DataFileLayout, write_data_files
from deltaskip.data_files.written_rows import WrittenRows
from deltaskip.dml.arrow_execution import ArrowExecution
from deltaskip.dml.merge.arrow_source import ArrowMergeSource
from deltaskip.dml.overwrite import Matching, Overwrite, PlannedOverwrite, plan_overwrite, replace_rows
from deltaskip.engine import current_collation_version
from deltaskip.errors import UnsupportedFeature
from deltaskip.features.enabling import NEW_TABLE
from deltaskip.features.identity_columns import IdentityColumn
from deltaskip.log.new_table import BEFORE_CREATION, before_creation
from deltaskip.records import dataclass
from deltaskip.rows.arrow_conversion import ArrowRows
from deltaskip.rows.arrow_layout import plain_batches
from deltaskip.rows.schema_merge import incoming_schema, replaced_schema
from deltaskip.rows.zone_dependence import holds_instants, is_zoneless, zone_dependent
from deltaskip.schema.properties import codec_argument
from deltaskip.skipping.joins.name_resolution import Names
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.spark.session.session_settings import SESSION_CODEC, SESSION_MAX_ROWS
from deltaskip.spark.source.session_checks import untold_zone
from deltaskip.spark.source.source_write_options import SourceWriteOptions
from deltaskip.sparkexpr import parse_sql
from deltaskip.sparkexpr.nodes import Call, Cast, Node, Opaque, columns_of, walk
from deltaskip.sparkexpr.types import TIMESTAMP, StructType, arrow_schema, resolve
from deltaskip.sparkexpr.values.arrow_values import distinct_rows, no_rows
from deltaskip.storage import open_storage
from deltaskip.storage.new_folders import NewFolders
from deltaskip.table.creation import TableDefinition, creation
from deltaskip.table.table import DeltaTable
from deltaskip.txn.operation import committed_before, record_version
from deltaskip.txn.transaction import Transaction

# Steps between consecutive identity values of a task, because a task does not know the number of tasks.
_IDENTITY_TASKS = 4096
_WRITE = "WRITE"
# Values of this number of batches are joined before the next ones.
_KEY_BATCHES = 64


@dataclass(frozen=True, slots=True)
class PlannedWrite:
    """A write as it was planned for a version of a table. It can be pickled.

    Attributes:
        options: The options of the write.
        version: The version; BEFORE_CREATION if the write creates the table.
        append: How rows become files; its layout has no storage.
        replaced: The rows that the new ones replace; None for an append, and for a new table.
        time_zone: Time zone of casts; None for the session's, which only the rows contain.
        keys: The columns of the rows in the condition under which they replace rows; None for no such condition.
        new_folders: The local folders that the tasks create for a new table.
    """

    options: SourceWriteOptions
    version: int
    append: PlannedAppend
    replaced: Overwrite | None
    time_zone: str | None
    keys: tuple[str, ...] | None = None
    new_folders: NewFolders | None = None

    @classmethod
    def of(cls, options: SourceWriteOptions, incoming: StructType) -> PlannedWrite:
        """Return the plan for rows with these columns and the latest version of the table, or a new table.

        Raises:
            SchemaError: The columns do not fit the table.
            PredicateError: The predicate of rows to replace is not valid.
            InvalidArgument: Options exclude each other, an option has a wrong value, or the time zone is missing.
            UnsupportedFeature: The table needs a feature that deltaskip cannot write.
        """
        table, zone = options.table(), options.time_zone
        replaced = None if table is None else options.replacement(table, incoming)
        where = None if replaced is None else replaced.where
        given = zone or "UTC", current_collation_version
        keys = None
        if table is None:
            transaction = _created(options, incoming)
            append = plan_append(transaction, incoming, "keep", *given, where=where, files=options.files)
        else:
            transaction = Transaction(table.snapshot, _WRITE)
            if where is not None:
                # The predicate is checked before anything is written. Its files are planned with the commit.
                ArrowExecution(table.snapshot, given[0]).planned(Scan(table.snapshot, ReadOptions(where)))
            if replaced is not None and replaced.matching is not None:
                keys = _keys(replaced.matching, table, incoming, zone)
                # The condition is checked before anything is written.
                nothing = no_rows(pa.schema(arrow_schema(incoming)))
                replaced.matching.found(transaction, _source(nothing, replaced.matching, table.uri, given[0]))
                transaction = Transaction(table.snapshot, _WRITE)
            chosen = None if replaced is None else replaced.partition_by
            mode, files = options.schema_mode, options.files
            append = plan_append(transaction, incoming, mode, *given, where=where, partition_by=chosen, files=files)
        if zone is None:
            _check_zone(append, incoming, where)
        bare = replace(append, layout=replace(append.layout, storage=None))  # type: ignore[arg-type]
        folders = None if append.layout.storage.remote else transaction.new_folders
        return cls(options, transaction.snapshot.version, bare, replaced, zone, keys, folders)

    def write(self, batches: Iterable[pa.RecordBatch], task: int) -> tuple[WrittenRows, pa.Table | None]:
        """Write the rows of a task as data files. After an error no file is left.

        Args:
            batches: The rows.
            task: The index of the task.

        Returns:
            The files, and the distinct values of `keys`.

        Raises as `GivenRows.write` does.
        """
        given = iter(batches)
        first = next(given, None)
        if first is None:
            return WrittenRows((), 0), None
        found = None if self.keys is None else _DistinctRows(self.keys)
        zone = self.time_zone or _zone_of(first) or "UTC"
        rows = ArrowRows(self.append.rows, zone)
        rows.identities = {name: _of_task(each, task, self.append) for name, each in rows.identities.items()}
        plan = self.append.rows
        batches = chain((first,), given)
        if found is not None:
            batches = map(found.put, batches)
        plain = plain_batches(batches, incoming_schema(first.schema, plan.schema), plan.table)
        layout = _with_settings(replace(self.layout, time_zone=zone))
        written = write_data_files(rows.stream(plain), layout)
        return replace(written, identities=rows.identities), None if found is None else found.rows()

    @property
    def layout(self) -> DataFileLayout:
        """The layout of the data files, with the storage of the table."""
        storage, _ = open_storage(self.options.source.path, self.options.source.storage_options)
        return replace(self.append.layout, storage=storage)

    def commit(
        self,
        tasks: Sequence[WrittenRows],
        txn: tuple[str, int] | None,
        operation: tuple[str, Mapping[str, object]] | None = None,
        keys: Sequence[pa.Table] = (),
    ) -> None:
        """Commit the files of all tasks as one version. After an error no file is left.

        Args:
            tasks: The files of each task.
            txn: Application id and version; nothing is committed if the table has this version or a later one.
            operation: Name and parameters in the table's history; None for delta-spark's WRITE.
            keys: The distinct values of `keys` of each task.

        Raises:
            CommitConflict: Another writer changed what the write depends on.
            SchemaError: The rows have values that an identity column cannot have.
            TableAlreadyExists: Another writer has created the table.
            StorageError: Storage failed.
        """
        append = replace(self.append, layout=self.layout)
        files = WrittenRows(tuple(file for task in tasks for file in task.files), sum(task.rows for task in tasks))
        try:
            written = replace(files, identities=_identities(tasks, append))
            transaction = self._transaction(append)
        except BaseException:
            files.delete(append.layout.storage, append.layout.root)
            raise
        transaction.changes.undo.append(lambda: files.delete(append.layout.storage, append.layout.root))
        try:
            if record_version(transaction, txn):
                transaction.discard()
                return
            transaction.set_metrics(self._added(transaction, append, written, keys))
            if not self.options.data_change:
                transaction.changes.rearrange()
            if operation is not None:
                transaction.set_operation(*operation)
            if transaction.has_actions:
                transaction.commit()
        except BaseException:
            transaction.discard()
            raise

    def is_done(self, txn: tuple[str, int] | None) -> bool:
        """Whether the table has this version of an application already, or a later one."""
        if txn is None or self.version == BEFORE_CREATION:
            return False
        source = self.options.source
        return bool(committed_before(DeltaTable(source.path, storage_options=source.storage_options).snapshot, txn))

    def _transaction(self, append: PlannedAppend) -> Transaction:
        """The transaction on the version that was planned for."""
        source, said = self.options.source, self.options.user_metadata
        if self.version != BEFORE_CREATION:
            snapshot = source.table_at(self.version).snapshot
            return Transaction(snapshot, _WRITE, None, False, said)
        layout = append.layout
        snapshot = before_creation(layout.storage, layout.root, NEW_TABLE, append.metadata.id)
        transaction = Transaction(snapshot, _WRITE, None, False, said)
        transaction.set_protocol(append.protocol)
        transaction.set_metadata(append.metadata)
        # The tasks have created these folders.
        transaction.new_folders = self.new_folders
        return transaction

    def _added(
        self, transaction: Transaction, append: PlannedAppend, written: WrittenRows, keys: Sequence[pa.Table]
    ) -> Mapping[str, int]:
        """Add the files, remove the rows that they replace, and return Delta's metrics."""
        if self.replaced is None:
            mode = "Overwrite" if self.options.overwrites else "Append"
            add_rows(transaction, append, written)
            transaction.set_parameters({"mode": mode, "partitionBy": list(append.metadata.partition_columns)})
            return write_metrics(written)
        zone, matching = self.time_zone or "UTC", self.replaced.matching
        if matching is None:
            plan = plan_overwrite(transaction.snapshot, self.replaced, None, zone)
        elif not keys:
            return {}
        else:
            source = _source(pa.concat_tables(keys), matching, transaction.snapshot.root, zone)
            found = matching.found(transaction, source)
            plan = PlannedOverwrite(self.replaced, found.execution, found)
        add_rows(transaction, append, written)
        return replace_rows(transaction, plan, written)


def _created(options: SourceWriteOptions, incoming: StructType) -> Transaction:
    """A transaction that creates the table with the columns of the rows."""
    source = options.source
    storage, root = open_storage(source.path, source.storage_options)
    return creation(storage, root, TableDefinition(replaced_schema(incoming, root), options.partition_by or ()))


def _with_settings(layout: DataFileLayout) -> DataFileLayout:
    """The layout with the settings of the session for what neither an option nor a property decides.

    # Spark 4.1, SQLExecution.withSQLConfPropagated: settings of the session are local properties of its tasks
    """
    task = TaskContext.get()
    if task is None:
        return layout
    codec, rows = task.getLocalProperty(SESSION_CODEC), task.getLocalProperty(SESSION_MAX_ROWS)
    if layout.codec is None and codec is not None:
        layout = replace(layout, codec=codec_argument(codec))
    return layout if layout.max_rows is not None or rows is None else replace(layout, max_rows=max(0, int(rows)))


class _DistinctRows:
    """The distinct values of some columns of batches. Memory is bounded by the number of distinct values.

    Args:
        names: The columns.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._found: list[pa.Table] = []

    def put(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch, after its values were added."""
        self._found.append(pa.Table.from_batches([batch]).select(self._names))
        if len(self._found) > _KEY_BATCHES:
            self._found = [self.rows()]
        return batch

    def rows(self) -> pa.Table:
        """The values so far; with repetitions if a column is nested."""
        found = pa.concat_tables(self._found)
        if not self._names or any(map(pa.types.is_nested, found.schema.types)):
            return found
        return distinct_rows(found)


def _source(rows: pa.Table, matching: Matching, table: str, time_zone: str) -> ArrowMergeSource:
    """The new rows as the source of the condition."""
    return ArrowMergeSource(GivenRows(rows), table, matching.aliases(of_frame=False)[1], time_zone)


def _keys(matching: Matching, table: DeltaTable, incoming: StructType, time_zone: str | None) -> tuple[str, ...]:
    """The columns of the new rows that a condition names. Raises PredicateError for a name that does not exist.

    Raises InvalidArgument if the condition may depend on the time zone of the session, which is not known.
    """
    target, source = matching.aliases(of_frame=False)
    names = Names(table.schema, incoming, target, source)
    node = parse_sql(matching.on)
    sides = [names.resolved(parts) for parts in columns_of(node)]
    types = {resolve(table.schema if side == "target" else incoming, path).type for side, path in sides}
    zoned = any(holds_instants(each) for each in types) and (len(types) > 1 or not matching.columns)
    if time_zone is None and (zoned or any(map(_may_read_zone, walk(node)))):
        raise untold_zone(f"The condition {matching.on}", table.uri)
    # Without a column, the number of rows still matters.
    return tuple(dict.fromkeys(path[0] for side, path in sides if side == "source")) or incoming.names[:1]


def _may_read_zone(node: Node) -> bool:
    match node:
        case Call(name):
            return not is_zoneless(name)
        case Cast(_, kind):
            return holds_instants(kind)
        case _:
            return isinstance(node, Opaque)


def _check_zone(append: PlannedAppend, incoming: StructType, where: str | None) -> None:
    """Refuse a write that depends on the session's time zone if neither an option nor the rows contain it.

    # Spark 4.1: of the session's settings, a data source gets only the time zone of timestamps in the rows
    """
    found = zone_dependent(append.rows)
    if found is None:
        return
    # The predicate of an overwrite is evaluated on the driver, which does not see rows.
    told = any(field.type == TIMESTAMP for field in incoming.fields)
    if not told or where is not None:
        raise untold_zone(f"{found[0].upper()}{found[1:]}", append.rows.table)


def _zone_of(batch: pa.RecordBatch) -> str | None:
    """The session's time zone, from the type of timestamps; None if the rows have no timestamps."""
    return next((each.tz for each in batch.schema.types if pa.types.is_timestamp(each) and each.tz), None)


def _of_task(identity: IdentityColumn, task: int, append: PlannedAppend) -> IdentityColumn:
    """The identity values of a task: no two tasks share a value."""
    if task >= _IDENTITY_TASKS:
        raise UnsupportedFeature(
            f"More than {_IDENTITY_TASKS} tasks write rows that get values of the identity column {identity.column} of "
            f"{append.rows.table}: use coalesce({_IDENTITY_TASKS}), or DeltaTable.append."
        )
    first, step = identity.interleaved(task, _IDENTITY_TASKS)
    return replace(identity, start=first, step=step, mark=None)


def _identities(tasks: Sequence[WrittenRows], append: PlannedAppend) -> dict[str, IdentityColumn]:
    """The state of the identity columns after the rows of all tasks."""
    numbered = {c.field.name: c.identity for c in append.rows.columns if c.origin == "identity" and c.identity}
    found = {}
    for name, identity in numbered.items():
        states = (task.identities[name] for task in tasks if name in task.identities)
        found[name] = identity.after(state.mark for state in states if state.mark is not None)
    return found
