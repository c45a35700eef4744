"""Errors of evaluation."""

from deltaskip.errors import DeltaSkipError


class EvaluationError(DeltaSkipError, ArithmeticError):
    """An expression has no value for this row: Spark raises in ANSI mode, or its result is not known here."""


class Undecided(EvaluationError):
    """Spark has a result that is not known here: it depends on versions, or the rule is not implemented."""
