"""Functions that choose among values.

# Spark 4.1, nullExpressions.scala
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.expr.coerce import (
    cast_to,
    common_type,
    is_nested,
    is_orderable,
    plain_wider_type,
    type_of,
)
from deltaskip.expr.functions.function import (
    Compute,
    Function,
    Replaced,
    Row,
    Typed,
)
from deltaskip.expr.nodes import Call, Case, Compare, IsNull, Literal, Node, Not
from deltaskip.expr.order import compare_values
from deltaskip.expr.vectors import NotByColumn, Values
from deltaskip.schema.arrow import arrow_type
from deltaskip.schema.calendar import Zone
from deltaskip.schema.types import BINARY, BOOLEAN, DOUBLE, FLOAT, INTEGER, STRING, TIMESTAMP, VOID

__all__ = ["CONDITIONS"]


def _coalesce_signature(args: tuple[Node, ...]) -> Typed:
    types = [type_of(arg) for arg in args]
    known = [type_ for type_ in types if type_ is not None]
    met = common_type(known) if known and len(known) == len(types) else None
    return None if met is None else (tuple(cast_to(arg, met) for arg in args), met)


def _extreme_signature(args: tuple[Node, ...]) -> Typed:
    """Two or more values that have an order, as a common type."""
    found = _coalesce_signature(args) if len(args) > 1 else None
    if found is None or found[1] == VOID or not is_orderable(found[1]):
        return None
    # Strings are not promoted.
    types = [type_ for arg in args if (type_ := type_of(arg)) is not None]
    return found if all(plain_wider_type(type_, found[1]) is not None for type_ in types) else None


def _extreme(sign: int) -> Compute:
    """The greatest value for 1, the least for -1; NULL does not count."""

    def compute(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
        found = None
        for value in args:
            if value is not None and (found is None or compare_values(value, found) == sign):
                found = value
        return found

    return compute


def _extreme_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    if call.type in (FLOAT, DOUBLE, STRING, BINARY, BOOLEAN) or is_nested(call.type):
        raise NotByColumn
    extreme = pc.max_element_wise if call.name == "greatest" else pc.min_element_wise
    if call.type != TIMESTAMP:
        return extreme(*args, skip_nulls=True)
    # pyarrow does not compare times with a zone.
    micros = [each.cast(pa.int64()) for each in args]
    return extreme(*micros, skip_nulls=True).view(arrow_type(TIMESTAMP))


def _decode(value: Node, *rest: Node) -> Node:
    """`decode(value, searched, result, …, otherwise)`; NULL is found as well."""
    pairs = [(rest[at], rest[at + 1]) for at in range(0, len(rest) - 1, 2)]
    branches = tuple((Compare("<=>", value, searched), result) for searched, result in pairs)
    return Case(branches, rest[-1] if len(rest) % 2 else None)


def _nullif(value: Node, refused: Node) -> Node:
    return Case(((Compare("=", value, refused), Literal(None, VOID)),), value)


CONDITIONS: Mapping[str, Row] = {
    "isnull": Replaced(IsNull, 1),
    "isnotnull": Replaced(lambda value: Not(IsNull(value)), 1),
    "equal_null": Replaced(lambda left, right: Compare("<=>", left, right), 2),
    "if": Replaced(lambda condition, value, otherwise: Case(((condition, value),), otherwise), 3),
    "nullif": Replaced(_nullif, 2),
    "nvl2": Replaced(lambda tested, value, otherwise: Case(((Not(IsNull(tested)), value),), otherwise), 3),
    "zeroifnull": Replaced(lambda value: Call("coalesce", (value, Literal(0, INTEGER))), 1),
    "nullifzero": Replaced(lambda value: _nullif(value, Literal(0, INTEGER)), 1),
    "decode": Replaced(_decode, 3, sys.maxsize),
    # The first argument that is not NULL; evaluated lazily by the caller.
    "coalesce": Function(
        _coalesce_signature,
        lambda args, call, zone: next((a for a in args if a is not None), None),
        False,
        widens=True,
        aliases=("nvl", "ifnull"),
    ),
    "greatest": Function(
        _extreme_signature, _extreme(1), False, binary_only=True, widens=True, by_column=_extreme_column
    ),
    "least": Function(
        _extreme_signature, _extreme(-1), False, binary_only=True, widens=True, by_column=_extreme_column
    ),
}
