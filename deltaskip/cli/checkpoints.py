"""Checkpoints written and logs cleaned up, for `deltaskip checkpoint`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli.display import counted, human_bytes, printable

if TYPE_CHECKING:
    from deltaskip.table.table import DeltaTable


def checkpoint(table: DeltaTable, clean_up: bool) -> dict[str, Any]:
    """Write the checkpoint of the table's version, clean up its log if asked to; what was done, as JSON can hold it."""
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
    """Prints for people what was done."""
    where = printable(done["checkpoint"])
    if done["written"]:
        sidecars = f" in {counted(done['sidecars'], 'sidecar')}" if done["sidecars"] else ""
        size = human_bytes(done["bytes"])
        click.echo(f"version {done['version']}: {counted(done['files'], 'file')}{sidecars}, {size}, in {where}")
    else:
        click.echo(f"version {done['version']} has its checkpoint already: {where}")
    if done["deleted"]:
        click.echo(f"{counted(len(done['deleted']), 'file')} of the log deleted")
