"""`deltaskip checkpoint`: the checkpoint that was written, and deleted log files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli.command_line import CommandTable, opens_table, program, show
from deltaskip.cli.display import counted, print_line
from deltaskip.printable import printable
from deltaskip.shown import human_bytes

if TYPE_CHECKING:
    from deltaskip.table.table import DeltaTable

_SHOWN_FILES = 20


@program.command("checkpoint")
@opens_table
@click.option("--clean-up", is_flag=True, help="Also delete expired log files that no retained version needs.")
def _checkpoint(source: CommandTable, as_json: bool, clean_up: bool) -> None:
    """Write a checkpoint of a table.

    Readers then read the checkpoint instead of the commits before it.
    """
    show(checkpoint(source.open(), clean_up), as_json, print_checkpoint)


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
        "cleaned_up": clean_up,
    }


def print_checkpoint(done: dict[str, Any]) -> None:
    """Print the result as text."""
    where = done["checkpoint"]
    if done["written"]:
        sidecars = f" in {counted(done['sidecars'], 'sidecar')}" if done["sidecars"] else ""
        size = human_bytes(done["bytes"])
        print_line(f"version {done['version']}: wrote {where} ({counted(done['files'], 'file')}{sidecars}, {size})")
    else:
        print_line(f"version {done['version']} already has a checkpoint: {where}")
    if done["deleted"]:
        print_line(f"deleted {counted(len(done['deleted']), 'log file')}:")
        for name in _listed(done["deleted"]):
            click.echo(f"  {printable(name)}")
    elif done["cleaned_up"]:
        print_line("deleted no log file: none is both older than delta.logRetentionDuration and not needed")


def _listed(names: list[str]) -> list[str]:
    """The names; of many, the first and the last."""
    if len(names) <= _SHOWN_FILES:
        return names
    half = _SHOWN_FILES // 2
    return [*names[:half], f"... {len(names) - 2 * half:,} more", *names[-half:]]
