"""`deltaskip explain` and `advise`: what the parts of predicates skip, and which changes would let them skip more."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli import command_line
from deltaskip.cli.display import counted, print_line, print_lines, print_table
from deltaskip.printable import printable
from deltaskip.shown import human_bytes

if TYPE_CHECKING:
    from deltaskip.skipping.explain.report import Explain, LeafReport


def _plot_file(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    if path is not None and path.suffix.lower() not in (".png", ".svg"):
        raise click.BadParameter(f"{str(path)!r} does not end in .png or .svg")
    return path


@command_line.program.command("explain")
@command_line.opens_table
@command_line.takes_predicate
@command_line.float_bounds_option
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    callback=_plot_file,
    help="Draw which files each part of the predicate skips, to a .svg file, or with Pillow a .png file.",
)
def _explain(source: command_line.CommandTable, as_json: bool, chosen: dict[str, Any], plot: Path | None) -> None:
    """Show which files each part of a predicate skips.

    For parts that skip no files, or fewer than they could, also show the reason.
    """
    explained = source.open().scan(**chosen).explain()
    if plot is not None:
        explained.save_plot(plot)
        click.echo(printable(f"wrote the plot to {plot}"), err=True)
    command_line.show(explained, as_json, _print_explanation)


def _print_explanation(explained: Explain) -> None:
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
    print_lines(notes)


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


@command_line.program.command("advise", short_help="List changes that let queries read fewer bytes.")
@command_line.opens_table
@click.option("--where", multiple=True, metavar="SQL", help="A predicate that the table is asked. Can be repeated.")
@click.option("--journal", metavar="FILE", help="The file in which scans have noted what they were asked.")
@click.option("--target-size", "target", type=click.IntRange(min=1), metavar="BYTES", help="Size of new files.")
@click.option("--plot", metavar="FILE", help="Write a picture of what each query reads, as .png or .svg.")
def _advise(
    source: command_line.CommandTable,
    as_json: bool,
    where: Sequence[str],
    journal: str | None,
    target: int | None,
    plot: str | None,
) -> None:
    """List changes that would let queries read fewer bytes, the best one first. Nothing is changed.

    The queries are those of --where, or those in --journal, a file that deltaskip.options.journal has named.
    """
    from deltaskip.settings import options

    if bool(where) == bool(journal):
        raise click.UsageError("Give either --where or --journal.")
    with options.changed(journal=journal or ""):
        found = source.open().advise(list(where) or None, target_file_bytes=target)
    if plot:
        found.save_plot(plot)
    command_line.show_lines(found, as_json)
