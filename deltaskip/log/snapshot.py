"""Snapshot: the state of a table at one version."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import copy
from typing import TypeVar

import pyarrow as pa

from deltaskip.actions import FILE_SCHEMA, DomainMetadata, Metadata, Protocol, Txn
from deltaskip.doors import Unpicklable
from deltaskip.errors import ChecksumWarning, CorruptLog, SchemaError
from deltaskip.features.support_checks import CommitSummary, check_format, check_readable, check_writable
from deltaskip.fork_safety import cached_property
from deltaskip.log.catalog_commits import is_managed
from deltaskip.log.checkpoint.adds import AddGroup
from deltaskip.log.checkpoint.read import Checkpoint, CheckpointPart
from deltaskip.log.checksum import Checksum, file_differences, parse_checksum, state_differences
from deltaskip.log.column_cache import ColumnCache
from deltaskip.log.commit import last_commit_info, read_commits
from deltaskip.log.file_names import Kind, LogFile, restore_or_go_back
from deltaskip.log.replay import EMPTY, Replay, Superseded, after
from deltaskip.log.segment import LogSegment
from deltaskip.log.state_actions import StateChange, overlay
from deltaskip.log.stats_provenance import Writers, read_writers
from deltaskip.log.tail import Tail
from deltaskip.schema import mapping_mode
from deltaskip.schema.properties import FloatBounds, TableProperties
from deltaskip.sparkexpr.types import MappingMode, StructField, StructType, parse_schema
from deltaskip.sparkexpr.values.arrow_values import exact_sum
from deltaskip.stats.parsed_stats import instant_bounds
from deltaskip.stats.stats_columns import StatColumn, indexed_columns
from deltaskip.storage import Storage, uri_of
from deltaskip.warning import warn

_T = TypeVar("_T")

_BATCH_ROWS = 1 << 16
# Bytes of {"txn":{}}; a file with fewer has no action.
_SHORTEST_ACTION = 10


class Snapshot(Unpicklable):
    """The state of a table at one version, created by load_snapshot and refresh.

    The state without files is read on loading. Files are reconciled, and columns of the checkpoint are read, on demand.
    root: the table's location in `storage`. table_root: its absolute, percent-encoded URI. float_bounds: set by
    the caller instead of the table property `deltaskip.floatBounds`. pickles_secrets: whether pickles of objects
    with the snapshot contain the secrets that open its storage. listed: the time.monotonic of the listing in which it
    is the latest version. followed_by: the version that an operation has committed after it, until
    `txn.latest_after` takes it. read_log: of a snapshot that was read from a version checksum, what reads a version
    from the log; None for others.
    """

    instead = "pickle the DeltaTable that has it"

    def __init__(
        self,
        storage: Storage,
        segment: LogSegment,
        checkpoint: Checkpoint | None,
        tail: Tail,
        checksum: bytes | None = None,
        cache: ColumnCache | None = None,
        read_log: Callable[[int], Snapshot] | None = None,
    ) -> None:
        """Raises CorruptLog if protocol or metaData is missing, UnsupportedFeature for an unsupported table."""
        self.storage = storage
        self.segment = segment
        self.version = segment.version
        self.root = segment.root
        self.table_root = uri_of(segment.root)
        self.checkpoint = checkpoint
        self.tail = tail
        self.cache = ColumnCache() if cache is None else cache
        self.float_bounds: FloatBounds | None = None
        self.pickles_secrets = False
        self.allow_reflection = False
        self.listed = float("-inf")
        self.log_changed: int | None = None
        self.followed_by: Snapshot | None = None
        self.read_log = read_log
        self._state = tail.state if checkpoint is None else overlay(checkpoint.state, tail.state)
        self.protocol: Protocol = _required(self._state.protocol, "protocol", segment)
        self.metadata: Metadata = _required(self._state.metadata, "metaData", segment)
        check_readable(self.protocol, self.metadata.configuration, self.root, self.version, is_managed(storage))
        check_format(self.metadata.format.provider, self.root, self.version)
        self._checksum = self._parse_checksum(checksum)
        if self._checksum is not None:
            for difference in state_differences(self._checksum, self._state):
                self._warn(f"{difference}; the value of the log is used")
            self._compare_files(self._checksum)

    @classmethod
    def of_adds(cls, base: Snapshot, adds: pa.Table, commits: Sequence[LogFile]) -> Snapshot:
        """Return a snapshot with the protocol and metadata of `base` whose only files are `adds`.

        Args:
            base: Snapshot of the same table.
            adds: Rows of `Commits.actions`, none of them a remove.
            commits: Commits that contain them, in ascending order. The last one is the version of the result.
        """
        segment = LogSegment(base.root, commits[-1].version, None, tuple(commits))
        tail = Tail(base.root, StateChange(base.protocol, base.metadata), None, adds)
        snapshot = cls(base.storage, segment, None, tail)
        return snapshot.told_as(base)

    @classmethod
    def of_files(cls, base: Snapshot, metadata: Metadata, adds: pa.Table) -> Snapshot:
        """Return a snapshot of the version of `base` with other metadata, whose files are exactly `adds`.

        adds: Rows of FILE_SCHEMA, which are not reconciled and may repeat a path.
        """
        tail = Tail.of_files(base.root, StateChange(base.protocol, metadata), adds)
        snapshot = cls(base.storage, base.segment, None, tail)
        return snapshot.told_as(base)

    def with_state(self, protocol: Protocol, metadata: Metadata) -> Snapshot:
        """Return a snapshot of the same files with another protocol and metadata, such as those of the next commit."""
        tail = self.tail.with_state(StateChange(protocol, metadata))
        whole = None if self.read_log is None else lambda _version: self.whole.with_state(protocol, metadata)
        snapshot = Snapshot(self.storage, self.segment, self.checkpoint, tail, read_log=whole)
        return snapshot.told_as(self)

    @property
    def whole(self) -> Snapshot:
        """The snapshot as the log has it: also with removed files, and with every transaction identifier.

        It is the snapshot itself unless that was read from its version checksum. Raises as load_snapshot does.
        """
        return self if self.read_log is None else self._from_log.told_as(self)

    @cached_property
    def _from_log(self) -> Snapshot:
        assert self.read_log is not None
        return self.read_log(self.version)

    def told_as(self, other: Snapshot) -> Snapshot:
        """Return this snapshot with the facts that the caller stated about `other`, another snapshot of the table."""
        self.float_bounds, self.pickles_secrets = other.float_bounds, other.pickles_secrets
        self.allow_reflection = other.allow_reflection
        return self

    def __copy__(self) -> Snapshot:
        """Return a snapshot with the same attributes."""
        made = object.__new__(Snapshot)
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, memo: object) -> Snapshot:
        """Return the snapshot itself: its contents do not change."""
        return copy(self)

    def __repr__(self) -> str:
        return f"Snapshot({self.root!r}, version={self.version})"

    @property
    def state(self) -> StateChange:
        """Protocol, metadata, transaction identifiers and domains, including removed domains."""
        return self._state

    @property
    def txns(self) -> Mapping[str, Txn]:
        """The transaction identifier of each application, by its id."""
        return self.whole.state.txns

    @cached_property
    def domains(self) -> Mapping[str, DomainMetadata]:
        """The metadata domains that are not removed, by name."""
        return {name: domain for name, domain in self._state.domains.items() if not domain.removed}

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's properties (metaData.configuration), as logged."""
        return self.metadata.configuration

    @cached_property
    def table_properties(self) -> TableProperties:
        """The table's properties by typed attribute; one that is malformed raises SchemaError when it is read."""
        return self.typed(self.properties)

    def typed(self, configuration: Mapping[str, str] | None) -> TableProperties:
        """Return other properties of the table by typed attribute, such as those of the next commit."""
        return TableProperties(configuration or {}, self.root, self.allow_reflection)

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """Logical names of the partition columns."""
        return self.metadata.partition_columns

    @cached_property
    def partition_fields(self) -> tuple[StructField, ...]:
        """Fields of the partition columns. Raises CorruptLog if the schema lacks one, or if one is repeated."""
        by_name = {field.name: field for field in self.schema.fields}
        for name in self.partition_columns:
            if name not in by_name or self.partition_columns.count(name) > 1:
                wrong = "repeated" if name in by_name else "not in its schema"
                raise CorruptLog(
                    f"The metaData action of version {self.version} of {self.root} is damaged: the partition column "
                    f"{name!r} is {wrong}; correct the schema, or open an older version."
                )
        return tuple(by_name[name] for name in self.partition_columns)

    @cached_property
    def schema(self) -> StructType:
        """The table's schema by logical names; without columns if the log has no schemaString. Raises SchemaError."""
        text = self.metadata.schema_string
        try:
            fields = () if text is None else parse_schema(text).fields
        except SchemaError as error:
            raise SchemaError(
                f"The schema of version {self.version} of {self.root} is not valid: {str(error).rstrip('.')}; correct "
                f"the table's metaData, or open an older version."
            ) from error
        return StructType(fields, partition_columns=self.partition_columns)

    @cached_property
    def mapping_mode(self) -> MappingMode:
        """The column mapping mode: how data files, statistics and partition values name the columns."""
        return mapping_mode(self.protocol, self.table_properties)

    @cached_property
    def in_commit_timestamp(self) -> int | None:
        """In-commit timestamp of the version in milliseconds since the epoch; None if the table does not use them."""
        if not self.table_properties.in_commit_timestamps:
            return None
        info = self.tail.info
        if info is None and self.segment.own_commit is not None:
            # The version was read from its checkpoint, which does not contain a commitInfo.
            commits = read_commits(self.storage, self.root, [self.segment.own_commit], ["path"])
            info = last_commit_info(commits)
        if info is not None:
            return info.in_commit_timestamp
        return None if self._checksum is None else self._checksum.in_commit_timestamp

    @cached_property
    def commit_adds(self) -> pa.Table:
        """Active adds of commits newer than the checkpoint, or of a JSON checkpoint (FILE_SCHEMA)."""
        return self._files.adds

    @property
    def superseded(self) -> Superseded:
        """The logical files in `checkpoint_parts` that newer commits replaced or removed."""
        return self._files.superseded

    @property
    def checkpoint_parts(self) -> tuple[CheckpointPart, ...]:
        """Parquet files of the checkpoint that contain adds; `superseded` decides which of them are active."""
        return () if self.checkpoint is None else self.checkpoint.parts

    def adds(self, columns: Sequence[str] | None = None) -> pa.Table:
        """Return the active files, one row each, in the order of the log.

        Statistics that a checkpoint contains only as a struct are converted to JSON text.

        Args:
            columns: Names of FILE_SCHEMA. The default is all.

        Raises:
            CorruptLog: A file of the checkpoint is damaged.
        """
        names = FILE_SCHEMA.names if columns is None else list(columns)
        schema = pa.schema([FILE_SCHEMA.field(name) for name in names])
        return pa.Table.from_batches(list(self.add_batches(_BATCH_ROWS, names)), schema)

    def files_after(self, newer: Replay) -> pa.Table:
        """Return the active files after a newer commit, with the columns of FILE_SCHEMA.

        Raises:
            CorruptLog: A file of the checkpoint is damaged.
        """
        found = after(self._files, newer)
        superseded, adds = found.superseded, found.adds
        groups = [
            self.add_group(part, group) for part in self.checkpoint_parts for group in part.row_groups_with("add")
        ]
        names = FILE_SCHEMA.names
        batches = [batch for group in groups for batch in group.live(names, superseded, _BATCH_ROWS)]
        return pa.concat_tables([pa.Table.from_batches(batches, FILE_SCHEMA), adds.select(names)])

    def add_batches(
        self,
        rows: int,
        columns: Sequence[str] | None = None,
        wanted: Callable[[CheckpointPart, int], bool] = lambda _part, _group: True,
    ) -> Iterator[pa.RecordBatch]:
        """As `adds`, in batches of at most `rows` rows, so that memory does not grow with the table.

        wanted: which row groups of the checkpoint to read.
        """
        names = list(FILE_SCHEMA.names if columns is None else columns)
        for part in self.checkpoint_parts:
            for group in part.row_groups_with("add"):
                if wanted(part, group):
                    yield from self.add_group(part, group).live(names, self.superseded, rows)
        yield from self.commit_adds.select(names).combine_chunks().to_batches(max_chunksize=rows)

    def add_group(self, part: CheckpointPart, group: int) -> AddGroup:
        """The adds of a row group of one of `checkpoint_parts`, live or not."""
        return AddGroup(part, group, lambda: instant_bounds(self.schema, self.mapping_mode))

    @cached_property
    def num_files(self) -> int:
        """Number of active files. Reads all paths of the checkpoint if newer commits may have removed some of them."""
        groups = [(part, group) for part in self.checkpoint_parts for group in part.row_groups_with("add")]
        superseded = self.superseded
        if not superseded:
            return sum(part.add_rows(group) for part, group in groups) + len(self.commit_adds)
        with ThreadPoolExecutor(pa.cpu_count(), "deltaskip") as pool:
            counts = pool.map(lambda where: self.add_group(*where).count_live(superseded), groups)
            return sum(counts) + len(self.commit_adds)

    def indexed_columns(
        self, properties: Mapping[str, str] | None = None, columns: Sequence[str] | None = None
    ) -> tuple[StatColumn, ...]:
        """Return `stats_columns.indexed_columns` of this version. properties: In place of the table's."""
        return indexed_columns(
            self.schema,
            partition_columns=self.partition_columns,
            mapping_mode=self.mapping_mode,
            properties=self.properties if properties is None else properties,
            columns=columns,
        )

    def check_writable(self, summary: CommitSummary) -> None:
        """Raise UnsupportedFeature if the features of the table do not allow a commit."""
        where = f"Version {self.version} of {self.root}"
        check_writable(self.protocol, self.table_properties, self.schema, where, summary)

    def totals(self, newer: Replay = EMPTY) -> tuple[int, int]:
        """Return the number of active files and their bytes, after a newer commit if one is given.

        Raises:
            CorruptLog: A file of the checkpoint is damaged.
        """
        files = after(self._files, newer)
        superseded, sizes = files.superseded, files.adds["size"]
        found = [(len(sizes), exact_sum(sizes))]
        for part in self.checkpoint_parts:
            for group in part.row_groups_with("add"):
                found.append(self.add_group(part, group).totals(superseded))
        count, size = map(sum, zip(*found, strict=True))
        return count, size

    def verify(self) -> None:
        """Compare the snapshot, and the number and size of its files, with the version checksum, if there is one.

        Raises CorruptLog with both values of the first difference.
        """
        found = [] if self._checksum is None else self._differences(self._checksum)
        if found:
            raise CorruptLog(
                f"Version {self.version} of {self.root} differs from its version checksum: {found[0]}; a commit or "
                f"checkpoint was changed after it was written, so restore the log."
            )

    def contradicts(self, checksum: bytes) -> bool:
        """Return whether the text of the version checksum says otherwise; a damaged one does not."""
        with suppress(ValueError):
            return bool(self._differences(parse_checksum(checksum)))
        return False

    def _differences(self, checksum: Checksum) -> list[str]:
        return [*state_differences(checksum, self._state), *file_differences(checksum, *self.totals())]

    @property
    def float_bounds_are_exact(self) -> bool:
        """Whether the owner of the table promises that the maximum of a float column covers NaN in every file.

        Raises SchemaError if the table property is malformed.
        """
        return (self.float_bounds or self.table_properties.float_bounds) == "exact"

    @cached_property
    def writers(self) -> Writers:
        """Provenance of the files' statistics, from the commits that the log still contains."""
        newer_than = -1 if self.segment.checkpoint is None else self.segment.checkpoint.version
        return read_writers(self.storage, self.root, self.version, newer_than)

    @cached_property
    def _files(self) -> Replay:
        inline = EMPTY if self.checkpoint is None else self.checkpoint.inline
        return after(inline, self.tail.files)

    def _parse_checksum(self, data: bytes | None) -> Checksum | None:
        if data is None:
            return None
        try:
            return parse_checksum(data)
        except ValueError as error:
            self._warn(f"the file is damaged and was ignored: {error}")
            return None

    def _compare_files(self, checksum: Checksum) -> None:
        """Warn if the files differ from the checksum's, where a commit may have lost lines after it was written.

        Only a checksum shows that a local file was cut at the end of a line, or that a compaction lacks an action. The
        files of a large checkpoint are read for it only if a commit has no action, as a version without changes.
        """
        commits = self.segment.commits
        blank = [file for file in commits if file.file.size < _SHORTEST_ACTION]
        is_small = all(part.is_held for part in self.checkpoint_parts)
        compacted = Kind.COMPACTION in [file.kind for file in commits]
        if not blank and ((self.storage.remote and not compacted) or not commits or not is_small):
            return
        sizes = self.adds(["size"])["size"]
        for difference in file_differences(checksum, len(sizes), exact_sum(sizes)):
            why = "a commit or checkpoint was changed after it was written; restore the log"
            if blank:
                name, version = blank[-1].file.name, blank[-1].version
                cure = restore_or_go_back(version)
                why = f"{name} (version {version}) is empty and may have lost its actions: {cure}"
            self._warn(f"{difference}; {why}; the value of the log is used")

    def _warn(self, message: str) -> None:
        name = self.segment.checksum.file.name if self.segment.checksum is not None else ".crc"
        warn(f"{self.root}: version checksum {name}: {message}.", ChecksumWarning)


def _required(action: _T | None, name: str, segment: LogSegment) -> _T:
    if action is None:
        raise CorruptLog(
            f"The log of {segment.root} is damaged: up to version {segment.version} it has no {name} action; restore "
            f"the commit or checkpoint that contained it."
        )
    return action
