"""A rule of tables, and the check that finds what violates it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from deltaskip.records import dataclass

if TYPE_CHECKING:
    from deltaskip.maintenance.verify.table_facts import TableFacts

Needs = Literal["log", "state", "snapshot", "data"]
Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class TableRule:
    """One rule of tables.

    Attributes:
        name: The name, such as "commit.gap"; the part before the dot is what it is about.
        requires: The requirement, as a sentence.
        source: The source of the rule: a section of the protocol, or delta-spark.
        severity: Of what violates it.
        repair: What a repair does, as a phrase; "" if nothing.
    """

    name: str
    requires: str
    source: str
    severity: Severity = "error"
    repair: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """What a check has found, in terms of a rule.

    Attributes:
        rule: The name of the rule.
        message: What is wrong, as a sentence.
        versions: The versions that it concerns.
        paths: The files that it concerns.
    """

    rule: str
    message: str
    versions: Sequence[int] = ()
    paths: Sequence[str] = ()


def first_of(paths: Sequence[str]) -> str:
    """Return the files of a finding in words: the first, and how many others there are."""
    return f"{paths[0]} and {len(paths) - 1:,} other files" if len(paths) > 1 else paths[0]


@dataclass(frozen=True, slots=True)
class TableCheck:
    """What finds violations of some rules.

    Attributes:
        needs: What must be readable for it: the "log" (its listing; files in it may be damaged), the "state" (protocol
            and metadata of the latest version), the "snapshot" (its files, too), or the "data" files.
        violations: Yields violations. An error that it raises is reported as what could not be checked.
    """

    needs: Needs
    violations: Callable[[TableFacts], Iterator[Found]]
