"""`deltaskip vacuum`: files that no retained version needs are deleted."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from deltaskip.cli import command_line
from deltaskip.cli.display import counted, file_progress, print_line
from deltaskip.cli.open_table import open_table
from deltaskip.printable import printable
from deltaskip.shown import human_bytes

_SHOWN_FILES = 20


@command_line.program.command("vacuum", short_help="Delete files that no retained version needs.")
@command_line.written_table
@click.option(
    "--retention",
    metavar="TIME",
    help="How long removed files are kept: hours, or an interval such as '7 days'. [default: the table's]",
)
@click.option("--lite", is_flag=True, help="Find files by the commits in the log, without listing the folder.")
@click.option("--no-enforce-retention", is_flag=True, help="Allow a retention that is shorter than the table's.")
@command_line.dry_run_option
@command_line.json_option
@command_line.debug_option
def _vacuum(
    table: str,
    storage_options: dict[str, str],
    retention: str | None,
    lite: bool,
    no_enforce_retention: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Delete the files of a table's folder that no retained version needs.

    Versions older than the retention cannot be read afterwards.
    """
    from deltaskip.maintenance.vacuum import vacuum
    from deltaskip.table.maintain_methods import retention_ms

    opened = open_table(table, storage_options)
    with file_progress(not as_json and sys.stderr.isatty()) as progress:
        result = vacuum(
            opened.snapshot,
            retention_ms(_hours(retention), opened.uri),
            dry_run,
            lite=lite,
            enforce_retention=not no_enforce_retention,
            progress=progress,
        )
    done = {
        "table": opened.uri,
        "version": result.version,
        "dry_run": result.dry_run,
        "num_files": result.num_files,
        "bytes": result.size_in_bytes,
        "files": result.files,
        "directories": list(result.directories),
        "sidecars": list(result.sidecars),
        "left_over": list(result.left_over),
        "metrics": dict(result.metrics),
        "seconds": dict(result.seconds),
    }
    command_line.show(done, as_json, _print_vacuum)


def _hours(retention: str | None) -> float | str | None:
    """A number of hours, or the text of an interval."""
    try:
        return None if retention is None else float(retention)
    except ValueError:
        return retention


def _print_vacuum(done: Mapping[str, Any]) -> None:
    did = "would delete" if done["dry_run"] else f"version {done['version']}: deleted"
    folders = f" and {_directories(len(done['directories']))}" if done["directories"] else ""
    seconds = sum(done["seconds"].values())
    files = counted(done["num_files"], "file")
    print_line(f"{did} {files} ({human_bytes(done['bytes'])}){folders} in {seconds:.1f} s")
    for path in _listed(done["files"]) if done["dry_run"] else ():
        click.echo(f"  {printable(path)}")


def _directories(count: int) -> str:
    return "1 directory" if count == 1 else f"{count:,} directories"


def _listed(paths: list[str]) -> list[str]:
    """The paths; of many, the first ones."""
    if len(paths) <= _SHOWN_FILES:
        return paths
    return [*paths[:_SHOWN_FILES], f"... {len(paths) - _SHOWN_FILES:,} more"]
