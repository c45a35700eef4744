"""Functions that choose a value, such as COALESCE, and functions that raise errors.

# Spark 4.1, nullExpressions.scala, RaiseError and AssertTrue in misc.scala
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import shown
from deltaskip.sparkexpr.coerce import (
    cast_to,
    common_type,
    implicit_cast,
    is_nested,
    is_orderable,
    plain_wider_type,
    type_of,
)
from deltaskip.sparkexpr.failures import EvaluationError
from deltaskip.sparkexpr.functions.function import Compute, Function, FunctionRow, Replaced, Typed, takes
from deltaskip.sparkexpr.nodes import Call, Case, Cast, Compare, FieldRef, IsNull, Literal, Node, Not, is_null_constant
from deltaskip.sparkexpr.preimages.monotone import monotone, unchanged
from deltaskip.sparkexpr.preimages.text_steps import extreme
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.types.data_types import (
    BINARY,
    BOOLEAN,
    DOUBLE,
    FLOAT,
    FLOATING,
    INTEGER,
    STRING,
    TIMESTAMP,
    VOID,
)
from deltaskip.sparkexpr.values.arrow_values import arrow_array, is_true, numpy_values
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.comparisons import signs_of_rows
from deltaskip.sparkexpr.values.order import compare_values
from deltaskip.sparkexpr.values.vectors import NotByColumn, Values, expanded, is_constant, none_of, ordered_floats


def _coalesce_signature(args: tuple[Node, ...]) -> Typed:
    types = [type_of(arg) for arg in args]
    known = [type_ for type_ in types if type_ is not None]
    met = common_type(known) if known and len(known) == len(types) else None
    return None if met is None else (tuple(cast_to(arg, met) for arg in args), met)


def _extreme_signature(args: tuple[Node, ...]) -> Typed:
    """Accept two or more values of a common type with an order."""
    found = _coalesce_signature(args) if len(args) > 1 else None
    if found is None or found[1] == VOID or not is_orderable(found[1]):
        return None
    # Strings are not promoted.
    types = [type_ for arg in args if (type_ := type_of(arg)) is not None]
    return found if all(plain_wider_type(type_, found[1]) is not None for type_ in types) else None


def _extreme(sign: int) -> Compute:
    """The greatest value if `sign` is 1, the least if it is -1. NULLs are ignored."""

    def compute(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
        found = None
        for value in args:
            if value is not None and (found is None or compare_values(value, found) == sign):
                found = value
        return found

    return compute


def _extreme_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    if is_nested(call.type):
        return _nested_extreme(args, 1 if call.name == "greatest" else -1)
    if call.type in (FLOAT, DOUBLE, STRING, BINARY, BOOLEAN):
        return _first_extreme(args, call)
    extreme = pc.max_element_wise if call.name == "greatest" else pc.min_element_wise
    if call.type != TIMESTAMP:
        return extreme(*args, skip_nulls=True)
    # pyarrow does not compare times with a time zone.
    micros = [each.cast(pa.int64()) for each in args]
    return extreme(*micros, skip_nulls=True).view(arrow_type(TIMESTAMP))


def _first_extreme(args: Sequence[Values], call: Call) -> Values:
    """The first extreme value of each row in Spark's order, where NaN is the greatest number."""
    beyond = pc.greater if call.name == "greatest" else pc.less
    given = expanded(args)
    # Without NaN, Arrow compares numbers as Spark does.
    plain = call.type in FLOATING and not any(pc.any(pc.is_nan(each)).as_py() for each in given)
    found: pa.Array | None = None
    for each in given:
        if found is None:
            found = each
            continue
        better = beyond(each, found) if plain else beyond(_ordered(each), _ordered(found))
        # NULL is worse than every value.
        taken = pc.and_(each.is_valid(), pc.or_kleene(is_true(better), found.is_null()))
        found = pc.if_else(taken, each, found)
    return found


def _nested_extreme(args: Sequence[Values], sign: int) -> Values:
    """The first greatest array or struct of each row if `sign` is 1, the first least if it is -1."""
    found, *others = expanded(args)
    places = np.arange(len(found))
    for each in others:
        if each.type != found.type:
            raise NotByColumn
        # NULL is worse than every value.
        better = numpy_values(found.is_null()) | (signs_of_rows(each, found) == sign)
        taken = numpy_values(each.is_valid()) & better
        found = pa.concat_arrays([found, each]).take(arrow_array(np.where(taken, places + len(places), places)))
    return found


def _ordered(values: pa.Array) -> pa.Array:
    """Convert values so that Arrow's order is Spark's order."""
    if pa.types.is_floating(values.type):
        return ordered_floats(values)
    return values.cast(pa.int8()) if values.type == pa.bool_() else values


def _nanvl_signature(args: tuple[Node, ...]) -> Typed:
    """Accept two floats or doubles. The second must not fail: Spark evaluates it only if the first is NaN."""
    if len(args) != 2 or not _never_fails(args[1]):
        return None
    types = [type_of(arg) for arg in args]
    if types == [FLOAT, FLOAT]:
        return args, FLOAT
    if types[0] == FLOAT and types[1] != DOUBLE:
        # Spark first types the call as float and casts the enclosing expression, and only then widens it to double.
        return None
    cast = [implicit_cast(arg, DOUBLE) for arg in args]
    found = tuple(arg for arg in cast if arg is not None)
    return (found, DOUBLE) if len(found) == 2 else None


def _never_fails(node: Node) -> bool:
    """Whether a number is a column or a constant, or a number cast to a double."""
    while isinstance(node, Cast) and node.type == DOUBLE:
        node = node.child
    return isinstance(node, FieldRef | Literal) and type_of(node) != STRING


def _nanvl(args: tuple[Any, ...], call: Call, zone: Zone) -> object:
    return args[1] if args[0] is not None and args[0] != args[0] else args[0]


def _nanvl_column(args: Sequence[Values], call: Call, zone: Zone) -> Values:
    value, otherwise = expanded(args)
    return pc.if_else(is_true(pc.is_nan(value)), otherwise, value)


def searched(value: Node, *rest: Node) -> Node | None:
    """Return CASE for `decode(value, searched, result, …, otherwise)`, which also finds NULL; None for a charset."""
    if len(rest) < 2:
        return None
    pairs = [(rest[at], rest[at + 1]) for at in range(0, len(rest) - 1, 2)]
    branches = tuple((Compare("<=>", value, searched), result) for searched, result in pairs)
    return Case(branches, rest[-1] if len(rest) % 2 else None)


def _if(condition: Node, value: Node, otherwise: Node) -> Node:
    # Unlike CASE, IF takes NULL for a condition.
    return Case(((Literal(None, BOOLEAN) if is_null_constant(condition) else condition, value),), otherwise)


def _nullif(value: Node, refused: Node) -> Node:
    return Case(((Compare("=", value, refused), Literal(None, VOID)),), value)


def _assert_signature(args: tuple[Node, ...]) -> Typed:
    """Accept a condition, and an optional message that Spark evaluates if the condition does not hold."""
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


CONDITIONS: Mapping[str, FunctionRow] = {
    "isnull": Replaced(IsNull, 1),
    "isnotnull": Replaced(lambda value: Not(IsNull(value)), 1),
    "equal_null": Replaced(lambda left, right: Compare("<=>", left, right), 2),
    "if": Replaced(_if, 3),
    "nullif": Replaced(_nullif, 2),
    "nvl2": Replaced(lambda tested, value, otherwise: Case(((Not(IsNull(tested)), value),), otherwise), 3),
    "zeroifnull": Replaced(lambda value: Call("coalesce", (value, Literal(0, INTEGER))), 1),
    "nullifzero": Replaced(lambda value: _nullif(value, Literal(0, INTEGER)), 1),
    # The caller evaluates the arguments lazily.
    "coalesce": Function(
        _coalesce_signature,
        lambda args, call, zone: next((a for a in args if a is not None), None),
        False,
        widens=True,
        aliases=("nvl", "ifnull"),
        preimage=unchanged,
    ),
    "nanvl": Function(_nanvl_signature, _nanvl, False, by_column=_nanvl_column, preimage=monotone()),
    **{
        name: Function(
            _extreme_signature,
            _extreme(sign),
            False,
            binary_only=True,
            widens=True,
            by_column=_extreme_column,
            preimage=extreme(sign > 0),
        )
        for name, sign in (("greatest", 1), ("least", -1))
    },
    "assert_true": Function(_assert_signature, _assert, False, by_column=_assert_column),
    "raise_error": Function(takes(VOID, STRING), _raise, False),
}
