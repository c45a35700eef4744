"""A predicate that is evaluated over the files of a snapshot, here or in another process."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from deltaskip.expr import Node
from deltaskip.expr.clock import Clock, reads_clock
from deltaskip.expr.nodes import Literal
from deltaskip.kernels.lane import Lane
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.skipping.batches import FileBatch
from deltaskip.skipping.evaluate import evaluate
from deltaskip.skipping.partition_terms import PartitionTruth
from deltaskip.skipping.program import PartitionTerm, Program
from deltaskip.skipping.proofs.collated import Collations
from deltaskip.skipping.proofs.rewrite import rewrite
from deltaskip.stats.layout import BoundKind


@dataclass(frozen=True, slots=True)
class PortablePredicate:
    """A bound predicate, and what decides beside it which files are kept. It can be pickled.

    A program cannot: its collations are libraries of this process. The same predicate over the same snapshot compiles
    to the same program, except that a process without the library of a collation keeps the files that it would skip.

    Attributes:
        node: The bound, normalized predicate.
        time_zone: Time zone of timestamps without one; None if unknown.
        collation_version: Version of the collations that the rows are compared with.
        planned_at: When the scan was made, in microseconds since the epoch.
    """

    node: Node
    time_zone: str | None
    collation_version: str
    planned_at: int

    def compiled(self, snapshot: Snapshot) -> Program:
        """Return the program that keeps the files that can contain a row for which the predicate is TRUE."""
        zone, columns, properties = self.time_zone or "UTC", snapshot.partition_columns, snapshot.properties
        clock = Clock(self.planned_at, self.time_zone) if reads_clock(self.node) else None
        collations = Collations(self.collation_version)
        schema, mode = snapshot.schema, snapshot.mapping_mode
        return rewrite(self.node, schema, mode, zone, columns, properties, collations, clock)

    def matching(self, program: Program) -> Callable[[FileBatch], pa.Array | None]:
        """Return the evaluation of the program over batches that share the codes of their partition values.

        It returns the rows of a batch that are kept, live or not (ascending int64); None for all of them.
        """
        truth = PartitionTruth(self.time_zone, Collations(self.collation_version))
        all_kept = isinstance(self.node, Literal) and self.node.value is True

        def kept(batch: FileBatch) -> pa.Array | None:
            if all_kept:
                return None
            lane = evaluated(program, batch, truth)
            return None if lane.count() == batch.num_rows else lane.indices()

        return kept


def evaluated(program: Program, batch: FileBatch, truth: PartitionTruth) -> Lane:
    """Return the keep mask of a program over a batch: one byte per add, live or not."""
    batch.prepare(program)

    def partitions(term: PartitionTerm) -> Lane:
        return truth.keep(term, lambda column: batch.partition(column.physical[0], column.type))

    return evaluate(program.root, batch.statistics, partitions)


def reads_provenance(program: Program) -> bool:
    """Return whether a program may ask who wrote the statistics: about NaN, and about strings under a collation."""
    return any(
        leaf.collation or (leaf.field is not None and leaf.field.kind is BoundKind.DOUBLE)
        for leaf in program.stat_leaves
    )
