"""Appending rows to a table: planned against its latest version, written, and committed as one version.

# PROTOCOL, Add File; delta-spark's operation WRITE with mode Append
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from deltaskip.actions import Metadata
from deltaskip.errors import SchemaError
from deltaskip.features.enabling import protocol_for
from deltaskip.log import Snapshot
from deltaskip.rows.data import GivenRows
from deltaskip.rows.identity import with_mark
from deltaskip.rows.layout import first_collation_versions, layout_after
from deltaskip.rows.plan import RowPlan, SchemaMode, plan_rows
from deltaskip.rows.written import WrittenRows
from deltaskip.schema import schema_to_json
from deltaskip.schema.mapping import mapping_mode
from deltaskip.schema.properties import TableProperties
from deltaskip.schema.resolve import display_name, fold_name
from deltaskip.schema.types import StructType
from deltaskip.txn.operation import commit_operation
from deltaskip.txn.result import WriteResult
from deltaskip.txn.transaction import Transaction

__all__ = ["append", "append_to", "write_metrics"]


def append(
    snapshot: Snapshot,
    data: Any,
    schema_mode: SchemaMode = "keep",
    txn: tuple[str, int] | None = None,
    time_zone: str = "UTC",
    user_metadata: str | None = None,
    operation: tuple[str, Mapping[str, str]] | None = None,
) -> WriteResult:
    """Append rows to the table, see DeltaTable.append.

    operation: Name and parameters in the table's history; None for delta-spark's WRITE.
    """
    rows = GivenRows(data)

    def begin(latest: Snapshot) -> Transaction:
        write = "WRITE", {"mode": "Append", "partitionBy": list(latest.partition_columns)}
        name, parameters = operation or write
        return Transaction(latest, name, parameters, False, user_metadata)

    def act(transaction: Transaction) -> Mapping[str, int]:
        return write_metrics(append_to(transaction, rows, schema_mode, time_zone))

    return commit_operation(snapshot, begin, act, txn, rows.repeatable)


def append_to(
    transaction: Transaction,
    rows: GivenRows,
    schema_mode: SchemaMode = "keep",
    time_zone: str = "UTC",
    *,
    where: str | None = None,
    partition_by: Sequence[str] | None = None,
) -> WrittenRows:
    """Write rows as data files, and add them to a transaction with the changes of the schema that they need.

    The rows are planned against the table with the changes that the transaction already has.

    Args:
        transaction: The transaction. Its `discard` deletes the files.
        rows: The rows.
        schema_mode: "keep" refuses columns that the table lacks, "merge" adds them, and "replace" takes those of the
            rows for the table's, of which all files must be removed.
        time_zone: Time zone of casts between instants and local times.
        where: A predicate that every row must satisfy, as SQL text.
        partition_by: The partition columns of a replaced schema, in any letter case; None to keep those of the table.

    Raises:
        SchemaError: The columns of the rows do not fit the table.
        RowViolation: A row violates a constraint or `where`, or a value does not fit its column.
        UnsupportedFeature: The table needs a feature that deltaskip cannot write, or Spark for an expression.
        StorageError: The files cannot be written.
    """
    before, root = transaction.metadata, transaction.snapshot.root
    properties = TableProperties(before.configuration, root)
    incoming = rows.schema_for(transaction.schema)
    partitions = before.partition_columns if partition_by is None else tuple(partition_by)
    if schema_mode == "replace":
        _check_partitions(incoming, partitions, root)
    plan = plan_rows(
        transaction.schema,
        properties,
        incoming,
        schema_mode,
        partitions,
        where=where,
        mapping_mode=mapping_mode(transaction.protocol, properties),
    )
    metadata = _with_schema(before, plan.schema, plan.configuration) if plan.changes_schema else before
    if plan.partition_columns != before.partition_columns:
        metadata = replace(metadata, partition_columns=plan.partition_columns)
    protocol = protocol_for(transaction.protocol, TableProperties(metadata.configuration, root), plan.schema)
    domains = transaction.domains
    begun = first_collation_versions(protocol, metadata, plan.schema, domains, rows.collation_version)
    if begun is not None:
        domains = {**domains, begun.domain: begun}
    layout = layout_after(transaction.snapshot, protocol, metadata, plan.schema, domains, time_zone)
    written = rows.write(plan, layout)
    transaction.add_written(*written.files, delete=lambda: written.delete(layout.storage, root))
    if begun is not None and written.files:
        transaction.set_domain(begun.domain, begun.configuration)
    metadata = _with_marks(metadata, plan, written)
    if protocol is not transaction.protocol:
        transaction.set_protocol(protocol)
    if metadata is not before:
        transaction.set_metadata(metadata)
    return written


def write_metrics(written: WrittenRows) -> dict[str, int]:
    """Return Delta's metrics of the operation WRITE."""
    return {
        "numFiles": len(written.files),
        "numOutputRows": written.rows,
        "numOutputBytes": written.size_in_bytes,
    }


def _check_partitions(incoming: StructType, partition_columns: Sequence[str], root: str) -> None:
    """Raise SchemaError if a partition column is not among the columns that replace the table's."""
    names = {fold_name(field.name) for field in incoming.fields}
    missing = next((name for name in partition_columns if fold_name(name) not in names), None)
    if missing is not None:
        raise SchemaError(
            f"The rows that replace the schema of {root} have no column {display_name([missing])}, by which the table "
            f"is partitioned: add the column, or choose the partition columns with partition_by."
        )


def _with_schema(metadata: Metadata, schema: StructType, configuration: Mapping[str, str]) -> Metadata:
    return replace(
        metadata, schema_string=schema_to_json(schema), configuration={**metadata.configuration, **configuration}
    )


def _with_marks(metadata: Metadata, plan: RowPlan, written: WrittenRows) -> Metadata:
    """The metadata with the marks of the identity columns that got values."""
    schema = plan.schema
    for identity in written.identities.values():
        schema = with_mark(schema, identity)
    return metadata if schema is plan.schema else _with_schema(metadata, schema, {})
