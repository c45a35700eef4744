"""OPTIMIZE, VACUUM, RESTORE and GENERATE."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from deltaskip.maintenance.optimize.optimize import optimize
from deltaskip.maintenance.optimize.strategy import OptimizeRequest
from deltaskip.records import dataclass
from deltaskip.schema.resolve import display_name
from deltaskip.statements.answers import NOTHING, rows
from deltaskip.statements.session import StatementSession
from deltaskip.statements.statement import Statement
from deltaskip.statements.values import Parts
from deltaskip.table.delta_rows import OPTIMIZED, RESTORED, optimized_row, restored_row

__all__ = ["Generate", "Optimize", "Restore", "Vacuum"]

_RETENTION_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"


@dataclass(frozen=True, slots=True)
class Optimize(Statement):
    """OPTIMIZE."""

    name: Parts
    where: str | None = None
    zorder_by: tuple[Parts, ...] = ()
    full: bool = False

    def run(self, session: StatementSession) -> Any:
        table, columns = session.table(self.name), tuple(map(display_name, self.zorder_by))
        request = OptimizeRequest(self.where, None, columns, self.full, session.time_zone)
        result = optimize(table.snapshot, request, session.spark)
        return rows(OPTIMIZED, [optimized_row(table.refresh().snapshot, result)])


@dataclass(frozen=True, slots=True)
class Vacuum(Statement):
    """VACUUM. hours: the retention; None for that of the table."""

    name: Parts
    hours: float | None = None
    dry_run: bool = False
    lite: bool = False

    def run(self, session: StatementSession) -> Any:
        table = session.table(self.name)
        enforced = session.setting(_RETENTION_CHECK, "true") != "false"
        found = table.vacuum(self.hours, self.dry_run, lite=self.lite, enforce_retention=enforced)
        root = table.uri.rstrip("/")
        shown = [f"{root}/{path}" for path in found.files] if self.dry_run else [root]
        return rows("path STRING", ((each,) for each in shown))


@dataclass(frozen=True, slots=True)
class Restore(Statement):
    """RESTORE TABLE. timestamp: SQL text."""

    name: Parts
    version: int | None = None
    timestamp: str | None = None

    def run(self, session: StatementSession) -> Any:
        time = None if self.timestamp is None else session.moment(self.timestamp)
        row = restored_row(session.table(self.name).restore(self.version, time))
        return rows(RESTORED, [] if row is None else [row])


@dataclass(frozen=True, slots=True)
class Generate(Statement):
    """GENERATE."""

    name: Parts
    mode: str = field(default="symlink_format_manifest")

    def run(self, session: StatementSession) -> Any:
        session.table(self.name).generate()
        return NOTHING
