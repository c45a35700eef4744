"""Commands that create a table, append files to it and alter it."""

from __future__ import annotations

import sys
from typing import Any

import click

from deltaskip.cli.program import (
    debug_option,
    input_options,
    json_option,
    names,
    pairs,
    program,
    show,
    txn_option,
    written_table,
)


@program.command("create")
@written_table
@click.argument("columns", metavar="DDL")
@click.option("--partition-by", multiple=True, metavar="NAME", help="Partition column. Can be repeated.")
@click.option(
    "--cluster-by", multiple=True, metavar="NAME", callback=names, help="Clustering columns. Can be repeated."
)
@click.option(
    "--property",
    "properties",
    multiple=True,
    metavar="KEY=VALUE",
    callback=pairs,
    help="Table property, such as delta.enableDeletionVectors=true. Can be repeated.",
)
@click.option("--comment", metavar="TEXT", help="Description of the table.")
@click.option(
    "--mode",
    type=click.Choice(["error", "ignore", "replace"]),
    default="error",
    show_default=True,
    help="What happens if there is a table: an error, nothing, or its columns are replaced and its rows removed.",
)
@click.option("--if-not-exists", is_flag=True, help="Short for --mode ignore.")
@json_option
@debug_option
def _create(
    table: str,
    storage_options: dict[str, str],
    columns: str,
    as_json: bool,
    mode: str,
    if_not_exists: bool,
    **described: Any,
) -> None:
    """Create a table without rows.

    DDL are the columns as in CREATE TABLE, such as 'id BIGINT NOT NULL, ts TIMESTAMP, day DATE GENERATED ALWAYS AS
    (CAST(ts AS DATE))'.
    """
    if if_not_exists and mode == "replace":
        raise click.UsageError("Specify either --if-not-exists or --mode replace, not both.")
    from deltaskip.cli import writing

    made = writing.create(table, storage_options, columns, "ignore" if if_not_exists else mode, described)
    show(made, as_json, writing.print_created)


@program.command("append", short_help="Append the rows of Parquet, CSV or JSON lines files.")
@written_table
@click.argument("files", nargs=-1, required=True)
@input_options
@txn_option("Append nothing if the table contains this version of the application or a later one.")
@click.option("--time-zone", default="UTC", show_default=True, metavar="ZONE", help="Time zone of times without one.")
@click.option("--dry-run", is_flag=True, help="Read and check all rows, and write nothing.")
@json_option
@debug_option
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
    input. Values of text have the types of the table's columns: nothing is guessed.
    """
    from deltaskip.cli import writing
    from deltaskip.cli.opening import open_table

    opened = open_table(table, storage_options)
    source = writing.input_files(opened, files, file_format, delimiter, chosen["time_zone"])
    bar = not as_json and sys.stderr.isatty()
    if dry_run:
        plan = writing.append_plan(opened, source, chosen["schema_mode"], chosen["time_zone"], bar)
        show(plan, as_json, writing.print_append_plan)
        return
    show(writing.append(opened, source, chosen, bar), as_json, writing.print_appended)


@program.command("alter", short_help="Change columns, properties, constraints or features.")
@written_table
@click.argument("statements", nargs=-1, required=True, metavar="STATEMENT...")
@click.option("--dry-run", is_flag=True, help="Show columns, properties and protocol before and after; change nothing.")
@json_option
@debug_option
def _alter(
    table: str, storage_options: dict[str, str], statements: tuple[str, ...], as_json: bool, dry_run: bool
) -> None:
    """Change columns, properties, constraints or features of a table in one commit.

    STATEMENT is what follows ALTER TABLE and a table's name, such as 'ADD COLUMN c INT AFTER b' or
    'SET TBLPROPERTIES (delta.appendOnly = true)'.
    """
    if any(len(each.split()) == 1 for each in statements):
        raise click.UsageError(f"Each STATEMENT is one argument, in quotes: {' '.join(statements)!r}.")
    from deltaskip.cli import writing
    from deltaskip.cli.opening import open_table

    opened = open_table(table, storage_options)
    show(writing.alter(opened, statements, dry_run), as_json, writing.print_altered)
