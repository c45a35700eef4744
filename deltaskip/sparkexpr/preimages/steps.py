"""Steps: properties of a function of one argument that determine the set of arguments for a set of results.

A step represents a function f of ordinals. The result of NULL is NULL, unless a function says otherwise.
skipping.proofs.preimage.pull_back maps a set of results back to a set of arguments.

f may extend Spark's function to arguments for which Spark overflows: the results of the extension must be outside the
domain of the result type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np

from deltaskip.records import dataclass
from deltaskip.sparkexpr.nodes import Call, Node
from deltaskip.sparkexpr.preimages.ordinals import Domain, Spans

UNKNOWN_ARGUMENT: Any = object()


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
    """f(x) = x + o with an unknown o, low <= o <= high: a conversion from an instant to local time, or back.

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
    """A function that is monotone on each of `pieces`. It raises for other arguments.

    most: If the result is not known exactly, it is between f(x) and most(x), and most is monotone like f.
    nulls: Arguments whose result is NULL.
    unsure: Arguments with unknown results. They belong to every preimage.
    near: Returns an argument for a result, at which the search for a threshold starts. Any argument is correct.
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
    """f(x) is results[i] or, if given, others[i], with i = x // grain % len(results); both arrays are int64."""

    source: Domain
    grain: int
    results: np.ndarray
    others: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class Invertible:
    """An injective function that is not monotone.

    `inverse` returns the argument for a result, None if it has none, UNKNOWN_ARGUMENT for strings that are not UTF-8.
    """

    source: Domain
    target: Domain
    inverse: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Prefix:
    """The first `length` code points of a string, length > 0.

    If v has at most `length` code points, t(v) = v: f(v) = v, and f(x) <= x < v for x < v. For a longer v, let w be its
    first `length` code points. A result of at least v has no more code points than w. So it does not start with w, and
    it is above all strings that start with w: t(v) = the successor of w.
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
    """A function with known spans of arguments: around(low, stop) contains every argument with a result in [low, stop).

    nulls: Every argument whose result may be NULL.
    exact: Whether `around` contains no other arguments.
    """

    source: Domain
    around: Callable[[Any, Any], Iterable[tuple[Any, Any]]]
    nulls: Spans = ()
    exact: bool = False


Step: TypeAlias = Shift | Floor | Times | ZoneShift | Monotone | Periodic | Invertible | Prefix | Prepend | Enclosed

Inverted: TypeAlias = tuple[Node, tuple[Step, ...]] | None
"""The only argument of a call that is not constant, and the steps of the function, outermost first; or None."""

Preimage: TypeAlias = Callable[[Call, Callable[..., object], str], Inverted]
"""Takes a typed call, its value for one row (functions.function.Compute) and the name of the session's time zone."""


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
