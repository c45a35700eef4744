"""Deleting the rows that match a predicate.

# delta-spark's operation DELETE
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from deltaskip.actions import AddFile
from deltaskip.dml.changed_rows import AppliedChanges, ChangedRows, apply_changes, check_first
from deltaskip.dml.positions import RowPositions
from deltaskip.dml.rows_to_change import RowsToChange, execution_of, rows_to_change
from deltaskip.log import Snapshot
from deltaskip.txn.operation import commit_operation
from deltaskip.txn.result import WriteResult
from deltaskip.txn.transaction import Transaction
from deltaskip.txn.write_options import PLAIN_WRITE, WriteOptions


def delete(
    snapshot: Snapshot, where: str | None, spark: Any = None, options: WriteOptions = PLAIN_WRITE
) -> WriteResult:
    """Delete rows of the table, see DeltaTable.delete. where: SQL text, as `predicate_text` returns it."""
    return commit_operation(
        snapshot, "DELETE", lambda transaction: delete_in(transaction, where, spark, options.time_zone), options
    )


def delete_in(transaction: Transaction, where: str | None, spark: Any = None, time_zone: str = "UTC") -> dict[str, int]:
    """Add a deletion to a transaction that does not change files yet, and return Delta's metrics of it.

    Args:
        transaction: The transaction. Its `discard` deletes the files that are written.
        where: SQL text of the predicate of the rows to delete; None for all.
        spark: The session that reads and writes rows; None to do it in this process.
        time_zone: Time zone of the predicate; a session uses its own.

    Raises:
        InvalidCommit: The transaction adds or removes files already.
        PredicateError: The predicate is not valid, or fails for a row.
        UnsupportedFeature: The predicate can only be evaluated by Spark.
        StorageError: Storage failed.
    """
    start = time.monotonic()
    snapshot = transaction.snapshot
    check_first(transaction, "delete")
    with transaction.cost.phase("plan"):
        rows = rows_to_change(snapshot, where, execution_of(snapshot, spark, time_zone, "Deleting"))
    transaction.read_scan(rows.scan, removes=True)
    transaction.set_parameters({"predicate": ["true" if where is None else where]})
    removed = remove_rows(transaction, rows)
    return _metrics(removed, int((time.monotonic() - start) * 1000))


def _metrics(removed: AppliedChanges, milliseconds: int) -> dict[str, int]:
    found = {**removed.metrics, "executionTimeMs": milliseconds}
    return found if removed.deleted is None else {**found, "numDeletedRows": removed.deleted}


def remove_rows(transaction: Transaction, rows: RowsToChange, inserted: Sequence[AddFile] = ()) -> AppliedChanges:
    """Add the actions that remove rows, see `apply_changes`.

    Args:
        transaction: The transaction, which depends on the scan already. Its `discard` deletes the new
            files.
        rows: The rows.
        inserted: The new files of the transaction, which the change data feed must contain if files are rewritten.

    Raises:
        UnsupportedFeature: The predicate can only be evaluated by Spark.
        PredicateError: The predicate fails for a row.
        StorageError: A file cannot be read or written.
    """
    execution, partly = rows.execution, rows.files.partly
    with transaction.cost.phase("read"):
        matches = execution.matching(rows.scan, partly.listed) if len(partly) else RowPositions(())
    return apply_changes(transaction, ChangedRows(rows.files.whole, partly, deleted=matches), execution, inserted)
