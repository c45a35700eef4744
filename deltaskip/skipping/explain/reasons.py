"""What can be said of a leaf of a predicate from its terms, the schema and the predicate itself: for explain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from deltaskip.collations.identifier import CollationId
from deltaskip.errors import InvalidCollation
from deltaskip.expr.evaluate import deterministic
from deltaskip.expr.nodes import And, Compare, FieldRef, Node, Opaque, Or, walk
from deltaskip.expr.render import to_sql
from deltaskip.log import Snapshot
from deltaskip.schema import Resolved, collation_of, leaves, simple_string
from deltaskip.schema.json import CHAR_VARCHAR_KEY
from deltaskip.skipping.logged_collations import logged_collations
from deltaskip.skipping.program import (
    AllOf,
    AnyOf,
    AnyPoint,
    Bound,
    ConstantTerm,
    Drop,
    Keep,
    Leaf,
    NotOnly,
    PartitionTerm,
    Program,
    Term,
    terms_of,
)
from deltaskip.skipping.proofs.generated import derived_columns
from deltaskip.stats.layout import StatLeaf

__all__ = [
    "LeafFacts",
    "contributes",
    "is_conclusion",
    "leaf_facts",
    "predicate_leaves",
    "statistic_name",
    "together",
    "used",
    "without_nan_guard",
]

_TOGETHER = "all parts"


@dataclass(frozen=True, slots=True)
class LeafFacts:
    """What evaluation found out about a leaf: files are those of the snapshot.

    lacking: files that lack each statistic; nan_hidden: files kept only because their writer may hide a NaN.
    """

    files: int
    dropped: int
    lacking: Mapping[str, int]
    nan_hidden: int


def statistic_name(leaf: StatLeaf) -> str:
    """A statistic as people write it, such as min(name) or numRecords."""
    if leaf.field is None:
        return leaf.group
    under = f" under {leaf.collation[0]}" if leaf.collation else ""
    return f"{leaf.side or leaf.group}({leaf.field.label}){under}"


def used(leaf: Leaf, snapshot: Snapshot) -> tuple[str, ...]:
    """Names of the statistics and partition columns that the leaf's terms look at."""
    names = dict.fromkeys(statistic_name(stat) for stat in Program(leaf).stat_leaves)
    generated = _generated_columns(snapshot)
    for term in terms_of(leaf.term):
        match term:
            case PartitionTerm(_, columns):
                for column in columns:
                    name = ".".join(column.logical)
                    # A leaf that names the partition column itself is nothing but its term.
                    derived = name in generated and (term is not leaf.term or is_conclusion(leaf))
                    names[f"{'generated column' if derived else 'partition'} {name}"] = None
            case ConstantTerm():
                names["constant file"] = None
    return tuple(names)


def together(term: Term) -> Leaf:
    """A leaf for a condition that no single leaf of the predicate states, but several do together."""
    program = Program(term)
    labels = [stat.field.label for stat in program.stat_leaves if stat.field is not None]
    labels += [".".join(column.logical) for column in program.partition_columns]
    on = f" on {_enumerated(list(dict.fromkeys(labels)), 'and')}" if labels else ""
    return Leaf(f"{_TOGETHER}{on} together", term)


def is_conclusion(leaf: Leaf) -> bool:
    """Whether the leaf was made by `together`."""
    return leaf.text.startswith(_TOGETHER)


def contributes(leaf: Leaf, conclusion: Leaf) -> bool:
    """Whether `conclusion`, made by `together` of leaves beside `leaf`, may rest on it: they share a column.

    What was concluded for a partition column, from whatever the leaves say of its source, may rest on each of them.
    """
    mine, its = Program(leaf), Program(conclusion)
    fields = {stat.field for stat in mine.stat_leaves} - {None}
    return bool(its.partition_columns) or any(stat.field in fields for stat in its.stat_leaves)


def predicate_leaves(predicate: Node | None) -> dict[str, Node]:
    """The leaves of a normalised predicate by their text."""
    found: dict[str, Node] = {}
    pending = [] if predicate is None else [predicate]
    while pending:
        node = pending.pop()
        found[to_sql(node)] = node
        if isinstance(node, And | Or):
            pending.extend(node.children)
    return found


def without_nan_guard(term: Term) -> Term | None:
    """`term` as if every writer recorded NaN; None where that makes no difference."""
    if not any(isinstance(t, Bound | AnyPoint | NotOnly) and t.nan_matches for t in terms_of(term)):
        return None
    return _unguarded(term)


def leaf_facts(leaf: Leaf, node: Node | None, facts: LeafFacts, snapshot: Snapshot) -> str:
    """Why the leaf could prove nothing, or not more than it did, in a sentence; "" where there is nothing to say."""
    if isinstance(leaf.term, Drop):
        return leaf.term.reason
    said = [] if _is_bounded(leaf) else _unbounded(leaf, node, snapshot)
    absent = [name for name, files in facts.lacking.items() if facts.files and files == facts.files]
    if absent:
        said.append(f"no file has {_enumerated(absent, 'or')} in the log")
    said += _of_other_versions(leaf, facts, snapshot)
    if facts.nan_hidden:
        files = "1 file is" if facts.nan_hidden == 1 else f"{facts.nan_hidden:,} files are"
        said.append(f"{files} kept only because a writer that the log does not name may have left out a NaN")
    if not said and facts.files and not facts.dropped:
        said.append(_overlap(Program(leaf), facts))
    return "; ".join(dict.fromkeys(said))


def _of_other_versions(leaf: Leaf, facts: LeafFacts, snapshot: Snapshot) -> list[str]:
    """Which statistics of the same collation are there that this comparison must not use."""
    needed = {stat.collation[0]: statistic_name(stat) for stat in Program(leaf).stat_leaves if stat.collation}
    said = []
    for collation, statistic in needed.items():
        if not facts.lacking.get(statistic):
            continue
        others = [key for key in logged_collations(snapshot) if _same_but_version(key, collation)]
        if others:
            said.append(
                f"{_enumerated(others, 'and')}: statistics of another version than {collation}, by which strings are "
                "compared here, prove nothing; recompute them for this version"
            )
    return said


def _same_but_version(key: str, collation: str) -> bool:
    try:
        one, other = CollationId.parse(key), CollationId.parse(collation)
    except InvalidCollation:
        return False
    return one.version != other.version and one.without_version.canonical == other.without_version.canonical


def _is_bounded(leaf: Leaf) -> bool:
    """Whether partition values, bounds of files with more than one value, or the counts of a NULL test decide."""
    if leaf.text.endswith((" IS NULL", " IS NOT NULL")) or " <=> NULL" in leaf.text:
        return not isinstance(leaf.term, Keep)
    terms = [term for term in terms_of(leaf.term) if not isinstance(term, Leaf | AllOf | AnyOf | ConstantTerm)]
    return any(isinstance(term, PartitionTerm) or any(s.side for s in Program(term).stat_leaves) for term in terms)


def _unguarded(term: Term) -> Term:
    match term:
        case AllOf(children):
            return AllOf(tuple(map(_unguarded, children)))
        case AnyOf(children):
            return AnyOf(tuple(map(_unguarded, children)))
        case Leaf(text, inner):
            return Leaf(text, _unguarded(inner))
        case Bound() | AnyPoint() | NotOnly():
            return replace(term, nan_matches=False)
        case _:
            return term


def _of_expression(node: Node | None) -> str:
    """What stands in the way of any proof in the expression itself, as far as it can be told."""
    if node is None:
        return ""
    parts = list(walk(node))
    if any(isinstance(part, Opaque) for part in parts):
        return "this expression is not understood, so it may be true anywhere"
    if not deterministic(node):
        return "the expression is not deterministic, or calls a function that is not known here"
    columns = {part.logical for part in parts if isinstance(part, FieldRef)}
    if isinstance(node, Compare) and len(columns) > 1:
        return "it compares columns with each other, and statistics bound each column alone"
    return ""


def _unbounded(leaf: Leaf, node: Node | None, snapshot: Snapshot) -> list[str]:
    """Why there are at most counts, and files of one value, to look at."""
    by_path = {column.physical: column for column in leaves(snapshot.schema, snapshot.mapping_mode)}
    fields = list(dict.fromkeys(stat.field for stat in Program(leaf).stat_leaves if stat.field is not None))
    columns = [by_path[field.physical] for field in fields if field.physical in by_path]
    causes = [cause for column in columns if (cause := _unbounded_because(column))]
    if causes:
        return causes
    expression = _of_expression(node)
    if expression or not fields:
        keeps = [term.reason for term in terms_of(leaf.term) if isinstance(term, Keep) and term.reason]
        return [expression or "; ".join(keeps) or "no rule for this expression"]
    names = _enumerated([field.label for field in fields], "and")
    constant = " or with only one" if any(isinstance(t, ConstantTerm) for t in terms_of(leaf.term)) else ""
    return [f"there is no rule that bounds {names} by this expression: only files without a value{constant} can go"]


def _unbounded_because(column: Resolved) -> str:
    name = ".".join(column.logical)
    declared = str(column.field.metadata.get(CHAR_VARCHAR_KEY, ""))
    if declared.startswith("char("):
        return f"{name} is {declared}, which Spark compares padded with blanks: its bounds say nothing of that"
    collation = collation_of(column)
    if collation is not None:
        return f"{name} is compared under the collation {collation}, of which the log has no usable statistics"
    kind = simple_string(column.type)
    if kind in ("binary", "variant", "void"):
        return f"no bounds are kept of {name}, which is {kind}"
    return ""


def _overlap(program: Program, facts: LeafFacts) -> str:
    if not program.stat_leaves:
        return "every partition has values that may match"
    if any(facts.lacking.values()):
        return "every file that has the statistics leaves room for a match"
    return "the statistics of every file leave room for a match"


def _generated_columns(snapshot: Snapshot) -> frozenset[str]:
    """Columns whose values follow from others', and which a predicate on those is carried over to."""
    derived = derived_columns(
        snapshot.schema, snapshot.mapping_mode, snapshot.partition_columns, snapshot.properties
    )
    return frozenset(".".join(one.column.logical) for one in derived)


def _enumerated(names: list[str], last: str) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} {last} {names[-1]}"
