"""Writing checkpoints: classic or V2 with sidecars, `_last_checkpoint`, and the version checksum beside them.

# PROTOCOL, Checkpoints, Last Checkpoint File; today's protocol: V2 checkpoints
Files are streamed from the snapshot's checkpoint and commits into row groups, so the memory used does not depend on
their number. Row groups of the checkpoint that did not change are copied as bytes (see `kept_groups`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
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
from deltaskip.log.checkpoint import kept_groups
from deltaskip.log.checkpoint.action_structs import AddRows, state_rows
from deltaskip.log.checkpoint.checkpoint_opening import open_checkpoint
from deltaskip.log.checkpoint.parquet_columns import STATE_TYPES
from deltaskip.log.checkpoint.tombstones import REMOVE_TYPE, Tombstones
from deltaskip.log.checkpoint.written_checkpoint import WrittenCheckpoint
from deltaskip.log.checksum_writing import write_checksum
from deltaskip.log.file_names import SIDECAR_FOLDER, Kind, LogFile, version_prefix
from deltaskip.log.last_checkpoint import LAST_CHECKPOINT, checksum, read_hint
from deltaskip.log.loading import check_same_table
from deltaskip.log.segment import CheckpointRef
from deltaskip.log.snapshot import Snapshot
from deltaskip.path_bytes import encoded
from deltaskip.schema.properties import DAY_MS, DEFAULT_CODEC
from deltaskip.sparkexpr.values.arrow_values import exact_sum
from deltaskip.sparkexpr.values.calendar import current_ms
from deltaskip.stats import row_group_copy as copying
from deltaskip.stats.believed_bounds import CALENDAR_OF_NEW_FILES
from deltaskip.stats.footer import DAMAGE
from deltaskip.stats.footer_columns import leaf_paths
from deltaskip.storage import LOG_FOLDER, FileInfo, join
from deltaskip.storage.gate import delete_file, delete_files, log_names
from deltaskip.storage.kill_points import kill_point
from deltaskip.version import engine_info

_GROUP_ROWS = 50_000
_SIDECAR_ROWS = 250_000
# Row groups of more bytes are not joined with others, so that memory does not grow with the width of the table.
_GROUP_BYTES = 64 << 20
# Parquet columns whose values hardly repeat: a dictionary takes more time and more bytes.
_DISTINCT = frozenset(("add.path", "add.stats", "remove.path", "sidecar.path"))


class CheckpointFile:
    """Writer of a Parquet file with one column per action; a context manager.

    Args:
        name: Name of the local file.
        columns: Name and type of each action.
        options: Options of pyarrow's ParquetWriter.
        encoding: How the rows are encoded, for `kept_groups`; None if they are not copied into other files.

    Attributes:
        rows: Number of rows written.
    """

    def __init__(
        self, name: str, columns: Mapping[str, pa.StructType], options: Mapping[str, Any], encoding: bytes | None = None
    ) -> None:
        self._name = name
        self._schema = pa.schema(list(columns.items()))
        repeated = [
            path for field in self._schema for path in leaf_paths(field.name, field.type) if path not in _DISTINCT
        ]
        # Row groups are copied into the same stream, by whose position Arrow knows the offsets of its own.
        self._sink = pa.OSFile(encoded(name), "wb")
        self._writer: Any = pq.ParquetWriter(self._sink, self._schema, use_dictionary=repeated, **options)
        # Of bounds and partition values.
        self._writer.add_key_value_metadata(CALENDAR_OF_NEW_FILES)
        if encoding is not None:
            self._writer.add_key_value_metadata({kept_groups.ENCODING: encoding})
        self.rows = 0
        # Rows that wait for others, with which they are one row group.
        self._held: list[tuple[str, pa.StructArray]] = []
        self._held_rows = 0
        # The row groups in the order of the file, None for each that the writer writes, and the footers of the others.
        self._groups: list[copying.Fields | None] = []
        self._sources: list[copying.Fields] = []

    def write(self, *rows: tuple[str, pa.StructArray]) -> None:
        """Write a row group of actions, in the given order.

        Many rows are a row group of their own, so that readers of other actions skip it; few ones are joined with
        others, since a row group takes as long to write as some thousand rows.
        """
        count = sum(len(values) for _, values in rows)
        if self._held_rows + count > kept_groups.FEW_ROWS:
            self._write_held()
        self._held += rows
        self._held_rows += count
        self.rows += count

    def copy(self, kept: kept_groups.KeptGroups) -> None:
        """Copy row groups of another file. Raises NotCopied for a file that is unusual."""
        self._write_held()
        with _not_copied_if_odd(), kept.source.part.opened() as source:
            groups = kept.source.groups(kept.numbers)
            copying.RowGroupCopy(source, f"the checkpoint {kept.source.part.path}", self._sink).append(groups)
            self._sources.append(kept.source.footer)
        self._groups += groups
        self.rows += kept.rows

    def _write_held(self) -> None:
        rows, count = self._held, self._held_rows
        self._held, self._held_rows = [], 0
        if not count:
            return
        arrays = []
        for field in self._schema:
            pieces = [values if name == field.name else pa.nulls(len(values), field.type) for name, values in rows]
            arrays.append(pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces))
        self._writer.write_table(pa.table(arrays, schema=self._schema), row_group_size=count)
        self._groups.append(None)

    def _describe_copied(self) -> None:
        """Write the footer again, with the copied row groups. Raises NotCopied."""
        with _not_copied_if_odd(), open(encoded(self._name), "rb+") as file:
            own, start = copying.read_footer_fields(file)
            if not all(copying.is_alike(own, each) for each in self._sources):
                raise ValueError("its columns are encoded otherwise")
            written = iter(copying.row_groups(own))
            groups = [
                copying.row_group(next(written), to_copy=False) if group is None else group for group in self._groups
            ]
            file.seek(start)
            file.write(copying.footer_of(own, groups))
            file.truncate()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._write_held()
        finally:
            self._writer.close()
            self._sink.close()
        if error is None and self._sources:
            self._describe_copied()


class NotCopied(Exception):
    """Row groups of the snapshot's checkpoint cannot be copied, so that the next checkpoint is written whole."""


@contextmanager
def _not_copied_if_odd() -> Iterator[None]:
    try:
        yield
    except (CorruptLog, *DAMAGE) as error:
        raise NotCopied from error


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
    snapshot = snapshot.whole
    try:
        made = _written(snapshot, group_rows, sidecar_rows, True)
    except NotCopied:
        made = _written(snapshot, group_rows, sidecar_rows, False)
    kill_point("checkpoint written")
    _write_hint(snapshot, made)
    kill_point("hint written")
    write_checksum(snapshot, made.num_adds, made.table_bytes)
    return made


def _written(snapshot: Snapshot, group_rows: int, sidecar_rows: int, copies: bool) -> WrittenCheckpoint:
    """Write the checkpoint. copies: whether row groups of the snapshot's checkpoint may be copied. Raises NotCopied."""
    try:
        return _write(snapshot, AddRows(snapshot, group_rows), sidecar_rows, copies)
    except PartitionValueError:
        return _write(snapshot, AddRows(snapshot, group_rows, parsed_partitions=False), sidecar_rows, copies)


def _write(snapshot: Snapshot, adds: AddRows, sidecar_rows: int, copies: bool) -> WrittenCheckpoint:
    if has_feature(snapshot.protocol, "v2Checkpoint") and snapshot.table_properties.checkpoint_policy == "v2":
        return _write_v2(snapshot, adds, sidecar_rows, copies)
    return _write_classic(snapshot, adds, copies)


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


def _write_classic(snapshot: Snapshot, adds: AddRows, copies: bool) -> WrittenCheckpoint:
    path = _classic_path(snapshot)
    made = WrittenCheckpoint(snapshot.version, path)
    state = {name: STATE_TYPES[name] for name in ("txn", "metaData", "protocol", "domainMetadata")}
    columns = {"txn": state.pop("txn"), "add": adds.type, "remove": REMOVE_TYPE, **state}
    options = _options(snapshot)
    encoding = _encoding(columns, options, adds)
    pieces = _file_actions(snapshot, adds, encoding if copies else None)
    with snapshot.storage.publish(path) as name, CheckpointFile(name, columns, options, encoding) as file:
        file.write(*state_rows(kept_state(snapshot)))
        for piece in pieces:
            for item in _row_groups(piece, adds.rows, made):
                _put(file, piece.action, item)
                kill_point("row group written")
        check_same_table(snapshot)
    made.num_actions = file.rows
    made.size_bytes = snapshot.storage.size(path)
    return made


def _write_v2(snapshot: Snapshot, adds: AddRows, sidecar_rows: int, copies: bool) -> WrittenCheckpoint:
    name = f"{version_prefix(snapshot.version)}.checkpoint.{uuid4()}.parquet"
    made = WrittenCheckpoint(snapshot.version, join(snapshot.root, LOG_FOLDER, name))
    columns = {"add": adds.type, "remove": REMOVE_TYPE}
    top = {name: STATE_TYPES[name] for name in ("checkpointMetadata", "txn", "metaData", "protocol")}
    # delta-spark requires the columns of file actions here as well.
    top.update(columns, domainMetadata=STATE_TYPES["domainMetadata"], sidecar=STATE_TYPES["sidecar"])
    options = _options(snapshot)
    encoding = _encoding(columns, options, adds)
    pieces = _file_actions(snapshot, adds, encoding if copies else None)
    named = _named_again(snapshot, pieces, sidecar_rows)
    may_be_there = False
    written: list[Sidecar] = []
    try:
        with _Sidecars(snapshot, columns, encoding, sidecar_rows, made, written) as sidecars:
            for number, piece in enumerate(pieces):
                if isinstance(piece, kept_groups.KeptGroups) and piece.source.part.path in named:
                    sidecars.name_again(named[piece.source.part.path], piece)
                    continue
                if not isinstance(piece, kept_groups.KeptGroups):
                    sidecars.end_before(sum(each.rows for each in pieces[number:]))
                for item in _row_groups(piece, adds.rows, made):
                    sidecars.write(piece.action, item)
                    kill_point("row group written")
        with snapshot.storage.publish(made.path) as local, CheckpointFile(local, top, options) as file:
            head = CheckpointMetadata(snapshot.version)
            file.write(*state_rows([head, *kept_state(snapshot), *made.sidecars]))
            check_same_table(snapshot)
            may_be_there = True
        if named and not _are_there(snapshot, named):
            delete_file(snapshot.storage, snapshot.root, f"{LOG_FOLDER}/{name}", log_names)
            may_be_there = False
            raise NotCopied
    except Exception:
        if not may_be_there:
            left = [f"{LOG_FOLDER}/{SIDECAR_FOLDER}/{sidecar.path}" for sidecar in written]
            with suppress(OSError, DeltaSkipError):
                delete_files(snapshot.storage, snapshot.root, left, log_names)
        raise
    made.num_actions += file.rows
    made.size_bytes = snapshot.storage.size(made.path) + sum(sidecar.size_in_bytes for sidecar in made.sidecars)
    return made


def _named_again(snapshot: Snapshot, pieces: Sequence[kept_groups.Piece], sidecar_rows: int) -> dict[str, Sidecar]:
    """The sidecars of the snapshot's checkpoint that the next one names, too, by location.

    All their row groups are kept, and they are large, or have several times the rows that follow, so that their number
    stays small. # PROTOCOL, V2 checkpoints: "sidecars of an earlier checkpoint may be named again"
    """
    known = {} if snapshot.checkpoint is None else snapshot.checkpoint.sidecars
    # The clean-up of a shorter log may delete a sidecar before it finds the new checkpoint that names it.
    if not known or snapshot.table_properties.log_retention_ms < DAY_MS:
        return {}
    files = [piece.source.part if isinstance(piece, kept_groups.KeptGroups) else None for piece in pieces]
    groups: Counter[str] = Counter()
    for piece in pieces:
        if isinstance(piece, kept_groups.KeptGroups):
            groups[piece.source.part.path] += len(piece.numbers)
    large = -(-sidecar_rows // 2)
    found: dict[str, Sidecar] = {}
    newer, action = 0, ""
    for piece, file in zip(reversed(pieces), reversed(files), strict=True):
        # Removes precede adds, and can be in other sidecars.
        newer, action = newer if piece.action == action else 0, piece.action
        if file is None:
            newer += piece.rows
            continue
        whole = file.path in known and groups[file.path] == file.metadata.num_row_groups
        if file.path not in found and kept_groups.is_kept(whole, file.metadata.num_rows, newer, large):
            found[file.path] = known[file.path]
        newer = 0 if file.path in found and file.metadata.num_rows >= large else newer + piece.rows
    # What follows rows that are written is written with them, unless it is large.
    written = False
    for piece, file in zip(pieces, files, strict=True):
        written, action = written and piece.action == action, piece.action
        written = written or file is None or file.path not in found
        if file is not None and written and file.metadata.num_rows < large:
            found.pop(file.path, None)
    return found


def _are_there(snapshot: Snapshot, sidecars: Iterable[str]) -> bool:
    """Whether no other process has deleted one of the sidecars in the meantime."""
    folder = join(snapshot.root, LOG_FOLDER, SIDECAR_FOLDER)
    there = {info.name for info in snapshot.storage.list_from(folder, "")}
    return all(path.rpartition("/")[2] in there for path in sidecars)


class _Sidecars:
    """Writer of the sidecar files of a V2 checkpoint; starts a new one after `rows` rows.

    written: the list to which the sidecars of new files are added; `made` has them, too.
    """

    def __init__(
        self,
        snapshot: Snapshot,
        columns: dict[str, pa.StructType],
        encoding: bytes,
        rows: int,
        made: WrittenCheckpoint,
        written: list[Sidecar],
    ) -> None:
        self._snapshot, self._columns, self._rows, self._made = snapshot, columns, rows, made
        self._encoding, self._written = encoding, written
        self._open: ExitStack | None = None
        self._file: CheckpointFile | None = None
        self._name = ""

    def write(self, action: str, item: pa.StructArray | kept_groups.KeptGroups) -> None:
        if self._file is None:
            self._name = f"{uuid4()}.parquet"
            self._open = ExitStack()
            local = self._open.enter_context(self._snapshot.storage.publish(self._path))
            file = CheckpointFile(local, self._columns, _options(self._snapshot), self._encoding)
            self._file = self._open.enter_context(file)
        _put(self._file, action, item)
        if self._file.rows >= self._rows:
            self._close()

    def end_before(self, rows: int) -> None:
        """End the sidecar, so that the next checkpoint can name it, if it has several times the rows that follow."""
        if self._file is not None and kept_groups.is_kept(True, self._file.rows, rows, -(-self._rows // 2)):
            self._close()

    def name_again(self, sidecar: Sidecar, kept: kept_groups.KeptGroups) -> None:
        """Name a sidecar of the checkpoint before, for some of its row groups; the others are kept as well."""
        # The order of the log.
        self._close()
        _count(kept, self._made)
        self._made.num_actions += kept.rows
        if sidecar not in self._made.sidecars:
            self._made.sidecars.append(sidecar)

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
        self._written.append(Sidecar(self._name, size, current_ms()))
        self._made.sidecars.append(self._written[-1])


def kept_state(snapshot: Snapshot) -> Iterator[Any]:
    """Yield protocol, metadata, transaction identifiers that have not expired, and domains that are not removed."""
    yield snapshot.protocol
    yield snapshot.metadata
    kept_for = snapshot.table_properties.txn_retention_ms
    oldest = None if kept_for is None else current_ms() - kept_for
    for txn in snapshot.txns.values():
        if oldest is None or txn.last_updated is None or txn.last_updated > oldest:
            yield txn
    yield from snapshot.domains.values()


def _file_actions(snapshot: Snapshot, adds: AddRows, encoding: bytes | None) -> list[kept_groups.Piece]:
    """The file actions, in the order of the log. encoding: of row groups that may be copied."""
    removes = Tombstones(snapshot, current_ms() - snapshot.table_properties.deleted_file_retention_ms)
    of_removes = kept_groups.pieces_of_removes(removes, encoding, adds.rows, _GROUP_BYTES)
    return [*of_removes, *kept_groups.pieces_of_adds(snapshot, adds, encoding, _GROUP_BYTES)]


def _row_groups(
    piece: kept_groups.Piece, rows: int, made: WrittenCheckpoint
) -> Iterator[pa.StructArray | kept_groups.KeptGroups]:
    """The row groups of a piece, whose files are counted. rows: for which row groups are joined."""
    for item in [piece] if isinstance(piece, kept_groups.KeptGroups) else _joined(piece.pieces(), rows):
        if piece.action == "add":
            _count(item, made)
        yield item


def _count(item: pa.StructArray | kept_groups.KeptGroups, made: WrittenCheckpoint) -> None:
    """Count the files of adds. Those of removes that are kept have no bytes."""
    if isinstance(item, kept_groups.KeptGroups):
        made.num_adds += item.rows if item.action == "add" else 0
        made.table_bytes += item.size
    else:
        made.num_adds += len(item)
        made.table_bytes += exact_sum(pc.struct_field(item, "size"))


def _put(file: CheckpointFile, action: str, item: pa.StructArray | kept_groups.KeptGroups) -> None:
    if isinstance(item, kept_groups.KeptGroups):
        file.copy(item)
    else:
        file.write((action, item))


def _options(snapshot: Snapshot) -> dict[str, Any]:
    """Options of pyarrow's ParquetWriter for checkpoints of a table.

    # PROTOCOL, Table Properties: codec and version of pages are those of data files.
    """
    properties = snapshot.table_properties
    # Other readers ignore Arrow's own schema in the footer.
    return {
        "compression": properties.compression_codec or DEFAULT_CODEC,
        "data_page_version": properties.page_version,
        "store_schema": False,
    }


def _encoding(columns: Mapping[str, pa.StructType], options: Mapping[str, Any], adds: AddRows) -> bytes:
    """A text that is equal for two files only if equal actions have the same row groups."""
    import hashlib

    schema = bytes(pa.schema(list(columns.items())).serialize())
    parts = (engine_info(), pa.__version__, options, sorted(_DISTINCT), adds.encoding)
    return hashlib.sha256(schema + repr(parts).encode("utf-8", "surrogatepass")).hexdigest().encode()


def _joined(pieces: Iterable[pa.StructArray], rows: int) -> Iterator[pa.StructArray]:
    """The pieces, small ones joined to row groups of half to one and a half times `rows` rows.

    A checkpoint takes rows of several row groups of the one before it and those of newer commits. Without joining, it
    would have a row group more, and every reader of it one more of each column to read.
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


def _write_hint(snapshot: Snapshot, made: WrittenCheckpoint) -> None:
    """Write `_last_checkpoint`, unless it already names a later version."""
    folder = join(snapshot.root, LOG_FOLDER)
    known = read_hint(snapshot.storage, folder)
    if known is not None and known.version > made.version:
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
