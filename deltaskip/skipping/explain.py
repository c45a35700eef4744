"""Explain: what each leaf of a predicate could prove about the files of a snapshot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.kernels.lane import Lane
from deltaskip.log import Snapshot
from deltaskip.skipping.candidates import Batch, candidates
from deltaskip.skipping.program import (
    AllOf,
    AnyPoint,
    Bound,
    Drop,
    Keep,
    Leaf,
    NotOnly,
    NullsPossible,
    PartitionTerm,
    Program,
    ValuesPossible,
    leaves_of,
    terms_of,
)
from deltaskip.stats.layout import StatLeaf

__all__ = ["Explain", "LeafReport", "explain"]


@dataclass(frozen=True, slots=True)
class LeafReport:
    """One leaf: the predicate's text, what was looked at, files it proves empty alone, and files without the statistic.

    `used` names the statistics or partition columns; `reason` says why nothing could be proved, where that is so.
    """

    predicate: str
    used: tuple[str, ...]
    dropped: int
    without_statistics: int
    reason: str


@dataclass(frozen=True, slots=True)
class Explain:
    """What a scan's predicate could prove. Counts are files of the snapshot, bytes their sizes."""

    table: str
    version: int
    total_files: int
    kept_files: int
    total_bytes: int
    kept_bytes: int
    leaves: tuple[LeafReport, ...]

    def to_dict(self) -> dict[str, Any]:
        """For json.dumps."""
        return {
            "table": self.table,
            "version": self.version,
            "total_files": self.total_files,
            "kept_files": self.kept_files,
            "total_bytes": self.total_bytes,
            "kept_bytes": self.kept_bytes,
            "leaves": [
                {
                    "predicate": leaf.predicate,
                    "used": list(leaf.used),
                    "dropped": leaf.dropped,
                    "without_statistics": leaf.without_statistics,
                    "reason": leaf.reason or None,
                }
                for leaf in self.leaves
            ],
        }

    def table_of_leaves(self) -> pa.Table:
        """One row a leaf, columns as in LeafReport."""
        return pa.Table.from_pylist(
            self.to_dict()["leaves"],
            pa.schema(
                [
                    ("predicate", pa.string()),
                    ("used", pa.list_(pa.string())),
                    ("dropped", pa.int64()),
                    ("without_statistics", pa.int64()),
                    ("reason", pa.string()),
                ]
            ),
        )

    def __str__(self) -> str:
        head = f"{self.table} at version {self.version}: {self.kept_files} of {self.total_files} files kept"
        lines = [f"{head}, {self.kept_bytes} of {self.total_bytes} bytes"]
        for leaf in self.leaves:
            lines.append(f"  {leaf.predicate}")
            if leaf.used:
                lines.append(f"    looked at {', '.join(leaf.used)}; drops {leaf.dropped} files alone")
            if leaf.without_statistics:
                lines.append(f"    {leaf.without_statistics} files lack a statistic that it needs")
            if leaf.reason:
                lines.append(f"    proves nothing more: {leaf.reason}")
        return "\n".join(lines)


def explain(snapshot: Snapshot, program: Program, lane_of: Callable[[Program, Batch], Lane]) -> Explain:
    """Evaluate the program as a whole and each of its leaves alone, over every file of the snapshot."""
    leaves = leaves_of(program.root)
    totals = _Totals(len(leaves))
    whole = Program(AllOf((Keep(), program.root)))
    everything = Program(Keep())
    for batch in candidates(snapshot, everything):
        rows = batch.live(None)
        live = np.ones(batch.num_rows, dtype=bool) if rows is None else np.isin(np.arange(batch.num_rows), rows)
        sizes = batch.raw(["size"])[0].to_numpy(zero_copy_only=False)[live]
        keep = np.frombuffer(memoryview(lane_of(whole, batch)), dtype=np.uint8)[live] != 0
        totals.add_batch(sizes, keep)
        for position, leaf in enumerate(leaves):
            alone = np.frombuffer(memoryview(lane_of(Program(leaf), batch)), dtype=np.uint8)[live]
            totals.dropped[position] += int((alone == 0).sum())
            totals.without[position] += _without_statistics(leaf, batch, live)
    reports = tuple(
        LeafReport(leaf.text, _used(leaf), totals.dropped[i], totals.without[i], _reason(leaf))
        for i, leaf in enumerate(leaves)
    )
    return Explain(
        snapshot.table_root,
        snapshot.version,
        totals.files,
        totals.kept,
        totals.bytes,
        totals.kept_bytes,
        reports,
    )


class _Totals:
    def __init__(self, leaves: int) -> None:
        self.files = self.kept = self.bytes = self.kept_bytes = 0
        self.dropped = [0] * leaves
        self.without = [0] * leaves

    def add_batch(self, sizes: np.ndarray, keep: np.ndarray) -> None:
        self.files += len(sizes)
        self.kept += int(keep.sum())
        self.bytes += int(sizes.sum())
        self.kept_bytes += int(sizes[keep].sum())


def _without_statistics(leaf: Leaf, batch: Batch, live: np.ndarray) -> int:
    missing = np.zeros(batch.num_rows, dtype=bool)
    for stat in Program(leaf).stat_leaves:
        missing |= _values(stat, batch).is_null().to_numpy(zero_copy_only=False)
    return int(missing[live].sum())


def _values(stat: StatLeaf, batch: Batch) -> pa.Array:
    if stat.field is None:
        return batch.statistics.num_records()
    if stat.side is None:
        return batch.statistics.null_count(stat.field)
    values = batch.statistics.bound(stat.field, stat.side)
    # A column of nulls only has no bounds, and its null count says all there is to say.
    all_null = pc.fill_null(pc.equal(batch.statistics.null_count(stat.field), batch.statistics.num_records()), False)
    return pc.if_else(all_null, pa.scalar(_something(values.type), values.type), values)


def _something(type_: pa.DataType) -> Any:
    if pa.types.is_decimal(type_) or pa.types.is_floating(type_) or pa.types.is_integer(type_):
        return 0
    return ""


def _used(leaf: Leaf) -> tuple[str, ...]:
    names: dict[str, None] = {}
    for term in terms_of(leaf.term):
        match term:
            case Bound(field, side):
                names[f"{side}({field.label})"] = None
            case AnyPoint(field) | NotOnly(field):
                names[f"min({field.label})"] = None
                names[f"max({field.label})"] = None
            case NullsPossible(field):
                names[f"nullCount({field.label})"] = None
            case ValuesPossible(field):
                names[f"nullCount({field.label})"] = None
                names["numRecords"] = None
            case PartitionTerm(_, columns):
                names.update({f"partition {'.'.join(column.logical)}": None for column in columns})
            case _:
                pass
    return tuple(names)


def _reason(leaf: Leaf) -> str:
    reasons = [term.reason for term in terms_of(leaf.term) if isinstance(term, Keep | Drop) and term.reason]
    return "; ".join(dict.fromkeys(reasons))
