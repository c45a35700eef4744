"""Preimages of functions that are monotone in one argument, found by evaluating the function, and of predicates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.failures import EvaluationError, Undecided
from deltaskip.sparkexpr.nodes import Call, Literal
from deltaskip.sparkexpr.preimages import steps
from deltaskip.sparkexpr.preimages.ordinals import NAN, Domain, Spans, domain_of, following, ordinal_of, value_at
from deltaskip.sparkexpr.types.data_types import FLOATING, STRING, DataType
from deltaskip.sparkexpr.values.calendar import zone_of


def monotone(
    *directions: int,
    at: int = 0,
    cuts: Sequence[Any] = (),
    slack: int = 0,
    inside: Any = None,
    null_instead: bool = False,
    f: Callable[..., object] | None = None,
) -> steps.Preimage:
    """Return the preimage of a function that is monotone in one argument, whatever constants the other arguments are.

    Args:
        directions: For each part of the argument's domain, 1 if the function never falls, -1 if it never rises, 0 if
            its direction is not known. By default, it never falls. In each part, the function is NULL everywhere or
            nowhere.
        at: The index of the argument.
        cuts: The values of the argument at which the second part and the following parts begin.
        slack: The greatest distance, in doubles, between the result and a monotone function; twice the error of `f`
            suffices.
        inside: A value of the argument for which the function has a value. Beyond some value on each side of it, the
            function may be NULL or fail.
        null_instead: Whether the function returns NULL instead of an error without ANSI mode.
        f: The function of the arguments' values; None for the function of one row.
    """
    directions = directions or (1,)

    def inverted(call: Call, compute: Callable[..., object], time_zone: str) -> steps.Inverted:
        others = [arg for place, arg in enumerate(call.args) if place != at]
        constants = [arg.value for arg in others if isinstance(arg, Literal) and arg.value is not None]
        if len(call.args) <= at or len(constants) < len(others):
            return None
        source, result = type_of(call.args[at]), call.type
        domain = domain_of(source)
        if source is None or result is None or domain is None or STRING in (source, result):
            return None
        zone = zone_of(time_zone)

        @cache
        def value(x: int) -> Any:
            args = (*constants[:at], value_at(source, x), *constants[at:])
            return f(*args) if f is not None else compute(args, call, zone)

        of = value, source, domain, result, directions, cuts, slack
        return call.args[at], (_step(*of, inside=inside, null_instead=null_instead),)

    return inverted


def _step(
    value: Callable[[int], Any],
    source: DataType,
    domain: Domain,
    result: DataType,
    directions: Sequence[int],
    cuts: Sequence[Any],
    slack: int,
    *,
    inside: Any,
    null_instead: bool,
) -> steps.Monotone:
    edges = [domain.low, *(ordinal_of(source, cut) for cut in cuts), domain.stop]
    pieces: list[steps.MonotonePiece] = []
    nulls: list[tuple[int, int]] = []
    unsure: list[tuple[int, int]] = []
    for low, stop, direction in zip(edges[:-1], edges[1:], directions, strict=True):
        parts = [(low, stop)]
        if source in FLOATING and low < NAN < stop:
            # NaN is the greatest number, also if the function falls.
            parts = [(low, NAN), (NAN, stop)]
        for begin, end in parts:
            least, beyond = _known(value, begin, end, None if inside is None else ordinal_of(source, inside))
            if least < beyond and direction:
                pieces.append(steps.MonotonePiece(least, beyond, direction > 0))
            elif least < beyond:
                unsure.append((least, beyond))
            for span in ((begin, least), (max(beyond, least), end)):
                if span[0] < span[1]:
                    # In all or a part of the span, the function may be NULL or unknown, or fail.
                    (nulls if _is_null(value, span, null_instead) else unsure).append(span)

    def ordinal(x: int) -> Any:
        return ordinal_of(result, value(x))

    if not slack:
        return steps.Monotone(domain, ordinal, tuple(pieces), tuple(nulls), tuple(unsure))
    return steps.Monotone(
        domain, lambda x: ordinal(x) - slack, tuple(pieces), tuple(nulls), tuple(unsure), lambda x: ordinal(x) + slack
    )


def _has_value(value: Callable[[int], Any], x: int) -> bool:
    try:
        return value(x) is not None
    except EvaluationError:
        return False


def _is_null(value: Callable[[int], Any], span: tuple[int, int], null_instead: bool) -> bool:
    """Whether the function is NULL in all of a span, because it is NULL at both ends.

    An error at an end counts as NULL if `null_instead`.
    """
    for end in (span[0], span[1] - 1):
        try:
            if value(end) is not None:
                return False
        except Undecided:
            return False
        except EvaluationError:
            if not null_instead:
                return False
    return True


def _known(value: Callable[[int], Any], low: int, stop: int, inside: int | None) -> tuple[int, int]:
    """The part [low, stop) of a span in which the function has values."""
    if inside is None or not low <= inside < stop:
        return (low, stop) if _has_value(value, low) and _has_value(value, stop - 1) else (low, low)
    if not _has_value(value, inside):
        return low, low
    ends = []
    for end in (low, stop - 1):
        known, unknown = inside, end
        if _has_value(value, end):
            known = end
        while abs(known - unknown) > 1:
            middle = (known + unknown) // 2
            if _has_value(value, middle):
                known = middle
            else:
                unknown = middle
        ends.append(known)
    return ends[0], ends[1] + 1


def unchanged(call: Call, compute: Any, time_zone: str) -> steps.Inverted:
    """Return the preimage of a function that returns its first argument or NULL; its other arguments are constants."""
    operand, *rest = call.args
    domain = domain_of(type_of(operand))
    if domain is None or not all(isinstance(arg, Literal) for arg in rest):
        return None
    return operand, (steps.identity_step(domain),)


def injective(inverse: Callable[[Any, Call], Any]) -> steps.Preimage:
    """Return the preimage of an injective function of one argument.

    inverse: Returns the argument for a result and a call; None, any argument or an error for what is never a result.
    """

    def inverted(call: Call, compute: Callable[..., object], time_zone: str) -> steps.Inverted:
        source, result = type_of(call.args[0]), call.type
        domain, target = domain_of(source), domain_of(result)
        if len(call.args) != 1 or source is None or result is None or domain is None or target is None:
            return None

        def argument(ordinal: Any) -> Any:
            try:
                wanted = value_at(result, ordinal)
                found = inverse(wanted, call)
                if isinstance(found, str) and "\ufffd" in found:
                    # Spark decodes strings that are not UTF-8 to the same character.
                    return steps.UNKNOWN_ARGUMENT
                if found is None or compute((found,), call, zone_of(time_zone)) != wanted:
                    return None
                return ordinal_of(source, found)
            except UnicodeDecodeError:
                return steps.UNKNOWN_ARGUMENT
            except (ValueError, EvaluationError):
                # The function never returns this value.
                return None

        return call.args[0], (steps.Invertible(domain, target, argument),)

    return inverted


def listed_in(call: Call, compute: Any, time_zone: str) -> steps.Inverted:
    """Return the preimage of `array_contains(constant array, x)`, which may be NULL if the array has a NULL."""
    match call.args:
        case (Literal(tuple() as values), operand):
            type_ = type_of(operand)
        case _:
            return None
    domain = domain_of(type_)
    if type_ is None or domain is None:
        return None
    points = sorted({ordinal_of(type_, value) for value in values if value is not None})
    step = truth(domain, tuple((at, following(at)) for at in points))
    return operand, (replace(step, nulls=domain.all) if None in values else step,)


def truth(source: Domain, spans: Spans, exact: bool = False) -> steps.Enclosed:
    """Return the step of a predicate that is TRUE only in `spans`, and in all of them if `exact`."""

    def around(low: int, stop: int) -> Spans:
        true, false = low <= 1 < stop, low <= 0 < stop
        if true and not false:
            return spans
        if true or not exact:
            return source.all if true or false else ()
        ends = [source.low, *(end for span in spans for end in span), source.stop]
        return tuple(zip(ends[::2], ends[1::2], strict=True)) if false else ()

    return steps.Enclosed(source, around, exact=exact)
