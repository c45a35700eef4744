"""A table in a storage that is open already, such as that of a catalog's table."""

from __future__ import annotations

from datetime import datetime

from deltaskip import arguments
from deltaskip.log import load_snapshot
from deltaskip.log.history import chosen_version
from deltaskip.storage import Storage
from deltaskip.table.table import DeltaTable

__all__ = ["table_in"]


def table_in(
    storage: Storage, root: str, version: int | None = None, timestamp: datetime | str | None = None
) -> DeltaTable:
    """Return the table at a location of a storage; arguments and errors are those of DeltaTable."""
    number = arguments.non_negative("version", version, f"(table {root})")
    milliseconds = None if timestamp is None else arguments.milliseconds(timestamp, root)
    table = DeltaTable.__new__(DeltaTable)
    table.snapshot = load_snapshot(storage, root, chosen_version(storage, root, number, milliseconds))
    return table
