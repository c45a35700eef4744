"""Computes functions on whole columns by calling the function of one row, once for each distinct value.

A Python value costs some hundred nanoseconds: use this for functions that neither pyarrow nor a kernel provides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.sparkexpr.functions.function import ByColumn, Compute, Function, Signature, by_row
from deltaskip.sparkexpr.nodes import Call
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.types.data_types import VOID
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import arrow_array, domain_values, typed_array
from deltaskip.sparkexpr.values.calendar import Zone


def value_function(
    signature: Signature, compute: Callable[..., object], by_column: ByColumn | None = None, **options: Any
) -> Function:
    """A function of the values of its arguments alone, NULL for a NULL argument, that computes columns with `by_value`.

    options: Other members of the Function.
    """
    rows = by_row(compute)
    return Function(signature, rows, by_column=by_value(rows, by_column), **options)


def by_value(compute: Compute, by_column: ByColumn | None = None) -> ByColumn:
    """Compute a column with `by_column`, and with `compute` for rows that `by_column` does not support."""

    def columns(args: Sequence[v.Values], call: Call, zone: Zone) -> v.Values:
        try:
            if by_column is None:
                raise v.NotByColumn
            found = by_column(args, call, zone)
        except (v.NotByColumn, pa.ArrowException):
            return values_of(compute, args, call, zone)
        if not isinstance(found, v.Partly):
            return found
        places = arrow_array(np.flatnonzero(found.rest).astype(np.int64))
        chosen = [each if v.is_constant(each) else each.take(places) for each in args]
        rest = v.scattered(values_of(compute, chosen, call, zone), found.rest)
        return pc.if_else(arrow_array(found.rest), rest, found.values)

    return columns


def values_of(compute: Compute, args: Sequence[v.Values], call: Call, zone: Zone) -> pa.Array:
    """The value of each row, null where an argument is null. Raises EvaluationError if a row fails."""
    columns = [at for at, each in enumerate(args) if not v.is_constant(each)]
    if len(columns) == 1:
        [at] = columns
        before, behind = tuple(map(v.constant, args[:at])), tuple(map(v.constant, args[at + 1 :]))
        return v.by_distinct(args[at], lambda value: compute((*before, value, *behind), call, zone), call.type or VOID)
    rows = len(args[columns[0]])
    cells = zip(*(domain_values(v.as_array(each, rows)) for each in args), strict=True)
    found = v.bounded(None if None in row else compute(row, call, zone) for row in cells)
    return typed_array(list(found), arrow_type(call.type or VOID))
