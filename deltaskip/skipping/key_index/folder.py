"""The parts of a table's key index, in a hidden folder beside the log, opened once for each table in this process.

The folder is listed once for each version of the table, and only if the table's property names columns with an index.
A part that another process has deleted, or that cannot be read, is as if it were not there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltaskip.errors import ReadWarning, StorageError
from deltaskip.fork_safety import new_lock
from deltaskip.lazy_regex import regex
from deltaskip.log import Snapshot
from deltaskip.skipping.key_index.key_columns import Hashes
from deltaskip.skipping.key_index.part import DamagedPart, KeyPart, PartOf
from deltaskip.stats.cache_keys import CacheKey
from deltaskip.storage import FileInfo, join
from deltaskip.warning import warn

KEY_FOLDER = "_deltaskip_keys"
"""The folder of the parts. Readers and VACUUM of other engines leave folders alone whose names begin with `_`."""

_NAME = regex(r"[0-9]{20}\.[0-9a-f]{16}\.[^.]+\.keys")

_FAULTS = (DamagedPart, OSError, StorageError, pa.ArrowException)


def part_name(version: int, column: Sequence[str], unique: str) -> str:
    """Return the name of a part: the version that it was made from, its column, and what makes the name unique."""
    return f"{version:020}.{column_digest(column)}.{unique}.keys"


def column_digest(column: Sequence[str]) -> str:
    """Return the text that stands for a column, by physical names, in the names of its parts."""
    return hashlib.sha256(json.dumps(list(column)).encode()).hexdigest()[:16]


class KeyFolder:
    """The parts of a table. Safe to share between threads. Made by `of`."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._listed: tuple[int, tuple[FileInfo, ...]] | None = None
        self._ignored: set[str] = set()

    @classmethod
    def of(cls, snapshot: Snapshot) -> KeyFolder:
        """Return the folder of a snapshot's table, which all snapshots of an open table share."""
        found: KeyFolder = snapshot.cache.pinned(("key folder",), cls)
        return found

    def forget(self) -> None:
        """List the folder again when it is next used, since parts were written or deleted."""
        with self._lock:
            self._listed = None

    def parts(self, snapshot: Snapshot, column: Sequence[str], kind: str | None = None) -> list[KeyPart]:
        """Return the parts of a column that can be read.

        Args:
            snapshot: A version of the table.
            column: Physical names of the column.
            kind: Kind of the hashes; None for any.
        """
        digest = f".{column_digest(column)}."
        opened = [self._opened(snapshot, info) for info in self._files(snapshot) if digest in info.name]
        return [
            part
            for part in opened
            if part is not None
            and part.place in (PartOf(snapshot.metadata.id, tuple(column), kind or part.place.kind),)
        ]

    def containing(self, snapshot: Snapshot, part: KeyPart, keys: Hashes) -> npt.NDArray[np.bool_] | None:
        """Return `KeyPart.containing`; None if the part cannot be read."""
        try:
            return part.containing(snapshot.storage, keys)
        except _FAULTS as error:
            self._ignore(snapshot, part.info, error)
            return None

    def _files(self, snapshot: Snapshot) -> tuple[FileInfo, ...]:
        with self._lock:
            if self._listed is not None and self._listed[0] == snapshot.version:
                return self._listed[1]
        found = listed_parts(snapshot)
        with self._lock:
            self._listed = snapshot.version, found
        return found

    def _opened(self, snapshot: Snapshot, info: FileInfo) -> KeyPart | None:
        if info.path in self._ignored:
            return None
        key: CacheKey = ("key part", info.path, info.size)
        part: KeyPart | None = snapshot.cache.get(key)
        if part is None:
            try:
                part = KeyPart.open(snapshot.storage, info)
            except _FAULTS as error:
                self._ignore(snapshot, info, error)
                return None
            snapshot.cache.put(key, part, part.nbytes)
        return part

    def _ignore(self, snapshot: Snapshot, info: FileInfo, error: Exception) -> None:
        """Ignore a part from now on. A part that is gone was replaced: no warning."""
        with self._lock:
            is_new = info.path not in self._ignored
            self._ignored.add(info.path)
        if is_new and not isinstance(error, FileNotFoundError):
            warn(
                f"The part {info.name} of the key index of {snapshot.root} is ignored, because {error}. Queries keep "
                f"the files that it would skip; build the index again with recompute_stats(index=True).",
                ReadWarning,
            )


def listed_parts(snapshot: Snapshot) -> tuple[FileInfo, ...]:
    """Return the files of the folder that are named as parts are; none if it cannot be listed."""
    try:
        found = snapshot.storage.list_from(join(snapshot.root, KEY_FOLDER), "")
    except (OSError, StorageError):
        return ()
    return tuple(each for each in found if each.is_file and _NAME.fullmatch(each.name))
