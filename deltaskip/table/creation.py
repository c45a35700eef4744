"""Creating a table: its schema, partitioning, clustering and properties as version 0, with the features they need.

# PROTOCOL, Change Metadata, Protocol Evolution, Clustered Table; delta-spark's operation CREATE TABLE
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deltaskip.actions import DomainMetadata, Metadata
from deltaskip.errors import InvalidArgument, SchemaError
from deltaskip.features.clustering import MOST_CLUSTERING_COLUMNS, clustering_domain
from deltaskip.features.enabling import NEW_TABLE, protocol_for, with_features, without_feature_properties
from deltaskip.features.row_tracking import with_materialized_columns
from deltaskip.log.new_table import before_creation, check_no_table
from deltaskip.records import dataclass
from deltaskip.rows.defaults import default_problem
from deltaskip.schema import schema_to_json
from deltaskip.schema.column_names import parse_names
from deltaskip.schema.mapping import MappingMode, map_new_columns, with_nested_ids
from deltaskip.schema.properties import PARTITIONING_KEY, TableProperties
from deltaskip.schema.resolve import display_name, fold_name, resolve
from deltaskip.schema.types import DEFAULT_KEY, StructType
from deltaskip.stats.columns import indexed_columns
from deltaskip.storage import Storage
from deltaskip.transforms import Identity, Transform
from deltaskip.transforms.declared import declaration
from deltaskip.transforms.generated import partitioned
from deltaskip.transforms.given import transforms_of
from deltaskip.txn.transaction import Transaction

__all__ = ["Described", "creation", "describe"]


def creation(
    storage: Storage,
    root: str,
    schema: StructType,
    partition_by: Sequence[str | Transform] = (),
    cluster_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    comment: str | None = None,
    name: str | None = None,
    operation: tuple[str, Mapping[str, object]] | None = None,
) -> Transaction:
    """Return a transaction whose commit creates the table as version 0; rows can be added to it first.

    The table gets the features that its columns and properties use, those that properties `delta.feature.NAME` ask for,
    and no others.

    Args:
        storage: Storage of the table.
        root: Location of the table.
        schema: Columns of the table.
        partition_by: Names of the partition columns, in any letter case, and transforms.
        cluster_by: Names of the clustering columns, with dots before nested fields.
        properties: Properties of the table.
        comment: Description of the table.
        name: Name of the table in its metadata.
        operation: Name and parameters of the operation in the table's history; None for CREATE TABLE.

    Raises:
        SchemaError: The schema has no columns, or a partition or clustering column is not one of them.
        InvalidArgument: A feature does not exist, a table is both partitioned and clustered, or the root is inside a
            table's own folders.
        TableAlreadyExists: There is a table.
        CorruptLog: There is a part of the log of a table that was deleted.
    """
    described = describe(root, schema, partition_by, cluster_by, properties)
    protocol = with_features(
        protocol_for(NEW_TABLE, TableProperties(described.configuration, root), described.schema), described.features
    )
    check_no_table(storage, root)
    snapshot = before_creation(storage, root, NEW_TABLE)
    action, parameters = operation or ("CREATE TABLE", described.parameters(cluster_by, comment))
    transaction = Transaction(snapshot, action, parameters, look_up_files=False)
    transaction.set_protocol(protocol)
    metadata = described.metadata(snapshot.metadata, described.schema, comment, name)
    transaction.set_metadata(replace(metadata, created_time=time.time_ns() // 1_000_000))
    if described.clustering is not None:
        transaction.set_system_domain(described.clustering)
    return transaction


@dataclass(frozen=True, slots=True)
class Described:
    """What the metadata and protocol of a new table contain.

    Attributes:
        schema: The columns, with ids and physical names if they are mapped.
        partition_columns: Names of the partition columns, as the schema has them.
        configuration: The properties of the table.
        features: Features that the protocol lists beside those that columns and properties use.
        clustering: The domain with the clustering columns, if any.
    """

    schema: StructType
    partition_columns: tuple[str, ...]
    configuration: dict[str, str]
    features: tuple[str, ...]
    clustering: DomainMetadata | None

    def metadata(self, before: Metadata, schema: StructType, comment: str | None, name: str | None) -> Metadata:
        """Return the metadata of the table: `before` with these columns, and everything else that is described."""
        return replace(
            before,
            schema_string=schema_to_json(schema),
            partition_columns=self.partition_columns,
            configuration=self.configuration,
            description=comment,
            name=name,
        )

    def parameters(self, cluster_by: Sequence[str], comment: str | None) -> dict[str, Any]:
        """Return the parameters of the operation in the table's history."""
        return {
            "partitionBy": list(self.partition_columns),
            "clusterBy": list(cluster_by),
            "isManaged": "false",
            "properties": self.configuration,
            **({} if comment is None else {"description": comment}),
        }


def describe(
    root: str,
    schema: StructType,
    partition_by: Sequence[str | Transform] = (),
    cluster_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    kept: Mapping[str, str] | None = None,
) -> Described:
    """Return what a table with these columns and properties contains.

    Args:
        root: Location of the table.
        schema: Columns of the table.
        partition_by: Names of the partition columns, in any letter case, and transforms.
        cluster_by: Names of the clustering columns, with dots before nested fields.
        properties: Properties of the table.
        kept: Properties that the table has already and keeps, unless `properties` sets them.

    Raises:
        SchemaError: The schema has no columns, or a partition or clustering column is not one of them.
        InvalidArgument: A feature does not exist, or a table is both partitioned and clustered.
    """
    if not schema.fields:
        raise SchemaError(f"A table at {root} needs at least one column.")
    for field in schema.fields:
        if DEFAULT_KEY in field.metadata:
            text = str(field.metadata[DEFAULT_KEY])
            why = default_problem(field, text, root)
            if why is not None:
                raise SchemaError(f"{text} cannot be the default of {field.name} of {root}: {why}.")
    given, features = without_feature_properties(properties or {})
    transforms = transforms_of(partition_by)
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
        schema, highest = map_new_columns(schema, typed.max_column_id or 0)
        if typed.nested_ids:
            schema, highest = with_nested_ids(schema, highest)
        configuration[TableProperties.max_column_id.name] = str(highest)
    if typed.row_tracking:
        configuration = with_materialized_columns(configuration)
    domain = _clustering(schema, cluster_by, mode, root) if cluster_by else None
    if domain is not None:
        if made.partition_columns:
            raise InvalidArgument(f"The table {root} cannot be both partitioned and clustered: choose one.")
        features.append("clustering")
    return Described(schema, made.partition_columns, configuration, tuple(features), domain)


def _columns(schema: StructType, names: Sequence[str], kind: str, root: str) -> tuple[str, ...]:
    by_name = {fold_name(field.name): field.name for field in schema.fields}
    unknown = next((name for name in names if fold_name(name) not in by_name), None)
    if unknown is not None:
        raise SchemaError(
            f"The {kind} column {display_name([unknown])} is not a column of the new table {root}; the columns are "
            f"{', '.join(display_name([field.name]) for field in schema.fields)}."
        )
    return tuple(by_name[fold_name(name)] for name in names)


def _clustering(schema: StructType, names: Sequence[str], mode: MappingMode, root: str) -> DomainMetadata:
    """The domain that lists the clustering columns by their physical paths."""
    if len(names) > MOST_CLUSTERING_COLUMNS:
        raise InvalidArgument(
            f"The table {root} can have at most {MOST_CLUSTERING_COLUMNS} clustering columns, not {len(names)}."
        )
    parsed = [path for name in names for path in parse_names(name, "cluster_by")]
    physical = [resolve(schema, path, mode).physical for path in parsed]
    for column in indexed_columns(schema, mapping_mode=mode, columns=names):
        if not column.bounded:
            name = display_name(column.logical)
            raise SchemaError(f"The table {root} cannot be clustered by {name}, because its type has no bounds.")
    return clustering_domain(physical)
