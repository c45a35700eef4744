"""An operation on a table: planned against its latest version, committed once, and repeated after a conflict."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from deltaskip.engine import session_settings
from deltaskip.errors import CommitConflict, WriteWarning, shown
from deltaskip.log import Snapshot, refresh
from deltaskip.sparkexpr.meaning import SessionMeaning
from deltaskip.txn.result import CostMeter, WriteResult
from deltaskip.txn.transaction import Transaction
from deltaskip.txn.turns import Turn
from deltaskip.txn.write_options import PLAIN_WRITE, WriteOptions
from deltaskip.warning import warn

MAX_TRIES = 20


def commit_operation(
    snapshot: Snapshot,
    operation: str,
    act: Callable[[Transaction], Mapping[str, int]],
    options: WriteOptions = PLAIN_WRITE,
    repeatable: bool = True,
) -> WriteResult:
    """Commit what `act` adds to a transaction on the latest version of a table; nothing if it adds nothing.

    After an error no file of the operation is left, unless the outcome of the commit is unknown.

    Args:
        snapshot: A version of the table.
        operation: Name of the operation in the table's history.
        act: Adds the actions and the parameters of the operation, and returns its metrics.
        options: How the operation is recorded.
        repeatable: Whether `act` can be called again, on the version that another writer committed.

    Raises:
        CommitConflict: Another writer changed data that the operation depends on, and the operation is not repeatable
            or lost in every attempt.
    """
    cost: CostMeter | None = None
    given = snapshot
    with Turn(snapshot) as turn:
        if repeatable:
            turn.take_if_busy()
        left = MAX_TRIES if repeatable else 1
        while True:
            left -= 1
            snapshot = refresh(snapshot)
            transaction = Transaction(snapshot, operation, None, False, options.user_metadata)
            transaction.turn = turn
            if cost is not None:
                transaction.cost = cost.repeat()
            cost = transaction.cost
            meaning = session_settings()
            try:
                result = _tried(transaction, act, options.txn, meaning)
                given.followed_by = transaction.after
                return result
            except CommitConflict:
                # Values of identity columns, a merged schema and the files to remove depend on the version of the
                # table.
                transaction.discard()
                if not left:
                    raise
                turn.take()
            except BaseException:
                transaction.discard()
                raise


def _tried(
    transaction: Transaction,
    act: Callable[[Transaction], Mapping[str, int]],
    txn: tuple[str, int] | None,
    meaning: SessionMeaning | None,
) -> WriteResult:
    """Commit what `act` adds to a transaction, once. meaning: The settings of the active session before that."""
    repeated = record_version(transaction, txn)
    if repeated:
        return WriteResult(None, transaction.operation, nothing_written=repeated)
    metrics = act(transaction)
    transaction.set_metrics(metrics)
    if transaction.changes.scans and session_settings() != meaning:
        raise CommitConflict(
            f"The settings of the Spark session were changed while rows of {transaction.snapshot.root} were chosen: "
            f"repeat the operation, and give each thread a session of its own (spark.newSession()).",
            "busy",
        )
    version = None
    if transaction.has_actions:
        with transaction.cost.phase("commit"):
            version = transaction.commit()
    if transaction.already_gone and "numDeletedRows" in metrics:
        metrics = {**metrics, "numDeletedRows": metrics["numDeletedRows"] - transaction.already_gone}
    return WriteResult(version, transaction.operation, metrics, cost=transaction.cost.cost, time_zone=transaction.zone)


def record_version(transaction: Transaction, txn: tuple[str, int] | None) -> str:
    """Make a transaction record the version of an application, unless the table already has it or a later one.

    Args:
        transaction: The transaction, which then depends on the application's version.
        txn: Application id and version; None to record nothing.

    Returns:
        The reason to commit nothing; "" if the version is recorded. See `committed_before`.
    """
    if txn is None:
        return ""
    transaction.read_app(txn[0])
    why = committed_before(transaction.snapshot, txn)
    if not why:
        transaction.set_app_version(*txn)
    return why


def committed_before(snapshot: Snapshot, txn: tuple[str, int] | None) -> str:
    """Return why a write with this version of an application commits nothing; "" if it has something to commit.

    The version that was committed last is a repetition. A lower one may be a new write by mistake, so a WriteWarning
    says that nothing is written.
    """
    last = None if txn is None else snapshot.txns.get(txn[0])
    if txn is None or last is None or last.version < txn[1]:
        return ""
    name = shown(txn[0])
    if last.version == txn[1]:
        return f"because version {txn[1]} of the application {name} is committed already"
    why = f"because the version {txn[1]} of the application {name} is not above {last.version}, its last one"
    warn(
        f"Nothing was written to {snapshot.root}, {why} in the table. Versions of an application must grow: pass a "
        f"higher one in txn for new rows, or the name of another application.",
        WriteWarning,
    )
    return why
