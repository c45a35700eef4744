"""Spark SQL's expressions over Arrow data, without Spark."""

from . import nodes
from .column import ColumnExpr, SortTerm, col, lit, to_node
from .exact import Inexact, refused
from .failures import PASS_SESSION, EvaluationError, Undecided, needs_session, public_errors
from .over_data import CheckedExpression, check, evaluate, filter
from .padding import as_read, padded_column
from .python_values import literal_node, shaped
from .text.expressions import beyond_one_row, columns_in, is_valid_sql, parse_sql, type_of_text
from .text.parameters import bound_parameters, parameter_names, with_parameters
from .text.render import exact_sql, to_sql
from .text.type_names import sql_name, type_named
from .tuples import tuples_node

__all__ = [
    "PASS_SESSION",
    "CheckedExpression",
    "ColumnExpr",
    "EvaluationError",
    "Inexact",
    "SortTerm",
    "Undecided",
    "as_read",
    "beyond_one_row",
    "bound_parameters",
    "check",
    "col",
    "columns_in",
    "evaluate",
    "exact_sql",
    "filter",
    "is_valid_sql",
    "lit",
    "literal_node",
    "needs_session",
    "nodes",
    "padded_column",
    "parameter_names",
    "parse_sql",
    "public_errors",
    "refused",
    "shaped",
    "sql_name",
    "to_node",
    "to_sql",
    "tuples_node",
    "type_named",
    "type_of_text",
    "with_parameters",
]
