"""`deltaskip diff`: what differs between two versions of a table."""

from __future__ import annotations

from pathlib import Path

import click

from deltaskip.cli.command_line import debug_option, program, storage_option
from deltaskip.cli.rows_out import rows_options, write_rows


@program.command("diff", short_help="Show the rows that only one of two versions has.")
@click.argument("table")
@click.argument("first", metavar="V1", type=click.IntRange(min=0))
@click.argument("second", metavar="V2", type=click.IntRange(min=0))
@rows_options
@storage_option
@debug_option
def _diff(
    table: str,
    first: int,
    second: int,
    file_format: str | None,
    output: Path | None,
    storage_options: dict[str, str],
) -> None:
    """Show the rows that version V2 has and V1 has not, and the other way round.

    The column _change says insert or delete; an updated row is both. Only files that one of the versions lacks are
    read, and rows that were only rewritten are not shown. A column that one version lacks is NULL in its rows.
    """
    from deltaskip.cli.diff_rows import differing_rows
    from deltaskip.cli.open_table import open_table

    before, after = (open_table(table, storage_options, version) for version in (first, second))
    write_rows(differing_rows(before, after), file_format, output)
