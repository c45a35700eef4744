"""The tasks of planning: read parts of the log, and return the files that a predicate keeps or newer parts end.

Runs on executors, in Python processes without a session; they need this package but not pyspark.

Parts of the log have an order: a checkpoint is older than every commit, and a task reconciles the commits that it
reads, so they count as one. A file that an older part lists is active if no newer part has an action that ends it
(log.replay): an add of its path, or a remove of its path and deletion vector. Every task returns the files that the
predicate keeps, with their keys and the order of the part; `ended_runner` returns the keys of all actions of commits,
kept or not, since a skipped add still replaces an older add.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import canonical_paths, vector_ids
from deltaskip.errors import CorruptLog, DeltaSkipError
from deltaskip.fork_safety import new_lock
from deltaskip.log import CheckpointPart, LogFile, Snapshot
from deltaskip.log.checkpoint.adds import adds_column
from deltaskip.log.checkpoint.checkpoint_opening import inline_adds
from deltaskip.log.checkpoint.manifests import Manifest, ManifestPart
from deltaskip.log.checkpoint.read import open_part
from deltaskip.log.commit import read_commits
from deltaskip.log.portable import PortableSnapshot
from deltaskip.log.replay import EMPTY, Replay, Superseded, replay, superseded_by
from deltaskip.records import dataclass
from deltaskip.skipping.add_batches import FileBatch
from deltaskip.skipping.add_columns import CheckpointAdds, CommitAdds
from deltaskip.skipping.file_batches import kept_pieces, listed_adds, unshared
from deltaskip.skipping.file_list import batch_files, decoded_paths
from deltaskip.skipping.file_predicates import CompiledPredicate, PortablePredicate

CHECKPOINT = -1
"""The order of a checkpoint. The order of commits is the index of their task, from 0."""

KEY_FIELDS = [
    pa.field("__deltaskip_path", pa.string()),
    pa.field("__deltaskip_dv", pa.string()),
    pa.field("__deltaskip_order", pa.int64()),
]
"""Columns after the file list's: canonical path, dvId (null without a deletion vector), and order."""

ENDED_SCHEMA = pa.schema(
    [
        pa.field("ended_path", pa.string()),
        pa.field("ended_dv", pa.string()),
        pa.field("ended_order", pa.int64()),
        pa.field("ended_by_add", pa.bool_()),
    ]
)
"""An action of a commit: an add ends every older file of the path, a remove only the file with this dvId."""

_ROWS = 8192
_DECODED_ROWS = 1 << 15
_COMMIT_ROWS = 1 << 16
_MOST_OPENED = 4
_SEPARATOR = "\0"


@dataclass(frozen=True, slots=True)
class GroupsTask:
    """Row groups of a Parquet file of the checkpoint.

    Attributes:
        path: Location of the file.
        version: Version of the checkpoint.
        groups: Indexes of the row groups.
        manifest: What an adaptive metadata tree says of the file, if it is a manifest.
    """

    path: str
    version: int
    groups: tuple[int, ...]
    manifest: Manifest | None = None


@dataclass(frozen=True, slots=True)
class InlineTask:
    """The add actions in a JSON checkpoint."""

    file: LogFile


@dataclass(frozen=True, slots=True)
class CommitsTask:
    """Consecutive commits after the checkpoint, and their order."""

    files: tuple[LogFile, ...]
    order: int


Task = GroupsTask | InlineTask | CommitsTask
"""A part of the log that one Spark task reads; a task may read several."""


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The part of a plan that every task needs. It can be pickled.

    Attributes:
        id: The id of the plan, by which tasks in one process share opened files.
        snapshot: The snapshot.
        predicate: The predicate.
        names: Columns of the file list, see `Scan.files`.
        keyed: Whether the files are returned with their keys.
    """

    id: str
    snapshot: PortableSnapshot
    predicate: PortablePredicate
    names: tuple[str, ...]
    keyed: bool


def packed_tasks(tasks: Sequence[Task]) -> bytes:
    """Serialize the parts of the log that one Spark task reads."""
    return pickle.dumps(tuple(tasks))


def files_runner(
    tasks: Sequence[bytes], request: PlanRequest
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for mapInArrow that reads batches with `id`, indexes of packed `tasks`, and returns the kept files.

    The rows have the columns of the list, timestamps in microseconds, and KEY_FIELDS if the request says so.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for task in _given(batches, tasks):
            opened = _opened(request)
            for table in opened.kept(task):
                yield from _for_spark(table).to_batches(max_chunksize=_ROWS)

    return run


def ended_runner(
    tasks: Sequence[bytes], request: PlanRequest
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for mapInArrow that reads batches with `id`, indexes of packed `tasks`, and returns ENDED_SCHEMA."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for task in _given(batches, tasks):
            assert isinstance(task, CommitsTask)
            found = _opened(request).ended(task)
            with_dv = pc.split_pattern(found.removed_dv, _SEPARATOR, max_splits=1)
            for paths, ids, by_add in (
                (found.added, None, True),
                (found.removed, None, False),
                (pc.list_element(with_dv, 0), pc.list_element(with_dv, 1), False),
            ):
                dvs = pa.nulls(len(paths), pa.string()) if ids is None else ids
                order = pa.repeat(pa.scalar(task.order, pa.int64()), len(paths))
                columns = [paths, dvs, order, pa.repeat(pa.scalar(by_add), len(paths))]
                yield from pa.table(columns, schema=ENDED_SCHEMA).to_batches(max_chunksize=_ROWS)

    return run


@dataclass(slots=True)
class _Opened:
    """A plan in this process: the snapshot without files, the predicate, and the part of the checkpoint read last."""

    request: PlanRequest
    snapshot: Snapshot
    predicate: CompiledPredicate
    parts: OrderedDict[str, CheckpointPart] = field(default_factory=OrderedDict)

    def kept(self, task: Task) -> Iterator[pa.Table]:
        """Yield the files of a part of the log that the predicate keeps, with their keys."""
        match task:
            case GroupsTask():
                part = self._part(task)
                for group in task.groups:
                    yield from self._of_group(part, group)
            case InlineTask(file):
                found = inline_adds(self.snapshot.storage, self.snapshot.root, file)
                yield from self._of_adds(found.adds, CHECKPOINT)
            case CommitsTask():
                yield from self._of_adds(self._replayed(task).adds, task.order)

    def ended(self, task: CommitsTask) -> Superseded:
        """The files of older parts that commits end."""
        with self._paths_named():
            return superseded_by(self._actions(task, ["path", "deletion_vector"]))

    def _replayed(self, task: CommitsTask) -> Replay:
        with self._paths_named():
            return replay(self._actions(task))

    def _actions(self, task: CommitsTask, columns: Sequence[str] | None = None) -> pa.Table:
        return read_commits(self.snapshot.storage, self.snapshot.root, task.files, columns).actions

    @contextmanager
    def _paths_named(self) -> Iterator[None]:
        """Convert the error of a path that does not decode."""
        try:
            yield
        except ValueError as error:
            if isinstance(error, DeltaSkipError):
                raise
            raise CorruptLog(
                f"The log of {self.snapshot.root} is damaged: {error}; rewrite the commit that contains it."
            ) from error

    def _part(self, task: GroupsTask) -> CheckpointPart:
        part = self.parts.get(task.path)
        if part is None:
            where = self.snapshot.storage, self.snapshot.root, task.version
            manifest = task.manifest
            part = open_part(*where, task.path) if manifest is None else ManifestPart(*where, manifest)
            self.parts.clear()
            self.parts[task.path] = part
        return part

    def _of_group(self, part: CheckpointPart, group: int) -> Iterator[pa.Table]:
        own, request = unshared(self.snapshot), self.request
        kept = self.predicate.with_own_codes().matching(FileBatch(CheckpointAdds(own, part, group)))
        adds = own.add_group(part, group)
        for piece in kept_pieces(adds, kept, request.names, _DECODED_ROWS):
            paths, vectors = adds_column(piece, "path"), adds_column(piece, "deletion_vector")
            # This task takes every add as active, but each must have a path.
            adds.live_mask(EMPTY.superseded, paths, vectors)
            table = listed_adds(own, adds, piece, request.names, request.predicate.time_zone)
            yield self._with_keys(table, paths, vectors, CHECKPOINT)

    def _of_adds(self, adds: pa.Table, order: int) -> Iterator[pa.Table]:
        request = self.request
        for start in range(0, len(adds), _COMMIT_ROWS):
            chosen = adds.slice(start, _COMMIT_ROWS)
            own = request.snapshot.with_files(self.snapshot, chosen)
            batch = FileBatch(CommitAdds(own))
            kept = self.predicate.with_own_codes().matching(batch)
            if kept is not None and not len(kept):
                continue
            table = batch_files(batch, kept, request.names, request.predicate.time_zone)
            paths, vectors = batch.rows(["path", "deletion_vector"], kept)
            yield self._with_keys(table, paths, vectors, order)

    def _with_keys(self, table: pa.Table, paths: pa.Array, vectors: pa.Array, order: int) -> pa.Table:
        if not self.request.keyed:
            return table
        orders = pa.repeat(pa.scalar(order, pa.int64()), len(table))
        keys = decoded_paths(self.snapshot, canonical_paths, paths), vector_ids(vectors), orders
        for each, values in zip(KEY_FIELDS, keys, strict=True):
            table = table.append_column(each, values)
        return table


_plans: OrderedDict[str, _Opened] = OrderedDict()
_lock = new_lock()


def _opened(request: PlanRequest) -> _Opened:
    """The plan, opened once for many tasks of this process."""
    with _lock:
        found = _plans.get(request.id)
        if found is None:
            snapshot = request.snapshot.opened()
            found = _plans[request.id] = _Opened(request, snapshot, request.predicate.compiled(snapshot))
            while len(_plans) > _MOST_OPENED:
                _plans.popitem(last=False)
        return found


def _given(batches: Iterator[pa.RecordBatch], tasks: Sequence[bytes]) -> Iterator[Task]:
    for batch in batches:
        for number in batch.column(batch.schema.get_field_index("id")).to_pylist():
            yield from pickle.loads(tasks[number])


def _for_spark(table: pa.Table) -> pa.Table:
    """The table in the types that Spark accepts from Arrow: timestamps are in microseconds."""
    for number, each in enumerate(table.schema):
        if pa.types.is_timestamp(each.type) and each.type.unit != "us":
            kind = pa.timestamp("us", each.type.tz)
            table = table.set_column(number, pa.field(each.name, kind), table[each.name].cast(kind))
    return table.combine_chunks()
