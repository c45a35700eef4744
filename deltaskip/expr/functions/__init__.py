"""The functions that deltaskip evaluates. Each function is one row in the module of its family."""

from deltaskip.expr.functions.function import Function, Signature
from deltaskip.expr.functions.function_table import ALIASES, FUNCTIONS, PRESENT, REPLACED, function_node

__all__ = ["ALIASES", "FUNCTIONS", "PRESENT", "REPLACED", "Function", "Signature", "function_node"]
