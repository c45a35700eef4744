"""`deltaskip alter`: columns, properties, constraints and features of a table change in one commit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from deltaskip.cli.command_line import debug_option, json_option, program, show, written_table
from deltaskip.cli.definition import protocol_facts, table_state, typed_columns
from deltaskip.cli.display import print_facts, print_line, print_table
from deltaskip.cli.open_table import open_table


@program.command("alter", short_help="Change columns, properties, constraints or features.")
@written_table
@click.argument("statements", nargs=-1, required=True, metavar="STATEMENT...")
@click.option("--dry-run", is_flag=True, help="Show columns, properties and protocol before and after; change nothing.")
@json_option
@debug_option
def _alter(
    table: str, storage_options: dict[str, str], statements: tuple[str, ...], as_json: bool, dry_run: bool
) -> None:
    """Change columns, properties, constraints or features of a table in one commit.

    STATEMENT is what follows ALTER TABLE and a table's name, such as 'ADD COLUMN c INT AFTER b' or
    'SET TBLPROPERTIES (delta.appendOnly = true)'.
    """
    if any(len(each.split()) == 1 for each in statements):
        raise click.UsageError(f"Each STATEMENT is one argument, in quotes: {' '.join(statements)!r}.")
    from deltaskip.alter.alter_sql import parse_alter

    opened = open_table(table, storage_options)
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
    show(done, as_json, _print_altered)


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
