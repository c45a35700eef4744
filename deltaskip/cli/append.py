"""`deltaskip append`: rows of files are added to a table."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli import command_line
from deltaskip.cli.display import counted, nothing_done, print_line, print_table
from deltaskip.cli.open_table import open_table
from deltaskip.shown import human_bytes

if TYPE_CHECKING:
    from deltaskip.cli.input_files import InputFiles
    from deltaskip.table.table import DeltaTable

_ORIGINS = {
    "given": "from the files",
    "default": "default",
    "null": "NULL",
    "generated": "generated",
    "identity": "identity",
}


@command_line.program.command("append", short_help="Append the rows of Parquet, CSV or JSON lines files.")
@command_line.written_table
@click.argument("files", nargs=-1, required=True)
@command_line.input_options
@command_line.txn_option("Append nothing if the table contains this version of the application or a later one.")
@command_line.time_zone_option("Time zone of times without one.")
@click.option("--dry-run", is_flag=True, help="Read and check all rows, and write nothing.")
@command_line.json_option
@command_line.debug_option
def _append(
    table: str,
    storage_options: dict[str, str],
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

    opened = open_table(table, storage_options)
    source = input_files(files, file_format, delimiter, opened.schema, chosen["time_zone"])
    bar = not as_json and sys.stderr.isatty()
    if dry_run:
        plan = _append_plan(opened, source, chosen["schema_mode"], chosen["time_zone"], bar)
        command_line.show(plan, as_json, _print_append_plan)
        return
    start = perf_counter()
    with errors_of(source), progress(source, bar):
        result = opened.append(source, **chosen)
    done = {
        "table": opened.uri,
        "version": result.version,
        "files_read": len(source.paths),
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
    origin = _ORIGINS[column["origin"]]
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
