"""Evaluation of bound expressions: row by row (`rows`), the reference of all proofs, and by column (`columns`)."""

from deltaskip.expr.evaluation.rows import Order, Row, deterministic, evaluate, left_to_spark
from deltaskip.expr.order import compare_values

__all__ = ["Order", "Row", "compare_values", "deterministic", "evaluate", "left_to_spark"]
