"""The functions that deltaskip evaluates: one row each, in the module of its family."""

from deltaskip.expr.functions.function import Function, Signature
from deltaskip.expr.functions.registry import FUNCTIONS

__all__ = ["FUNCTIONS", "Function", "Signature"]
