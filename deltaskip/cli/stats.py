"""`deltaskip stats`: files with statistics, the gain of an OPTIMIZE, and the result of a recomputation."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from deltaskip.cli import command_line
from deltaskip.cli.display import average, counted, print_json, print_line, print_lines, print_table, progress_bar
from deltaskip.cli.open_table import session
from deltaskip.shown import human_bytes

if TYPE_CHECKING:
    from deltaskip.maintenance.optimize.gain import ExpectedGain, MeasuredGain
    from deltaskip.maintenance.recompute.recomputed import Recomputed, RecomputePlan
    from deltaskip.stats.coverage import TableCoverage
    from deltaskip.table.table import DeltaTable

_REPORT_OPTIONS = ("table", "version", "timestamp", "storage_options", "float_bounds", "as_json", "debug")
_BATCH_FILES = 20_000
# An older OPTIMIZE says little about the present table.
_LATEST_COMMITS = 20


@command_line.program.command("stats")
@command_line.opens_table
@command_line.float_bounds_option
@click.option("--recompute", is_flag=True, help="Compute statistics and commit them.")
@click.option("--spark", "with_spark", is_flag=True, help="With --recompute: let a local Spark session read the files.")
@click.option("--dry-run", is_flag=True, help="With --recompute: show what would be computed, and change nothing.")
@click.option(
    "--where",
    multiple=True,
    metavar="SQL",
    help="Recompute only files that can contain rows matching this predicate. Can be repeated: all of them must hold.",
)
@command_line.param_option
@command_line.columns_option("--column", "columns", help="Recompute these columns.")
@click.option(
    "--collation-version",
    "collation_versions",
    multiple=True,
    metavar="V",
    help="Compute bounds of collated columns in this version, such as 77.1. Can be repeated.",
)
@command_line.choice_option(
    "--mode",
    values=["auto", "footer", "scan"],
    help="footer: read Parquet footers; scan: read all values; auto: read values where footers do not suffice.",
)
@click.option("--only-missing", is_flag=True, help="Recompute only files that lack stats.")
@click.option(
    "--resume/--no-resume", default=True, show_default=True, help="Skip files that an interrupted run already finished."
)
@click.option(
    "--index", is_flag=True, help="Build the key index of the columns in deltaskip.keyIndexColumns from all files, too."
)
def _stats(
    source: command_line.CommandTable,
    as_json: bool,
    recompute: bool,
    with_spark: bool,
    dry_run: bool,
    index: bool,
    **chosen: Any,
) -> None:
    """Report or recompute column stats.

    The report shows how many files have statistics, how well columns prune, and what OPTIMIZE would gain. All options
    except those that choose the table and the output need --recompute.
    """
    if not recompute:
        _check_report_only()
        _report(source.open(), as_json)
        return
    if not source.is_latest:
        raise click.UsageError("--recompute works on the latest version; remove --version and --timestamp.")
    from deltaskip.cli.where_options import predicate

    opened = source.open()
    chosen["where"] = predicate(chosen["where"], chosen.pop("params"))
    chosen |= {name: chosen[name] or None for name in ("columns", "collation_versions")}
    if dry_run:
        command_line.show(opened.recompute_plan(**chosen), as_json, _print_plan)
        return
    done = _recompute_stats(opened, chosen, with_spark, bar=not as_json and sys.stderr.isatty())
    if index:
        done["index"] = asdict(opened.recompute_stats(columns=[], index=True))["index"]
    command_line.show(done, as_json, _print_recomputed)


def _check_report_only() -> None:
    """Raise UsageError if an option is given that only a recomputation has."""
    context = click.get_current_context()
    for parameter in context.command.params:
        given = parameter.name and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
        if given and parameter.name not in _REPORT_OPTIONS:
            raise click.UsageError(f"{parameter.opts[0]} needs --recompute.")


def _report(table: DeltaTable, as_json: bool) -> None:
    """Show the statistics of the table's version, the expected gain of an OPTIMIZE, and the gain of the last one.

    Reads the statistics of all active files. A gain that is not known is None.
    """
    from deltaskip.maintenance.optimize.gain import expected_gain, measured_gain

    coverage = table.stats()
    measured = measured_gain(table.snapshot, coverage, table.history(_LATEST_COMMITS))
    expected = expected_gain(table.snapshot, coverage)
    if not as_json:
        _print_coverage(coverage)
        print_lines(_gains(expected, measured))
        return
    gains = {"expected": expected, "measured": measured}
    optimize = {name: None if gain is None else asdict(gain) for name, gain in gains.items()}
    print_json({**coverage.to_dict(), "optimize": optimize})


def _print_coverage(coverage: TableCoverage) -> None:
    rows = [
        (
            column.name,
            column.type,
            _share(column.files_with_bounds, coverage.files),
            _share(column.rows_with_bounds, coverage.rows),
            _share(column.files_with_null_count, coverage.files),
            _share(column.rows_with_null_count, coverage.rows),
            average(column.files_met),
            _share(column.files_met, coverage.files),
        )
        for column in coverage.columns
    ]
    if rows:
        print_table(_HEADINGS, rows)
        print()
        print_line("min/max, null count: share of files that have the statistic, and of the rows that are counted.")
        print_line("files per value: average number of files that an equality filter (column = value) reads.")
    notes = list(_hidden_nan(coverage))
    if rows and (notes or coverage.advice):
        print()
    for note in notes:
        print_line(f"note: {note}")
    for advice in coverage.advice:
        print_line(f"recommendation: {advice.sentence}")


def _gains(expected: ExpectedGain | None, measured: MeasuredGain | None) -> Iterator[str]:
    """The gain of an OPTIMIZE, and the result of the last one, one line each."""
    if expected is not None and expected.files:
        rows = f", without {counted(expected.deleted_rows, 'deleted row')}" if expected.deleted_rows else ""
        yield (
            f"recommendation: OPTIMIZE ({counted(expected.files, 'file')} of {human_bytes(expected.bytes)} would "
            f"become {expected.new_files:,}{rows})"
        )
    if expected is not None and len(expected.zorder) > 1:
        names = ", ".join(each.column for each in expected.zorder)
        reads = "; ".join(f"{each.column} {average(each.before)} → {average(each.after)}" for each in expected.zorder)
        yield f"recommendation: OPTIMIZE ZORDER BY {names} (files that an equality filter reads: {reads})"
    if measured is not None:
        first, last = measured.versions
        version = f"version {first}" if first == last else f"versions {first} to {last}"
        reads = "; ".join(f"{each.column} {average(each.before)} → {average(each.after)}" for each in measured.filters)
        yield (
            f"measured: OPTIMIZE at {version} ({measured.files_before:,} → {counted(measured.files_after, 'file')}"
            f"{f'; an equality filter reads: {reads}' if reads else ''})"
        )


def _hidden_nan(coverage: TableCoverage) -> Iterator[str]:
    """A line about float columns whose bounds can be used only for some predicates, with the remedy."""
    from deltaskip.schema.properties import TableProperties

    files = [(column.name, column.files_that_may_hide_nan or 0) for column in coverage.columns]
    hidden = [(name, count) for name, count in files if count]
    if hidden:
        names = ", ".join(f"{name} ({count:,} of {coverage.files:,} files)" for name, count in hidden[:_MOST_NAMES])
        more = f" and {len(hidden) - _MOST_NAMES:,} more columns" if len(hidden) > _MOST_NAMES else ""
        yield (
            f"min and max of {names}{more} may omit NaN, so column > value reads the files: recompute statistics, or "
            f"set {TableProperties.float_bounds.name} = exact if every writer of the table records NaN"
        )


_MOST_NAMES = 3

_HEADINGS = [
    ("column", "left"), ("type", "left"), ("min/max", "right"), ("rows", "right"), ("null count", "right"),
    ("rows", "right"), ("files per value", "right"), ("of all", "right"),
]  # fmt: skip


def _share(part: float | None, whole: int) -> str:
    """A percentage; 0 and 100 are exact and never rounded to."""
    if part is None or not whole:
        return "-"
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "< 0.1 %"
    return f"{min(percent, 99.9) if part < whole else percent:.1f} %".replace(".0 %", " %")


def _print_plan(found: RecomputePlan) -> None:
    print_line(f"would read {counted(found.files, 'file')} ({human_bytes(found.bytes)}) and commit their statistics")
    if found.done:
        print_line(_resumed(found.done))
    if found.wide:
        print_line(f"bounds of {counted(found.wide, 'file')} with deleted rows would become tight")
    _print_not_indexed(found.not_indexed)
    if found.collations:
        print_line(f"collated bounds: {', '.join(found.collations)}")
    rows = [
        (name, f"{column.lacking:,}", average(column.files_met), average(column.files_met_then))
        for name, column in found.columns.items()
    ]
    if rows:
        click.echo()
        headings = ["files without statistics", "files per value", "afterwards (estimate)"]
        print_table([("column", "left"), *((heading, "right") for heading in headings)], rows)
        click.echo()
        print_line("files per value: average number of files that an equality filter (column = value) reads.")


def _print_not_indexed(columns: int) -> None:
    from deltaskip.stats.stats_columns import INDEXED_COLUMNS, STATS_COLUMNS

    if columns:
        print_line(
            f"{counted(columns, 'column')} {'is' if columns == 1 else 'are'} left out by {STATS_COLUMNS} or "
            f"{INDEXED_COLUMNS}: set the property, or name columns with --column"
        )


def _resumed(files: int) -> str:
    return f"{counted(files, 'file')} were finished by an earlier run; --no-resume reads them again"


def _recompute_stats(table: DeltaTable, chosen: dict[str, Any], with_spark: bool, bar: bool) -> dict[str, Any]:
    """Recompute statistics in this process, or with a Spark session; return the result for JSON."""
    todo = table.recompute_plan(**chosen, overlap=False)
    start = perf_counter()
    # A session may have another version of the collations than the plan assumes.
    if todo.files or (with_spark and chosen["collation_versions"] is None and table.collations()):
        columns = ("bar", "count", "files, {task.fields[rate]}", "left")
        with ExitStack() as stack:
            act = f"Recomputing statistics of {table.uri}"
            spark = stack.enter_context(session(act)) if with_spark else None
            update = stack.enter_context(progress_bar(bar, *columns, total=todo.files, rate=""))

            def advance(done: Recomputed) -> None:
                seconds = max(perf_counter() - start, 1e-9)
                rate = f"{done.rows:,} rows, {human_bytes(int(done.bytes / seconds))}/s"
                update(completed=done.files + done.unchanged + len(done.left_out), rate=rate)

            done = table.recompute_stats(spark, **chosen, batch_files=_BATCH_FILES, progress=advance)
    else:
        from deltaskip.maintenance.recompute.recomputed import Recomputed

        done = Recomputed(not_indexed=todo.not_indexed)
    return {**asdict(done), "done_before": todo.done, "seconds": perf_counter() - start, "version": table.version}


def _print_recomputed(done: dict[str, Any]) -> None:
    rate = human_bytes(int(done["bytes"] / max(done["seconds"], 1e-9)))
    print_line(
        f"version {done['version']}: committed statistics of {counted(done['files'], 'file')}, "
        f"{done['unchanged']:,} unchanged"
    )
    if done["done_before"]:
        print_line(_resumed(done["done_before"]))
    _print_not_indexed(done["not_indexed"])
    print_line(f"read {done['rows']:,} rows, {human_bytes(done['bytes'])} in {done['seconds']:.1f} s ({rate}/s)")
    if done["index"]:
        found = done["index"]
        files, keys = counted(found["files"], "file"), counted(found["keys"], "key")
        size = human_bytes(found["bytes"])
        print_line(f"indexed {keys} of {files} by {', '.join(found['columns'])} ({size}) in {found['seconds']:.1f} s")
    if done["left_out"]:
        changed = len(done["left_out"])
        print_line(
            f"{counted(changed, 'file')} changed during the run and {'was' if changed == 1 else 'were'} skipped; "
            f"run the command again to process {'it' if changed == 1 else 'them'}"
        )
