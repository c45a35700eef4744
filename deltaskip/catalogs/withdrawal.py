"""Removal of the files that an unfinished creation of a table has left in its folder."""

from __future__ import annotations

from contextlib import suppress

import pyarrow as pa

from deltaskip.actions import decode_path
from deltaskip.errors import DeltaSkipError
from deltaskip.log import load_snapshot
from deltaskip.log.file_names import LOG_FOLDER
from deltaskip.skipping.read_options import ReadOptions
from deltaskip.skipping.scan import Scan
from deltaskip.storage import Storage, join, storage_below
from deltaskip.storage.gate import deletable, delete_files, log_names, written_names
from deltaskip.storage.tree import files_below
from deltaskip.txn.transaction import Transaction


def withdraw(storage: Storage, transaction: Transaction) -> None:
    """Delete a table that was created a moment ago and has got no name: its log first, then the files of version 0.

    Other files of the folder stay, because they are not the table's, and so do folders that were there before. Nothing
    happens if there is no table.

    Args:
        storage: Storage of the table.
        transaction: The transaction that has created it.
    """
    root = transaction.snapshot.root
    try:
        created = load_snapshot(storage, root, 0)
        paths = Scan(created, ReadOptions("true")).files(columns=["path"])["path"].to_pylist()
    except DeltaSkipError:
        paths = []
    try:
        files = files_below(storage_below(storage), join(root, LOG_FOLDER), lambda each: each.kind == "directory")
    except (FileNotFoundError, NotADirectoryError):
        files = []
    log = pa.array([file.path[len(root.rstrip("/")) + 1 :] for file in files], pa.string())
    delete_files(storage, root, log.filter(deletable(storage, root, log, log_names)), log_names)
    with suppress(OSError, DeltaSkipError):
        data = pa.array([decode_path(path) for path in paths], pa.string())
        delete_files(storage, root, data.filter(deletable(storage, root, data, written_names)))
    if transaction.new_folders is not None:
        transaction.new_folders.remove_empty()
