"""What a table is made of, gathered for `deltaskip inspect`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from deltaskip.cli.display import average, counted, human_bytes, print_table, printable
from deltaskip.skipping.batches import candidates
from deltaskip.skipping.coverage import table_coverage
from deltaskip.skipping.program import Keep, Program
from deltaskip.stats.coverage import ColumnCoverage, TableCoverage

if TYPE_CHECKING:
    from deltaskip.log import LogSegment, Snapshot
    from deltaskip.table.table import DeltaTable


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
    """A version of a table. rows: live rows in the files that record a count (`files_without_count` do not).

    statistics: how much has statistics and how far bounds overlap, where that was asked for.
    """

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
    statistics: TableCoverage | None

    def to_dict(self) -> dict[str, Any]:
        """The inspection as JSON can hold it; `statistics` only where they were measured."""
        found = asdict(self)
        if self.statistics is None:
            del found["statistics"]
        return found


def inspect(table: DeltaTable, stats: bool = False) -> Inspection:
    """Looks at every file of the table's version and whether its statistics are there; `stats` measures them, too."""
    snapshot = table.snapshot
    coverage = table.inspect_stats() if stats else table_coverage(snapshot, depth=False)
    files = _files(snapshot)
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
        files=coverage.files,
        bytes=files.bytes,
        rows=files.rows,
        files_without_count=coverage.files_without_count,
        deletion_vectors=files.deletion_vectors,
        deleted_rows=files.deleted_rows,
        columns=tuple(_column(column, coverage.files) for column in coverage.columns if not column.partition),
        statistics=coverage if stats else None,
    )


def print_inspection(found: Inspection) -> None:
    """Prints the inspection for people."""
    for label, text in _facts(found):
        print(f"{label:<14} {printable(text)}")
    print()
    if found.statistics is not None:
        print_statistics(found.statistics)
        return
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


def print_statistics(coverage: TableCoverage) -> None:
    """Prints for people which statistics there are, how far they overlap, and what would help most."""
    rows = [
        (
            column.name,
            column.type,
            _share(column.files_with_bounds, coverage.files),
            _share(column.rows_with_bounds, coverage.rows),
            _share(column.files_with_null_count, coverage.files),
            _share(column.rows_with_null_count, coverage.rows),
            average(column.files_met),
            _share(column.files_met, coverage.files),
        )
        for column in coverage.columns
    ]
    headings = ["min and max", "of rows", "null count", "of rows", "point meets", "of files"]
    if rows:
        print_table([("column", "left"), ("type", "left"), *((heading, "right") for heading in headings)], rows)
        print("\nA point predicate (x = 5) meets so many files on average, over the values that the statistics name.")
    for i, advice in enumerate(coverage.advice):
        print(f"{'would help most' if i == 0 else 'then':<15}  {printable(advice.sentence)}")


def _share(part: float | None, whole: int) -> str:
    """A percentage that says 0 and 100 only of nothing and everything."""
    if part is None or not whole:
        return "-"
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "< 0.1 %"
    return f"{min(percent, 99.9) if part < whole else percent:.1f} %".replace(".0 %", " %")


@dataclass(frozen=True, slots=True)
class _Files:
    """Sums over the files of the version."""

    bytes: int = 0
    rows: int = 0
    deletion_vectors: int = 0
    deleted_rows: int = 0


def _files(snapshot: Snapshot) -> _Files:
    size = rows = vectors = deleted_rows = 0
    for batch in candidates(snapshot, Program(Keep())):
        live = batch.live(None)
        columns = batch.raw(["size", "num_records", "deletion_vector"])
        sizes, records, dvs = columns if live is None else [column.take(live) for column in columns]
        deleted = pc.fill_null(pc.struct_field(dvs, "cardinality"), 0)
        size += pc.sum(sizes).as_py() or 0
        rows += pc.sum(pc.subtract(records, deleted)).as_py() or 0
        vectors += len(dvs) - dvs.null_count
        deleted_rows += pc.sum(deleted).as_py() or 0
    return _Files(size, rows, vectors, deleted_rows)


def _column(column: ColumnCoverage, files: int) -> ColumnStatistics:
    bounds = column.files_with_bounds
    return ColumnStatistics(
        name=column.name,
        type=column.type,
        files_without_bounds=None if bounds is None else files - bounds,
        files_without_null_count=files - column.files_with_null_count,
    )


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
