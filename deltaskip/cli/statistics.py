"""Output of `deltaskip stats --recompute`: what a recomputation would do, and what it did."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli.display import average, counted, print_line, print_table
from deltaskip.cli.predicates import predicate
from deltaskip.cli.spark import session
from deltaskip.progress import other_display
from deltaskip.shown import human_bytes

if TYPE_CHECKING:
    from deltaskip.maintenance.recompute.recomputed import Recomputed, RecomputePlan
    from deltaskip.table.table import DeltaTable

_BATCH_FILES = 20_000


def options(
    where: tuple[str, ...],
    params: tuple[str, ...],
    columns: tuple[str, ...],
    collation_versions: tuple[str, ...],
    mode: str,
    only_missing: bool,
    resume: bool,
) -> dict[str, Any]:
    """Return the arguments of `DeltaTable.recompute_stats` for the options of the command."""
    return {
        "where": predicate(where, params),
        "columns": columns or None,
        "collation_versions": collation_versions or None,
        "mode": mode,
        "only_missing": only_missing,
        "resume": resume,
    }


def print_plan(found: RecomputePlan) -> None:
    """Print a plan as text."""
    print_line(f"would read {counted(found.files, 'file')} ({human_bytes(found.bytes)}) and commit their statistics")
    if found.done:
        print_line(_resumed(found.done))
    if found.wide:
        print_line(f"bounds of {counted(found.wide, 'file')} with deleted rows would become tight")
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


def _resumed(files: int) -> str:
    return f"{counted(files, 'file')} were finished by an earlier run; --no-resume reads them again"


def recompute(table: DeltaTable, chosen: dict[str, Any], bar: bool) -> dict[str, Any]:
    """Recompute statistics with the active Spark session or a local one; return the result for JSON."""
    todo = table.recompute_plan(**chosen, overlap=False)
    start = perf_counter()
    if todo.files or (chosen["collation_versions"] is None and table.collations()):
        # The session may have another version of the collations than the plan knows.
        with session(_act(table)) as spark, _progress(todo.files, bar) as advance:
            done = table.recompute_stats(spark, **chosen, batch_files=_BATCH_FILES, progress=advance)
    else:
        from deltaskip.maintenance.recompute.recomputed import Recomputed

        done = Recomputed()
    return {**asdict(done), "done_before": todo.done, "seconds": perf_counter() - start, "version": table.version}


def print_recomputed(done: dict[str, Any]) -> None:
    """Print the result of a recomputation as text."""
    rate = human_bytes(int(done["bytes"] / max(done["seconds"], 1e-9)))
    print_line(
        f"version {done['version']}: committed statistics of {counted(done['files'], 'file')}, "
        f"{done['unchanged']:,} unchanged"
    )
    if done["done_before"]:
        print_line(_resumed(done["done_before"]))
    print_line(f"read {done['rows']:,} rows, {human_bytes(done['bytes'])} in {done['seconds']:.1f} s ({rate}/s)")
    if done["left_out"]:
        changed = len(done["left_out"])
        print_line(
            f"{counted(changed, 'file')} changed during the run and {'was' if changed == 1 else 'were'} skipped; "
            f"run the command again to process {'it' if changed == 1 else 'them'}"
        )


@contextmanager
def _progress(total: int, shown: bool) -> Iterator[Any]:
    """Show a progress bar on standard error: files, rows and bytes per second."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("files, {task.fields[rate]}"), TimeRemainingColumn())
    with other_display(), Progress(*columns, console=Console(stderr=True), disable=not shown) as bar:
        task, start = bar.add_task("", total=total, rate=""), perf_counter()

        def advance(done: Recomputed) -> None:
            seconds = max(perf_counter() - start, 1e-9)
            rate = f"{done.rows:,} rows, {human_bytes(int(done.bytes / seconds))}/s"
            bar.update(task, completed=done.files + done.unchanged + len(done.left_out), rate=rate)

        yield advance


def _act(table: DeltaTable) -> str:
    return f"Recomputing statistics of {table.uri}"
