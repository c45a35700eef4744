"""The version of an application, by which a write that is repeated is committed once."""

from __future__ import annotations

from deltaskip.errors import WriteWarning, shown
from deltaskip.log import Snapshot
from deltaskip.txn.transaction import Transaction
from deltaskip.warning import warn


def record_version(transaction: Transaction, txn: tuple[str, int] | None) -> str:
    """Make a transaction record the version of an application, unless the table has it or a later one already.

    Args:
        transaction: The transaction, which then depends on the application's version.
        txn: Application id and version; None to record nothing.

    Returns:
        Why nothing is to be committed; "" if the version is recorded. See `committed_before`.
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

    A version that was committed last is one that is repeated. A lower one may be a new write by mistake, so that a
    WriteWarning says that nothing is written.
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
