"""Queries of one table whose structure is known: totals, distinct values, and the first rows of an order."""

from __future__ import annotations

from collections.abc import Sequence

from deltaskip.errors import DeltaSkipError, SchemaError
from deltaskip.records import dataclass
from deltaskip.sparkexpr import SortTerm
from deltaskip.sparkexpr.text.sql_text import quoted_path
from deltaskip.sparkexpr.types import fold_name
from deltaskip.statements.reader import NameParts, StatementReader, StatementTable

_CLAUSES = (
    *("SELECT", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "WINDOW", "QUALIFY"),
    *("UNION", "EXCEPT", "INTERSECT", "MINUS", "LATERAL"),
)
_AFTER_TABLE = ("WHERE", "GROUP", "ORDER", "LIMIT")
_FUNCTIONS = ("COUNT", "MIN", "MAX", "COUNT_IF")


@dataclass(frozen=True, slots=True)
class QueryItem:
    """A column of the answer.

    Attributes:
        function: COUNT, MIN, MAX, COUNT_IF; "" for a column.
        column: The column; () for COUNT(*).
        name: Its name from AS; None for Spark's.
        negated: Of COUNT_IF, whether the test is IS NOT NULL.
    """

    function: str
    column: NameParts = ()
    name: str | None = None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class SimpleQuery:
    """SELECT [DISTINCT] items FROM table [WHERE where] [GROUP BY columns] [ORDER BY order] [LIMIT limit].

    Attributes:
        items: The columns of the answer; () for `*`.
        distinct: Whether each row is returned once.
        table: The table.
        alias: Its alias.
        where: The predicate.
        group_by: The columns of GROUP BY.
        order: For each column of ORDER BY whether large values and NULLs come first.
        limit: The number of LIMIT; None without.
        in_quotes: Whether the table is a path in quotes, which Spark does not read.
    """

    items: tuple[QueryItem, ...]
    distinct: bool
    table: StatementTable
    alias: str | None
    where: str | None
    group_by: tuple[NameParts, ...] = ()
    order: tuple[tuple[NameParts, bool, bool], ...] = ()
    limit: int | None = None
    in_quotes: bool = False

    @property
    def is_any(self) -> bool:
        """Whether it returns columns of any rows, as many as LIMIT says."""
        plain = not (self.order or self.distinct or self.group_by or any(item.function for item in self.items))
        return self.limit is not None and plain

    @property
    def is_top(self) -> bool:
        """Whether it returns columns of the first rows of an order."""
        return bool(self.order) and not self.distinct and not any(item.function for item in self.items)

    @property
    def is_total(self) -> bool:
        """Whether it returns aggregates, and columns of GROUP BY."""
        plain = not self.order and not self.distinct and self.limit is None
        return plain and any(item.function for item in self.items)


def simple_query(text: str) -> SimpleQuery | None:
    """Return the parts of a query; None for one of another structure."""
    try:
        return _parsed(StatementReader(text))
    except (DeltaSkipError, IndexError):
        return None


def unqualified(path: NameParts, qualifiers: Sequence[NameParts], columns: Sequence[str]) -> NameParts:
    """Return the path of a column without the name or alias of its table.

    Args:
        path: The path as written.
        qualifiers: The names of the table.
        columns: The columns of the table.
    """
    if len(path) < 2 or fold_name(path[0]) in set(map(fold_name, columns)):
        return path
    return path[-1:] if any([*map(fold_name, path[:-1])] == [*map(fold_name, each)] for each in qualifiers) else path


def order_text(query: SimpleQuery, qualifiers: Sequence[NameParts], columns: Sequence[str]) -> str | None:
    """Return ORDER BY over the columns of the table; None if it has anything but top-level columns of it.

    Args:
        query: The query.
        qualifiers: The names of the table.
        columns: The columns of the table.
    """
    known, terms = set(map(fold_name, columns)), []
    for path, descending, nulls_first in query.order:
        plain = unqualified(path, qualifiers, columns)
        if len(plain) != 1 or fold_name(plain[0]) not in known:
            return None
        direction = "DESC" if descending else "ASC"
        terms.append(f"{quoted_path(plain)} {direction} NULLS {'FIRST' if nulls_first else 'LAST'}")
    return ", ".join(terms)


def _parsed(reader: StatementReader) -> SimpleQuery | None:
    if not reader.take_words("SELECT"):
        return None
    distinct = reader.take_words("DISTINCT")
    items = _items(reader)
    if items is None or not reader.take_words("FROM"):
        return None
    if reader.at_end or reader.tokens[reader.at].kind not in ("word", "name", "string"):
        return None
    in_quotes = reader.tokens[reader.at].kind == "string"
    table = reader.table_name()
    alias = None
    if reader.take_words("AS") or not (reader.at_end or reader.peek_word(*_AFTER_TABLE) or reader.peek_symbol(";")):
        alias = reader.name("an alias")
    where = reader.text_until("the predicate", *_CLAUSES) if reader.take_words("WHERE") else None
    group_by = tuple(reader.list_of(reader.path)) if reader.take_words("GROUP", "BY") else ()
    order = reader.text_until("the order", *_CLAUSES) if reader.take_words("ORDER", "BY") else None
    limit = _limit(reader)
    reader.finish()
    if (order is not None and limit is None) or (where is not None and not _is_plain(where)):
        return None
    terms = [] if order is None else SortTerm.texts(order)
    paths = [_path(text) for text, _, _ in terms]
    # ORDER BY finds names of SELECT before columns of the table.
    if None in paths or (terms and any(item.name for item in items)):
        return None
    found = tuple((path, down, first) for path, (_, down, first) in zip(paths, terms, strict=True) if path is not None)
    return SimpleQuery(tuple(items), distinct, table, alias, where, group_by, found, limit, in_quotes)


def _items(reader: StatementReader) -> list[QueryItem] | None:
    """The columns of SELECT; [] for `*`, and None for what is neither a column nor a known aggregate."""
    if reader.peek_symbol("*"):
        reader.at += 1
        return []
    found = []
    while True:
        follows = reader.tokens[reader.at + 1] if reader.at + 1 < len(reader.tokens) else None
        is_call = follows is not None and follows.is_symbol("(")
        item = _aggregate(reader) if is_call else _column(reader)
        if item is None:
            return None
        found.append(item)
        if not reader.peek_symbol(","):
            return found
        reader.at += 1


def _aggregate(reader: StatementReader) -> QueryItem | None:
    """COUNT(*), COUNT(column), MIN(column), MAX(column) or COUNT_IF(column IS [NOT] NULL), with a name."""
    function = reader.take_one(*_FUNCTIONS)
    if function is None:
        return None
    reader.at += 1
    column: NameParts = ()
    negated = False
    if function == "COUNT" and (reader.peek_symbol("*") or reader.tokens[reader.at].text == "1"):
        reader.at += 1
    else:
        column = reader.path()
    if function == "COUNT_IF":
        if not reader.take_words("IS"):
            return None
        negated = reader.take_words("NOT")
        if not reader.take_words("NULL"):
            return None
    if not reader.peek_symbol(")"):
        return None
    reader.at += 1
    name = _name(reader)
    # Spark's name of COUNT_IF has the text of its argument.
    return None if function == "COUNT_IF" and name is None else QueryItem(function, column, name, negated)


def _column(reader: StatementReader) -> QueryItem | None:
    """A column with a name."""
    column = reader.path()
    return None if reader.peek_symbol("(") else QueryItem("", column, _name(reader))


def _name(reader: StatementReader) -> str | None:
    if reader.take_words("AS"):
        return reader.name("a name")
    return None if reader.peek_symbol(",") or reader.peek_word("FROM") else reader.name("a name")


def _limit(reader: StatementReader) -> int | None:
    if not reader.take_words("LIMIT"):
        return None
    token = reader.next("the limit")
    if token.kind != "number" or not (token.text.isascii() and token.text.isdigit()):
        raise SchemaError(f"LIMIT {token.text} is not a whole number.")
    return int(token.text)


def _path(text: str) -> NameParts | None:
    """The path of a column; None for another expression."""
    reader = StatementReader(text)
    if reader.at_end or reader.tokens[0].kind not in ("word", "name"):
        return None
    path = reader.path()
    return path if reader.at_end else None


def _is_plain(where: str) -> bool:
    """Whether a predicate contains no query."""
    return not any(token.is_word(*_CLAUSES) for token in StatementReader(where).tokens)
