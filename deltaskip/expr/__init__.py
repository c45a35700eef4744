"""Predicates: nodes, parsing of Spark SQL and Python expressions, binding, normal form, and row-by-row evaluation."""

from deltaskip.expr.bind import bind, bind_expression
from deltaskip.expr.column import ColumnExpr, col, lit, to_node
from deltaskip.expr.evaluation import deterministic, evaluate
from deltaskip.expr.failures import PASS_SESSION, EvaluationError, Undecided, needs_session, public_errors
from deltaskip.expr.functions import function_node
from deltaskip.expr.nodes import Node, columns_of, top_level_columns
from deltaskip.expr.normalize import normalize
from deltaskip.expr.sql.expressions import beyond_one_row, columns_in, is_valid_sql, parse_sql, type_of_text
from deltaskip.expr.sql.parameters import parameter_names, with_parameters

__all__ = [
    "PASS_SESSION",
    "ColumnExpr",
    "EvaluationError",
    "Node",
    "Undecided",
    "beyond_one_row",
    "bind",
    "bind_expression",
    "col",
    "columns_in",
    "columns_of",
    "deterministic",
    "evaluate",
    "function_node",
    "is_valid_sql",
    "lit",
    "needs_session",
    "normalize",
    "parameter_names",
    "parse_sql",
    "public_errors",
    "to_node",
    "top_level_columns",
    "type_of_text",
    "with_parameters",
]
