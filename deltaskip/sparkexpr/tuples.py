"""Predicates as lists of tuples, the disjunctive normal form that pyarrow and delta-rs take: `[("id", ">", 5)]`."""

from __future__ import annotations

from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from deltaskip.errors import InvalidArgument, InvalidArgumentType
from deltaskip.sparkexpr.column import ColumnExpr, col
from deltaskip.sparkexpr.nodes import And, Node, Or
from deltaskip.sparkexpr.python_values import is_listed, list_of

_OPERATORS: dict[str, Callable[[Any, Any], ColumnExpr]] = {
    "=": eq,
    "==": eq,
    "!=": ne,
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
    "in": lambda column, values: column.isin(values),
    "not in": lambda column, values: ~column.isin(values),
}
_FORM = "write [('id', '>', 5), ('name', 'in', ['a', 'b'])], or a list of such lists for OR"


def tuples_node(where: list[Any] | tuple[Any, ...], argument: str = "where") -> Node:
    """Return the predicate of a list of tuples (all must be TRUE), or of a list of such lists (one must be).

    where: Tuples of a column name (see `col`), an operator (=, ==, !=, <, <=, >, >=, in, not in), and a value, or a
    list of values for `in` and `not in`. With an empty list, `in` matches no row and `not in` every row, also NULL.

    Raises InvalidArgument for an empty list, an unknown operator or None, InvalidArgumentType for another type, and
    PredicateError for what is no column name, or no value of Spark SQL; they name the argument.
    """
    if isinstance(where, tuple):
        raise InvalidArgumentType(f"{argument} must be a list of tuples, not a tuple: {_FORM}.")
    if not where:
        raise InvalidArgument(f"{argument} is an empty list: leave it out to match every row.")
    if all(isinstance(each, list) for each in where):
        found = [_all_of(each, argument) for each in where]
        return found[0] if len(found) == 1 else Or(tuple(found))
    return _all_of(where, argument)


def _all_of(conditions: list[Any], argument: str) -> Node:
    if not conditions:
        raise InvalidArgument(f"{argument} has an empty list: leave it out, or write a condition.")
    found = [_condition(each, argument) for each in conditions]
    return found[0] if len(found) == 1 else And(tuple(found))


def _condition(given: object, argument: str) -> Node:
    if not isinstance(given, tuple) or len(given) != 3 or not isinstance(given[1], str):
        raise InvalidArgumentType(f"Each condition of {argument} must be a tuple (column, operator, value): {_FORM}.")
    name, written, value = given
    operator = written.strip().lower()
    if operator not in _OPERATORS:
        raise InvalidArgument(f"{written!r} is not an operator of {argument}: use {', '.join(_OPERATORS)}.")
    column = col(name)
    if operator in ("in", "not in"):
        if not is_listed(value):
            raise InvalidArgument(
                f"The operator {operator!r} of {argument} needs a list of values, such as ({name!r}, {operator!r}, "
                f"[1, 2]), not {type(value).__name__}."
            )
        nothing = any(each is None for each in list_of(value))
    else:
        nothing = value is None
    if nothing:
        raise InvalidArgument(
            f"A comparison with NULL is never TRUE: replace the None of {name!r} by SQL text, such as "
            f"where={f'{name} IS NULL'!r}, or by col({name!r}).is_null()."
        )
    return _OPERATORS[operator](column, value).node
