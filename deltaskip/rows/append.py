"""Appending rows to a table: planned against its latest version, written, and committed as one version.

# PROTOCOL, Add File; delta-spark's operation WRITE with mode Append
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from deltaskip.actions import Metadata
from deltaskip.errors import CommitConflict, DeltaSkipError, StorageError
from deltaskip.features.enabling import protocol_for
from deltaskip.log import Snapshot, refresh
from deltaskip.rows.data import GivenRows
from deltaskip.rows.identity import with_mark
from deltaskip.rows.layout import layout_after
from deltaskip.rows.plan import RowPlan, SchemaMode, plan_rows
from deltaskip.rows.result import WriteResult
from deltaskip.rows.written import WrittenRows
from deltaskip.schema import schema_to_json
from deltaskip.schema.properties import TableProperties
from deltaskip.schema.types import StructType
from deltaskip.txn.transaction import Transaction

__all__ = ["append"]

_ATTEMPTS = 20


def append(
    snapshot: Snapshot,
    data: Any,
    schema_mode: SchemaMode = "keep",
    txn: tuple[str, int] | None = None,
    time_zone: str = "UTC",
) -> WriteResult:
    """Append rows to the table, see DeltaTable.append."""
    rows = GivenRows(data)
    for attempt in range(_ATTEMPTS):
        snapshot = refresh(snapshot)
        if txn is not None and (known := snapshot.txns.get(txn[0])) is not None and known.version >= txn[1]:
            return WriteResult(None, "WRITE")
        try:
            return _append(snapshot, rows, schema_mode, txn, time_zone)
        except CommitConflict:
            # The values of identity columns, and a merged schema, follow the table's state: they are made anew.
            if attempt == _ATTEMPTS - 1 or not rows.repeatable:
                raise
    raise AssertionError("unreachable")


def _append(
    snapshot: Snapshot, rows: GivenRows, schema_mode: SchemaMode, txn: tuple[str, int] | None, time_zone: str
) -> WriteResult:
    partitioning = json.dumps(list(snapshot.partition_columns))
    transaction = Transaction(snapshot, "WRITE", {"mode": "Append", "partitionBy": partitioning}, False)
    plan = plan_rows(
        snapshot.schema,
        snapshot.table_properties,
        rows.schema_for(snapshot.schema),
        schema_mode,
        snapshot.partition_columns,
        mapping_mode=snapshot.mapping_mode,
    )
    metadata = snapshot.metadata
    if plan.changes_schema:
        metadata = _with_schema(metadata, plan.schema, plan.configuration)
    protocol = protocol_for(snapshot.protocol, TableProperties(metadata.configuration, snapshot.root), plan.schema)
    layout = layout_after(snapshot, protocol, metadata, plan.schema, time_zone)
    if txn is not None:
        transaction.read_app(txn[0])
        transaction.set_app_version(*txn)
    written = rows.write(plan, layout)
    metrics = {
        "numFiles": len(written.files),
        "numOutputRows": written.rows,
        "numOutputBytes": written.size_in_bytes,
    }
    if not (written.files or plan.changes_schema or txn):
        return WriteResult(None, "WRITE", metrics)
    try:
        if protocol is not snapshot.protocol:
            transaction.set_protocol(protocol)
        metadata = _with_marks(metadata, plan, written)
        if metadata is not snapshot.metadata:
            transaction.set_metadata(metadata)
        transaction.add_written(*written.files)
        transaction.set_metrics(metrics)
        version = transaction.commit()
    except DeltaSkipError as error:
        # While the outcome of a commit is unknown nothing is deleted, since readers may have the files already.
        if transaction.version is None and not isinstance(error, StorageError):
            written.delete(snapshot.storage, snapshot.root)
        raise
    return WriteResult(version, "WRITE", metrics)


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
