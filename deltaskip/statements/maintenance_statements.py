"""OPTIMIZE, REORG, VACUUM, RESTORE and GENERATE."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from deltaskip.records import dataclass
from deltaskip.sparkexpr.text.sql_text import quoted_path, sql_error
from deltaskip.sparkexpr.types import display_name
from deltaskip.statements.answers import NO_ROWS, rows
from deltaskip.statements.reader import NameParts, StatementReader
from deltaskip.statements.statement import Statement, StatementSession
from deltaskip.table.delta_rows import OPTIMIZED, RESTORED, optimized_row, restored_row

_RETENTION_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"


@dataclass(frozen=True, slots=True)
class Optimize(Statement):
    """OPTIMIZE."""

    name: NameParts
    where: str | None = None
    zorder_by: tuple[NameParts, ...] = ()
    full: bool = False

    @staticmethod
    def read(reader: StatementReader) -> Optimize:
        """OPTIMIZE name [FULL] [WHERE predicate] [ZORDER BY (column, …)]"""
        name = reader.parts()
        full = reader.take_words("FULL")
        where = reader.text_until("the predicate", "ZORDER") if reader.take_words("WHERE") else None
        columns: tuple[NameParts, ...] = ()
        if reader.take_words("ZORDER"):
            reader.need_words("BY")
            columns = tuple(reader.enclosed_list(reader.path))
        return Optimize(name, where, columns, full)

    def run(self, session: StatementSession) -> Any:
        table, columns = session.table(self.name), tuple(map(display_name, self.zorder_by))
        result = table.optimize(
            self.where, zorder_by=columns, spark=session.spark, full=self.full, time_zone=session.time_zone
        )
        return rows(OPTIMIZED, [optimized_row(table.snapshot, result)])


@dataclass(frozen=True, slots=True)
class Reorg(Statement):
    """REORG TABLE."""

    name: NameParts
    where: str | None = None

    @staticmethod
    def read(reader: StatementReader) -> Reorg:
        """REORG TABLE name [WHERE predicate] APPLY (PURGE)"""
        reader.need_words("TABLE")
        name = reader.parts()
        where = reader.text_until("the predicate", "APPLY") if reader.take_words("WHERE") else None
        reader.need_words("APPLY")
        reader.expect("(")
        if not reader.take_words("PURGE"):
            raise reader.error("only APPLY (PURGE) is supported")
        reader.expect(")")
        return Reorg(name, where)

    def run(self, session: StatementSession) -> Any:
        table = session.table(self.name)
        result = table.optimize(self.where, purge=True, spark=session.spark, time_zone=session.time_zone)
        return rows(OPTIMIZED, [optimized_row(table.snapshot, result)])


@dataclass(frozen=True, slots=True)
class Vacuum(Statement):
    """VACUUM. hours: the retention; None for the table's. inventory: The query of the files; None to list them."""

    name: NameParts
    hours: float | None = None
    dry_run: bool = False
    lite: bool = False
    inventory: str | None = None

    @staticmethod
    def read(reader: StatementReader) -> Vacuum:
        """VACUUM name [FULL | LITE] [USING INVENTORY name | (query)] [RETAIN n HOURS] [DRY RUN], in any order"""
        name, inventory = reader.parts(), None
        hours: float | None = None
        lite = dry_run = False
        while True:
            if reader.take_words("RETAIN"):
                hours = _hours(reader)
                reader.need_words("HOURS")
            elif reader.take_words("DRY", "RUN"):
                dry_run = True
            elif reader.take_words("USING", "INVENTORY"):
                is_query = reader.peek_symbol("(")
                inventory = reader.parenthesized() if is_query else f"SELECT * FROM {quoted_path(reader.parts())}"
            elif reader.peek_word("FULL", "LITE"):
                lite = reader.take_one("FULL", "LITE") == "LITE"
            else:
                break
        return Vacuum(name, hours, dry_run, lite, inventory)

    @property
    def only_reads(self) -> bool:
        return self.dry_run

    def run(self, session: StatementSession) -> Any:
        table = session.table(self.name)
        enforced = session.setting(_RETENTION_CHECK, "true") != "false"
        inventory = None if self.inventory is None else session.catalog.sql(session.spark, self.inventory)
        found = table.vacuum(self.hours, self.dry_run, lite=self.lite, enforce_retention=enforced, inventory=inventory)
        root = table.uri.rstrip("/")
        shown = [f"{root}/{path}" for path in found.files] if self.dry_run else [root]
        return rows("path STRING", ((each,) for each in shown))


@dataclass(frozen=True, slots=True)
class Restore(Statement):
    """RESTORE TABLE. timestamp: SQL text."""

    name: NameParts
    version: int | None = None
    timestamp: str | None = None

    @staticmethod
    def read(reader: StatementReader) -> Restore:
        """RESTORE [TABLE] name [TO] VERSION AS OF n | TIMESTAMP AS OF time"""
        reader.take_words("TABLE")
        name = reader.parts()
        reader.take_words("TO")
        version, timestamp = reader.time_travel()
        if version is None and timestamp is None:
            raise reader.error("TO VERSION AS OF or TO TIMESTAMP AS OF is expected here")
        return Restore(name, version, timestamp)

    def run(self, session: StatementSession) -> Any:
        time = None if self.timestamp is None else session.moment(self.timestamp)
        row = restored_row(session.table(self.name).restore(self.version, time))
        return rows(RESTORED, [] if row is None else [row])


@dataclass(frozen=True, slots=True)
class Generate(Statement):
    """GENERATE."""

    name: NameParts
    mode: str = field(default="symlink_format_manifest")

    @staticmethod
    def read(reader: StatementReader) -> Generate:
        """GENERATE mode FOR TABLE name"""
        at = reader.position
        token = reader.next("the kind of manifest")
        mode = token.text
        if mode.lower() != "symlink_format_manifest":
            raise sql_error(reader.text, at, "only symlink_format_manifest can be generated")
        reader.need_words("FOR", "TABLE")
        name = reader.parts()
        return Generate(name, mode.lower())

    def run(self, session: StatementSession) -> Any:
        session.table(self.name).generate()
        return NO_ROWS


def _hours(reader: StatementReader) -> float:
    at = reader.position
    text = reader.text_until("the number of hours", "HOURS")
    try:
        found = float(text)
    except ValueError:
        raise sql_error(reader.text, at, "the number of hours is expected here") from None
    if not 0 <= found < 1e12:
        raise sql_error(reader.text, at, "the number of hours must not be negative")
    return found
