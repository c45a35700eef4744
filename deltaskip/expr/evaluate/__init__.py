"""Evaluation of bound expressions: of one row (`rows`), the reference for all that prunes, and by column (`columns`)."""

from deltaskip.expr.evaluate.rows import Order, Row, compare_values, deterministic, evaluate, left_to_spark

__all__ = ["Order", "Row", "compare_values", "deterministic", "evaluate", "left_to_spark"]
