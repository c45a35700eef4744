"""Files that a table needs under another name than the listing has: through links, mounts, other schemes, letter case.

Local files are the same if device and inode are. A file that cannot be looked up here (another machine's mount, another
store's scheme) may be one whose path below the table ends the name.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.schema.arrow_values import arrow_array
from deltaskip.storage import LocalStorage, Storage, split_authority, storage_below

__all__ = ["needed_under_other_names"]

_ABSOLUTE = r"^([A-Za-z][A-Za-z0-9+.\-]*:)?/"
_S3 = ("s3", "s3a", "s3n")
_MOST_LINKS = 40
_NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG)


def needed_under_other_names(storage: Storage, root: str, paths: pa.Array, names: pa.Array) -> pa.BooleanArray:
    """Return which files a name stands for that is not theirs in the listing.

    Args:
        storage: Storage of the table.
        root: Location of the table.
        paths: Files below the root.
        names: Keys (table_keys) of needed files that the listing does not have.
    """
    if not len(paths) or not len(names):
        return arrow_array([False] * len(paths), pa.bool_())
    if not isinstance(storage_below(storage), LocalStorage):
        return _ending(paths, _in_other_stores(root, names))
    known, unknown = _looked_up(root, pc.unique(names).to_pylist())
    same = [bool(known) and _identity(f"{root}/{path}") in known for path in paths.to_pylist()]
    return pc.or_(arrow_array(same, pa.bool_()), _ending(paths, arrow_array(unknown, pa.string())))


def _in_other_stores(root: str, names: pa.Array) -> pa.Array:
    """The absolute names that are not of the table's own store; there, equal files have equal keys."""
    names = names.filter(pc.match_substring_regex(names, _ABSOLUTE))
    base, _ = split_authority(root)
    scheme, _, authority = base.partition("://")
    for each in _S3 if scheme in _S3 else (scheme,):
        names = names.filter(pc.invert(pc.starts_with(names, f"{each}://{authority}/")))
    return names


def _looked_up(root: str, names: Iterable[str]) -> tuple[set[tuple[int, int]], list[str]]:
    """Device and inode of each name and of the links on its way, and absolute names that cannot be looked up."""
    known: set[tuple[int, int]] = set()
    unknown = []
    for name in names:
        path = _local_path(root, name)
        found = set() if path is None else _identities(path)
        if found is None or (not found and path != f"{root}/{name}"):
            unknown.append(name)
        known |= found or set()
    return known, unknown


def _local_path(root: str, key: str) -> str | None:
    """The local path of a key; None for another store."""
    if key.startswith("file:/"):
        return "/" + key[6:] if not key.startswith("file://") else "/" + key[7:].partition("/")[2]
    if key.startswith("/"):
        return key
    if key.partition(":/")[1] and not key.startswith("./") and "/" not in key.partition(":/")[0]:
        return None
    return f"{root}/{key.removeprefix('./')}"


def _identities(path: str) -> set[tuple[int, int]] | None:
    """Device and inode of a file and of the links to it that the path goes through; None if it is not known."""
    found = set()
    try:
        for _ in range(_MOST_LINKS):
            status = os.lstat(path)
            found.add((status.st_dev, status.st_ino))
            if not os.path.islink(path):
                break
            path = os.path.join(os.path.realpath(os.path.dirname(path)), os.readlink(path))
    except OSError as error:
        return found if error.errno in _NO_FILE else None
    except ValueError:
        # No file has a null character in its name.
        return found
    return found


def _identity(path: str) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _ending(paths: pa.Array, names: pa.Array) -> pa.BooleanArray:
    """Whether a path is the end of one of the names."""
    last, ends = pc.replace_substring_regex(paths, "^.*/", ""), pc.replace_substring_regex(names, "^.*/", "")
    likely = pc.is_in(last, value_set=ends)
    if not pc.any(likely).as_py():
        return likely
    by_end: dict[str, list[str]] = {}
    for name, end in zip(names.to_pylist(), ends.to_pylist(), strict=True):
        by_end.setdefault(end, []).append(name)
    found = [
        may and any(name.endswith(f"/{path}") for name in by_end[end])
        for may, path, end in zip(likely.to_pylist(), paths.to_pylist(), last.to_pylist(), strict=True)
    ]
    return arrow_array(found, pa.bool_())
