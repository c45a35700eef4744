"""The options of a write: the arguments that all writing methods of DeltaTable share."""

from __future__ import annotations

from deltaskip.records import dataclass


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How a write is recorded in the table, and the time zone in which it computes.

    Attributes:
        txn: Application id and version, which are committed with the actions. Nothing is done if the table has this
            version of the application or a later one. None for a write that may be repeated.
        user_metadata: Text that is recorded with the commit in the table's history.
        time_zone: Time zone of predicates and expressions, and of casts between instants and local times. A session
            uses its own.
    """

    txn: tuple[str, int] | None = None
    user_metadata: str | None = None
    time_zone: str = "UTC"


PLAIN_WRITE = WriteOptions()
"""Options of a write without user metadata and without an application version, in UTC."""
