"""Functions that fail on purpose.

# Spark 4.1, RaiseError and AssertTrue in misc.scala
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from deltaskip.errors import shown
from deltaskip.expr.coerce import implicit_cast, type_of
from deltaskip.expr.failures import EvaluationError
from deltaskip.expr.functions.function import Function, Row, Typed, takes
from deltaskip.expr.nodes import Call, Node
from deltaskip.expr.vectors import Values, is_constant, none_of
from deltaskip.schema.calendar import Zone
from deltaskip.schema.types import BOOLEAN, STRING, VOID


def _assert_signature(args: tuple[Node, ...]) -> Typed:
    """A condition, and a message that is evaluated where it does not hold."""
    message = implicit_cast(args[1], STRING) if len(args) == 2 else None
    if not args or type_of(args[0]) != BOOLEAN or (len(args) == 2 and message is None):
        return None
    return (args[0], *(() if message is None else (message,))), VOID


def _assert(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    if args[0] is not True:
        message = "the condition of assert_true does not hold" if len(args) == 1 else args[1]
        raise EvaluationError(f"USER_RAISED_EXCEPTION: {message}")
    return None


def _assert_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    if is_constant(args[0]):
        _assert((args[0].as_py(), ""), call, zone)
        return none_of(pa.null())
    if args[0].null_count or args[0].true_count < len(args[0]):
        raise EvaluationError("A condition of assert_true does not hold (USER_RAISED_EXCEPTION).")
    return none_of(pa.null())


def _raise(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    raise EvaluationError(f"{shown(args[0])} (USER_RAISED_EXCEPTION)")


ASSERTIONS: Mapping[str, Row] = {
    "assert_true": Function(_assert_signature, _assert, False, by_column=_assert_column),
    "raise_error": Function(takes(VOID, STRING), _raise, False),
}
