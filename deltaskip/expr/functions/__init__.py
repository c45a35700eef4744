"""The functions that deltaskip evaluates. Each function is one row in the module of its family."""

from deltaskip.expr.functions.by_name import ALIASES, FUNCTIONS, PRESENT, REPLACED, function_node

__all__ = ["ALIASES", "FUNCTIONS", "PRESENT", "REPLACED", "function_node"]
