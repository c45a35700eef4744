"""The type of an SQL text over the columns of a schema."""

from __future__ import annotations

from deltaskip.errors import PredicateError
from deltaskip.expr.bind import bind_expression
from deltaskip.expr.coerce import type_of
from deltaskip.expr.sql.on_demand import parse_sql
from deltaskip.schema.types import DataType, StructType

__all__ = ["type_of_text"]


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
