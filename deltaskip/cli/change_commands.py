"""Commands that change rows of a table."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from deltaskip.cli.program import (
    debug_option,
    json_option,
    param_option,
    program,
    show,
    txn_option,
    where_option,
    written_table,
)


def _changes_rows(command: Callable[..., None]) -> Callable[..., None]:
    """Add the arguments and options of a command that changes the rows that match a predicate.

    The command gets the table and storage options, the predicate's parts, and the others as `chosen`.
    """

    @wraps(command)
    def run(time_zone: str, txn: tuple[str, int] | None, with_spark: bool, dry_run: bool, **more: Any) -> None:
        command(chosen={"time_zone": time_zone, "txn": txn, "with_spark": with_spark, "dry_run": dry_run}, **more)

    decorators: list[Callable[..., Any]] = [
        where_option,
        param_option,
        txn_option("Change nothing if the table contains this version of the application or a later one."),
        click.option("--time-zone", default="UTC", show_default=True, metavar="ZONE", help="Time zone of expressions."),
        click.option("--spark", "with_spark", is_flag=True, help="Let a local Spark session read and write rows."),
        click.option("--dry-run", is_flag=True, help="Show which files could be touched, and change nothing."),
        json_option,
        debug_option,
    ]
    decorated: Callable[..., None] = run
    for decorate in reversed(decorators):
        decorated = decorate(decorated)
    return decorated


def _check_every(every: bool, where: tuple[str, ...]) -> None:
    if every == bool(where):
        raise click.UsageError("Specify either --where or --all.")


@program.command("delete")
@written_table
@_changes_rows
@click.option("--all", "every", is_flag=True, help="Delete all rows.")
def _delete(
    table: str,
    storage_options: dict[str, str],
    where: tuple[str, ...],
    params: tuple[str, ...],
    every: bool,
    as_json: bool,
    chosen: dict[str, Any],
) -> None:
    """Delete the rows that match a predicate, in one commit."""
    _check_every(every, where)
    from deltaskip.cli import changing

    bar = not as_json and sys.stderr.isatty()
    done = changing.delete(table, storage_options, where, params, chosen, bar)
    show(done, as_json, changing.print_changed)


@program.command("update", short_help="Set columns of the rows that match a predicate.")
@written_table
@click.argument("assignments", nargs=-1, required=True, metavar="ASSIGNMENT...")
@_changes_rows
@click.option("--all", "every", is_flag=True, help="Update all rows.")
def _update(
    table: str,
    storage_options: dict[str, str],
    assignments: tuple[str, ...],
    where: tuple[str, ...],
    params: tuple[str, ...],
    every: bool,
    as_json: bool,
    chosen: dict[str, Any],
) -> None:
    """Set columns of the rows that match a predicate, in one commit.

    ASSIGNMENT is 'column = expression', such as 'price = price * 1.1', 'st.b = NULL' or 'state = DEFAULT'.
    """
    _check_every(every, where)
    from deltaskip.cli import changing

    bar = not as_json and sys.stderr.isatty()
    done = changing.update(table, storage_options, assignments, where, params, chosen, bar)
    show(done, as_json, changing.print_changed)
