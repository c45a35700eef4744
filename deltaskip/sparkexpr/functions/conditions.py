"""Functions that choose a value, such as COALESCE, and functions that raise errors.

# Spark 4.1, nullExpressions.scala, RaiseError and AssertTrue in misc.scala
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.errors import shown
from deltaskip.sparkexpr import coerce
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.failures import EvaluationError
from deltaskip.sparkexpr.functions import function
from deltaskip.sparkexpr.functions.function import by_row
from deltaskip.sparkexpr.preimages.monotone import monotone, unchanged
from deltaskip.sparkexpr.preimages.text_steps import extreme as extreme_steps
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import is_true
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.comparisons import extreme


def _coalesce_signature(args: tuple[n.Node, ...]) -> function.Typed:
    return function.alike(args) if args else None


def _extreme_signature(args: tuple[n.Node, ...]) -> function.Typed:
    """Accept two or more values of a common type with an order."""
    found = _coalesce_signature(args) if len(args) > 1 else None
    if found is None or found[1] == t.VOID or not coerce.is_orderable(found[1]):
        return None
    # Strings are not promoted.
    types = [type_ for arg in args if (type_ := coerce.type_of(arg)) is not None]
    return found if all(coerce.plain_wider_type(type_, found[1]) is not None for type_ in types) else None


def _extreme_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    if coerce.is_nested(call.type):
        raise v.NotByColumn
    if call.type in (t.FLOAT, t.DOUBLE, t.STRING, t.BINARY, t.BOOLEAN):
        return _first_extreme(args, call)
    extreme = pc.max_element_wise if call.name == "greatest" else pc.min_element_wise
    if call.type != t.TIMESTAMP:
        return extreme(*args, skip_nulls=True)
    # pyarrow does not compare times with a time zone.
    micros = [each.cast(pa.int64()) for each in args]
    return extreme(*micros, skip_nulls=True).view(arrow_type(t.TIMESTAMP))


def _first_extreme(args: Sequence[v.Values], call: n.Call) -> v.Values:
    """The first extreme value of each row in Spark's order, where NaN is the greatest number."""
    beyond = pc.greater if call.name == "greatest" else pc.less
    given = v.expanded(args)
    # Without NaN, Arrow compares numbers as Spark does.
    plain = call.type in t.FLOATING and not any(pc.any(pc.is_nan(each)).as_py() for each in given)
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


def _ordered(values: pa.Array) -> pa.Array:
    """Convert values so that Arrow's order is Spark's order."""
    if pa.types.is_floating(values.type):
        return v.ordered_floats(values)
    return values.cast(pa.int8()) if values.type == pa.bool_() else values


def _nanvl_signature(args: tuple[n.Node, ...]) -> function.Typed:
    """Accept two floats or doubles. The second must not fail: Spark evaluates it only if the first is NaN."""
    if len(args) != 2 or not _never_fails(args[1]):
        return None
    types = [coerce.type_of(arg) for arg in args]
    if types == [t.FLOAT, t.FLOAT]:
        return args, t.FLOAT
    if types[0] == t.FLOAT and types[1] != t.DOUBLE:
        # Spark first types the call as float and casts the enclosing expression, and only then widens it to double.
        return None
    return function.takes(t.DOUBLE, t.DOUBLE, t.DOUBLE)(args)


def _never_fails(node: n.Node) -> bool:
    """Whether a number is a column or a constant, or a number cast to a double."""
    while isinstance(node, n.Cast) and node.type == t.DOUBLE:
        node = node.child
    return isinstance(node, n.FieldRef | n.Literal) and coerce.type_of(node) != t.STRING


def _nanvl_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    value, otherwise = v.expanded(args)
    return pc.if_else(is_true(pc.is_nan(value)), otherwise, value)


def searched(value: n.Node, *rest: n.Node) -> n.Node | None:
    """Return CASE for `decode(value, searched, result, …, otherwise)`, which also finds NULL; None for a charset."""
    if len(rest) < 2:
        return None
    pairs = [(rest[at], rest[at + 1]) for at in range(0, len(rest) - 1, 2)]
    branches = tuple((n.Compare("<=>", value, searched), result) for searched, result in pairs)
    return n.Case(branches, rest[-1] if len(rest) % 2 else None)


def _if(condition: n.Node, value: n.Node, otherwise: n.Node) -> n.Node:
    # Unlike CASE, IF takes NULL for a condition.
    return n.Case(((n.Literal(None, t.BOOLEAN) if n.is_null_constant(condition) else condition, value),), otherwise)


def _nullif(value: n.Node, refused: n.Node) -> n.Node:
    return n.Case(((n.Compare("=", value, refused), n.Literal(None, t.VOID)),), value)


def _assert_signature(args: tuple[n.Node, ...]) -> function.Typed:
    """Accept a condition, and an optional message that Spark evaluates if the condition does not hold."""
    message = coerce.implicit_cast(args[1], t.STRING) if len(args) == 2 else None
    if not args or coerce.type_of(args[0]) != t.BOOLEAN or (len(args) == 2 and message is None):
        return None
    return (args[0], *(() if message is None else (message,))), t.VOID


def _assert(condition: object, message: str | None = "the condition of assert_true does not hold") -> None:
    if condition is not True:
        raise EvaluationError(f"USER_RAISED_EXCEPTION: {message}")


def _assert_column(args: Sequence[v.Values], call: n.Call, zone: Zone) -> v.Values:
    if v.is_constant(args[0]):
        _assert(args[0].as_py())
    elif args[0].null_count or args[0].true_count < len(args[0]):
        raise EvaluationError("A condition of assert_true does not hold (USER_RAISED_EXCEPTION).")
    return v.none_of(pa.null())


def _raise(message: str | None) -> None:
    raise EvaluationError(f"{shown(message)} (USER_RAISED_EXCEPTION)")


CONDITIONS: Mapping[str, function.FunctionRow] = {
    "isnull": function.Replaced(n.IsNull, 1),
    "isnotnull": function.Replaced(lambda value: n.Not(n.IsNull(value)), 1),
    "equal_null": function.Replaced(lambda left, right: n.Compare("<=>", left, right), 2),
    "if": function.Replaced(_if, 3),
    "nullif": function.Replaced(_nullif, 2),
    "nvl2": function.Replaced(
        lambda tested, value, otherwise: n.Case(((n.Not(n.IsNull(tested)), value),), otherwise), 3
    ),
    "zeroifnull": function.Replaced(lambda value: n.Call("coalesce", (value, n.Literal(0, t.INTEGER))), 1),
    "nullifzero": function.Replaced(lambda value: _nullif(value, n.Literal(0, t.INTEGER)), 1),
    # The caller evaluates the arguments lazily.
    "coalesce": function.Function(
        _coalesce_signature,
        by_row(lambda *values: next((value for value in values if value is not None), None)),
        False,
        widens=True,
        aliases=("nvl", "ifnull"),
        preimage=unchanged,
    ),
    "nanvl": function.Function(
        _nanvl_signature,
        by_row(lambda number, otherwise: otherwise if number is not None and number != number else number),
        False,
        by_column=_nanvl_column,
        preimage=monotone(),
    ),
    **{
        name: function.Function(
            _extreme_signature,
            by_row(lambda *values, sign=sign: extreme(values, sign)),
            False,
            binary_only=True,
            widens=True,
            by_column=_extreme_column,
            preimage=extreme_steps(sign > 0),
        )
        for name, sign in (("greatest", 1), ("least", -1))
    },
    "assert_true": function.Function(_assert_signature, by_row(_assert), False, by_column=_assert_column),
    "raise_error": function.Function(function.takes(t.VOID, t.STRING), by_row(_raise), False),
}
