"""What evaluation raises."""

from deltaskip.errors import DeltaSkipError

__all__ = ["EvaluationError"]


class EvaluationError(DeltaSkipError, ArithmeticError):
    """An expression has no value for this row: Spark's ANSI mode raises too, or its answer cannot be told here."""
