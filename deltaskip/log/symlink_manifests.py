"""Manifests for engines that read a list of Parquet files: SymlinkTextInputFormat of Hive, Presto, Athena.

# delta-spark: GenerateSymlinkManifest
The manifest of a partition, `_symlink_format_manifest/p=1/manifest`, has the path of one file per line.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import hadoop_paths
from deltaskip.actions.partition_folders import hive_folder
from deltaskip.errors import OptionAdvice, UnsupportedFeature
from deltaskip.json_text import parse_json
from deltaskip.log.loading import check_same_table
from deltaskip.log.snapshot import Snapshot
from deltaskip.records import dataclass
from deltaskip.shown import Shown
from deltaskip.sparkexpr.values.arrow_values import arrow_scalar, one_chunk
from deltaskip.storage import is_local, join
from deltaskip.storage.gate import delete_empty_folder, delete_file
from deltaskip.storage.tree import files_below

MANIFEST_FOLDER = "_symlink_format_manifest"
_NAME = "manifest"
_WRITERS = 32
_FILE_ACTIONS = (b'{"add":', b'{"remove":')


@dataclass(frozen=True, slots=True, repr=False)
class Manifests(Shown):
    """Manifests that were written and deleted.

    Attributes:
        version: The version whose files they list.
        written: Their paths below the table, not encoded.
        deleted: Paths of manifests of partitions that the table no longer has.
    """

    version: int
    written: tuple[str, ...]
    deleted: tuple[str, ...]


def write_manifests(snapshot: Snapshot, partitions: Collection[str] | None = None) -> Manifests:
    """Write the manifests of a version, and delete those of partitions that it lacks.

    Args:
        snapshot: The version.
        partitions: Folders of the partitions whose manifests are written; None for all.

    Raises:
        UnsupportedFeature: A file has a deletion vector, or columns are mapped: a list of files cannot express it.
        StorageError: Storage failed.
    """
    _check(snapshot)
    check_same_table(snapshot)
    folder, storage = join(snapshot.root, MANIFEST_FOLDER), snapshot.storage
    lists = _lists(snapshot)
    if partitions is not None and not storage.exists(folder):
        partitions = None
    texts = {each: text for each, text in lists.items() if partitions is None or each in partitions}

    def write(each: str) -> None:
        storage.put(join(folder, each, _NAME) if each else join(folder, _NAME), texts[each])

    with ThreadPoolExecutor(_WRITERS if storage.remote else 1, "deltaskip") as pool:
        for _ in pool.map(write, texts):
            pass
    deleted = _delete_others(snapshot, folder, lists)
    written = tuple(sorted("/".join(filter(None, (MANIFEST_FOLDER, each, _NAME))) for each in texts))
    return Manifests(snapshot.version, written, deleted)


def changed_partitions(snapshot: Snapshot, commit: bytes) -> set[str] | None:
    """Return the folders of the partitions in which a commit adds or removes files; None if they are not known."""
    folders = set()
    for line in commit.splitlines():
        if line.startswith(_FILE_ACTIONS):
            [action] = parse_json(line.decode()).values()
            values = action.get("partitionValues")
            if values is None:
                return None
            folders.add(_folder(snapshot, values))
    return folders


def _check(snapshot: Snapshot) -> None:
    where = f"Manifests of {snapshot.root} at version {snapshot.version} cannot be written"
    if snapshot.mapping_mode != "none":
        raise UnsupportedFeature(
            f"{where}, because its columns are mapped: engines that read files by a manifest do not know their names."
        )
    for adds in snapshot.add_batches(1 << 16, ["path", "deletion_vector"]):
        with_vector = adds.filter(pc.is_valid(adds["deletion_vector"]))
        if len(with_vector):
            purge = OptionAdvice("optimize", "purge", "DeltaTable.optimize(purge=True)")
            raise UnsupportedFeature(
                f"{where}, because {with_vector['path'][0]} has a deletion vector: engines that read files by a "
                f"manifest would return deleted rows. Rewrite such files with {purge}."
            ).advising(purge)


def _lists(snapshot: Snapshot) -> dict[str, bytes]:
    """The text of each manifest by its partition's folder; "" for the manifest of a table without partitions."""
    adds = snapshot.adds(["path", "partition_values"])
    paths = hadoop_paths(snapshot.table_root, adds["path"])
    if is_local(snapshot.root):
        paths = pc.binary_join_element_wise(arrow_scalar("file:", pa.string()), paths, "")
    names = snapshot.partition_columns
    if not names:
        return {"": _text(paths.to_pylist())}
    values = one_chunk(adds["partition_values"])
    columns = [pc.map_lookup(values, arrow_scalar(name, pa.string()), "first") for name in names]
    table = pa.table([*columns, paths], [*map(str, range(len(names))), "path"])
    grouped = table.group_by(table.column_names[:-1], use_threads=False).aggregate([("path", "list")])
    lists: dict[str, list[str]] = {}
    for row in grouped.to_pylist():
        found = dict(zip(names, (row[str(i)] for i in range(len(names))), strict=True))
        lists.setdefault(_folder(snapshot, found), []).extend(row["path_list"])
    return {folder: _text(found) for folder, found in lists.items()}


def _text(paths: list[str]) -> bytes:
    return "".join(f"{path}\n" for path in paths).encode()


def _folder(snapshot: Snapshot, values: Mapping[str, str | None]) -> str:
    return "/".join(hive_folder(name, values.get(name)) for name in snapshot.partition_columns)


def _delete_others(snapshot: Snapshot, folder: str, kept: Collection[str]) -> tuple[str, ...]:
    storage, deleted = snapshot.storage, []
    try:
        found = files_below(storage, folder)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    for file in found:
        below = file.path[len(folder) + 1 :]
        if file.name == _NAME and below.rpartition("/")[0] not in kept:
            deleted.append(f"{MANIFEST_FOLDER}/{below}")
            delete_file(storage, snapshot.root, deleted[-1])
            above = deleted[-1].rpartition("/")[0]
            while above != MANIFEST_FOLDER and delete_empty_folder(storage, snapshot.root, above):
                above = above.rpartition("/")[0]
    return tuple(deleted)
