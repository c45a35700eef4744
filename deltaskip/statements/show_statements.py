"""SHOW and DESCRIBE of tables."""

from __future__ import annotations

from typing import Any

from deltaskip.catalogs.located import LocatedCatalog
from deltaskip.records import dataclass
from deltaskip.sparkexpr.text.sql_text import sql_error
from deltaskip.sparkexpr.types import display_name
from deltaskip.statements import answers
from deltaskip.statements.answers import rows
from deltaskip.statements.inserting import partition_predicate
from deltaskip.statements.reader import NameParts, PartitionValue, StatementReader, StatementTable, path_of
from deltaskip.statements.statement import ReadStatement, StatementSession
from deltaskip.table.delta_rows import DETAIL, HISTORY, detail_row, history_rows


@dataclass(frozen=True, slots=True)
class ShowTables(ReadStatement):
    """SHOW TABLES. pattern: as in SHOW NAMESPACES."""

    namespace: NameParts = ()
    pattern: str | None = None

    @staticmethod
    def read(reader: StatementReader) -> ShowTables:
        """SHOW TABLES [FROM | IN namespace] [[LIKE] pattern]"""
        namespace = reader.parts("the name of a namespace") if reader.take_one("FROM", "IN") else ()
        return ShowTables(namespace, reader.pattern())

    def run(self, session: StatementSession) -> Any:
        catalog, within = session.catalog, session.namespace(self.namespace)
        if self.pattern is None:
            return answers.listed_tables(catalog.list_tables(within))
        return answers.listed_tables(catalog.matching_tables(within, answers.name_test(self.pattern)))


@dataclass(frozen=True, slots=True)
class ShowPartitions(ReadStatement):
    """SHOW PARTITIONS, optionally only those with given values of columns."""

    name: NameParts
    partition: tuple[PartitionValue, ...] = ()

    @staticmethod
    def read(reader: StatementReader) -> ShowPartitions:
        """SHOW PARTITIONS name [PARTITION (…)]"""
        name = reader.parts()
        return ShowPartitions(name, reader.partition_values() if reader.take_words("PARTITION") else ())

    def run(self, session: StatementSession) -> Any:
        where = partition_predicate(self.partition)
        return answers.shown_partitions(session.table(self.name), where, session.time_zone)


@dataclass(frozen=True, slots=True)
class ShowProperties(ReadStatement):
    """SHOW TBLPROPERTIES. key: the one property to show."""

    name: NameParts
    key: str | None = None

    @staticmethod
    def read(reader: StatementReader) -> ShowProperties:
        """SHOW TBLPROPERTIES name [(key)]"""
        name = reader.parts()
        key = None
        if reader.peek_symbol("("):
            reader.expect("(")
            key = reader.property_name()
            reader.expect(")")
        return ShowProperties(name, key)

    def run(self, session: StatementSession) -> Any:
        return answers.properties_of(session.table(self.name), display_name(self.name), self.key)


@dataclass(frozen=True, slots=True)
class ShowCreateTable(ReadStatement):
    """SHOW CREATE TABLE."""

    name: NameParts

    @staticmethod
    def read(reader: StatementReader) -> ShowCreateTable:
        """SHOW CREATE TABLE name"""
        return ShowCreateTable(reader.parts())

    def run(self, session: StatementSession) -> Any:
        catalog = session.catalog
        own_locations = catalog.own_locations() if isinstance(catalog, LocatedCatalog) else ()
        text = answers.create_statement(session.table(self.name), display_name(self.name), own_locations)
        return rows("createtab_stmt STRING NOT NULL", [(text,)])


@dataclass(frozen=True, slots=True)
class ShowColumns(ReadStatement):
    """SHOW COLUMNS."""

    name: NameParts

    @staticmethod
    def read(reader: StatementReader) -> ShowColumns:
        """SHOW COLUMNS FROM | IN name [FROM | IN namespace]"""
        if not reader.take_one("FROM", "IN"):
            raise reader.error("FROM or IN and the name of a table is expected here")
        name = reader.parts()
        if reader.take_one("FROM", "IN"):
            name = (*reader.parts("the name of a namespace"), name[-1])
        return ShowColumns(name)

    def run(self, session: StatementSession) -> Any:
        return answers.shown_columns(session.table(self.name))


@dataclass(frozen=True, slots=True)
class DescribeTable(ReadStatement):
    """DESCRIBE TABLE. column: path of the one column to describe."""

    name: StatementTable
    extended: bool = False
    column: NameParts = ()

    @staticmethod
    def read(reader: StatementReader) -> DescribeTable:
        """DESCRIBE [TABLE] [EXTENDED | FORMATTED] name [column]"""
        for word, instead in (("QUERY", "SELECT … LIMIT 0"), ("FUNCTION", "spark.sql")):
            if reader.peek_word(word) and reader.at + 1 < len(reader.tokens):
                raise reader.error(f"DESCRIBE {word} is not supported: use {instead}")
        reader.take_words("TABLE")
        extended = reader.take_one("EXTENDED", "FORMATTED") is not None
        name = reader.table_name()
        if reader.take_words("PARTITION"):
            raise reader.error("DESCRIBE … PARTITION is not supported: use SHOW PARTITIONS")
        if reader.take_words("AS", "JSON"):
            raise reader.error("AS JSON is not supported: use DESCRIBE DETAIL, or DeltaTable.detail().to_dict()")
        column: NameParts = () if reader.at_end or reader.peek_symbol(";") else reader.path()
        return DescribeTable(name, extended, column)

    def run(self, session: StatementSession) -> Any:
        table = session.table(self.name)
        if self.column:
            return answers.described_column(table, self.column)
        return answers.described_table(table, display_name(self.name.parts), self.extended, session.catalog.name)


@dataclass(frozen=True, slots=True)
class DescribeDetail(ReadStatement):
    """DESCRIBE DETAIL."""

    name: NameParts

    @staticmethod
    def read(reader: StatementReader) -> DescribeDetail:
        """DESCRIBE DETAIL name"""
        reader.take_words("TABLE")
        return DescribeDetail(reader.parts())

    def run(self, session: StatementSession) -> Any:
        shown = display_name((session.catalog.name, *session.ident(self.name).namespace, self.name[-1]))
        named = shown if path_of(self.name) is None else None
        return rows(DETAIL, [detail_row(session.table(self.name).detail(), named)])


@dataclass(frozen=True, slots=True)
class DescribeHistory(ReadStatement):
    """DESCRIBE HISTORY."""

    name: NameParts
    limit: int | None = None

    @staticmethod
    def read(reader: StatementReader) -> DescribeHistory:
        """DESCRIBE HISTORY name [LIMIT n]"""
        reader.take_words("TABLE")
        name = reader.parts()
        limit = None
        if reader.take_words("LIMIT"):
            at = reader.position
            limit = reader.integer()
            if limit < 0:
                raise sql_error(reader.text, at, "the limit must not be negative")
        return DescribeHistory(name, limit)

    def run(self, session: StatementSession) -> Any:
        return rows(HISTORY, history_rows(session.table(self.name).history(self.limit)))
