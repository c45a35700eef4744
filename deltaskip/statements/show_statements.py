"""SHOW and DESCRIBE of tables."""

from __future__ import annotations

from typing import Any

from deltaskip.records import dataclass
from deltaskip.schema.resolve import display_name
from deltaskip.statements import answers
from deltaskip.statements.answers import rows
from deltaskip.statements.inserting import partition_predicate
from deltaskip.statements.session import StatementSession, path_of
from deltaskip.statements.statement import Statement
from deltaskip.statements.values import PartitionValue, Parts, StatementTable
from deltaskip.table.delta_rows import DETAIL, HISTORY, detail_row, history_rows

__all__ = [
    "DescribeDetail",
    "DescribeHistory",
    "DescribeTable",
    "ShowColumns",
    "ShowCreateTable",
    "ShowPartitions",
    "ShowProperties",
    "ShowTables",
]


@dataclass(frozen=True, slots=True)
class ShowTables(Statement):
    """SHOW TABLES. pattern: as of SHOW NAMESPACES."""

    namespace: Parts = ()
    pattern: str | None = None

    def run(self, session: StatementSession) -> Any:
        idents = session.catalog.list_tables(session.namespace(self.namespace))
        return answers.listed_tables(idents, self.pattern)


@dataclass(frozen=True, slots=True)
class ShowPartitions(Statement):
    """SHOW PARTITIONS, maybe only those with the values of columns."""

    name: Parts
    partition: tuple[PartitionValue, ...] = ()

    def run(self, session: StatementSession) -> Any:
        where = partition_predicate(self.partition)
        return answers.partitions_of(session.table(self.name), where, session.time_zone)


@dataclass(frozen=True, slots=True)
class ShowProperties(Statement):
    """SHOW TBLPROPERTIES. key: the one property to show."""

    name: Parts
    key: str | None = None

    def run(self, session: StatementSession) -> Any:
        return answers.properties_of(session.table(self.name), display_name(self.name), self.key)


@dataclass(frozen=True, slots=True)
class ShowCreateTable(Statement):
    """SHOW CREATE TABLE."""

    name: Parts

    def run(self, session: StatementSession) -> Any:
        text = answers.create_statement(session.table(self.name), display_name(self.name))
        return rows("createtab_stmt STRING NOT NULL", [(text,)])


@dataclass(frozen=True, slots=True)
class ShowColumns(Statement):
    """SHOW COLUMNS."""

    name: Parts

    def run(self, session: StatementSession) -> Any:
        return answers.columns_of(session.table(self.name))


@dataclass(frozen=True, slots=True)
class DescribeTable(Statement):
    """DESCRIBE TABLE. column: path of the one column to describe."""

    name: StatementTable
    extended: bool = False
    column: Parts = ()

    def run(self, session: StatementSession) -> Any:
        table = session.table(self.name)
        if self.column:
            return answers.described_column(table, self.column)
        return answers.described_table(table, display_name(self.name.parts), self.extended, session.catalog.name)


@dataclass(frozen=True, slots=True)
class DescribeDetail(Statement):
    """DESCRIBE DETAIL."""

    name: Parts

    def run(self, session: StatementSession) -> Any:
        shown = display_name((session.catalog.name, *session.ident(self.name).namespace, self.name[-1]))
        named = shown if path_of(self.name) is None else None
        return rows(DETAIL, [detail_row(session.table(self.name).detail(), named)])


@dataclass(frozen=True, slots=True)
class DescribeHistory(Statement):
    """DESCRIBE HISTORY."""

    name: Parts
    limit: int | None = None

    def run(self, session: StatementSession) -> Any:
        return rows(HISTORY, history_rows(session.table(self.name).history(self.limit)))
