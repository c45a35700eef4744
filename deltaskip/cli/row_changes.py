"""`deltaskip delete` and `update`: rows that match a predicate are deleted, or their columns set."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli import command_line
from deltaskip.cli.display import counted, nothing_done, print_line, print_table, progress_bar
from deltaskip.cli.open_table import session
from deltaskip.errors import SchemaError
from deltaskip.shown import human_bytes

if TYPE_CHECKING:
    from deltaskip.dml.change_plan import ChangePlan
    from deltaskip.table.table import DeltaTable


_ROWS = {"DELETE": ("numDeletedRows", "deleted"), "UPDATE": ("numUpdatedRows", "updated")}
_SHOWN_FILES = 20


def changes_rows(command: Callable[..., None]) -> Callable[..., None]:
    """Add the arguments and options of a command that changes the rows that match a predicate."""
    options = (
        command_line.where_option,
        command_line.param_option,
        command_line.txn_option("Change nothing if the table contains this version of the application or a later one."),
        command_line.time_zone_option("Time zone of expressions."),
        click.option("--spark", "with_spark", is_flag=True, help="Let a local Spark session read and write rows."),
        click.option("--dry-run", is_flag=True, help="Show which files could be touched, and change nothing."),
        click.option("--all", "every", is_flag=True, help="Change all rows."),
    )
    for option in reversed(options):
        command = option(command)
    return command_line.written_table(command)


@command_line.program.command("delete")
@changes_rows
def _delete(source: command_line.CommandTable, **given: Any) -> None:
    """Delete the rows that match a predicate, in one commit."""
    _change_rows(source, "DELETE", lambda table: table.delete, **given)


@command_line.program.command("update", short_help="Set columns of the rows that match a predicate.")
@changes_rows
@click.argument("assignments", nargs=-1, required=True, metavar="ASSIGNMENT...")
def _update(source: command_line.CommandTable, assignments: tuple[str, ...], **given: Any) -> None:
    """Set columns of the rows that match a predicate, in one commit.

    ASSIGNMENT is 'column = expression', such as 'price = price * 1.1', 'st.b = NULL' or 'state = DEFAULT'.
    """
    values: dict[str, object] = {}
    for name, value in map(_assignment, assignments):
        if name in values:
            raise click.UsageError(f"{name} is set twice.")
        values[name] = value
    _change_rows(source, "UPDATE", lambda table: partial(table.update, values), **given)


def _assignment(text: str) -> tuple[str, str]:
    """The name and the expression of `column = expression`."""
    from deltaskip.sparkexpr.text.sql_text import sql_tokens

    try:
        equals = next((token for token in sql_tokens(text) if token.is_symbol("=")), None)
    except SchemaError as error:
        raise click.UsageError(f"The assignment {text!r} cannot be read: {error}") from error
    name, value = ("", "") if equals is None else (text[: equals.start].strip(), text[equals.end :].strip())
    if not name or not value:
        raise click.UsageError(f"{text!r} is not of the form 'column = expression'.")
    return name, value


def _change_rows(
    source: command_line.CommandTable,
    operation: str,
    change_of: Callable[[DeltaTable], Callable[..., Any]],
    *,
    where: tuple[str, ...],
    params: tuple[str, ...],
    every: bool,
    with_spark: bool,
    dry_run: bool,
    as_json: bool,
    txn: tuple[str, int] | None,
    time_zone: str,
) -> None:
    """Change rows of a table, or plan it, and show the result. change_of: `delete` or `update` of an opened table."""
    if every == bool(where):
        raise click.UsageError("Specify either --where or --all.")
    from deltaskip.cli.where_options import predicate

    text, table = predicate(where, params), source.open()
    change = change_of(table)
    if dry_run:
        show_plan(change(text, time_zone=time_zone, dry_run=True), as_json)
        return
    start = perf_counter()
    with ExitStack() as stack:
        spark = stack.enter_context(session(f"Changing rows of {table.uri}")) if with_spark else None
        bar = not as_json and sys.stderr.isatty()
        stack.enter_context(progress_bar(bar, "spinner", "changing rows", "time", transient=True))
        result = change(text, spark, txn=txn, time_zone=time_zone)
    done = {
        "table": table.uri,
        "operation": operation,
        "dry_run": False,
        "version": result.version,
        "metrics": dict(result.metrics),
        "cost": None if result.cost is None else asdict(result.cost),
        "nothing_written": result.nothing_written,
        "seconds": perf_counter() - start,
    }
    command_line.show(done, as_json, _print_changed)


def _print_changed(done: Mapping[str, Any]) -> None:
    name, verb = _ROWS[done["operation"]]
    metrics = done["metrics"]
    if done["version"] is None:
        print_line(nothing_done(verb, "no row matches", done["nothing_written"]))
        return
    rows = counted(metrics[name], "row") if name in metrics else "rows"
    marked = counted(metrics["numDeletionVectorsAdded"], "deletion vector")
    print_line(
        f"version {done['version']}: {verb} {rows} in {done['seconds']:.1f} s; removed "
        f"{counted(metrics['numRemovedFiles'], 'file')}, added {counted(metrics['numAddedFiles'], 'file')} "
        f"({human_bytes(metrics['numAddedBytes'])}) and {marked}, copied {counted(metrics['numCopiedRows'], 'row')}"
    )
    _print_cost(done["cost"])


def show_plan(plan: ChangePlan, as_json: bool) -> None:
    """Show what --dry-run of a change of rows returns."""
    planned = {
        "table": plan.table,
        "operation": plan.operation,
        "dry_run": True,
        "version": plan.version,
        "whole": asdict(plan.whole),
        "read": asdict(plan.read),
        "skipped": asdict(plan.skipped),
        "marks_rows": plan.marks_rows,
        "files": plan.files.to_pylist(),
        "explain": plan.explain.to_dict(),
    }
    command_line.show(planned, as_json, _print_plan)


def _print_plan(done: Mapping[str, Any]) -> None:
    effect = "marked by deletion vectors" if done["marks_rows"] else "rewritten"
    print_line(
        f"version {done['version']} of {done['table']}: all rows match in {_files(done['whole'])}, and some rows may "
        f"match in {_files(done['read'])}, which would be {effect}"
    )
    print_line(f"{_files(done['skipped'])} cannot contain rows that match")
    rows = [
        (each["path"], human_bytes(each["size"]), "?" if each["num_records"] is None else f"{each['num_records']:,}",
         each["reason"])
        for each in done["files"][:_SHOWN_FILES]
    ]  # fmt: skip
    if rows:
        print_table([("file", "prose"), ("size", "right"), ("rows", "right"), ("", "prose")], rows)
    if len(done["files"]) > len(rows):
        print_line(f"and {counted(len(done['files']) - len(rows), 'more file')}; --json lists all")
    leaves = [(each["predicate"], f"{each['dropped']:,}", each["reason"] or "") for each in done["explain"]["leaves"]]
    if leaves:
        print_table([("predicate", "prose"), ("files skipped", "right"), ("", "prose")], leaves)


def _print_cost(cost: Mapping[str, Any] | None) -> None:
    if cost is None:
        return
    uses = [(use, cost[use]) for use in ("read", "skipped", "removed", "rewritten", "marked", "added")]
    print_line("; ".join(f"{use} {_files(each)}" for use, each in uses if each["files"]))
    tries = "" if cost["attempts"] == 1 else f", in {cost['attempts']} attempts"
    print_line(", ".join(f"{name} {seconds:.2f} s" for name, seconds in cost["seconds"].items()) + tries)


def _files(count: Mapping[str, Any]) -> str:
    return f"{counted(count['files'], 'file')} ({human_bytes(count['bytes'])})"
