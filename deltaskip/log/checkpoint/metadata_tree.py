"""The adaptive metadata tree: the `checkpoint` action that names it, its root, and its other manifests.

# RFC Adaptive Metadata, Checkpoint Action
An action `checkpoint` in a commit takes the place of a checkpoint of the version that it names, which may be older than
the commit. In a classic checkpoint of such a table, a row `contentRoot` names the tree, and file actions of later
versions are beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import FILE_SCHEMA, Metadata, Sidecar, hadoop_path
from deltaskip.errors import CorruptLog, UnsupportedFeature
from deltaskip.json_text import parse_json
from deltaskip.log.checkpoint import manifests as m
from deltaskip.log.checkpoint import read
from deltaskip.log.checkpoint.adds import AddGroup, adds_column
from deltaskip.log.commit import CHECKPOINT, Commits, OtherAction, damaged, read_commits
from deltaskip.log.file_names import LogFile
from deltaskip.log.replay import EMPTY, Replay, replay
from deltaskip.log.segment import CheckpointRef
from deltaskip.log.state_actions import STATE_ACTIONS, StateAction, state_of
from deltaskip.records import dataclass
from deltaskip.sparkexpr.types import parse_schema
from deltaskip.sparkexpr.values.arrow_values import arrow_scalar
from deltaskip.storage import Storage, uri_of

_SIDECARS = ("txn", "domainMetadata")


@dataclass(frozen=True, slots=True)
class _Root:
    """What an action says of a tree.

    Attributes:
        version: The version that the action describes.
        path, size: The root manifest, as named, and its bytes.
        state: Actions on the table.
        sidecars: Files with further ones: the action that each has, and the file.
    """

    version: int
    path: str
    size: int
    state: tuple[StateAction, ...]
    sidecars: tuple[tuple[str, Sidecar], ...]


def tree_in(commits: Commits) -> CheckpointRef | None:
    """Return the tree that the newest `checkpoint` action of the commits names; None without one.

    The versions of these actions ascend with those of their commits. Raises CorruptLog for a damaged action.
    """
    found = next((each for each in reversed(commits.others) if each.name == CHECKPOINT), None)
    if found is None:
        return None
    root = _parsed(commits, found)
    file = commits.files[found.commit]
    if root.version > file.version:
        raise damaged(commits, found, f"checkpoint is of the later version {root.version}")
    return CheckpointRef(root.version, (file,))


def require_logged_files(commits: Commits) -> None:
    """Raise UnsupportedFeature if a commit has a tree of its own version and no actions on files, which may have some.

    # RFC Adaptive Metadata, Manifest Commit: "A manifest commit may also write add and remove actions to the Delta log"
    """
    for action in commits.others:
        if action.name == CHECKPOINT:
            version = commits.files[action.commit].version
            place = arrow_scalar(action.commit, commits.actions["commit"].type)
            logged = pc.any(pc.equal(commits.actions["commit"], place), min_count=0).as_py()
            if not logged and _parsed(commits, action).version == version:
                raise UnsupportedFeature(
                    f"Version {version} of {commits.root} has its changes in an adaptive metadata tree and not in its "
                    f"commit, which deltaskip cannot tell from the files before: compare the rows of two versions."
                )


def open_tree(
    storage: Storage, root: str, ref: CheckpointRef, done: Callable[[int], object] = lambda _: None
) -> read.Checkpoint:
    """Open the tree that a commit names: read its root, and the footers of manifests whose files are not all bounded.

    Raises CorruptLog with the name of the file that is missing or damaged.
    """
    [file] = ref.files
    commits = read_commits(storage, root, [file], ["path"])
    action = next((each for each in reversed(commits.others) if each.name == CHECKPOINT), None)
    if action is None:
        raise CorruptLog(f"The log of {root} is damaged: {file.file.name} has no checkpoint action; open it again.")
    return _opened(storage, root, ref, file, _parsed(commits, action), EMPTY, done)


def open_standalone(
    storage: Storage, root: str, ref: CheckpointRef, main: read.CheckpointPart, done: Callable[[int], object]
) -> read.Checkpoint:
    """Open the tree that a classic checkpoint names, below the file actions in it. Raises as open_tree does."""
    members: list[Mapping[str, Any]] = []
    names = [name for name in ("contentRoot", "checkpointMetadata", *STATE_ACTIONS, "sidecar") if main.has(name)]
    for group in range(main.metadata.num_row_groups):
        for batch in main.columns_of(names, group, 1 << 10):
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                members += [{name: each} for each in column.drop_null().to_pylist(maps_as_pydicts="strict")]
    try:
        found = _root_of(members)
    except ValueError as error:
        raise read.corrupt_checkpoint(root, ref.version, main.path, str(error)) from error
    if found.version != ref.version:
        raise read.corrupt_checkpoint(root, ref.version, main.path, f"it is the checkpoint of version {found.version}")
    return _opened(storage, root, ref, ref.files[0], found, _inline(main), done)


def _parsed(commits: Commits, action: OtherAction) -> _Root:
    try:
        value = parse_json(action.text)
    except ValueError as error:
        raise damaged(commits, action, "checkpoint is not valid JSON") from error
    try:
        return _root_of(_listed(value))
    except ValueError as error:
        raise damaged(commits, action, str(error)) from error


def _listed(value: Any) -> list[Mapping[str, Any]]:
    """The actions of a `checkpoint`: an array in the RFC, an object with members for them of delta-spark 4.4.0."""
    if isinstance(value, Mapping):
        one = {name: value[name] for name in ("contentRoot", "protocol", "metaData") if name in value}
        several = {"domainMetadata": "domainMetadata", "txn": "txns", "sidecar": "sidecars"}
        lists = [(name, value.get(member) or []) for name, member in several.items()]
        if not all(isinstance(each, list) for _, each in lists):
            raise ValueError("checkpoint has a member that is not an array")
        found = [{name: each} for name, each in one.items()]
        found += [{name: each} for name, those in lists for each in those]
        return [{"checkpointMetadata": {"version": value.get("version")}}, *found]
    if not isinstance(value, list) or not all(isinstance(each, Mapping) and len(each) == 1 for each in value):
        raise ValueError("checkpoint is not an array of actions")
    return value


def _root_of(actions: Sequence[Mapping[str, Any]]) -> _Root:
    """Raises ValueError with the member that is missing or invalid."""
    found: dict[str, list[Any]] = {}
    for each in actions:
        for name, members in each.items():
            if not isinstance(members, Mapping):
                raise ValueError(f"checkpoint.{name} is not an object")
            found.setdefault(name, []).append(members)
    for name in ("checkpointMetadata", "contentRoot", "protocol", "metaData"):
        if len(found.get(name, [])) != 1:
            raise ValueError(f"checkpoint has {len(found.get(name, []))} actions {name}, and not one")
    if "add" in found or "remove" in found:
        raise ValueError("checkpoint has actions on files, which belong into its tree")
    [content], [described] = found["contentRoot"], found["checkpointMetadata"]
    version, path, size = described.get("version"), content.get("path"), content.get("sizeInBytes")
    if not _is_count(version) or not _is_count(size) or not isinstance(path, str) or not path:
        raise ValueError("checkpoint has no version, or no path or sizeInBytes of its contentRoot")
    if not _is_count(content.get("version", version)) or content.get("version", version) > version:
        raise ValueError("checkpoint has a contentRoot of a later version")
    state = tuple(STATE_ACTIONS[name].from_json(each) for name in STATE_ACTIONS for each in found.get(name, ()))
    sidecars = tuple((each.get("type"), Sidecar.from_json(each)) for each in found.get("sidecar", ()))
    unknown = [kind for kind, _ in sidecars if kind not in _SIDECARS]
    if unknown:
        raise ValueError(f"checkpoint has a sidecar of the unknown type {unknown[0]!r}")
    return _Root(version, path, size, state, sidecars)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63


def _opened(
    storage: Storage,
    root: str,
    ref: CheckpointRef,
    named_by: LogFile,
    found: _Root,
    inline: Replay,
    done: Callable[[int], object],
) -> read.Checkpoint:
    metadata = next(each for each in found.state if isinstance(each, Metadata))
    try:
        columns = m.TreeColumns.of(
            parse_schema(metadata.schema_string or '{"type":"struct","fields":[]}'), metadata.partition_columns
        )
    except (ValueError, KeyError) as error:
        raise read.corrupt_checkpoint(root, ref.version, named_by.path, f"its schema is not valid: {error}") from error
    place = _location(root, ref.version, named_by.path, found.path)
    top = _read_footer(m.ManifestPart(storage, root, ref.version, m.Manifest(place, found.path, found.size, columns)))
    done(1)
    leaves = list(_leaves(top))
    parts: list[m.ManifestPart] = [top, *(m.ManifestPart(storage, root, ref.version, each, top) for each in leaves)]
    at_once = [each for each in parts[1:] if not each.manifest.bounds]
    with ThreadPoolExecutor(min(read.PARALLEL_OPENS, len(at_once) or 1)) as pool:
        for _ in pool.map(_read_footer, at_once) if storage.remote else map(_read_footer, at_once):
            done(1)
    sidecars = {read.sidecar_location(root, ref, each): (kind, each) for kind, each in found.sidecars}
    more = [
        each for where, (kind, one) in sidecars.items() for each in _of_sidecar(storage, root, ref, where, kind, one)
    ]
    known = {path: each for path, (_, each) in sidecars.items()}
    return read.Checkpoint(ref.version, state_of([*found.state, *more]), tuple(parts), inline, (), known)


def _read_footer(part: m.ManifestPart) -> m.ManifestPart:
    part.metadata  # noqa: B018 reads it
    return part


def _of_sidecar(
    storage: Storage, root: str, ref: CheckpointRef, location: str, kind: str, sidecar: Sidecar
) -> Iterator[StateAction]:
    part = read.open_part(storage, root, ref.version, location, sidecar.size_in_bytes)
    if not part.has(kind):
        raise read.corrupt_checkpoint(root, ref.version, location, f"it has no column {kind}")
    yield from (each for each in read.small_actions(part, root) if not isinstance(each, Sidecar))


def _leaves(top: m.ManifestPart) -> Iterator[m.Manifest]:
    """The live manifests that a root names, in its order. Raises CorruptLog."""
    optional = [m.SEQUENCE, m.ROW_ID, m.POSITIONS, m.POSITION_COUNT, *m.COUNTS]
    present = [each for each in optional if each in top.ids]
    bounds = [] if top.hybrid_calendar else [each for each in top.ids if each[0] == m.STATS]
    for group in range(top.metadata.num_row_groups):
        top.alive(group)  # checks contents and status
        wanted = [m.CONTENT, m.STATUS, m.LOCATION, m.SIZE, *present, *bounds]
        for columns in top.entries(wanted, group, 1 << 16):
            named = pc.equal(columns[0], arrow_scalar(m.MANIFEST_ENTRY, columns[0].type))
            if not pc.any(named).as_py():
                continue
            rows = [each.filter(named) for each in columns]
            for row in range(len(rows[0])):
                scalars = {ids: each[row] for ids, each in zip(wanted, rows, strict=True)}
                values = {ids: scalars[ids].as_py() for ids in wanted if ids not in bounds}
                if values[m.STATUS] in m.LIVE:
                    yield _leaf_of(top, values, {ids: scalars[ids] for ids in bounds if scalars[ids].is_valid})


def _leaf_of(top: m.ManifestPart, values: Mapping[m.Ids, Any], bounds: Mapping[m.Ids, pa.Scalar]) -> m.Manifest:
    location, size = values[m.LOCATION], values[m.SIZE]
    if not location or size is None:
        raise top.damaged("it names a manifest without its location or size")
    dead, count = values.get(m.POSITIONS), values.get(m.POSITION_COUNT)
    if (dead is None) != (count is None):
        raise top.damaged("it has a bitmap of deleted entries without their number, or a number without a bitmap")
    # delta-spark 4.4.0 writes 0 for manifests that it wrote of all files.
    counted = sum(values.get(ids) or 0 for ids in m.COUNTS)
    if values.get(m.SEQUENCE) is not None and values[m.SEQUENCE] < 0:
        raise top.damaged("a sequence number is negative")
    return m.Manifest(
        _location(top.root, top.version, top.path, location),
        location,
        size,
        top.manifest.columns,
        True,
        dead,
        count or 0,
        counted or None,
        values.get(m.SEQUENCE),
        values.get(m.ROW_ID),
        bounds,
    )


def _location(root: str, version: int, named_by: str, path: str) -> str:
    """The location of a manifest; paths are literal, and relative to the table unless they have a scheme.

    # RFC Adaptive Metadata, Storage Layout
    """
    try:
        is_uri = "://" in path or (path.partition(":")[0].isalpha() and path.partition(":")[2].startswith("/"))
        if not is_uri and not all(part.strip(".") for part in path.split("/")[path.startswith("/") :]):
            raise ValueError(f"{path!r} is not the path of a file")
        return hadoop_path(uri_of(root), quote(path, safe="/:@" if is_uri else "/"))
    except ValueError as error:
        raise read.corrupt_checkpoint(root, version, named_by, f"it names an invalid manifest: {error}") from error


def _inline(main: read.CheckpointPart) -> Replay:
    """The file actions in a checkpoint beside the tree, reconciled: those of one range of the log."""
    found = []
    for group in main.row_groups_with("add"):
        columns = AddGroup(main, group, frozenset).columns(FILE_SCHEMA.names)
        found.append(_actions(pa.Table.from_arrays(columns, schema=FILE_SCHEMA), False))
    for group in main.row_groups_with("remove"):
        for batch in main.columns_of(["remove.path", "remove.deletionVector"], group, 1 << 16):
            removes = batch.column(0).drop_null()
            columns = [adds_column(removes, name) for name in FILE_SCHEMA.names]
            found.append(_actions(pa.Table.from_arrays(columns, schema=FILE_SCHEMA), True))
    return replay(pa.concat_tables(found)) if found else EMPTY


def _actions(files: pa.Table, is_remove: bool) -> pa.Table:
    """The rows with the columns that `replay` needs."""
    zero, kind = (
        pa.repeat(arrow_scalar(0, pa.int64()), len(files)),
        pa.repeat(arrow_scalar(is_remove, pa.bool_()), len(files)),
    )
    return files.append_column("commit", zero).append_column("is_remove", kind)
