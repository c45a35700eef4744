"""What a query requires of the rows of its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deltaskip.records import dataclass


@dataclass(frozen=True, slots=True)
class JoinEquality:
    """An equality of columns of two tables, which every row of one of them must satisfy with a row of the other.

    Attributes:
        table: The table whose rows without a partner do not matter.
        column: Its column, folded.
        other: The table with the partners.
        other_column: Its column, folded.
    """

    table: str
    column: str
    other: str
    other_column: str


@dataclass(frozen=True, slots=True)
class Required:
    """What rows of the tables of a query must satisfy to matter.

    Attributes:
        predicates: For each table predicates, as SQL text over its columns.
        joins: Equalities with columns of other tables.
    """

    predicates: Mapping[str, list[str]]
    joins: Sequence[JoinEquality] = ()
