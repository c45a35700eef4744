"""The definition of a function, a row of the table of functions, and signatures that many functions share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from deltaskip.expr.coerce import cast_to, implicit_cast, is_numeric, type_of
from deltaskip.expr.nodes import Call, Cast, Collate, FieldRef, Literal, Node, is_null_constant
from deltaskip.expr.preimages.steps import Preimage
from deltaskip.expr.vectors import Partly, Values
from deltaskip.records import dataclass
from deltaskip.schema.calendar import Zone
from deltaskip.schema.types import BINARY, INTEGER, STRING, VOID, DataType

Typed = tuple[tuple[Node, ...], DataType] | None
# Coerced arguments and the result type; None if Spark refuses them or no rule is known.
Signature = Callable[[tuple[Node, ...]], Typed]
# The type of each variable of each lambda function, and whether it may be NULL.
Variables = Callable[[tuple[Node, ...]], Sequence[Sequence[tuple[DataType, bool]]] | None]
# Values of the arguments with the signature's types, the typed call, the session's time zone.
Compute = Callable[[tuple[Any, ...], Call, Zone], object]
# The order in which Spark evaluates the arguments, by their place from 0 on.
EvaluationOrder = Callable[[tuple[Node, ...]], Sequence[int]]
# The same for whole columns.
ByColumn = Callable[[Sequence[Values], Call, Zone], Values | Partly]


@dataclass(frozen=True, slots=True)
class Function:
    """Typing and evaluation of a function.

    `null_in_null_out`: a NULL argument makes the result NULL; `compute` never receives one.
    `binary_only`: the result depends on the collation of the arguments, and `compute` supports UTF8_BINARY only.
    `widens`: the arguments are cast to a common type, which the signature finds as in ANSI mode.
    `zoned`: the value depends on the session's time zone.
    `by_column`: the same for whole columns, at least one of them no constant, and no constant NULL if a NULL gives
    NULL; values of all rows, or of those that have a form by column. It raises EvaluationError if one row fails, and
    NotByColumn for arguments without a form by column.
    `variables`: of a function of lambda functions, the type of each variable of each, and whether it may be NULL, by
        the arguments that are bound; None if Spark refuses them. The values of lambda arguments are callables: for one
        row of the variables' values, by column of columns of them and the rows to which they belong.
    `ansi_only`: the value is another one without ANSI mode.
    `aliases`: other names of the function.
    `instead`: the expression that it stands for with some arguments; None with the others.
    `preimage`: the rule by which a result restricts the values of its only argument that is not constant.
    `wraps`: beyond their type, its integers or days wrap around, or it fails.
    `order`: the order in which Spark evaluates the arguments; None: from the first to the last.
    `decisive`: the arguments whose NULL skips the errors of those that Spark evaluates after them; None: all if a NULL
        argument makes the result NULL, and none if it does not.
    `zero_decides`: a zero as the last argument, which Spark evaluates first, also skips the errors of the others.
    `directions`: for each argument, 1 if it never falls with it, -1 if it never rises, whatever the others are, else 0.
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
    instead: Callable[..., Node | None] | None = None
    preimage: Preimage | None = None
    wraps: bool = False
    directions: tuple[int, ...] = ()
    order: EvaluationOrder | None = None
    decisive: tuple[int, ...] | None = None
    zero_decides: bool = False

    def evaluated(self, args: tuple[Node, ...]) -> Sequence[tuple[int, bool]]:
        """The places of the arguments as Spark evaluates them, and whether a NULL skips the errors of the next ones."""
        places = range(len(args)) if self.order is None else self.order(args)
        if self.decisive is None:
            return [(at, self.null_in_null_out) for at in places]
        return [(at, at in self.decisive) for at in places]


@dataclass(frozen=True, slots=True)
class Replaced:
    """A function that Spark replaces by another expression (RuntimeReplaceable).

    node: The expression, of the arguments; None if only Spark evaluates it.
    least: The least number of arguments that it takes.
    most: The greatest number; None: as many as the least.
    """

    node: Callable[..., Node | None]
    least: int
    most: int | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Present:
    """A function without arguments that returns the time of the query.

    type: Its result: a date, a timestamp of either type, or the seconds since 1970.
    """

    type: DataType
    aliases: tuple[str, ...] = ()


FunctionRow: TypeAlias = Function | Replaced | Present


def backwards(args: tuple[Node, ...]) -> Sequence[int]:
    """The order from the last argument to the first."""
    return range(len(args))[::-1]


def constant_null_first(args: tuple[Node, ...]) -> Sequence[int]:
    """The order from the first argument to the last, unless this is the constant NULL, which Spark compiles alone."""
    return backwards(args) if is_null_constant(args[-1]) else range(len(args))


def takes(result: DataType, *parameters: DataType) -> Signature:
    """One argument of each type, or cast to it as Spark casts implicitly."""

    def signature(args: tuple[Node, ...]) -> Typed:
        if len(args) != len(parameters):
            return None
        cast = [implicit_cast(arg, parameter) for arg, parameter in zip(args, parameters, strict=True)]
        found = tuple(arg for arg in cast if arg is not None)
        return (found, result) if len(found) == len(args) else None

    return signature


def with_counts(signature: Signature, *places: int) -> Signature:
    """Some arguments are counts: Spark casts numbers of every type, fractions too, to int."""

    def cast(args: tuple[Node, ...]) -> Typed:
        given = enumerate(args)
        return signature(
            tuple(cast_to(a, INTEGER) if at in places and is_numeric(type_of(a)) else a for at, a in given)
        )

    return cast


def uncast(count: int) -> Signature:
    """A string function of this many strings; Spark casts only NULL to their type."""

    def signature(args: tuple[Node, ...]) -> Typed:
        known = all(type_of(arg) in (STRING, VOID) for arg in args)
        return takes(STRING, *[STRING] * count)(args) if known else None

    return signature


def exactly(result: DataType, parameter: DataType) -> Signature:
    """One argument of a type, which Spark does not cast to it."""
    return lambda args: (args, result) if [type_of(arg) for arg in args] == [parameter] else None


def text_or_bytes(result: DataType | None, *rest: DataType) -> Signature:
    """A string or binary, then `rest`. The result has the first one's type if `result` is None."""

    def signature(args: tuple[Node, ...]) -> Typed:
        first = BINARY if args and type_of(args[0]) == BINARY else STRING
        return takes(result or first, first, *rest)(args)

    return signature


def is_plain(node: Node) -> bool:
    """Whether evaluation cannot fail: a column, a constant, or the text of one."""
    match node:
        case FieldRef() | Literal():
            return True
        case Collate(child):
            return is_plain(child)
        case Cast(child, type_):
            return type_ == STRING and is_plain(child)
    return False
