"""`deltaskip append` and `merge`: rows of files are added to a table, or change its rows."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli import command_line
from deltaskip.cli.display import counted, nothing_done, print_line, print_table
from deltaskip.shown import human_bytes

if TYPE_CHECKING:
    from deltaskip.cli.input_files import InputFiles
    from deltaskip.table.table import DeltaTable

# Other origins are said as they are.
_ORIGINS = {"given": "from the files", "null": "NULL"}


@command_line.program.command("append", short_help="Append the rows of Parquet, CSV or JSON lines files.")
@command_line.written_table
@click.argument("files", nargs=-1, required=True)
@command_line.input_options
@command_line.txn_option("Append nothing if the table contains this version of the application or a later one.")
@command_line.time_zone_option("Time zone of times without one.")
@click.option("--dry-run", is_flag=True, help="Read and check all rows, and write nothing.")
def _append(
    source: command_line.CommandTable,
    files: tuple[str, ...],
    file_format: str | None,
    delimiter: str | None,
    as_json: bool,
    dry_run: bool,
    **chosen: Any,
) -> None:
    """Append the rows of Parquet, CSV or JSON lines files in one commit.

    FILES can contain patterns, such as 'new/*.csv', and be compressed (.gz); - reads CSV or JSON lines from standard
    input. Values in text files are read as the types of the table's columns; types are never inferred.
    """
    from deltaskip.cli.input_files import errors_of, input_files, progress

    opened = source.open()
    given = input_files(files, file_format, delimiter, opened.schema, chosen["time_zone"])
    bar = not as_json and sys.stderr.isatty()
    if dry_run:
        plan = _append_plan(opened, given, chosen["schema_mode"], chosen["time_zone"], bar)
        command_line.show(plan, as_json, _print_append_plan)
        return
    start = perf_counter()
    with errors_of(given), progress(given, bar):
        result = opened.append(given, **chosen)
    done = {
        "table": opened.uri,
        "version": result.version,
        "files_read": len(given.paths),
        "metrics": dict(result.metrics),
        "nothing_written": result.nothing_written,
        "seconds": perf_counter() - start,
    }
    command_line.show(done, as_json, _print_appended)


def _append_plan(table: DeltaTable, source: InputFiles, schema_mode: Any, time_zone: str, bar: bool) -> dict[str, Any]:
    """Read and check the rows of files as an append does, and write nothing; return the plan for JSON."""
    from deltaskip.cli.input_files import errors_of, progress
    from deltaskip.data_files.data import GivenRows
    from deltaskip.rows.arrow_conversion import ArrowRows
    from deltaskip.rows.plan import plan_rows
    from deltaskip.sparkexpr.types import simple_string

    snapshot = table.snapshot
    with errors_of(source):
        rows = GivenRows(source)
        plan = plan_rows(
            snapshot.schema,
            snapshot.table_properties,
            rows.schema_for(snapshot.schema),
            schema_mode,
            snapshot.partition_columns,
            mapping_mode=snapshot.mapping_mode,
        )
        with progress(source, bar):
            count = sum(batch.num_rows for batch in ArrowRows(plan, time_zone).stream(rows.batches(plan.table)))
    before = {field.name for field in snapshot.schema.fields}
    return {
        "table": table.uri,
        "version": table.version,
        "files": list(source.paths),
        "rows": count,
        "columns": [
            {
                "name": column.field.name,
                "type": simple_string(column.field.type, column.field),
                "origin": column.origin,
                "source": None if column.source is None else column.source.name,
                "expression": column.expression,
                "new": column.field.name not in before,
            }
            for column in plan.columns
        ],
        "rules": [{"name": rule.name, "expression": rule.expression} for rule in plan.rules],
    }


def _print_append_plan(plan: Mapping[str, Any]) -> None:
    print_line(
        f"would append {counted(plan['rows'], 'row')} of {counted(len(plan['files']), 'file')} to version "
        f"{plan['version']} of {plan['table']}"
    )
    rows = [(each["name"], each["type"], _origin(each), "new" if each["new"] else "") for each in plan["columns"]]
    print_table([("column", "left"), ("type", "left"), ("values", "prose"), ("", "left")], rows)
    for rule in plan["rules"]:
        print_line(f"every row satisfies {rule['name']}: {rule['expression']}")


def _origin(column: Mapping[str, Any]) -> str:
    origin = _ORIGINS.get(column["origin"], column["origin"])
    return f"{origin}: {column['expression']}" if column["expression"] else origin


def _print_appended(done: Mapping[str, Any]) -> None:
    if done["version"] is None:
        print_line(nothing_done("appended", "there are no rows", done["nothing_written"]))
        return
    metrics = done["metrics"]
    print_line(
        f"version {done['version']}: appended {counted(metrics['numOutputRows'], 'row')} of "
        f"{counted(done['files_read'], 'file')} as {counted(metrics['numFiles'], 'data file')} "
        f"({human_bytes(metrics['numOutputBytes'])}) in {done['seconds']:.1f} s"
    )


@command_line.program.command("merge", short_help="Merge Parquet, CSV or JSON lines files into a table.")
@command_line.written_table
@click.argument("files", nargs=-1, required=True)
@click.option(
    "--on",
    required=True,
    metavar="SQL",
    help="Names of the key columns, such as 'id' or 'id, day', or a condition on target and source, such as "
    "'target.id = source.id AND target.day > 3'.",
)
@command_line.choice_option(
    "--matched",
    values=["update", "keep", "delete"],
    help="What happens to a row of the table that a row of the files matches.",
)
@command_line.choice_option(
    "--not-matched",
    values=["insert", "ignore"],
    help="What happens to a row of the files that matches no row of the table.",
)
@command_line.choice_option(
    "--not-matched-by-source",
    "by_source",
    values=["keep", "delete"],
    help="What happens to a row of the table that no row of the files matches.",
)
@command_line.input_options
@command_line.txn_option("Change nothing if the table contains this version of the application or a later one.")
@command_line.time_zone_option("Time zone of times without one.")
@click.option("--dry-run", is_flag=True, help="Read the files, show what would be touched, and change nothing.")
def _merge(
    source: command_line.CommandTable,
    files: tuple[str, ...],
    on: str,
    as_json: bool,
    matched: str,
    not_matched: str,
    by_source: str,
    file_format: str | None,
    delimiter: str | None,
    dry_run: bool,
    **chosen: Any,
) -> None:
    """Merge Parquet, CSV or JSON lines files into a table in one commit: update the rows that match, insert the others.

    FILES are as for `append`. They must have all columns of the table; with --schema-mode merge some columns are
    enough, and new ones are added.
    """
    from deltaskip.cli.input_files import errors_of, input_files, progress
    from deltaskip.cli.row_changes import show_plan

    opened = source.open()
    given = input_files(files, file_format, delimiter, opened.schema, chosen["time_zone"])
    with errors_of(given):
        builder = opened.merge(given, on, "source", "target", **chosen)
    if matched != "keep":
        builder = builder.when_matched_update_all() if matched == "update" else builder.when_matched_delete()
    if not_matched == "insert":
        builder = builder.when_not_matched_insert_all()
    if by_source == "delete":
        builder = builder.when_not_matched_by_source_delete()
    with errors_of(given), progress(given, not as_json and sys.stderr.isatty()):
        if dry_run:
            show_plan(builder.execute(dry_run=True), as_json)
            return
        result = builder.execute()
    why = result.nothing_written
    done = {"table": opened.uri, "version": result.version, "metrics": dict(result.metrics), "nothing_written": why}

    def print_merged(_done: object) -> None:
        if result.version is None:
            print_line(nothing_done("merged", "no row was changed or added", why))
            return
        counts = (
            f"{verb} {counted(result.metrics.get(f'numTargetRows{verb.capitalize()}', 0), 'row')}"
            for verb in ("updated", "deleted", "inserted")
        )
        print_line(f"version {result.version}: {', '.join(counts)}")

    command_line.show(done, as_json, print_merged)
