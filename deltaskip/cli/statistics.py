"""Statistics recomputed, for `deltaskip stats --recompute`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli.display import average, counted, human_bytes, print_table
from deltaskip.cli.spark import session

if TYPE_CHECKING:
    from deltaskip.table.table import DeltaTable
    from deltaskip.txn.recompute.plan import RecomputePlan
    from deltaskip.txn.recompute.recomputed import Recomputed

_BATCH_FILES = 20_000


def plan(table: DeltaTable, chosen: dict[str, Any]) -> RecomputePlan:
    """What the recomputation would do, from the log alone. chosen: arguments of recompute_request."""
    from deltaskip.txn.recompute.plan import recompute_plan
    from deltaskip.txn.recompute.request import recompute_request

    return recompute_plan(table.snapshot, recompute_request(table.snapshot, **chosen))


def print_plan(found: RecomputePlan) -> None:
    """Prints the plan for people."""
    click.echo(f"would read {counted(found.files, 'file')}, {human_bytes(found.bytes)}, and commit their statistics")
    if found.done:
        click.echo(_done_before(found.done))
    if found.wide:
        click.echo(f"bounds of {counted(found.wide, 'file')} would become tight: rows of them were deleted")
    if found.collations:
        click.echo(f"collated bounds: {', '.join(found.collations)}")
    rows = [
        (name, f"{column.lacking:,}", average(column.files_met), average(column.files_met_then))
        for name, column in found.columns.items()
    ]
    if rows:
        click.echo()
        headings = ["files without statistics", "point meets", "then, about"]
        print_table([("column", "left"), *((heading, "right") for heading in headings)], rows)
        click.echo("\nA point predicate (x = 5) meets so many files of the table on average.")


def _done_before(files: int) -> str:
    return f"{counted(files, 'file')} were finished by an earlier run; --no-resume reads them again"


def recompute(table: DeltaTable, chosen: dict[str, Any], bar: bool) -> dict[str, Any]:
    """Recompute by a local Spark session, or the one that is active; what was done, as JSON can hold it."""
    from deltaskip.txn.recompute.plan import recompute_work
    from deltaskip.txn.recompute.request import recompute_request

    todo = recompute_work(table.snapshot, recompute_request(table.snapshot, **chosen))
    versions = chosen.pop("collations")
    start = perf_counter()
    with session(_act(table)) as spark, _progress(todo.files, bar) as advance:
        done = table.recompute_stats(
            spark, **chosen, collation_versions=versions, batch_files=_BATCH_FILES, progress=advance
        )
    return {**asdict(done), "done_before": todo.done, "seconds": perf_counter() - start, "version": table.version}


def print_recomputed(done: dict[str, Any]) -> None:
    """Prints for people what was done."""
    rate = human_bytes(int(done["bytes"] / max(done["seconds"], 1e-9)))
    click.echo(
        f"version {done['version']}: statistics of {counted(done['files'], 'file')} committed, "
        f"{done['unchanged']:,} had them already"
    )
    if done["done_before"]:
        click.echo(_done_before(done["done_before"]))
    click.echo(f"{done['rows']:,} rows, {human_bytes(done['bytes'])} in {done['seconds']:.1f} s, {rate} a second")
    if done["left_out"]:
        click.echo(f"{counted(len(done['left_out']), 'file')} changed meanwhile and left out; run it again for them")


@contextmanager
def _progress(total: int, shown: bool) -> Iterator[Any]:
    """A bar of files on standard error, with rows and bytes a second."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("files, {task.fields[said]}"), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not shown) as bar:
        task, start = bar.add_task("", total=total, said=""), perf_counter()

        def advance(done: Recomputed) -> None:
            seconds = max(perf_counter() - start, 1e-9)
            said = f"{done.rows:,} rows, {human_bytes(int(done.bytes / seconds))}/s"
            bar.update(task, completed=done.files + done.unchanged + len(done.left_out), said=said)

        yield advance


def _act(table: DeltaTable) -> str:
    return f"Recomputing statistics of {table.uri}"
