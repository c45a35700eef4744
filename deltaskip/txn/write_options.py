"""The options of a write: the arguments that all writing methods of DeltaTable share."""

from __future__ import annotations

from deltaskip.records import dataclass


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The record of a write in the table, and the time zone in which it computes.

    Attributes:
        txn: Application id and version, which are committed with the actions. Nothing is done if the table has this
            version of the application or a later one. None for a write that may be repeated.
        user_metadata: Text that the table's history has with the commit.
        time_zone: Time zone of predicates and expressions, and of casts between instants and local times. Where a
            session computes, its own applies.
    """

    txn: tuple[str, int] | None = None
    user_metadata: str | None = None
    time_zone: str = "UTC"


PLAIN_WRITE = WriteOptions()
"""Options of a write without text in the history and without exactly-once version, in UTC."""
