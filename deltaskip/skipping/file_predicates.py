"""A predicate over the files of a snapshot: its form for another process, and its compiled form."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from deltaskip.features.clustering import CLUSTERING_DOMAIN, EXPRESSIONS, clustering_transforms
from deltaskip.features.registry import has_feature
from deltaskip.fork_safety import cached_property
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.skipping.add_batches import FileBatch
from deltaskip.skipping.evaluate import PartitionEvaluator, keep_mask
from deltaskip.skipping.key_index.key_lookup import KeyLookup
from deltaskip.skipping.partition_terms import PartitionAnswers, PartitionTruth
from deltaskip.skipping.program import Program
from deltaskip.skipping.proofs.rewrite import not_true, rewrite
from deltaskip.sparkexpr.clock import Clock, reads_clock
from deltaskip.sparkexpr.collations import Collations
from deltaskip.sparkexpr.kernels import Lane, take_lane
from deltaskip.sparkexpr.nodes import Literal, Node
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.sparkexpr.values.zone_rules import SharedRules
from deltaskip.stats.layout import BoundKind

if TYPE_CHECKING:
    from deltaskip.skipping.proofs.expression_bounds import BoundedExpression


@dataclass(frozen=True, slots=True)
class PortablePredicate:
    """A bound predicate with the settings that decide which files it keeps. It can be pickled.

    A program cannot: its collations are libraries of this process. The same predicate over the same snapshot compiles
    to the same program, except that a process without the library of a collation keeps the files that it would skip.

    Attributes:
        node: The bound, normalized predicate.
        time_zone: Time zone of timestamps without one; None if unknown.
        collation_version: Version of the collations that the rows are compared with.
        planned_at: When the scan was made, in microseconds since the epoch.
        zone_rules: The rules of time zones, for the pickle.
    """

    node: Node
    time_zone: str | None
    collation_version: str
    planned_at: int
    zone_rules: SharedRules = field(default_factory=SharedRules, compare=False)

    @property
    def is_true(self) -> bool:
        """Whether the predicate is TRUE for every row."""
        return isinstance(self.node, Literal) and self.node.value is True

    def compiled(self, snapshot: Snapshot, answers: PartitionAnswers | None = None) -> CompiledPredicate:
        """Return the predicate as it is evaluated over the files of a snapshot.

        answers: the known answers for partition values of the snapshot.
        """
        truth = PartitionTruth(self.time_zone, Collations(self.collation_version), answers)
        return CompiledPredicate(self, snapshot, self._program(snapshot), truth)

    def _program(self, snapshot: Snapshot) -> Program:
        return rewrite(
            self.node,
            snapshot.schema,
            snapshot.mapping_mode,
            self.time_zone or "UTC",
            partition_columns=snapshot.partition_columns,
            properties=snapshot.properties,
            collations=Collations(self.collation_version),
            clock=Clock(self.planned_at, self.time_zone) if reads_clock(self.node) else None,
            expressions=expressions_of(snapshot),
        )


def expressions_of(snapshot: Snapshot) -> tuple[BoundedExpression, ...]:
    """Return the expressions with bounds in the statistics of a table's files."""
    domain = snapshot.domains.get(CLUSTERING_DOMAIN) if has_feature(snapshot.protocol, EXPRESSIONS) else None
    if domain is None:
        return ()
    # Few tables have some.
    from deltaskip.skipping.proofs.expression_bounds import bounded_expressions

    transforms = clustering_transforms(domain.configuration)
    return bounded_expressions(transforms, snapshot.schema, snapshot.mapping_mode, snapshot.partition_columns)


@dataclass(frozen=True, eq=False)
class CompiledPredicate:
    """A predicate that is compiled for a snapshot: the log then shows which files can have rows that match it.

    Attributes:
        portable: The predicate.
        snapshot: The snapshot.
        program: Keeps the files that can contain a row for which the predicate is TRUE.
        truth: The terms over partition values, for batches that share the codes of these values.
    """

    portable: PortablePredicate
    snapshot: Snapshot
    program: Program
    truth: PartitionTruth

    def __repr__(self) -> str:
        return f"CompiledPredicate({self.snapshot!r})"

    @cached_property
    def negated(self) -> CompiledPredicate:
        """The condition that the predicate is not TRUE."""
        portable = replace(self.portable, node=not_true(self.portable.node))
        found = CompiledPredicate(portable, self.snapshot, portable._program(self.snapshot), self.truth)
        # What is proved of every row, such as that a whole file can go, is proved by the log alone.
        found.__dict__["keys"] = None
        return found

    def with_own_codes(self) -> CompiledPredicate:
        """Return the predicate for batches whose partition values are not encoded by the snapshot's codes."""
        portable = self.portable
        truth = PartitionTruth(portable.time_zone, Collations(portable.collation_version))
        found = CompiledPredicate(portable, self.snapshot, self.program, truth)
        found.__dict__["keys"] = self.keys
        return found

    @cached_property
    def keys(self) -> KeyLookup | None:
        """The look-up of the predicate's values in the table's key index; None if nothing can be looked up."""
        return KeyLookup.of(self.snapshot, self.program)

    def kept(self, batch: FileBatch) -> Lane:
        """Return the mask of the files that the program keeps: one byte per add of the batch, live or not."""
        lane = self.evaluated(self.program, batch)
        if self.keys is not None:
            mask = np.frombuffer(memoryview(lane), np.uint8)
            found = self.keys.kept(batch, mask.view(np.bool_), self._partitions(batch))
            if found is not None:
                mask = mask & found
                return take_lane(arrow_array(mask.astype(np.int32)), b"\0\1", False)
        return lane

    def evaluated(self, program: Program, batch: FileBatch) -> Lane:
        """Return the mask of `kept` for another program, such as a part of this one."""
        batch.prepare(program)
        return keep_mask(program.root, batch.statistics, self._partitions(batch))

    def _partitions(self, batch: FileBatch) -> PartitionEvaluator:
        return lambda term: self.truth.keep(term, lambda column: batch.partition(column.physical[0], column.type))

    def matching(self, batch: FileBatch) -> pa.Array | None:
        """Return the rows of the batch that are kept, live or not (ascending int64); None for all of them."""
        if self.portable.is_true:
            return None
        lane = self.kept(batch)
        return None if lane.count() == batch.num_rows else lane.indices()

    def listed(self, batch: FileBatch) -> pa.Array | None:
        """Return the rows of the batch that are kept and part of the snapshot, as `matching` does."""
        rows = self.matching(batch)
        return batch.live(rows) if rows is None or len(rows) else rows


def reads_provenance(program: Program) -> bool:
    """Return whether a program may need the writers of statistics, for NaN and for strings under a collation."""
    return any(
        leaf.collation or (leaf.field is not None and leaf.field.kind is BoundKind.DOUBLE)
        for leaf in program.stat_leaves
    )
