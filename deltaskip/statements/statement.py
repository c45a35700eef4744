"""A statement: its names, with expressions and queries as the text that was typed, and its execution."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from deltaskip.records import dataclass
from deltaskip.statements.session import StatementSession


@dataclass(frozen=True, slots=True)
class Statement(ABC):
    """A statement. Its class is its kind, and its attributes are the names and texts in it."""

    @property
    def only_reads(self) -> bool:
        """Whether the statement changes nothing."""
        return False

    @abstractmethod
    def run(self, session: StatementSession) -> Any:
        """Run the statement. Returns its rows: a table of Arrow, or the DataFrame of a query."""


@dataclass(frozen=True, slots=True)
class ReadStatement(Statement):
    """A statement that changes nothing."""

    @property
    def only_reads(self) -> bool:
        return True
