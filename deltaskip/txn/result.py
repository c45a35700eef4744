"""Results of operations on tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from deltaskip.records import dataclass
from deltaskip.shown import Shown
from deltaskip.txn.cost import ChangeCost


@dataclass(frozen=True, slots=True, repr=False)
class WriteResult(Shown):
    """The result of an operation on a table.

    Attributes:
        version: The version that was committed; None if nothing was committed, because the application's version had
            been committed before or nothing would have changed.
        operation: Name of the operation in the table's history.
        metrics: Delta's metrics of the operation, such as numOutputRows, by name.
        cost: Files and bytes that a change of rows read, skipped, rewrote and marked, and its seconds by phase; None
            for operations that do not change existing rows.
        time_zone: The time zone in which local times of the rows, such as datetimes without a zone, became instants of
            TIMESTAMP columns, or the reverse; "" if none did. The argument `time_zone` chooses it.
        nothing_written: Why nothing was committed, if the reason is `txn`: the table has this version of the
            application, or a later one. Otherwise "".
    """

    version: int | None
    operation: str
    metrics: Mapping[str, int] = field(default_factory=dict)
    cost: ChangeCost | None = field(default=None, kw_only=True)
    time_zone: str = field(default="", kw_only=True)
    nothing_written: str = field(default="", kw_only=True)
