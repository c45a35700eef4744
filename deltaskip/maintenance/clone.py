"""CLONE: a new table that refers to the files of a version of another table (a shallow clone).

# delta-spark: CloneTableCommand, CloneTableBase
Data files and deletion vectors are named by absolute paths. The clone has its own id, row ids and history.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip import actions
from deltaskip.actions.paths import encode_location
from deltaskip.errors import InvalidArgument, OptionAdvice, TableNotFound
from deltaskip.features import CommitSummary
from deltaskip.features.clustering import CLUSTERING_DOMAIN
from deltaskip.features.enabling import lowest_protocol, protocol_for, with_features, without_feature_properties
from deltaskip.features.registry import features_of
from deltaskip.features.row_tracking import MATERIALIZED_COLUMNS, with_materialized_columns
from deltaskip.kernels.paths import all_plain, prefixed
from deltaskip.log import Snapshot, check_same_table, load_snapshot
from deltaskip.log.deletion_vectors import vector_location
from deltaskip.log.new_table import already_exists, before_creation, check_no_files, check_no_table
from deltaskip.maintenance import copied_state
from deltaskip.path_bytes import real_path
from deltaskip.schema.properties import TableProperties, check_given_property
from deltaskip.sparkexpr.collations import DOMAIN as COLLATIONS_DOMAIN
from deltaskip.sparkexpr.values.arrow_values import arrow_array, exact_sum, no_rows, one_chunk
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.storage import Storage, is_local, uri_of
from deltaskip.txn.result import WriteResult
from deltaskip.txn.transaction import Transaction
from deltaskip.txn.write_options import PLAIN_WRITE, WriteOptions

# The source may lack every feature of a new table, which none of its writers needs.
_LOWEST = actions.Protocol(1, 1)
_OPERATION = "CLONE"
_REPLACE = OptionAdvice("replace", True)
_NOT_OF_CLONES = frozenset(("checkpointProtection", "catalogManaged"))
# Properties that belong to the source's log.
_OF_THE_SOURCE = (
    *MATERIALIZED_COLUMNS,
    TableProperties.in_commit_timestamps_version.name,
    TableProperties.in_commit_timestamps_since_ms.name,
    TableProperties.checkpoint_protection_version.name,
    # The identifier of a managed table in Unity Catalog.
    "io.unitycatalog.tableId",
)


def clone(
    source: Snapshot,
    storage: Storage,
    root: str,
    *,
    replace_table: bool = False,
    properties: Mapping[str, str] | None = None,
    dry_run: bool = False,
    options: WriteOptions = PLAIN_WRITE,
) -> WriteResult:
    """Make a table of the files of a version, in one commit.

    Args:
        source: The version of the source.
        storage: Storage of the new table.
        root: Location of the new table.
        replace_table: Whether an existing table is replaced.
        properties: Properties in addition to those of the source.
        dry_run: Check whether the clone is possible, and commit nothing.
        options: How the commit is recorded.

    Raises:
        TableAlreadyExists: A table exists, and `replace_table` is false.
        InvalidArgument: A property is not possible, or source and clone are the same table.
        UnsupportedFeature: The source has a feature that deltaskip cannot write, or the clone is append-only.
        InvalidCommit: A rule of the protocol forbids the new table.
        CommitConflict: Another writer changed the table that is replaced.
        StorageError: Storage failed.
    """
    if uri_of(root) == source.table_root or (is_local(root) and real_path(root) == real_path(source.root)):
        raise InvalidArgument(f"A clone of {source.root} cannot be made in the same place: choose another one.")
    check_same_table(source)
    configuration, features = _configuration(source, properties or {})
    target = _existing(storage, root)
    if target is not None and not replace_table:
        raise already_exists(root, f"choose another place, or pass {_REPLACE}").advising(_REPLACE)
    parameters = {"source": f"delta.`{source.table_root}`", "sourceVersion": source.version}
    if target is None:
        check_no_table(storage, root)
        check_no_files(storage, root)
    base = before_creation(storage, root, _LOWEST) if target is None else target
    transaction = Transaction(base, _OPERATION, parameters, look_up_files=False, user_metadata=options.user_metadata)
    transaction.changes.copies_state = True
    metadata = replace(source.metadata, configuration=configuration)
    if target is None:
        _create(transaction, source, metadata, features)
        files = _absolute(source, source.adds())
        removed = no_rows(actions.FILE_SCHEMA)
    else:
        files, removed = _replace(transaction, source, target, metadata, features)
        if len(removed):
            target.check_writable(CommitSummary(removes_rows=True))
    milliseconds = current_ms()
    transaction.remove(*(actions.remove_of(add, milliseconds) for add in actions.add_actions(removed)))
    # The clone assigns new row ids.
    adds = (replace(add, base_row_id=None, default_row_commit_version=None) for add in actions.add_actions(files))
    transaction.add_written(*adds)
    sizes = source.adds(["size"])["size"]
    metrics = {
        "sourceTableSize": exact_sum(sizes),
        "sourceNumOfFiles": len(sizes),
        "numRemovedFiles": len(removed),
        "removedFilesSize": exact_sum(removed["size"]),
        "numCopiedFiles": 0,
        "copiedFilesSize": 0,
    }
    transaction.set_metrics(metrics)
    if dry_run:
        return WriteResult(None, _OPERATION, metrics)
    return WriteResult(transaction.commit(), _OPERATION, metrics)


def _existing(storage: Storage, root: str) -> Snapshot | None:
    try:
        return load_snapshot(storage, root)
    except TableNotFound:
        return None


def _configuration(source: Snapshot, given: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """The properties of the clone, and features that properties request."""
    constraints = source.table_properties.constraints
    for name, text in TableProperties(given).constraints.items():
        if constraints.get(name) != text:
            raise InvalidArgument(
                f"The constraint {name} cannot be set while {source.root} is cloned, because its rows are not read: "
                f"add it to the clone afterwards."
            )
    own, features = without_feature_properties(given)
    for name, text in own.items():
        check_given_property(name, text, f"the clone of {source.root}")
    kept = {name: text for name, text in source.properties.items() if name not in _OF_THE_SOURCE}
    configuration = {**kept, **own}
    if TableProperties(configuration, source.root).mapping_mode != source.table_properties.mapping_mode:
        raise InvalidArgument(
            f"The property {TableProperties.mapping_mode.name} cannot be changed while {source.root} is cloned, since "
            f"it determines the column names in the files: alter the clone afterwards."
        )
    return configuration, features


def _create(transaction: Transaction, source: Snapshot, metadata: actions.Metadata, features: list[str]) -> None:
    base = transaction.snapshot
    configuration = metadata.configuration
    if TableProperties(configuration, base.root).row_tracking:
        configuration = with_materialized_columns(configuration)
    protocol = _protocol(source.protocol)
    protocol = protocol_for(protocol, TableProperties(configuration, base.root), source.schema)
    transaction.set_protocol(with_features(protocol, features))
    own = replace(metadata, id=base.metadata.id, name=None, description=None, configuration=configuration)
    transaction.set_metadata(own, keep_collations=False)
    for name in (CLUSTERING_DOMAIN, COLLATIONS_DOMAIN):
        if name in source.domains:
            transaction.changes.put_domain(source.domains[name])


def _protocol(source: actions.Protocol) -> actions.Protocol:
    """The source's protocol without the protection of its history, and without the catalog that manages it."""
    features = features_of(source)
    if not features & _NOT_OF_CLONES:
        return source
    return lowest_protocol(features - _NOT_OF_CLONES, source.reader_features or ())


def _replace(
    transaction: Transaction, source: Snapshot, target: Snapshot, metadata: actions.Metadata, features: list[str]
) -> tuple[pa.Table, pa.Table]:
    """Copy the source's state to an existing table; return the files to add and to remove.

    Files that both have stay: a commit cannot remove and add the same file.
    """
    transaction.read("true")
    given = replace(metadata, name=target.metadata.name, description=target.metadata.description)
    merged = copied_state.merged_metadata(target, given, source)
    configuration = merged.configuration
    if TableProperties(configuration, target.root).row_tracking:
        configuration = with_materialized_columns(configuration)
    merged = replace(merged, configuration=configuration)
    protocol = copied_state.merged_protocol(target.protocol, _protocol(source.protocol))
    protocol = protocol_for(protocol, TableProperties(configuration, target.root), source.schema)
    transaction.set_metadata(merged, keep_collations=False)
    copied_state.copy_protocol_and_clustering(transaction, source, with_features(protocol, features))
    collations = source.domains.get(COLLATIONS_DOMAIN)
    if collations is not None:
        transaction.changes.put_domain(collations)
    files = _absolute(source, source.adds())
    before, after = (
        copied_state.keys_of(target, target.adds(["path", "deletion_vector"])),
        copied_state.keys_of(target, files),
    )
    new = files.filter(pc.invert(pc.is_in(after, value_set=before)))
    return new, copied_state.files_without(target, after)


def _absolute(source: Snapshot, files: pa.Table) -> pa.Table:
    """The files with absolute paths, also for deletion vectors; they change data."""
    position = actions.FILE_SCHEMA.get_field_index("path")
    paths = _logged(source, one_chunk(files["path"]))
    files = copied_state.with_data_change(files).set_column(position, actions.FILE_SCHEMA.field(position), paths)
    vectors = one_chunk(files["deletion_vector"])
    if vectors.null_count == len(vectors):
        return files
    position = actions.FILE_SCHEMA.get_field_index("deletion_vector")
    values = [None if each is None else _absolute_vector(source, each) for each in vectors.to_pylist()]
    return files.set_column(position, actions.FILE_SCHEMA.field(position), pa.array(values, vectors.type))


def _logged(source: Snapshot, paths: pa.Array) -> pa.Array:
    """The absolute URI of each path."""
    if all_plain(paths):
        return prefixed(encode_location(actions.hadoop_path(source.table_root, "x"))[:-1].encode(), paths)
    locations = actions.hadoop_paths(source.table_root, paths).to_pylist()
    return arrow_array([encode_location(location) for location in locations], pa.string())


def _absolute_vector(source: Snapshot, vector: dict[str, object]) -> dict[str, object]:
    descriptor = actions.DeletionVectorDescriptor(str(vector["storage_type"]), str(vector["path_or_inline_dv"]), 0, 0)
    location = vector_location(source.table_root, descriptor)
    if location is None:
        return vector
    return {**vector, "storage_type": "p", "path_or_inline_dv": encode_location(location)}
