"""The check before every deletion: the paths that a caller may delete below a root, whatever a log or catalog names.

A target is given by its literal path below the root. It is refused if it is not below the root once dots and links are
resolved, or if the caller does not delete files of its name. The root is resolved once, and local files are deleted
without following links (`local_writing`), so that a link that is created after the check has no effect. Only this
module calls the methods of a storage that delete. The gate does not know which files a version needs: see
`maintenance.unneeded_files`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import StorageError
from deltaskip.lazy_regex import regex
from deltaskip.path_bytes import absolute_path, decoded, encoded, of_process, real_path, working_directory
from deltaskip.storage.catalog_storage import storage_below
from deltaskip.storage.interface import Storage, entries_of
from deltaskip.storage.local import LocalStorage
from deltaskip.storage.location import LOG_FOLDER, is_local, join, split_authority
from deltaskip.storage.temporary_names import LOG_TEMPORARY

DeletableNames = Callable[[pa.Array], pa.BooleanArray]
"""Which paths below the root have a name that the caller deletes."""

# An empty path, dots that lead elsewhere, and the character that ends a path in C.
_NOT_BELOW = r"^$|^/|(^|/)\.{1,2}(/|$)|\x00"
# The name of a log, and dots that are escaped any number of times: no writer names a file like this, and a writer that
# decodes once too often would read them as dots.
_NOT_WRITTEN = rf"(?i)(^|/)({LOG_FOLDER}|(\.|%(25)*2e){{1,2}})(/|$)"
_LOG_NAME = (
    rf"^{LOG_FOLDER}/(\d{{20}}\.[^/]+|\.\d{{20}}\.[^/]+\.crc|_last_checkpoint|{LOG_TEMPORARY}"
    rf"|_sidecars/[^/]+|_staged_commits/[^/]+|_last_vacuum_info)$"
)
# Files in which a warehouse records namespaces and external tables.
_LOG = encoded(LOG_FOLDER)
_MARK = regex(r"(^|/)(_namespace\.json|[^/]+\.table\.json)$")


def any_name(paths: pa.Array) -> pa.BooleanArray:
    """Return True for every path: for empty folders, and for paths that a catalog names and encodes."""
    return pa.array([True] * len(paths), pa.bool_())


def written_names(paths: pa.Array) -> pa.BooleanArray:
    """Return which paths can be files that a job writes beside the log."""
    return pc.invert(pc.match_substring_regex(paths, _NOT_WRITTEN))


def log_names(paths: pa.Array) -> pa.BooleanArray:
    """Return which paths can be files of the log, including sidecars, staged commits and temporary files."""
    return pc.match_substring_regex(paths, _LOG_NAME)


def deletable(storage: Storage, root: str, paths: pa.Array, names: DeletableNames) -> pa.BooleanArray:
    """Return which paths may be deleted.

    Args:
        storage: Storage of the root.
        root: Location of the folder that the targets are in.
        paths: Literal paths below the root, not encoded: strings.
        names: Which names the caller deletes.
    """
    allowed = pc.and_(pc.invert(pc.match_substring_regex(paths, _NOT_BELOW)), names(paths))
    if not _is_local(storage):
        return allowed
    folders = pc.replace_substring_regex(paths, r"/?[^/]*$", "").dictionary_encode()
    linked = [folder for folder in folders.dictionary.to_pylist() if _is_elsewhere(root, folder)]
    if not linked:
        return allowed
    return pc.and_(allowed, pc.invert(pc.is_in(folders.cast(pa.string()), value_set=pa.array(linked, pa.string()))))


def delete_files(
    storage: Storage, root: str, paths: Iterable[str] | pa.Array, names: DeletableNames = written_names
) -> None:
    """Delete files, side by side or in bulk. Missing files are not an error.

    Raises StorageError if one of them may not be deleted, before any is, and if the storage fails.
    """
    found = paths if isinstance(paths, pa.Array) else _as_text(root, list(paths))
    if not len(found):
        return
    resolved = _resolved(storage, root)
    allowed = deletable(storage, resolved, found, names)
    if not pc.all(allowed).as_py():
        raise _refused(root, found.filter(pc.invert(allowed))[0].as_py())
    storage.delete_files([join(resolved, path) for path in found.to_pylist()])


def delete_file(storage: Storage, root: str, path: str, names: DeletableNames = written_names) -> None:
    """Delete a file as delete_files does."""
    storage.delete(_checked(storage, root, path, names))


def delete_empty_folder(storage: Storage, root: str, path: str, names: DeletableNames = written_names) -> bool:
    """Delete a folder if it is empty, and return whether it was deleted. Raises StorageError."""
    return storage.delete_empty_directory(_checked(storage, root, path, names))


def delete_folder(storage: Storage, root: str, path: str, names: DeletableNames = written_names) -> None:
    """Delete a folder with everything in it; for a link, only the link. Raises StorageError as delete_files does."""
    storage.delete_directory(_checked(storage, root, path, names))


def check_deletable_folder(storage: Storage, root: str, *kept: str) -> None:
    """Raise StorageError unless the folder of a table can be deleted with everything in it.

    It must contain a Delta log. It cannot be the root of a file system or of a bucket or a folder directly
    below a file system's root, nor contain the home, working or temporary directory, a location in `kept`, another
    table, or a namespace of a warehouse.
    """
    inside = [each for each in kept if contains(root, each)]
    if is_local(root):
        import tempfile

        real = real_path(root)
        own = absolute_path("~"), working_directory(), of_process(tempfile.gettempdir())
        inside += [each for each in own if each is not None and contains(root, each)]
        if os.path.dirname(real) in (real, "/"):
            raise _kept(root, "it is the root of the file system, or directly below it")
    elif not split_authority(root)[1].strip("/"):
        raise _kept(root, "it is the root of its store")
    if inside:
        raise _kept(root, f"{inside[0]} is in it")
    if _is_local(storage) and os.path.islink(encoded(root)):
        return
    names = [entry.name for entry in entries_of(storage, root)]
    if LOG_FOLDER not in names and (names or storage.exists(root)):
        raise _kept(root, "it is not a Delta table")
    for found in other_tables_below(storage, root):
        raise _kept(root, f"{join(root, found) if found else root} is another table or namespace")


def delete_whole_folder(storage: Storage, root: str, *kept: str) -> None:
    """Delete the folder of a table with everything in it; for a link, only the link. See check_deletable_folder."""
    folder, _, name = root.rstrip("/").rpartition("/")
    # A link at the end is deleted itself.
    resolved = join(_resolved(storage, folder), name) if _is_local(storage) and name else root
    check_deletable_folder(storage, resolved, *kept)
    storage.delete_directory(resolved)


def other_tables_below(storage: Storage, root: str) -> Iterator[str]:
    """Yield the folders that contain another table's log, or files in which a warehouse records namespaces and tables.

    They are paths below the root; "" is the root itself. Links are not followed.
    """
    storage = storage_below(storage)
    if isinstance(storage, LocalStorage):
        for top, folders, files in os.walk(encoded(root)):
            below = decoded(top)[len(root) :].strip("/")
            if (below and _LOG in folders) or any(_MARK.search(decoded(name)) for name in files):
                yield below
            folders[:] = [name for name in folders if name != _LOG]
    elif hasattr(storage, "list_below"):
        for batch in storage.list_below(root):
            paths = batch["path"]
            for path in paths.filter(pc.match_substring_regex(paths, rf"/{LOG_FOLDER}/|{_MARK.pattern}")).to_pylist():
                if not path.startswith(f"{LOG_FOLDER}/"):
                    yield path.partition(f"/{LOG_FOLDER}/")[0] if f"/{LOG_FOLDER}/" in path else path.rpartition("/")[0]
    else:
        pending = [""]
        while pending:
            folder = pending.pop()
            for entry in entries_of(storage, join(root, folder) if folder else root):
                path = f"{folder}/{entry.name}" if folder else entry.name
                if entry.name == LOG_FOLDER or not entry.is_file:
                    if entry.name != LOG_FOLDER:
                        pending.append(path)
                    elif folder:
                        yield folder
                elif _MARK.search(entry.name):
                    yield folder


def _as_text(root: str, paths: list[str]) -> pa.Array:
    try:
        return pa.array(paths, pa.string())
    except (UnicodeEncodeError, pa.ArrowException) as error:
        raise StorageError(f"Refused to delete files of {root}: a file name is not valid Unicode.") from error


def _checked(storage: Storage, root: str, path: str, names: DeletableNames) -> str:
    """The location of a path that may be deleted."""
    resolved = _resolved(storage, root)
    if not deletable(storage, resolved, _as_text(root, [path]), names)[0].as_py():
        raise _refused(root, path)
    return join(resolved, path)


def _resolved(storage: Storage, root: str) -> str:
    """The root without links."""
    return real_path(root) if _is_local(storage) else root


def _is_local(storage: Storage) -> bool:
    return isinstance(storage_below(storage), LocalStorage)


def _refused(root: str, path: str) -> StorageError:
    return StorageError(
        f"Refused to delete {path!a} of {root}: once links are resolved it is not below that folder, or its name "
        f"is not one of a file that may be deleted here; delete it yourself if it is not needed."
    )


def _kept(root: str, reason: str) -> StorageError:
    return StorageError(
        f"Refused to delete {root} with everything in it, because {reason}: delete the files of the table yourself."
    )


def _is_elsewhere(root: str, folder: str) -> bool:
    """Whether a link is on the way from the root to a folder below it."""
    if not folder:
        return False
    try:
        return real_path(f"{root}/{folder}") != os.path.join(real_path(root), folder)
    except (OSError, ValueError):
        return True


def contains(folder: str, other: str) -> bool:
    """Return whether a location is a folder or inside it, once links are resolved."""
    if is_local(folder) != is_local(other):
        return False
    if is_local(folder):
        folder, other = real_path(folder), real_path(other)
    else:
        folder, other = ("{}/{}".format(*split_authority(each)) for each in (folder, other))
    return f"{other.rstrip('/')}/".startswith(f"{folder.rstrip('/')}/")
