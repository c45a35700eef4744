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
    from deltaskip.catalogs.identifier import shown_namespace

    catalog = open_catalog(storage_options)
    found = [str(ident) for ident in catalog.list_tables(namespace)]
    show(found, as_json, print_lines)
    if not found:
        below = ", ".join(map(shown_namespace, catalog.list_namespaces(namespace)))
        where = f"namespace {namespace}" if namespace else f"root of the catalog {catalog.name}"
        click.echo(f"No table in the {where}." + (f" It has the namespaces {below}." if below else ""), err=True)
