"""`deltaskip compatibility`: what other engines refuse or get wrong in a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click

from deltaskip.cli.command_line import CommandTable, opens_table, program, show
from deltaskip.cli.display import print_table


@program.command("compatibility")
@opens_table
@click.option(
    "--engine", "engines", multiple=True, metavar="NAME", help="Only this engine, such as polars. May repeat."
)
def _compatibility(source: CommandTable, as_json: bool, engines: Sequence[str]) -> None:
    """List what other engines refuse or get wrong in a table.

    Known are Polars, DuckDB, deltalake, pyarrow, Daft, chDB and Sail, in the releases that are printed.
    """
    found = source.open().compatibility(list(engines) or None)
    show([asdict(each) for each in found], as_json, _print_found)


def _print_found(found: Sequence[Mapping[str, Any]]) -> None:
    if not found:
        click.echo("Nothing is known that these engines refuse or get wrong.")
        return
    names = ("release", "rule", "where", "operation", "effect", "behaviour", "change")
    rows = [[", ".join(v) if isinstance(v := each[name], tuple) else v or "-" for name in names] for each in found]
    print_table([(name, "prose") for name in names], rows)
    for engine, instead in dict.fromkeys((each["engine"], each["instead"]) for each in found):
        click.echo(f"{engine}: to read the rows right, {instead}.")
