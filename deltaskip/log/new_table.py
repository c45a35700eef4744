"""The state of a table before its first version, on which the transaction that creates it is based."""

from __future__ import annotations

from uuid import uuid4

from deltaskip.actions import Format, Metadata, Protocol
from deltaskip.log.segment import LogSegment
from deltaskip.log.snapshot import Snapshot
from deltaskip.log.table_state import StateChange
from deltaskip.log.tail import Tail
from deltaskip.storage import Storage

__all__ = ["BEFORE_CREATION", "before_creation", "table_after"]

BEFORE_CREATION = -1
"""The version of a table that does not exist yet."""


def before_creation(storage: Storage, root: str, protocol: Protocol, table_id: str | None = None) -> Snapshot:
    """Return the snapshot before a table's first version: an id, and neither columns nor files.

    Args:
        storage: Storage of the table.
        root: Location of the table.
        protocol: The lowest protocol that the table will have.
        table_id: The id that the table will have; None for a new one.
    """
    metadata = Metadata(table_id or str(uuid4()), Format(), None, (), {})
    segment = LogSegment(root, BEFORE_CREATION, None, ())
    return Snapshot(storage, segment, None, Tail.without_files(root, StateChange(protocol, metadata)))


def table_after(base: Snapshot) -> str:
    """Return the table that a commit follows in messages: "/data/t after version 7", or "the new table /data/t"."""
    if base.version == BEFORE_CREATION:
        return f"the new table {base.root}"
    return f"{base.root} after version {base.version}"
