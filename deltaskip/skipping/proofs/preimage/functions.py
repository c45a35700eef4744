"""Steps: functions of one argument that map a set of results back to the arguments that produce them.

A step represents a function f of ordinals (preimage.value_sets). `pull_back` returns a set that contains every x for
which f(x) is in the set of results: for any other x the predicate is FALSE, NULL or raises, so no such row matches.

f may extend Spark's function to arguments on which Spark overflows: there, the extension's results must be outside the
domain of the result's type. Integer arithmetic and sums of days wrap around there, or raise: `preimage` adds the
results that wrap around to a wanted one. For other functions it adds all results outside of the domain, so these
arguments are in every preimage, and no rule has to know what Spark does with them.

Where f is non-decreasing, {x : f(x) < v} = {x : x < t(v)} with the threshold t(v) = the least x with f(x) >= v, so
the preimage of [a, b) is [t(a), t(b)): closed forms below, bisection with f itself elsewhere. Where f is
non-increasing, with t(v) = the least x with f(x) < v, it is [t(b), t(a)).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from deltaskip.records import dataclass
from deltaskip.skipping.proofs.preimage.value_sets import (
    Cycle,
    Domain,
    Spans,
    Values,
    complement,
    following,
    intersect,
    merged,
)

__all__ = [
    "FAR",
    "Floor",
    "Invertible",
    "Monotone",
    "MonotonePiece",
    "Periodic",
    "Prefix",
    "Prepend",
    "Shift",
    "Step",
    "Times",
    "ZoneShift",
    "identity",
    "pull_back",
    "results_within",
    "rising",
    "single_direction",
]


FAR = 10**500
"""Above every result of a step that is a number."""

_ALMOST_FAR = 10**450
"""The same for FAR mapped back by another step."""


@dataclass(frozen=True, slots=True)
class Shift:
    """f(x) = x + by."""

    source: Domain
    by: int


@dataclass(frozen=True, slots=True)
class Floor:
    """f(x) = x // by, rounded down; by > 0. t(v) = v * by."""

    source: Domain
    by: int


@dataclass(frozen=True, slots=True)
class Times:
    """f(x) = x * by; by > 0. t(v) = v / by, rounded up."""

    source: Domain
    by: int


@dataclass(frozen=True, slots=True)
class ZoneShift:
    """f(x) = x + o with an unknown o, low <= o <= high: conversion to a zone's local time, or back.

    f(x) in [a, b) implies x in [a - high, b - low).
    """

    source: Domain
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class MonotonePiece:
    """A part [low, stop) of a domain on which a function is monotone."""

    low: Any
    stop: Any
    rising: bool = True


@dataclass(frozen=True, slots=True)
class Monotone:
    """A function that is monotone on each of `pieces`; outside of them it raises.

    most: If the result is not known exactly, it is at least f(x) and at most most(x), both monotone like f.
    nulls: Arguments whose result is NULL. unsure: Arguments with unknown results; they are in every preimage.
    near: An argument whose result is near the given one, where the search for a threshold starts; any is allowed.
    """

    source: Domain
    f: Callable[[Any], Any]
    pieces: tuple[MonotonePiece, ...]
    nulls: Spans = ()
    unsure: Spans = ()
    most: Callable[[Any], Any] | None = None
    near: Callable[[Any], Any] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Periodic:
    """f(x) is the result at x // grain % len(results), or the one at the same place in `others`; both int64."""

    source: Domain
    grain: int
    results: np.ndarray
    others: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class Invertible:
    """An injective function that is not monotone: `inverse` returns the argument of a result, None if it has none."""

    source: Domain
    target: Domain
    inverse: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Prefix:
    """The first `length` code points of a string, length > 0.

    If v has no more code points than that, t(v) = v: f(v) = v, and f(x) <= x < v for x < v. For a longer v, let w be
    its first `length` code points: a result that is at least v has no more code points than w, so it does not start
    with w, and is above all strings that do: t(v) = the successor of w.
    """

    source: Domain
    length: int


@dataclass(frozen=True, slots=True)
class Prepend:
    """f(x) = text followed by x, in UTF-8. t(text + y) = y; any other v is below or above every result."""

    source: Domain
    text: bytes


Step = Shift | Floor | Times | ZoneShift | Monotone | Periodic | Invertible | Prefix | Prepend


def identity(source: Domain) -> Shift:
    """f(x) = x."""
    return Shift(source, 0)


def rising(
    source: Domain,
    f: Callable[[Any], Any],
    falling: bool = False,
    most: Callable[[Any], Any] | None = None,
    near: Callable[[Any], Any] | None = None,
) -> Monotone:
    """Return the step of a function that is non-decreasing, or non-increasing if `falling`, on its whole domain."""
    return Monotone(source, f, (MonotonePiece(source.low, source.stop, not falling),), most=most, near=near)


def results_within(step: Step, domain: Domain) -> bool:
    """Return whether every result of the step is known to be in the domain; its source is not empty."""
    match step:
        case Shift(source, by):
            ends = [source.low + by, source.stop - 1 + by]
        case Floor(source, by):
            ends = [source.low // by, (source.stop - 1) // by]
        case Times(source, by):
            ends = [source.low * by, (source.stop - 1) * by]
        case Monotone(_, f, pieces, most=most):
            ends = [f(x) for piece in pieces for x in (piece.low, piece.stop - 1)]
            ends += [most(x) for piece in pieces for x in (piece.low, piece.stop - 1)] if most else []
        case _:
            return False
    return all(domain.low <= end < domain.stop for end in ends)


def pull_back(step: Step, results: Values) -> Values | None:
    """Return a set that contains every argument with a result in `results`; None if no such set is known."""
    match step:
        case Periodic():
            return _periodic(step, results)
        case Invertible():
            return None if results.cycles else _inverted(step, results)
        case Monotone():
            return None if results.cycles else _monotone(step, results)
    cycles = tuple(cycle for known in results.cycles if (cycle := _with_exempt_before(step, known)) is not None)
    spans = merged(_span_before(step, low, stop) for low, stop in results.spans)
    exact = results.exact and len(cycles) == len(results.cycles)
    if isinstance(step, ZoneShift) and step.low != step.high:
        exact = False
    return replace(results, spans=intersect(spans, step.source.all), cycles=cycles, exact=exact)


def single_direction(step: Step) -> bool | None:
    """Return True for a non-decreasing function that never raises, False for a non-increasing one, else None."""
    match step:
        case Shift() | Floor() | Times() | Prefix() | Prepend():
            return True
        case Monotone(source, _, (MonotonePiece(low, stop, direction),), most=None) if (low, stop) == (
            source.low,
            source.stop,
        ):
            return direction
    return None


def _span_before(step: Step, low: Any, stop: Any) -> tuple[Any, Any]:
    match step:
        case Shift(_, by):
            return low - by, stop - by
        case Floor(_, by):
            return low * by, stop * by
        case Times(_, by):
            return -(-low // by), -(-stop // by)
        case ZoneShift(_, least, most):
            return low - most, stop - least
        case Prefix(_, length):
            return _least_with_prefix(low, length), _least_with_prefix(stop, length)
        case Prepend(source, text):
            return _least_after(low, text, source), _least_after(stop, text, source)
    raise AssertionError(f"{step} has no closed form")


def _with_exempt_before(step: Step, cycle: Cycle) -> Cycle | None:
    found = _cycle_before(step, cycle)
    if found is None or not cycle.exempt:
        return found
    exempt = merged(_span_before(step, low, stop) for low, stop in cycle.exempt)
    return replace(found, exempt=intersect(exempt, step.source.all))


def _cycle_before(step: Step, cycle: Cycle) -> Cycle | None:
    """The cycle in terms of the step's argument, if it is one, else None."""
    match step:
        case Shift(_, by):
            return replace(cycle, low=cycle.low + by, high=cycle.high + by)
        case ZoneShift(_, low, high):
            return replace(cycle, low=cycle.low + low, high=cycle.high + high)
        case Floor(_, by):
            # (x // by + o) // grain = (x + o * by) // (grain * by)
            return replace(cycle, grain=cycle.grain * by, low=cycle.low * by, high=cycle.high * by)
        case Times(_, by) if cycle.grain % by == cycle.low % by == cycle.high % by == 0:
            return replace(cycle, grain=cycle.grain // by, low=cycle.low // by, high=cycle.high // by)
    return None


def _monotone(step: Monotone, results: Values) -> Values:
    found: list[tuple[Any, Any]] = []
    for piece in step.pieces:
        for low, stop in results.spans:
            # A result in [low, stop) is possible where most(x) >= low and f(x) < stop.
            reaches = _threshold(step.most or step.f, piece, low, step.near)
            exceeds = _threshold(step.f, piece, stop, step.near)
            found.append((reaches, exceeds) if piece.rising else (exceeds, reaches))
    if results.null:
        found.extend(step.nulls)
    return replace(
        results, spans=merged([*found, *step.unsure]), exact=results.exact and not step.unsure and step.most is None
    )


def _threshold(
    f: Callable[[Any], Any], piece: MonotonePiece, result: Any, near: Callable[[Any], Any] | None = None
) -> Any:
    """The least x of the piece with f(x) >= result, or < result if f is falling; the end of the piece without one."""
    low, stop = piece.low, piece.stop
    if isinstance(result, int) and abs(result) >= _ALMOST_FAR:
        return low if (result < 0) is piece.rising else stop
    if near is not None and low < stop:
        # From the argument that is near, in steps that grow, until they enclose the threshold.
        at, step = max(low, min(stop - 1, near(result))), 1
        if (f(at) >= result) is piece.rising:
            stop = at
            while low < stop:
                at = max(low, stop - step)
                if (f(at) >= result) is not piece.rising:
                    low = at + 1
                    break
                stop, step = at, step * 8
        else:
            low = at + 1
            while low < stop:
                at = min(stop - 1, low + step - 1)
                if (f(at) >= result) is piece.rising:
                    stop = at
                    break
                low, step = at + 1, step * 8
    while low < stop:
        middle = (low + stop) // 2
        if (f(middle) >= result) is piece.rising:
            stop = middle
        else:
            low = middle + 1
    return low


def _periodic(step: Periodic, results: Values) -> Values | None:
    if results.cycles:
        return None
    hits = _within(step.results, results.spans)
    exact = results.exact and step.others is None
    if step.others is not None:
        hits = hits | _within(step.others, results.spans)
    if not hits.any():
        return Values((), results.null, exact)
    if hits.all():
        return Values(step.source.all, results.null, exact)
    return Values(step.source.all, results.null, exact, (Cycle(step.grain, 0, 0, hits.astype(np.uint8).tobytes()),))


def _within(numbers: np.ndarray, spans: Spans) -> np.ndarray:
    least, most = int(numbers.min()), int(numbers.max())
    wanted = np.zeros(most - least + 1, dtype=bool)
    for low, stop in spans:
        wanted[max(low, least) - least : max(min(stop - 1, most) + 1, least) - least] = True
    found: np.ndarray = wanted[numbers - least]
    return found


def _inverted(step: Invertible, results: Values) -> Values | None:
    """Map single results to their arguments, and all but some single results to all but their arguments."""
    outside = complement(results.spans, step.target)
    if _single(results.spans):
        return replace(results, spans=_arguments(step, results.spans))
    if _single(outside):
        return replace(results, spans=complement(_arguments(step, outside), step.source))
    return None


def _single(spans: Spans) -> bool:
    return all(stop == following(low) for low, stop in spans)


def _arguments(step: Invertible, spans: Spans) -> Spans:
    found = [step.inverse(low) for low, _ in spans]
    return intersect(merged((at, following(at)) for at in found if at is not None), step.source.all)


def _least_with_prefix(text: bytes, length: int) -> bytes:
    """See Prefix. A byte that was incremented may not start a UTF-8 character; it counts as if it did."""
    starts = [i for i, byte in enumerate(text) if byte & 0xC0 != 0x80]
    if len(starts) <= length:
        return text
    head = text[: starts[length]]
    return head[:-1] + bytes([head[-1] + 1])


def _least_after(text: bytes, before: bytes, source: Domain) -> Any:
    if text.startswith(before):
        return text[len(before) :]
    return source.low if text < before else source.stop
