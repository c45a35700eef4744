"""`deltaskip drop`: a table of the catalog is dropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from deltaskip.cli.command_line import debug_option, json_option, program, show, storage_option
from deltaskip.cli.display import print_line
from deltaskip.cli.open_table import open_catalog


@program.command("drop")
@click.argument("table")
@click.option("--purge", is_flag=True, help="Also delete the files of a table with a location of its own.")
@click.option("--if-exists", is_flag=True, help="Do nothing if there is no such table.")
@storage_option
@json_option
@debug_option
def _drop(table: str, purge: bool, if_exists: bool, storage_options: dict[str, str], as_json: bool) -> None:
    """Drop a table of the catalog."""
    from deltaskip.catalogs.identifier import identifier_of
    from deltaskip.catalogs.table_catalog import no_table

    catalog = open_catalog(storage_options)
    dropped = catalog.drop_table(table, purge=purge)
    if not dropped and not if_exists:
        raise no_table(catalog, identifier_of(table))
    show({"table": table, "dropped": dropped}, as_json, _print_dropped)


def _print_dropped(done: Mapping[str, Any]) -> None:
    print_line(f"dropped {done['table']}" if done["dropped"] else f"there was no table {done['table']}")
