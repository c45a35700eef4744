"""Commands on the tables and namespaces of a catalog."""

from __future__ import annotations

import click

from deltaskip.cli.program import debug_option, json_option, pairs, program, show, storage_option

_property = click.option(
    "--property",
    "properties",
    multiple=True,
    metavar="KEY=VALUE",
    callback=pairs,
    help="Property of the new namespace, such as comment=orders. Can be repeated.",
)


@program.command("tables", short_help="List the tables of a namespace of the catalog.")
@click.argument("namespace", default="")
@storage_option
@json_option
@debug_option
def _tables(namespace: str, storage_options: dict[str, str], as_json: bool) -> None:
    """List the tables of a namespace of the catalog, or those at its root."""
    from deltaskip.cli import catalogs

    show(catalogs.tables(namespace, storage_options), as_json, catalogs.print_names)


@program.command("namespaces")
@click.argument("parent", default="")
@click.option("--create", "new", metavar="NAME", help="Create a namespace.")
@_property
@click.option("--drop", "old", metavar="NAME", help="Drop a namespace.")
@click.option("--cascade", is_flag=True, help="Drop it with its tables and namespaces.")
@storage_option
@json_option
@debug_option
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
    from deltaskip.cli import catalogs

    if new is not None and old is not None:
        raise click.UsageError("Specify either --create or --drop, not both.")
    if (cascade and old is None) or (properties and new is None):
        raise click.UsageError("--cascade needs --drop, and --property needs --create.")
    if new is not None:
        catalogs.create_namespace(new, properties, storage_options)
    if old is not None:
        catalogs.drop_namespace(old, cascade, storage_options)
    show(catalogs.namespaces(parent, storage_options), as_json, catalogs.print_names)


@program.command("describe", short_help="Show columns, partitioning and properties of a table.")
@click.argument("table")
@storage_option
@json_option
@debug_option
def _describe(table: str, storage_options: dict[str, str], as_json: bool) -> None:
    """Show columns, partitioning, properties and location of a table."""
    from deltaskip.cli import catalogs

    show(catalogs.described(table, storage_options), as_json, catalogs.print_described)


@program.command("drop")
@click.argument("table")
@click.option("--purge", is_flag=True, help="Also delete the files of a table with a location of its own.")
@click.option("--if-exists", is_flag=True, help="Do nothing if there is no such table.")
@storage_option
@json_option
@debug_option
def _drop(table: str, purge: bool, if_exists: bool, storage_options: dict[str, str], as_json: bool) -> None:
    """Drop a table of the catalog."""
    from deltaskip.cli import catalogs

    show(catalogs.drop(table, purge, if_exists, storage_options), as_json, catalogs.print_dropped)


@program.command("rename", short_help="Give a table of the catalog another name.")
@click.argument("table")
@click.argument("new_name")
@storage_option
@json_option
@debug_option
def _rename(table: str, new_name: str, storage_options: dict[str, str], as_json: bool) -> None:
    """Give a table of the catalog another name, also in another namespace."""
    from deltaskip.cli import catalogs

    show(catalogs.rename(table, new_name, storage_options), as_json, catalogs.print_renamed)


@program.command("sql", short_help="Run an SQL statement over the tables of the catalog.")
@click.argument("text", metavar="STATEMENT")
@storage_option
@json_option
@debug_option
def _sql(text: str, storage_options: dict[str, str], as_json: bool) -> None:
    """Run an SQL statement over the tables of the catalog, such as 'SHOW TABLES IN sales'.

    Statements that read rows start a local Spark session. Tables are read by their paths with `deltaskip query`.
    """
    from deltaskip.cli import catalogs

    show(catalogs.run_sql(text, storage_options), as_json, catalogs.print_rows)
