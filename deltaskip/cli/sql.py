"""`deltaskip sql`: an SQL statement over the tables of the catalog."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from deltaskip.cli.command_line import debug_option, json_option, program, show, storage_option
from deltaskip.cli.open_table import open_catalog, session_for_catalog
from deltaskip.cli.rows_out import print_rows, text_of
from deltaskip.errors import SparkUnavailable


@program.command("sql", short_help="Run an SQL statement over the tables of the catalog.")
@click.argument("text", metavar="STATEMENT")
@storage_option
@json_option
@debug_option
def _sql(text: str, storage_options: dict[str, str], as_json: bool) -> None:
    """Run an SQL statement over the tables of the catalog, such as 'SHOW TABLES IN sales'.

    Statements that read rows start a local Spark session. Tables are read by their paths with `deltaskip query`.
    """
    show(_answer(text, storage_options), as_json, _print_rows)


def _answer(text: str, storage_options: Mapping[str, str]) -> list[dict[str, Any]]:
    """Run a statement, with a local Spark session if it needs one; return the rows of its answer."""
    import pyarrow as pa

    catalog = open_catalog(storage_options)
    try:
        answer = catalog.sql(None, text)
    except SparkUnavailable:
        answer = catalog.sql(session_for_catalog(), text)
    if answer is None:
        return []
    if isinstance(answer, pa.Table):
        found: list[dict[str, Any]] = answer.to_pylist()
    else:
        found = [row.asDict(recursive=True) for row in answer.collect()]
    return [{name: _plain(value) for name, value in row.items()} for row in found]


def _plain(value: Any) -> Any:
    """A value of a row, for JSON."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print rows as `deltaskip query` does; nothing if there are none."""
    if rows:
        print_rows(list(rows[0]), ["prose"] * len(rows[0]), (list(map(text_of, row.values())) for row in rows))
