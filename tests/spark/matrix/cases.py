"""The list of cases, which modules of this package register, and what a case gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Session:
    """A session, its kind, and a folder of its own for each case."""

    spark: Any
    kind: str
    folder: Path


Run = Callable[[Session], None]


@dataclass(frozen=True, slots=True)
class Case:
    """A property of reading or recomputing; since: the first Spark that has it, older ones have to be refused."""

    name: str
    run: Run
    since: tuple[int, int] = (3, 5)


CASES: list[Case] = []


def case(name: str, since: tuple[int, int] = (3, 5)) -> Callable[[Run], Run]:
    """Register a case."""

    def register(run: Run) -> Run:
        CASES.append(Case(name, run, since))
        return run

    return register


def equal(found: object, expected: object) -> None:
    """Raise AssertionError where they differ."""
    assert found == expected, f"{found!r} instead of {expected!r}"
