"""Setting columns of the rows that match a predicate.

# delta-spark's operation UPDATE; Spark 4.1, UPDATE … SET
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from deltaskip.dml.assignments import NewValue, assignments_of
from deltaskip.dml.changed_rows import AppliedChanges, apply_changes, check_first
from deltaskip.dml.rows_to_change import execution_of, rows_to_change
from deltaskip.errors import InvalidCommit
from deltaskip.features.row_tracking import row_id_columns
from deltaskip.log import Snapshot
from deltaskip.txn.operation import commit_operation
from deltaskip.txn.result import WriteResult
from deltaskip.txn.transaction import Transaction
from deltaskip.txn.write_options import PLAIN_WRITE, WriteOptions

# An update reads the rows of every file that it changes.
_READ_ROWS = 1024


def update(
    snapshot: Snapshot,
    given: Mapping[str, NewValue],
    where: str | None,
    spark: Any = None,
    options: WriteOptions = PLAIN_WRITE,
) -> WriteResult:
    """Set columns of rows of the table, see DeltaTable.update.

    given: New values by column, from `given_values`. where: SQL text, as `predicate_text` returns it.
    """
    return commit_operation(
        snapshot, "UPDATE", lambda transaction: update_in(transaction, given, where, spark, options.time_zone), options
    )


def update_in(
    transaction: Transaction,
    given: Mapping[str, NewValue],
    where: str | None,
    spark: Any = None,
    time_zone: str = "UTC",
) -> dict[str, int]:
    """Add an update to a transaction that does not change files yet, and return Delta's metrics of it.

    Args:
        transaction: The transaction. Its `discard` deletes the files that are written.
        given: New values by column, from `given_values`.
        where: SQL text of the predicate of the rows to update; None for all.
        spark: The session that reads and writes rows; None to do it in this process.
        time_zone: Time zone of expressions; a session uses its own.

    Raises:
        InvalidCommit: The transaction adds or removes files already, or changes columns.
        PredicateError: The predicate or a new value is not valid, or fails for a row.
        SchemaError: A column does not exist or cannot be set, or its new value has a type that it cannot store.
        RowViolation: An updated row violates a constraint, or a value does not fit its column.
        UnsupportedFeature: An expression can only be evaluated by Spark.
        StorageError: Storage failed.
    """
    start = time.monotonic()
    snapshot = transaction.snapshot
    check_first(transaction, "update")
    if transaction.schema != snapshot.schema:
        raise InvalidCommit(
            f"A transaction on {snapshot.root} that has changed columns cannot update rows: update first, or commit."
        )
    properties = snapshot.typed(transaction.metadata.configuration)
    assignments = assignments_of(snapshot.schema, properties, snapshot.partition_columns, snapshot.mapping_mode, given)
    with transaction.cost.phase("plan"):
        execution = execution_of(snapshot, spark, time_zone, "Updating")
        rows = rows_to_change(snapshot, where, execution, _READ_ROWS if spark is None else -1)
    transaction.read_scan(rows.scan, removes=True)
    transaction.set_parameters({"predicate": [] if where is None else [where]})
    ids, feed = row_id_columns(properties, transaction.protocol), properties.change_data_feed
    with transaction.cost.phase("read"):
        changed = rows.execution.updates(rows.scan, rows.files, assignments, ids, feed)
    found = time.monotonic()
    try:
        applied = apply_changes(transaction, changed, rows.execution)
    finally:
        if changed.new is not None:
            changed.new.release()
    return _metrics(applied, _milliseconds(found - start), _milliseconds(time.monotonic() - found))


def check_values(snapshot: Snapshot, given: Mapping[str, NewValue]) -> None:
    """Raise the errors of `update_in` for new values that the columns of a table cannot take."""
    properties = snapshot.table_properties
    assignments_of(snapshot.schema, properties, snapshot.partition_columns, snapshot.mapping_mode, given)


def _metrics(applied: AppliedChanges, scanning: int, writing: int) -> dict[str, int]:
    return {
        **applied.metrics,
        "numUpdatedRows": applied.updated,
        "scanTimeMs": scanning,
        "rewriteTimeMs": writing,
        "executionTimeMs": scanning + writing,
    }


def _milliseconds(seconds: float) -> int:
    return int(seconds * 1000)
