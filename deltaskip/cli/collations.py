"""`deltaskip collations`: available collation versions, and the collated columns of a table."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli.command_line import CommandTable, may_open_table, program, show
from deltaskip.cli.display import print_line, print_table

if TYPE_CHECKING:
    from deltaskip.table.table import DeltaTable


@program.command("collations")
@may_open_table
def _collations(source: CommandTable, as_json: bool) -> None:
    """List available collation versions.

    With TABLE, also list its collated columns and the versions that they need.
    """
    if source.table is None and (not source.is_latest or source.storage_options):
        raise click.UsageError("--version, --timestamp and --option need a TABLE.")
    found = collations(None if source.table is None else source.open())
    show(found, as_json, print_collations)


def collations(table: DeltaTable | None) -> dict[str, Any]:
    """Return the report for JSON: available versions, ICU files that are not used, and a table's collated columns."""
    from deltaskip.sparkexpr.collations import available_collations, refused_icu_files

    found: dict[str, Any] = {
        "available": [asdict(entry) for entry in available_collations()],
        "refused": dict(refused_icu_files()),
    }
    if table is not None:
        columns = [asdict(column) for column in table.collations()]
        found.update(table=table.uri, version=table.version, columns=columns)
    return found


def print_collations(found: dict[str, Any]) -> None:
    """Print the report as text."""
    if "table" in found:
        print_line(f"{found['table']} at version {found['version']}")
        _print_columns(found["columns"])
        click.echo()
    by_source: dict[tuple[str, str], list[str]] = {}
    for entry in found["available"]:
        by_source.setdefault((entry["provider"], entry["source"]), []).append(entry["version"])
    print_table(
        [("provider", "left"), ("versions", "prose"), ("library", "prose")],
        ((provider, ", ".join(versions), source) for (provider, source), versions in by_source.items()),
    )
    for reason in found["refused"].values():
        print_line(f"not used: {reason}")


def _print_columns(columns: list[dict[str, Any]]) -> None:
    if not columns:
        click.echo("No column has a collation: strings are compared as bytes.")
        return
    print_table(
        [("column", "left"), ("collation", "left"), ("write versions", "prose"), ("available versions", "prose")],
        (
            (
                column["column"],
                column["collation"],
                ", ".join(column["write_versions"]) or "any",
                ", ".join(column["evaluated_in"]) or "none",
            )
            for column in columns
        ),
    )
    for missing in dict.fromkeys(column["missing"] for column in columns if column["missing"]):
        print_line(missing)
