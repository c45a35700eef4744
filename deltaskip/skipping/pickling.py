"""Pickling of a scan by its arguments; another process compiles the program for its own libraries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from deltaskip.engine import is_column
from deltaskip.expr import ColumnExpr
from deltaskip.log.reopening import SnapshotReference
from deltaskip.skipping.read_options import ReadOptions

if TYPE_CHECKING:
    from deltaskip.skipping.log_scan import LogScan

_PLANNED_FROM = (
    "where", "_planned_at", "limit", "_named", "columns", "_parsed", "ansi", "time_zone", "collation_version",
    "in_ansi", "_paths",
)  # fmt: skip


def pickled_scan(scan: LogScan) -> tuple[Callable[..., dict[str, Any]], tuple[Any, ...]]:
    """Return a function and its arguments, whose result are the attributes of the scan."""
    state = {name: vars(scan)[name] for name in _PLANNED_FROM if name in vars(scan)}
    state["where"] = chosen_by(scan).where
    return _restored, (type(scan), SnapshotReference.of(scan.snapshot), state)


def chosen_by(scan: LogScan) -> ReadOptions:
    """Return the options of a planned scan, for a scan in another process."""
    # A Column of PySpark belongs to its session.
    where = ColumnExpr(scan._parsed) if is_column(scan.where) and scan._parsed is not None else scan.where
    return ReadOptions(where, scan._named, scan.limit, scan.time_zone, scan.collation_version, ansi=scan.in_ansi)


def _restored(made: type[LogScan], reference: SnapshotReference, state: dict[str, Any]) -> dict[str, Any]:
    scan = object.__new__(made)
    vars(scan).update(state, snapshot=reference.opened(), _diagnosed=True, _is_planned=False)
    scan._plan(state["time_zone"], state["collation_version"], state["in_ansi"])
    return vars(scan)
