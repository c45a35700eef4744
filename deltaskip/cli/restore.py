"""`deltaskip restore`: an earlier version of a table becomes the latest."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import click

from deltaskip.cli import command_line
from deltaskip.cli.display import counted, file_progress, print_line
from deltaskip.cli.open_table import open_table
from deltaskip.shown import human_bytes


@command_line.program.command("restore")
@command_line.written_table
@click.option("--version", type=click.IntRange(min=0), metavar="N", help="Version to restore.")
@click.option("--timestamp", metavar="TIME", help="Restore the latest version at this time, such as 2026-01-31T12:00Z.")
@click.option("--no-check-files", is_flag=True, help="Do not check that the version's files exist.")
@command_line.dry_run_option
@command_line.json_option
@command_line.debug_option
def _restore(
    table: str,
    storage_options: dict[str, str],
    version: int | None,
    timestamp: str | None,
    no_check_files: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make an earlier version the latest again, in one commit."""
    if (version is None) == (timestamp is None):
        raise click.UsageError("Specify either --version or --timestamp.")
    from deltaskip.maintenance.restore import restore

    opened = open_table(table, storage_options)
    chosen = open_table(table, storage_options, version=version, timestamp=timestamp).version
    start = perf_counter()
    with file_progress(not as_json and sys.stderr.isatty()) as progress:
        result = restore(
            opened.snapshot, chosen, timestamp, check_files=not no_check_files, dry_run=dry_run, progress=progress
        )
    done = {
        "table": opened.uri,
        "version": result.version,
        "dry_run": dry_run,
        "metrics": dict(result.metrics),
        "seconds": perf_counter() - start,
    }
    command_line.show(done, as_json, _print_restored)


def _print_restored(done: Mapping[str, Any]) -> None:
    metrics = done["metrics"]
    if not metrics:
        print_line("restored nothing: the table is at that version")
        return
    did, removed = (
        ("would restore", "remove") if done["dry_run"] else (f"version {done['version']}: restored", "removed")
    )
    print_line(
        f"{did} {counted(metrics['numRestoredFiles'], 'file')} ({human_bytes(metrics['restoredFilesSize'])}) and "
        f"{removed} {counted(metrics['numRemovedFiles'], 'file')} ({human_bytes(metrics['removedFilesSize'])}); the "
        f"table then has {counted(metrics['numOfFilesAfterRestore'], 'file')} "
        f"({human_bytes(metrics['tableSizeAfterRestore'])})"
    )
