"""`deltaskip describe`: columns, partitioning, properties and location of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from deltaskip.cli.command_line import debug_option, json_option, program, show, storage_option
from deltaskip.cli.display import print_facts, print_table
from deltaskip.cli.open_table import open_table


@program.command("describe", short_help="Show columns, partitioning and properties of a table.")
@click.argument("table")
@storage_option
@json_option
@debug_option
def _describe(table: str, storage_options: dict[str, str], as_json: bool) -> None:
    """Show columns, partitioning, properties and location of a table."""
    from deltaskip.sparkexpr.types import simple_string

    found = open_table(table, storage_options)
    done = {
        "name": table,
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
    show(done, as_json, _print_described)


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
