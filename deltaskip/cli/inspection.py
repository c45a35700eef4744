"""Output of `deltaskip inspect`: the facts of `DeltaTable.detail()`, and which columns have statistics."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from deltaskip.cli.coverage import print_coverage
from deltaskip.cli.display import average, counted, print_facts, print_line, print_table
from deltaskip.records import dataclass
from deltaskip.shown import human_bytes

if TYPE_CHECKING:
    from deltaskip.actions import Protocol
    from deltaskip.maintenance.optimize.gain import ExpectedGain, MeasuredGain
    from deltaskip.stats.coverage import ColumnCoverage, TableCoverage
    from deltaskip.table.detail import LogDetail, TableDetail
    from deltaskip.table.table import DeltaTable


# An OPTIMIZE further back says little about the table as it is.
_LATEST_COMMITS = 20


@dataclass(frozen=True, slots=True)
class Inspection:
    """Facts about one version of a table.

    with_overlap: whether `coverage` includes overlap and recommendations. expected, measured: what OPTIMIZE would gain,
    and what the last one did; None where that is not known.
    """

    detail: TableDetail
    protocol: Protocol
    coverage: TableCoverage
    with_overlap: bool
    expected: ExpectedGain | None = None
    measured: MeasuredGain | None = None

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
        if not self.with_overlap:
            return found
        gains = {"expected": self.expected, "measured": self.measured}
        optimize = {name: None if gain is None else asdict(gain) for name, gain in gains.items()}
        return {**found, "statistics": asdict(self.coverage), "optimize": optimize}


def inspect(table: DeltaTable, with_overlap: bool = False) -> Inspection:
    """Return the facts about the table's version. Reads the statistics of all active files."""
    coverage = table.stats(overlap=with_overlap)
    found = Inspection(table.detail(), table.protocol, coverage, with_overlap)
    if not with_overlap:
        return found
    from deltaskip.maintenance.optimize.gain import expected_gain, measured_gain

    measured = measured_gain(table.snapshot, coverage, table.history(_LATEST_COMMITS))
    return replace(found, expected=expected_gain(table.snapshot, coverage), measured=measured)


def print_inspection(found: Inspection) -> None:
    """Print the facts as text."""
    print_facts(_facts(found.detail))
    print()
    if found.with_overlap:
        print_coverage(found.coverage)
        for line in _gains(found):
            print_line(line)
        return
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


def _gains(found: Inspection) -> Iterator[str]:
    """What OPTIMIZE would gain, and what the last one did, one line each."""
    expected, measured = found.expected, found.measured
    if expected is not None and expected.files:
        rows = f", without {counted(expected.deleted_rows, 'deleted row')}" if expected.deleted_rows else ""
        yield (
            f"recommendation: OPTIMIZE ({counted(expected.files, 'file')} of {human_bytes(expected.bytes)} would "
            f"become {expected.new_files:,}{rows})"
        )
    if expected is not None and len(expected.zorder) > 1:
        names = ", ".join(each.column for each in expected.zorder)
        reads = "; ".join(f"{each.column} {average(each.before)} → {average(each.after)}" for each in expected.zorder)
        yield f"recommendation: OPTIMIZE ZORDER BY {names} (files that an equality filter reads: {reads})"
    if measured is not None:
        first, last = measured.versions
        version = f"version {first}" if first == last else f"versions {first} to {last}"
        reads = "; ".join(f"{each.column} {average(each.before)} → {average(each.after)}" for each in measured.filters)
        yield (
            f"measured: OPTIMIZE at {version} ({measured.files_before:,} → {counted(measured.files_after, 'file')}"
            f"{f'; an equality filter reads: {reads}' if reads else ''})"
        )


def _data_columns(coverage: TableCoverage) -> list[ColumnCoverage]:
    return [column for column in coverage.columns if not column.partition]


def _column(column: ColumnCoverage, files: int) -> dict[str, Any]:
    """Number of files that lack the column's bounds and null count; None for bounds that its type does not have.

    A file whose rows are all NULL has no bounds to record and lacks none.
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
