"""What evaluation raises."""

from deltaskip.errors import DeltaSkipError

__all__ = ["EvaluationError", "Undecided"]


class EvaluationError(DeltaSkipError, ArithmeticError):
    """An expression has no value for this row: Spark's ANSI mode raises too, or its answer cannot be told here."""


class Undecided(EvaluationError):
    """Spark has an answer, but it cannot be told here: it depends on versions, or the rule is not known."""
