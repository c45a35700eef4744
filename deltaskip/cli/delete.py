"""`deltaskip delete`: the rows that match a predicate are deleted."""

from __future__ import annotations

from typing import Any

import click

from deltaskip.cli.command_line import program, written_table
from deltaskip.cli.open_table import open_table
from deltaskip.cli.row_changes import change_rows, changes_rows, check_every


@program.command("delete")
@written_table
@changes_rows
@click.option("--all", "every", is_flag=True, help="Delete all rows.")
def _delete(
    table: str,
    storage_options: dict[str, str],
    where: tuple[str, ...],
    params: tuple[str, ...],
    every: bool,
    as_json: bool,
    chosen: dict[str, Any],
) -> None:
    """Delete the rows that match a predicate, in one commit."""
    check_every(every, where)
    from deltaskip.cli.where_options import predicate

    text, opened = predicate(where, params), open_table(table, storage_options)
    change_rows(opened, "DELETE", opened.delete, text, chosen, as_json)
