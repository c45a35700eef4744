"""`deltaskip history`: the commits of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli.command_line import CommandTable, opens_table, program, show
from deltaskip.cli.display import json_values, plain, print_table

if TYPE_CHECKING:
    from deltaskip.table.table import DeltaTable


@program.command("history")
@opens_table
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="Show only the N newest commits.")
def _history(source: CommandTable, as_json: bool, limit: int | None) -> None:
    """List the commits of a table, newest first."""
    show(history_entries(source.open(), limit), as_json, print_history)


def history_entries(table: DeltaTable, limit: int | None) -> list[dict[str, Any]]:
    """Return the table's history as values that JSON can represent."""
    import pyarrow as pa

    entries = table.history(limit)
    times = json_values(pa.array([entry.timestamp_ms for entry in entries], pa.timestamp("ms", "UTC")))
    return [
        {
            "version": entry.version,
            "timestamp": time,
            "operation": entry.operation,
            "operation_parameters": plain(entry.operation_parameters),
            "operation_metrics": plain(entry.operation_metrics),
            "user_id": entry.user_id,
            "user_name": entry.user_name,
            "engine_info": entry.engine_info,
        }
        for entry, time in zip(entries, times, strict=True)
    ]


def print_history(entries: Sequence[Mapping[str, Any]]) -> None:
    """Print the commits as text."""
    rows = [
        (
            str(entry["version"]),
            entry["timestamp"].partition(".")[0].replace("T", " "),
            entry["operation"] or "",
            ", ".join(f"{key}={value}" for key, value in entry["operation_parameters"].items()),
            entry["engine_info"] or "",
        )
        for entry in entries
    ]
    headings = [("time (UTC)", "left"), ("operation", "prose"), ("parameters", "prose"), ("engine", "prose")]
    print_table([("version", "right"), *headings], rows)
