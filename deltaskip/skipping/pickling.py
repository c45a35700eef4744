"""Pickling of a scan: what it is planned from; another process compiles the program for its own libraries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from deltaskip.engine import is_column
from deltaskip.expr import ColumnExpr
from deltaskip.log.reopening import SnapshotReference

if TYPE_CHECKING:
    from deltaskip.skipping.scan import Scan

__all__ = ["chosen_by", "pickled_scan"]

_PLANNED_FROM = (
    "where", "_planned_at", "limit", "_named", "columns", "_parsed", "ansi", "time_zone", "collation_version",
    "in_ansi", "_paths",
)  # fmt: skip


def pickled_scan(scan: Scan) -> tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]:
    """Return a function and its arguments, whose result are the attributes of the scan."""
    state = {name: vars(scan)[name] for name in _PLANNED_FROM if name in vars(scan)}
    state["where"] = chosen_by(scan)[0]
    return _restored, (type(scan), SnapshotReference.of(scan.snapshot), state)


def chosen_by(scan: Scan) -> tuple[object, Sequence[str] | None, str | None, str]:
    """Return the predicate, columns, time zone and version of collations of a scan, for one in another process."""
    # A column of Spark is one of its session.
    where = ColumnExpr(scan._parsed) if is_column(scan.where) and scan._parsed is not None else scan.where
    return where, scan._named, scan.time_zone, scan.collation_version


def _restored(made: type[Scan], reference: SnapshotReference, state: dict[str, Any]) -> dict[str, Any]:
    scan = object.__new__(made)
    vars(scan).update(state, snapshot=reference.opened(), _diagnosed=True, _is_planned=False)
    scan._plan(state["time_zone"], state["collation_version"], state["in_ansi"])
    return vars(scan)
