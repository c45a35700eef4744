"""The options of a write: the arguments that all writing methods of DeltaTable share."""

from __future__ import annotations

from deltaskip.records import dataclass


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How a write makes its data files.

    Attributes:
        codec: Compression codec, as DataFileLayout has it; None for that of the table's property.
        max_rows: The most rows of a file, as DataFileLayout has it.
    """

    codec: str | None = None
    max_rows: int | None = None


TABLE_FILES = FileOptions()
"""Files as the table's properties ask for them."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How a write is recorded in the table, and the time zone in which it computes.

    Attributes:
        txn: Application id and version, which are committed with the actions. Nothing is done if the table has this
            version of the application or a later one. None for a write that may be repeated.
        user_metadata: Text that is recorded with the commit in the table's history.
        time_zone: Time zone of predicates and expressions, and of casts between instants and local times. A session
            uses its own.
        files: How the data files of the new rows are made.
        data_change: Whether rows change. If not, the new rows are those that are replaced.
    """

    txn: tuple[str, int] | None = None
    user_metadata: str | None = None
    time_zone: str = "UTC"
    files: FileOptions = TABLE_FILES
    data_change: bool = True


PLAIN_WRITE = WriteOptions()
"""Options of a write without user metadata and without an application version, in UTC."""
