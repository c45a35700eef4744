"""`deltaskip clone`: a table with the rows of another one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from deltaskip.cli import command_line
from deltaskip.cli.display import counted, print_line
from deltaskip.cli.open_table import open_table
from deltaskip.shown import human_bytes


@command_line.program.command("clone", short_help="Make a table with the rows of another one.")
@command_line.written_table
@click.argument("target")
@click.option("--version", type=click.IntRange(min=0), metavar="N", help="Version to clone. [default: latest]")
@click.option("--timestamp", metavar="TIME", help="Clone the latest version at this time.")
@click.option("--replace", is_flag=True, help="Replace a table that is at TARGET.")
@command_line.pairs_option("--property", "properties", help="Table property of the clone.")
@command_line.dry_run_option
@command_line.json_option
@command_line.debug_option
def _clone(
    table: str,
    storage_options: dict[str, str],
    target: str,
    version: int | None,
    timestamp: str | None,
    replace: bool,
    properties: dict[str, str],
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make a table at TARGET with the rows of another one, without copying its files.

    The clone refers to the files of TABLE, which a VACUUM of TABLE may delete.
    """
    if version is not None and timestamp is not None:
        raise click.UsageError("Specify either --version or --timestamp, not both.")
    from deltaskip.maintenance.clone import clone
    from deltaskip.storage import open_storage

    opened = open_table(table, storage_options, version=version, timestamp=timestamp)
    storage, root = open_storage(target, storage_options or None)
    result = clone(opened.snapshot, storage, root, replace_table=replace, properties=properties, dry_run=dry_run)
    done = {
        "source": opened.uri,
        "source_version": opened.version,
        "table": root,
        "version": result.version,
        "dry_run": dry_run,
        "metrics": dict(result.metrics),
    }
    command_line.show(done, as_json, _print_cloned)


def _print_cloned(done: Mapping[str, Any]) -> None:
    metrics = done["metrics"]
    files = f"{counted(metrics['sourceNumOfFiles'], 'file')} ({human_bytes(metrics['sourceTableSize'])})"
    removed = f", and removed {counted(metrics['numRemovedFiles'], 'file')}" if metrics["numRemovedFiles"] else ""
    did = "would clone" if done["dry_run"] else f"version {done['version']} of {done['table']}: cloned"
    print_line(f"{did} version {done['source_version']} of {done['source']} with {files}{removed}")
