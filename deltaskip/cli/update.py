"""`deltaskip update`: columns of the rows that match a predicate are set."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from deltaskip.cli.command_line import program, written_table
from deltaskip.cli.open_table import open_table
from deltaskip.cli.row_changes import change_rows, changes_rows, check_every
from deltaskip.errors import SchemaError


@program.command("update", short_help="Set columns of the rows that match a predicate.")
@written_table
@click.argument("assignments", nargs=-1, required=True, metavar="ASSIGNMENT...")
@changes_rows
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
    check_every(every, where)
    from deltaskip.cli.where_options import predicate

    given: dict[str, object] = {}
    for each in assignments:
        name, value = _assignment(each)
        if name in given:
            raise click.UsageError(f"{name} is set twice.")
        given[name] = value
    text, opened = predicate(where, params), open_table(table, storage_options)
    change_rows(opened, "UPDATE", partial(opened.update, given), text, chosen, as_json)


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
