"""Output of `deltaskip stats`: how many files have statistics, how far bounds overlap, and recommendations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deltaskip.cli.display import average, print_line, print_table

if TYPE_CHECKING:
    from deltaskip.stats.coverage import TableCoverage


def print_coverage(coverage: TableCoverage) -> None:
    """Print the statistics report as text."""
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
    if rows and coverage.advice:
        print()
    for advice in coverage.advice:
        print_line(f"recommendation: {advice.sentence}")


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
