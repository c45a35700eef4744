"""Sets of the arguments with which a function has a wanted result, by its step (expr.preimages.steps).

`pull_back` returns a set that contains every x for which f(x) is in the set of results: for any other x the predicate
is FALSE, NULL or raises, so no such row matches.

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
from functools import lru_cache
from typing import Any

import numpy as np

from deltaskip.skipping.proofs.preimage.value_sets import Cycle, ValueSet, complement, intersect, merged
from deltaskip.sparkexpr import preimages

FAR = 10**500
"""Above every result of a step that is a number."""

_ALMOST_FAR = 10**450
"""The same for FAR mapped back by another step."""


def ends_of(step: preimages.Step) -> list[Any] | None:
    """Return numbers between which every result of the step is; None if none are known. Its source is not empty."""
    match step:
        case preimages.Shift(source, by):
            return [source.low + by, source.stop - 1 + by]
        case preimages.Floor(source, by):
            return [source.low // by, (source.stop - 1) // by]
        case preimages.Times(source, by):
            return [source.low * by, (source.stop - 1) * by]
        case preimages.Monotone(_, f, pieces, most=most, unsure=()):
            ends = [f(x) for piece in pieces for x in (piece.low, piece.stop - 1)]
            return ends + ([most(x) for piece in pieces for x in (piece.low, piece.stop - 1)] if most else [])
    return None


def pull_back(step: preimages.Step, results: ValueSet) -> ValueSet | None:
    """Return a set that contains every argument with a result in `results`; None if no such set is known."""
    match step:
        case preimages.Periodic():
            return _periodic(step, results)
        case preimages.Invertible():
            return None if results.cycles else _inverted(step, results)
        case preimages.Monotone():
            return None if results.cycles else _monotone(step, results)
        case preimages.Enclosed():
            return None if results.cycles else _enclosed(step, results)
    cycles = tuple(cycle for known in results.cycles if (cycle := _with_exempt_before(step, known)) is not None)
    spans = merged(_span_before(step, low, stop) for low, stop in results.spans)
    exact = results.exact and len(cycles) == len(results.cycles)
    if isinstance(step, preimages.ZoneShift) and step.low != step.high:
        exact = False
    return replace(results, spans=intersect(spans, step.source.all), cycles=cycles, exact=exact)


def single_direction(step: preimages.Step) -> bool | None:
    """Return True for a non-decreasing function that never raises, False for a non-increasing one, else None."""
    match step:
        case preimages.Shift() | preimages.Floor() | preimages.Times() | preimages.Prefix() | preimages.Prepend():
            return True
        case preimages.Monotone(source, _, (preimages.MonotonePiece(low, stop, direction),), most=None) if (
            low,
            stop,
        ) == (source.low, source.stop):
            return direction
    return None


def _span_before(step: preimages.Step, low: Any, stop: Any) -> tuple[Any, Any]:
    match step:
        case preimages.Shift(_, 0):
            return low, stop
        case preimages.Shift(_, by):
            return low - by, stop - by
        case preimages.Floor(_, by):
            return low * by, stop * by
        case preimages.Times(_, by):
            return -(-low // by), -(-stop // by)
        case preimages.ZoneShift(_, least, most):
            return low - most, stop - least
        case preimages.Prefix(_, length):
            return _least_with_prefix(low, length), _least_with_prefix(stop, length)
        case preimages.Prepend(source, text):
            return _least_after(low, text, source), _least_after(stop, text, source)
    raise AssertionError(f"{step} has no closed form")


def _with_exempt_before(step: preimages.Step, cycle: Cycle) -> Cycle | None:
    found = _cycle_before(step, cycle)
    if found is None or not cycle.exempt:
        return found
    exempt = merged(_span_before(step, low, stop) for low, stop in cycle.exempt)
    return replace(found, exempt=intersect(exempt, step.source.all))


def _cycle_before(step: preimages.Step, cycle: Cycle) -> Cycle | None:
    """The cycle in terms of the step's argument, if it is one, else None."""
    match step:
        case preimages.Shift(_, by):
            return replace(cycle, low=cycle.low + by, high=cycle.high + by)
        case preimages.ZoneShift(_, low, high):
            return replace(cycle, low=cycle.low + low, high=cycle.high + high)
        case preimages.Floor(_, by):
            # (x // by + o) // grain = (x + o * by) // (grain * by)
            return replace(cycle, grain=cycle.grain * by, low=cycle.low * by, high=cycle.high * by)
        case preimages.Times(_, by) if cycle.grain % by == cycle.low % by == cycle.high % by == 0:
            return replace(cycle, grain=cycle.grain // by, low=cycle.low // by, high=cycle.high // by)
    return None


def _monotone(step: preimages.Monotone, results: ValueSet) -> ValueSet:
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


def _enclosed(step: preimages.Enclosed, results: ValueSet) -> ValueSet:
    found = [span for low, stop in results.spans for span in step.around(low, stop)]
    if results.null:
        found.extend(step.nulls)
    spans = intersect(merged(found), step.source.all)
    return replace(results, spans=spans, exact=results.exact and step.exact)


def _threshold(
    f: Callable[[Any], Any], piece: preimages.MonotonePiece, result: Any, near: Callable[[Any], Any] | None = None
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


def _periodic(step: preimages.Periodic, results: ValueSet) -> ValueSet | None:
    if results.cycles:
        return None
    hits = _hits(step, results.spans)
    exact = results.exact and step.others is None
    if not any(hits):
        return ValueSet((), results.null, exact)
    if all(hits):
        return ValueSet(step.source.all, results.null, exact)
    return ValueSet(step.source.all, results.null, exact, (Cycle(step.grain, 0, 0, hits),))


@lru_cache(maxsize=64)
def _hits(step: preimages.Periodic, spans: preimages.Spans) -> bytes:
    """A byte for each cell: 1 if its result may be wanted. A predicate often names the same month in many terms."""
    hits = _within(step.results, spans)
    if step.others is not None:
        hits = hits | _within(step.others, spans)
    return hits.astype(np.uint8).tobytes()


def _within(numbers: np.ndarray, spans: preimages.Spans) -> np.ndarray:
    least, most = int(numbers.min()), int(numbers.max())
    wanted = np.zeros(most - least + 1, dtype=bool)
    for low, stop in spans:
        wanted[max(low, least) - least : max(min(stop - 1, most) + 1, least) - least] = True
    found: np.ndarray = wanted[numbers - least]
    return found


def _inverted(step: preimages.Invertible, results: ValueSet) -> ValueSet | None:
    """Map single results to their arguments, and all but some single results to all but their arguments."""
    outside = complement(results.spans, step.target)
    if _single(results.spans):
        found = _arguments(step, results.spans)
        return None if found is None else replace(results, spans=found)
    if _single(outside):
        found = _arguments(step, outside)
        return None if found is None else replace(results, spans=complement(found, step.source))
    return None


def _single(spans: preimages.Spans) -> bool:
    return all(stop == preimages.following(low) for low, stop in spans)


def _arguments(step: preimages.Invertible, spans: preimages.Spans) -> preimages.Spans | None:
    found = [step.inverse(low) for low, _ in spans]
    if preimages.UNKNOWN_ARGUMENT in found:
        return None
    return intersect(merged((at, preimages.following(at)) for at in found if at is not None), step.source.all)


def _least_with_prefix(text: bytes, length: int) -> bytes:
    """See Prefix. A byte that was incremented may not start a UTF-8 character; it counts as if it did."""
    starts = [i for i, byte in enumerate(text) if byte & 0xC0 != 0x80]
    if len(starts) <= length:
        return text
    head = text[: starts[length]]
    return head[:-1] + bytes([head[-1] + 1])


def _least_after(text: bytes, before: bytes, source: preimages.Domain) -> Any:
    if text.startswith(before):
        return text[len(before) :]
    return source.low if text < before else source.stop
