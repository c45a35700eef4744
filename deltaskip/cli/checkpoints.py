"""Output of `deltaskip checkpoint`: the checkpoint that was written, and deleted log files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli.display import counted, human_bytes, printable

if TYPE_CHECKING:
    from deltaskip.table.table import DeltaTable


def checkpoint(table: DeltaTable, clean_up: bool) -> dict[str, Any]:
    """Write a checkpoint of the table's version, optionally clean up its log; return the result for JSON."""
    made = table.checkpoint()
    return {
        "version": made.version,
        "checkpoint": made.path,
        "written": made.written,
        "actions": made.num_actions,
        "files": made.num_adds,
        "bytes": made.size_bytes,
        "sidecars": len(made.sidecars),
        "deleted": table.clean_up_log() if clean_up else [],
    }


def print_checkpoint(done: dict[str, Any]) -> None:
    """Print the result as text."""
    where = printable(done["checkpoint"])
    if done["written"]:
        sidecars = f" in {counted(done['sidecars'], 'sidecar')}" if done["sidecars"] else ""
        size = human_bytes(done["bytes"])
        click.echo(f"version {done['version']}: wrote {where} ({counted(done['files'], 'file')}{sidecars}, {size})")
    else:
        click.echo(f"version {done['version']} already has a checkpoint: {where}")
    if done["deleted"]:
        click.echo(f"deleted {counted(len(done['deleted']), 'log file')}")
