"""Evaluation of a predicate for explain: which files each leaf skips, alone and combined with the others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.actions import decode_paths
from deltaskip.recursion import deep
from deltaskip.skipping.add_batches import FileBatch, candidates
from deltaskip.skipping.explain import reasons
from deltaskip.skipping.explain.drawing import Bins
from deltaskip.skipping.explain.report import Branch, Explain, LeafReport, Tree
from deltaskip.skipping.file_predicates import CompiledPredicate
from deltaskip.skipping.program import AllOf, AnyOf, Drop, Keep, Leaf, Program, Term, terms_of
from deltaskip.sparkexpr.kernels import Lane
from deltaskip.sparkexpr.values.arrow_values import filled, is_true, numpy_values
from deltaskip.stats.layout import StatLeaf

_Bits = npt.NDArray[np.uint8]
"""A bit for each file of a batch."""

_EXAMPLES = 3


def explain(predicate: CompiledPredicate) -> Explain:
    """Evaluate each leaf of the program of a predicate over every file of the snapshot, and their combination.

    No object is created for a file: a batch's result is one bit per file and leaf.
    """
    snapshot, program = predicate.snapshot, predicate.program
    leaves: list[Leaf] = []
    tree = _tree(program.root, leaves, _above_leaves(program.root))
    tally = _Tally(leaves, tree)
    generated = reasons.generated_columns(snapshot)
    for batch in candidates(snapshot, Program(Keep())):
        batch.prepare(program)
        tally.add(batch, predicate)
    reports = tuple(
        LeafReport(
            predicate=leaf.text,
            used=reasons.used(leaf, generated),
            dropped=tally.dropped[i],
            needed_for=tally.needed[i],
            without_statistics=tally.without[i],
            lacking=tally.lacking[i],
            examples=tuple(tally.examples[i]),
            reason=reasons.reason_of_leaf(leaf, tally.facts(i), snapshot),
            can_skip=reasons.can_skip(leaf, tally.facts(i)),
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
        index=_said(predicate, tally.indexed),
    )


def _said(predicate: CompiledPredicate, saved: int) -> str:
    """What the key index saves, as a sentence; "" if no part of it was asked."""
    names = [] if predicate.keys is None else predicate.keys.names
    files = "1 file" if saved == 1 else f"{saved:,} files"
    return f"The key index of {', '.join(names)} saves {files}." if names else ""


class _Tally:
    """Counts over all batches; lists have one element per leaf."""

    def __init__(self, leaves: list[Leaf], tree: Tree) -> None:
        self.files = self.kept = self.bytes = self.kept_bytes = self.indexed = 0
        self.dropped = [0] * len(leaves)
        self.needed = [0] * len(leaves)
        self.without = [0] * len(leaves)
        self.lacking: list[dict[str, int]] = [{} for _ in leaves]
        self.examples: list[list[str]] = [[] for _ in leaves]
        self.bins = Bins(len(leaves) + 1)
        self._nan_hidden = [0] * len(leaves)
        self._leaves = leaves
        self._unguarded = [reasons.without_nan_guard(leaf) for leaf in leaves]
        self._tree = tree
        self._conclusions = _conclusions(tree, leaves)

    def facts(self, i: int) -> reasons.LeafFacts:
        """Return what evaluation has shown about leaf `i`."""
        return reasons.LeafFacts(self.files, self.dropped[i], self.lacking[i], self._nan_hidden[i])

    def add(self, batch: FileBatch, predicate: CompiledPredicate) -> None:
        """Count the active files of `batch`."""
        live = _live(batch)
        bins = self.bins.reserve(int(live.sum()))
        lanes = []
        for i, leaf in enumerate(self._leaves):
            keep = _keep(predicate.evaluated(Program(leaf), batch))[live]
            self.bins.count(i, bins[keep])
            self.dropped[i] += len(keep) - int(keep.sum())
            lanes.append(np.packbits(keep))
            unguarded = self._unguarded[i]
            if unguarded is not None:
                self._nan_hidden[i] += int((keep & ~_keep(predicate.evaluated(Program(unguarded), batch))[live]).sum())
        self._add_missing(batch, live)
        truth = _Truth(lanes, len(bins))
        kept = truth.of(self._tree)
        self._add_needed(truth, kept)
        keep = np.unpackbits(kept, count=len(bins)).view(bool)
        if predicate.keys is not None:
            found = keep & _keep(predicate.kept(batch))[live]
            self.indexed += int(keep.sum()) - int(found.sum())
            keep = found
        self.bins.count(len(self._leaves), bins[keep])
        sizes = numpy_values(filled(batch.raw(["size"])[0], 0))[live]
        self.files += len(sizes)
        self.kept += int(keep.sum())
        self.bytes += int(sizes.sum())
        self.kept_bytes += int(sizes[keep].sum())

    def _add_needed(self, truth: _Truth, kept: _Bits) -> None:
        needed = [0] * len(truth.lanes)
        _count_needed(self._tree, truth, ~kept, needed, self._conclusions)
        self.needed = [total + more for total, more in zip(self.needed, needed, strict=True)]

    def _add_missing(self, batch: FileBatch, live: npt.NDArray[np.bool_]) -> None:
        missing: dict[StatLeaf, npt.NDArray[np.bool_] | None] = {}
        for i, leaf in enumerate(self._leaves):
            somewhere: npt.NDArray[np.bool_] | None = None
            for stat in Program(leaf).stat_leaves:
                if stat not in missing:
                    missing[stat] = _missing(stat, batch, live)
                rows = missing[stat]
                count = 0 if rows is None else int(rows.sum())
                name = reasons.statistic_name(stat)
                if rows is not None and count:
                    self.lacking[i][name] = self.lacking[i].get(name, 0) + count
                    somewhere = rows if somewhere is None else somewhere | rows
            if somewhere is not None:
                self.without[i] += int(somewhere.sum())
                self._add_examples(self.examples[i], batch, somewhere)

    def _add_examples(self, examples: list[str], batch: FileBatch, rows: npt.NDArray[np.bool_]) -> None:
        wanted = _EXAMPLES - len(examples)
        if wanted > 0:
            [paths] = batch.raw(["path"])
            examples += decode_paths(paths.take(pa.array(np.flatnonzero(rows)[:wanted]))).to_pylist()


def _above_leaves(root: Term) -> set[int]:
    """The identities of the terms that contain leaves."""
    found: set[int] = set()
    for term in reversed(list(terms_of(root))):
        inner = term.children if isinstance(term, AllOf | AnyOf) else ()
        if isinstance(term, Leaf) or any(id(each) in found for each in inner):
            found.add(id(term))
    return found


@deep
def _tree(term: Term, leaves: list[Leaf], above: set[int]) -> Tree:
    """The tree above the leaves, which are appended to `leaves` from left to right.

    A condition that follows from several leaves of the user's predicate becomes a separate leaf.
    """
    match term:
        case Leaf():
            leaves.append(term)
            return len(leaves) - 1
        case Keep():
            return True
        case Drop():
            return False
        case _ if id(term) not in above:
            leaves.append(reasons.together(term))
            return len(leaves) - 1
        case AllOf(children):
            return Branch("AND", tuple(_tree(child, leaves, above) for child in children))
        case AnyOf(children):
            return Branch("OR", tuple(_tree(child, leaves, above) for child in children))
        case _:
            return True


def _conclusions(tree: Tree, leaves: list[Leaf]) -> dict[int, tuple[int, ...]]:
    """For each leaf, the conditions that follow from it and its siblings, if there are any."""
    found: dict[int, tuple[int, ...]] = {}
    pending = [tree]
    while pending:
        branch = pending.pop()
        if isinstance(branch, Branch):
            found.update(_conclusions_of(branch, leaves))
            pending += branch.children
    return found


def _conclusions_of(tree: Branch, leaves: list[Leaf]) -> dict[int, tuple[int, ...]]:
    found: dict[int, tuple[int, ...]] = {}
    beside = [child for child in tree.children if isinstance(child, int) and not isinstance(child, bool)]
    concluded = {i for i in beside if reasons.is_conclusion(leaves[i])}
    following = reasons.conclusions_by_field({i: leaves[i] for i in concluded})
    for i in beside:
        mine = following.of(leaves[i]) if i not in concluded else ()
        if mine:
            found[i] = mine
    return found


class _Truth:
    """The files that the parts of a tree keep. lanes: The files that each leaf keeps."""

    def __init__(self, lanes: list[_Bits], files: int) -> None:
        self.lanes = lanes
        self.files = files
        self._known: dict[int, _Bits] = {}

    def of(self, tree: Tree) -> _Bits:
        """The files that a part keeps."""
        match tree:
            case bool():
                return np.full(-(-self.files // 8), 255 if tree else 0, np.uint8)
            case int():
                return self.lanes[tree]
            case Branch():
                if id(tree) not in self._known:
                    self._known[id(tree)] = _combined(tree, self)
                return self._known[id(tree)]


@deep
def _combined(tree: Branch, truth: _Truth) -> _Bits:
    combined = truth.of(tree.children[0])
    for child in tree.children[1:]:
        other = truth.of(child)
        combined = combined & other if tree.combine == "AND" else combined | other
    return combined


@deep
def _count_needed(
    tree: Tree, truth: _Truth, critical: _Bits, needed: list[int], conclusions: Mapping[int, tuple[int, ...]]
) -> None:
    """Add to each leaf the number of files that would be kept without it, and without the conditions that it implies.

    critical: Files that would be kept if this part kept them; this part skips all of them. Under AND, a child is needed
    for a file if no other child skips it. Under OR, every child is needed: all skip the file, and one that kept it
    would suffice.
    """
    match tree:
        case bool():
            pass
        case int():
            needed[tree] += int(np.unpackbits(critical & ~truth.lanes[tree], count=truth.files).sum())
        case Branch("OR", children):
            for child in children:
                _count_needed(child, truth, critical, needed, conclusions)
        case Branch(_, children):
            failing = [~truth.of(child) for child in children]
            once, twice = np.zeros_like(critical), np.zeros_like(critical)
            for fails in failing:
                twice |= once & fails
                once |= fails
            for child, fails in zip(children, failing, strict=True):
                _count_needed(child, truth, critical & fails & ~twice, needed, conclusions)
            _count_implied(children, failing, critical, truth.files, needed, conclusions)


def _count_implied(
    children: tuple[Tree, ...],
    failing: list[_Bits],
    critical: _Bits,
    files: int,
    needed: list[int],
    conclusions: Mapping[int, tuple[int, ...]],
) -> None:
    """Set the counts of the leaves of an AND that imply other conditions, which would be lost with the leaf."""
    fails_of = {child: fails for child, fails in zip(children, failing, strict=True) if type(child) is int}
    groups: dict[tuple[int, ...], list[int]] = {}
    for i in fails_of:
        if i in conclusions:
            groups.setdefault(conclusions[i], []).append(i)
    if not groups:
        return
    total = np.zeros(files, np.int32)
    for fails in failing:
        total += np.unpackbits(fails, count=files)
    decisive = np.unpackbits(critical, count=files)
    for implied, members in groups.items():
        others = total.copy()
        for j in implied:
            others -= np.unpackbits(fails_of[j], count=files)
        for i in members:
            needed[i] = int(((others == np.unpackbits(fails_of[i], count=files)) & decisive).sum())


def _live(batch: FileBatch) -> npt.NDArray[np.bool_]:
    rows = batch.live(None)
    live = np.full(batch.num_rows, rows is None)
    if rows is not None:
        live[rows.to_numpy()] = True
    return live


def _keep(lane: Lane) -> npt.NDArray[np.bool_]:
    keep: npt.NDArray[np.bool_] = np.frombuffer(memoryview(lane), dtype=np.uint8) != 0
    return keep


def _missing(stat: StatLeaf, batch: FileBatch, live: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_] | None:
    """Active files without the statistic; None for no file. A file with only NULL does not need bounds."""
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
        missing = pc.and_not(missing, is_true(all_null))
    rows: npt.NDArray[np.bool_] = missing.to_numpy(zero_copy_only=False) & live
    return rows
