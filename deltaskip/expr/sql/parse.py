"""SQL text as a node, with its columns, its type, and what it depends on.

SQL without a node becomes Opaque, which keeps files.
"""

from __future__ import annotations

from functools import lru_cache

from deltaskip.errors import InvalidArgumentType, PredicateError
from deltaskip.expr.bind import bind_expression
from deltaskip.expr.coerce import type_of
from deltaskip.expr.nodes import MAX_DEPTH, Node, Opaque, is_too_large
from deltaskip.expr.sql.expressions import ExpressionReader
from deltaskip.schema.types import DataType, StructType

# Characters of a text that is kept with its node for the next time.
_SHORT = 1000


def parse_sql(text: str) -> Node:
    """Parse a predicate in Spark SQL. Names are not resolved.

    TIMESTAMP literals without a zone become casts, which `bind` folds in the session's time zone.

    Args:
        text: The predicate, such as "id > 5 AND name LIKE 'k%'".

    Raises:
        PredicateError: Spark cannot parse the text. The message has the line, the column and the text.
        InvalidArgumentType: `text` is not a str.
    """
    if not isinstance(text, str):
        raise InvalidArgumentType.of("A predicate", "a str", text)
    return _again(text) if len(text) <= _SHORT else _parsed(text)


def _parsed(text: str) -> Node:
    read = ExpressionReader(text)
    # A level takes a character at least.
    if len(text) > MAX_DEPTH and is_too_large(read.node):
        return Opaque(text, read.columns)
    return read.finished(read.node)


_again = lru_cache(maxsize=64)(_parsed)


def type_of_text(text: str, schema: StructType) -> DataType | None:
    """Return the type of an expression; None if deltaskip does not know it.

    Args:
        text: The expression as SQL text.
        schema: The columns that it uses.
    """
    try:
        return type_of(bind_expression(parse_sql(text), schema))
    except PredicateError:
        return None


def is_valid_sql(text: str) -> bool:
    """Return whether Spark parses `text` as one expression, as far as it is read here."""
    return _read(text) is not None


def columns_in(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the parts of the columns in an SQL text, without duplicates; none if the text cannot be parsed."""
    read = _read(text)
    return () if read is None else read.columns


def beyond_one_row(text: str) -> str | None:
    """Return the first part of an SQL text that other rows, the time or chance decide, as an aggregate or `rand()`.

    None if there is no such part, as far as functions are known, or the text cannot be parsed.
    """
    read = _read(text)
    if read is None or not read.beyond:
        return None
    start, end = min(read.beyond, key=lambda part: (part[0], -part[1]))
    return text[start:end]


def _read(text: str) -> ExpressionReader | None:
    try:
        return ExpressionReader(text, checked=False)
    except PredicateError:
        return None
