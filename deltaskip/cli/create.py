"""`deltaskip create`: a table without rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli import command_line
from deltaskip.cli.definition import protocol_facts, table_state, typed_columns
from deltaskip.cli.display import print_facts, print_line, print_table
from deltaskip.cli.open_table import given_catalog, open_catalog, session_for_location
from deltaskip.errors import InvalidArgument, TableAlreadyExists

if TYPE_CHECKING:
    from deltaskip.table.table import DeltaTable


@command_line.program.command("create")
@command_line.written_table
@click.argument("columns", metavar="DDL")
@click.option("--partition-by", multiple=True, metavar="NAME", help="Partition column. Can be repeated.")
@command_line.columns_option("--cluster-by", help="Clustering columns.")
@command_line.pairs_option("--property", "properties", help="Table property, such as delta.enableDeletionVectors=true.")
@click.option("--comment", metavar="TEXT", help="Description of the table.")
@click.option(
    "--mode",
    type=click.Choice(["error", "ignore", "replace"]),
    default="error",
    show_default=True,
    help="What happens if there is a table: an error, nothing, or its columns are replaced and its rows removed.",
)
@click.option("--if-not-exists", is_flag=True, help="Short for --mode ignore.")
@command_line.json_option
@command_line.debug_option
def _create(
    table: str,
    storage_options: dict[str, str],
    columns: str,
    as_json: bool,
    mode: Any,
    if_not_exists: bool,
    **described: Any,
) -> None:
    """Create a table without rows.

    DDL are the columns as in CREATE TABLE, such as 'id BIGINT NOT NULL, ts TIMESTAMP, day DATE GENERATED ALWAYS AS
    (CAST(ts AS DATE))'; or a Parquet file, whose columns the table gets.
    """
    wanted: Any = columns
    if columns.endswith(".parquet"):
        from deltaskip.cli.input_files import input_files
        from deltaskip.sparkexpr.types import StructType

        wanted = input_files([columns], None, None, StructType(()), "UTC").schema()
    if if_not_exists and mode == "replace":
        raise click.UsageError("Specify either --if-not-exists or --mode replace, not both.")
    mode = "ignore" if if_not_exists else mode
    if given_catalog() is not None:
        made = _created_by_name(table, storage_options, wanted, mode, described)
    else:
        from deltaskip.table.table import DeltaTable

        session_for_location(table)
        made = DeltaTable.create(table, wanted, mode=mode, storage_options=storage_options or None, **described)
    done = {"location": made.uri, "version": made.version,
            **table_state(made.schema, made.protocol, made.properties),
            "partition_columns": list(made.partition_columns)}  # fmt: skip
    command_line.show(done, as_json, _print_created)


def _created_by_name(
    table: str, storage_options: Mapping[str, str], columns: Any, mode: Any, described: Mapping[str, Any]
) -> DeltaTable:
    """Create a table of the catalog that `--catalog` gives."""
    from deltaskip.alter.table_changes import ClusterBy
    from deltaskip.catalogs import TransactionalTableCatalog

    catalog = open_catalog(storage_options)
    clustered = [ClusterBy(*described["cluster_by"])] if described["cluster_by"] else []
    comment = {} if described["comment"] is None else {"comment": described["comment"]}
    parts, properties = [*described["partition_by"], *clustered], {**described["properties"], **comment}
    if mode == "replace":
        if not isinstance(catalog, TransactionalTableCatalog):
            raise InvalidArgument(f"The catalog {catalog.name} cannot replace tables: drop {table} first.")
        return catalog.stage_create_or_replace(table, columns, parts, None, properties).commit_staged_changes()
    try:
        return catalog.create_table(table, columns, parts, properties)
    except TableAlreadyExists:
        if mode == "error":
            raise
        return catalog.load_table(table)


def _print_created(made: Mapping[str, Any]) -> None:
    print_line(f"version {made['version']} of {made['location']}")
    print_table([("column", "left"), ("type", "prose")], typed_columns(made["schema"]))
    print_facts(protocol_facts(made))
