"""Queries; the log answers some: COUNT(*), MIN and MAX of columns, and DISTINCT values of partition columns.

# SPIP Spark API for Table Metadata, Transform API: metadata-only queries
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from deltaskip.errors import DeltaSkipError, SchemaError
from deltaskip.reading.table_scan import TableScan
from deltaskip.records import dataclass
from deltaskip.sparkexpr.types import StructField, arrow_type, fold_name
from deltaskip.statements.reader import NameParts, StatementReader, StatementTable
from deltaskip.statements.statement import ReadStatement, StatementSession, qualifiers


@dataclass(frozen=True, slots=True)
class _Item:
    """A column of the answer: COUNT(*), the MIN or MAX of a column, or a column. name: from AS; None for Spark's."""

    function: str
    column: NameParts = ()
    name: str | None = None


@dataclass(frozen=True, slots=True)
class _Query:
    """SELECT items FROM table [WHERE where], or with DISTINCT."""

    items: tuple[_Item, ...]
    distinct: bool
    table: StatementTable
    alias: str | None
    where: str | None


@dataclass(frozen=True, slots=True)
class Query(ReadStatement):
    """A query, or EXPLAIN of one.

    Attributes:
        text: The query as typed.
    """

    text: str

    def run(self, session: StatementSession) -> Any:
        answer = self.from_log(session)
        return session.query(self.text) if answer is None else answer

    def from_log(self, session: StatementSession) -> pa.Table | None:
        """The rows if the log alone proves them; None if it is another query, or the log does not."""
        return _answer_from_log(session, self.text)

    @property
    def explains(self) -> bool:
        """Whether it is EXPLAIN of a query."""
        return StatementReader(self.text).peek_word("EXPLAIN")


def _answer_from_log(session: StatementSession, text: str) -> pa.Table | None:
    """Return the rows of a query if the log alone proves them; None if it is another query, or the log does not.

    The columns have Spark's names and types.
    """
    query = _read(text)
    if query is None or not session.has_table(query.table.parts):
        return None
    table = session.table(query.table)
    where = None if query.where is None else session.own(query.where, query.table.parts, query.alias, table)
    fields = {fold_name(field.name): field for field in table.schema.fields}
    columns = []
    for item in query.items:
        path = _unqualified(item.column, query, fields)
        if item.column and (len(path) != 1 or fold_name(path[0]) not in fields):
            return None
        columns.append(fields[fold_name(path[0])] if path else None)
    try:
        scan = table.scan(where, time_zone=session.time_zone)
        if query.distinct:
            return _distinct(scan, query.items, [field for field in columns if field is not None])
        return _aggregates(scan, query.items, columns)
    except DeltaSkipError:
        # Spark answers, or raises the error.
        return None


def _aggregates(scan: TableScan, items: tuple[_Item, ...], columns: list[StructField | None]) -> pa.Table:
    """One row. Raises NotProvable."""
    names, arrays = [], []
    for item, field in zip(items, columns, strict=True):
        if field is None:
            names.append(item.name or "count(1)")
            arrays.append(pa.array([scan.count(read=False)], pa.int64()))
        else:
            least = item.function == "MIN"
            value = scan.min(_quoted(field)) if least else scan.max(_quoted(field))
            names.append(item.name or f"{item.function.lower()}({field.name})")
            arrays.append(pa.array([value], arrow_type(field.type)))
    return pa.table(arrays, names=names)


def _distinct(scan: TableScan, items: tuple[_Item, ...], fields: list[StructField]) -> pa.Table:
    """The distinct values of partition columns, or combinations of them. Raises NotProvable, also for other columns."""
    found = scan.distinct(*map(_quoted, fields))
    columns = [found[field.name] for field in fields]
    return pa.table(columns, names=[item.name or field.name for item, field in zip(items, fields, strict=True)])


def _quoted(field: StructField) -> str:
    return "`" + field.name.replace("`", "``") + "`"


def _unqualified(path: NameParts, query: _Query, fields: dict[str, StructField]) -> NameParts:
    """The path of a column without the name or alias of the table."""
    if len(path) < 2 or fold_name(path[0]) in fields:
        return path
    for each in qualifiers(query.table.parts, query.alias):
        if [*map(fold_name, path[:-1])] == [*map(fold_name, each)]:
            return path[-1:]
    return path


def _read(text: str) -> _Query | None:
    """The query, if it is of this kind."""
    try:
        return _parsed(StatementReader(text))
    except (SchemaError, IndexError):
        return None


def _parsed(reader: StatementReader) -> _Query | None:
    if not reader.take_words("SELECT"):
        return None
    distinct = reader.take_words("DISTINCT")
    items = []
    while True:
        item = _column(reader) if distinct else _aggregate(reader)
        if item is None:
            return None
        items.append(item)
        if not reader.peek_symbol(","):
            break
        reader.at += 1
    if not reader.take_words("FROM") or reader.at_end or reader.tokens[reader.at].kind not in ("word", "name"):
        return None
    table = reader.table_name()
    alias = None
    if reader.take_words("AS") or not (reader.at_end or reader.peek_word("WHERE")):
        alias = reader.name("an alias")
    where = reader.rest("the predicate") if reader.take_words("WHERE") else None
    if not reader.at_end or (where is not None and not _is_plain(where)):
        return None
    return _Query(tuple(items), distinct, table, alias, where)


def _aggregate(reader: StatementReader) -> _Item | None:
    """COUNT(*), MIN(column) or MAX(column), with a name."""
    function = reader.take_one("COUNT", "MIN", "MAX")
    if function is None or not reader.peek_symbol("("):
        return None
    reader.at += 1
    column: NameParts = ()
    if function == "COUNT":
        if not (reader.peek_symbol("*") or reader.tokens[reader.at].text == "1"):
            return None
        reader.at += 1
    else:
        column = reader.path()
    if not reader.peek_symbol(")"):
        return None
    reader.at += 1
    return _Item(function, column, _name(reader))


def _column(reader: StatementReader) -> _Item | None:
    """A column with a name."""
    column = reader.path()
    return None if reader.peek_symbol("(") else _Item("", column, _name(reader))


def _name(reader: StatementReader) -> str | None:
    if reader.take_words("AS"):
        return reader.name("a name")
    return None if reader.peek_symbol(",") or reader.peek_word("FROM") else reader.name("a name")


def _is_plain(where: str) -> bool:
    """Whether no other clause follows a predicate, and it contains no query."""
    tokens = StatementReader(where).tokens
    clauses = ("SELECT", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "WINDOW",
               "QUALIFY", "UNION", "EXCEPT", "INTERSECT", "MINUS", "LATERAL")  # fmt: skip
    return not any(token.is_word(*clauses) for token in tokens)
