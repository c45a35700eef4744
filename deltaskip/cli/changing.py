"""The work and the output of `deltaskip delete` and `update`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from time import perf_counter
from typing import Any

import click

from deltaskip.cli.display import counted, nothing_done, print_line, print_table, progress_bar
from deltaskip.cli.opening import open_table
from deltaskip.cli.predicates import predicate
from deltaskip.cli.spark import session
from deltaskip.errors import SchemaError
from deltaskip.schema.sql_text import sql_tokens
from deltaskip.shown import human_bytes
from deltaskip.table.table import DeltaTable
from deltaskip.txn.cost import ChangePlan
from deltaskip.txn.result import WriteResult

_ROWS = {"DELETE": ("numDeletedRows", "deleted"), "UPDATE": ("numUpdatedRows", "updated")}
_SHOWN_FILES = 20


def delete(
    table: str,
    storage_options: Mapping[str, str],
    where: Sequence[str],
    params: Sequence[str],
    chosen: Mapping[str, Any],
    bar: bool,
) -> dict[str, Any]:
    """Delete rows of a table, or plan it; return the result for JSON."""
    text = predicate(where, params)

    def change(target: DeltaTable, spark: Any) -> WriteResult:
        return target.delete(text, spark, txn=chosen["txn"], time_zone=chosen["time_zone"])

    def plan(target: DeltaTable) -> ChangePlan:
        return target.delete(text, time_zone=chosen["time_zone"], dry_run=True)

    return _changed(open_table(table, storage_options), "DELETE", plan, change, chosen, bar)


def update(
    table: str,
    storage_options: Mapping[str, str],
    assignments: Sequence[str],
    where: Sequence[str],
    params: Sequence[str],
    chosen: Mapping[str, Any],
    bar: bool,
) -> dict[str, Any]:
    """Set columns of rows of a table, or plan it; return the result for JSON."""
    given: dict[str, object] = {}
    for each in assignments:
        name, value = _assignment(each)
        if name in given:
            raise click.UsageError(f"{name} is set twice.")
        given[name] = value
    text = predicate(where, params)

    def change(target: DeltaTable, spark: Any) -> WriteResult:
        return target.update(given, text, spark, txn=chosen["txn"], time_zone=chosen["time_zone"])

    def plan(target: DeltaTable) -> ChangePlan:
        return target.update(given, text, time_zone=chosen["time_zone"], dry_run=True)

    return _changed(open_table(table, storage_options), "UPDATE", plan, change, chosen, bar)


def print_changed(done: Mapping[str, Any]) -> None:
    """Print the result of a change of rows, or its plan, as text."""
    name, verb = _ROWS[done["operation"]]
    if done["dry_run"]:
        _print_plan(done)
        return
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


def _changed(
    table: DeltaTable,
    operation: str,
    plan: Callable[[DeltaTable], ChangePlan],
    change: Callable[[DeltaTable, Any], WriteResult],
    chosen: Mapping[str, Any],
    bar: bool,
) -> dict[str, Any]:
    if chosen["dry_run"]:
        return _planned(plan(table))
    start = perf_counter()
    with ExitStack() as stack:
        spark = stack.enter_context(session(f"Changing rows of {table.uri}")) if chosen["with_spark"] else None
        stack.enter_context(progress_bar(bar, "spinner", "changing rows", "time", transient=True))
        result = change(table, spark)
    return {
        "table": table.uri,
        "operation": operation,
        "dry_run": False,
        "version": result.version,
        "metrics": dict(result.metrics),
        "cost": None if result.cost is None else asdict(result.cost),
        "nothing_written": result.nothing_written,
        "seconds": perf_counter() - start,
    }


def _planned(plan: ChangePlan) -> dict[str, Any]:
    return {
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


def _assignment(text: str) -> tuple[str, str]:
    """The name and the expression of `column = expression`."""
    try:
        equals = next((token for token in sql_tokens(text) if token.is_symbol("=")), None)
    except SchemaError as error:
        raise click.UsageError(f"The assignment {text!r} cannot be read: {error}") from error
    name, value = ("", "") if equals is None else (text[: equals.start].strip(), text[equals.end :].strip())
    if not name or not value:
        raise click.UsageError(f"{text!r} is not of the form 'column = expression'.")
    return name, value
