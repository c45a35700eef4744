"""`deltaskip history`, `restore` and `clone`: the versions of a table."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import click

from deltaskip.cli import command_line
from deltaskip.cli.display import counted, file_progress, json_values, plain, print_line, print_table
from deltaskip.shown import human_bytes

_OF_COMMIT = ("operation", "operation_parameters", "operation_metrics", "user_id", "user_name", "engine_info")


@command_line.program.command("history")
@command_line.opens_table
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="Show only the N newest commits.")
def _history(source: command_line.CommandTable, as_json: bool, limit: int | None) -> None:
    """List the commits of a table, newest first."""
    import pyarrow as pa

    entries = source.open().history(limit)
    times = json_values(pa.array([entry.timestamp_ms for entry in entries], pa.timestamp("ms", "UTC")))
    done = [
        {"version": entry.version, "timestamp": time} | {name: plain(getattr(entry, name)) for name in _OF_COMMIT}
        for entry, time in zip(entries, times, strict=True)
    ]
    command_line.show(done, as_json, _print_history)


def _print_history(entries: Sequence[Mapping[str, Any]]) -> None:
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


@command_line.program.command("restore")
@command_line.opens_table
@click.option("--no-check-files", is_flag=True, help="Do not check that the version's files exist.")
@command_line.dry_run_option
def _restore(source: command_line.CommandTable, no_check_files: bool, dry_run: bool, as_json: bool) -> None:
    """Make an earlier version the latest again, in one commit."""
    if (source.version is None) == (source.timestamp is None):
        raise click.UsageError("Specify either --version or --timestamp.")
    from deltaskip.maintenance.restore import restore

    opened, chosen = replace(source, version=None, timestamp=None).open(), source.open().version
    start = perf_counter()
    with file_progress(not as_json and sys.stderr.isatty()) as progress:
        result = restore(
            opened.snapshot,
            chosen,
            source.timestamp,
            check_files=not no_check_files,
            dry_run=dry_run,
            progress=progress,
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


@command_line.program.command("clone", short_help="Make a table with the rows of another one.")
@command_line.opens_table
@click.argument("target")
@click.option("--replace", "replace_table", is_flag=True, help="Replace a table that is at TARGET.")
@command_line.pairs_option("--property", "properties", help="Table property of the clone.")
@command_line.dry_run_option
def _clone(
    source: command_line.CommandTable,
    target: str,
    replace_table: bool,
    properties: dict[str, str],
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make a table at TARGET with the rows of another one, without copying its files.

    The clone refers to the files of TABLE, which a VACUUM of TABLE may delete.
    """
    from deltaskip.maintenance.clone import clone
    from deltaskip.storage import open_storage

    opened = source.open()
    storage, root = open_storage(target, source.storage_options or None)
    result = clone(opened.snapshot, storage, root, replace_table=replace_table, properties=properties, dry_run=dry_run)
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
