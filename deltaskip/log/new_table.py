"""The state of a table before its first version, on which its creation is based, and where a table may be created."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

from deltaskip.actions import Format, Metadata, Protocol
from deltaskip.errors import CorruptLog, InvalidArgument, OptionAdvice, TableAlreadyExists
from deltaskip.log.file_names import FOLDERS_OF_TABLES, parse_log_file
from deltaskip.log.last_checkpoint import LAST_CHECKPOINT
from deltaskip.log.segment import LogSegment, read_listing
from deltaskip.log.snapshot import Snapshot
from deltaskip.log.state_actions import StateChange
from deltaskip.log.tail import Tail
from deltaskip.path_bytes import real_path
from deltaskip.storage import LOG_FOLDER, Storage, is_local, join, split_authority
from deltaskip.storage.interface import entries_of

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


def check_no_table(storage: Storage, root: str) -> None:
    """Raise unless a log can begin at a root.

    Raises:
        TableAlreadyExists: There is a table; its first commits may have been cleaned up.
        CorruptLog: Files remain of the log of a table that was partly deleted. Readers would take them for a part of
            the new log.
        InvalidArgument: The root is inside a folder that an enclosing table reserves for its files.
    """
    path = real_path(root) if is_local(root) else split_authority(root)[1]
    own = next((name for name in path.split("/") if name in FOLDERS_OF_TABLES), None)
    if own is not None:
        raise InvalidArgument(
            f"No table can be created at {root}: {own} is the folder of a Delta table's own files, so writers would "
            f"mistake its contents; choose another location."
        )
    try:
        listed = storage.list_from(join(root, LOG_FOLDER), "")
    except FileNotFoundError:
        return
    except NotADirectoryError as error:
        raise InvalidArgument(
            f"No table can be created at {root}: a part of this path is a file, and no folder; choose another location."
        ) from error
    listing = read_listing(root, listed)
    if listing.latest is not None or listing.incomplete:
        raise already_exists(root)
    left = [file.name for file in listed if file.name == LAST_CHECKPOINT or parse_log_file(file) is not None]
    if left:
        raise CorruptLog(
            f"No table can be created at {root}: it has the rest of a table that was partly deleted. Its "
            f"{LOG_FOLDER} contains {left[0]}, but no commit and no checkpoint: restore that log, or delete the folder."
        )


def check_no_files(storage: Storage, root: str) -> None:
    """Raise InvalidArgument if a folder that is to become a table already has data, which the table would not list."""
    data = next(_data_in(storage, root), None)
    if data is not None:
        raise InvalidArgument(
            f"No table can be created at {root}: the folder has files already, such as {data}, which would not be "
            f"rows of the table. Make a table of them with convert_to_delta, choose another folder, or delete them."
        )


def _data_in(storage: Storage, folder: str) -> Iterator[str]:
    """Yield the Parquet files in a folder and in partition folders below it whose names come from a table writer.

    Other files may be meant for `add_files`.
    """
    for entry in entries_of(storage, folder):
        if not entry.is_file and "=" in entry.name[1:]:
            yield from (f"{entry.name}/{name}" for name in _data_in(storage, join(folder, entry.name)))
        elif entry.is_file and entry.name.startswith("part-") and entry.name.endswith(".parquet"):
            yield entry.name


_IGNORE, _REPLACE = OptionAdvice("mode", "ignore"), OptionAdvice("mode", "replace")
_CREATED_AGAIN = f"open it, keep it with {_IGNORE}, or replace it with its rows by {_REPLACE}"


def already_exists(root: str, cure: str = _CREATED_AGAIN) -> TableAlreadyExists:
    """Return the error for a location that has a table. cure: What to do; the default is for `DeltaTable.create`."""
    return TableAlreadyExists(f"A table already exists at {root}: {cure}.").advising(_IGNORE, _REPLACE)


def table_after(base: Snapshot) -> str:
    """Return the table that a commit follows in messages: "/data/t after version 7", or "the new table /data/t"."""
    if base.version == BEFORE_CREATION:
        return f"the new table {base.root}"
    return f"{base.root} after version {base.version}"
