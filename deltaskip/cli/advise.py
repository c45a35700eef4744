"""`deltaskip advise`: which changes of a table would let its queries read fewer bytes."""

from __future__ import annotations

from collections.abc import Sequence

import click

from deltaskip.cli.command_line import CommandTable, opens_table, program
from deltaskip.cli.display import print_json, print_line


@program.command("advise", short_help="List changes that let queries read fewer bytes.")
@opens_table
@click.option("--where", multiple=True, metavar="SQL", help="A predicate that the table is asked. Can be repeated.")
@click.option("--journal", metavar="FILE", help="The file in which scans have noted what they were asked.")
@click.option("--target-size", "target", type=click.IntRange(min=1), metavar="BYTES", help="Size of new files.")
@click.option("--plot", metavar="FILE", help="Write a picture of what each query reads, as .png or .svg.")
def _advise(
    source: CommandTable, as_json: bool, where: Sequence[str], journal: str | None, target: int | None, plot: str | None
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
    if as_json:
        print_json(found.to_dict())
        return
    for line in found.lines():
        print_line(line)
