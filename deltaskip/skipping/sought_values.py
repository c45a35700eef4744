"""The values that a program seeks, which hints other than bounds can rule out: Bloom filters and the key index.

In a program, a value that a predicate seeks has two bounds: `min(c) <= v` and `max(c) >= v`. All terms of one AllOf
are conditions on the same row (skipping.proofs.rewrite): its value of the column is at most v by the first, and at
least v by the second one, so it is v, and a file or row group that certainly does not contain v has no such row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from deltaskip.records import dataclass
from deltaskip.recursion import deep
from deltaskip.skipping import program
from deltaskip.skipping.evaluate import PartitionEvaluator, keep_mask
from deltaskip.sparkexpr.values.arrow_values import numpy_values
from deltaskip.stats.layout import BoundKind, StatField

_MOST_OF_RANGE = 64
"""The most values of a range that are sought one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class Sought(program.Term):
    """The file or row group contains one of these values of the column.

    Attributes:
        field: The column.
        values: The values in the layout of the kernels: a tuple, or an array if a kernel searches them.
    """

    field: StatField
    values: tuple[int | bytes, ...] | pa.Array

    def listed(self) -> list[int | bytes]:
        """Return the values as ints, or as UTF-8 bytes."""
        found = self.values if isinstance(self.values, tuple) else self.values.to_pylist()
        return [each.encode() if isinstance(each, str) else each for each in found]


@dataclass(frozen=True, slots=True)
class SoughtValues:
    """A term with the values that it seeks.

    Attributes:
        term: The term, with a Sought for each part that only equal values satisfy.
        every: Each Sought in the term.
    """

    term: program.Term
    every: tuple[Sought, ...]

    @classmethod
    def of(cls, term: program.Term, most: int) -> SoughtValues | None:
        """Return the values that a term seeks; None if it seeks none, or more than `most`."""
        found: list[Sought] = []
        with_values = _with_values(term, most, found)
        if not found or sum(len(each.values) for each in found) > most:
            return None
        return cls(with_values, tuple(found))

    def of_every_row(self) -> dict[StatField, frozenset[int | bytes]]:
        """Return the values of which each row that satisfies the term has one, for each column with such values."""
        return _of_every_row(self.term)

    def evaluated(
        self, masks: Mapping[int, npt.NDArray[np.bool_]], statistics: program.Statistics, partitions: PartitionEvaluator
    ) -> npt.NDArray[np.bool_]:
        """Return the keep mask of the term.

        Args:
            masks: For each Sought, by its identity, the rows of `statistics` that may contain its values.
            statistics: As for `keep_mask`.
            partitions: As for `keep_mask`.
        """
        return _evaluated(self.term, masks, statistics, partitions)


@deep
def _with_values(term: program.Term, most: int, found: list[Sought]) -> program.Term:
    """The term with the values that it seeks, which are added to the list."""
    match term:
        case program.Leaf(_, inner):
            return _with_values(inner, most, found)
        case program.AllOf():
            parts = list(_conjuncts(term))
            sought = [Sought(field, values) for field, values in _points(parts)]
            found += sought
            return program.AllOf((*(_with_values(each, most, found) for each in parts), *sought))
        case program.AnyOf(children):
            return program.AnyOf(tuple(_with_values(each, most, found) for each in children))
        case program.AnyPoint(field, points) if field.kind in (BoundKind.INT64, BoundKind.TEXT) and len(points) <= most:
            found.append(Sought(field, points))
            return program.AllOf((term, found[-1]))
        case _:
            return term


def _conjuncts(term: program.Term) -> Iterator[program.Term]:
    """The terms of a conjunction: all of them must be TRUE."""
    pending = [term]
    while pending:
        match pending.pop():
            case program.Leaf(_, inner):
                pending.append(inner)
            case program.AllOf(children):
                pending.extend(reversed(children))
            case part:
                yield part


def _points(terms: Sequence[program.Term]) -> Iterator[tuple[StatField, tuple[int | bytes, ...]]]:
    """The values of columns, if few, that are between the least and the greatest that a row can have."""
    least: dict[StatField, int | bytes] = {}
    greatest: dict[StatField, int | bytes] = {}
    for term in terms:
        match term:
            case program.BoundTerm(field, "max", "ge", int() | bytes() as value):
                least[field] = max(least.get(field, value), value)
            case program.BoundTerm(field, "min", "le" | "lt", int() | bytes() as value):
                greatest[field] = min(greatest.get(field, value), value)
    for field, first in least.items():
        match field.kind, first, greatest.get(field):
            # The upper bound of strings is the first string after the greatest one.
            case BoundKind.TEXT, bytes(), last if last == first + b"\0":
                yield field, (first,)
            case BoundKind.DECIMAL, int(), last if last == first:
                yield field, (first,)
            # Neighboring integers of a list are a range in the program.
            case BoundKind.INT64, int(), int() as last if first <= last < first + _MOST_OF_RANGE:
                yield field, tuple(range(first, last + 1))


@deep
def _of_every_row(term: program.Term) -> dict[StatField, frozenset[int | bytes]]:
    """See `SoughtValues.of_every_row`."""
    match term:
        case Sought(field):
            return {field: frozenset(term.listed())}
        case program.Leaf(_, inner):
            return _of_every_row(inner)
        case program.AllOf(children):
            found: dict[StatField, frozenset[int | bytes]] = {}
            for child in children:
                for field, values in _of_every_row(child).items():
                    found[field] = found[field] & values if field in found else values
            return found
        case program.AnyOf(children) if children:
            first, *others = [_of_every_row(child) for child in children]
            fields = [field for field in first if all(field in each for each in others)]
            return {field: first[field].union(*(each[field] for each in others)) for field in fields}
        case _:
            return {}


@deep
def _evaluated(
    term: program.Term,
    masks: Mapping[int, npt.NDArray[np.bool_]],
    statistics: program.Statistics,
    partitions: PartitionEvaluator,
) -> npt.NDArray[np.bool_]:
    """See `keep_mask`; masks: For each Sought, the row groups that may contain its values."""
    match term:
        case Sought():
            return masks[id(term)]
        case program.AllOf(children) | program.AnyOf(children):
            parts = [_evaluated(each, masks, statistics, partitions) for each in children]
            combine = np.logical_and if isinstance(term, program.AllOf) else np.logical_or
            found: npt.NDArray[np.bool_] = combine.reduce(parts)
            return found
        case _:
            lane: npt.NDArray[np.bool_] = numpy_values(keep_mask(term, statistics, partitions).to_arrow())
            return lane
