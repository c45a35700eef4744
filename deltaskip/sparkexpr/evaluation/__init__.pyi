"""Evaluation of bound expressions by column, and the properties on which it depends."""

from .batch import CollatedOrder
from .columns import Evaluator, never_fails
from .row_columns import column_at
from .rows import Order, deterministic, evaluate, left_to_spark

__all__ = [
    "CollatedOrder",
    "Evaluator",
    "Order",
    "column_at",
    "deterministic",
    "evaluate",
    "left_to_spark",
    "never_fails",
]
