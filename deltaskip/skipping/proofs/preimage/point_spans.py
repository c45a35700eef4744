"""Many points of a column's domain as spans (preimage.value_sets), in arrays instead of objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.expr.preimages.ordinals import Spans, following
from deltaskip.schema.arrow_values import arrow_array, numpy_values

_CHUNK = 4096


class PointSpans(Sequence[tuple[Any, Any]]):
    """Ascending, disjoint spans: from each of `lows` to each of `lasts`, both included (int64 or binary arrays).

    `points_only`: every span is one point.
    """

    __slots__ = ("lasts", "lows", "points_only")

    def __init__(self, lows: pa.Array, lasts: pa.Array) -> None:
        self.lows = lows
        self.lasts = lasts
        self.points_only = lows is lasts or bool(lows.equals(lasts))

    def __len__(self) -> int:
        return len(self.lows)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for start in range(0, len(self), _CHUNK):
            lows, lasts = (each.slice(start, _CHUNK).to_pylist() for each in (self.lows, self.lasts))
            yield from zip(lows, map(following, lasts), strict=True)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return tuple(self)[at]
        at = at if at >= 0 else len(self) + at
        if not 0 <= at < len(self):
            raise IndexError(at)
        return self.lows[at].as_py(), following(self.lasts[at].as_py())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PointSpans):
            return bool(self.lows.equals(other.lows) and self.lasts.equals(other.lasts))
        return isinstance(other, tuple) and len(other) == len(self) and tuple(self) == other

    def __hash__(self) -> int:
        return hash((len(self), self[0], self[-1]))


def spans_of_points(values: pa.Array) -> Spans:
    """Return the spans of integers (int64) or texts (string) in any order, none of them null."""
    if pa.types.is_string(values.type):
        distinct = pc.unique(values.view(pa.binary()))
        points = distinct.take(pc.array_sort_indices(distinct))
        return cast(Spans, PointSpans(points, points))
    numbers = np.sort(numpy_values(values))
    numbers = numbers[np.concatenate([[True], numbers[1:] != numbers[:-1]])]
    ends = np.flatnonzero(np.diff(numbers) != 1)
    lows = numbers[np.concatenate([[0], ends + 1]).astype(np.int64)]
    lasts = numbers[np.concatenate([ends, [len(numbers) - 1]]).astype(np.int64)]
    found = PointSpans(arrow_array(lows), arrow_array(lasts))
    return cast(Spans, found) if len(found) > 1 else tuple(found)
