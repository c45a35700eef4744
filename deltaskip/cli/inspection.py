"""What a table is made of, gathered for `deltaskip inspect`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.cli.display import counted, human_bytes, print_table, printable
from deltaskip.schema import Resolved, display_name, leaves, simple_string
from deltaskip.stats.batch import stats_of_texts
from deltaskip.stats.layout import NUM_RECORDS, StatField, StatLeaf

if TYPE_CHECKING:
    from deltaskip.log import LogSegment
    from deltaskip.table.table import DeltaTable

_BATCH_ROWS = 65_536


@dataclass(frozen=True, slots=True)
class LogShape:
    """Which files rebuild the version: a checkpoint (None where there is none), and the commits after it."""

    checkpoint_version: int | None
    checkpoint_kind: str | None
    checkpoint_files: int
    commits_after: int
    has_checksum: bool


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """How many files lack the column's bounds and null count; None for bounds where the type has none to use.

    A file whose rows are all null has no bounds to record and lacks none.
    """

    name: str
    type: str
    files_without_bounds: int | None
    files_without_null_count: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """A version of a table. rows: live rows in the files that record a count (`files_without_count` do not)."""

    table: str
    version: int
    min_reader_version: int
    min_writer_version: int
    reader_features: tuple[str, ...]
    writer_features: tuple[str, ...]
    log: LogShape
    partition_columns: tuple[str, ...]
    properties: Mapping[str, str]
    files: int
    bytes: int
    rows: int
    files_without_count: int
    deletion_vectors: int
    deleted_rows: int
    columns: tuple[ColumnStatistics, ...]

    def to_dict(self) -> dict[str, Any]:
        """The inspection as JSON can hold it."""
        return asdict(self)


def inspect(table: DeltaTable) -> Inspection:
    """Reads the whole file list of the table's version, and of its statistics whether they are there."""
    snapshot = table.snapshot
    partitions = {name.lower() for name in table.partition_columns}
    columns = [
        leaf for leaf in leaves(table.schema, snapshot.mapping_mode) if leaf.logical[0].lower() not in partitions
    ]
    tally = _Tally(columns)
    adds = snapshot.adds(["size", "stats", "deletion_vector"])
    for batch in adds.to_batches(max_chunksize=_BATCH_ROWS):
        tally.add(batch)
    return Inspection(
        table=snapshot.table_root,
        version=table.version,
        min_reader_version=table.protocol.min_reader_version,
        min_writer_version=table.protocol.min_writer_version,
        reader_features=tuple(table.protocol.reader_features or ()),
        writer_features=tuple(table.protocol.writer_features or ()),
        log=_log_shape(snapshot.segment),
        partition_columns=tuple(table.partition_columns),
        properties=dict(table.properties),
        files=adds.num_rows,
        bytes=tally.bytes,
        rows=tally.rows,
        files_without_count=tally.without_count,
        deletion_vectors=tally.deletion_vectors,
        deleted_rows=tally.deleted_rows,
        columns=tuple(tally.columns()),
    )


def print_inspection(found: Inspection) -> None:
    """Prints the inspection for people."""
    for label, text in _facts(found):
        print(f"{label:<14} {printable(text)}")
    print()
    rows = [
        (
            column.name,
            column.type,
            _lacking(column.files_without_bounds, found.files),
            _lacking(column.files_without_null_count, found.files),
        )
        for column in found.columns
    ]
    if rows:
        headings = [("column", "left"), ("type", "left"), ("min and max", "left"), ("null count", "left")]
        print_table(headings, rows)


class _Tally:
    """Sums over batches of add actions."""

    def __init__(self, columns: list[Resolved]) -> None:
        self._fields = [StatField(c.physical, c.type, display_name(c.logical)) for c in columns]
        self._types = [simple_string(c.type, c.field) for c in columns]
        self._without_bounds = [0] * len(columns)
        self._without_null_count = [0] * len(columns)
        self.bytes = 0
        self.rows = 0
        self.without_count = 0
        self.deletion_vectors = 0
        self.deleted_rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self.bytes += pc.sum(batch.column("size")).as_py() or 0
        vectors = batch.column("deletion_vector")
        deleted = pc.fill_null(pc.struct_field(vectors, "cardinality"), 0)
        self.deletion_vectors += len(vectors) - vectors.null_count
        self.deleted_rows += pc.sum(deleted).as_py() or 0
        statistics = stats_of_texts(batch.column("stats"))
        statistics.load([NUM_RECORDS, *(leaf for field in self._fields for leaf in _leaves_of(field))])
        records = statistics.num_records()
        self.without_count += records.null_count
        self.rows += pc.sum(pc.subtract(records, deleted)).as_py() or 0
        for i, field in enumerate(self._fields):
            nulls = statistics.null_count(field)
            self._without_null_count[i] += nulls.null_count
            if field.kind is None:
                continue
            unbounded = pc.or_(statistics.bound(field, "min").is_null(), statistics.bound(field, "max").is_null())
            all_null = pc.fill_null(pc.equal(nulls, records), False)
            self._without_bounds[i] += pc.sum(pc.and_not(unbounded, all_null)).as_py() or 0

    def columns(self) -> list[ColumnStatistics]:
        return [
            ColumnStatistics(
                name=field.label,
                type=type_name,
                files_without_bounds=None if field.kind is None else self._without_bounds[i],
                files_without_null_count=self._without_null_count[i],
            )
            for i, (field, type_name) in enumerate(zip(self._fields, self._types, strict=True))
        ]


def _leaves_of(field: StatField) -> list[StatLeaf]:
    groups = ["nullCount"] if field.kind is None else ["nullCount", "minValues", "maxValues"]
    return [StatLeaf(group, field) for group in groups]


def _log_shape(segment: LogSegment) -> LogShape:
    checkpoint = segment.checkpoint
    return LogShape(
        checkpoint_version=None if checkpoint is None else checkpoint.version,
        checkpoint_kind=None if checkpoint is None else checkpoint.kind.value,
        checkpoint_files=0 if checkpoint is None else len(checkpoint.files),
        commits_after=segment.version - (-1 if checkpoint is None else checkpoint.version),
        has_checksum=segment.checksum is not None,
    )


def _facts(found: Inspection) -> list[tuple[str, str]]:
    features = ", ".join(dict.fromkeys(found.reader_features + found.writer_features))
    protocol = f"reader {found.min_reader_version}, writer {found.min_writer_version}"
    if found.files_without_count == 0:
        rows = counted(found.rows, "row")
    elif found.files_without_count == found.files:
        rows = "no row counts recorded"
    else:
        rows = f"{counted(found.rows, 'row')} and those of {counted(found.files_without_count, 'file')} without a count"
    facts = [
        ("table", found.table),
        ("version", str(found.version)),
        ("protocol", f"{protocol}; {features}" if features else protocol),
        ("log", _log_sentence(found.log)),
        ("files", f"{counted(found.files, 'file')}, {human_bytes(found.bytes)}, {rows}"),
        ("partitioned by", ", ".join(found.partition_columns) or "nothing"),
    ]
    if found.deletion_vectors:
        deleted = counted(found.deleted_rows, "deleted row")
        facts.append(("deleted", f"{counted(found.deletion_vectors, 'deletion vector')}, {deleted}"))
    facts += [("property", f"{key} = {value}") for key, value in sorted(found.properties.items())]
    return facts


def _log_sentence(log: LogShape) -> str:
    checksum = ", with a version checksum" if log.has_checksum else ""
    if log.checkpoint_version is None:
        return f"no checkpoint, {counted(log.commits_after, 'commit')}{checksum}"
    files = f" of {log.checkpoint_files} parts" if log.checkpoint_files > 1 else ""
    return (
        f"{log.checkpoint_kind}{files} at version {log.checkpoint_version}, "
        f"{counted(log.commits_after, 'commit')} after it{checksum}"
    )


def _lacking(files: int | None, total: int) -> str:
    if files is None:
        return "none to use"
    if files == 0:
        return "every file"
    return "no file" if files == total else f"missing in {files:,} of {counted(total, 'file')}"
