"""Evaluation of bound expressions: of one row (`rows`), which is the reference for everything that prunes, and by column."""

from deltaskip.expr.evaluate.rows import Order, Row, compare_values, deterministic, evaluate, left_to_spark

__all__ = ["Order", "Row", "compare_values", "deterministic", "evaluate", "left_to_spark"]
