"""Facts about one version of a table, as Delta's DESCRIBE DETAIL reports them, and about its log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow.compute as pc

from deltaskip.actions import Protocol
from deltaskip.errors import CorruptLog, SchemaError, TableNotFound, VersionNotFound
from deltaskip.features.registry import FEATURES, has_feature
from deltaskip.log import LogSegment, Snapshot
from deltaskip.log.commit_times import commit_time
from deltaskip.log.file_names import Kind
from deltaskip.log.loading import list_log
from deltaskip.log.segment import candidate_segments
from deltaskip.records import dataclass
from deltaskip.shown import Shown, html_table
from deltaskip.skipping.add_batches import candidates
from deltaskip.skipping.program import Keep, Program
from deltaskip.skipping.table_coverage import clustering_columns
from deltaskip.sparkexpr.values.arrow_values import exact_sum, filled


@dataclass(frozen=True, slots=True, repr=False)
class LogDetail(Shown):
    """The files of the log from which the version would now be read, also a checkpoint that was written later.

    Attributes:
        checkpoint_version: Version of the checkpoint; None without a checkpoint.
        checkpoint_kind: Type of the checkpoint, such as "classic checkpoint", or "commit" for a metadata tree; None
            without a checkpoint.
        checkpoint_files: Number of files of the checkpoint, without sidecars.
        commits_after: Number of versions between the checkpoint and this version.
        has_checksum: Whether the version has a version checksum (`.crc`).
    """

    checkpoint_version: int | None
    checkpoint_kind: str | None
    checkpoint_files: int
    commits_after: int
    has_checksum: bool


@dataclass(frozen=True, slots=True, repr=False)
class TableDetail:
    """Facts about one version of a table. The first fields are the columns of Delta's DESCRIBE DETAIL.

    Attributes:
        format: Always "delta".
        id: Unique id of the table.
        name: Name in the metaData action, if any.
        description: Description in the metaData action, if any.
        location: Path of a local table, otherwise its URI.
        created_at: Time of creation in UTC; None if the log does not contain it.
        last_modified: Commit time of the version in UTC; None if its commit was cleaned up, or if a table property for
            in-commit timestamps is malformed.
        partition_columns: Names of the partition columns.
        clustering_columns: Names of the clustering columns.
        num_files: Number of active files.
        size_in_bytes: Size of the active files in bytes.
        properties: Table properties.
        min_reader_version: Reader version of the protocol.
        min_writer_version: Writer version of the protocol.
        table_features: Table features that the protocol lists or implies, sorted.
        version: Version of the table.
        num_rows: Row count, without deleted rows; None if some file has no row count (`numRecords`).
        num_known_rows: Row count of the files that have a row count.
        num_files_without_row_count: Number of active files without a row count.
        num_deletion_vectors: Number of active files with a deletion vector.
        num_deleted_rows: Number of rows that deletion vectors delete.
        log: Files of the log from which the version is read.
    """

    format: str
    id: str
    name: str | None
    description: str | None
    location: str
    created_at: datetime | None
    last_modified: datetime | None
    partition_columns: tuple[str, ...]
    clustering_columns: tuple[str, ...]
    num_files: int
    size_in_bytes: int
    properties: Mapping[str, str]
    min_reader_version: int
    min_writer_version: int
    table_features: tuple[str, ...]
    version: int
    num_rows: int | None
    num_known_rows: int
    num_files_without_row_count: int
    num_deletion_vectors: int
    num_deleted_rows: int
    log: LogDetail

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as values that JSON can represent; times are ISO 8601 text."""
        times = {"created_at": _iso(self.created_at), "last_modified": _iso(self.last_modified)}
        return {**asdict(self), **times, "properties": dict(self.properties)}

    def __repr__(self) -> str:
        lines = "".join(f"    {name}={value!r},\n" for name, value in self._items())
        return f"TableDetail(\n{lines})"

    def _repr_html_(self) -> str:
        return html_table((name, "" if value is None else str(value)) for name, value in self._items())

    def _items(self) -> list[tuple[str, Any]]:
        return [(field.name, getattr(self, field.name)) for field in fields(self)]


def table_detail(snapshot: Snapshot) -> TableDetail:
    """Return the facts about the snapshot.

    Lists the log, and reads sizes, row counts and deletion vectors of all active files.
    """
    metadata, protocol, sums = snapshot.metadata, snapshot.protocol, _sums(snapshot)
    return TableDetail(
        format="delta",
        id=metadata.id,
        name=metadata.name,
        description=metadata.description,
        location=snapshot.root,
        created_at=_moment(metadata.created_time),
        last_modified=_last_modified(snapshot),
        partition_columns=tuple(snapshot.partition_columns),
        clustering_columns=tuple(clustering_columns(snapshot)),
        num_files=sums.files,
        size_in_bytes=sums.bytes,
        properties=dict(snapshot.properties),
        min_reader_version=protocol.min_reader_version,
        min_writer_version=protocol.min_writer_version,
        table_features=_table_features(protocol),
        version=snapshot.version,
        num_rows=None if sums.uncounted else sums.rows,
        num_known_rows=sums.rows,
        num_files_without_row_count=sums.uncounted,
        num_deletion_vectors=sums.deletion_vectors,
        num_deleted_rows=sums.deleted_rows,
        log=_log_detail(_current_segment(snapshot)),
    )


@dataclass(frozen=True, slots=True)
class _Sums:
    """Sums over the active files. rows: of the files with a row count, deleted rows subtracted."""

    files: int
    bytes: int
    rows: int
    uncounted: int
    deletion_vectors: int
    deleted_rows: int


def _sums(snapshot: Snapshot) -> _Sums:
    files = size = rows = uncounted = vectors = deleted_rows = 0
    for batch in candidates(snapshot, Program(Keep())):
        live = batch.live(None)
        columns = batch.raw(["size", "num_records", "deletion_vector"])
        sizes, records, dvs = columns if live is None else [column.take(live) for column in columns]
        deleted = filled(pc.struct_field(dvs, "cardinality"), 0)
        files += len(sizes)
        size += exact_sum(sizes)
        rows += exact_sum(records) - exact_sum(deleted.filter(records.is_valid()))
        uncounted += records.null_count
        vectors += len(dvs) - dvs.null_count
        deleted_rows += exact_sum(deleted)
    return _Sums(files, size, rows, uncounted, vectors, deleted_rows)


def _table_features(protocol: Protocol) -> tuple[str, ...]:
    listed = {*(protocol.reader_features or ()), *(protocol.writer_features or ())}
    return tuple(sorted(listed | {name for name in FEATURES if has_feature(protocol, name)}))


def _current_segment(snapshot: Snapshot) -> LogSegment:
    """The files from which the version would now be read, or was read if the log no longer contains the version."""
    own = snapshot.segment.checkpoint
    if own is not None and own.kind is Kind.COMMIT:
        return snapshot.segment
    try:
        return next(candidate_segments(list_log(snapshot.storage, snapshot.root), snapshot.version))
    except (CorruptLog, TableNotFound, VersionNotFound):
        return snapshot.segment


def _log_detail(segment: LogSegment) -> LogDetail:
    checkpoint = segment.checkpoint
    return LogDetail(
        checkpoint_version=None if checkpoint is None else checkpoint.version,
        checkpoint_kind=None if checkpoint is None else checkpoint.kind.value,
        checkpoint_files=0 if checkpoint is None else len(checkpoint.files),
        commits_after=segment.version - (-1 if checkpoint is None else checkpoint.version),
        has_checksum=segment.checksum is not None,
    )


def _last_modified(snapshot: Snapshot) -> datetime | None:
    """The version's commit time; None if a malformed property makes the time unknown."""
    try:
        return _moment(commit_time(snapshot))
    except SchemaError:
        return None


def _moment(milliseconds: int | None) -> datetime | None:
    """The time in UTC; None if it is unknown or beyond the years that datetime represents."""
    if milliseconds is None:
        return None
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)
    except OverflowError:
        return None


def _iso(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
