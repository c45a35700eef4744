"""The error for a path without a Delta table, with the likeliest cause and cure."""

import os

from deltaskip.errors import StorageError, TableNotFound
from deltaskip.log.file_names import LOG_FOLDER
from deltaskip.storage import FileInfo, Storage, join, parent

__all__ = ["table_not_found"]


def table_not_found(storage: Storage, root: str) -> TableNotFound:
    """Return the error for a root without a log, or with a log without commits and checkpoints."""
    if root.rpartition("/")[2] == LOG_FOLDER:
        return TableNotFound(f"{root} is the log of a table, not the table: open {parent(root)} instead.")
    if not storage.exists(root):
        return TableNotFound(f"There is no table at {root}: no such path.{_around(storage, root) or _in_catalog(root)}")
    files = _files_in(storage, root)
    if files is None:
        return TableNotFound(f"{root} is a file, not a Delta table: specify a folder.{_around(storage, root)}")
    if storage.exists(join(root, LOG_FOLDER)):
        return TableNotFound(
            f"{root} is not a Delta table: its {LOG_FOLDER} contains no commit and no checkpoint. If there was a "
            f"table, it was deleted in part: restore its log, or delete the folder."
        )
    around = _around(storage, root)
    if around:
        return TableNotFound(f"{root} is not a Delta table: it has no {LOG_FOLDER} folder.{around}")
    if any(file.name.endswith(".parquet") for file in files):
        return TableNotFound(
            f"{root} is a folder of Parquet files, not a Delta table (it has no {LOG_FOLDER}): read it with "
            f"spark.read.parquet, or convert it to a table with CONVERT TO DELTA."
        )
    if not files and not storage.remote:
        return TableNotFound(f"{root} is not a Delta table: it contains neither files nor a {LOG_FOLDER} folder.")
    return TableNotFound(f"{root} is not a Delta table: it has no {LOG_FOLDER} folder; check the path.")


def _files_in(storage: Storage, root: str) -> list[FileInfo] | None:
    try:
        return [file for file in storage.list_from(root, "") if file.is_file]
    except (NotADirectoryError, FileNotFoundError):
        return None
    except StorageError:
        return []


def _around(storage: Storage, root: str) -> str:
    """A hint for a path inside a table; empty if there is no table around it."""
    above = parent(root)
    while above and above != root:
        if above.rpartition("/")[2] == LOG_FOLDER:
            return f" It is inside the log of a table: open {parent(above)} instead."
        if _has_log(storage, above):
            return f" It is inside the Delta table {above}: open that table and filter on its partition columns."
        root, above = above, parent(above)
    return ""


def _in_catalog(root: str) -> str:
    """A hint for a name of a catalog, such as sales.orders, in place of a path; empty for other paths."""
    folder, _, name = root.rpartition("/")
    parts = name.split(".")
    if folder != os.getcwd() or not 2 <= len(parts) <= 3 or not all(map(str.isidentifier, parts)):
        return ""
    return f" Is {name} a name in a catalog? Then open it with ds.catalog(…).load_table({name!r})."


def _has_log(storage: Storage, folder: str) -> bool:
    try:
        return storage.exists(join(folder, LOG_FOLDER))
    except StorageError:
        return False
