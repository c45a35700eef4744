"""Preimages: the values of a column for which an expression over it returns a wanted result.

The expression is decomposed from the outside in: each function is a step (functions) that maps the set of its wanted
results back to its argument, down to the column. The set of every step contains all arguments with a wanted result, so
the column's set contains all of its values that produce one. NULL passes through every step as NULL, except for
COALESCE and the casts that produce NULL, which handle it explicitly.
"""

from __future__ import annotations

from dataclasses import replace

from deltaskip.expr.coerce import DATETIMES, INTEGRAL_BITS, type_of
from deltaskip.expr.nodes import (
    Call,
    Cast,
    FieldRef,
    Literal,
    Node,
)
from deltaskip.schema.types import BOOLEAN, DATE, DOUBLE, FLOAT, STRING, DataType
from deltaskip.skipping.proofs.preimage.dates import date_call, date_cast
from deltaskip.skipping.proofs.preimage.functions import (
    FAR,
    Floor,
    Monotone,
    Shift,
    Step,
    Times,
    ZoneShift,
    pull_back,
    results_within,
)
from deltaskip.skipping.proofs.preimage.numbers import double_of_float, number_call, number_cast
from deltaskip.skipping.proofs.preimage.text import text_call
from deltaskip.skipping.proofs.preimage.value_sets import Values, domain_of, holds, intersect, merged, ordinal_of

__all__ = ["preimage", "steps_of"]

_MOST_TURNED = 64
"""Maximum number of spans of results that wrap around; with more, all arguments that overflow are in the set."""


def preimage(node: Node, results: Values, time_zone: str) -> tuple[FieldRef, Values] | None:
    """Return the column that `node` reads, and a set of its values; None if no rule derives them.

    Args:
        node: An expression over one column.
        results: The wanted results of `node`.
        time_zone: The session's time zone.

    Returns:
        The column, and a set that contains every value of it for which `node` is one of `results`.
    """
    match node:
        case FieldRef():
            return node, results
        case Call("coalesce", (child, *rest)):
            found = _instead_of_null(rest, results)
            return None if found is None else preimage(child, replace(results, null=found), time_zone)
        case Cast(safe=True) if results.null:
            # TRY_CAST is NULL where CAST raises.
            return None
    found_steps = steps_of(node, time_zone)
    if found_steps is None:
        return None
    child, steps = found_steps
    before = _pulled(steps, _with_overflow(node, steps, results))
    return None if before is None else preimage(child, before, time_zone)


def _pulled(steps: tuple[Step, ...], results: Values) -> Values | None:
    """The results of several steps, outermost first, mapped back to their argument."""
    found: Values | None = results
    for step in steps:
        found = None if found is None else pull_back(step, found)
    return found


def _with_overflow(node: Node, steps: tuple[Step, ...], results: Values) -> Values:
    """The wanted results, and those outside of the type of `node` for which Spark may return a wanted one (functions).

    Overflow is known where it wraps around, or raises instead: there, the results outside are whole turns away.
    """
    type_ = type_of(node)
    domain = domain_of(type_)
    overflows = any(isinstance(step, Shift | Times | ZoneShift | Monotone | Floor) for step in steps)
    if domain is None or type_ in (STRING, FLOAT, DOUBLE, BOOLEAN) or not overflows:
        return results
    if len(steps) == 1 and results_within(steps[0], domain):
        return results
    turns = 0 if results.cycles else _turns(node)
    if 0 < turns * (len(results.spans) + 1) <= _MOST_TURNED:
        turn, spans = domain.stop - domain.low, intersect(results.spans, domain.all)
        every = [(low + k * turn, stop + k * turn) for k in range(-turns, turns + 1) for low, stop in spans]
        return replace(results, spans=merged(every))
    beyond = ((-FAR, domain.low), (domain.stop, FAR))
    cycles = tuple(replace(cycle, exempt=merged([*cycle.exempt, *beyond])) for cycle in results.cycles)
    return replace(results, spans=merged([*results.spans, *beyond]), cycles=cycles, exact=False)


def _turns(node: Node) -> int:
    """How often at most the result of `node` wraps around its type, in either direction; 0 if that is not known."""
    match node:
        case Call("negative" | "abs" | "div", args, type=type_) if type_ in INTEGRAL_BITS:
            return 1 if all(type_of(arg) in INTEGRAL_BITS for arg in args) else 0
        case Call("+" | "-" | "date_add" | "date_sub", args, type=type_) if type_ in INTEGRAL_BITS or type_ == DATE:
            return 1 if all(type_of(arg) in INTEGRAL_BITS or type_of(arg) == DATE for arg in args) else 0
        case Call("datediff"):
            return 1
        case Call("*", args, type=type_) if type_ in INTEGRAL_BITS:
            factors = [abs(arg.value) for arg in args if isinstance(arg, Literal) and isinstance(arg.value, int)]
            return factors[0] if len(factors) == 1 else 0
    return 0


def steps_of(node: Node, time_zone: str) -> tuple[Node, tuple[Step, ...]] | None:
    """Return the only argument of a function that is not constant, and the function's steps, outermost first."""
    match node:
        case Cast(child, target):
            source = type_of(child)
            if source is None:
                return None
            if target == DOUBLE and source == FLOAT and isinstance(child, Cast):
                direct = double_of_float(type_of(child.child))
                if direct is not None:
                    return child.child, (direct,)
            if source in DATETIMES and (steps := date_cast(source, target, time_zone)) is not None:
                return child, steps
            step = number_cast(source, target)
            return None if step is None else (child, (step,))
        case Call(type=DataType()):
            by_date = date_call(node, time_zone) or text_call(node)
            if by_date is not None:
                return by_date
            by_number = number_call(node)
            return None if by_number is None else (by_number[0], (by_number[1],))
    return None


def _instead_of_null(rest: list[Node], results: Values) -> bool | None:
    """Whether the other operands of COALESCE, all constants, produce a wanted result where the first is NULL."""
    for node in rest:
        if not isinstance(node, Literal):
            return None
        if node.value is not None:
            at = ordinal_of(node.type, node.value)
            return None if at is None else holds(results, at)
    return results.null
