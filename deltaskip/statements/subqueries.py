"""Queries in the predicate of a DELETE or UPDATE: each is run first, and its values take its place.

# Spark 4.1, SqlBaseParser.g4: predicate (IN), primaryExpression (subqueryExpression), EXISTS
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deltaskip.errors import InvalidArgument, PredicateError
from deltaskip.expr.python_values import literal_node
from deltaskip.expr.render import exact_sql
from deltaskip.statements.reader import StatementReader

__all__ = ["with_values"]

_MOST_VALUES = 10_000
_QUERIES = ("SELECT", "WITH", "VALUES", "FROM", "TABLE")
_TYPES = ("tinyint", "smallint", "int", "bigint", "string", "boolean", "date", "float", "double", "void")
_INSTEAD = "use MERGE INTO … USING (query) … WHEN MATCHED THEN DELETE or UPDATE"


def with_values(text: str, run: Callable[[str], Any]) -> str:
    """Return a predicate in which constants stand for the queries after IN and EXISTS, and for those of one value.

    Args:
        text: The predicate.
        run: Returns the DataFrame of a query.

    Raises:
        InvalidArgument: A query has more values than a predicate can hold, or values of a type without literals.
        PredicateError: Spark cannot run a query by itself, since it uses columns of the table, for example.
    """
    reader = StatementReader(text)
    pieces: list[str] = []
    end = at = 0
    while at < len(reader.tokens):
        token = reader.tokens[at]
        first = reader.tokens[at + 1] if at + 1 < len(reader.tokens) else None
        if not token.is_symbol("(") or first is None or not first.is_word(*_QUERIES):
            at += 1
            continue
        closing = reader.closing(at)
        query = text[token.end : reader.tokens[closing].start]
        start, constant = _constant(reader, at, query, run)
        pieces += text[end:start], constant
        end = reader.tokens[closing].end
        at = closing + 1
    return "".join([*pieces, text[end:]])


def _constant(reader: StatementReader, at: int, query: str, run: Callable[[str], Any]) -> tuple[int, str]:
    """Where the text that a query takes part in begins, and what takes its place. at: of the parenthesis."""
    tokens = reader.tokens
    before = tokens[at - 1] if at else None
    if before is not None and before.is_word("EXISTS"):
        return before.start, "TRUE" if _rows(query, run, 1) else "FALSE"
    if before is None or not before.is_word("IN"):
        values = _values(query, run, 2)
        if len(values) > 1:
            raise PredicateError(f"The query ({query}) must have one row, but has more.")
        return tokens[at].start, values[0] if values else "NULL"
    values = _values(query, run, _MOST_VALUES + 1)
    if len(values) > _MOST_VALUES:
        raise InvalidArgument(f"The query ({query}) has more than {_MOST_VALUES:,} values: {_INSTEAD}.")
    negated = at > 1 and tokens[at - 2].is_word("NOT")
    start = tokens[at - 2].start if negated else before.start
    if not values:
        # Spark 4.1: x IN () is FALSE and x NOT IN () is TRUE for every x, also for NULL.
        return start, "<=> NULL IS NOT NULL" if negated else "<=> NULL IS NULL"
    return start, f"{'NOT ' if negated else ''}IN ({', '.join(values)})"


def _values(query: str, run: Callable[[str], Any], most: int) -> list[str]:
    """The values of a query of one column as literals, at most so many."""
    found = _rows(query, run, most)
    if found and len(found[0]) != 1:
        raise PredicateError(f"The query ({query}) must have one column, but has {len(found[0])}.")
    return [exact_sql(literal_node(row[0], f"A value of the query ({query})")) for row in found]


def _rows(query: str, run: Callable[[str], Any], most: int) -> list[Any]:
    try:
        frame = run(query)
    except PredicateError as error:
        raise PredicateError(
            f"The query ({query}) in a predicate of DELETE or UPDATE must be one that can run by itself; if it uses "
            f"columns of the table, {_INSTEAD}. {error}"
        ) from error
    if most > 1:
        for field in frame.schema.fields:
            kind = field.dataType.simpleString()
            if kind not in _TYPES and not kind.startswith("decimal"):
                raise InvalidArgument(
                    f"The query ({query}) in a predicate of DELETE or UPDATE has values of the type {kind}, which "
                    f"cannot be written into the predicate: {_INSTEAD}."
                )
    found: list[Any] = frame.limit(most).collect()
    return found
