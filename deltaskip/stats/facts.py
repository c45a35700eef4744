"""Known facts of a data file or a part of it: null counts and extremes, which can be combined with other parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from deltaskip.records import dataclass
from deltaskip.sparkexpr.collations import Collation
from deltaskip.sparkexpr.types import DataType
from deltaskip.stats.layout import Side
from deltaskip.stats.stored_bounds import Bound


@dataclass(frozen=True, slots=True)
class PathExtremes:
    """The least and the greatest value at each path inside variants whose values have one type in every row.

    by_path: Type, least and greatest value of a path, in the value domain of the type, by the normalized path.
    """

    by_path: Mapping[str, tuple[DataType, Any, Any]]

    def joined(self, other: PathExtremes) -> PathExtremes:
        """Return the extremes of the rows of both. A path that one of them lacks may have any values there."""
        found = {}
        for path, (kind, low, high) in self.by_path.items():
            of_type, other_low, other_high = other.by_path.get(path, (None, None, None))
            if of_type == kind:
                found[path] = (kind, min(low, other_low), max(high, other_high))
        return PathExtremes(found)


@dataclass(frozen=True, slots=True)
class Box:
    """The bounding box of shapes.

    axes: The least and the greatest x, y, z and m; None for coordinates that are unknown, or that the shapes lack.
    """

    axes: tuple[tuple[float, float] | None, ...]

    def joined(self, other: Box) -> Box:
        """Return the box of the rows of both. An axis that one of them lacks may have any values there."""
        pairs = zip(self.axes, other.axes, strict=True)
        return Box(tuple(a and b and (min(a[0], b[0]), max(a[1], b[1])) for a, b in pairs))

    def bound(self, axis: str, side: Side) -> float | None:
        """Return the least or the greatest coordinate of an axis, x or y; None if it is unknown."""
        found = self.axes["xyzm".index(axis)]
        return None if found is None else found[0 if side == "min" else 1]


@dataclass(frozen=True, slots=True)
class Extremes:
    """The least and the greatest value of the rows, None if there is no value.

    Of variants, both are PathExtremes, and of shapes, both are a Box.

    If `known` is False, other values may exceed them.
    """

    low: Any
    high: Any
    known: bool = True


NO_VALUES = Extremes(None, None)
UNKNOWN = Extremes(None, None, known=False)


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """One column.

    null_count: None if unknown. extremes: In binary order. collated: In the order of each requested collation, as str.
    """

    null_count: int | None
    extremes: Extremes = UNKNOWN
    collated: tuple[Extremes, ...] = ()


@dataclass(frozen=True, slots=True)
class FileFacts:
    """num_records: Physical rows. columns: As requested. scanned: Number of columns whose values were read."""

    num_records: int
    columns: tuple[ColumnFacts, ...]
    scanned: int = 0


def joined_extremes(parts: Iterable[Extremes], above: Callable[[Any, Any], bool]) -> Extremes:
    """Combine the extremes of all parts. `above(a, b)`: a is greater. Of equal values the first is kept."""

    def join(a: Extremes, b: Extremes) -> Extremes:
        if not (a.known and b.known):
            return UNKNOWN
        if a.low is None or b.low is None:
            return b if a.low is None else a
        if isinstance(a.low, PathExtremes | Box):
            both = a.low.joined(b.low)
            return Extremes(both, both)
        return Extremes(b.low if above(a.low, b.low) else a.low, b.high if above(b.high, a.high) else a.high)

    return reduce(join, parts, NO_VALUES)


def combined_facts(parts: Sequence[ColumnFacts], orders: Sequence[Collation]) -> ColumnFacts:
    """Combine one or more parts of a column. orders: The orders of `collated`."""
    counts = [part.null_count for part in parts]
    collated = tuple(
        joined_extremes((part.collated[i] for part in parts), _above_in(order)) for i, order in enumerate(orders)
    )
    return ColumnFacts(
        None if None in counts else sum(c for c in counts if c is not None),
        joined_extremes((part.extremes for part in parts), _above),
        collated,
    )


def joined_files(parts: Sequence[FileFacts], orders: Sequence[Sequence[Collation]]) -> FileFacts:
    """Combine the parts of a file. num_records is their sum. orders: The orders of each column."""
    columns = tuple(combined_facts([part.columns[i] for part in parts], order) for i, order in enumerate(orders))
    return FileFacts(sum(p.num_records for p in parts), columns, max(p.scanned for p in parts))


def _above(a: Bound, b: Bound) -> bool:
    """NaN is above all other values."""
    return (a > b or (a != a and b == b)) if isinstance(a, float) else a > b  # type: ignore[operator]


def _above_in(order: Collation) -> Callable[[str, str], bool]:
    return lambda a, b: order.compare_values(a, b) > 0
