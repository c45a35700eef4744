"""`deltaskip head`: the first rows of a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deltaskip.cli.command_line import CommandTable, columns_option, opens_table, program, takes_predicate
from deltaskip.cli.rows_out import rows_options, write_rows

if TYPE_CHECKING:
    import pyarrow as pa


@program.command("head", short_help="Show the first rows, or the first that match.")
@opens_table
@takes_predicate
@rows_options
@click.option(
    "-n", "--limit", "--rows", "limit", type=click.IntRange(min=0), default=10, show_default=True, help="How many rows."
)
@columns_option("--column", "columns", help="Columns to show.")
def _head(
    source: CommandTable,
    as_json: bool,
    chosen: dict[str, Any],
    limit: int,
    columns: tuple[str, ...],
    file_format: str | None,
    output: Path | None,
) -> None:
    """Show the first rows, or the first that match a predicate, in the order of the files in the log."""
    if as_json and file_format not in (None, "json"):
        raise click.UsageError("Specify either --json or --format, not both.")
    scan = source.open().scan(**chosen, columns=list(columns) or None)
    write_rows(_first(scan.to_batches(), limit), "json" if as_json else file_format, output)


def _first(rows: pa.RecordBatchReader, limit: int) -> pa.RecordBatchReader:
    """The first rows of a reader. A scan with a limit may choose other files, and so return other rows."""
    import pyarrow as pa

    def batches() -> Iterator[pa.RecordBatch]:
        left = limit
        while left:
            batch = next(rows, None)
            if batch is None:
                return
            yield batch.slice(0, min(left, batch.num_rows))
            left -= min(left, batch.num_rows)

    return pa.RecordBatchReader.from_batches(rows.schema, batches())
