"""Actions about a table, not its files, reconciled: protocol, metadata, transaction identifiers, metadata domains."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import get_args

from deltaskip.actions import DomainMetadata, Metadata, Protocol, Txn
from deltaskip.records import dataclass

StateAction = Protocol | Metadata | Txn | DomainMetadata

STATE_ACTIONS: dict[str, type[StateAction]] = {kind.FIELDS.action: kind for kind in get_args(StateAction)}
STATE_KEYS: dict[str, str | None] = {"protocol": None, "metaData": None, "txn": "appId", "domainMetadata": "domain"}
"""The member that tells the actions of a name apart; None if there is one at most."""


@dataclass(frozen=True, slots=True)
class StateChange:
    """The newest actions of a range of the log; None or absent if it has none. Removed domains stay as tombstones."""

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    txns: Mapping[str, Txn] = field(default_factory=dict)
    domains: Mapping[str, DomainMetadata] = field(default_factory=dict)


def state_of(actions: Iterable[StateAction]) -> StateChange:
    """Reconcile the actions, given oldest first.

    PROTOCOL, Action Reconciliation: the latest protocol, metaData, txn of an appId and domainMetadata of a domain win.
    """
    protocol: Protocol | None = None
    metadata: Metadata | None = None
    txns: dict[str, Txn] = {}
    domains: dict[str, DomainMetadata] = {}
    for action in actions:
        match action:
            case Protocol():
                protocol = action
            case Metadata():
                metadata = action
            case Txn():
                txns[action.app_id] = action
            case DomainMetadata():
                domains[action.domain] = action
    return StateChange(protocol, metadata, txns, domains)


def overlay(older: StateChange, newer: StateChange) -> StateChange:
    """Combine two adjacent ranges of the log; the newer one wins."""
    return StateChange(
        newer.protocol or older.protocol,
        newer.metadata or older.metadata,
        {**older.txns, **newer.txns},
        {**older.domains, **newer.domains},
    )
