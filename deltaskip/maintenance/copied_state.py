"""The metadata and protocol of a table after a version of it, or of another table, is copied to it.

# delta-spark: RestoreTableCommand, CloneTableBase, IdentityColumn.copySchemaWithMergedHighWaterMarks
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip import actions
from deltaskip.features.clustering import CLUSTERING_DOMAIN, clustering_domain
from deltaskip.features.enabling import with_features
from deltaskip.features.identity_columns import keep_marks
from deltaskip.features.registry import FEATURES, features_of
from deltaskip.features.row_tracking import MATERIALIZED_COLUMNS
from deltaskip.log import Snapshot
from deltaskip.log.replay import keys_of_files
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr.types import schema_to_json
from deltaskip.sparkexpr.values.arrow_values import TRUE, one_chunk
from deltaskip.txn.transaction import Transaction

_BATCH_ROWS = 1 << 16
_IN_COMMIT_TIMESTAMPS = (
    TableProperties.in_commit_timestamps.name,
    TableProperties.in_commit_timestamps_version.name,
    TableProperties.in_commit_timestamps_since_ms.name,
)
# Properties that a table never loses: names of columns with row ids, and in-commit timestamps.
_KEPT = (*MATERIALIZED_COLUMNS, *_IN_COMMIT_TIMESTAMPS)
# A restored or cloned table keeps the greater value of these properties, which never decrease.
_GREATER = (TableProperties.max_column_id, TableProperties.checkpoint_protection_version)


def copy_protocol_and_clustering(transaction: Transaction, source: Snapshot, protocol: actions.Protocol) -> None:
    """Give a table a protocol that is no lower than its own, and the clustering of the version that is copied to it."""
    table = transaction.snapshot
    if protocol != table.protocol:
        transaction.set_protocol(protocol)
    clustering = _clustering_after(table, source)
    if clustering is not None:
        transaction.changes.put_domain(clustering)


def merged_metadata(table: Snapshot, source: actions.Metadata, schema_of: Snapshot) -> actions.Metadata:
    """Return the metadata of a version for an existing table, with the table's id and the properties that it must keep.

    Args:
        table: The latest version of the table.
        source: The metadata to take over.
        schema_of: The version that has this metadata.
    """
    given = dict(source.configuration)
    for name in _IN_COMMIT_TIMESTAMPS[1:]:
        # These properties are a version and a time of the source's log.
        given.pop(name, None)
    kept = {name: table.properties[name] for name in _KEPT if name in table.properties}
    configuration = {**given, **kept}
    for definition in _GREATER:
        numbers = [int(each[definition.name]) for each in (given, table.properties) if definition.name in each]
        if numbers:
            configuration[definition.name] = str(max(numbers))
    columns = keep_marks(table.schema, schema_of.schema)
    text = source.schema_string if columns is schema_of.schema else schema_to_json(columns)
    return replace(source, id=table.metadata.id, schema_string=text, configuration=configuration)


def merged_protocol(table: actions.Protocol, source: actions.Protocol) -> actions.Protocol:
    """Return the table's protocol with every feature of the other; the same object if it has them.

    # rule of RESTORE: the protocol is never lowered, since earlier versions need it
    """
    known = [name for name in sorted(features_of(source)) if name in FEATURES]
    return with_features(table, known)


def _clustering_after(table: Snapshot, source: Snapshot) -> actions.DomainMetadata | None:
    """The domain that clusters the table like the source; None if it already is."""
    now, then = table.domains.get(CLUSTERING_DOMAIN), source.domains.get(CLUSTERING_DOMAIN)
    if then is None:
        return None if now is None else clustering_domain([])
    return None if now is not None and now.configuration == then.configuration else then


def keys_of(snapshot: Snapshot, files: Mapping[str, pa.Array] | pa.RecordBatch | pa.Table) -> pa.Array:
    """Return the key of each logical file: path and deletion vector."""
    return keys_of_files(actions.table_keys(snapshot.table_root, one_chunk(files["path"])), files["deletion_vector"])


def files_without(snapshot: Snapshot, others: pa.Array) -> pa.Table:
    """Return the files of a snapshot (FILE_SCHEMA) whose keys are not among others."""
    kept = [
        adds.filter(pc.invert(pc.is_in(keys_of(snapshot, adds), value_set=others)))
        for adds in snapshot.add_batches(_BATCH_ROWS)
    ]
    return pa.Table.from_batches(kept, actions.FILE_SCHEMA)


def with_data_change(files: pa.Table) -> pa.Table:
    """Return files (FILE_SCHEMA) that change data when they are added."""
    position = actions.FILE_SCHEMA.get_field_index("data_change")
    return files.set_column(position, actions.FILE_SCHEMA.field(position), pa.repeat(TRUE, len(files)))
