"""`deltaskip optimize`, `vacuum`, `checkpoint` and `generate`: the files of a table and of its log."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import click

from deltaskip.cli import command_line
from deltaskip.cli.display import counted, file_progress, print_line, progress_bar
from deltaskip.printable import printable
from deltaskip.shown import human_bytes

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30}


def _bytes(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    if value is None:
        return None
    text = value.strip().upper()
    digits = text.rstrip("KMGIB ")
    unit = text[len(digits) :].strip()
    if not digits.isascii() or not digits.isdigit() or unit not in _UNITS or not int(digits):
        raise click.BadParameter(f"{value!r} is not a size such as 256MiB, 1GiB or 134217728")
    return int(digits) * _UNITS[unit]


@command_line.program.command("optimize", short_help="Join small files, purge deleted rows, and order rows.")
@command_line.written_table
@command_line.where_option
@command_line.param_option
@command_line.columns_option("--zorder-by", help="Columns to order rows by.")
@click.option(
    "--target-file-size",
    "target_file_bytes",
    metavar="SIZE",
    callback=_bytes,
    help="Size of new files, such as 256MiB. [default: property delta.targetFileSize, otherwise 1GiB]",
)
@click.option("--full", is_flag=True, help="Cluster all files of a clustered table again.")
@click.option("--purge", is_flag=True, help="Rewrite every file of which rows are deleted, and no other.")
@command_line.columns_option(
    "--bloom", help="Rewrite every file without a Bloom filter of these columns, and no other."
)
@command_line.txn_option("Optimize nothing if the table contains this version of the application or a later one.")
@command_line.time_zone_option("Time zone of --where.")
@command_line.dry_run_option
def _optimize(
    source: command_line.CommandTable, where: tuple[str, ...], params: tuple[str, ...], as_json: bool, **chosen: Any
) -> None:
    """Join small files, purge deleted rows, and order rows so that filters skip more files.

    No row changes. --where takes partition columns only. A clustered table is ordered by its clustering columns.
    """
    from deltaskip.cli.where_options import predicate

    opened, predicates = source.open(), predicate(where, params)
    start = perf_counter()
    with progress_bar(not as_json and not chosen["dry_run"] and sys.stderr.isatty(), "bar", "bytes", "time") as update:
        result = opened.optimize(predicates, progress=lambda done, total: update(completed=done, total=total), **chosen)
    done = {"table": opened.uri, **result.to_dict(), "seconds": perf_counter() - start}
    command_line.show(done, as_json, _print_optimized)


def _print_optimized(done: Mapping[str, Any]) -> None:
    added, removed = done["added"], done["removed"]
    if done["nothing_written"]:
        print_line(f"rewrote nothing, {done['nothing_written']}")
    elif not removed["files"]:
        print_line(f"nothing to do: {counted(done['considered'], 'file')} of {done['table']}")
    else:
        columns = ", ".join(done["columns"])
        if done["kind"] == "bloom":
            columns = f", with Bloom filters of {columns}"
        elif columns:
            columns = f", ordered by {columns} ({done['curve']})"
        files = (
            f"{counted(removed['files'], 'file')} ({human_bytes(removed['bytes'])}) of "
            f"{counted(done['partitions'], 'partition')}"
        )
        if done["dry_run"]:
            print_line(f"would rewrite {files} as about {counted(added['files'], 'file')}{columns}")
        else:
            made = f"{counted(added['files'], 'file')} ({human_bytes(added['bytes'])})"
            versions = ", ".join(map(str, done["versions"]))
            print_line(f"version {versions}: rewrote {files} as {made}{columns} in {done['seconds']:.1f} s")
        if done["vectors_removed"]:
            vectors, rows = counted(done["vectors_removed"], "deletion vector"), counted(done["deleted_rows"], "row")
            print_line(f"{vectors} of {rows} {'would go' if done['dry_run'] else 'are not needed any more'}")
    if done["left_out"]:
        print_line(f"left out {counted(done['left_out'], 'file')} that other writers changed meanwhile: run it again")


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
def _vacuum(
    source: command_line.CommandTable,
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

    opened = source.open()
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
    count = len(done["directories"])
    folders = "" if not count else " and 1 directory" if count == 1 else f" and {count:,} directories"
    seconds = sum(done["seconds"].values())
    files = counted(done["num_files"], "file")
    print_line(f"{did} {files} ({human_bytes(done['bytes'])}){folders} in {seconds:.1f} s")
    if done["dry_run"]:
        _list_files(done["files"])


@command_line.program.command("checkpoint")
@command_line.opens_table
@click.option("--clean-up", is_flag=True, help="Also delete expired log files that no retained version needs.")
def _checkpoint(source: command_line.CommandTable, as_json: bool, clean_up: bool) -> None:
    """Write a checkpoint of a table.

    Readers then read the checkpoint instead of the commits before it.
    """
    table = source.open()
    made = table.checkpoint()
    done = {
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
    command_line.show(done, as_json, _print_checkpoint)


def _print_checkpoint(done: Mapping[str, Any]) -> None:
    where = done["checkpoint"]
    if done["written"]:
        sidecars = f" in {counted(done['sidecars'], 'sidecar')}" if done["sidecars"] else ""
        size = human_bytes(done["bytes"])
        print_line(f"version {done['version']}: wrote {where} ({counted(done['files'], 'file')}{sidecars}, {size})")
    else:
        print_line(f"version {done['version']} already has a checkpoint: {where}")
    if done["deleted"]:
        print_line(f"deleted {counted(len(done['deleted']), 'log file')}:")
        _list_files(done["deleted"])
    elif done["cleaned_up"]:
        print_line("deleted no log file: none is both older than delta.logRetentionDuration and not needed")


def _list_files(names: list[str]) -> None:
    """Print names; of many, the first and the last."""
    half = _SHOWN_FILES // 2
    if len(names) > _SHOWN_FILES:
        names = [*names[:half], f"... {len(names) - 2 * half:,} more", *names[-half:]]
    for name in names:
        click.echo(f"  {printable(name)}")


@command_line.program.command("generate", short_help="Write manifests for engines that read Parquet files.")
@command_line.written_table
@click.argument("mode", type=click.Choice(["symlink_format_manifest"]), default="symlink_format_manifest")
def _generate(source: command_line.CommandTable, mode: Any, as_json: bool) -> None:
    """Write manifests for engines that read Parquet files by a list of their paths."""
    made = source.open().generate(mode)
    done = {"version": made.version, "written": list(made.written), "deleted": list(made.deleted)}
    command_line.show(done, as_json, _print_generated)


def _print_generated(done: Mapping[str, Any]) -> None:
    deleted = f", deleted {counted(len(done['deleted']), 'manifest')}" if done["deleted"] else ""
    print_line(f"version {done['version']}: wrote {counted(len(done['written']), 'manifest')}{deleted}")
