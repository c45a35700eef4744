"""Removing the rows that match a predicate, as DELETE and overwrites do."""

from __future__ import annotations

from collections.abc import Sequence

from deltaskip.actions import AddFile
from deltaskip.dml.changed_rows import AppliedChanges, ChangedRows, apply_changes
from deltaskip.dml.execution import RowExecution
from deltaskip.dml.files import FilesToChange
from deltaskip.dml.positions import RowPositions
from deltaskip.skipping.scan import Scan
from deltaskip.txn.transaction import Transaction

__all__ = ["remove_rows"]


def remove_rows(
    transaction: Transaction,
    change: FilesToChange,
    scan: Scan,
    execution: RowExecution,
    inserted: Sequence[AddFile] = (),
) -> AppliedChanges:
    """Add the actions that remove the rows for which the predicate of a scan is TRUE, see `apply_changes`.

    Args:
        transaction: The transaction, which depends on the scan already. Its `discard` deletes what is written here.
        change: The files of the scan, from `files_to_change`.
        scan: The scan.
        execution: Reads and writes the rows of files that lose only some.
        inserted: The new files of the transaction, which the change data feed must contain if files are rewritten.

    Raises:
        UnsupportedFeature: The predicate can only be evaluated by Spark.
        PredicateError: The predicate fails for a row.
        StorageError: A file cannot be read or written.
    """
    partly = change.partly
    with transaction.cost.phase("read"):
        matches = execution.matching(scan, partly.listed) if len(partly) else RowPositions(())
    return apply_changes(transaction, ChangedRows(change.whole, partly, deleted=matches), execution, inserted)
