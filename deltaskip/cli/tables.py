"""`deltaskip tables`: the tables of a namespace of the catalog."""

from __future__ import annotations

import click

from deltaskip.cli.command_line import debug_option, json_option, program, show, storage_option
from deltaskip.cli.display import print_lines
from deltaskip.cli.open_table import open_catalog


@program.command("tables", short_help="List the tables of a namespace of the catalog.")
@click.argument("namespace", default="")
@storage_option
@json_option
@debug_option
def _tables(namespace: str, storage_options: dict[str, str], as_json: bool) -> None:
    """List the tables of a namespace of the catalog, or those at its root."""
    show([str(ident) for ident in open_catalog(storage_options).list_tables(namespace)], as_json, print_lines)
