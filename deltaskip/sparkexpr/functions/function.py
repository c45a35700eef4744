"""The definition of a function, which is a row of the table of functions, and shared signatures.

`by_value` computes a column by calling the function of one row, once for each distinct value. A Python value costs some
hundred nanoseconds: it is for functions that neither pyarrow nor a kernel provides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.records import dataclass
from deltaskip.recursion import deep
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.coerce import cast_to, common_type, implicit_casts, is_numeric, type_of
from deltaskip.sparkexpr.nodes import Call
from deltaskip.sparkexpr.preimages.steps import Preimage
from deltaskip.sparkexpr.types.arrow import arrow_type
from deltaskip.sparkexpr.types.data_types import BINARY, INTEGER, STRING, VOID, DataType
from deltaskip.sparkexpr.values import vectors as v
from deltaskip.sparkexpr.values.arrow_values import arrow_array, domain_values, typed_array
from deltaskip.sparkexpr.values.calendar import Zone
from deltaskip.sparkexpr.values.vectors import Partly, Values

Typed = tuple[tuple[n.Node, ...], DataType] | None
# Returns the coerced arguments and the result type; None if Spark refuses the arguments or no rule is known.
Signature = Callable[[tuple[n.Node, ...]], Typed]
# Returns type and nullability of each variable of each lambda function.
Variables = Callable[[tuple[n.Node, ...]], Sequence[Sequence[tuple[DataType, bool]]] | None]
# Takes argument values with the types of the signature, the typed call, and the session's time zone.
Compute = Callable[[tuple[Any, ...], n.Call, Zone], object]
# Returns the indexes of the arguments in the order in which Spark evaluates them.
EvaluationOrder = Callable[[tuple[n.Node, ...]], Sequence[int]]
# Takes the arguments of Compute as whole columns.
ByColumn = Callable[[Sequence[Values], n.Call, Zone], Values | Partly]


@dataclass(frozen=True, slots=True)
class Function:
    """Typing and evaluation of a function.

    `null_in_null_out`: A NULL argument makes the result NULL, and `compute` never receives NULL.
    `binary_only`: The result depends on the collation of the arguments, and `compute` supports only UTF8_BINARY.
    `widens`: The arguments are cast to a common type, which the signature finds as in ANSI mode.
    `zoned`: The value depends on the session's time zone.
    `by_column`: Computes whole columns. At least one argument is not constant, and no argument is a constant NULL if
        `null_in_null_out`. Returns the values of all rows, or of the rows that it supports. Raises EvaluationError if a
        row fails, and NotByColumn for unsupported arguments.
    `variables`: For a function with lambda functions, returns type and nullability of each variable of each lambda
        function for the bound arguments; None if Spark refuses them. Lambda arguments are passed as callables. For one
        row, they take the values of the variables; by column, columns of these values and the rows of the values.
    `ansi_only`: The value is different without ANSI mode.
    `aliases`: Other names of the function.
    `instead`: Returns the expression that replaces the call for some arguments; None for other arguments.
    `preimage`: The rule by which a result restricts the values of the only argument that is not constant.
    `wraps`: Integers or days beyond the range of their type wrap around, or the function fails.
    `order`: The order in which Spark evaluates the arguments; None: from the first to the last.
    `decisive`: The arguments whose NULL skips the errors of the arguments that Spark evaluates after them; None: all
        arguments if `null_in_null_out`, otherwise no argument.
    `zero_decides`: A zero as the last argument, which Spark evaluates first, also skips the errors of other arguments.
    `directions`: For each argument, 1 if the function never falls with it, -1 if it never rises, whatever the other
        arguments are, else 0.
    """

    signature: Signature
    compute: Compute
    null_in_null_out: bool = True
    binary_only: bool = False
    widens: bool = False
    by_column: ByColumn | None = None
    zoned: bool = False
    variables: Variables | None = None
    ansi_only: bool = False
    aliases: tuple[str, ...] = ()
    instead: Callable[..., n.Node | None] | None = None
    preimage: Preimage | None = None
    wraps: bool = False
    directions: tuple[int, ...] = ()
    order: EvaluationOrder | None = None
    decisive: tuple[int, ...] | None = None
    zero_decides: bool = False

    def evaluated(self, args: tuple[n.Node, ...]) -> Sequence[tuple[int, bool]]:
        """The indexes of the arguments in Spark's evaluation order, and whether NULL skips the errors after each."""
        places = range(len(args)) if self.order is None else self.order(args)
        if self.decisive is None:
            return [(at, self.null_in_null_out) for at in places]
        return [(at, at in self.decisive) for at in places]


@dataclass(frozen=True, slots=True)
class Replaced:
    """A function that Spark replaces by another expression (RuntimeReplaceable).

    node: Returns the expression for the arguments; None if only Spark evaluates it.
    least: The least number of arguments.
    most: The greatest number of arguments; None: the same as `least`.
    """

    node: Callable[..., n.Node | None]
    least: int
    most: int | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Present:
    """A function without arguments that returns the time of the query.

    type: The type of the result: a date, a timestamp with or without time zone, or the seconds since 1970.
    """

    type: DataType
    aliases: tuple[str, ...] = ()


FunctionRow: TypeAlias = Function | Replaced | Present


def by_row(compute: Callable[..., object]) -> Compute:
    """Compute a value from the values of the arguments alone."""
    return lambda args, call, zone: compute(*args)


def of_one_row(by_column: ByColumn) -> Compute:
    """Compute the value of a row as a column of one row. `by_column` must support every value."""

    def compute(args: tuple[Any, ...], call: n.Call, zone: Zone) -> object:
        columns = [v.array_of([value], type_of(arg) or VOID) for value, arg in zip(args, call.args, strict=True)]
        return domain_values(by_column(columns, call, zone))[0]

    return compute


def backwards(args: tuple[n.Node, ...]) -> Sequence[int]:
    """The order from the last argument to the first."""
    return range(len(args))[::-1]


def constant_null_first(args: tuple[n.Node, ...]) -> Sequence[int]:
    """The order from first to last, or from last to first if the last argument is a constant NULL."""
    return backwards(args) if n.is_null_constant(args[-1]) else range(len(args))


def takes(result: DataType, *parameters: DataType, optional: int = 0) -> Signature:
    """Accept one argument for each parameter type, with Spark's implicit casts; the last ones may be `optional`."""

    def signature(args: tuple[n.Node, ...]) -> Typed:
        if not len(parameters) - optional <= len(args) <= len(parameters):
            return None
        found = implicit_casts(args, parameters)
        return None if found is None else (found, result)

    return signature


def with_counts(signature: Signature, *places: int) -> Signature:
    """Accept a count at each index of `places`: Spark casts any number, also a fraction, to int."""

    def cast(args: tuple[n.Node, ...]) -> Typed:
        given = enumerate(args)
        return signature(
            tuple(cast_to(a, INTEGER) if at in places and is_numeric(type_of(a)) else a for at, a in given)
        )

    return cast


def uncast(count: int, optional: int = 0, result: DataType = STRING) -> Signature:
    """Accept `count` strings. Spark casts only NULL to string."""

    def signature(args: tuple[n.Node, ...]) -> Typed:
        known = all(type_of(arg) in (STRING, VOID) for arg in args)
        return takes(result, *[STRING] * count, optional=optional)(args) if known else None

    return signature


def exactly(result: DataType, parameter: DataType) -> Signature:
    """Accept one argument of exactly this type, without casts."""
    return lambda args: (args, result) if [type_of(arg) for arg in args] == [parameter] else None


def text_or_bytes(result: DataType | None, *rest: DataType, optional: int = 0) -> Signature:
    """Accept a string or binary, then `rest`. If `result` is None, the result has the type of the first argument."""

    def signature(args: tuple[n.Node, ...]) -> Typed:
        first = BINARY if args and type_of(args[0]) == BINARY else STRING
        return takes(result or first, first, *rest, optional=optional)(args)

    return signature


def alike(args: tuple[n.Node, ...]) -> Typed:
    """Accept values of a common type, which the result has."""
    known = [type_ for arg in args if (type_ := type_of(arg)) is not None]
    met = common_type(known) if len(known) == len(args) else None
    return None if met is None else (tuple(cast_to(arg, met) for arg in args), met)


@deep
def is_plain(node: n.Node) -> bool:
    """Whether evaluation cannot fail: the node is a column, a constant, or a cast of either to string."""
    match node:
        case n.FieldRef() | n.Literal():
            return True
        case n.Collate(child):
            return is_plain(child)
        case n.Cast(child, type_):
            return type_ == STRING and is_plain(child)
    return False


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
