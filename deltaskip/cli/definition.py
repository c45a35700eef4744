"""Columns, protocol and properties of a table: `deltaskip create`, `alter` and `describe`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli import command_line
from deltaskip.cli.display import print_facts, print_line, print_table
from deltaskip.cli.open_table import given_catalog, open_catalog, session_for_location
from deltaskip.errors import InvalidArgument, TableAlreadyExists

if TYPE_CHECKING:
    from deltaskip.sparkexpr.types import StructType
    from deltaskip.table.table import DeltaTable


@command_line.program.command("create")
@command_line.written_table
@click.argument("columns", metavar="DDL")
@click.option("--partition-by", multiple=True, metavar="NAME", help="Partition column. Can be repeated.")
@command_line.columns_option("--cluster-by", help="Clustering columns.")
@command_line.pairs_option("--property", "properties", help="Table property, such as delta.enableDeletionVectors=true.")
@click.option("--comment", metavar="TEXT", help="Description of the table.")
@command_line.choice_option(
    "--mode",
    values=["error", "ignore", "replace"],
    help="What happens if there is a table: an error, nothing, or its columns are replaced and its rows removed.",
)
@click.option("--if-not-exists", is_flag=True, help="Short for --mode ignore.")
def _create(
    source: command_line.CommandTable, columns: str, as_json: bool, mode: Any, if_not_exists: bool, **described: Any
) -> None:
    """Create a table without rows.

    DDL are the columns as in CREATE TABLE, such as 'id BIGINT NOT NULL, ts TIMESTAMP, day DATE GENERATED ALWAYS AS
    (CAST(ts AS DATE))'; or a Parquet file, whose columns the table gets, and whose rows `deltaskip append` adds.
    """
    wanted: Any = columns
    if columns.lower().endswith((".csv", ".json", ".jsonl", ".ndjson")):
        raise click.UsageError(
            f"{columns} has no types: write the columns, such as 'id BIGINT, name STRING', and then append the file."
        )
    if columns.endswith(".parquet"):
        from deltaskip.cli.input_files import input_files
        from deltaskip.sparkexpr.types import StructType

        wanted = input_files([columns], None, None, StructType(()), "UTC").schema()
    if if_not_exists and mode == "replace":
        raise click.UsageError("Specify either --if-not-exists or --mode replace, not both.")
    mode = "ignore" if if_not_exists else mode
    if given_catalog() is not None:
        made = _created_by_name(source, wanted, mode, described)
    else:
        from deltaskip.table.table import DeltaTable

        session_for_location(str(source.table))
        options = source.storage_options or None
        made = DeltaTable.create(str(source.table), wanted, mode=mode, storage_options=options, **described)
    done = {"location": made.uri, "version": made.version,
            **table_state(made.schema, made.protocol, made.properties),
            "partition_columns": list(made.partition_columns)}  # fmt: skip
    command_line.show(done, as_json, _print_created)


def _created_by_name(
    source: command_line.CommandTable, columns: Any, mode: Any, described: Mapping[str, Any]
) -> DeltaTable:
    """Create a table of the catalog that `--catalog` gives."""
    from deltaskip.alter.table_changes import ClusterBy
    from deltaskip.catalogs import TransactionalTableCatalog

    catalog, table = open_catalog(source.storage_options), str(source.table)
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


@command_line.program.command("alter", short_help="Change columns, properties, constraints or features.")
@command_line.written_table
@click.argument("statements", nargs=-1, required=True, metavar="STATEMENT...")
@click.option("--dry-run", is_flag=True, help="Show columns, properties and protocol before and after; change nothing.")
def _alter(source: command_line.CommandTable, statements: tuple[str, ...], as_json: bool, dry_run: bool) -> None:
    """Change columns, properties, constraints or features of a table in one commit.

    STATEMENT is what follows ALTER TABLE and a table's name, such as 'ADD COLUMN c INT AFTER b' or
    'SET TBLPROPERTIES (delta.appendOnly = true)'.
    """
    if any(len(each.split()) == 1 for each in statements):
        raise click.UsageError(f"Each STATEMENT is one argument, in quotes: {' '.join(statements)!r}.")
    from deltaskip.alter.alter_sql import parse_alter

    opened = source.open()
    changes = [change for statement in statements for change in parse_alter(statement)]
    before = table_state(opened.schema, opened.protocol, opened.properties)
    if dry_run:
        transaction = opened.transaction()
        try:
            transaction.alter(*changes)
            after = table_state(transaction.schema, transaction.protocol, transaction.metadata.configuration)
        finally:
            transaction.discard()
        version = None
    else:
        version = opened.alter(*changes).version
        after = table_state(opened.schema, opened.protocol, opened.properties)
    done = {"table": opened.uri, "version": version, "dry_run": dry_run, "before": before, "after": after}
    command_line.show(done, as_json, _print_altered)


def _print_altered(done: Mapping[str, Any]) -> None:
    """Print what altering a table changes, or has changed."""
    before, after = done["before"], done["after"]
    if before == after and done["version"] is None:
        print_line("nothing would change" if done["dry_run"] else "nothing changed")
        return
    print_line(f"would alter {done['table']}" if done["dry_run"] else f"version {done['version']} of {done['table']}")
    old, new = dict(typed_columns(before["schema"])), dict(typed_columns(after["schema"]))
    rows = [(name, old.get(name, "-"), new.get(name, "-")) for name in {**old, **new} if old.get(name) != new.get(name)]
    if rows:
        print_table([("column", "left"), ("before", "prose"), ("after", "prose")], rows)
    facts = [
        (label, f"{was} → {now}")
        for (label, was), (_, now) in zip(protocol_facts(before), protocol_facts(after), strict=True)
        if was != now
    ]
    print_facts(facts)


@command_line.program.command("describe", short_help="Show columns, partitioning and properties of a table.")
@command_line.opens_table
def _describe(source: command_line.CommandTable, as_json: bool) -> None:
    """Show columns, partitioning, properties and location of a table."""
    from deltaskip.sparkexpr.types import simple_string

    found = source.open()
    done = {
        "name": source.table,
        "location": found.uri,
        "version": found.version,
        "comment": found.metadata.description,
        "columns": [
            {
                "name": field.name,
                "type": simple_string(field.type),
                "nullable": field.nullable,
                "comment": field.metadata.get("comment"),
            }
            for field in found.schema.fields
        ],
        "partitioning": [str(each) for each in found.partitioning],
        "sort_order": [str(each) for each in found.sort_order],
        "properties": dict(found.properties),
    }
    command_line.show(done, as_json, _print_described)


def _print_described(table: Mapping[str, Any]) -> None:
    rows = [
        (each["name"], each["type"] + ("" if each["nullable"] else " NOT NULL"), each["comment"] or "")
        for each in table["columns"]
    ]
    print_table([("column", "left"), ("type", "prose"), ("comment", "prose")], rows)
    facts = [("location", table["location"]), ("version", str(table["version"]))]
    if table["comment"]:
        facts.append(("comment", table["comment"]))
    lists = [(name, table[name]) for name in ("partitioning", "sort_order") if table[name]]
    facts += [(name.replace("_", " "), ", ".join(each)) for name, each in lists]
    facts += [(f"property {name}", text) for name, text in sorted(table["properties"].items())]
    print_facts(facts)


def table_state(schema: StructType, protocol: Any, properties: Mapping[str, str]) -> dict[str, Any]:
    """Return columns, protocol and properties for JSON."""
    from deltaskip.sparkexpr.types import simple_string

    return {
        "schema": [
            {
                "name": field.name,
                "type": simple_string(field.type, field),
                "nullable": field.nullable,
                "metadata": dict(field.metadata),
            }
            for field in schema.fields
        ],
        "min_reader_version": protocol.min_reader_version,
        "min_writer_version": protocol.min_writer_version,
        "reader_features": sorted(protocol.reader_features or ()),
        "writer_features": sorted(protocol.writer_features or ()),
        "properties": dict(sorted(properties.items())),
    }


def typed_columns(schema: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Return the names of columns with their types, for a table of text."""
    return [(each["name"], each["type"] + ("" if each["nullable"] else " NOT NULL")) for each in schema]


def protocol_facts(state: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return lines of text for the protocol, its features and the properties."""
    features = ", ".join(state["writer_features"]) or "-"
    properties = ", ".join(f"{name}={value}" for name, value in state["properties"].items()) or "-"
    return [
        ("protocol:", f"reader {state['min_reader_version']}, writer {state['min_writer_version']}"),
        ("features:", features),
        ("properties:", properties),
    ]
