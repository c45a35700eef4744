"""Files in which a column has a single value: a deterministic expression over such columns is evaluated directly.

A column of a file contains at most NULL and the value v if both of its bounds are v and a writer cannot have produced
equal bounds by widening or truncating them:

* strings shorter than any truncation length (CUT_FROM), so that neither bound is a prefix of another value;
* timestamps with digits below the millisecond, as others have unequal bounds after widening (stats.decode);
* doubles whose maximum covers NaN, except zero, whose sign is lost, and NaN;
* dates from 1900 on, as older ones may mix calendars;
* decimals, integers and booleans without restriction: bounds that may be inexact are unequal after widening.

Wide bounds (tightBounds false) also enclose every value. NULL is excluded where nullCount is 0, and is the only value
where nullCount is numRecords. A file is kept if the predicate is TRUE for some choice of these values, or cannot be
evaluated.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.records import dataclass
from deltaskip.skipping.program import Statistics
from deltaskip.sparkexpr import EvaluationError
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.nodes import FieldRef, Node
from deltaskip.sparkexpr.types import BOOLEAN, DATE
from deltaskip.sparkexpr.values.arrow_values import arrow_array, arrow_scalar, numpy_values, true_rows
from deltaskip.stats.layout import CUT_FROM, BoundKind, StatField

MOST_TUPLES = 10_000
"""Maximum number of distinct tuples of constants that are evaluated in a batch; with more, all files are kept."""

FIRST_DAY = -25_567
"""1900-01-01 in days since 1970-01-01; the calendar of earlier dates is uncertain."""

_UNKNOWN, _VALUE, _VALUE_OR_NULL, _NULL = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class _Constants:
    """The state of a column in each file, a code of its value, and the values by code."""

    state: np.ndarray
    codes: np.ndarray
    values: list[Any]


def constant_files(
    node: Node, columns: Sequence[tuple[FieldRef, StatField]], time_zone: str, statistics: Statistics
) -> pa.BooleanArray:
    """Return False for each file of constants in which `node` is not TRUE for any choice of its values, else True.

    Args:
        node: A deterministic expression.
        columns: Its columns, each with its field in the statistics.
        time_zone: The session's time zone.
        statistics: Statistics of the files.
    """
    keep = np.ones(statistics.num_rows, dtype=bool)
    known = keep.copy()
    found: list[_Constants] = []
    for _, field in columns:
        found.append(_constants(field, statistics))
        known &= found[-1].state != _UNKNOWN
        if not known.any():
            return arrow_array(keep)
    combined = np.zeros(int(known.sum()), dtype=np.int64)
    for column in found:
        width = 4 * (len(column.values) + 1)
        if width * (int(combined.max()) + 1) > 1 << 62:
            return arrow_array(keep)
        combined = combined * width + 4 * column.codes[known] + column.state[known]
    distinct, codes = np.unique(combined, return_inverse=True)
    if len(distinct) > MOST_TUPLES:
        return arrow_array(keep)
    answers = [_may_match(node, columns, _choices(code, found), time_zone) for code in distinct.tolist()]
    keep[known] = np.array(answers, dtype=bool)[codes]
    return arrow_array(keep)


def _choices(code: int, columns: list[_Constants]) -> list[tuple[Any, ...]]:
    """For each column, the values that it may have in a file with the combined code."""
    found: list[tuple[Any, ...]] = []
    for column in reversed(columns):
        code, own = divmod(code, 4 * (len(column.values) + 1))
        position, state = divmod(own, 4)
        if state == _NULL:
            found.append((None,))
        else:
            value = column.values[position]
            found.append((value,) if state == _VALUE else (value, None))
    return found[::-1]


def _may_match(
    node: Node, columns: Sequence[tuple[FieldRef, StatField]], choices: list[tuple[Any, ...]], time_zone: str
) -> bool:
    for values in product(*choices):
        row = {column.logical: value for (column, _), value in zip(columns, values, strict=True)}
        try:
            if evaluate(node, row, time_zone) is True:
                return True
        except EvaluationError:
            return True
    return False


def _constants(field: StatField, statistics: Statistics) -> _Constants:
    counts = statistics.null_count(field)
    all_null = true_rows(pc.equal(counts, statistics.num_records()))
    state = np.zeros(statistics.num_rows, dtype=np.int64)
    codes = np.zeros(statistics.num_rows, dtype=np.int64)
    values: list[Any] = []
    if field.kind is not None:
        same, mins = _same(field, statistics)
        flags = true_rows(same)
    if field.kind is not None and flags.any():
        none_null = true_rows(pc.equal(counts, arrow_scalar(0, pa.int64())))
        encoded = pc.if_else(arrow_array(flags), mins, arrow_scalar(None, mins.type)).dictionary_encode()
        codes[flags] = numpy_values(encoded.indices.filter(arrow_array(flags)))
        values = [_value(value, field) for value in encoded.dictionary.to_pylist()]
        state[flags] = np.where(none_null[flags], _VALUE, _VALUE_OR_NULL)
    state[all_null] = _NULL
    codes[all_null] = 0
    return _Constants(state, codes, values)


def _same(field: StatField, statistics: Statistics) -> tuple[pa.Array, pa.Array]:
    """Whether both bounds are the same exact value, and the minimums."""
    mins = statistics.bound(field, "min")
    maxs = pc.cast(statistics.bound(field, "max"), mins.type)
    same = pc.equal(mins, maxs)
    if not same.true_count:
        return same, mins
    match field.kind:
        case BoundKind.TEXT:
            same = pc.and_(same, pc.less(pc.binary_length(mins), arrow_scalar(CUT_FROM, pa.int32())))
        case BoundKind.DOUBLE:
            nonzero = pc.not_equal(mins, arrow_scalar(0.0, pa.float64()))
            same = pc.and_(pc.and_(same, nonzero), statistics.max_covers_nan(field))
        case BoundKind.INT64 if field.type == DATE:
            same = pc.and_(same, pc.greater_equal(mins, arrow_scalar(FIRST_DAY, pa.int64())))
        case _:
            pass
    return same, mins


def _value(value: Any, field: StatField) -> Any:
    if field.type == BOOLEAN:
        return bool(value)
    return value.decode() if isinstance(value, bytes) else value
