"""The work and the output of `deltaskip vacuum`, `restore`, `clone` and `generate`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import click

from deltaskip.cli.display import counted, print_line, printable, progress_bar
from deltaskip.cli.opening import open_table
from deltaskip.maintenance.clone import clone as clone_table
from deltaskip.maintenance.restore import restore as restore_table
from deltaskip.maintenance.vacuum import vacuum as vacuum_table
from deltaskip.records import dataclass
from deltaskip.shown import human_bytes
from deltaskip.storage import open_storage
from deltaskip.table.maintain_methods import retention_ms

_SHOWN_FILES = 20


def vacuum(
    table: str,
    storage_options: Mapping[str, str],
    retention: str | None,
    dry_run: bool,
    lite: bool,
    enforced: bool,
    bar: bool,
) -> dict[str, Any]:
    """Vacuum a table; return the result for JSON."""
    opened = open_table(table, storage_options)
    with _progress(bar) as progress:
        result = vacuum_table(
            opened.snapshot,
            retention_ms(_hours(retention), opened.uri),
            dry_run,
            lite=lite,
            enforce_retention=enforced,
            progress=progress,
        )
    return {
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


def print_vacuum(done: Mapping[str, Any]) -> None:
    """Print the result of a vacuum as text."""
    did = "would delete" if done["dry_run"] else f"version {done['version']}: deleted"
    folders = f" and {_directories(len(done['directories']))}" if done["directories"] else ""
    seconds = sum(done["seconds"].values())
    files = counted(done["num_files"], "file")
    print_line(f"{did} {files} ({human_bytes(done['bytes'])}){folders} in {seconds:.1f} s")
    for path in _listed(done["files"]) if done["dry_run"] else ():
        click.echo(f"  {printable(path)}")


def restore(
    table: str,
    storage_options: Mapping[str, str],
    version: int | None,
    timestamp: str | None,
    checked: bool,
    dry_run: bool,
    bar: bool,
) -> dict[str, Any]:
    """Restore a version of a table; return the result for JSON."""
    opened = open_table(table, storage_options)
    chosen = open_table(table, storage_options, version=version, timestamp=timestamp).version
    start = perf_counter()
    with _progress(bar) as progress:
        result = restore_table(
            opened.snapshot, chosen, timestamp, check_files=checked, dry_run=dry_run, progress=progress
        )
    return {
        "table": opened.uri,
        "version": result.version,
        "dry_run": dry_run,
        "metrics": dict(result.metrics),
        "seconds": perf_counter() - start,
    }


def print_restored(done: Mapping[str, Any]) -> None:
    """Print the result of a restore as text."""
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


@dataclass(frozen=True, slots=True)
class CloneTarget:
    """The place of a clone, and its options."""

    target: str
    storage_options: Mapping[str, str]
    replace: bool
    properties: Mapping[str, str]


def clone(table: str, place: CloneTarget, version: int | None, timestamp: str | None, dry_run: bool) -> dict[str, Any]:
    """Clone a version of a table; return the result for JSON."""
    opened = open_table(table, place.storage_options, version=version, timestamp=timestamp)
    storage, root = open_storage(place.target, place.storage_options or None)
    result = clone_table(
        opened.snapshot, storage, root, replace_table=place.replace, properties=place.properties, dry_run=dry_run
    )
    return {
        "source": opened.uri,
        "source_version": opened.version,
        "table": root,
        "version": result.version,
        "dry_run": dry_run,
        "metrics": dict(result.metrics),
    }


def print_cloned(done: Mapping[str, Any]) -> None:
    """Print the result of a clone as text."""
    metrics = done["metrics"]
    files = f"{counted(metrics['sourceNumOfFiles'], 'file')} ({human_bytes(metrics['sourceTableSize'])})"
    removed = f", and removed {counted(metrics['numRemovedFiles'], 'file')}" if metrics["numRemovedFiles"] else ""
    did = "would clone" if done["dry_run"] else f"version {done['version']} of {done['table']}: cloned"
    print_line(f"{did} version {done['source_version']} of {done['source']} with {files}{removed}")


def generate(table: str, storage_options: Mapping[str, str], mode: Any) -> dict[str, Any]:
    """Write manifests of a table; return the result for JSON."""
    made = open_table(table, storage_options).generate(mode)
    return {"version": made.version, "written": list(made.written), "deleted": list(made.deleted)}


def print_generated(done: Mapping[str, Any]) -> None:
    """Print the manifests that were written and deleted as text."""
    deleted = f", deleted {counted(len(done['deleted']), 'manifest')}" if done["deleted"] else ""
    print_line(f"version {done['version']}: wrote {counted(len(done['written']), 'manifest')}{deleted}")


def _hours(retention: str | None) -> float | str | None:
    """A number of hours, or the text of an interval."""
    try:
        return None if retention is None else float(retention)
    except ValueError:
        return retention


def _directories(count: int) -> str:
    return "1 directory" if count == 1 else f"{count:,} directories"


def _listed(paths: list[str]) -> list[str]:
    """The paths; of many, the first ones."""
    if len(paths) <= _SHOWN_FILES:
        return paths
    return [*paths[:_SHOWN_FILES], f"... {len(paths) - _SHOWN_FILES:,} more"]


@contextmanager
def _progress(shown: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Yield what shows the number of files that are listed and deleted on standard error."""
    text = "{task.completed:,} files {task.fields[phase]}"
    with progress_bar(shown, "bar", text, "time", transient=True, phase="listed") as update:
        yield lambda phase, done, total: update(completed=done, total=total or None, phase=phase)
