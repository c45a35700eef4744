"""`deltaskip optimize`: small files are joined, deleted rows purged, and rows ordered."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import click

from deltaskip.cli import command_line
from deltaskip.cli.display import counted, print_line, progress_bar
from deltaskip.cli.open_table import open_table
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
@command_line.json_option
@command_line.debug_option
def _optimize(
    table: str,
    storage_options: dict[str, str],
    where: tuple[str, ...],
    params: tuple[str, ...],
    as_json: bool,
    **chosen: Any,
) -> None:
    """Join small files, purge deleted rows, and order rows so that filters skip more files.

    No row changes. --where takes partition columns only. A clustered table is ordered by its clustering columns.
    """
    from deltaskip.cli.where_options import predicate

    opened, predicates = open_table(table, storage_options), predicate(where, params)
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
