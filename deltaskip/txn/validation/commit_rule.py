"""A rule of commits, and the check that finds what violates it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from deltaskip.features.violation import Violation
from deltaskip.records import dataclass

if TYPE_CHECKING:
    from deltaskip.txn.validation.commit_facts import CommitFacts


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of commits.

    Attributes:
        name: The name, such as "files.size"; the part before the dot is the kind of action.
        requires: The requirement, as a sentence.
        source: The source of the rule: a section of the protocol, the collations RFC, or delta-spark.
    """

    name: str
    requires: str
    source: str


@dataclass(frozen=True, slots=True)
class Check:
    """What finds violations of some rules.

    Attributes:
        applies: Whether a commit can violate the rules at all.
        violations: Yields violations. The commit is refused for the first one, so that a check may rely on the checks
            before it, and on what it has found itself. Raises UnsupportedFeature with every feature that prevents the
            commit, and SchemaError for a malformed property of the table on which a rule depends.
        rules: The rules.
    """

    applies: Callable[[CommitFacts], bool]
    violations: Callable[[CommitFacts], Iterator[Violation]]
    rules: tuple[Rule, ...]


def always(_: CommitFacts) -> bool:
    """Whether the rules apply: to every commit."""
    return True


def sets_state(facts: CommitFacts) -> bool:
    """Whether the commit sets the metadata or the protocol."""
    return facts.changes_state
