"""Explain: what each leaf of a predicate could prove about the files of a snapshot, alone and with the others."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import decode_paths
from deltaskip.kernels.lane import Lane
from deltaskip.log import Snapshot
from deltaskip.skipping.batches import Batch, candidates
from deltaskip.skipping.explain.plot import Bins, Matrix, write_picture
from deltaskip.skipping.explain.reasons import (
    LeafFacts,
    contributes,
    is_conclusion,
    reason_of,
    statistic_name,
    together,
    used,
    without_nan_guard,
)
from deltaskip.skipping.program import AllOf, AnyOf, Drop, Keep, Leaf, Program, Term, leaves_of
from deltaskip.stats.layout import StatLeaf

__all__ = ["Branch", "Explain", "LeafReport", "explain"]

_Bits = npt.NDArray[np.uint8]
"""Files of a batch, eight to a byte."""

_EXAMPLES = 3
_LEAF_SCHEMA = pa.schema(
    [
        ("predicate", pa.string()),
        ("used", pa.list_(pa.string())),
        ("dropped", pa.int64()),
        ("needed_for", pa.int64()),
        ("without_statistics", pa.int64()),
        ("lacking", pa.map_(pa.string(), pa.int64())),
        ("examples", pa.list_(pa.string())),
        ("reason", pa.string()),
    ]
)


@dataclass(frozen=True, slots=True)
class LeafReport:
    """One leaf of the predicate.

    used: the statistics and partition columns that were looked at. dropped: files that the leaf proves empty alone.
    needed_for: files that are dropped only thanks to it, conclusions drawn from it included. without_statistics: files
    that lack some statistic that it needs; lacking: how many lack each; examples: paths of a few of them. reason: why
    it could prove nothing, or no more, where something is in the way.
    """

    predicate: str
    used: tuple[str, ...]
    dropped: int
    needed_for: int
    without_statistics: int
    lacking: Mapping[str, int]
    examples: tuple[str, ...]
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """For json.dumps."""
        return {
            "predicate": self.predicate,
            "used": list(self.used),
            "dropped": self.dropped,
            "needed_for": self.needed_for,
            "without_statistics": self.without_statistics,
            "lacking": dict(self.lacking),
            "examples": list(self.examples),
            "reason": self.reason or None,
        }


@dataclass(frozen=True, slots=True)
class Branch:
    """AND or OR over leaves (their ordinals), constants and further branches."""

    combine: Literal["AND", "OR"]
    children: tuple[Tree, ...]


Tree = Branch | int | bool
"""How the leaves of a predicate are combined; a bool is a part that is the same for every file."""


@dataclass(frozen=True, slots=True)
class Explain:
    """What a scan's predicate could prove. Counts are files of the snapshot, bytes their sizes."""

    table_root: str
    version: int
    total_files: int
    kept_files: int
    total_bytes: int
    kept_bytes: int
    leaves: tuple[LeafReport, ...]
    tree: Tree
    matrix: Matrix = field(compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """For json.dumps; `tree` holds ordinals of `leaves`."""
        return {
            "table": self.table_root,
            "version": self.version,
            "total_files": self.total_files,
            "kept_files": self.kept_files,
            "total_bytes": self.total_bytes,
            "kept_bytes": self.kept_bytes,
            "leaves": [leaf.to_dict() for leaf in self.leaves],
            "tree": _tree_dict(self.tree),
        }

    def table(self) -> pa.Table:
        """One row a leaf, columns as in LeafReport."""
        return pa.Table.from_pylist(
            [{**leaf.to_dict(), "lacking": list(leaf.lacking.items())} for leaf in self.leaves], _LEAF_SCHEMA
        )

    def picture(self, path: str | os.PathLike[str]) -> None:
        """Writes files × leaves, kept or skipped, and a last column for the whole predicate, as `.png` or `.svg`.

        Raises ValueError for any other name, OSError where the file cannot be written.
        """
        legend = [
            (leaf.predicate, f"drops {leaf.dropped:,} alone, needed for {leaf.needed_for:,}") for leaf in self.leaves
        ]
        legend.append(("the whole predicate", f"keeps {self.kept_files:,} of {self.total_files:,}"))
        write_picture(Path(path), self.matrix, self.summary(), legend)

    def summary(self) -> str:
        """One line: table, version, and what was kept of it."""
        files = f"{self.kept_files} of {self.total_files} files kept"
        return f"{self.table_root} at version {self.version}: {files}, {self.kept_bytes} of {self.total_bytes} bytes"

    def lines(self) -> Iterator[tuple[int, str | int]]:
        """The predicate a line at a time: depth, and AND, OR or the ordinal of a leaf; leaves inside stand deeper."""
        yield from _lines(self.tree, 0)

    def __str__(self) -> str:
        lines = [self.summary()]
        for depth, part in self.lines():
            indent = "  " * (depth + 1)
            if isinstance(part, str):
                lines.append(indent + part)
            else:
                lines.append(indent + self.leaves[part].predicate)
                lines += [f"{indent}  {said}" for said in _said(self.leaves[part])]
        return "\n".join(lines)


def explain(snapshot: Snapshot, program: Program, lane_of: Callable[[Program, Batch], Lane]) -> Explain:
    """Evaluate each leaf of the program over every file of the snapshot, and their combination.

    No object is created for a file: a batch's result is one bit per file and leaf.
    """
    leaves: list[Leaf] = []
    tree = _tree(program.root, leaves)
    tally = _Tally(leaves, tree)
    for batch in candidates(snapshot, Program(Keep())):
        batch.prepare(program)
        tally.add(batch, lane_of)
    reports = tuple(
        LeafReport(
            predicate=leaf.text,
            used=used(leaf, snapshot),
            dropped=tally.dropped[i],
            needed_for=tally.needed[i],
            without_statistics=tally.without[i],
            lacking=tally.lacking[i],
            examples=tuple(tally.examples[i]),
            reason=reason_of(leaf, tally.facts(i), snapshot),
        )
        for i, leaf in enumerate(leaves)
    )
    return Explain(
        table_root=snapshot.table_root,
        version=snapshot.version,
        total_files=tally.files,
        kept_files=tally.kept,
        total_bytes=tally.bytes,
        kept_bytes=tally.kept_bytes,
        leaves=reports,
        tree=tree,
        matrix=tally.bins.matrix(),
    )


class _Tally:
    """Counts over the batches; one list element a leaf."""

    def __init__(self, leaves: list[Leaf], tree: Tree) -> None:
        self.files = self.kept = self.bytes = self.kept_bytes = 0
        self.dropped = [0] * len(leaves)
        self.needed = [0] * len(leaves)
        self.without = [0] * len(leaves)
        self.lacking: list[dict[str, int]] = [{} for _ in leaves]
        self.examples: list[list[str]] = [[] for _ in leaves]
        self.bins = Bins(len(leaves) + 1)
        self._nan_hidden = [0] * len(leaves)
        self._leaves = leaves
        self._unguarded = [without_nan_guard(leaf) for leaf in leaves]
        self._tree = tree
        self._conclusions = _conclusions(tree, leaves)

    def facts(self, i: int) -> LeafFacts:
        """What was found out about leaf `i`."""
        return LeafFacts(self.files, self.dropped[i], self.lacking[i], self._nan_hidden[i])

    def add(self, batch: Batch, lane_of: Callable[[Program, Batch], Lane]) -> None:
        """Count the files of `batch` that are part of the snapshot."""
        live = _live(batch)
        bins = self.bins.reserve(int(live.sum()))
        lanes = []
        for i, leaf in enumerate(self._leaves):
            keep = _keep(lane_of(Program(leaf), batch))[live]
            self.bins.count(i, bins[keep])
            self.dropped[i] += len(keep) - int(keep.sum())
            lanes.append(np.packbits(keep))
            unguarded = self._unguarded[i]
            if unguarded is not None:
                self._nan_hidden[i] += int((keep & ~_keep(lane_of(Program(unguarded), batch))[live]).sum())
        self._add_missing(batch, live)
        kept = _truth(self._tree, lanes, len(bins))
        self._add_needed(lanes, kept, len(bins))
        keep = np.unpackbits(kept, count=len(bins)).view(bool)
        self.bins.count(len(self._leaves), bins[keep])
        sizes = batch.raw(["size"])[0].to_numpy(zero_copy_only=False)[live]
        self.files += len(sizes)
        self.kept += int(keep.sum())
        self.bytes += int(sizes.sum())
        self.kept_bytes += int(sizes[keep].sum())

    def _add_needed(self, lanes: list[_Bits], kept: _Bits, files: int) -> None:
        needed = [0] * len(lanes)
        _count_needed(self._tree, lanes, ~kept, files, needed)
        for i, conclusions in self._conclusions.items():
            # Without the leaf nothing would be concluded from it either.
            without = list(lanes)
            for j in (i, *conclusions):
                without[j] = np.full_like(kept, 255)
            needed[i] = _count(_truth(self._tree, without, files) & ~kept, files)
        self.needed = [total + more for total, more in zip(self.needed, needed, strict=True)]

    def _add_missing(self, batch: Batch, live: npt.NDArray[np.bool_]) -> None:
        missing: dict[StatLeaf, npt.NDArray[np.bool_] | None] = {}
        for i, leaf in enumerate(self._leaves):
            somewhere: npt.NDArray[np.bool_] | None = None
            for stat in Program(leaf).stat_leaves:
                if stat not in missing:
                    missing[stat] = _missing(stat, batch, live)
                rows = missing[stat]
                count = 0 if rows is None else int(rows.sum())
                name = statistic_name(stat)
                if rows is not None and count:
                    self.lacking[i][name] = self.lacking[i].get(name, 0) + count
                    somewhere = rows if somewhere is None else somewhere | rows
            if somewhere is not None:
                self.without[i] += int(somewhere.sum())
                self._add_examples(self.examples[i], batch, somewhere)

    def _add_examples(self, examples: list[str], batch: Batch, rows: npt.NDArray[np.bool_]) -> None:
        wanted = _EXAMPLES - len(examples)
        if wanted > 0:
            [paths] = batch.raw(["path"])
            examples += decode_paths(paths.take(pa.array(np.flatnonzero(rows)[:wanted]))).to_pylist()


def _tree(term: Term, leaves: list[Leaf]) -> Tree:
    """The shape above the leaves, which are appended to `leaves` from left to right.

    A condition that holds no leaf of the user's predicate was concluded from several of them, and becomes a leaf.
    """
    match term:
        case Leaf():
            leaves.append(term)
            return len(leaves) - 1
        case Keep():
            return True
        case Drop():
            return False
        case _ if not leaves_of(term):
            leaves.append(together(term))
            return len(leaves) - 1
        case AllOf(children):
            return Branch("AND", tuple(_tree(child, leaves) for child in children))
        case AnyOf(children):
            return Branch("OR", tuple(_tree(child, leaves) for child in children))
        case _:
            return True


def _conclusions(tree: Tree, leaves: list[Leaf]) -> dict[int, list[int]]:
    """For each leaf, what was concluded from it and leaves beside it, where something was."""
    if not isinstance(tree, Branch):
        return {}
    found: dict[int, list[int]] = {}
    for child in tree.children:
        found.update(_conclusions(child, leaves))
    beside = [child for child in tree.children if isinstance(child, int) and not isinstance(child, bool)]
    concluded = [i for i in beside if is_conclusion(leaves[i])]
    for i in beside:
        mine = [j for j in concluded if j != i and contributes(leaves[i], leaves[j])]
        if mine and i not in concluded:
            found[i] = mine
    return found


def _truth(tree: Tree, lanes: list[_Bits], files: int) -> _Bits:
    """Files that the part keeps."""
    match tree:
        case bool():
            return np.full(-(-files // 8), 255 if tree else 0, np.uint8)
        case int():
            return lanes[tree]
        case Branch(combine, children):
            combined = _truth(children[0], lanes, files)
            for child in children[1:]:
                other = _truth(child, lanes, files)
                combined = combined & other if combine == "AND" else combined | other
            return combined


def _count_needed(tree: Tree, lanes: list[_Bits], critical: _Bits, files: int, needed: list[int]) -> None:
    """Add to each leaf the files that it alone stands in the way of.

    critical: files that would be kept if this part kept them. Such a file fails here. Under AND it hangs on a child
    only if no other child fails, under OR on every child, as each of them fails and one that kept it would do.
    """
    match tree:
        case bool():
            pass
        case int():
            needed[tree] += _count(critical & ~lanes[tree], files)
        case Branch("OR", children):
            for child in children:
                _count_needed(child, lanes, critical, files, needed)
        case Branch(_, children):
            failing = [~_truth(child, lanes, files) for child in children]
            once, twice = np.zeros_like(critical), np.zeros_like(critical)
            for fails in failing:
                twice |= once & fails
                once |= fails
            for child, fails in zip(children, failing, strict=True):
                _count_needed(child, lanes, critical & fails & ~twice, files, needed)


def _count(bits: _Bits, files: int) -> int:
    return int(np.unpackbits(bits, count=files).sum())


def _live(batch: Batch) -> npt.NDArray[np.bool_]:
    rows = batch.live(None)
    live = np.full(batch.num_rows, rows is None)
    if rows is not None:
        live[rows.to_numpy()] = True
    return live


def _keep(lane: Lane) -> npt.NDArray[np.bool_]:
    keep: npt.NDArray[np.bool_] = np.frombuffer(memoryview(lane), dtype=np.uint8) != 0
    return keep


def _missing(stat: StatLeaf, batch: Batch, live: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_] | None:
    """Live files without the statistic; None for no file. Files of NULLs only have no bounds to lack."""
    statistics = batch.statistics
    if stat.field is None:
        values = statistics.num_records()
    elif stat.side is None:
        values = statistics.null_count(stat.field)
    else:
        values = statistics.leaf(stat)
    if not values.null_count:
        return None
    missing = values.is_null()
    if stat.field is not None and stat.side is not None:
        all_null = pc.equal(statistics.null_count(stat.field), statistics.num_records())
        missing = pc.and_not(missing, pc.fill_null(all_null, False))
    rows: npt.NDArray[np.bool_] = missing.to_numpy(zero_copy_only=False) & live
    return rows


def _tree_dict(tree: Tree) -> Any:
    if isinstance(tree, Branch):
        return {tree.combine.lower(): [_tree_dict(child) for child in tree.children]}
    return tree if isinstance(tree, bool) else {"leaf": tree}


def _lines(tree: Tree, depth: int) -> Iterator[tuple[int, str | int]]:
    match tree:
        case bool():
            yield depth, str(tree).upper()
        case int():
            yield depth, tree
        case Branch(combine, children):
            yield depth, combine
            for child in children:
                yield from _lines(child, depth + 1)


def _said(leaf: LeafReport) -> Iterator[str]:
    if leaf.used:
        outcome = f"drops {leaf.dropped} files alone, needed for {leaf.needed_for}"
        yield f"looked at {', '.join(leaf.used)}; {outcome}"
    elif leaf.dropped:
        yield f"drops every file: {leaf.reason}"
        return
    if leaf.without_statistics:
        by_name = ", ".join(f"{name} in {files}" for name, files in leaf.lacking.items())
        shown = ", ".join(leaf.examples) + (", …" if leaf.without_statistics > len(leaf.examples) else "")
        yield f"{leaf.without_statistics} files lack a statistic that it needs ({by_name}), such as {shown}"
    if leaf.reason:
        yield f"proves {'no more' if leaf.dropped else 'nothing'}: {leaf.reason}"
