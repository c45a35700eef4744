"""What is said of a path that has no table."""

import os
from itertools import islice

from deltaskip import errors
from deltaskip.path_bytes import decoded, encoded, working_directory
from deltaskip.storage import LOG_FOLDER, FileInfo, Storage, is_local, join, parent

# Names in a folder that are compared with the name of a table that does not exist.
_MOST_BESIDE = 1_000
_CREATE = errors.OptionAdvice("create", text="create a table with deltaskip.write(folder, rows)")


def table_not_found(storage: Storage, root: str) -> errors.TableNotFound:
    """Return the error for a root without a log, or with a log without commits and checkpoints."""
    if root.rpartition("/")[2] == LOG_FOLDER:
        return errors.TableNotFound(f"{root} is the log of a table, not the table: open {parent(root)} instead.")
    if not storage.exists(root):
        return errors.TableNotFound(
            f"There is no table at {root}: no such path."
            f"{_around(storage, root) or _in_catalog(root) or _beside(root) or f' Check the path, or {_CREATE}.'}"
        ).advising(_CREATE)
    files = _files_in(storage, root)
    if files is None:
        cure = _around(storage, root) or f" To make a table of its rows, {_CREATE}."
        return errors.TableNotFound(f"{root} is a file, not a Delta table: specify a folder.{cure}").advising(_CREATE)
    if storage.exists(join(root, LOG_FOLDER)):
        return errors.TableNotFound(
            f"{root} is not a Delta table: its {LOG_FOLDER} contains no commit and no checkpoint. If there was a "
            f"table, it was deleted in part: restore its log, or delete the folder."
        )
    around = _around(storage, root)
    if around:
        return errors.TableNotFound(f"{root} is not a Delta table: it has no {LOG_FOLDER} folder.{around}")
    if any(file.name.endswith(".parquet") for file in files):
        return errors.TableNotFound(
            f"{root} is a folder of Parquet files, not a Delta table (it has no {LOG_FOLDER}): convert it to a table "
            f"with deltaskip.convert_to_delta(path) or CONVERT TO DELTA, or read it with spark.read.parquet."
        )
    if not files and not storage.remote:
        return errors.TableNotFound(
            f"{root} is not a Delta table: it contains neither files nor a {LOG_FOLDER} folder. Check the path, or "
            f"{_CREATE}."
        ).advising(_CREATE)
    return errors.TableNotFound(f"{root} is not a Delta table: it has no {LOG_FOLDER} folder; check the path.")


def _files_in(storage: Storage, root: str) -> list[FileInfo] | None:
    try:
        return [file for file in storage.list_from(root, "") if file.is_file]
    except (NotADirectoryError, FileNotFoundError):
        return None
    except errors.StorageError:
        return []


def _around(storage: Storage, root: str) -> str:
    """A hint for a path inside a table; empty if no table contains the path."""
    above = parent(root)
    while above and above != root:
        if above.rpartition("/")[2] == LOG_FOLDER:
            return f" It is inside the log of a table: open {parent(above)} instead."
        if _has_log(storage, above):
            return f" It is inside the Delta table {above}: open that table and filter on its partition columns."
        root, above = above, parent(above)
    return ""


def _beside(root: str) -> str:
    """A hint for a path whose spelling is close to the name of a table beside it; empty without one."""
    if not is_local(root):
        return ""
    try:
        with os.scandir(encoded(os.path.dirname(root))) as entries:
            names = [decoded(each.name) for each in islice(entries, _MOST_BESIDE)]
    except OSError:
        return ""
    near = errors.nearest(os.path.basename(root), names, 0.75)
    found = None if near is None else os.path.join(os.path.dirname(root), near)
    return (
        f" Did you mean {found}?"
        if found is not None and os.path.isdir(encoded(os.path.join(found, LOG_FOLDER)))
        else ""
    )


def _in_catalog(root: str) -> str:
    """A hint for a catalog name, such as sales.orders, that was given as a path; empty for other paths."""
    folder, _, name = root.rpartition("/")
    parts = name.split(".")
    if folder != working_directory() or not 2 <= len(parts) <= 3 or not all(map(str.isidentifier, parts)):
        return ""
    return f" Is {name} a name in a catalog? Then open it with ds.catalog(…).load_table({name!r})."


def _has_log(storage: Storage, folder: str) -> bool:
    try:
        return storage.exists(join(folder, LOG_FOLDER))
    except errors.StorageError:
        return False
