"""Output of `deltaskip stats`: how many files have statistics, how far bounds overlap, and what OPTIMIZE gains."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from deltaskip.cli.display import average, counted, print_line, print_table
from deltaskip.records import dataclass
from deltaskip.schema.properties import TableProperties
from deltaskip.shown import human_bytes

if TYPE_CHECKING:
    from deltaskip.maintenance.optimize.gain import ExpectedGain, MeasuredGain
    from deltaskip.stats.coverage import TableCoverage
    from deltaskip.table.table import DeltaTable


# An OPTIMIZE further back says little about the table as it is.
_LATEST_COMMITS = 20


@dataclass(frozen=True, slots=True)
class StatisticsReport:
    """The statistics of a table, what OPTIMIZE would gain, and what the last one gained; None if that is not known."""

    coverage: TableCoverage
    expected: ExpectedGain | None
    measured: MeasuredGain | None

    def to_dict(self) -> dict[str, Any]:
        """Return the report for JSON."""
        gains = {"expected": self.expected, "measured": self.measured}
        optimize = {name: None if gain is None else asdict(gain) for name, gain in gains.items()}
        return {**self.coverage.to_dict(), "optimize": optimize}


def statistics_report(table: DeltaTable) -> StatisticsReport:
    """Return the report of the table's version. Reads the statistics of all active files."""
    from deltaskip.maintenance.optimize.gain import expected_gain, measured_gain

    coverage = table.stats()
    measured = measured_gain(table.snapshot, coverage, table.history(_LATEST_COMMITS))
    return StatisticsReport(coverage, expected_gain(table.snapshot, coverage), measured)


def print_report(report: StatisticsReport) -> None:
    """Print the report as text."""
    _print_coverage(report.coverage)
    for line in _gains(report):
        print_line(line)


def _print_coverage(coverage: TableCoverage) -> None:
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
    if rows:
        print_table(_HEADINGS, rows)
        print()
        print_line("min/max, null count: share of files that have the statistic, and of the rows that are counted.")
        print_line("files per value: average number of files that an equality filter (column = value) reads.")
    notes = list(_hidden_nan(coverage))
    if rows and (notes or coverage.advice):
        print()
    for note in notes:
        print_line(f"note: {note}")
    for advice in coverage.advice:
        print_line(f"recommendation: {advice.sentence}")


def _gains(report: StatisticsReport) -> Iterator[str]:
    """What OPTIMIZE would gain, and what the last one did, one line each."""
    expected, measured = report.expected, report.measured
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


def _hidden_nan(coverage: TableCoverage) -> Iterator[str]:
    """The float columns whose bounds serve only some predicates, and the cure."""
    files = [(column.name, column.files_that_may_hide_nan or 0) for column in coverage.columns]
    hidden = [(name, count) for name, count in files if count]
    if hidden:
        names = ", ".join(f"{name} ({count:,} of {coverage.files:,} files)" for name, count in hidden[:_MOST_NAMES])
        more = f" and {len(hidden) - _MOST_NAMES:,} more columns" if len(hidden) > _MOST_NAMES else ""
        yield (
            f"min and max of {names}{more} may omit NaN, so column > value reads the files: recompute statistics, or "
            f"set {TableProperties.float_bounds.name} = exact if every writer of the table records NaN"
        )


_MOST_NAMES = 3

_HEADINGS = [
    ("column", "left"),
    ("type", "left"),
    ("min/max", "right"),
    ("rows", "right"),
    ("null count", "right"),
    ("rows", "right"),
    ("files per value", "right"),
    ("of all", "right"),
]


def _share(part: float | None, whole: int) -> str:
    """A percentage; 0 and 100 are exact and never rounded to."""
    if part is None or not whole:
        return "-"
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "< 0.1 %"
    return f"{min(percent, 99.9) if part < whole else percent:.1f} %".replace(".0 %", " %")
