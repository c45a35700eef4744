"""Commands that keep a table in shape: larger files, files that nobody needs, earlier versions, clones, manifests."""

from __future__ import annotations

import sys
from typing import Any

import click

from deltaskip.cli.program import (
    debug_option,
    json_option,
    names,
    pairs,
    param_option,
    program,
    show,
    txn_option,
    where_option,
    written_table,
)

_dry_run = click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")


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


@program.command("optimize", short_help="Join small files, purge deleted rows, and order rows.")
@written_table
@where_option
@param_option
@click.option(
    "--zorder-by", multiple=True, metavar="NAME", callback=names, help="Columns to order rows by. Can be repeated."
)
@click.option(
    "--target-file-size",
    "target_file_bytes",
    metavar="SIZE",
    callback=_bytes,
    help="Size of new files, such as 256MiB. [default: property delta.targetFileSize, otherwise 1GiB]",
)
@click.option("--full", is_flag=True, help="Cluster all files of a clustered table again.")
@click.option("--purge", is_flag=True, help="Rewrite every file of which rows are deleted, and no other.")
@txn_option("Optimize nothing if the table contains this version of the application or a later one.")
@click.option("--time-zone", default="UTC", show_default=True, metavar="ZONE", help="Time zone of --where.")
@_dry_run
@json_option
@debug_option
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
    from deltaskip.cli.opening import open_table
    from deltaskip.cli.optimize import optimize, print_optimized
    from deltaskip.cli.predicates import predicate

    opened = open_table(table, storage_options)
    bar = not as_json and not chosen["dry_run"] and sys.stderr.isatty()
    done = optimize(opened, predicate(where, params), chosen, bar)
    show(done, as_json, print_optimized)


@program.command("vacuum", short_help="Delete files that no retained version needs.")
@written_table
@click.option(
    "--retention",
    metavar="TIME",
    help="How long removed files are kept: hours, or an interval such as '7 days'. [default: the table's]",
)
@click.option("--lite", is_flag=True, help="Find files by the commits in the log, without listing the folder.")
@click.option("--no-enforce-retention", is_flag=True, help="Allow a retention that is shorter than the table's.")
@_dry_run
@json_option
@debug_option
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
    from deltaskip.cli import maintaining

    bar = not as_json and sys.stderr.isatty()
    done = maintaining.vacuum(table, storage_options, retention, dry_run, lite, not no_enforce_retention, bar)
    show(done, as_json, maintaining.print_vacuum)


@program.command("restore")
@written_table
@click.option("--version", type=click.IntRange(min=0), metavar="N", help="Version to restore.")
@click.option("--timestamp", metavar="TIME", help="Restore the latest version at this time, such as 2026-01-31T12:00Z.")
@click.option("--no-check-files", is_flag=True, help="Do not check that the version's files exist.")
@_dry_run
@json_option
@debug_option
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
    from deltaskip.cli import maintaining

    bar = not as_json and sys.stderr.isatty()
    done = maintaining.restore(table, storage_options, version, timestamp, not no_check_files, dry_run, bar)
    show(done, as_json, maintaining.print_restored)


@program.command("clone", short_help="Make a table with the rows of another one.")
@written_table
@click.argument("target")
@click.option("--version", type=click.IntRange(min=0), metavar="N", help="Version to clone. [default: latest]")
@click.option("--timestamp", metavar="TIME", help="Clone the latest version at this time.")
@click.option("--replace", is_flag=True, help="Replace a table that is at TARGET.")
@click.option(
    "--property",
    "properties",
    multiple=True,
    metavar="KEY=VALUE",
    callback=pairs,
    help="Table property of the clone. Can be repeated.",
)
@_dry_run
@json_option
@debug_option
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
    from deltaskip.cli import maintaining

    place = maintaining.CloneTarget(target, storage_options, replace, properties)
    show(maintaining.clone(table, place, version, timestamp, dry_run), as_json, maintaining.print_cloned)


@program.command("generate", short_help="Write manifests for engines that read Parquet files.")
@written_table
@click.argument("mode", type=click.Choice(["symlink_format_manifest"]), default="symlink_format_manifest")
@json_option
@debug_option
def _generate(table: str, storage_options: dict[str, str], mode: str, as_json: bool) -> None:
    """Write manifests for engines that read Parquet files by a list of their paths."""
    from deltaskip.cli import maintaining

    show(maintaining.generate(table, storage_options, mode), as_json, maintaining.print_generated)
