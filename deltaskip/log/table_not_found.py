"""Why there is no table at a path, said so that the user can do something about it."""

from deltaskip.errors import StorageError, TableNotFound
from deltaskip.log.file_names import LOG_FOLDER
from deltaskip.storage import FileInfo, Storage, join, parent

__all__ = ["table_not_found"]


def table_not_found(storage: Storage, root: str) -> TableNotFound:
    """The error for a root that has no log, or one without commits and checkpoints, naming the likeliest cure."""
    if root.rpartition("/")[2] == LOG_FOLDER:
        return TableNotFound(f"{root} is a table's log, not the table: open {parent(root)} instead.")
    if not storage.exists(root):
        return TableNotFound(f"There is no table at {root}: no such path.{_around(storage, root)}")
    files = _files_in(storage, root)
    if files is None:
        return TableNotFound(f"{root} is a file, not a Delta table: give the table's folder.{_around(storage, root)}")
    if storage.exists(join(root, LOG_FOLDER)):
        return TableNotFound(f"{root} is no Delta table: its {LOG_FOLDER} holds no commit and no checkpoint.")
    around = _around(storage, root)
    if around:
        return TableNotFound(f"{root} is no Delta table: it has no {LOG_FOLDER} folder.{around}")
    if any(file.name.endswith(".parquet") for file in files):
        return TableNotFound(
            f"{root} is a folder of Parquet files, not a Delta table (it has no {LOG_FOLDER}): read it with "
            f"spark.read.parquet, or make it a table with CONVERT TO DELTA."
        )
    if not files and not storage.remote:
        return TableNotFound(f"{root} is no Delta table: it holds no files and no {LOG_FOLDER} folder.")
    return TableNotFound(f"{root} is no Delta table: it has no {LOG_FOLDER} folder; check the path.")


def _files_in(storage: Storage, root: str) -> list[FileInfo] | None:
    try:
        return storage.list_from(root, "")
    except (NotADirectoryError, FileNotFoundError):
        return None
    except StorageError:
        return []


def _around(storage: Storage, root: str) -> str:
    """A hint at the table that the path lies inside, if it does."""
    above = parent(root)
    while above and above != root:
        if above.rpartition("/")[2] == LOG_FOLDER:
            return f" It lies inside a table's log: open {parent(above)} instead."
        if _has_log(storage, above):
            return f" It lies inside the Delta table {above}: open that, with a predicate on its partition columns."
        root, above = above, parent(above)
    return ""


def _has_log(storage: Storage, folder: str) -> bool:
    try:
        return storage.exists(join(folder, LOG_FOLDER))
    except StorageError:
        return False
