"""Names and values in statements: tables, maybe at a version, and the values of partition columns."""

from __future__ import annotations

from typing import Literal

from deltaskip.records import dataclass

Parts = tuple[str, ...]
"""The parts of a name, without backticks."""

Creating = Literal["create", "replace", "create or replace"]


@dataclass(frozen=True, slots=True)
class StatementTable:
    """A table as a statement names it.

    Attributes:
        parts: The parts of the name; ("delta", path) for a table by its path.
        version: The version to read; None for the latest.
        timestamp: SQL text of the time to read; None for the latest version.
    """

    parts: Parts
    version: int | None = None
    timestamp: str | None = None


@dataclass(frozen=True, slots=True)
class PartitionValue:
    """A column of PARTITION (…). value: SQL text of its value; None if the query gives it."""

    column: str
    value: str | None = None
