"""Steps: properties of a function of one argument, from which the sets of arguments with wanted results follow.

A step represents a function f of ordinals; NULL passes through it as NULL, unless a function says otherwise. A set of
results is mapped back to the arguments in skipping.proofs.preimage.pull_back.

f may extend Spark's function to arguments on which Spark overflows: there, the extension's results must be outside the
domain of the result's type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from deltaskip.expr.nodes import Call, Node
from deltaskip.expr.preimages.ordinals import Domain, Spans
from deltaskip.records import dataclass


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


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A function of which spans are known: around(low, stop) has every argument with a result in [low, stop).

    nulls: Every argument whose result may be NULL. exact: `around` has no other argument than these.
    """

    source: Domain
    around: Callable[[Any, Any], Iterable[tuple[Any, Any]]]
    nulls: Spans = ()
    exact: bool = False


Step: TypeAlias = Shift | Floor | Times | ZoneShift | Monotone | Periodic | Invertible | Prefix | Prepend | Enclosed

Inverted: TypeAlias = tuple[Node, tuple[Step, ...]] | None
"""The only argument of a call that is not constant, and the function's steps, outermost first; None without any."""

Preimage: TypeAlias = Callable[[Call, Callable[..., object], str], Inverted]
"""The value of a typed call for one row (functions.function.Compute), and the name of the session's time zone."""


def identity_step(source: Domain) -> Shift:
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
