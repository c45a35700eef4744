"""The functions that deltaskip evaluates: one entry each."""

from deltaskip.expr.functions.registry import FUNCTIONS, Function, Signature

__all__ = ["FUNCTIONS", "Function", "Signature"]
