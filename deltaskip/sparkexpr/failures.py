"""Errors of evaluation, and their conversion to public errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from deltaskip.errors import DeltaSkipError, OptionAdvice, PredicateError, UnsupportedFeature

PASS_SESSION = OptionAdvice("spark", "statement", "Pass a session as spark.")
"""The advice for an expression that only Spark can evaluate, for methods with the parameter `spark`."""


class EvaluationError(DeltaSkipError, ArithmeticError):
    """An expression has no value for this row: Spark raises in ANSI mode, or deltaskip does not know Spark's result."""


class Undecided(EvaluationError):
    """deltaskip does not know Spark's result: it depends on versions, or the rule is not implemented."""


def value_or_null(compute: Callable[..., object], *args: Any) -> object:
    """Return the value of a function for its arguments; None where it raises, as functions such as `try_to_date`.

    Raises Undecided as the function does.
    """
    try:
        return compute(*args)
    except Undecided:
        raise
    except EvaluationError:
        return None


def needs_session(what: str, rows: str, why: object, cure: str) -> UnsupportedFeature:
    """Return the error for an expression that only Spark can evaluate.

    what: The expression as the beginning of a sentence, such as `The predicate a > 5`. rows: The name of the rows'
    table. why, cure: The reason, and the advice to the user, as sentences.
    """
    return UnsupportedFeature(
        f"{what} cannot be evaluated over rows of {rows} without Spark: {why} {cure}", needs_session=True
    ).advising(cure)


@contextmanager
def public_errors(
    what: Callable[[], str],
    rows: str,
    cure: str,
    after_failure: str = "Nothing was written.",
    failure: Callable[[str], Exception] = PredicateError,
) -> Iterator[None]:
    """Convert errors of an evaluation in the block into UnsupportedFeature, and what `failure` makes of a message.

    what: Returns the expression as the beginning of a sentence; called only after an error. rows, cure: See
    `needs_session`. after_failure: The last sentence of the message that the expression fails for a row.
    """
    try:
        yield
    except Undecided as error:
        raise needs_session(what(), rows, error, cure) from error
    except EvaluationError as error:
        raise failure(f"{what()} fails for a row of {rows}: {error} {after_failure}".rstrip()) from error
