"""Deleting the rows that match a predicate.

# delta-spark's operation DELETE
"""

from __future__ import annotations

import time
from typing import Any

from deltaskip.dml.arrow_execution import execution_of
from deltaskip.dml.changed_rows import AppliedChanges, check_first
from deltaskip.dml.files import files_to_change
from deltaskip.dml.removal import remove_rows
from deltaskip.log import Snapshot
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.txn.operation import commit_operation
from deltaskip.txn.result import WriteResult
from deltaskip.txn.transaction import Transaction
from deltaskip.txn.write_options import PLAIN_WRITE, WriteOptions

__all__ = ["delete", "delete_in"]


def delete(
    snapshot: Snapshot,
    where: str | None,
    spark: Any = None,
    options: WriteOptions = PLAIN_WRITE,
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
        time_zone: Time zone of the predicate; with a session its own applies.

    Raises:
        InvalidCommit: The transaction adds or removes files already.
        PredicateError: The predicate is not valid, or fails for a row.
        UnsupportedFeature: The predicate can only be evaluated by Spark.
        StorageError: Storage failed.
    """
    start = time.monotonic()
    snapshot = transaction.snapshot
    check_first(transaction, "delete")
    execution = execution_of(snapshot, spark, time_zone, "Deleting")
    text = "true" if where is None else where
    scan = execution.planned(Scan(snapshot, ReadOptions(text)))
    transaction.read_scan(scan, removes=True)
    transaction.set_parameters({"predicate": [text]})
    with transaction.cost.phase("plan"):
        change = files_to_change(scan)
    removed = remove_rows(transaction, change, scan, execution)
    return _metrics(removed, int((time.monotonic() - start) * 1000))


def _metrics(removed: AppliedChanges, milliseconds: int) -> dict[str, int]:
    found = {**removed.metrics, "executionTimeMs": milliseconds}
    return found if removed.deleted is None else {**found, "numDeletedRows": removed.deleted}
