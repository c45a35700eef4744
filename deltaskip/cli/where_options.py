"""The predicate of a command: every --where must hold, and --param gives the values of :name."""

from __future__ import annotations

from collections.abc import Sequence

import click

from deltaskip.errors import PredicateError
from deltaskip.sparkexpr import parameter_names, parse_sql, with_parameters
from deltaskip.sparkexpr.nodes import Literal


def predicate(where: Sequence[str], params: Sequence[str]) -> str | None:
    """Return the predicate that is TRUE where all of `where` are, with its parameters replaced; None without any.

    Args:
        where: Predicates in Spark SQL.
        params: Strings `NAME=VALUE`. A repeated name has a list of values, for IN.

    Raises:
        PredicateError: A predicate cannot be parsed, or a parameter has no value.
        click.UsageError: A parameter does not have the form NAME=VALUE, or there is no predicate.
    """
    values = _values(params)
    if not where:
        if values:
            raise click.UsageError("--param needs --where.")
        return None
    if len(where) == 1:
        text = where[0]
    else:
        # Each must be a predicate by itself: `a) OR (b` is not. The line breaks end comments.
        for each in where:
            parse_sql(_filled(each, values))
        text = " AND ".join(f"({each}\n)" for each in where)
    return str(with_parameters(text, values)) if values else text


def _filled(text: str, values: dict[str, object]) -> str:
    """One of several predicates, which need not have every parameter."""
    names = parameter_names(text)
    mine = {name: value for name, value in values.items() if name in names}
    return str(with_parameters(text, mine)) if names else text


def _values(params: Sequence[str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for param in params:
        name, equals, text = param.partition("=")
        name = name.strip().removeprefix(":")
        if not equals or not name.isidentifier():
            raise click.UsageError(f"--param must be NAME=VALUE, such as day=2026-01-31, not {param!r}.")
        value = _value(text)
        if name in found:
            before = found[name]
            found[name] = [*(before if isinstance(before, list) else [before]), value]
        else:
            found[name] = value
    return found


def _value(text: str) -> object:
    """The literal in the text, such as a number or NULL; any other text, or one in quotes (`'5'`), is a string."""
    try:
        node = parse_sql(text)
    except PredicateError:
        return text
    return node if isinstance(node, Literal) else text
