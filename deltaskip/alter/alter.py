"""Changes of a table as one commit: planned against its state, checked against its rows, added to a transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip import actions
from deltaskip.alter import column_changes, table_changes
from deltaskip.alter.altered_table import AlteredTable, LoggedChange, PhysicalPath, done, with_property
from deltaskip.alter.column_paths import place_of
from deltaskip.alter.constraints import (
    CHECKED_COLUMNS,
    add_constraint,
    check_existing_rows,
    drop_constraint,
    rows_of_files,
)
from deltaskip.alter.features import add_feature, drop_feature, needs_protection, protocol_after
from deltaskip.alter.history_truncation import truncate_history, vector_tombstones
from deltaskip.alter.property_changes import check_retention, remove_properties, set_comment, set_properties
from deltaskip.alter.type_changes import drop_default, set_default, update_type
from deltaskip.errors import InvalidArgument, InvalidArgumentType, NotProvable, PredicateError, SchemaError
from deltaskip.features.clustering import CLUSTERING_DOMAIN, MOST_CLUSTERING_COLUMNS, clustering_domain
from deltaskip.features.identity_columns import identity_of, with_mark
from deltaskip.features.row_tracking import ROW_TRACKING_DOMAIN
from deltaskip.log import Snapshot, load_snapshot
from deltaskip.log.checkpoint.write import write_checkpoint
from deltaskip.schema.properties import TableProperties
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr import types as t
from deltaskip.stats.footer import stored_file_rows
from deltaskip.stats.stats_columns import STATS_COLUMNS, indexed_columns
from deltaskip.stats.stats_text import num_records, parsed_stats
from deltaskip.txn.operation import commit_operation
from deltaskip.txn.result import WriteResult
from deltaskip.txn.transaction import Transaction
from deltaskip.txn.write_options import PLAIN_WRITE, WriteOptions

_BATCH_FILES = 1 << 14
_DEFAULT_OPERATION = "ALTER TABLE"


MIXED = "ALTER TABLE"
"""The operation of changes of several kinds in one commit; delta-spark has no statement for them."""


def operation_of(steps: Sequence[LoggedChange]) -> tuple[str, Mapping[str, Any]]:
    """Return the name and the parameters of the operation that makes these changes."""
    names = {step.operation for step in steps}
    if len(names) != 1:
        changes = [{"operation": step.operation, **_readable(step.parameters)} for step in steps]
        return MIXED, {"changes": changes}
    [name], parameters = names, [step.parameters for step in steps]
    match name:
        case "ADD COLUMNS":
            return name, {"columns": parameters}
        case "DROP COLUMNS":
            return name, {"columns": [each["column"] for each in parameters]}
        case "CHANGE COLUMN" if len({each["column"]["name"] for each in parameters}) > 1:
            return "CHANGE COLUMNS", {"columns": [each["column"] for each in parameters]}
        case "CHANGE COLUMN":
            # The last description of the column has all changes.
            return name, {key: value for each in parameters for key, value in each.items()}
        case "SET TBLPROPERTIES":
            return name, {"properties": dict(each["property"] for each in parameters)}
        case "UNSET TBLPROPERTIES":
            return name, {"properties": [each["property"] for each in parameters], "ifExists": True}
        case "UPGRADE PROTOCOL":
            return name, parameters[-1]
        case _ if len(parameters) == 1:
            return name, parameters[0]
        case _:
            changes = [{"operation": name, **_readable(each)} for each in parameters]
            return MIXED, {"changes": changes}


def _readable(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters, with properties as an object."""
    found = dict(parameters)
    if isinstance(found.get("property"), tuple):
        found["property"] = dict([found["property"]])
    return found


def alter(
    snapshot: Snapshot, changes: Sequence[table_changes.TableChange], options: WriteOptions = PLAIN_WRITE
) -> WriteResult:
    """Commit the changes to the latest version of a table, see DeltaTable.alter."""
    checked = _checked(changes)

    def act(transaction: Transaction) -> Mapping[str, int]:
        before = _state_of(transaction)
        after = _after(before, checked)
        transaction.set_operation(*operation_of(after.steps))
        _put(transaction, before, after)
        return {}

    result = commit_operation(snapshot, _DEFAULT_OPERATION, act, options)
    if result.version is not None and any(_protects(change) for change in checked):
        # Clients without the feature begin to read the history here.
        write_checkpoint(load_snapshot(snapshot.storage, snapshot.root, result.version))
    return result


def alter_to(transaction: Transaction, changes: Sequence[table_changes.TableChange]) -> None:
    """Add the changes to a transaction, each on top of its earlier changes.

    Raises SchemaError, InvalidArgument, RowViolation and UnsupportedFeature as DeltaTable.alter does.
    """
    checked = _checked(changes)
    if any(isinstance(change, table_changes.DropFeature) for change in checked):
        raise InvalidArgument(
            f"A feature of {transaction.snapshot.root} cannot be dropped in a transaction with other operations: use "
            f"DeltaTable.drop_feature."
        )
    before = _state_of(transaction)
    _put(transaction, before, _after(before, checked))


def _checked(changes: Sequence[table_changes.TableChange]) -> tuple[table_changes.TableChange, ...]:
    for change in changes:
        if not isinstance(change, table_changes.TableChange):
            raise InvalidArgumentType(
                f"Each of changes must be a change such as AddColumn(…), not {type(change).__name__}: pass each as an "
                f"argument of its own, or SQL text to alter_sql."
            )
    if not changes:
        raise InvalidArgument("No changes are given: pass one at least, such as AddColumn('price', 'DECIMAL(10,2)').")
    return tuple(changes)


def _state_of(transaction: Transaction) -> AlteredTable:
    return AlteredTable.of(
        transaction.snapshot, transaction.metadata, transaction.protocol, transaction.schema, transaction.domains
    )


def _protects(change: table_changes.TableChange) -> bool:
    return (
        isinstance(change, table_changes.DropFeature)
        and not change.truncate_history
        and needs_protection(change.feature)
    )


def _after(state: AlteredTable, changes: Sequence[table_changes.TableChange]) -> AlteredTable:
    """The state after all changes, with its protocol."""
    before = state
    for kind, alike in groupby(changes, type):
        run: list[Any] = list(alike)
        if issubclass(kind, table_changes.SetProperty):
            state = set_properties(state, run)
        elif issubclass(kind, table_changes.RemoveProperty):
            state = remove_properties(state, run)
        else:
            for change in run:
                state = _changed(state, change)
    _check_clustering_statistics(before, state)
    check_retention(before, state)
    return replace(state, protocol=protocol_after(state))


def _changed(state: AlteredTable, change: table_changes.TableChange) -> AlteredTable:
    match change:
        case table_changes.AddColumn():
            return column_changes.add_column(state, change)
        case table_changes.DeleteColumn():
            return column_changes.delete_column(state, change)
        case table_changes.RenameColumn():
            return column_changes.rename_column(state, change)
        case table_changes.MoveColumn():
            return column_changes.move_column(state, change)
        case table_changes.UpdateColumn():
            return update_type(state, change)
        case table_changes.UpdateColumnComment():
            return column_changes.update_comment(state, change)
        case table_changes.UpdateColumnNullability():
            return column_changes.update_nullability(state, change)
        case table_changes.ReplaceColumns():
            return column_changes.replace_columns(state, change)
        case table_changes.SetDefault():
            return set_default(state, change)
        case table_changes.DropDefault():
            return drop_default(state, change)
        case table_changes.SyncIdentity():
            return _sync_identity(state, change)
        case table_changes.SetComment():
            return set_comment(state, change)
        case table_changes.AddConstraint():
            return add_constraint(state, change)
        case table_changes.DropConstraint():
            return drop_constraint(state, change)
        case table_changes.ClusterBy():
            return _cluster_by(state, change)
        case table_changes.AddFeature():
            return add_feature(state, change)
        case table_changes.DropFeature():
            return drop_feature(state, change)
        case _:
            raise InvalidArgumentType.of("Each of changes", "a change of this package", change)


def _put(transaction: Transaction, before: AlteredTable, after: AlteredTable) -> None:
    """Add the actions that lead from one state to the other, after the rows are checked."""
    for name in after.new_constraints:
        check_existing_rows(after, name, after.properties.constraints[name])
        transaction.changes.put_checked_constraint(name)
    for feature, truncated in after.dropped.items():
        protected = needs_protection(feature) and not truncated
        if truncated:
            truncate_history(transaction.snapshot, feature)
        transaction.changes.dropped_features[feature] = protected
        if protected:
            after = with_property(after, TableProperties.checkpoint_protection_version.name, str(before.next_version))
            # Then only this commit follows a checkpoint, so other clients need not read older commits.
            write_checkpoint(transaction.snapshot)
    if after.protocol != before.protocol:
        transaction.set_protocol(after.protocol)
    metadata = after.written_metadata
    if metadata != before.metadata:
        transaction.set_metadata(metadata, keep_collations=False)
    _put_domains(transaction, before, after)
    if after.dropped.get("deletionVectors") is False:
        transaction.changes.vector_files.update((file.path, file) for file in vector_tombstones(transaction.snapshot))
    if "rowTracking" in after.dropped:
        _renumber(transaction, numbered=True)
    elif after.properties.row_tracking and not before.properties.well_formed().row_tracking:
        _renumber(transaction, numbered=False)


def _put_domains(transaction: Transaction, before: AlteredTable, after: AlteredTable) -> None:
    if after.clustering is not None and after.clustering != before.clustering:
        transaction.changes.put_domain(clustering_domain(after.clustering))
    for feature, name in (("clustering", CLUSTERING_DOMAIN), ("rowTracking", ROW_TRACKING_DOMAIN)):
        domain = transaction.domains.get(name)
        if feature in after.dropped and domain is not None:
            transaction.changes.put_domain(actions.DomainMetadata(name, domain.configuration, removed=True))


def _renumber(transaction: Transaction, numbered: bool) -> None:
    """Add the files with row ids again, or the files without; the commit assigns ids if row tracking is enabled.

    # PROTOCOL, Row Tracking: it is enabled only if every file has row ids.
    """
    snapshot, changed = transaction.snapshot, transaction.changes.intent().touched
    for batch in snapshot.add_batches(_BATCH_FILES):
        has_ids = pc.and_(pc.is_valid(batch["base_row_id"]), pc.is_valid(batch["default_row_commit_version"]))
        some = batch.filter(has_ids if numbered else pc.invert(has_ids))
        for file in actions.add_actions(pa.Table.from_batches([some.select(actions.FILE_SCHEMA.names)])):
            if actions.table_key(snapshot.table_root, file.path) in changed:
                # The transaction has removed the file, or already adds it again.
                continue
            again = replace(file, data_change=False)
            if numbered:
                transaction.add_again(replace(again, base_row_id=None, default_row_commit_version=None))
            else:
                transaction.add_again(_counted(snapshot, again))


def _counted(snapshot: Snapshot, file: actions.AddFile) -> actions.AddFile:
    """The file with its row count, read from the footer if the statistics lack it."""
    stats = parsed_stats(file.stats)
    if num_records(stats) is not None:
        return file
    rows = stored_file_rows(snapshot.storage, actions.hadoop_path(snapshot.table_root, file.path))
    counted = {**(stats or {}), "numRecords": rows}
    return replace(file, stats=json.dumps(counted, ensure_ascii=False, separators=(",", ":")))


# PROTOCOL, Clustered Table: at most four columns, each with statistics, of a table without partition columns
def _cluster_by(state: AlteredTable, change: table_changes.ClusterBy) -> AlteredTable:
    """Return the state with other clustering columns."""
    if state.metadata.partition_columns:
        raise SchemaError(f"{state.table} is partitioned, so it cannot be clustered: a table has one or the other.")
    if len(change.columns) > MOST_CLUSTERING_COLUMNS:
        raise SchemaError(
            f"{state.table} can have at most {MOST_CLUSTERING_COLUMNS} clustering columns, not {len(change.columns)}."
        )
    paths: list[PhysicalPath] = []
    for column in change.columns:
        try:
            path = t.resolve(state.schema, column, state.mode).physical
        except PredicateError as error:
            raise SchemaError(f"{state.table} cannot be clustered by {t.display_name(column)}: {error}") from error
        if path in paths:
            raise SchemaError(f"{state.table} cannot be clustered by {t.display_name(column)} twice.")
        paths.append(path)
    before = state.clustering or ()
    if tuple(paths) == before:
        return state
    state = replace(state, clustering=tuple(paths))
    _check_statistics(state, ())
    parameters = {"oldClusteringColumns": _shown(state, before), "newClusteringColumns": _shown(state, tuple(paths))}
    return done(state, "CLUSTER BY", parameters)


def _check_clustering_statistics(before: AlteredTable, after: AlteredTable) -> None:
    """Raise SchemaError for a clustering column for which new files would no longer have bounds."""
    if after.clustering and (before.schema, before.configuration) != (after.schema, after.configuration):
        lacked = [path for path in before.clustering or () if path not in _bounded(before)[0]]
        _check_statistics(after, lacked)


def _check_statistics(state: AlteredTable, lacked: Collection[PhysicalPath]) -> None:
    bounded, indexed = _bounded(state)
    for path in state.clustering or ():
        if path not in bounded and path not in lacked:
            why = "its type has no bounds" if path in indexed else f"it has no statistics: list it in {STATS_COLUMNS}"
            raise SchemaError(f"{state.table} cannot be clustered by {_shown(state, (path,))}, because {why}.")


def _bounded(state: AlteredTable) -> tuple[set[PhysicalPath], set[PhysicalPath]]:
    """The columns with bounds, and all columns with statistics, by physical paths."""
    indexed = indexed_columns(
        state.schema,
        partition_columns=state.metadata.partition_columns,
        mapping_mode=state.mode,
        properties=state.configuration,
    )
    ordered = {column.physical for column in indexed if column.ordered}
    return ordered, {column.physical for column in indexed}


def _shown(state: AlteredTable, paths: tuple[PhysicalPath, ...]) -> str:
    return ",".join(t.display_name(_logical(state, path)) for path in paths)


def _logical(state: AlteredTable, path: PhysicalPath) -> tuple[str, ...]:
    """The logical path of a column; the physical path if the schema does not have it."""
    names: list[str] = []
    current: t.DataType = state.schema
    for part in path:
        fields = current.fields if isinstance(current, t.StructType) else ()
        field = next((field for field in fields if t.physical_name(field, state.mode) == part), None)
        if field is None:
            return path
        names.append(field.name)
        current = field.type
    return tuple(names)


# PROTOCOL, Identity Columns
def _sync_identity(state: AlteredTable, change: table_changes.SyncIdentity) -> AlteredTable:
    """Return the state with the mark of an identity column moved past the column's values."""
    place = place_of(state.schema, t.column_path("column", change.column), state.table)
    identity = identity_of(place.field) if len(place.path) == 1 else None
    if identity is None:
        raise SchemaError(f"{place.name} of {state.table} is not an identity column.")
    extreme = _extreme_value(state, place.field, "max" if identity.step > 0 else "min")
    moved = identity.synchronized(extreme)
    if moved == identity:
        return state
    state = replace(state, schema=with_mark(state.schema, moved))
    return done(state, "CHANGE COLUMN", {"column": column_changes.column_json(place)})


def _extreme_value(state: AlteredTable, field: t.StructField, side: Literal["min", "max"]) -> int | None:
    """Return the least or greatest value of a BIGINT column; None if it has none."""
    scan = Scan(state.written_snapshot)
    try:
        found = scan.max(t.display_name([field.name])) if side == "max" else scan.min(t.display_name([field.name]))
    except NotProvable:
        found = None
        for batch in rows_of_files(scan.snapshot, scan.files(columns=CHECKED_COLUMNS), [field.name]):
            value = pc.min_max(batch.column(field.name))[side].as_py()
            if value is not None:
                found = value if found is None else (max if side == "max" else min)(found, value)
    return None if found is None else int(found)
