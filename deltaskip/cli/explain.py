"""Output of `deltaskip explain`: one line per leaf of the predicate, then why leaves skip no files or too few."""

from __future__ import annotations

from deltaskip.cli.display import counted, print_line, print_table
from deltaskip.shown import human_bytes
from deltaskip.skipping.explain.report import Explain, LeafReport


def print_explanation(explained: Explain) -> None:
    """Print the summary, the leaves of the predicate with the files that each skips, and the reasons."""
    files = f"{explained.kept_files:,} of {counted(explained.total_files, 'file')} kept"
    size = f"{human_bytes(explained.kept_bytes)} of {human_bytes(explained.total_bytes)}"
    print_line(f"{explained.table_root} at version {explained.version}: {files}, {size}")
    if not explained.leaves:
        return
    print()
    columns = [("predicate", "prose"), ("statistics used", "prose"), ("files skipped", "right")]
    print_table(
        [*columns, ("kept without it", "right"), ("missing statistics", "right")],
        [_row(explained, depth, part) for depth, part in explained.lines()],
    )
    notes = [line for leaf in explained.leaves for line in _notes(leaf)]
    if notes:
        print()
    for line in notes:
        print_line(line)


def _row(explained: Explain, depth: int, part: str | int) -> tuple[str, ...]:
    indent = "  " * depth
    if isinstance(part, str):
        return (indent + part, "", "", "", "")
    leaf = explained.leaves[part]
    counts = (f"{leaf.dropped:,}", f"{leaf.needed_for:,}", f"{leaf.without_statistics:,}")
    return (indent + leaf.predicate, ", ".join(leaf.used) or "none", *counts)


def _notes(leaf: LeafReport) -> list[str]:
    lines = [f"{leaf.predicate}: {leaf.reason}."] if leaf.reason else []
    if leaf.without_statistics:
        lacking = ", ".join(f"{name} in {counted(files, 'file')}" for name, files in leaf.lacking.items())
        lines.append(f"{leaf.predicate}: missing statistics: {lacking}, for example {', '.join(leaf.examples)}.")
    return lines
