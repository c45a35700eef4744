"""`deltaskip query`: rows of tables, by a scan or by DuckDB."""

from __future__ import annotations

from pathlib import Path

import click

from deltaskip.cli.command_line import debug_option, program, storage_option, time_zone_option
from deltaskip.cli.rows_out import rows_options, write_rows


@program.command("query")
@click.argument("text", metavar="SQL")
@time_zone_option("Session time zone.")
@rows_options
@storage_option
@debug_option
def _query(
    text: str, time_zone: str, file_format: str | None, output: Path | None, storage_options: dict[str, str]
) -> None:
    """Run a query over tables.

    A table is its path or URI in quotes, or its name if --catalog is given: SELECT id, price FROM 'data/orders' WHERE
    price > 10. Columns with a WHERE in Spark SQL and a LIMIT are read by a scan, which skips files. Any other query is
    run by DuckDB, in its SQL, if the package duckdb is installed; a line on standard error names functions that may
    have another meaning there than in Spark.
    """
    from deltaskip.cli.query_text import query_rows

    write_rows(query_rows(text, time_zone, storage_options), file_format, output)
