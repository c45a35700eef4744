"""Defaults of columns: the value where none is given, and whether an expression can be one.

# PROTOCOL, Default Columns
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from deltaskip.errors import RowViolation, SchemaError, UnsupportedFeature
from deltaskip.rows.arrow_conversion import ArrowRows
from deltaskip.rows.plan import plan_rows
from deltaskip.rows.store import check_assignable
from deltaskip.schema.properties import TableProperties
from deltaskip.sparkexpr import beyond_one_row, columns_in, is_valid_sql, type_of_text
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.functions import AGGREGATES, GENERATORS, NONDETERMINISTIC, WINDOWS
from deltaskip.sparkexpr.text.sql_text import sql_tokens
from deltaskip.sparkexpr.types.lengths import stored_field

_OF_ROWS = AGGREGATES | GENERATORS | NONDETERMINISTIC | WINDOWS
_KEPT = (t.COLLATIONS_KEY, t.CHAR_VARCHAR_KEY)


def default_sql(field: t.StructField) -> str:
    """Return the SQL text of a column's value where none is given: its default, or NULL."""
    return str(field.metadata.get(t.DEFAULT_KEY, "NULL"))


def default_problem(field: t.StructField, text: str, table: str) -> str | None:
    """Return why an expression cannot be the default of a column; None if it can, or only Spark can tell.

    Args:
        field: The column.
        text: The expression as SQL text.
        table: The table's location, for messages.
    """
    if not text or not is_valid_sql(text):
        return "it is not an SQL expression"
    if any(token.is_word("SELECT") for token in sql_tokens(text)):
        return "a default cannot contain a query"
    if columns_in(text, t.StructType()):
        return "a default cannot use columns"
    for part in beyond_one_row(text, t.StructType()):
        if part.partition("(")[0].strip().lower() in _OF_ROWS:
            return f"a default has one value for all rows of a statement, and {part} has not"
    if field.type == t.VARIANT and text.upper() != "NULL":
        return "a variant column can only have the default NULL"
    return _does_not_fit(field, text, table)


def _does_not_fit(field: t.StructField, text: str, table: str) -> str | None:
    """Why the value of a default does not fit the column."""
    plain: dict[str, Any] = {key: field.metadata[key] for key in _KEPT if key in field.metadata}
    column = stored_field(t.StructField(field.name, field.type, True, {**plain, t.DEFAULT_KEY: text}))
    given = pa.table({"row" if field.name != "row" else "rows": [0]})
    try:
        source = type_of_text(text, t.StructType())
        if source is not None:
            check_assignable(source, column.type, (field.name,), table)
        schema = t.StructType((*t.from_arrow(given.schema).fields, column))
        plan = plan_rows(schema, TableProperties({}, table), t.from_arrow(given.schema))
        ArrowRows(plan).convert(given)
    except UnsupportedFeature:
        return None
    except (RowViolation, SchemaError) as error:
        return str(error).removesuffix(" Nothing was written.").rstrip(".")
    return None
