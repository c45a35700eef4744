"""Evaluates a bound expression for many rows at once, with the values and errors of `rows.evaluate`.

Spark does not evaluate the right operand of an AND whose left operand is FALSE, or the values of a CASE whose condition
is not TRUE. This evaluator first evaluates every operand for all rows, which is fastest and rarely fails. If an operand
fails, it is evaluated again for the rows for which Spark evaluates it: an expression fails for exactly the same rows as
in Spark. A function that cannot compute whole columns, or some rows of them, is computed once for each combination of
its arguments' values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import SchemaError
from deltaskip.recursion import deep
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.coerce import is_nested, type_of
from deltaskip.sparkexpr.comparison_collation import comparison_collation
from deltaskip.sparkexpr.evaluation.batch import Batch, CollatedOrder
from deltaskip.sparkexpr.evaluation.row_columns import Columns, column_at, taken_rows
from deltaskip.sparkexpr.evaluation.rows import evaluate
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.literal_list import nodes_in
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.values.arrow_nested import conformed
from deltaskip.sparkexpr.values.arrow_values import arrow_array, domain_values, one_chunk, true_rows
from deltaskip.sparkexpr.values.dates import DATE_FIELDS, TIME_FIELDS
from deltaskip.sparkexpr.values.interval_types import INTERVALS
from deltaskip.sparkexpr.values.vectors import array_of, as_array, scattered

# Failing rows are found by bisection up to this number of failures, and then one by one.
_MOST_FAILURES = 16
_NEVER_FAIL = frozenset((*DATE_FIELDS, *TIME_FIELDS, "length", "coalesce", "isnan", "trim", "btrim", "ltrim", "rtrim"))


class Evaluator:
    """Evaluates a bound expression over batches of rows.

    Args:
        node: The expression, bound by `bind` or `bind_expression`.
        time_zone: The time zone of local times.
        collations: The collations for strings that are not compared by their bytes; None if no collation is available.
    """

    def __init__(self, node: n.Node, time_zone: str = "UTC", collations: CollatedOrder | None = None) -> None:
        self.node = node
        # Intervals are evaluated as constants only.
        self._is_undecided = _reads_intervals(node)
        self._time_zone = time_zone
        self._collations = collations

    def values(self, columns: Columns, rows: int) -> pa.Array:
        """Return the value of the expression for each row, with the Arrow type of its Delta type.

        Raises EvaluationError if Spark raises for a row in ANSI mode, and Undecided if only Spark knows its value.
        """
        type_ = type_of(self.node)
        if type_ is None:
            raise Undecided("The type of the expression is not known.")
        try:
            kind = arrow_type(type_)
        except SchemaError as error:
            raise Undecided("A value that has no type in Arrow, such as an interval, is left to Spark.") from error
        if any(each in INTERVALS for each in t.nested_types(type_)):
            raise Undecided("An interval is left to Spark.")
        if not rows:
            return pa.nulls(0, kind)
        found, unknown = self._found(columns, rows)
        if not unknown.any():
            return found
        decided = self._decided(columns, np.flatnonzero(unknown))
        return pc.if_else(arrow_array(unknown), scattered(array_of(decided, type_), unknown), found)

    def mask(self, columns: Columns, rows: int) -> npt.NDArray[Any]:
        """Return for each row whether a predicate is TRUE. For arguments and errors, see `values`."""
        if not rows:
            return np.zeros(0, np.bool_)
        found, unknown = self._found(columns, rows)
        true = true_rows(found)
        if unknown.any():
            true[unknown] = [value is True for value in self._decided(columns, np.flatnonzero(unknown))]
        return true

    def may_be_true(self, columns: Columns, rows: int) -> npt.NDArray[Any]:
        """Return for each row whether a predicate is TRUE, or its value is not known, or Spark raises.

        For arguments, see `values`. Raises no evaluation errors.
        """
        found = np.ones(rows, np.bool_)
        if self._is_undecided:
            return found
        pending, failures = [np.arange(rows)] if rows else [], 0
        while pending:
            places = pending.pop()
            given = columns if len(places) == rows else taken_rows(columns, self.node, places)
            try:
                values, unknown = self._batch(given, len(places))
            except (EvaluationError, LookupError):
                failures += 1
                if len(places) > 1 and failures <= _MOST_FAILURES:
                    pending += np.array_split(places, 2)
                    continue
                true, unknown = np.ones(len(places), np.bool_), np.ones(len(places), np.bool_)
            else:
                true = true_rows(values)
            for at in np.flatnonzero(unknown).tolist():
                true[at] = self._may_be_true(given, at)
            found[places] = true
        return found

    def _may_be_true(self, columns: Columns, at: int) -> bool:
        """Whether the predicate may be TRUE for one row."""
        try:
            return self._decided(columns, [at])[0] is True
        except (EvaluationError, LookupError):
            return True

    def _batch(self, columns: Columns, rows: int) -> tuple[pa.Array, npt.NDArray[Any]]:
        """The values, and a mask of the rows that the row evaluator must decide."""
        batch = Batch(columns, rows, self._time_zone, self._collations)
        try:
            found = one_chunk(as_array(batch.value(self.node), rows))
            type_ = type_of(self.node)
            if type_ is not None and is_nested(type_):
                found = conformed(found, arrow_type(type_))
        except pa.ArrowException as error:
            raise Undecided(f"Arrow cannot compute it: {str(error).splitlines()[0]}") from error
        except SchemaError as error:
            raise Undecided("A struct or map of intervals, which have no type in Arrow, is left to Spark.") from error
        unknown = np.zeros(rows, np.bool_)
        for each in batch.unknown:
            unknown |= each
        return found, unknown

    def _found(self, columns: Columns, rows: int) -> tuple[pa.Array, npt.NDArray[Any]]:
        """Like `_batch`, but raises the error of the first row that fails."""
        if self._is_undecided:
            raise Undecided("An expression over a column of intervals is left to Spark.")
        try:
            return self._batch(columns, rows)
        except LookupError as error:
            raise Undecided(f"The order of a string under {error} is not known.") from error
        except EvaluationError:
            self._raise_for_row(columns, rows)
            # No row fails alone: the row evaluator computes all rows.
            return pa.nulls(rows, arrow_type(type_of(self.node) or t.VOID)), np.ones(rows, np.bool_)

    def _raise_for_row(self, columns: Columns, rows: int) -> None:
        """Raise the error of the first row that fails."""
        places = np.arange(rows)
        while len(places) > 1:
            half = places[: len(places) // 2]
            try:
                self._batch(taken_rows(columns, self.node, half), len(half))
            except EvaluationError:
                places = half
            else:
                places = places[len(half) :]
        self._decided(columns, places)

    def _decided(self, columns: Columns, places: Sequence[int] | npt.NDArray[Any]) -> list[object]:
        """The values that the row evaluator computes for the rows at `places`."""
        chosen = taken_rows(columns, self.node, np.asarray(places))
        fields = {part.logical: part.type for part in n.walk(self.node) if isinstance(part, n.FieldRef)}
        paths = list(fields)
        lists = [
            domain_values(conformed(one_chunk(column_at(chosen, path)), arrow_type(fields[path]))) for path in paths
        ]
        order = None if self._collations is None else self._collations.order
        rows = zip(*lists, strict=True) if lists else [()] * len(places)
        return [evaluate(self.node, dict(zip(paths, row, strict=True)), self._time_zone, order) for row in rows]


@deep
def never_fails(node: n.Node) -> bool:
    """Whether deltaskip can evaluate a bound expression for every row, with and without ANSI mode.

    It can evaluate comparisons, IN, IS NULL, CASE and logic over columns, constants, widened integers, dates of times,
    fields of dates and times, lengths and trimmed strings.
    """
    match node:
        case n.Literal() | n.FieldRef():
            return not is_nested(node.type)
        case n.Cast(child, type_):
            source = type_of(child) or t.VOID
            is_wider = 0 < t.INTEGRAL_BITS.get(source, 0) <= t.INTEGRAL_BITS.get(type_, 0)
            return (is_wider or (source in (t.TIMESTAMP, t.TIMESTAMP_NTZ) and type_ == t.DATE)) and never_fails(child)
        case n.Call(name, args) if name in _NEVER_FAIL and node.type is not None:
            texts = [each for each in args if type_of(each) == t.STRING]
            collated = bool(texts) and comparison_collation(*texts) is not None
            return not collated and all(map(never_fails, args))
        case n.Compare(_, left, right):
            collated = type_of(left) == t.STRING and comparison_collation(left, right) is not None
            return not collated and never_fails(left) and never_fails(right)
        case n.In(child, values):
            collated = type_of(child) == t.STRING and comparison_collation(child, *nodes_in(values)) is not None
            return not collated and never_fails(child) and all(map(never_fails, nodes_in(values)))
        case n.IsNull() | n.Not() | n.And() | n.Or() | n.Case():
            return type_of(node) is not None and all(map(never_fails, n.children_of(node)))
    return False


@n.kept
def _reads_intervals(node: n.Node) -> bool:
    """Whether the values, and not only the NULLs, of a column of intervals decide about the expression."""
    pending = [node]
    while pending:
        part = pending.pop()
        if isinstance(part, n.FieldRef) and any(each in INTERVALS for each in t.nested_types(part.type)):
            return True
        if not (isinstance(part, n.IsNull) and isinstance(part.child, n.FieldRef)):
            pending.extend(child for child in n.children_of(part) if not isinstance(child, n.Literal))
    return False
