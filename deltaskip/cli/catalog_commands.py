"""Tables and namespaces of the catalog: `deltaskip tables`, `namespaces`, `rename`, `drop` and `sql`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from deltaskip.cli import command_line
from deltaskip.cli.display import plain, print_line, print_lines
from deltaskip.cli.open_table import open_catalog, session_for_catalog
from deltaskip.cli.rows_out import print_rows, text_of
from deltaskip.errors import SparkUnavailable


@command_line.program.command("tables", short_help="List the tables of a namespace of the catalog.")
@click.argument("namespace", default="")
@command_line.output_options
def _tables(namespace: str, storage_options: dict[str, str], as_json: bool) -> None:
    """List the tables of a namespace of the catalog, or those at its root."""
    from deltaskip.catalogs.identifier import shown_namespace

    catalog = open_catalog(storage_options)
    found = [str(ident) for ident in catalog.list_tables(namespace)]
    command_line.show(found, as_json, print_lines)
    if not found:
        below = ", ".join(map(shown_namespace, catalog.list_namespaces(namespace)))
        where = f"namespace {namespace}" if namespace else f"root of the catalog {catalog.name}"
        click.echo(f"No table in the {where}." + (f" It has the namespaces {below}." if below else ""), err=True)


@command_line.program.command("namespaces")
@click.argument("parent", default="")
@click.option("--create", "new", metavar="NAME", help="Create a namespace.")
@command_line.pairs_option("--property", "properties", help="Property of the new namespace, such as comment=orders.")
@click.option("--drop", "old", metavar="NAME", help="Drop a namespace.")
@click.option("--cascade", is_flag=True, help="Drop it with its tables and namespaces.")
@command_line.output_options
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


@command_line.program.command("rename", short_help="Give a table of the catalog another name.")
@click.argument("table")
@click.argument("new_name")
@command_line.output_options
def _rename(table: str, new_name: str, storage_options: dict[str, str], as_json: bool) -> None:
    """Give a table of the catalog another name, also in another namespace."""
    from deltaskip.catalogs.identifier import CatalogIdentifier, identifier_of

    old, new = identifier_of(table), identifier_of(new_name, "new_name")
    if not new.namespace:
        new = CatalogIdentifier(old.namespace, new.name)
    open_catalog(storage_options).rename_table(old, new)
    done = {"table": str(old), "new_name": str(new)}
    command_line.show(done, as_json, lambda _done: print_line(f"renamed {old} to {new}"))


@command_line.program.command("drop")
@click.argument("table")
@click.option("--purge", is_flag=True, help="Also delete the files of a table with a location of its own.")
@click.option("--if-exists", is_flag=True, help="Do nothing if there is no such table.")
@command_line.output_options
def _drop(table: str, purge: bool, if_exists: bool, storage_options: dict[str, str], as_json: bool) -> None:
    """Drop a table of the catalog."""
    from deltaskip.catalogs.identifier import identifier_of
    from deltaskip.catalogs.table_catalog import no_table

    catalog = open_catalog(storage_options)
    dropped = catalog.drop_table(table, purge=purge)
    if not dropped and not if_exists:
        raise no_table(catalog, identifier_of(table))
    said = f"dropped {table}" if dropped else f"there was no table {table}"
    command_line.show({"table": table, "dropped": dropped}, as_json, lambda _done: print_line(said))


@command_line.program.command("sql", short_help="Run an SQL statement over the tables of the catalog.")
@click.argument("text", metavar="STATEMENT")
@command_line.output_options
def _sql(text: str, storage_options: dict[str, str], as_json: bool) -> None:
    """Run an SQL statement over the tables of the catalog, such as 'SHOW TABLES IN sales'.

    Statements that read rows start a local Spark session. Tables are read by their paths with `deltaskip query`.
    """
    import pyarrow as pa

    catalog = open_catalog(storage_options)
    try:
        answer = catalog.sql(None, text)
    except SparkUnavailable:
        answer = catalog.sql(session_for_catalog(), text)
    if answer is None:
        found = []
    elif isinstance(answer, pa.Table):
        found = answer.to_pylist()
    else:
        found = [row.asDict(recursive=True) for row in answer.collect()]
    command_line.show(plain(found), as_json, _print_rows)


def _print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as `deltaskip query` does; nothing if there are none."""
    if rows:
        print_rows(list(rows[0]), ["prose"] * len(rows[0]), (list(map(text_of, row.values())) for row in rows))
