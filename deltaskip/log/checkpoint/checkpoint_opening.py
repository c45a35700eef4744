"""Opening checkpoints of every kind: classic, multi-part, V2, and adaptive metadata trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pyarrow.compute as pc

from deltaskip.actions import Sidecar
from deltaskip.errors import CorruptLog
from deltaskip.log.checkpoint import read
from deltaskip.log.checkpoint.metadata_tree import open_standalone, open_tree
from deltaskip.log.commit import Commits, damaged, members_of, read_commits, state_change
from deltaskip.log.file_names import Kind, LogFile
from deltaskip.log.replay import EMPTY, Replay, replay
from deltaskip.log.segment import CheckpointRef
from deltaskip.log.state_actions import state_of
from deltaskip.storage import Storage


def open_checkpoint(
    storage: Storage, root: str, ref: CheckpointRef, done: Callable[[int], object] = lambda _: None
) -> read.Checkpoint:
    """Open a checkpoint: read every footer and the small actions. done: called with the number of opened files.

    Raises CorruptLog with the name of the file that is missing or damaged.
    """
    if ref.kind is Kind.COMMIT:
        return open_tree(storage, root, ref, done)
    if ref.kind is Kind.UUID_JSON_CHECKPOINT:
        commits = read_commits(storage, root, ref.files)
        sidecars = [_sidecar_of(commits, action) for action in commits.others if action.name == "sidecar"]
        state, inline = state_change(commits), _inline_adds(commits)
        main: list[read.CheckpointPart] = []
    else:
        main = _open_parts(storage, root, ref.version, {each.path: each.file.size for each in ref.files}, done)
        if len(main) == 1 and main[0].has("contentRoot"):
            return open_standalone(storage, root, ref, main[0], done)
        small = [action for part in main for action in read.small_actions(part, root)]
        sidecars = [action for action in small if isinstance(action, Sidecar)]
        state, inline = state_of(action for action in small if not isinstance(action, Sidecar)), EMPTY
    named = {read.sidecar_location(root, ref, sidecar): sidecar for sidecar in sidecars}
    paths = {location: sidecar.size_in_bytes for location, sidecar in named.items()}
    parts = [*main, *_open_parts(storage, root, ref.version, paths, done)]
    if sum(part.metadata.num_rows for part in parts) <= read.HELD_ROWS:
        for part in parts:
            part.is_held = True
    with_adds = tuple(part for part in parts if part.row_groups_with("add"))
    with_removes = tuple(part for part in parts if part.row_groups_with("remove"))
    return read.Checkpoint(ref.version, state, with_adds, inline, with_removes, named)


def inline_adds(storage: Storage, root: str, file: LogFile) -> Replay:
    """Return the adds in a JSON checkpoint itself, not in sidecars. Raises CorruptLog as open_checkpoint does."""
    return _inline_adds(read_commits(storage, root, [file]))


def _open_parts(
    storage: Storage, root: str, version: int, sizes: Mapping[str, int], done: Callable[[int], object]
) -> list[read.CheckpointPart]:
    if storage.remote and len(sizes) > 1:
        with ThreadPoolExecutor(min(read.PARALLEL_OPENS, len(sizes))) as pool:
            opened = pool.map(partial(read.open_part, storage, root, version), sizes, sizes.values())
            return list(_counted(opened, done))
    return list(_counted((read.open_part(storage, root, version, path, size) for path, size in sizes.items()), done))


def _counted(parts: Iterable[read.CheckpointPart], done: Callable[[int], object]) -> Iterator[read.CheckpointPart]:
    for part in parts:
        done(1)
        yield part


def _sidecar_of(commits: Commits, action: Any) -> Sidecar:
    try:
        return Sidecar.from_json(members_of(commits, action))
    except CorruptLog:
        raise
    except ValueError as error:
        raise damaged(commits, action, str(error)) from error


def _inline_adds(commits: Commits) -> Replay:
    # The checkpoint is reconciled: its removes are tombstones, none of them of an add in the same checkpoint.
    adds = commits.actions.filter(pc.invert(commits.actions["is_remove"]))
    try:
        return replay(adds)
    except ValueError as error:
        file = commits.files[0]
        raise read.corrupt_checkpoint(commits.root, file.version, file.path, str(error)) from error
