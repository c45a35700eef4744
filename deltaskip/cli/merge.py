"""`deltaskip merge`: rows of files update, delete and add to rows of a table."""

from __future__ import annotations

import sys
from typing import Any

import click

from deltaskip.cli import command_line
from deltaskip.cli.display import counted, nothing_done, print_line
from deltaskip.cli.open_table import open_table


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
@click.option(
    "--matched",
    type=click.Choice(["update", "keep", "delete"]),
    default="update",
    show_default=True,
    help="What happens to a row of the table that a row of the files matches.",
)
@click.option(
    "--not-matched",
    type=click.Choice(["insert", "ignore"]),
    default="insert",
    show_default=True,
    help="What happens to a row of the files that matches no row of the table.",
)
@click.option(
    "--not-matched-by-source",
    "by_source",
    type=click.Choice(["keep", "delete"]),
    default="keep",
    show_default=True,
    help="What happens to a row of the table that no row of the files matches.",
)
@command_line.input_options
@command_line.txn_option("Change nothing if the table contains this version of the application or a later one.")
@command_line.time_zone_option("Time zone of times without one.")
@command_line.json_option
@command_line.debug_option
def _merge(
    table: str,
    storage_options: dict[str, str],
    files: tuple[str, ...],
    on: str,
    as_json: bool,
    matched: str,
    not_matched: str,
    by_source: str,
    file_format: str | None,
    delimiter: str | None,
    **chosen: Any,
) -> None:
    """Merge Parquet, CSV or JSON lines files into a table in one commit: update the rows that match, insert the others.

    FILES are as for `append`. They must have all columns of the table; with --schema-mode merge some columns are
    enough, and new ones are added.
    """
    from deltaskip.cli.input_files import errors_of, input_files, progress

    opened = open_table(table, storage_options)
    source = input_files(files, file_format, delimiter, opened.schema, chosen["time_zone"])
    with errors_of(source):
        builder = opened.merge(source, on, "source", "target", **chosen)
    if matched == "update":
        builder = builder.when_matched_update_all()
    elif matched == "delete":
        builder = builder.when_matched_delete()
    if not_matched == "insert":
        builder = builder.when_not_matched_insert_all()
    if by_source == "delete":
        builder = builder.when_not_matched_by_source_delete()
    with errors_of(source), progress(source, not as_json and sys.stderr.isatty()):
        result = builder.execute()
    why = result.nothing_written
    done = {"table": opened.uri, "version": result.version, "metrics": dict(result.metrics), "nothing_written": why}

    def print_merged(_done: object) -> None:
        if result.version is None:
            print_line(nothing_done("merged", "no row was changed or added", why))
            return
        counts = [
            f"{verb} {counted(result.metrics.get(name, 0), 'row')}"
            for verb, name in (
                ("updated", "numTargetRowsUpdated"),
                ("deleted", "numTargetRowsDeleted"),
                ("inserted", "numTargetRowsInserted"),
            )
        ]
        print_line(f"version {result.version}: {', '.join(counts)}")

    command_line.show(done, as_json, print_merged)
