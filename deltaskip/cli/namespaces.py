"""`deltaskip namespaces`: namespaces of the catalog are listed, created and dropped."""

from __future__ import annotations

import click

from deltaskip.cli import command_line
from deltaskip.cli.display import print_lines
from deltaskip.cli.open_table import open_catalog


@command_line.program.command("namespaces")
@click.argument("parent", default="")
@click.option("--create", "new", metavar="NAME", help="Create a namespace.")
@command_line.pairs_option("--property", "properties", help="Property of the new namespace, such as comment=orders.")
@click.option("--drop", "old", metavar="NAME", help="Drop a namespace.")
@click.option("--cascade", is_flag=True, help="Drop it with its tables and namespaces.")
@command_line.storage_option
@command_line.json_option
@command_line.debug_option
def _namespaces(
    parent: str,
    new: str | None,
    properties: dict[str, str],
    old: str | None,
    cascade: bool,
    storage_options: dict[str, str],
    as_json: bool,
) -> None:
    """List, create or drop namespaces of the catalog."""
    from deltaskip.catalogs.identifier import namespace_of, shown_namespace

    if new is not None and old is not None:
        raise click.UsageError("Specify either --create or --drop, not both.")
    if (cascade and old is None) or (properties and new is None):
        raise click.UsageError("--cascade needs --drop, and --property needs --create.")
    catalog = open_catalog(storage_options)
    if new is not None:
        catalog.create_namespace(new, properties)
    if old is not None and not catalog.drop_namespace(old, cascade=cascade):
        catalog.load_namespace(namespace_of(old))  # raises NamespaceNotFound
    command_line.show([shown_namespace(each) for each in catalog.list_namespaces(parent)], as_json, print_lines)
