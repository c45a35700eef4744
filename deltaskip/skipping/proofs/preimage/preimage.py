"""Preimages: the values of a column for which an expression over it returns a wanted result.

The expression is decomposed from the outside in: the row of each function has its steps (expr.preimages.steps), which
map the set of its wanted results back to its argument, down to the column. The set of every step contains all arguments
with a wanted result, so the column's set contains all of its values that produce one. NULL passes through every step as
NULL; a function that is not NULL for NULL is evaluated there, and the steps of casts know which values become NULL.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from deltaskip.recursion import deep
from deltaskip.skipping.proofs.preimage.pull_back import FAR, ends_of, pull_back
from deltaskip.skipping.proofs.preimage.value_sets import ValueSet, holds, intersect, merged
from deltaskip.sparkexpr import EvaluationError, preimages
from deltaskip.sparkexpr import types as t
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.evaluation import evaluate
from deltaskip.sparkexpr.functions import FUNCTIONS
from deltaskip.sparkexpr.nodes import Call, Cast, FieldRef, Literal, Node

_MOST_TURNED = 64
"""Maximum number of spans of results that wrap around; with more, all arguments that overflow are in the set."""


@deep
def preimage(node: Node, results: ValueSet, time_zone: str) -> tuple[FieldRef, ValueSet] | None:
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
        case Cast(safe=True) if results.null:
            # TRY_CAST is NULL where CAST raises.
            return None
    try:
        found_steps = steps_of(node, time_zone)
        if found_steps is None:
            return None
        child, steps = found_steps
        if results.null and not _only_reads(node, child):
            # NULL in the other arguments, too, makes the result NULL.
            return None
        before = _pulled(steps, _with_overflow(node, steps, results))
    except EvaluationError:
        # The step is not known for every value.
        return None
    if before is None:
        return None
    if isinstance(node, Call) and not FUNCTIONS[node.name].null_in_null_out:
        before = replace(before, null=_holds_of_null(node, child, results, time_zone))
    return preimage(child, before, time_zone)


def _only_reads(node: Node, child: Node) -> bool:
    """Whether all arguments of a call but one are constant."""
    return not isinstance(node, Call) or all(isinstance(arg, Literal) for arg in node.args if arg is not child)


def _holds_of_null(node: Call, child: Node, results: ValueSet, time_zone: str) -> bool:
    """Whether the function may produce a wanted result where its argument is NULL."""
    if not _only_reads(node, child):
        return True
    args = tuple(Literal(None, type_of(arg) or t.VOID) if arg is child else arg for arg in node.args)
    try:
        value: Any = evaluate(Call(node.name, args, node.type), {}, time_zone)
    except EvaluationError:
        return True
    at = None if value is None or node.type is None else preimages.ordinal_of(node.type, value)
    return results.null if value is None else at is None or holds(results, at)


def _pulled(steps: tuple[preimages.Step, ...], results: ValueSet) -> ValueSet | None:
    """The results of several steps, outermost first, mapped back to their argument."""
    found: ValueSet | None = results
    for step in steps:
        found = None if found is None else pull_back(step, found)
    return found


def _with_overflow(node: Node, steps: tuple[preimages.Step, ...], results: ValueSet) -> ValueSet:
    """The wanted results, and those outside of the type of `node` for which Spark may return a wanted one (functions).

    Overflow is known where it wraps around, or raises instead: there, the results outside are whole turns away.
    """
    type_ = type_of(node)
    domain = preimages.domain_of(type_)
    overflows = any(
        isinstance(step, preimages.Shift | preimages.Times | preimages.ZoneShift | preimages.Monotone | preimages.Floor)
        for step in steps
    )
    if domain is None or type_ in (t.STRING, t.FLOAT, t.DOUBLE, t.BOOLEAN) or not overflows:
        return results
    ends = ends_of(steps[0]) if len(steps) == 1 else None
    if ends is not None and all(domain.low <= end < domain.stop for end in ends):
        return results
    turn = domain.stop - domain.low
    if ends is not None and _wraps(node) and not results.cycles:
        turns = max(-((min(ends) - domain.low) // turn), (max(ends) - domain.low) // turn)
        if turns * (len(results.spans) + 1) <= _MOST_TURNED:
            spans = intersect(results.spans, domain.all)
            every = [(low + k * turn, stop + k * turn) for k in range(-turns, turns + 1) for low, stop in spans]
            return replace(results, spans=merged(every))
    beyond = ((-FAR, domain.low), (domain.stop, FAR))
    cycles = tuple(replace(cycle, exempt=merged([*cycle.exempt, *beyond])) for cycle in results.cycles)
    return replace(results, spans=merged([*results.spans, *beyond]), cycles=cycles, exact=False)


def _wraps(node: Node) -> bool:
    """Whether a result beyond the type of `node` wraps around, or raises."""
    if not isinstance(node, Call) or not FUNCTIONS[node.name].wraps:
        return False
    return all(type_ in t.INTEGRAL_BITS or type_ == t.DATE for type_ in (node.type, *map(type_of, node.args)))


def steps_of(node: Node, time_zone: str) -> tuple[Node, tuple[preimages.Step, ...]] | None:
    """Return the only argument of a function that is not constant, and the function's steps, outermost first."""
    match node:
        case Cast(child, target):
            source = type_of(child)
            if source is None:
                return None
            if target == t.DOUBLE and source == t.FLOAT and isinstance(child, Cast):
                direct = preimages.double_of_float(type_of(child.child))
                if direct is not None:
                    return child.child, (direct,)
            if source in t.DATETIMES and (steps := preimages.date_cast(source, target, time_zone)) is not None:
                return child, steps
            step = preimages.text_cast(target) if source == t.STRING else preimages.number_cast(source, target)
            return None if step is None else (child, (step,))
        case Call(name, type=t.DataType()) if (row := FUNCTIONS.get(name)) is not None and row.preimage is not None:
            return row.preimage(node, row.compute, time_zone)
    return None
