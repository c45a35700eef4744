"""Why a leaf of a predicate skips no file, or no more: its own reason, and the facts that evaluation has shown."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import islice

import pyarrow as pa
import pyarrow.compute as pc

from deltaskip.json_text import parse_json
from deltaskip.kernels.stats_json import INVALID, JSON_NULL, MISSING, extract_leaves
from deltaskip.log import Snapshot
from deltaskip.records import dataclass
from deltaskip.recursion import deep
from deltaskip.schema.properties import TableProperties
from deltaskip.skipping import program as p
from deltaskip.skipping.add_batches import FileBatch, candidates
from deltaskip.skipping.proofs.terms import enumerated, joined_reasons
from deltaskip.skipping.proofs.transforms import derived_columns
from deltaskip.skipping.proofs.unproved import still_skipped
from deltaskip.sparkexpr.collations import CollationId
from deltaskip.sparkexpr.values.arrow_values import arrow_array
from deltaskip.stats.layout import StatField, StatLeaf

_TOGETHER = "all parts"
_GROUP = "statsWithCollation"
_MOST_TEXTS = 1000
"""Number of JSON strings of a batch that are searched for collations."""


@dataclass(frozen=True, slots=True)
class LeafFacts:
    """The findings of evaluation about a leaf; all counts are active files.

    lacking: Files that lack each statistic. nan_hidden: Files kept only because their writer may omit NaN.
    """

    files: int
    dropped: int
    lacking: Mapping[str, int]
    nan_hidden: int


def statistic_name(leaf: StatLeaf) -> str:
    """Return the name of a statistic for display, such as min(name) or numRecords."""
    if leaf.field is None:
        return leaf.group
    under = f" under {leaf.collation[0]}" if leaf.collation else ""
    return f"{leaf.side or leaf.group}({leaf.field.label}){under}"


def used(leaf: p.Leaf, generated: Collection[str]) -> tuple[str, ...]:
    """Return the names of the statistics and partition columns that the leaf reads; see `generated_columns`."""
    names = dict.fromkeys(statistic_name(stat) for stat in p.Program(leaf).stat_leaves)
    for term in p.terms_of(leaf.term):
        match term:
            case p.PartitionTerm(_, columns):
                for column in columns:
                    name = ".".join(column.logical)
                    # A leaf on the partition column itself has no other term.
                    derived = name in generated and (term is not leaf.term or is_conclusion(leaf))
                    names[f"{'generated column' if derived else 'partition'} {name}"] = None
            case p.ConstantTerm():
                names["single values"] = None
    return tuple(names)


def generated_columns(snapshot: Snapshot) -> frozenset[str]:
    """Return the names of the partition columns that are computed from other columns."""
    derived = derived_columns(snapshot.schema, snapshot.mapping_mode, snapshot.partition_columns, snapshot.properties)
    return frozenset(".".join(one.column.logical) for one in derived)


def together(term: p.Term) -> p.Leaf:
    """Return a leaf for a condition that follows from several leaves of the predicate together."""
    program = p.Program(term)
    labels = [stat.field.label for stat in program.stat_leaves if stat.field is not None]
    labels += [".".join(column.logical) for column in program.partition_columns]
    on = f" on {enumerated(list(dict.fromkeys(labels)), 'and')}" if labels else ""
    return p.Leaf(f"{_TOGETHER}{on} together", term)


def is_conclusion(leaf: p.Leaf) -> bool:
    """Return whether the leaf was returned by `together`."""
    return leaf.text.startswith(_TOGETHER)


@dataclass(frozen=True, slots=True)
class Conclusions:
    """Conditions that follow from sibling leaves, by statistic; those on partition columns are in `anywhere`."""

    by_field: Mapping[StatField, tuple[int, ...]]
    anywhere: tuple[int, ...]

    def of(self, leaf: p.Leaf) -> tuple[int, ...]:
        """Return the conclusions that may follow from `leaf`, a sibling: they share a column.

        A conclusion about a partition column may follow from any of the leaves, through the column's source.
        """
        found = set(self.anywhere)
        for stat in p.Program(leaf).stat_leaves:
            if stat.field is not None:
                found.update(self.by_field.get(stat.field, ()))
        return tuple(sorted(found))


def conclusions_by_field(conclusions: Mapping[int, p.Leaf]) -> Conclusions:
    """Return the leaves from `together`, by their positions in the tree, for look-ups by column."""
    by_field: dict[StatField, tuple[int, ...]] = {}
    for i, leaf in conclusions.items():
        for column in {stat.field for stat in p.Program(leaf).stat_leaves if stat.field is not None}:
            by_field[column] = (*by_field.get(column, ()), i)
    return Conclusions(by_field, tuple(i for i, leaf in conclusions.items() if p.Program(leaf).partition_columns))


def without_nan_guard(term: p.Term) -> p.Term | None:
    """Return `term` as if every writer included NaN in the bounds; None if that makes no difference."""
    if not any(isinstance(t, p.BoundTerm | p.AnyPoint | p.NotOnly) and t.nan_matches for t in p.terms_of(term)):
        return None
    return _unguarded(term)


def reason_of_leaf(leaf: p.Leaf, facts: LeafFacts, snapshot: Snapshot) -> str:
    """Return why the leaf skips no files, or not more; "" if nothing prevents it.

    The reason that the leaf's rule set comes first, then what evaluation has shown.

    Args:
        leaf: The leaf.
        facts: The facts that evaluation has shown about it.
        snapshot: The snapshot that it was evaluated on.
    """
    if isinstance(leaf.term, p.Drop):
        return leaf.reason
    found = [
        leaf.reason,
        *_absent(leaf, facts, snapshot),
        *_of_other_versions(leaf, facts, snapshot),
        _nan_hidden(facts),
    ]
    reason = joined_reasons(found)
    if reason or not facts.files or facts.dropped or is_conclusion(leaf):
        return reason
    return _overlap(p.Program(leaf), facts)


def can_skip(leaf: p.Leaf, facts: LeafFacts) -> bool:
    """Return whether the leaf can skip files: a rule compares it with bounds or partition values that some file has.

    Null counts and single values do not count, because they skip only files of NULL or of one value; but IS NULL, IS
    NOT NULL and comparisons without a reason need no more.
    """
    if isinstance(leaf.term, p.Drop) or facts.dropped or not facts.files:
        return True
    if isinstance(leaf.term, p.Keep) or (leaf.reason and still_skipped(leaf.term)):
        return False
    if facts.nan_hidden == facts.files:
        return False
    stats = p.Program(leaf).stat_leaves
    missing = [stat for stat in stats if facts.lacking.get(statistic_name(stat)) == facts.files]
    bounds = [stat for stat in stats if stat.side]
    if any(isinstance(term, p.PartitionTerm) for term in p.terms_of(leaf.term)):
        return True
    needed = bounds or list(stats)
    return not needed or not all(stat in missing for stat in needed)


def _absent(leaf: p.Leaf, facts: LeafFacts, snapshot: Snapshot) -> list[str]:
    """Statistics that no file has, or that are not usable in any file."""
    stats = {statistic_name(stat): stat for stat in p.Program(leaf).stat_leaves}
    names = [name for name, files in facts.lacking.items() if facts.files and files == facts.files]
    unusable = [name for name in names if is_logged(snapshot, stats[name])]
    absent = [name for name in names if name not in unusable]
    found = [f"no file has {enumerated(absent, 'or')} in the log"] if absent else []
    if unusable:
        found.append(f"the log's values of {enumerated(unusable, 'and')} cannot be used as bounds")
    return found


def _of_other_versions(leaf: p.Leaf, facts: LeafFacts, snapshot: Snapshot) -> list[str]:
    """Statistics of another version of a collation that the leaf needs."""
    needed = {stat.collation[0]: statistic_name(stat) for stat in p.Program(leaf).stat_leaves if stat.collation}
    found = []
    for collation, statistic in needed.items():
        if not facts.lacking.get(statistic):
            continue
        others = [key for key in logged_collations(snapshot) if _same_but_version(key, collation)]
        if others:
            found.append(
                f"statistics of {enumerated(others, 'and')} cannot be used, because strings are compared under "
                f"{collation} here: recompute them for this version"
            )
    return found


def _same_but_version(key: str, collation: str) -> bool:
    one, other = CollationId.parsed(key), CollationId.parsed(collation)
    if one is None or other is None:
        return False
    return one.version != other.version and one.without_version.canonical == other.without_version.canonical


def _nan_hidden(facts: LeafFacts) -> str:
    if not facts.nan_hidden:
        return ""
    files = "1 file is" if facts.nan_hidden == 1 else f"{facts.nan_hidden:,} files are"
    writer = "its" if facts.nan_hidden == 1 else "their"
    return (
        f"{files} kept only because {writer} writer may omit NaN from min and max: recompute {writer} statistics, or "
        f"set {TableProperties.float_bounds.name} = exact if every writer of the table records NaN"
    )


def _overlap(program: p.Program, facts: LeafFacts) -> str:
    """Return the reason why no file is skipped although files have statistics."""
    stats = program.stat_leaves
    if not stats:
        return "the partition values of every file could match" if program.partition_columns else ""
    ranges = any(stat.side for stat in stats)
    nulls = any(isinstance(term, p.NullsPossible) for term in p.terms_of(program.root))
    if any(facts.lacking.values()):
        every = "every min/max range in the log could contain" if ranges else "every null count in the log allows"
        return f"{every} a match"
    if not ranges:
        return "every file's null count allows a match"
    return f"every file's min/max range {'or null count allows' if nulls else 'could contain'} a match"


@deep
def _unguarded(term: p.Term) -> p.Term:
    match term:
        case p.AllOf(children):
            return p.AllOf(tuple(map(_unguarded, children)))
        case p.AnyOf(children):
            return p.AnyOf(tuple(map(_unguarded, children)))
        case p.Leaf(text, inner):
            return p.Leaf(text, _unguarded(inner), term.reason)
        case p.BoundTerm() | p.AnyPoint() | p.NotOnly():
            return replace(term, nan_matches=False)
        case _:
            return term


def logged_collations(snapshot: Snapshot) -> tuple[str, ...]:
    """Return the collation identifiers under `statsWithCollation`, as written and sorted.

    In JSON, only the first strings of each batch are searched.
    """
    found = {
        path[3]
        for part in snapshot.checkpoint_parts
        for path in part.leaves
        if path[:3] == ("add", "stats_parsed", _GROUP) and len(path) > 4
    }
    for batch in candidates(snapshot, p.Program(p.Keep())):
        pieces = (texts.filter(pc.match_substring(texts, f'"{_GROUP}"')) for texts in batch.adds.json())
        for text in islice((text for piece in pieces for text in piece.to_pylist()), _MOST_TEXTS):
            found |= _keys(text)
    return tuple(sorted(found))


def is_logged(snapshot: Snapshot, leaf: StatLeaf) -> bool:
    """Return whether the log has a value of the statistic for some active file, usable as a bound or not."""
    paths = [spelling.path for spelling in leaf.spellings]
    return any(_has_some(batch, paths) for batch in candidates(snapshot, p.Program(p.Keep())))


def _has_some(batch: FileBatch, paths: list[tuple[str, ...]]) -> bool:
    rows = batch.live(None)
    columns = [column.is_valid() for column in batch.adds.struct_leaves(paths) if column is not None]
    absent = arrow_array([MISSING, JSON_NULL, INVALID], pa.uint8())
    kinds = [[found.kind for found in extract_leaves(texts, paths)] for texts in batch.adds.json()]
    for of_path in zip(*kinds, strict=True):
        columns.append(pc.invert(pc.is_in(pa.concat_arrays(of_path), value_set=absent)))
    return any(pc.any(column if rows is None else column.take(rows)).as_py() for column in columns)


def _keys(text: str) -> set[str]:
    try:
        statistics = parse_json(text)
    except ValueError:
        return set()
    collated = statistics.get(_GROUP) if isinstance(statistics, dict) else None
    return set(collated) if isinstance(collated, dict) else set()
