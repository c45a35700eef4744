"""Appending rows to a table: planned against its latest version, written, and committed as one version.

# PROTOCOL, Add File; delta-spark's operation WRITE with mode Append
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from deltaskip.actions import DomainMetadata, Metadata, Protocol
from deltaskip.data_files.data import GivenRows
from deltaskip.data_files.file_layout import first_collation_versions, layout_after
from deltaskip.data_files.parquet_writer import DataFileLayout
from deltaskip.data_files.sort_order import sort_columns
from deltaskip.data_files.written_rows import WrittenRows
from deltaskip.errors import OptionAdvice, SchemaError
from deltaskip.features.enabling import protocol_for
from deltaskip.features.identity_columns import with_mark
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.rows.plan import RowPlan, SchemaMode, plan_rows
from deltaskip.rows.zone_dependence import converted_in_zone
from deltaskip.schema.mapping import mapping_mode
from deltaskip.schema.properties import PARTITIONING_KEY, TableProperties
from deltaskip.sparkexpr.types import StructField, StructType, display_name, fold_name, schema_to_json
from deltaskip.transforms import Identity, Transform
from deltaskip.transforms.generated_columns import partitioned, transform_of
from deltaskip.transforms.partitioning_property import declaration, hidden_columns
from deltaskip.txn.operation import commit_operation
from deltaskip.txn.result import WriteResult
from deltaskip.txn.transaction import Transaction
from deltaskip.txn.write_options import PLAIN_WRITE, TABLE_FILES, FileOptions, WriteOptions

PARTITION_BY = OptionAdvice("partition_by", text="partition_by")


def append(
    snapshot: Snapshot,
    data: Any,
    schema_mode: SchemaMode = "keep",
    options: WriteOptions = PLAIN_WRITE,
    operation: tuple[str, Mapping[str, str]] | None = None,
) -> WriteResult:
    """Append rows to the table, see DeltaTable.append.

    operation: Name and parameters in the table's history; None for delta-spark's WRITE.
    """
    rows = GivenRows(data)
    name, parameters = operation or ("WRITE", None)

    def act(transaction: Transaction) -> Mapping[str, int]:
        partitions = list(transaction.snapshot.partition_columns)
        transaction.set_parameters({"mode": "Append", "partitionBy": partitions} if parameters is None else parameters)
        return write_metrics(append_to(transaction, rows, schema_mode, options.time_zone, files=options.files))

    return commit_operation(snapshot, name, act, options, rows.repeatable)


@dataclass(frozen=True, slots=True)
class PlannedAppend:
    """The plan of an append: the rows, their files, and the changes of the table's state. It can be pickled.

    Attributes:
        rows: The plan of the rows.
        layout: The place and the contents of the files.
        protocol: The protocol after the commit.
        metadata: The metadata after the commit, except the marks of identity columns.
        collations: The domain with the versions of collations that the commit begins to write; None for none.
    """

    rows: RowPlan
    layout: DataFileLayout
    protocol: Protocol
    metadata: Metadata
    collations: DomainMetadata | None


def append_to(
    transaction: Transaction,
    rows: GivenRows,
    schema_mode: SchemaMode = "keep",
    time_zone: str = "UTC",
    *,
    where: str | None = None,
    partition_by: Sequence[Transform] | None = None,
    files: FileOptions = TABLE_FILES,
) -> WrittenRows:
    """Write rows as data files, and add them to a transaction with the changes of the schema that they need.

    The rows are planned against the table with the changes that the transaction already has.

    Args:
        transaction: The transaction. Its `discard` deletes the files.
        rows: The rows.
        schema_mode: "keep" refuses columns that the table lacks, "merge" adds them, and "replace" replaces the
            table's columns by those of the rows; then all files of the table must be removed.
        time_zone: Time zone of casts between instants and local times.
        where: A predicate that every row must satisfy, as SQL text.
        partition_by: How a replaced schema is partitioned; None to keep the table's partition columns and transforms.
        files: How the data files are made.

    Raises:
        SchemaError: The columns of the rows do not fit the table.
        RowViolation: A row violates a constraint or `where`, or a value does not fit its column.
        UnsupportedFeature: The table needs a feature that deltaskip cannot write, or Spark for an expression.
        StorageError: The files cannot be written.
    """
    incoming = rows.schema_for(transaction.schema)
    chosen = schema_mode, time_zone, rows.collation_version
    planned = plan_append(transaction, incoming, *chosen, where=where, partition_by=partition_by, files=files)
    if converted_in_zone(planned.rows) is not None:
        transaction.zone = time_zone if rows.frame is None else rows.frame_zone
    written = rows.write(planned.rows, planned.layout)
    add_rows(transaction, planned, written)
    return written


def plan_append(
    transaction: Transaction,
    incoming: StructType,
    schema_mode: SchemaMode,
    time_zone: str,
    collation_version: Callable[[], str | None],
    *,
    where: str | None = None,
    partition_by: Sequence[Transform] | None = None,
    files: FileOptions = TABLE_FILES,
) -> PlannedAppend:
    """Return the plan of `append_to` for rows with these columns.

    Args:
        transaction: The transaction, to which `add_rows` adds the files later.
        incoming: Columns of the rows.
        schema_mode: As for `append_to`.
        time_zone: Time zone of casts between instants and local times.
        collation_version: Returns the version of the collations by which the writer compares rows, if it is known.
        where: A predicate that every row must satisfy, as SQL text.
        partition_by: As for `append_to`.
        files: As for `append_to`.

    Raises:
        SchemaError: The columns of the rows do not fit the table.
        UnsupportedFeature: The table needs a feature that deltaskip cannot write.
    """
    before, root = transaction.metadata, transaction.snapshot.root
    properties = transaction.snapshot.typed(before.configuration)
    partitions: Sequence[str] = before.partition_columns
    generated: tuple[StructField, ...] = ()
    listed = before.configuration.get(PARTITIONING_KEY)
    if schema_mode == "replace":
        transforms = _kept_transforms(transaction, incoming) if partition_by is None else tuple(partition_by)
        _check_partitions(incoming, [each.path[0] for each in transforms if isinstance(each, Identity)], root)
        made = partitioned(incoming, transforms, root)
        partitions, generated = made.partition_columns, made.schema.fields[len(incoming.fields) :]
        listed = declaration(transforms, made)
    plan = plan_rows(
        transaction.schema,
        properties,
        incoming,
        schema_mode,
        partitions,
        where=where,
        mapping_mode=mapping_mode(transaction.protocol, properties),
        generated=generated,
    )
    metadata = _with_schema(before, plan.schema, plan.configuration) if plan.changes_schema else before
    if listed != metadata.configuration.get(PARTITIONING_KEY):
        others = {key: text for key, text in metadata.configuration.items() if key != PARTITIONING_KEY}
        configuration = others if listed is None else {**others, PARTITIONING_KEY: listed}
        metadata = replace(metadata, configuration=configuration)
    if plan.partition_columns != before.partition_columns:
        metadata = replace(metadata, partition_columns=plan.partition_columns)
    protocol = protocol_for(transaction.protocol, TableProperties(metadata.configuration, root), plan.schema)
    domains = transaction.domains
    begun = first_collation_versions(protocol, metadata, plan.schema, domains, collation_version)
    if begun is not None:
        domains = {**domains, begun.domain: begun}
    layout = layout_after(transaction.snapshot, protocol, metadata, plan.schema, domains, time_zone)
    # Only appended rows are sorted; rows that a change or OPTIMIZE rewrites keep their order.
    sort_by = sort_columns(metadata.configuration, plan.schema, layout.mapping_mode, layout.partition_columns, root)
    codec = files.codec or layout.codec
    layout = replace(layout, codec=codec, max_rows=files.max_rows, sort_by=sort_by, unsynced=transaction.unsynced)
    return PlannedAppend(plan, layout, protocol, metadata, begun)


def add_rows(transaction: Transaction, planned: PlannedAppend, written: WrittenRows) -> None:
    """Add data files to a transaction, with the changes of the schema that they need.

    Args:
        transaction: The transaction for which the rows were planned. Its `discard` deletes the files.
        planned: The plan.
        written: The files.
    """
    layout, begun = planned.layout, planned.collations
    transaction.changes.undo.append(lambda: written.delete(layout.storage, layout.root))
    if begun is not None and written.files:
        transaction.set_domain(begun.domain, begun.configuration)
    metadata = with_marks(planned.metadata, planned.rows.schema, written)
    if planned.protocol != transaction.protocol:
        transaction.set_protocol(planned.protocol)
    if metadata != transaction.metadata:
        transaction.set_metadata(metadata)
    transaction.add_written(*written.files, inserted=True)


def set_schema(transaction: Transaction, schema: StructType, configuration: Mapping[str, str]) -> None:
    """Change the schema of the transaction's table, with the table features that the new schema needs.

    Args:
        transaction: The transaction.
        schema: The schema, such as the result of `evolved_schema`.
        configuration: Properties to set with it.
    """
    metadata = _with_schema(transaction.metadata, schema, configuration)
    properties = TableProperties(metadata.configuration, transaction.snapshot.root)
    protocol = protocol_for(transaction.protocol, properties, schema)
    if protocol is not transaction.protocol:
        transaction.set_protocol(protocol)
    transaction.set_metadata(metadata)


def write_metrics(written: WrittenRows) -> dict[str, int]:
    """Return Delta's metrics of the operation WRITE."""
    return {"numFiles": len(written.files), "numOutputRows": written.rows, "numOutputBytes": written.size_in_bytes}


def with_marks(metadata: Metadata, schema: StructType, written: WrittenRows) -> Metadata:
    """Return the metadata with new marks of the identity columns that generated values; the same object if none did.

    schema: The schema of the metadata.
    """
    marked = schema
    for identity in written.identities.values():
        marked = with_mark(marked, identity)
    return metadata if marked is schema else _with_schema(metadata, marked, {})


def _kept_transforms(transaction: Transaction, incoming: StructType) -> tuple[Transform, ...]:
    """The table's partitioning for rows that replace its schema: hidden columns are created again."""
    schema, metadata = transaction.schema, transaction.metadata
    fields = {field.name: field for field in schema.fields}
    hidden = hidden_columns(schema, metadata.partition_columns, metadata.configuration)
    given = {fold_name(field.name) for field in incoming.fields}
    return tuple(
        transform_of(schema, fields[name]) if name in hidden and fold_name(name) not in given else Identity((name,))
        for name in metadata.partition_columns
    )


def _check_partitions(incoming: StructType, partition_columns: Sequence[str], root: str) -> None:
    """Raise SchemaError if a partition column is not among the columns that replace the table's."""
    names = {fold_name(field.name) for field in incoming.fields}
    missing = next((name for name in partition_columns if fold_name(name) not in names), None)
    if missing is not None:
        raise SchemaError(
            f"The rows that replace the schema of {root} have no column {display_name([missing])}, by which the table "
            f"is partitioned: add the column, or choose the partition columns with {PARTITION_BY}."
        ).advising(PARTITION_BY)


def _with_schema(metadata: Metadata, schema: StructType, configuration: Mapping[str, str]) -> Metadata:
    return replace(
        metadata, schema_string=schema_to_json(schema), configuration={**metadata.configuration, **configuration}
    )
