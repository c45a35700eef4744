"""Skips row groups that do not contain the values that a predicate seeks, by the Bloom filters of the files.

In a program, a value that a predicate seeks has two bounds: `min(c) <= v` and `max(c) >= v`. All terms of one AllOf
are conditions on the same row (skipping.proofs.rewrite): its value of the column is at most v by the first, and at
least v by the second one, so it is v, and a row group that certainly does not contain v has no such row.
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
from deltaskip.stats.bloom_filters import Stored, has_filter, may_contain, stored_as
from deltaskip.stats.footer import Footer, FooterColumn
from deltaskip.stats.layout import BoundKind, StatField

# A filter reports one in 20 to 100 missing values as present, so it seldom excludes a longer list.
_MOST_VALUES = 256


@dataclass(frozen=True, slots=True, eq=False)
class Sought(program.Term):
    """The row group contains one of these values of the column, in the layout of the kernels."""

    field: StatField
    values: tuple[int | bytes, ...]


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
    def of(cls, term: program.Term) -> SoughtValues | None:
        """Return the values that a term seeks; None if it seeks none, or more than filters can tell apart."""
        found: list[Sought] = []
        with_values = _with_values(term, found)
        if not found or sum(len(each.values) for each in found) > _MOST_VALUES:
            return None
        return cls(with_values, tuple(found))

    def kept(
        self,
        source: pa.NativeFile,
        footer: Footer,
        plans: Sequence[FooterColumn],
        groups: npt.NDArray[np.int64],
        statistics: program.Statistics,
        partitions: PartitionEvaluator,
    ) -> npt.NDArray[np.bool_] | None:
        """Return the row groups that can contain matching rows; None if the file has no filter that could tell.

        Args:
            source: The file, open for reading.
            footer: Its footer.
            plans: The columns of the predicate in it.
            groups: Indexes of the row groups that statistics do not rule out.
            statistics: Their statistics, and those of the others.
            partitions: As for `keep_mask`.
        """
        by_column = {plan.column.physical: plan for plan in plans}
        asked: list[tuple[int, int, list[bytes]]] = []
        owner: list[tuple[Sought, int]] = []
        for each in self.every:
            plan = by_column.get(each.field.physical)
            stored = None if plan is None else _stored(plan, each)
            if plan is None or not plan.nodes or stored is None:
                continue
            leaf = plan.nodes[-1].first_leaf
            values = [data for value in each.values if (data := stored(value)) is not None]
            for group in groups.tolist():
                if has_filter(footer, group, leaf):
                    asked.append((group, leaf, values))
                    owner.append((each, group))
        if not asked:
            return None
        masks = {id(each): np.ones(len(footer.row_groups), np.bool_) for each in self.every}
        for (each, group), there in zip(owner, may_contain(source, footer, asked).tolist(), strict=True):
            masks[id(each)][group] = there
        return _evaluated(self.term, masks, statistics, partitions)


def _stored(plan: FooterColumn, sought: Sought) -> Stored | None:
    """The function that converts values to the stored form; None if the file may store them differently."""
    if not plan.nodes or not plan.nodes[-1].is_leaf or any(node.is_repeated for node in plan.nodes):
        return None
    if plan.not_before is not None and any(int(value) < plan.not_before for value in sought.values):
        return None
    return stored_as(plan.nodes[-1], plan.column.type)


@deep
def _with_values(term: program.Term, found: list[Sought]) -> program.Term:
    """The term with the values that it seeks, which are added to the list."""
    match term:
        case program.Leaf(_, inner):
            return _with_values(inner, found)
        case program.AllOf():
            parts = list(_conjuncts(term))
            sought = [Sought(field, (value,)) for field, value in _points(parts)]
            found += sought
            return program.AllOf((*(_with_values(each, found) for each in parts), *sought))
        case program.AnyOf(children):
            return program.AnyOf(tuple(_with_values(each, found) for each in children))
        case program.AnyPoint(field, points) if (
            field.kind in (BoundKind.INT64, BoundKind.TEXT) and len(points) <= _MOST_VALUES
        ):
            values = (each.encode() if isinstance(each, str) else each for each in points.to_pylist())
            found.append(Sought(field, tuple(values)))
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


def _points(terms: Sequence[program.Term]) -> Iterator[tuple[StatField, int | bytes]]:
    """The values of columns that are both the least and the greatest that a row can have."""
    least: dict[StatField, int | bytes] = {}
    greatest: dict[StatField, int | bytes] = {}
    for term in terms:
        match term:
            case program.BoundTerm(field, "max", "ge", int() | bytes() as value):
                least[field] = max(least.get(field, value), value)
            case program.BoundTerm(field, "min", "le" | "lt", int() | bytes() as value):
                greatest[field] = min(greatest.get(field, value), value)
    for field, value in least.items():
        # The upper bound of strings is the first string after the greatest one.
        last = value + b"\0" if isinstance(value, bytes) else value
        if field.kind in (BoundKind.INT64, BoundKind.DECIMAL, BoundKind.TEXT) and greatest.get(field) == last:
            yield field, value


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
