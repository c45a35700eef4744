"""Output of `deltaskip collations`: available collation versions, and the collated columns of a table."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli.display import print_line, print_table
from deltaskip.collations.libraries import refused_icu_files
from deltaskip.collations.lookup import available_collations

if TYPE_CHECKING:
    from deltaskip.table.table import DeltaTable


def collations(table: DeltaTable | None) -> dict[str, Any]:
    """Return the report for JSON: available versions, ICU files that are not used, and a table's collated columns."""
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
