"""Replacing a table: one commit that removes its rows and gives it other columns and properties.

# delta-spark: CREATE OR REPLACE TABLE
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from deltaskip.dml.files import files_to_change
from deltaskip.features.clustering import CLUSTERING_DOMAIN, clustering_domain
from deltaskip.features.enabling import protocol_for, with_features
from deltaskip.log import Snapshot
from deltaskip.rows.identity import keep_marks
from deltaskip.schema.properties import TableProperties
from deltaskip.schema.types import StructType
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.table.creation import describe
from deltaskip.transforms import Transform
from deltaskip.txn.operation import commit_operation
from deltaskip.txn.result import WriteResult
from deltaskip.txn.transaction import Transaction

__all__ = ["replace_table", "replacement"]

_OPERATION = "CREATE OR REPLACE TABLE"
# What older versions of the table, and its row ids and times, depend on.
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


def replace_table(
    snapshot: Snapshot,
    schema: StructType,
    partition_by: Sequence[str | Transform] = (),
    cluster_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    comment: str | None = None,
    name: str | None = None,
) -> WriteResult:
    """Replace columns, properties and description of a table, and remove its rows.

    The table keeps its id, its history and its features, column mapping and in-commit timestamps if it has them, and
    the marks of identity columns of the same name. Columns get new ids and physical names.

    Args:
        snapshot: A version of the table.
        schema: The new columns.
        partition_by: Names of the partition columns, in any letter case, and transforms.
        cluster_by: Names of the clustering columns, with dots before nested fields.
        properties: The properties of the table.
        comment: Description of the table.
        name: Name of the table in its metadata.

    Raises:
        SchemaError: The schema has no columns, or a partition or clustering column is not one of them.
        InvalidArgument: A feature does not exist, or a table is both partitioned and clustered.
        InvalidCommit: A rule of the protocol forbids the new table.
        UnsupportedFeature: The table is append-only, or needs a writer feature that deltaskip does not support.
        CommitConflict: Other writers commit again and again.
    """

    def act(transaction: Transaction) -> Mapping[str, int]:
        _replace(transaction, schema, partition_by, cluster_by, properties, comment, name)
        return {}

    return commit_operation(snapshot, _OPERATION, act)


def replacement(
    latest: Snapshot,
    schema: StructType,
    partition_by: Sequence[str | Transform] = (),
    cluster_by: Sequence[str] = (),
    properties: Mapping[str, str] | None = None,
    comment: str | None = None,
    name: str | None = None,
) -> Transaction:
    """Return a transaction whose commit replaces a table; rows can be added to it first. See `replace_table`.

    Args:
        latest: The version of the table that is replaced. The commit conflicts with others that change its rows.
        schema: The new columns.
        partition_by: Names of the partition columns, in any letter case, and transforms.
        cluster_by: Names of the clustering columns, with dots before nested fields.
        properties: The properties of the table.
        comment: Description of the table.
        name: Name of the table in its metadata.

    Raises:
        SchemaError: The schema has no columns, or a partition or clustering column is not one of them.
        InvalidArgument: A feature does not exist, or a table is both partitioned and clustered.
        UnsupportedFeature: The table is append-only, or needs a writer feature that deltaskip does not support.
    """
    transaction = Transaction(latest, _OPERATION, look_up_files=False)
    _replace(transaction, schema, partition_by, cluster_by, properties, comment, name)
    return transaction


def _replace(
    transaction: Transaction,
    schema: StructType,
    partition_by: Sequence[str | Transform],
    cluster_by: Sequence[str],
    properties: Mapping[str, str] | None,
    comment: str | None,
    name: str | None,
) -> None:
    """Set the new columns and properties, and remove all rows."""
    latest = transaction.snapshot
    before = latest.properties
    kept = {each.name: before[each.name] for each in _KEPT if each.name in before}
    described = describe(latest.root, schema, partition_by, cluster_by, properties, kept)
    transaction.set_parameters(described.parameters(cluster_by, comment))
    columns = keep_marks(latest.schema, described.schema)
    typed = TableProperties(described.configuration, latest.root)
    protocol = with_features(protocol_for(latest.protocol, typed, columns), described.features)
    if protocol is not latest.protocol:
        transaction.set_protocol(protocol)
    metadata = described.metadata(latest.metadata, columns, comment, name)
    transaction.set_metadata(metadata, keep_collations=False)
    domain = described.clustering
    if domain is None and CLUSTERING_DOMAIN in latest.domains:
        domain = clustering_domain(())
    if domain is not None:
        transaction.set_system_domain(domain)
    scan = Scan(latest, ReadOptions("true"))
    transaction.read_scan(scan)
    every = files_to_change(scan).whole
    transaction.remove_whole(every.removed(latest.table_root, time.time_ns() // 1_000_000))
