"""SQL text for other packages, with sqlglot imported when the first text needs it: it takes longer than most plans."""

from __future__ import annotations

from deltaskip.errors import InvalidArgumentType
from deltaskip.expr.nodes import Node
from deltaskip.expr.sql.plain import plain_node
from deltaskip.schema.types import DataType, StructType

__all__ = [
    "beyond_one_row",
    "columns_in",
    "is_valid_sql",
    "parameter_names",
    "parse_sql",
    "type_of_text",
    "with_parameters",
]


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
    plain = plain_node(text)
    if plain is not None:
        return plain
    from deltaskip.expr.sql.parse import parsed

    return parsed(text)


def with_parameters(where: object, params: object) -> object:
    """Return a predicate with its parameters replaced by literals of their values; without `params`, as it is.

    Args:
        where: The predicate, as SQL text.
        params: Values by name for `:name`, or a list of values for `?` in the order of the text. A list of constants
            as a value stands for the values of IN, as in `id IN (:ids)`.

    Raises:
        PredicateError: A parameter has no value, or the value is not one of Spark SQL.
        InvalidArgument: A value has no parameter, or the predicate is not text.
        InvalidArgumentType: `params` is neither a mapping nor a list, or a value has a wrong type.
    """
    if params is None:
        return where
    from deltaskip.expr.sql.parameters import replaced

    return replaced(where, params)


def parameter_names(text: str) -> frozenset[str]:
    """Return the names of the parameters in a predicate; none for text that Spark cannot read."""
    from deltaskip.expr.sql import parameters

    return parameters.parameter_names(text)


def type_of_text(text: str, schema: StructType) -> DataType | None:
    """Return the type of an expression; None if deltaskip does not know it.

    Args:
        text: The expression as SQL text.
        schema: The columns that it uses.
    """
    from deltaskip.expr.sql import typed_text

    return typed_text.type_of_text(text, schema)


def is_valid_sql(text: str) -> bool:
    """Return whether sqlglot's own Spark dialect parses `text` as one expression."""
    from deltaskip.expr.sql import dialect

    return dialect.is_valid_sql(text)


def columns_in(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the parts of the columns in an SQL text, without duplicates; none if the text cannot be parsed."""
    from deltaskip.expr.sql import dialect

    return dialect.columns_in(text)


def beyond_one_row(text: str) -> str | None:
    """Return the first part of an SQL text that other rows, the time or chance decide, as an aggregate or `rand()`.

    None if there is no such part, as far as functions are known, or the text cannot be parsed.
    """
    from deltaskip.expr.sql import dialect

    return dialect.beyond_one_row(text)
