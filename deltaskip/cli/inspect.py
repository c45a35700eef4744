"""`deltaskip inspect`: the facts of `DeltaTable.detail()`, and which columns have statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deltaskip.cli.command_line import CommandTable, opens_table, program, show
from deltaskip.cli.display import counted, print_facts, print_table
from deltaskip.records import dataclass
from deltaskip.shown import human_bytes

if TYPE_CHECKING:
    from deltaskip.actions import Protocol
    from deltaskip.stats.coverage import ColumnCoverage, TableCoverage
    from deltaskip.table.detail import LogDetail, TableDetail
    from deltaskip.table.table import DeltaTable


@program.command("inspect")
@opens_table
def _inspect(source: CommandTable, as_json: bool) -> None:
    """Show protocol, size, log and properties of a table.

    Also shows which columns have stats.
    """
    show(inspect(source.open()), as_json, print_inspection)


@dataclass(frozen=True, slots=True)
class Inspection:
    """Facts about one version of a table; `coverage` has no overlap and no recommendations."""

    detail: TableDetail
    protocol: Protocol
    coverage: TableCoverage

    def to_dict(self) -> dict[str, Any]:
        """Return the facts for JSON."""
        detail = self.detail.to_dict()
        found = {
            "table": detail["location"],
            "version": detail["version"],
            "min_reader_version": detail["min_reader_version"],
            "min_writer_version": detail["min_writer_version"],
            "reader_features": list(self.protocol.reader_features or ()),
            "writer_features": list(self.protocol.writer_features or ()),
            "log": detail["log"],
            "partition_columns": detail["partition_columns"],
            "properties": detail["properties"],
            "files": detail["num_files"],
            "bytes": detail["size_in_bytes"],
            "rows": detail["num_known_rows"],
            "files_without_count": detail["num_files_without_row_count"],
            "deletion_vectors": detail["num_deletion_vectors"],
            "deleted_rows": detail["num_deleted_rows"],
            "columns": [_column(column, self.coverage.files) for column in _data_columns(self.coverage)],
        }
        more = ("id", "name", "description", "created_at", "last_modified", "clustering_columns", "table_features")
        found.update((name, detail[name]) for name in more)
        return found


def inspect(table: DeltaTable) -> Inspection:
    """Return the facts about the table's version. Reads the statistics of all active files."""
    return Inspection(table.detail(), table.protocol, table.stats(overlap=False))


def print_inspection(found: Inspection) -> None:
    """Print the facts as text."""
    print_facts(_facts(found.detail))
    print()
    total = found.coverage.files
    rows = [
        (
            column.name,
            column.type,
            "not supported" if column.files_with_bounds is None else _present(column.files_with_bounds, total),
            _present(column.files_with_null_count, total),
        )
        for column in _data_columns(found.coverage)
    ]
    if rows:
        headings = [("column", "left"), ("type", "left"), ("min/max", "left"), ("null count", "left")]
        print_table(headings, rows)


def _data_columns(coverage: TableCoverage) -> list[ColumnCoverage]:
    return [column for column in coverage.columns if not column.partition]


def _column(column: ColumnCoverage, files: int) -> dict[str, Any]:
    """Number of files that lack the column's bounds and null count; None for bounds that its type does not have.

    A file whose rows are all NULL has no bounds to record, and does not count.
    """
    bounds = column.files_with_bounds
    return {
        "name": column.name,
        "type": column.type,
        "files_without_bounds": None if bounds is None else files - bounds,
        "files_without_null_count": files - column.files_with_null_count,
    }


def _facts(detail: TableDetail) -> list[tuple[str, str]]:
    protocol = f"reader {detail.min_reader_version}, writer {detail.min_writer_version}"
    facts = [
        ("location", detail.location),
        ("version", str(detail.version)),
        ("id", detail.id),
        ("name", detail.name),
        ("description", detail.description),
        ("created", _time(detail.created_at)),
        ("last modified", _time(detail.last_modified)),
        ("protocol", protocol),
        ("table features", ", ".join(detail.table_features) or "none"),
        ("log", _log(detail.log)),
        ("files", f"{counted(detail.num_files, 'file')}, {human_bytes(detail.size_in_bytes)}"),
        ("rows", _rows(detail)),
        ("deletion vectors", _deletion_vectors(detail)),
        ("partition columns", ", ".join(detail.partition_columns) or "none"),
        ("clustering columns", ", ".join(detail.clustering_columns) or None),
        *(("property", f"{key} = {value}") for key, value in sorted(detail.properties.items())),
    ]
    return [(label, text) for label, text in facts if text is not None]


def _time(moment: Any) -> str | None:
    return None if moment is None else moment.isoformat(sep=" ", timespec="seconds").replace("+00:00", " UTC")


def _rows(detail: TableDetail) -> str:
    uncounted = detail.num_files_without_row_count
    if not uncounted:
        return f"{detail.num_known_rows:,}"
    if uncounted == detail.num_files:
        return "unknown: no file has a row count"
    return f"{detail.num_known_rows:,}, without {counted(uncounted, 'file')} that have no row count"


def _deletion_vectors(detail: TableDetail) -> str | None:
    if not detail.num_deletion_vectors:
        return None
    return f"{detail.num_deletion_vectors:,}, {counted(detail.num_deleted_rows, 'deleted row')}"


def _log(log: LogDetail) -> str:
    checksum = ", version checksum" if log.has_checksum else ""
    if log.checkpoint_version is None:
        return f"no checkpoint, {counted(log.commits_after, 'commit')}{checksum}"
    kind = (log.checkpoint_kind or "checkpoint").removeprefix("part of a ")
    parts = f" ({log.checkpoint_files} files)" if log.checkpoint_files > 1 else ""
    return f"{kind}{parts} at version {log.checkpoint_version}, {counted(log.commits_after, 'newer commit')}{checksum}"


def _present(files: int, total: int) -> str:
    if files == total:
        return "all files"
    return f"{files:,} of {counted(total, 'file')}" if files else "no file"
