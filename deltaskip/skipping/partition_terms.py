"""Terms of a program over partition columns, evaluated once for each distinct tuple of values.

Values are those of the log, never of directory names (PROTOCOL, Partition Value Serialization). Plain comparisons are
evaluated on Arrow arrays of the distinct values, all others by the evaluator, tuple by tuple.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.expr.evaluate import Order, evaluate
from deltaskip.expr.failures import EvaluationError
from deltaskip.expr.nodes import And, Compare, FieldRef, In, IsNull, Literal, Node, Not, Or
from deltaskip.kernels.lane import Lane, take_lane
from deltaskip.schema.arrow_values import FALSE, arrow_array, arrow_scalar, numpy_values
from deltaskip.schema.types import BYTE, DATE, INTEGER, LONG, SHORT, TIMESTAMP, TIMESTAMP_NTZ, DataType
from deltaskip.skipping.partition_values import PartitionColumn, readings
from deltaskip.skipping.program import PartitionTerm

__all__ = ["PartitionTruth"]

_INTEGRAL: tuple[DataType, ...] = (BYTE, SHORT, INTEGER, LONG, DATE, TIMESTAMP, TIMESTAMP_NTZ)
_COMPARISONS: dict[str, Callable[[Any, Any], pa.Array]] = {
    "=": pc.equal,
    "<=>": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}

Columns = Callable[[FieldRef], tuple[PartitionColumn, pa.Array]]
"""A batch's partition column: its distinct values, and an int32 code for each file."""


@dataclass(slots=True)
class PartitionTruth:
    """Which partition values make the terms of one scan TRUE or unknown. Safe to share between threads.

    time_zone: of timestamps without one; None if unknown. order: of collated strings (expr.evaluate).
    """

    time_zone: str | None
    order: Order | None = None
    _outcomes: dict[PartitionTerm, bytearray] = field(default_factory=dict)
    _tuples: dict[tuple[PartitionTerm, tuple[int, ...]], bool] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def keep(self, term: PartitionTerm, columns: Columns) -> Lane:
        """Keep mask of `term` over the files of a batch."""
        found = [columns(column) for column in term.columns]
        with self._lock:
            return self._mask(term, found)

    def _mask(self, term: PartitionTerm, found: list[tuple[PartitionColumn, pa.Array]]) -> Lane:
        if len(found) == 1:
            [(column, codes)] = found
            return take_lane(codes, self._of_codes(term, column), True)
        combined, tuples = _distinct_tuples([codes for _, codes in found], [len(c.texts) for c, _ in found])
        keep = bytearray(len(tuples))
        for position, values in enumerate(tuples):
            key = (term, values)
            if key not in self._tuples:
                self._tuples[key] = self._may_match(term, [c for c, _ in found], values)
            keep[position] = self._tuples[key]
        return take_lane(combined, bytes(keep), True)

    def _of_codes(self, term: PartitionTerm, column: PartitionColumn) -> bytes:
        keep = self._outcomes.setdefault(term, bytearray())
        start, end = len(keep), len(column.texts)
        if start < end:
            plain = self._plain(term, column, start)
            if plain is not None:
                keep.extend(plain)
            else:
                keep.extend(self._may_match(term, [column], (code,)) for code in range(start, end))
        return bytes(keep)

    def _plain(self, term: PartitionTerm, column: PartitionColumn, start: int) -> bytes | None:
        """Result of a plain comparison for each code from `start` on; None if the evaluator is needed."""
        if column.type not in _INTEGRAL or not _is_plain(term.node):
            return None
        values = column.numbers(self.time_zone)
        if values is None:
            return None
        truth = pc.fill_null(_truth(term.node, values.slice(start)), FALSE)
        return bytes(numpy_values(truth).astype(np.uint8))

    def _may_match(self, term: PartitionTerm, columns: list[PartitionColumn], codes: tuple[int, ...]) -> bool:
        rows: list[dict[tuple[str, ...], Any]] = [{}]
        zone = self.time_zone or "UTC"
        for ref, column, code in zip(term.columns, columns, codes, strict=True):
            possible = readings(column.values(self.time_zone)[code], column.texts[code], ref.type)
            if possible is None:
                return True
            rows = [{**row, ref.logical: reading} for row in rows for reading in possible]
        return any(_is_true(term.node, row, zone, self.order) for row in rows)


def _is_true(node: Node, row: dict[tuple[str, ...], Any], time_zone: str, order: Order | None) -> bool:
    try:
        return evaluate(node, row, time_zone, order) is True
    except EvaluationError:
        return True


def _is_plain(node: Node) -> bool:
    match node:
        case And(children) | Or(children):
            return all(map(_is_plain, children))
        case Not(IsNull(FieldRef())) | IsNull(FieldRef()):
            return True
        case Compare(op, FieldRef(), Literal(value)):
            return value is not None and op in _COMPARISONS
        case In(FieldRef(), values):
            return all(isinstance(value, Literal) for value in values)
        case _:
            return False


def _truth(node: Node, values: pa.Array) -> pa.Array:
    """TRUE or not (FALSE and NULL alike) for each value."""
    match node:
        case And(children):
            return _fold(pc.and_, children, values)
        case Or(children):
            return _fold(pc.or_, children, values)
        case Not(IsNull()):
            return values.is_valid()
        case IsNull():
            return values.is_null()
        case Compare(op, _, Literal(value)):
            return pc.fill_null(_COMPARISONS[op](values, arrow_scalar(value, pa.int64())), FALSE)
        case In(_, members):
            wanted = [m.value for m in members if isinstance(m, Literal) and m.value is not None]
            return pc.is_in(values, value_set=arrow_array(wanted, pa.int64()))
        case _:
            raise AssertionError("not a plain node")


def _fold(combine: Callable[[Any, Any], pa.Array], children: tuple[Node, ...], values: pa.Array) -> pa.Array:
    truth = _truth(children[0], values)
    for child in children[1:]:
        truth = combine(truth, _truth(child, values))
    return truth


def _distinct_tuples(columns: list[pa.Array], sizes: list[int]) -> tuple[pa.Array, list[tuple[int, ...]]]:
    """int32 codes, and for each the tuple of the columns' codes that it represents."""
    combined = np.zeros(len(columns[0]), dtype=np.int64)
    for codes, size in zip(columns, sizes, strict=True):
        combined = combined * max(size, 1) + numpy_values(codes)
    distinct, inverse = np.unique(combined, return_inverse=True)
    tuples: list[tuple[int, ...]] = []
    for code in distinct.tolist():
        values: list[int] = []
        for size in reversed(sizes):
            code, position = divmod(code, max(size, 1))
            values.append(position)
        tuples.append(tuple(reversed(values)))
    return arrow_array(inverse.astype(np.int32)), tuples
