"""Expressions that are evaluated in this process.

This is the only place that says which part of an expression needs a Spark session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt
import pyarrow as pa

from deltaskip.errors import PredicateError
from deltaskip.records import dataclass
from deltaskip.sparkexpr.bind import bind, bind_expression
from deltaskip.sparkexpr.clock import at_time
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation.batch import CollatedOrder
from deltaskip.sparkexpr.evaluation.columns import Evaluator
from deltaskip.sparkexpr.evaluation.row_columns import Columns, column_at
from deltaskip.sparkexpr.evaluation.rows import left_to_spark
from deltaskip.sparkexpr.failures import EvaluationError, Undecided, needs_session, public_errors
from deltaskip.sparkexpr.nodes import FieldRef, Node, walk
from deltaskip.sparkexpr.padding import as_read, padded_column
from deltaskip.sparkexpr.text.render import to_sql
from deltaskip.sparkexpr.types.data_types import StructType
from deltaskip.sparkexpr.values.arrow_values import one_chunk


@dataclass(frozen=True, slots=True)
class EvaluationPlace:
    """Where expressions are evaluated, for messages.

    Attributes:
        rows: The name of the rows, such as a table's location.
        cure: The advice to users whose expression only Spark can evaluate, as a sentence.
        after_failure: The last sentence of the message that an expression fails for a row.
        failure: Makes the exception of that message.
        what: What the expressions are, as the beginning of a sentence.
    """

    rows: str
    cure: str
    after_failure: str = "Nothing was written."
    failure: Callable[[str], Exception] = PredicateError
    what: str = "The expression"


class LocalExpression:
    """A bound expression of which Spark is not needed for any row, as far as that is known without the rows.

    It can be pickled if its collations can.

    Args:
        node: The expression, as `bound` returns it.
        schema: The schema of the rows.
        place: Where it is evaluated.
        time_zone: The time zone of local times.
        collations: The collations of strings that are not compared by their bytes; None if none is available.
        ansi: Whether ANSI mode is on. If not, an expression that fails for a row in ANSI mode needs a session.
        shown: Returns a node as text, for messages.
        refuses_parts: Whether a part that needs a session is refused at once. If not, it is refused for the rows that
            reach it.

    Raises:
        UnsupportedFeature: A part of the expression needs a session.
    """

    def __init__(
        self,
        node: Node,
        schema: StructType,
        place: EvaluationPlace,
        *,
        time_zone: str = "UTC",
        collations: CollatedOrder | None = None,
        ansi: bool = True,
        shown: Callable[[Node], str] = to_sql,
        refuses_parts: bool = True,
    ) -> None:
        self.node = node
        self._shown = shown
        self._place = place
        self._evaluator = Evaluator(node, time_zone, collations)
        self._ansi = ansi
        if not refuses_parts:
            return
        why = left_to_spark(node) or (None if type_of(node) is not None else "its type is not known.")
        padded = None if why is not None else padded_column(node, schema)
        if padded is not None:
            column = next(part for part in walk(node) if isinstance(part, FieldRef) and part.logical == padded[0])
            name, declared = shown(column), padded[1]
            why = f"{name} is {declared} and padded by Spark; trim({name}) can be evaluated."
        if why is not None:
            raise needs_session(self._described(), place.rows, why, place.cure)

    def _described(self) -> str:
        return f"{self._place.what} {self._shown(self.node)}".strip()

    def values(self, columns: Columns, rows: int) -> pa.Array:
        """Return the value for each row, with the Arrow type of the expression's type.

        Raises UnsupportedFeature if only Spark can evaluate a row, and PredicateError, or the error of the place, if it
        fails.
        """
        if isinstance(self.node, FieldRef):
            return one_chunk(column_at(columns, self.node.logical))
        found: pa.Array = self._evaluated(lambda: self._evaluator.values(columns, rows))
        return found

    def mask(self, columns: Columns, rows: int) -> npt.NDArray[Any]:
        """Return whether a condition is TRUE for each row. See `values`."""
        found: npt.NDArray[Any] = self._evaluated(lambda: self._evaluator.mask(columns, rows))
        return found

    def _evaluated(self, evaluate: Callable[[], Any]) -> Any:
        place = self._place
        with public_errors(self._described, place.rows, place.cure, place.after_failure, place.failure):
            try:
                return evaluate()
            except EvaluationError as error:
                if self._ansi or isinstance(error, Undecided):
                    raise
                raise Undecided(
                    f"what fails in ANSI mode has a value without it, which is left to Spark. {error}"
                ) from error


def bound(
    node: Node, schema: StructType, time_zone: str, now_micros: int | None, is_condition: bool, ansi: bool = True
) -> Node:
    """Return an expression over rows as they are read, with names and types resolved. Raises as `bind` does.

    now_micros: The time of the statement; None for the functions of the clock to stay. is_condition: Whether the
    expression must be BOOLEAN.
    """
    timed = node if now_micros is None else at_time(node, now_micros, time_zone, schema.names)
    read = as_read(timed, schema, time_zone)
    return (bind if is_condition else bind_expression)(read, schema, time_zone=time_zone, ansi=ansi)
