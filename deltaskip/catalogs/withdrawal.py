"""Taking back what an unfinished creation of a table has left in its folder."""

from __future__ import annotations

from contextlib import suppress

from deltaskip.actions import decode_path
from deltaskip.errors import DeltaSkipError
from deltaskip.log import load_snapshot
from deltaskip.log.file_names import LOG_FOLDER
from deltaskip.skipping.scan import Scan
from deltaskip.storage import Storage, join

__all__ = ["remove_empty_folders", "withdraw"]


def withdraw(storage: Storage, root: str) -> None:
    """Delete a table that was created a moment ago and has got no name: its log first, then the files of version 0.

    Other files of the folder stay, because they are not the table's. Nothing happens if there is no table.
    """
    try:
        created = load_snapshot(storage, root, 0)
        paths = Scan(created, "true").files(columns=["path"])["path"].to_pylist()
    except DeltaSkipError:
        paths = []
    storage.delete_directory(join(root, LOG_FOLDER))
    with suppress(OSError, DeltaSkipError):
        storage.delete_files([join(root, decode_path(path)) for path in paths])
    remove_empty_folders(storage, root)


def remove_empty_folders(storage: Storage, root: str) -> None:
    """Delete the folder and those below it as far as nothing is in them. Object stores have no empty folders."""
    if storage.remote:
        return
    with suppress(OSError, DeltaSkipError):
        for entry in storage.list_from(root, ""):
            if entry.kind == "directory":
                remove_empty_folders(storage, entry.path)
        storage.delete_empty_directory(root)
