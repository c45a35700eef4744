"""Commands that read a table, and those that maintain its log and stats."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from deltaskip.cli.program import (
    CommandTable,
    debug_option,
    float_bounds_option,
    json_option,
    may_open_table,
    names,
    opens_table,
    param_option,
    program,
    show,
    takes_predicate,
)


@program.command("files")
@opens_table
@takes_predicate
@float_bounds_option
@click.option("--limit", type=click.IntRange(min=0), metavar="N", help="List only as many files as N rows need.")
@click.option("--paths", is_flag=True, help="Print only paths, one per line, as spark.read.parquet accepts them.")
def _files(source: CommandTable, as_json: bool, chosen: dict[str, Any], limit: int | None, paths: bool) -> None:
    """List the files that can contain matching rows."""
    if paths and as_json:
        raise click.UsageError("Specify either --paths or --json, not both.")
    opened = source.open()
    if paths:
        scan = opened.scan(**chosen, limit=limit)
        sys.stdout.writelines(f"{path}\n" for path in scan.paths())
        return
    from deltaskip.cli.files import JSON_COLUMNS, TEXT_COLUMNS, counting, write_json, write_text

    columns, write = (JSON_COLUMNS, write_json) if as_json else (TEXT_COLUMNS, write_text)
    # Counting reads the complete list of files, planning only a part of it; they run in parallel.
    with counting(opened, always=as_json) as total_files:
        files = opened.scan(**chosen, limit=limit).files(columns=columns)
        write(sys.stdout, opened.version, total_files(), files)


def _plot_file(_context: click.Context, _parameter: click.Parameter, path: Path | None) -> Path | None:
    if path is not None and path.suffix.lower() not in (".png", ".svg"):
        raise click.BadParameter(f"{str(path)!r} does not end in .png or .svg")
    return path


@program.command("explain")
@opens_table
@takes_predicate
@float_bounds_option
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    callback=_plot_file,
    help="Draw which files each part of the predicate skips, to a .svg file, or with Pillow a .png file.",
)
def _explain(source: CommandTable, as_json: bool, chosen: dict[str, Any], plot: Path | None) -> None:
    """Show which files each part of a predicate skips.

    For parts that skip no files, or fewer than they could, also show the reason.
    """
    explained = source.open().scan(**chosen).explain()
    if plot is not None:
        explained.save_plot(plot)
        click.echo(f"wrote the plot to {plot}", err=True)
    from deltaskip.cli.explain import print_explanation

    show(explained, as_json, print_explanation)


@program.command("inspect")
@opens_table
def _inspect(source: CommandTable, as_json: bool) -> None:
    """Show protocol, size, log and properties of a table.

    Also shows which columns have stats.
    """
    from deltaskip.cli.inspect import inspect, print_inspection

    show(inspect(source.open()), as_json, print_inspection)


@program.command("stats")
@opens_table
@float_bounds_option
@click.option("--recompute", is_flag=True, help="Compute statistics and commit them.")
@click.option("--spark", "with_spark", is_flag=True, help="With --recompute: let a local Spark session read the files.")
@click.option("--dry-run", is_flag=True, help="With --recompute: show what would be computed, and change nothing.")
@click.option(
    "--where",
    multiple=True,
    metavar="SQL",
    help="Recompute only files that can contain rows matching this predicate. Can be repeated: all of them must hold.",
)
@param_option
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME",
    callback=names,
    help="Recompute these columns. Can be repeated.",
)
@click.option(
    "--collation-version",
    "collation_versions",
    multiple=True,
    metavar="V",
    help="Compute bounds of collated columns in this version, such as 77.1. Can be repeated.",
)
@click.option(
    "--mode",
    type=click.Choice(["auto", "footer", "scan"]),
    default="auto",
    show_default=True,
    help="footer: read Parquet footers; scan: read all values; auto: read values where footers do not suffice.",
)
@click.option("--only-missing", is_flag=True, help="Recompute only files that lack stats.")
@click.option(
    "--resume/--no-resume",
    default=True,
    show_default=True,
    help="Skip files that an interrupted run already finished.",
)
def _stats(
    source: CommandTable, as_json: bool, recompute: bool, with_spark: bool, dry_run: bool, **chosen: Any
) -> None:
    """Report or recompute column stats.

    The report shows how many files have statistics, how well columns prune, and what OPTIMIZE would gain. All options
    except those that choose the table and the output need --recompute.
    """
    from deltaskip.cli import stats

    if not recompute:
        _check_report_only()
        show(stats.statistics_report(source.open()), as_json, stats.print_report)
        return
    if not source.is_latest:
        raise click.UsageError("--recompute works on the latest version; remove --version and --timestamp.")
    opened = source.open()
    options = stats.options(**chosen)
    if dry_run:
        show(opened.recompute_plan(**options), as_json, stats.print_plan)
        return
    done = stats.recompute(opened, options, with_spark, bar=not as_json and sys.stderr.isatty())
    show(done, as_json, stats.print_recomputed)


def _check_report_only() -> None:
    """Raise UsageError if an option is given that only a recomputation has."""
    context = click.get_current_context()
    for parameter in context.command.params:
        given = parameter.name and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
        if given and parameter.name not in _REPORT_OPTIONS:
            raise click.UsageError(f"{parameter.opts[0]} needs --recompute.")


_REPORT_OPTIONS = ("table", "version", "timestamp", "storage_options", "float_bounds", "as_json", "debug")


@program.command("history")
@opens_table
@click.option("-n", "--limit", type=click.IntRange(min=1), metavar="N", help="Show only the N newest commits.")
def _history(source: CommandTable, as_json: bool, limit: int | None) -> None:
    """List the commits of a table, newest first."""
    from deltaskip.cli.history import history, print_history

    show(history(source.open(), limit), as_json, print_history)


@program.command("changes")
@opens_table
@takes_predicate
@float_bounds_option
@click.option("--start", metavar="N|TIME", help="First version, or the first at or after a time. [default: 0]")
@click.option("--end", metavar="N|TIME", help="Last version, or the last at or before a time. [default: --version]")
@click.option(
    "--allow-out-of-range", is_flag=True, help="No error if --start is after the latest version, or --end a later time."
)
@click.option("--files", "list_files", is_flag=True, help="Print a line for each file instead of each version.")
def _changes(
    source: CommandTable,
    as_json: bool,
    chosen: dict[str, Any],
    start: str | None,
    end: str | None,
    allow_out_of_range: bool,
    list_files: bool,
) -> None:
    """List the changes of a range of versions.

    Shows for each version the files with rows that it inserted, deleted or updated (change data feed).
    """
    from deltaskip.cli import changes

    strict = chosen.pop("strict")
    bounds = changes.bound(start), changes.bound(end)
    scan = source.open().changes(*bounds, **chosen, allow_out_of_range=allow_out_of_range, strict=strict)
    if as_json:
        changes.write_json(scan)
    else:
        changes.print_changes(scan, list_files)


@program.command("collations")
@may_open_table
def _collations(source: CommandTable, as_json: bool) -> None:
    """List available collation versions.

    With TABLE, also list its collated columns and the versions that they need.
    """
    from deltaskip.cli import collations

    if source.table is None and (not source.is_latest or source.storage_options):
        raise click.UsageError("--version, --timestamp and --option need a TABLE.")
    found = collations.collations(None if source.table is None else source.open())
    show(found, as_json, collations.print_collations)


@program.command("checkpoint")
@opens_table
@click.option("--clean-up", is_flag=True, help="Also delete expired log files that no retained version needs.")
def _checkpoint(source: CommandTable, as_json: bool, clean_up: bool) -> None:
    """Write a checkpoint of a table.

    Readers then read the checkpoint instead of the commits before it.
    """
    from deltaskip.cli.checkpoint import checkpoint, print_checkpoint

    show(checkpoint(source.open(), clean_up), as_json, print_checkpoint)


@program.command("demo")
@click.option("--keep", type=click.Path(path_type=Path), metavar="DIR", help="Create the table in DIR and keep it.")
@json_option
@debug_option
def _demo(keep: Path | None, as_json: bool) -> None:
    """Create, prune and read a sample table.

    Uses a local Spark session; without Java or PySpark, pyarrow writes and reads the table. Compares the times of the
    pruned read and a full read.
    """
    from deltaskip import demo

    outcome = demo.run(keep, report=(lambda _line: None) if as_json else click.echo)
    show(outcome, as_json, lambda _outcome: None)
