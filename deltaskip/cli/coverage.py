"""Output of `deltaskip stats`: how many files have statistics, how far bounds overlap, and recommendations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from deltaskip.cli.display import average, print_line, print_table
from deltaskip.schema.properties import TableProperties

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
    notes = list(_hidden_nan(coverage))
    if rows and (notes or coverage.advice):
        print()
    for note in notes:
        print_line(f"note: {note}")
    for advice in coverage.advice:
        print_line(f"recommendation: {advice.sentence}")


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
