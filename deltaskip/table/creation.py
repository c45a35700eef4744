"""Creating and replacing a table: its schema, partitioning, clustering and properties, with the features they need.

# PROTOCOL, Change Metadata, Protocol Evolution, Clustered Table; delta-spark's operations CREATE TABLE and CREATE OR
# REPLACE TABLE
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import pyarrow.compute as pc

from deltaskip.actions import DomainMetadata, Metadata
from deltaskip.data_files.append import append_to, write_metrics
from deltaskip.data_files.data import GivenRows
from deltaskip.dml.files_to_change import files_to_change
from deltaskip.errors import InvalidArgument, SchemaError, StorageError, WriteWarning
from deltaskip.features.clustering import CLUSTERING_DOMAIN, MOST_CLUSTERING_COLUMNS, clustering_domain
from deltaskip.features.enabling import NEW_TABLE, protocol_for, with_features, without_feature_properties
from deltaskip.features.identity_columns import keep_marks
from deltaskip.features.row_tracking import with_materialized_columns
from deltaskip.log import Snapshot
from deltaskip.log.new_table import BEFORE_CREATION, before_creation, check_no_table
from deltaskip.records import dataclass
from deltaskip.rows.defaults import default_problem
from deltaskip.rows.schema_merge import replaced_schema
from deltaskip.schema.mapping import with_new_ids
from deltaskip.schema.properties import PARTITIONING_KEY, TableProperties, check_given_property
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.stats.stats_columns import indexed_columns
from deltaskip.storage import Storage
from deltaskip.transforms import Identity, Transform
from deltaskip.transforms.generated_columns import partitioned
from deltaskip.transforms.parse_transforms import transforms_of
from deltaskip.transforms.partitioning_property import declaration
from deltaskip.txn.operation import commit_operation
from deltaskip.txn.result import WriteResult
from deltaskip.txn.transaction import Transaction
from deltaskip.warning import warn

_REPLACEMENT = "CREATE OR REPLACE TABLE"
# The properties on which older versions of the table, its row ids and its timestamps depend.
_KEPT = (
    TableProperties.mapping_mode,
    TableProperties.max_column_id,
    TableProperties.row_id_column,
    TableProperties.row_commit_version_column,
    TableProperties.in_commit_timestamps,
    TableProperties.in_commit_timestamps_version,
    TableProperties.in_commit_timestamps_since_ms,
    TableProperties.checkpoint_protection_version,
)


@dataclass(frozen=True, slots=True)
class TableDefinition:
    """A new table, or the replacement of a table, as the caller describes it.

    Attributes:
        schema: Columns of the table.
        partition_by: Names of the partition columns, in any letter case, and transforms.
        cluster_by: Names of the clustering columns, with dots before nested fields.
        properties: Properties of the table.
        comment: Description of the table.
        name: Name of the table in its metadata.
    """

    schema: t.StructType
    partition_by: Sequence[str | Transform] = ()
    cluster_by: Sequence[str] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    name: str | None = None


def creation(
    storage: Storage,
    root: str,
    definition: TableDefinition,
    operation: tuple[str, Mapping[str, object]] | None = None,
    user_metadata: str | None = None,
) -> Transaction:
    """Return a transaction whose commit creates the table as version 0; rows can be added to it first.

    The table has the features that its columns and properties use or that properties `delta.feature.NAME` request, and
    no other features.

    Args:
        storage: Storage of the table.
        root: Location of the table.
        definition: The definition of the table.
        operation: Name and parameters of the operation in the table's history; None for CREATE TABLE.
        user_metadata: Text to record with the commit in the table's history.

    Raises:
        SchemaError: The schema has no columns, or a partition or clustering column does not exist.
        InvalidArgument: A feature does not exist, a table is both partitioned and clustered, or the root is inside a
            folder that belongs to a table.
        TableAlreadyExists: A table exists.
        CorruptLog: A part of the log of a deleted table exists.
    """
    state = _state(root, definition)
    protocol = with_features(
        protocol_for(NEW_TABLE, TableProperties(state.configuration, root), state.schema), state.features
    )
    check_no_table(storage, root)
    if operation is None:
        _warn_of_files(storage, root)
    snapshot = before_creation(storage, root, NEW_TABLE)
    action, parameters = operation or ("CREATE TABLE", _parameters(definition, state))
    transaction = Transaction(snapshot, action, parameters, look_up_files=False, user_metadata=user_metadata)
    transaction.set_protocol(protocol)
    metadata = _metadata(snapshot.metadata, definition, state, state.schema)
    transaction.set_metadata(replace(metadata, created_time=current_ms()))
    if state.clustering is not None:
        transaction.changes.put_domain(state.clustering)
    return transaction


def columns_of_rows(rows: GivenRows, root: str) -> t.StructType:
    """Return the columns of a new table for rows; all accept NULL, as those of delta-spark's writes.

    Raises SchemaError for a column without a type, a type without a counterpart in Delta, and names that occur twice.
    """
    found = replaced_schema(rows.schema_for(t.StructType(())), root)
    void = next((each.name for each in found.fields if t.VOID in t.nested_types(each.type)), None)
    if void is not None:
        # DuckDB does not open tables with such columns.
        raise SchemaError(
            f"The column {t.display_name([void])} of the rows for the new table {root} has no value in any row, and so "
            f"no type: give it one, such as by a cast, or leave it out, and let append(…, schema_mode='merge') add it."
        )
    return found


def commit_with_rows(transaction: Transaction, rows: GivenRows, time_zone: str) -> dict[str, int]:
    """Write the rows of a table that a transaction creates or replaces, commit it, and return Delta's metrics.

    After an error no file is left, unless the outcome of the commit is unknown. Raises as `append_to` and
    `Transaction.commit` do.
    """
    try:
        metrics = write_metrics(append_to(transaction, rows, "keep", time_zone)) | replaced_metrics(transaction)
        transaction.set_metrics(metrics)
        transaction.commit()
    except BaseException:
        transaction.discard()
        raise
    return metrics


def replaced_metrics(transaction: Transaction) -> dict[str, int]:
    """Return Delta's metrics of the files that a transaction replaces; empty for one that creates a table."""
    if transaction.snapshot.version == BEFORE_CREATION:
        return {}
    removed = transaction.changes.removed
    sizes = [pc.sum(each.files["size"], min_count=0).as_py() for each in removed]
    return {"numRemovedFiles": sum(map(len, removed)), "numRemovedBytes": sum(sizes)}


def _warn_of_files(storage: Storage, root: str) -> None:
    """Warn of Parquet files at the location of a new table: they do not belong to the table, so VACUUM deletes them."""
    try:
        names = [file.name for file in storage.list_from(root, "") if file.name.endswith(".parquet")]
    except (FileNotFoundError, NotADirectoryError, StorageError):
        return
    if names:
        warn(
            f"The folder {root} of the new table contains Parquet files that are not part of it, such as {names[0]}: "
            f"VACUUM will delete them. To make a table of these files, use deltaskip.convert_to_delta(path) instead.",
            WriteWarning,
        )


def replace_table(snapshot: Snapshot, definition: TableDefinition) -> WriteResult:
    """Replace columns, properties and description of a table, and remove its rows.

    The table keeps its id, its history, its features, column mapping and in-commit timestamps if it has them, and the
    high-water marks of identity columns with the same name. Columns get new ids and physical names.

    Args:
        snapshot: A version of the table.
        definition: The new table.

    Raises:
        SchemaError: The schema has no columns, or a partition or clustering column is not one of them.
        InvalidArgument: A feature does not exist, or a table is both partitioned and clustered.
        InvalidCommit: A rule of the protocol forbids the new table.
        UnsupportedFeature: The table is append-only, or needs a writer feature that deltaskip does not support.
        CommitConflict: Other writers committed first in every attempt.
    """

    def act(transaction: Transaction) -> Mapping[str, int]:
        _replace(transaction, definition)
        return {}

    return commit_operation(snapshot, _REPLACEMENT, act)


def replacement(latest: Snapshot, definition: TableDefinition) -> Transaction:
    """Return a transaction whose commit replaces a table; rows can be added to it first. See `replace_table`.

    Args:
        latest: The version of the table to replace. The commit conflicts with commits that change its rows.
        definition: The new table.

    Raises:
        SchemaError: The schema has no columns, or a partition or clustering column is not one of them.
        InvalidArgument: A feature does not exist, or a table is both partitioned and clustered.
        UnsupportedFeature: The table is append-only, or needs a writer feature that deltaskip does not support.
    """
    transaction = Transaction(latest, _REPLACEMENT, look_up_files=False)
    _replace(transaction, definition)
    return transaction


def _replace(transaction: Transaction, definition: TableDefinition) -> None:
    """Set the new columns and properties, and remove all rows."""
    latest = transaction.snapshot
    before = latest.properties
    state = _state(latest.root, definition, {each.name: before[each.name] for each in _KEPT if each.name in before})
    transaction.set_parameters(_parameters(definition, state))
    columns = keep_marks(latest.schema, state.schema)
    typed = TableProperties(state.configuration, latest.root)
    protocol = with_features(protocol_for(latest.protocol, typed, columns), state.features)
    if protocol is not latest.protocol:
        transaction.set_protocol(protocol)
    transaction.set_metadata(_metadata(latest.metadata, definition, state, columns), keep_collations=False)
    domain = state.clustering
    if domain is None and CLUSTERING_DOMAIN in latest.domains:
        domain = clustering_domain(())
    if domain is not None:
        transaction.changes.put_domain(domain)
    scan = Scan(latest, ReadOptions("true"))
    transaction.read_scan(scan)
    every = files_to_change(scan).whole
    transaction.changes.put_removed(every.removed(latest.table_root, current_ms()))


@dataclass(frozen=True, slots=True)
class _NewState:
    """The state of a table for a definition.

    Attributes:
        schema: The columns, with ids and physical names if they are mapped.
        partition_columns: Names of the partition columns, as in the schema.
        configuration: The properties of the table.
        features: Features that the protocol lists in addition to the features that columns and properties use.
        clustering: The domain with the clustering columns, if any.
    """

    schema: t.StructType
    partition_columns: tuple[str, ...]
    configuration: dict[str, str]
    features: tuple[str, ...]
    clustering: DomainMetadata | None


def _metadata(before: Metadata, definition: TableDefinition, state: _NewState, schema: t.StructType) -> Metadata:
    """The metadata of the table: `before` with the new columns and everything else in the definition."""
    return replace(
        before,
        schema_string=t.schema_to_json(schema),
        partition_columns=state.partition_columns,
        configuration=state.configuration,
        description=definition.comment,
        name=definition.name,
    )


def _parameters(definition: TableDefinition, state: _NewState) -> dict[str, Any]:
    """The parameters of the operation in the table's history."""
    return {
        "partitionBy": list(state.partition_columns),
        "clusterBy": list(definition.cluster_by),
        "isManaged": "false",
        "properties": state.configuration,
        **({} if definition.comment is None else {"description": definition.comment}),
    }


def _state(root: str, definition: TableDefinition, kept: Mapping[str, str] | None = None) -> _NewState:
    """The state of a table at `root`. kept: Properties that the table keeps, unless the definition has other values.

    Raises:
        SchemaError: The schema has no columns, or a partition or clustering column is not one of them.
        InvalidArgument: A feature does not exist, a property has a wrong value, or a table is both partitioned and
            clustered.
    """
    schema = definition.schema
    if not schema.fields:
        raise SchemaError(f"A table at {root} needs at least one column.")
    for column in schema.fields:
        if t.DEFAULT_KEY in column.metadata:
            text = str(column.metadata[t.DEFAULT_KEY])
            why = default_problem(column, text, root)
            if why is not None:
                raise SchemaError(f"{text} cannot be the default of {column.name} of {root}: {why}.")
    given, features = without_feature_properties(definition.properties)
    for name, value in given.items():
        check_given_property(name, value, root)
    transforms = transforms_of(definition.partition_by)
    _columns(schema, [each.path[0] for each in transforms if isinstance(each, Identity)], "partition", root)
    made = partitioned(schema, transforms, root)
    schema, listed = made.schema, declaration(transforms, made)
    configuration = {**(kept or {}), **({} if listed is None else {PARTITIONING_KEY: listed}), **given}
    if TableProperties(configuration, root).iceberg_compat:
        # PROTOCOL, Iceberg Compatibility: columns are mapped, and rows of V3 have ids.
        configuration.setdefault(TableProperties.mapping_mode.name, "name")
    if TableProperties(configuration, root).iceberg_compat_v3:
        configuration.setdefault(TableProperties.row_tracking.name, "true")
    typed = TableProperties(configuration, root)
    mode = typed.mapping_mode
    if mode != "none":
        schema, changed = with_new_ids(schema, typed)
        configuration.update({TableProperties.max_column_id.name: str(typed.max_column_id or 0), **changed})
    if typed.row_tracking:
        configuration = with_materialized_columns(configuration)
    domain = _clustering(schema, definition.cluster_by, mode, root) if definition.cluster_by else None
    if domain is not None:
        if made.partition_columns:
            raise InvalidArgument(f"The table {root} cannot be both partitioned and clustered: choose one.")
        features.append("clustering")
    return _NewState(schema, made.partition_columns, configuration, tuple(features), domain)


_TRANSFORMS = " A transform is a value, such as deltaskip.transforms.date('ts') or bucket('id', 16)."


def _columns(schema: t.StructType, names: Sequence[str], kind: str, root: str) -> tuple[str, ...]:
    by_name = {t.fold_name(field.name): field.name for field in schema.fields}
    unknown = next((name for name in names if t.fold_name(name) not in by_name), None)
    if unknown is not None:
        raise SchemaError(
            f"The {kind} column {t.display_name([unknown])} is not a column of the new table {root}; the columns are "
            f"{', '.join(t.display_name([field.name]) for field in schema.fields)}."
            f"{_TRANSFORMS if '(' in unknown else ''}"
        )
    return tuple(by_name[t.fold_name(name)] for name in names)


def _clustering(schema: t.StructType, names: Sequence[str], mode: t.MappingMode, root: str) -> DomainMetadata:
    """The domain that lists the clustering columns by their physical paths."""
    if len(names) > MOST_CLUSTERING_COLUMNS:
        raise InvalidArgument(
            f"The table {root} can have at most {MOST_CLUSTERING_COLUMNS} clustering columns, not {len(names)}."
        )
    parsed = [path for name in names for path in t.parse_names(name, "cluster_by")]
    physical = [t.resolve(schema, path, mode).physical for path in parsed]
    for column in indexed_columns(schema, mapping_mode=mode, columns=names):
        if not column.ordered:
            name = t.display_name(column.logical)
            raise SchemaError(f"The table {root} cannot be clustered by {name}, because its type has no bounds.")
    return clustering_domain(physical)
