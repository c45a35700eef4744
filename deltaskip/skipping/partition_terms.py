"""Terms of a program over partition columns, evaluated once for each distinct value or tuple of values.

Values come from the log, never from directory names (PROTOCOL, Partition Value Serialization). The results of a term
are cached with the snapshot, so that the next scan with the same term only looks them up.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import field
from threading import Lock
from typing import Any

import numpy as np
import pyarrow as pa

from deltaskip.fork_safety import new_lock
from deltaskip.records import dataclass
from deltaskip.skipping.partition_columns import PartitionColumn, readings
from deltaskip.skipping.program import PartitionTerm
from deltaskip.sparkexpr import EvaluationError
from deltaskip.sparkexpr.collations import Collations
from deltaskip.sparkexpr.evaluation import Order, evaluate
from deltaskip.sparkexpr.kernels import Lane, take_lane
from deltaskip.sparkexpr.nodes import FieldRef, Node
from deltaskip.sparkexpr.values.arrow_values import arrow_array, numpy_values

EncodedColumns = Callable[[FieldRef], tuple[PartitionColumn, pa.Array]]
"""A batch's partition column: its distinct values, and an int32 code for each file."""

_MOST_TERMS = 100
_MOST_TUPLES = 1_000_000


@dataclass(slots=True)
class _Answers:
    """The values that make one term TRUE or unknown: by code of a single column, or by tuple of codes."""

    codes: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint8))
    tuples: dict[tuple[int, ...], bool] = field(default_factory=dict)
    lock: Lock = field(default_factory=new_lock)


class PartitionAnswers:
    """The answers of recently used terms, for one snapshot, time zone and version of the collations."""

    def __init__(self) -> None:
        self._answers: OrderedDict[PartitionTerm, _Answers] = OrderedDict()
        self._lock = new_lock()

    def of(self, term: PartitionTerm) -> _Answers:
        """The answers of `term`, which grow while it is evaluated."""
        with self._lock:
            found = self._answers.setdefault(term, _Answers())
            self._answers.move_to_end(term)
            if len(self._answers) > _MOST_TERMS:
                self._answers.popitem(last=False)
            return found


class PartitionTruth:
    """The partition values that make the terms of one scan TRUE or unknown. Safe to share between threads."""

    def __init__(
        self, time_zone: str | None, collations: Collations | None = None, answers: PartitionAnswers | None = None
    ) -> None:
        """time_zone: of timestamps without one, None if unknown. answers: cached with the snapshot."""
        self._time_zone = time_zone
        self._collations = collations
        self._kept = answers or PartitionAnswers()
        # By identity: hashing a large term takes longer than looking up its answers.
        self._answers: dict[int, tuple[PartitionTerm, _Answers]] = {}

    def keep(self, term: PartitionTerm, columns: EncodedColumns) -> Lane:
        """Keep mask of `term` over the files of a batch."""
        found = [columns(column) for column in term.columns]
        known = self._answers.get(id(term))
        if known is None:
            known = self._answers[id(term)] = (term, self._kept.of(term))
        _, answers = known
        with answers.lock:
            if len(found) == 1:
                [(column, codes)] = found
                return take_lane(codes, self._of_codes(term, column, answers), True)
            combined, tuples = _distinct_tuples([codes for _, codes in found], [len(c.texts) for c, _ in found])
            keep = self._outcomes(term, [column for column, _ in found], tuples, answers.tuples)
            return take_lane(combined, keep.astype(np.uint8).tobytes(), True)

    def _of_codes(self, term: PartitionTerm, column: PartitionColumn, answers: _Answers) -> bytes:
        start, end = len(answers.codes), len(column.texts)
        if start < end:
            news = self._outcomes(term, [column], [np.arange(start, end)], {})
            answers.codes = np.concatenate([answers.codes, news.astype(np.uint8)])
        return answers.codes.tobytes()

    def _outcomes(
        self,
        term: PartitionTerm,
        columns: Sequence[PartitionColumn],
        codes: Sequence[np.ndarray],
        known: dict[tuple[int, ...], bool],
    ) -> np.ndarray:
        """Whether each tuple of codes may make the term TRUE; codes: for each column, its code in each tuple."""
        single = np.zeros(len(codes[0]), bool)
        taken: dict[str, pa.Array] = {}
        for ref, column, own in zip(term.columns, columns, codes, strict=True):
            single |= column.read(self._time_zone).odd[own]
            taken[ref.logical[0]] = column.read(self._time_zone).array.take(arrow_array(own))
        from deltaskip.sparkexpr.evaluation import Evaluator

        evaluator = Evaluator(term.node, self._time_zone or "UTC", self._collations)
        keep = evaluator.may_be_true(taken, len(single))
        # An odd value is read in every way that it may be.
        for at in np.flatnonzero(single).tolist():
            values = tuple([int(own[at]) for own in codes])
            if values not in known:
                if len(known) >= _MOST_TUPLES:
                    known.clear()
                known[values] = self._may_match(term, columns, values)
            keep[at] = known[values]
        return keep

    def _may_match(self, term: PartitionTerm, columns: Sequence[PartitionColumn], codes: tuple[int, ...]) -> bool:
        rows: list[dict[tuple[str, ...], Any]] = [{}]
        zone = self._time_zone or "UTC"
        for ref, column, code in zip(term.columns, columns, codes, strict=True):
            possible = readings(column.values(self._time_zone)[code], column.texts[code], ref.type)
            if possible is None:
                return True
            rows = [{**row, ref.logical: reading} for row in rows for reading in possible]
        order = None if self._collations is None else self._collations.order
        return any(_is_true(term.node, row, zone, order) for row in rows)


def _is_true(node: Node, row: dict[tuple[str, ...], Any], time_zone: str, order: Order | None) -> bool:
    try:
        return evaluate(node, row, time_zone, order) is True
    except EvaluationError:
        return True


def _distinct_tuples(columns: list[pa.Array], sizes: list[int]) -> tuple[pa.Array, list[np.ndarray]]:
    """int32 codes of the distinct tuples, and for each column its codes in these tuples."""
    combined = np.zeros(len(columns[0]), dtype=np.int64)
    found: list[np.ndarray] = []
    for codes, size in zip(columns, sizes, strict=True):
        # Compacted after each column, so that the product of the sizes cannot overflow.
        combined = combined * max(size, 1) + numpy_values(codes)
        _, first, combined = np.unique(combined, return_index=True, return_inverse=True)
        found = [numpy_values(each)[first] for each in columns]
    return arrow_array(combined.astype(np.int32)), found
