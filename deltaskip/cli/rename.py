"""`deltaskip rename`: a table of the catalog is renamed."""

from __future__ import annotations

from collections.abc import Mapping

import click

from deltaskip.cli.command_line import debug_option, json_option, program, show, storage_option
from deltaskip.cli.display import print_line
from deltaskip.cli.open_table import open_catalog


@program.command("rename", short_help="Give a table of the catalog another name.")
@click.argument("table")
@click.argument("new_name")
@storage_option
@json_option
@debug_option
def _rename(table: str, new_name: str, storage_options: dict[str, str], as_json: bool) -> None:
    """Give a table of the catalog another name, also in another namespace."""
    from deltaskip.catalogs.identifier import CatalogIdentifier, identifier_of

    old, new = identifier_of(table), identifier_of(new_name, "new_name")
    if not new.namespace:
        new = CatalogIdentifier(old.namespace, new.name)
    open_catalog(storage_options).rename_table(old, new)
    show({"table": str(old), "new_name": str(new)}, as_json, _print_renamed)


def _print_renamed(done: Mapping[str, str]) -> None:
    print_line(f"renamed {done['table']} to {done['new_name']}")
