"""The files that the retained versions of a table need: data files and the files of deletion vectors.

# delta-spark: VacuumCommand.getValidFilesFromSnapshot
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import table_keys
from deltaskip.errors import CorruptLog
from deltaskip.features.deletion_vectors import vector_keys
from deltaskip.log import Snapshot
from deltaskip.log.commit import read_commits
from deltaskip.log.segment import list_commits
from deltaskip.log.tombstones import tombstones
from deltaskip.records import dataclass
from deltaskip.schema.arrow_values import arrow_scalar, is_true, one_chunk

_BATCH_ROWS = 1 << 16
_COMMITS_AT_ONCE = 100
# A remove gets its time before the commit is written, and perhaps from another clock.
_MARGIN_MS = 86_400_000
_REMOVED = ["path", "is_remove", "deletion_timestamp", "deletion_vector"]
_ABSOLUTE = r"^([A-Za-z][A-Za-z0-9+.\-]*:)?/"


@dataclass(frozen=True, slots=True)
class FileKeys:
    """Keys (table_keys) of files.

    Attributes:
        data: The data files.
        literal: Data files by the text of the log, where it has percent signs: some writers do not encode paths, and
            then it is the name of the file.
        vectors: The files of their deletion vectors.
    """

    data: pa.Array
    literal: pa.Array
    vectors: pa.Array


@dataclass(frozen=True, slots=True)
class NeededFiles:
    """The files that versions need, wherever they are.

    Attributes:
        keys: Their keys (table_keys), in every reading.
        names: The keys without the literal readings of relative paths.
    """

    keys: pa.Array
    names: pa.Array


def needed_files(snapshot: Snapshot, cutoff_ms: int, forgotten_ms: int) -> NeededFiles:
    """Return the files that versions since a time need, wherever they are.

    Args:
        snapshot: The latest version of the table.
        cutoff_ms: Files that were removed at this time or later are needed.
        forgotten_ms: Checkpoints may lack removes before this time; the commits that the log contains have them.

    Raises:
        CorruptLog: A file of the log is damaged.
        StorageError: The log cannot be read.
    """
    parts = [
        file_keys_of(snapshot, adds["path"], adds["deletion_vector"])
        for adds in snapshot.add_batches(_BATCH_ROWS, ["path", "deletion_vector"])
    ]
    for removes in tombstones(snapshot, cutoff_ms - 1):
        paths, vectors = pc.struct_field(removes, "path"), pc.struct_field(removes, "deletionVector")
        parts.append(file_keys_of(snapshot, paths, vectors))
    if cutoff_ms < forgotten_ms:
        parts += _removed_since(snapshot, cutoff_ms)
    names = [keys for part in parts for keys in (part.data, part.vectors)]
    literal = _joined([part.literal for part in parts])
    names.append(literal.filter(pc.match_substring_regex(literal, _ABSOLUTE)))
    return NeededFiles(_joined([*names, literal]), _joined(names))


def _joined(parts: list[pa.Array]) -> pa.Array:
    return pa.concat_arrays(parts) if parts else pa.nulls(0, pa.string())


def file_keys_of(snapshot: Snapshot, paths: pa.Array, vectors: pa.Array) -> FileKeys:
    """Return the keys of data files, and of the files of their deletion vectors."""
    paths = one_chunk(paths)
    try:
        data = table_keys(snapshot.table_root, paths)
    except ValueError as error:
        raise CorruptLog(
            f"The log of {snapshot.root} is damaged: {error}; rewrite the commit or checkpoint that contains it."
        ) from error
    encoded = paths.filter(pc.match_substring(paths, "%"))
    literal = table_keys(snapshot.table_root, pc.replace_substring(encoded, "%", "%25"))
    return FileKeys(data, literal, vector_keys(snapshot.table_root, one_chunk(vectors)))


def _removed_since(snapshot: Snapshot, cutoff_ms: int) -> Iterator[FileKeys]:
    """Keys of files that commits in the log removed at a time or later."""
    since = cutoff_ms - _MARGIN_MS
    files = [each for each in list_commits(snapshot.storage, snapshot.root, 0) if each.file.modified_ms >= since]
    for start in range(0, len(files), _COMMITS_AT_ONCE):
        some = files[start : start + _COMMITS_AT_ONCE]
        actions = read_commits(snapshot.storage, snapshot.root, some, _REMOVED).actions
        late = pc.greater_equal(actions["deletion_timestamp"], arrow_scalar(cutoff_ms, pa.int64()))
        removes = actions.filter(pc.and_(actions["is_remove"], is_true(late)))
        yield file_keys_of(snapshot, removes["path"], removes["deletion_vector"])
