"""An operation on a table: decided against its latest version, committed, and after a conflict done anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from deltaskip.errors import CommitConflict
from deltaskip.log import Snapshot, refresh
from deltaskip.txn.cost import CostMeter
from deltaskip.txn.result import WriteResult
from deltaskip.txn.transaction import Transaction
from deltaskip.txn.turns import Turn

__all__ = ["MAX_TRIES", "commit_operation"]

MAX_TRIES = 20


def commit_operation(
    snapshot: Snapshot,
    begin: Callable[[Snapshot], Transaction],
    act: Callable[[Transaction], Mapping[str, int]],
    txn: tuple[str, int] | None = None,
    repeatable: bool = True,
) -> WriteResult:
    """Commit what `act` adds to a transaction on the latest version of a table; nothing if it adds nothing.

    After an error no file of the operation is left, unless storage failed before it answered whether it has the commit.

    Args:
        snapshot: A version of the table.
        begin: Begins the transaction on the latest version.
        act: Adds the actions, and returns the metrics of the operation.
        txn: Application id and version, which are committed with the actions. Nothing is done if the table has this
            version of the application or a later one.
        repeatable: Whether `act` can be called again, on the version that another writer committed.

    Raises:
        CommitConflict: Another writer changed what the operation depends on, and it is not repeatable or came too late
            each time.
    """
    cost: CostMeter | None = None
    given = snapshot
    with Turn(snapshot) as turn:
        if repeatable:
            turn.take_if_busy()
        for left in reversed(range(MAX_TRIES if repeatable else 1)):
            snapshot = refresh(snapshot)
            transaction = begin(snapshot)
            transaction.turn = turn
            if cost is not None:
                transaction.cost = cost.repeat()
            cost = transaction.cost
            try:
                result = _tried(transaction, act, txn)
                given.followed_by = transaction.after
                return result
            except CommitConflict:
                # Values of identity columns, a merged schema and the files to remove follow the version of the table.
                transaction.discard()
                if not left:
                    raise
                turn.take()
            except BaseException:
                transaction.discard()
                raise
    raise AssertionError("unreachable")


def _tried(
    transaction: Transaction, act: Callable[[Transaction], Mapping[str, int]], txn: tuple[str, int] | None
) -> WriteResult:
    """Commit what `act` adds to a transaction, once."""
    if txn is not None:
        done = transaction.read_app(txn[0])
        if done is not None and done >= txn[1]:
            return WriteResult(None, transaction.operation)
        transaction.set_app_version(*txn)
    metrics = act(transaction)
    transaction.set_metrics(metrics)
    version = None
    if transaction.has_actions:
        with transaction.cost.phase("commit"):
            version = transaction.commit()
    if transaction.already_gone and "numDeletedRows" in metrics:
        metrics = {**metrics, "numDeletedRows": metrics["numDeletedRows"] - transaction.already_gone}
    return WriteResult(version, transaction.operation, metrics, cost=transaction.cost.cost)
