"""Reading checkpoints: classic, multi-part and V2, in Parquet or JSON, with and without sidecars.

Small actions (protocol, metadata, transactions, domains, the list of sidecars) are read on opening, from the row groups
that may contain them according to the footer. File actions stay in their Parquet files, as CheckpointParts whose
columns are read on demand.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deltaskip.actions import ADD_FIELDS, Sidecar, hadoop_path
from deltaskip.doors import first_line, of_signal_handler
from deltaskip.errors import CorruptLog, DeltaSkipError
from deltaskip.fork_safety import cached_property
from deltaskip.kernels.parquet_metadata import footer_fits
from deltaskip.log.checkpoint.parquet_columns import wrong_column
from deltaskip.log.file_names import SIDECAR_FOLDER, restore_or_go_back
from deltaskip.log.replay import Replay
from deltaskip.log.segment import CheckpointRef
from deltaskip.log.state_actions import STATE_ACTIONS, StateAction, StateChange
from deltaskip.path_bytes import real_path
from deltaskip.records import dataclass
from deltaskip.sparkexpr.values.arrow_nested import ENTRIES, with_maps
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, numpy_values
from deltaskip.stats.believed_bounds import hybrid_calendar
from deltaskip.stats.written_types import ARROW_SCHEMA, has_only_written
from deltaskip.storage import LOG_FOLDER, FileInfo, NotAFile, Storage, is_local, join, uri_of
from deltaskip.storage.interface import not_found

if TYPE_CHECKING:
    import pyarrow.parquet as pq

# A required member of each action: if it is null throughout a row group, the row group has no such action.
_REQUIRED = {
    "protocol": "minReaderVersion",
    "metaData": "id",
    "txn": "appId",
    "domainMetadata": "domain",
    "checkpointMetadata": "version",
    "sidecar": "path",
    "add": "path",
    "remove": "path",
}
_SMALL = ("protocol", "metaData", "txn", "domainMetadata", "sidecar")
PARALLEL_OPENS = 16
"""The most files of a checkpoint in an object store that are opened at once."""
_FEW_ROWS = 1024
_SOME_ROWS = 8192
HELD_ROWS = 2048
"""The most rows of a checkpoint whose decoded columns are cached."""
# The version checksum of each commit counts the files, from these columns, which are also held of larger checkpoints.
_COUNTED = frozenset(("add.path", "add.size", "add.deletionVector"))
_COUNTED_ROWS = 20_480
_MOST_HELD = 12
# Columns of adds that most plans and commits read, sooner or later: of a cached checkpoint they are decoded together.
_TOGETHER = tuple(f"add.{name}" for name in ADD_FIELDS.logged.values())
_TAIL_BYTES = 64 << 10
_END, _MAGIC = struct.Struct("<I4s"), b"PAR1"


class CheckpointPart:
    """A Parquet file of a checkpoint that contains adds.

    The footer is read once. Each read opens the file again, so that a snapshot holds no file handles; a file that was
    replaced by other contents is not read. verifies: whether checksums of pages are compared.
    """

    verifies = False

    def __init__(
        self,
        storage: Storage,
        root: str,
        version: int,
        path: str,
        metadata: pq.FileMetaData | None,
        size: int | None = None,
        content: pa.Buffer | None = None,
    ) -> None:
        """metadata: None reads it on first use. size: bytes of the file, if known. content: of a small remote file."""
        self.path = path
        self.version = version
        self._metadata = metadata
        self._storage = storage
        # Facts other than the size of a file in an object store would take a request.
        self._known: FileInfo | None = None if storage.remote or metadata is None else storage.info(path)
        self._size = size
        self._content = content
        self.root = root
        self._add_rows: dict[int, int] = {}
        self._nothing: dict[tuple[tuple[str, ...], int], bool] = {}
        # Whether columns are decoded once and cached, since the checkpoint is small; by row group and columns.
        self.is_held = False
        self._held: dict[tuple[int, tuple[str, ...]], list[pa.RecordBatch]] = {}
        self._undecoded: set[int] = set()
        # By row group, what `AddGroup.totals` keeps; None after its first count.
        self.sizes: dict[int, tuple[dict[str, int], int] | None] = {}

    @property
    def metadata(self) -> pq.FileMetaData:
        """The footer."""
        if self._metadata is None:
            reading = reading_checkpoint(self.root, self.version, self.path)
            with reading, self._storage.open_input(self.path, self._size) as source:
                if self._size is not None and source.size() != self._size:
                    raise ValueError(f"it has {source.size()} bytes, and not {self._size}")
                self._metadata = read_metadata(source)
                self._known = None if self._storage.remote else self._storage.info(self.path)
            self.check()
        return self._metadata

    @property
    def is_counted(self) -> bool:
        """Whether the columns that are needed to count the files are decoded once and cached."""
        return bool(self.metadata.num_rows <= _COUNTED_ROWS)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Dotted paths of the file's Parquet leaves, in its order."""
        return tuple(_paths(self.metadata))

    def read(self, columns: Sequence[str], row_groups: Sequence[int] | None = None) -> pa.Table:
        """Read the column `add`, a struct of the requested columns, with one row per row of the row groups.

        Rows whose `add` is null are other actions.

        Args:
            columns: Dotted Parquet paths below `add`, or prefixes of them. Columns that the file lacks are omitted; if
                it lacks all, the result contains `add.path`.
            row_groups: Row groups to read. The default is all.

        Raises:
            CorruptLog: The file is damaged.
        """
        present = [name for name in columns if self.has(name)] or ["add.path"]
        groups = range(self.metadata.num_row_groups) if row_groups is None else row_groups
        held = self._held_adds(present, groups[0]) if len(groups) == 1 else None
        # A row group without rows has no batches.
        if held:
            return pa.Table.from_batches(held)
        with reading_checkpoint(self.root, self.version, self.path), self._opened() as file:
            numbers = self._numbers(present)
            table = self._as_read(file.read_row_groups(list(groups), column_indices=numbers, use_threads=False))
            # Arrow does not check that text is UTF-8, and kernels do not check offsets.
            table.validate(full=True)
            return table

    def read_rows(self, columns: Sequence[str], group: int, rows: pa.Array) -> pa.StructArray:
        """Like `read`, but only the adds at `rows` (ascending int64) among the adds of one row group.

        Decodes the row group in pieces, up to the last of these rows, to use little memory.
        """
        wanted, found, start = numpy_values(rows), [], 0
        for add in self.adds(columns, group, _SOME_ROWS):
            first, last = np.searchsorted(wanted, [start, start + len(add)])
            if first < last:
                found.append(add.take(arrow_array(wanted[first:last] - start)))
            start += len(add)
            if last == len(wanted):
                break
        return pa.concat_arrays(found) if found else pa.nulls(0, pa.struct([]))

    def adds(self, columns: Sequence[str], group: int, rows: int) -> Iterator[pa.StructArray]:
        """Yield the adds of one row group, from at most `rows` of its rows at a time; columns as in `read`."""
        present = [name for name in columns if self.has(name)] or ["add.path"]
        for batch in self.columns_of(present, group, rows):
            [add] = batch.columns
            yield add.drop_null() if add.null_count else add

    def columns_of(self, columns: Sequence[str], group: int, rows: int) -> Iterator[pa.RecordBatch]:
        """Yield columns of a row group, at most `rows` rows at a time. columns: dotted Parquet paths, or prefixes."""
        if not (self.is_held or (self.is_counted and _COUNTED.issuperset(columns))):
            yield from self._decoded(columns, group, rows)
            return
        key = group, tuple(columns)
        held = self._held.get(key) or self._held_adds(columns, group)
        if held is None:
            held = list(self._decoded(columns, group, _FEW_ROWS if self.is_held else _COUNTED_ROWS))
            if len(self._held) >= _MOST_HELD:
                self._held.clear()
            self._held[key] = held
        for batch in held:
            for start in range(0, batch.num_rows, rows):
                yield batch.slice(start, rows)

    def _held_adds(self, columns: Sequence[str], group: int) -> list[pa.RecordBatch] | None:
        """Columns of the adds of a cached checkpoint; None if they are not among those that are decoded together."""
        together = [name for name in _TOGETHER if self.has(name)]
        if not self.is_held or not frozenset(columns).issubset(together) or len(columns) == len(together):
            return None
        if group not in self._undecoded:
            try:
                return [_with_fields(batch, columns) for batch in self.columns_of(together, group, HELD_ROWS)]
            except CorruptLog:
                # The damage may be in another column.
                self._undecoded.add(group)
        return None

    def _decoded(self, columns: Sequence[str], group: int, rows: int) -> Iterator[pa.RecordBatch]:
        with reading_checkpoint(self.root, self.version, self.path), self._opened() as file:
            numbers = self._numbers(columns)
            for batch in file.iter_batches(rows, [group], column_indices=numbers, use_threads=len(columns) > 1):
                batch = self._as_read(batch)
                batch.validate(full=True)
                yield batch

    def _as_read(self, rows: Any) -> Any:
        """A table or batch of the file, with maps for those with optional keys, which pyarrow reads as lists."""
        if not self._has_entries:
            return rows
        from deltaskip.stats.parquet_input import as_read

        schema = with_maps(rows.schema)
        if isinstance(rows, pa.RecordBatch):
            return as_read(rows, schema)
        return pa.Table.from_batches([as_read(batch, schema) for batch in rows.to_batches()], schema)

    @cached_property
    def _has_entries(self) -> bool:
        return any(ENTRIES in path for path in _paths(self.metadata))

    def stream(self, actions: Sequence[str], group: int) -> Iterator[pa.RecordBatch]:
        """Yield rows of a row group in small batches, up to the last of these actions that the footer counts."""
        missing = {action: self._count(action, group) for action in actions}
        for batch in self.columns_of(actions, group, _FEW_ROWS):
            yield batch
            for action, column in zip(batch.schema.names, batch.columns, strict=True):
                missing[action] -= len(column) - column.null_count
            if not any(missing.values()):
                return

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        with self._source() as source:
            yield open_reader(source, self.metadata, self._content is None and self._storage.remote, self.verifies)

    @contextmanager
    def opened(self) -> Iterator[pa.NativeFile]:
        """Return a context with the open file, whose bytes can be copied. Raises CorruptLog as `read` does."""
        with reading_checkpoint(self.root, self.version, self.path), self._source() as source:
            yield source

    @contextmanager
    def _source(self) -> Iterator[pa.NativeFile]:
        if self._content is not None:
            yield pa.BufferReader(self._content)
            return
        with self._storage.open_input(self.path) as source:
            other = self._size is not None and source.size() != self._size
            other = other or (self._known is not None and self._storage.info(self.path) != self._known)
            # A writer may write the checkpoint of a version again; another table's has other statistics.
            if other and not read_metadata(source).equals(self.metadata):
                raise not_found(self.path)
            yield source

    def _count(self, action: str, group: int) -> int:
        """Number of such actions in a row group; if the footer lacks the count, the number of rows."""
        column = self._leaf_index.get(f"{action}.{_REQUIRED[action]}")
        group_metadata = self.metadata.row_group(group)
        known = None if column is None else _values_in(group_metadata.column(column))
        return int(group_metadata.num_rows) if known is None else known

    def row_groups_with(self, action: str) -> list[int]:
        """Return the row groups that may contain the action: all except those whose statistics prove that none does."""
        leaf = f"{action}.{_REQUIRED[action]}"
        groups = range(self.metadata.num_row_groups)
        if leaf not in self._leaf_index:
            return list(groups) if self.has(action) and action in self._struct_columns else []
        column = self._leaf_index[leaf]
        return [group for group in groups if _values_in(self.metadata.row_group(group).column(column)) != 0]

    @cached_property
    def leaves(self) -> dict[tuple[str, ...], tuple[int, pa.DataType]]:
        """Ordinal and Arrow type of every Parquet column, by its names from the root.

        Unlike dotted paths, these distinguish a name with a dot from two names.
        """
        fields: list[tuple[tuple[str, ...], pa.DataType]] = []
        _add_leaves(fields, self._arrow_schema)
        found = {path: (i, type_) for i, (path, type_) in enumerate(fields)}
        if len(found) != len(self.metadata.schema):
            raise corrupt_checkpoint(
                self.root, self.version, self.path, "it contains a column twice, or a column without fields"
            )
        return found

    @cached_property
    def hybrid_calendar(self) -> bool:
        """Whether dates and timestamps before 1900 may be in another calendar; see `stats.believed_bounds`."""
        try:
            created_by = self.metadata.created_by or ""
        except UnicodeDecodeError:
            created_by = ""  # an unknown writer
        return any(hybrid_calendar(created_by.encode(), self.metadata.metadata or {}))

    def add_rows(self, group: int) -> int:
        """Number of adds in a row group, from the footer if it contains the count."""
        if group not in self._add_rows:
            self._add_rows[group] = self._counted_adds(group)
        return self._add_rows[group]

    def all_null(self, path: tuple[str, ...], group: int) -> bool:
        """Whether the footer proves that every Parquet column at or below `path` is null throughout a row group."""
        known = self._nothing.get((path, group))
        if known is None:
            ordinals = [ordinal for leaf, (ordinal, _) in self.leaves.items() if leaf[: len(path)] == path]
            known = all(self._holds_nothing(ordinal, group) for ordinal in ordinals)
            self._nothing[path, group] = known
        return known

    @cached_property
    def has_stats_structs(self) -> bool:
        """Whether the file has statistics of adds as structs."""
        return any(path[:2] == ("add", "stats_parsed") and len(path) > 2 for path in self.leaves)

    def constant(self, path: tuple[str, ...], group: int) -> pa.Scalar | None:
        """The integer that every add of a row group has at `path`; None if the footer does not prove that."""
        if path not in self.leaves:
            return None
        ordinal, type_ = self.leaves[path]
        if not pa.types.is_integer(type_):
            return None
        statistics = self.metadata.row_group(group).column(ordinal).statistics
        if statistics is None or not statistics.has_min_max or statistics.min_raw != statistics.max_raw:
            return None
        if self.values_in(path, group) != self.add_rows(group):
            return None
        return arrow_scalar(statistics.min, type_)

    def values_in(self, path: tuple[str, ...], group: int) -> int | None:
        """Number of adds of a row group with a value in the Parquet column; None if the footer lacks the count."""
        leaf = self.leaves.get(path)
        return None if leaf is None else self.values_at(leaf[0], group)

    def values_at(self, ordinal: int, group: int) -> int | None:
        """As `values_in`, by the ordinal of the Parquet column."""
        return _values_in(self.metadata.row_group(group).column(ordinal))

    def _holds_nothing(self, ordinal: int, group: int) -> bool:
        return _values_in(self.metadata.row_group(group).column(ordinal)) == 0

    def _counted_adds(self, group: int) -> int:
        column = self._leaf_index.get("add.path")
        if column is None:
            return 0
        known = _values_in(self.metadata.row_group(group).column(column))
        if known is not None:
            return known
        return len(self.read(["add.path"], [group])["add"].drop_null())

    def check(self) -> None:
        """Raise CorruptLog for a column that cannot be read as the protocol's type, or is missing."""
        wrong = wrong_column(self._arrow_schema)
        if wrong is None and self.row_groups_with("add") and "add.path" not in self._leaf_index:
            wrong = "its column add has no path"
        if wrong is None and not self.has("add") and self._has_unknown_actions():
            wrong = "it has no column add, and rows with none of the known actions"
        if wrong is not None:
            raise corrupt_checkpoint(self.root, self.version, self.path, wrong)

    def _has_unknown_actions(self) -> bool:
        """Whether the footer proves that rows have none of the known actions; each row has one."""
        groups = range(self.metadata.num_row_groups)
        known = sum(self._count(action, group) for action in _REQUIRED if self.has(action) for group in groups)
        return known < sum(int(self.metadata.row_group(group).num_rows) for group in groups)

    @cached_property
    def _arrow_schema(self) -> pa.Schema:
        with reading_checkpoint(self.root, self.version, self.path):
            schema = self.metadata.schema.to_arrow_schema()
        return with_maps(schema) if self._has_entries else schema

    @cached_property
    def _struct_columns(self) -> frozenset[str]:
        return frozenset(field.name for field in self._arrow_schema if pa.types.is_struct(field.type))

    @cached_property
    def _leaf_index(self) -> dict[str, int]:
        return {path: i for i, path in enumerate(self.columns)}

    @cached_property
    def _numbers_below(self) -> dict[str, list[int]]:
        """Indexes of the Parquet columns with a dotted path, or below it."""
        found: dict[str, list[int]] = {}
        for number, path in enumerate(self.columns):
            end = len(path)
            while end > 0:
                found.setdefault(path[:end], []).append(number)
                end = path.rfind(".", 0, end)
        return found

    def has(self, name: str) -> bool:
        """Whether the file has the column, or columns below it; name: a dotted path."""
        return name in self._numbers_below

    def _numbers(self, names: Sequence[str]) -> list[int]:
        """Indexes of the Parquet columns with these names, or below them; names that the file lacks are omitted."""
        return [number for name in names for number in self._numbers_below.get(name, ())]


def _with_fields(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """Rows with some fields of the column `add`, given as paths below it."""
    [add] = batch.columns
    names = [name.partition(".")[2] for name in columns]
    parts = [add.field(name) for name in names]
    fields = [add.type.field(name) for name in names]
    found = pa.StructArray.from_arrays(parts, fields=fields, mask=add.is_null() if add.null_count else None)
    return pa.RecordBatch.from_arrays([found], names=["add"])


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """An open checkpoint: the table's state, the Parquet files with its adds, and the adds of a JSON checkpoint.

    remove_parts: Parquet files with tombstones; those of a JSON checkpoint are not kept. sidecars: by location.
    """

    version: int
    state: StateChange
    parts: tuple[CheckpointPart, ...]
    inline: Replay
    remove_parts: tuple[CheckpointPart, ...] = ()
    sidecars: Mapping[str, Sidecar] = field(default_factory=dict)


def open_part(storage: Storage, root: str, version: int, path: str, size: int | None = None) -> CheckpointPart:
    """Read the footer of one Parquet file of the checkpoint of a version. Raises CorruptLog as open_checkpoint does.

    size: The size of the file in bytes, as listed or recorded.
    """
    with reading_checkpoint(root, version, path), storage.open_input(path, size) as source:
        content = source.read_buffer() if isinstance(source, pa.BufferReader) else None
        part = CheckpointPart(storage, root, version, path, read_metadata(source), source.size(), content)
        part.check()
    return part


def small_actions(part: CheckpointPart, root: str) -> Iterator[StateAction | Sidecar]:
    """Yield the actions on the table in a file of a checkpoint. Raises CorruptLog."""
    wanted: dict[int, list[str]] = {}
    for name in _SMALL:
        for group in part.row_groups_with(name):
            wanted.setdefault(group, []).append(name)
    for group, names in sorted(wanted.items()):
        for batch in part.stream(names, group):
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                for members in column.drop_null().to_pylist():
                    yield _action(part, root, name, members)


def _action(part: CheckpointPart, root: str, name: str, members: dict[str, Any]) -> StateAction | Sidecar:
    if name == "domainMetadata" and isinstance(members.get("configuration"), list):
        members["configuration"] = dict(members["configuration"])
    try:
        return Sidecar.from_json(members) if name == "sidecar" else STATE_ACTIONS[name].from_json(members)
    except ValueError as error:
        raise corrupt_checkpoint(root, part.version, part.path, str(error)) from error


def _paths(metadata: pq.FileMetaData) -> list[str]:
    schema = metadata.schema
    return [schema.column(i).path for i in range(len(schema))]


def _add_leaves(
    found: list[tuple[tuple[str, ...], pa.DataType]], fields: Iterable[pa.Field], above: tuple[str, ...] = ()
) -> None:
    """Add names and type of each Parquet column at or below Arrow fields, in the order of the file."""
    for each in fields:
        type_, path = each.type, (*above, each.name)
        if pa.types.is_struct(type_):
            _add_leaves(found, type_, path)
        elif pa.types.is_map(type_):
            _add_leaves(found, (type_.key_field, type_.item_field), path)
        elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
            _add_leaves(found, (type_.value_field,), path)
        else:
            found.append((path, type_))


def _values_in(column: pq.ColumnChunkMetaData) -> int | None:
    """Number of values that are not null; None if the footer lacks the count."""
    statistics = column.statistics
    if statistics is None or not statistics.has_null_count:
        return None
    return int(column.num_values - statistics.null_count)


def sidecar_location(root: str, ref: CheckpointRef, sidecar: Sidecar) -> str:
    """Return the location of a sidecar: a bare name is in _delta_log/_sidecars; any other path is a URI.

    # PROTOCOL, Sidecar File Information: "sidecar files must always reside in the table's own _delta_log/_sidecars"
    """
    folder = join(root, LOG_FOLDER, SIDECAR_FOLDER)
    try:
        found = hadoop_path(uri_of(root if "/" in sidecar.path else folder), sidecar.path)
        above, _, name = found.rpartition("/")
        is_inside = bool(name) and "\0" not in found and _is_same(above, hadoop_path(uri_of(folder), ""))
    except ValueError as error:
        raise corrupt_checkpoint(
            root, ref.version, ref.files[0].path, f"it names an invalid sidecar: {error}"
        ) from error
    if not is_inside:
        reason = f"its sidecar {sidecar.path!r} is not in {LOG_FOLDER}/{SIDECAR_FOLDER}"
        raise corrupt_checkpoint(root, ref.version, ref.files[0].path, reason)
    return found


def _is_same(location: str, folder: str) -> bool:
    """Whether two locations are the same folder, such as through a link, or with the scheme s3a instead of s3."""
    location, folder = location.rstrip("/"), folder.rstrip("/")
    if is_local(location) and is_local(folder):
        return location == folder or real_path(location) == real_path(folder)
    return location.partition("://")[2] == folder.partition("://")[2]


@contextmanager
def reading_checkpoint(root: str, version: int, path: str) -> Iterator[None]:
    """Return a context that converts errors of a Parquet file of the checkpoint into CorruptLog with its name."""
    try:
        yield
    except NotAFile as error:
        raise corrupt_checkpoint(root, version, path, f"it is a {error.kind}, not a regular file") from error
    except (FileNotFoundError, NotADirectoryError) as error:
        reason = "it is missing (if the log was cleaned up meanwhile, open the table again)"
        raise corrupt_checkpoint(root, version, path, reason) from error
    except (pa.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        if isinstance(error, DeltaSkipError) or of_signal_handler(error) is not None:
            raise
        raise corrupt_checkpoint(root, version, path, first_line(error)) from error


def corrupt_checkpoint(root: str, version: int, path: str, reason: str) -> CorruptLog:
    """Return the error for a file of a checkpoint that is damaged. reason: the end of a sentence."""
    name = path.rpartition("/")[2]
    return CorruptLog(
        f"The log of {root} is damaged: {name}, of the checkpoint of version {version}, cannot be read: {reason}; "
        f"{restore_or_go_back(version)}."
    )


def open_reader(
    source: pa.NativeFile, metadata: pq.FileMetaData | None = None, pre_buffer: bool = False, verifies: bool = False
) -> Any:
    """Return pyarrow's reader of an open file: `metadata`, `read_row_groups`, `iter_batches`. Raises what pyarrow does.

    Args:
        source: The file.
        metadata: Its footer, if that is known.
        pre_buffer: Whether column chunks are read before their use.
        verifies: Whether the checksums of pages are compared, where the file has any.
    """
    # Spark writes timestamps of stats_parsed as INT96; nanoseconds would wrap before 1678 and after 2262.
    options = {
        "metadata": metadata,
        "pre_buffer": pre_buffer,
        "coerce_int96_timestamp_unit": "us",
        "page_checksum_verification": verifies,
    }
    try:
        from pyarrow._parquet import ParquetReader
    except ImportError:
        import pyarrow.parquet as pq

        return pq.ParquetFile(source, **options).reader
    reader = ParquetReader()
    try:
        reader.open(source, **options)
    except (OSError, pa.ArrowInvalid):
        from deltaskip.stats.parquet_input import readable_footer

        found = None if metadata is not None else readable_footer(source)
        if found is None:
            raise
        reader.open(source, **{**options, "metadata": found})
    return reader


def read_metadata(source: pa.NativeFile) -> pq.FileMetaData:
    """Return the footer of an open file, whose column chunks pyarrow can describe. Raises what pyarrow does.

    Its Arrow schema of the writer, if it has one, gives types of Parquet only.

    Raises ValueError if pyarrow would abort the process for the metadata of a column chunk.
    """
    size = source.size()
    tail = source.read_at(min(size, _TAIL_BYTES), max(0, size - _TAIL_BYTES))
    length, magic = _END.unpack(tail[-_END.size :]) if len(tail) >= _END.size else (0, b"")
    length += _END.size
    if magic == _MAGIC and length <= size:
        tail = tail if len(tail) >= length else source.read_at(length, size - length)
        if not footer_fits(memoryview(tail)[len(tail) - length : -_END.size]):
            raise ValueError("the column chunks in its footer do not fit its columns")
    metadata = open_reader(pa.BufferReader(tail)).metadata
    written = (metadata.metadata or {}).get(ARROW_SCHEMA)
    if written is not None and has_only_written(written):
        from deltaskip.stats.parquet_input import with_parquet_types

        return with_parquet_types(metadata)
    return metadata
