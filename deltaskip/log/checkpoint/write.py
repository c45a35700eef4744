"""Writing checkpoints: classic or V2 with sidecars, `_last_checkpoint`, and the version checksum beside them.

# PROTOCOL, Checkpoints, Last Checkpoint File; today's protocol: V2 checkpoints
Files are streamed from the snapshot's checkpoint and commits into row groups, so the memory used does not depend on
their number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from deltaskip.actions import CheckpointMetadata, PartitionValueError, Sidecar
from deltaskip.errors import CorruptLog, DeltaSkipError
from deltaskip.features import check_maintainable
from deltaskip.features.registry import has_feature
from deltaskip.log.catalog_commits import catalog_commits
from deltaskip.log.checkpoint.action_structs import AddRows, state_rows
from deltaskip.log.checkpoint.parquet_columns import STATE_TYPES
from deltaskip.log.checkpoint.read import open_checkpoint
from deltaskip.log.checkpoint.tombstones import REMOVE_TYPE, tombstones
from deltaskip.log.checkpoint.written_checkpoint import WrittenCheckpoint
from deltaskip.log.checksum_writing import write_checksum
from deltaskip.log.file_names import SIDECAR_FOLDER, Kind, LogFile, version_prefix
from deltaskip.log.last_checkpoint import LAST_CHECKPOINT, checksum, read_hint
from deltaskip.log.loading import check_same_table
from deltaskip.log.segment import CheckpointRef
from deltaskip.log.snapshot import Snapshot
from deltaskip.sparkexpr.values.arrow_values import exact_sum
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.stats.believed_bounds import CALENDAR_OF_NEW_FILES
from deltaskip.storage import FileInfo, join
from deltaskip.storage.gate import delete_files, log_names
from deltaskip.storage.kill_points import kill_point
from deltaskip.storage.location import LOG_FOLDER

_GROUP_ROWS = 50_000
_SIDECAR_ROWS = 250_000
# Row groups of more bytes are not joined with others, so that memory does not grow with the width of the table.
_GROUP_BYTES = 64 << 20
# Parquet columns whose values hardly repeat: a dictionary takes more time and more bytes.
_DISTINCT = frozenset(("add.path", "add.stats", "remove.path", "sidecar.path"))


class CheckpointFile:
    """Writer of a Parquet file with one column per action; a context manager.

    columns: name and type of each action. rows: number of rows written.
    """

    def __init__(self, name: str, columns: Mapping[str, pa.StructType]) -> None:
        self._schema = pa.schema(list(columns.items()))
        # Other readers ignore Arrow's own schema in the footer.
        repeated = [path for field in self._schema for path in _leaf_paths(field) if path not in _DISTINCT]
        options: dict[str, Any] = {"compression": "snappy", "use_dictionary": repeated, "store_schema": False}
        self._writer: Any = pq.ParquetWriter(name, self._schema, **options)
        # Of bounds and partition values.
        self._writer.add_key_value_metadata(CALENDAR_OF_NEW_FILES)
        self.rows = 0

    def write(self, action: str, values: pa.StructArray) -> None:
        """Write a row group with only this action, so that readers of other actions skip it."""
        if not len(values):
            return
        arrays = [values if field.name == action else pa.nulls(len(values), field.type) for field in self._schema]
        self._writer.write_table(pa.table(arrays, schema=self._schema), row_group_size=len(values))
        self.rows += len(values)

    def write_state(self, rows: list[tuple[str, pa.StructArray]]) -> None:
        """Write one row group of several actions, in the given order."""
        if not rows:
            return
        arrays = []
        for field in self._schema:
            pieces = [values if name == field.name else pa.nulls(len(values), field.type) for name, values in rows]
            arrays.append(pa.concat_arrays(pieces))
        self._writer.write_table(pa.table(arrays, schema=self._schema))
        self.rows += sum(len(values) for _, values in rows)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()


def write_checkpoint(
    snapshot: Snapshot, *, group_rows: int = _GROUP_ROWS, sidecar_rows: int = _SIDECAR_ROWS
) -> WrittenCheckpoint:
    """Write the checkpoint of the snapshot's version, `_last_checkpoint`, and the version checksum if it is missing.

    The checkpoint is V2 with sidecars if `delta.checkpointPolicy` is v2 and the table has the feature, otherwise one
    classic file. An existing checkpoint of the version is not replaced.

    Args:
        snapshot: Snapshot of the version.
        group_rows: Number of rows of a row group.
        sidecar_rows: Approximate number of file actions in a sidecar.

    Raises:
        UnsupportedFeature: The table has an unknown feature, so its log may contain unknown actions.
        TableNotFound: The table was dropped, or replaced by another one.
        CorruptLog: The log is damaged.
        SchemaError: A table property that determines the checkpoint is malformed.
        StorageError: The storage failed.
    """
    check_maintainable(snapshot.protocol, f"Version {snapshot.version} of {snapshot.root}")
    commits = catalog_commits(snapshot.storage)
    if commits is not None and commits.manages:
        # PROTOCOL, Maintenance Operations on Catalog-managed Tables: only for published versions
        commits.publish(snapshot.version)
    check_same_table(snapshot)
    own = snapshot.segment.checkpoint
    if own is not None and own.version == snapshot.version:
        # Other readers may be reading it, so it is never replaced.
        return WrittenCheckpoint(snapshot.version, own.files[0].path, written=False)
    there = _classic_path(snapshot)
    if snapshot.storage.exists(there):
        _require_readable(snapshot, there)
        return WrittenCheckpoint(snapshot.version, there, written=False)
    try:
        made = _write(snapshot, AddRows(snapshot, group_rows), sidecar_rows)
    except PartitionValueError:
        made = _write(snapshot, AddRows(snapshot, group_rows, parsed_partitions=False), sidecar_rows)
    kill_point("checkpoint written")
    _write_hint(snapshot, made)
    kill_point("hint written")
    write_checksum(snapshot, made.num_adds, made.table_bytes)
    return made


def _write(snapshot: Snapshot, adds: AddRows, sidecar_rows: int) -> WrittenCheckpoint:
    if has_feature(snapshot.protocol, "v2Checkpoint") and snapshot.table_properties.checkpoint_policy == "v2":
        return _write_v2(snapshot, adds, sidecar_rows)
    return _write_classic(snapshot, adds)


def _classic_path(snapshot: Snapshot) -> str:
    return join(snapshot.root, LOG_FOLDER, f"{version_prefix(snapshot.version)}.checkpoint.parquet")


def _require_readable(snapshot: Snapshot, path: str) -> None:
    """Raise CorruptLog if the checkpoint that another writer wrote is unreadable; it must not be replaced."""
    name = path.rpartition("/")[2]
    file = LogFile(Kind.CLASSIC_CHECKPOINT, snapshot.version, FileInfo(name, path, snapshot.storage.size(path), 0))
    try:
        open_checkpoint(snapshot.storage, snapshot.root, CheckpointRef(snapshot.version, (file,)))
    except CorruptLog as error:
        raise CorruptLog(
            f"The checkpoint of version {snapshot.version} of {snapshot.root} exists but cannot be read: delete {name} "
            f"and write the checkpoint again ({error})."
        ) from error


def _write_classic(snapshot: Snapshot, adds: AddRows) -> WrittenCheckpoint:
    path = _classic_path(snapshot)
    made = WrittenCheckpoint(snapshot.version, path)
    state = {name: STATE_TYPES[name] for name in ("txn", "metaData", "protocol", "domainMetadata")}
    columns = {"txn": state.pop("txn"), "add": adds.type, "remove": REMOVE_TYPE, **state}
    with snapshot.storage.publish(path) as name, CheckpointFile(name, columns) as file:
        file.write_state(list(state_rows(_state(snapshot))))
        for action, values in _file_actions(snapshot, adds, made):
            file.write(action, values)
            kill_point("row group written")
        check_same_table(snapshot)
    made.num_actions = file.rows
    made.size_bytes = snapshot.storage.size(path)
    return made


def _write_v2(snapshot: Snapshot, adds: AddRows, sidecar_rows: int) -> WrittenCheckpoint:
    name = f"{version_prefix(snapshot.version)}.checkpoint.{uuid4()}.parquet"
    made = WrittenCheckpoint(snapshot.version, join(snapshot.root, LOG_FOLDER, name))
    columns = {"add": adds.type, "remove": REMOVE_TYPE}
    top = {name: STATE_TYPES[name] for name in ("checkpointMetadata", "txn", "metaData", "protocol")}
    # delta-spark requires the columns of file actions here as well.
    top.update(columns, domainMetadata=STATE_TYPES["domainMetadata"], sidecar=STATE_TYPES["sidecar"])
    may_be_there = False
    try:
        with _Sidecars(snapshot, columns, sidecar_rows, made) as sidecars:
            for action, values in _file_actions(snapshot, adds, made):
                sidecars.write(action, values)
                kill_point("row group written")
        with snapshot.storage.publish(made.path) as local, CheckpointFile(local, top) as file:
            head = CheckpointMetadata(snapshot.version)
            file.write_state(list(state_rows([head, *_state(snapshot), *made.sidecars])))
            check_same_table(snapshot)
            may_be_there = True
    except Exception:
        if not may_be_there:
            left = [f"{LOG_FOLDER}/{SIDECAR_FOLDER}/{sidecar.path}" for sidecar in made.sidecars]
            with suppress(OSError, DeltaSkipError):
                delete_files(snapshot.storage, snapshot.root, left, log_names)
        raise
    made.num_actions += file.rows
    made.size_bytes = snapshot.storage.size(made.path) + sum(sidecar.size_in_bytes for sidecar in made.sidecars)
    return made


class _Sidecars:
    """Writer of the sidecar files of a V2 checkpoint; starts a new one after `rows` rows."""

    def __init__(
        self, snapshot: Snapshot, columns: dict[str, pa.StructType], rows: int, made: WrittenCheckpoint
    ) -> None:
        self._snapshot, self._columns, self._rows, self._made = snapshot, columns, rows, made
        self._open: ExitStack | None = None
        self._file: CheckpointFile | None = None
        self._name = ""

    def write(self, action: str, values: pa.StructArray) -> None:
        if self._file is None:
            self._name = f"{uuid4()}.parquet"
            self._open = ExitStack()
            local = self._open.enter_context(self._snapshot.storage.publish(self._path))
            self._file = self._open.enter_context(CheckpointFile(local, self._columns))
        self._file.write(action, values)
        if self._file.rows >= self._rows:
            self._close()

    def __enter__(self) -> _Sidecars:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if error is None:
            self._close()
        elif self._open is not None:
            self._open.__exit__(kind, error, trace)

    @property
    def _path(self) -> str:
        return join(self._snapshot.root, LOG_FOLDER, SIDECAR_FOLDER, self._name)

    def _close(self) -> None:
        if self._file is None or self._open is None:
            return
        self._made.num_actions += self._file.rows
        self._open.close()
        self._file = self._open = None
        size = self._snapshot.storage.size(self._path)
        self._made.sidecars.append(Sidecar(self._name, size, current_ms()))


def _state(snapshot: Snapshot) -> Iterator[Any]:
    """Protocol, metadata, transaction identifiers that have not expired, and domains that are not removed."""
    yield snapshot.protocol
    yield snapshot.metadata
    kept_for = snapshot.table_properties.txn_retention_ms
    oldest = None if kept_for is None else current_ms() - kept_for
    for txn in snapshot.txns.values():
        if oldest is None or txn.last_updated is None or txn.last_updated > oldest:
            yield txn
    yield from snapshot.domains.values()


def _file_actions(snapshot: Snapshot, adds: AddRows, made: WrittenCheckpoint) -> Iterator[tuple[str, pa.StructArray]]:
    newer_than_ms = current_ms() - snapshot.table_properties.deleted_file_retention_ms
    for removes in _joined(tombstones(snapshot, newer_than_ms), adds.rows):
        yield "remove", removes
    made.num_adds = made.table_bytes = 0
    for values in _joined(adds.batches(), adds.rows):
        made.num_adds += len(values)
        made.table_bytes += exact_sum(pc.struct_field(values, "size"))
        yield "add", values


def _joined(pieces: Iterable[pa.StructArray], rows: int) -> Iterator[pa.StructArray]:
    """The pieces, small ones joined to row groups of half to one and a half times `rows` rows.

    Each checkpoint takes the row groups of the one before it and the rows of newer commits. Without joining, it would
    have a row group more, and every reader of it one more of each column to read.
    """
    held: list[pa.StructArray] = []
    count = size = 0
    for piece in pieces:
        bytes_ = piece.nbytes
        if held and (size + bytes_ > _GROUP_BYTES or (count + len(piece) > rows and 2 * count >= rows)):
            yield pa.concat_arrays(held)
            held, count, size = [], 0, 0
        held.append(piece)
        count, size = count + len(piece), size + bytes_
    if held:
        yield pa.concat_arrays(held)


def _leaf_paths(field: pa.Field) -> Iterator[str]:
    """Dotted paths of the Parquet columns below a field that is written."""
    kind = field.type
    if pa.types.is_struct(kind):
        children = {child.name: child for child in kind}
    elif pa.types.is_map(kind):
        children = {"key_value.key": kind.key_field, "key_value.value": kind.item_field}
    elif pa.types.is_list(kind):
        children = {"list.element": kind.value_field}
    else:
        yield field.name
        return
    for name, child in children.items():
        yield from (f"{field.name}.{path}" for path in _leaf_paths(child.with_name(name)))


def _write_hint(snapshot: Snapshot, made: WrittenCheckpoint) -> None:
    """Write `_last_checkpoint`, unless it already names a later version."""
    folder = join(snapshot.root, LOG_FOLDER)
    known = read_hint(snapshot.storage, folder)
    if known is not None and known > made.version:
        return
    fields: dict[str, Any] = {
        "version": made.version,
        "size": made.num_actions,
        "sizeInBytes": made.size_bytes,
        "numOfAddFiles": made.num_adds,
    }
    if not made.path.endswith(".checkpoint.parquet"):
        fields["v2Checkpoint"] = {
            "path": made.path.rpartition("/")[2],
            "sizeInBytes": snapshot.storage.size(made.path),
            "modificationTime": current_ms(),
        }
    fields["checksum"] = checksum(fields)
    text = json.dumps(fields, separators=(",", ":"))
    snapshot.storage.put(join(folder, LAST_CHECKPOINT), text.encode())
