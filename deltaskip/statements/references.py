"""The tables that a query names: the positions of their names in the text, with time travel and aliases.

# Spark 4.1, SqlBaseParser.g4: fromClause, relation, relationPrimary, ctes
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace

from deltaskip.errors import PredicateError, SchemaError
from deltaskip.reading.read_plan import METADATA
from deltaskip.records import dataclass
from deltaskip.sparkexpr.text.sql_text import SqlToken, quoted_name
from deltaskip.sparkexpr.types import fold_name
from deltaskip.statements.reader import (
    QUERY_WORDS,
    NameParts,
    StatementReader,
    StatementTable,
    check_reads,
    name_of_path,
)

_END_OF_FROM = (
    *("WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET", "WINDOW", "QUALIFY"),
    *("UNION", "EXCEPT", "INTERSECT", "MINUS", "SELECT", "MAP", "REDUCE"),
)
# Words after the name of a table that are not its alias.
_NO_ALIAS = (
    *_END_OF_FROM,
    *("JOIN", "INNER", "CROSS", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI", "NATURAL", "ON", "USING", "LATERAL"),
    *("PIVOT", "UNPIVOT", "TABLESAMPLE", "INSERT", "VALUES", "FROM", "AGGREGATE", "EXTEND", "SET", "DROP"),
)
EXPLAINED = ("EXTENDED", "CODEGEN", "COST", "FORMATTED")
"""Words that may follow EXPLAIN."""
_CHANGES = ("table_changes", "table_changes_by_path")
_BEFORE_TABLE = ("UNION", "ALL", "DISTINCT", "EXCEPT", "INTERSECT", "MINUS", "AS", "EXPLAIN", "EXTENDED", "FORMATTED")


@dataclass(frozen=True, slots=True)
class Reference:
    """A table that a query reads.

    Attributes:
        name: Its name, with time travel.
        start: Where the name begins in the text.
        end: Where the text after the name and its time travel begins.
        alias_at: Where an alias can be written if it has none; None if it has one, or cannot have one.
        alias: The qualifier of its columns.
        select: The number of the SELECT whose `*` includes its columns, from 1; None if there is none.
    """

    name: StatementTable
    start: int
    end: int
    alias_at: int | None
    alias: str
    select: int | None


@dataclass(frozen=True, slots=True)
class _Star:
    """A `*` for columns.

    Attributes:
        select: The number of its SELECT.
        qualifier: The name before it; None for the columns of all relations.
        end: Where the text after it begins.
        excluded_at: Where the columns of its EXCEPT begin; None if it has none.
    """

    select: int | None
    qualifier: str | None
    end: int
    excluded_at: int | None


def references(text: str, paths: bool = False) -> list[Reference]:
    """Return the tables that a query names, in the order of the text, except names of its WITH.

    Functions, VALUES and subqueries in FROM are not tables. Raises PredicateError for a parenthesis that is not closed.

    Args:
        text: The query.
        paths: Whether a string is the path of a table, as in FROM 'data/orders'.
    """
    try:
        return _walked(text, paths).found
    except SchemaError as error:
        raise PredicateError(str(error)) from error


def check_query(text: str) -> None:
    """Raise PredicateError for a text that begins as a query and changes rows, as a session would in its own tables."""
    try:
        check_reads(StatementReader(text))
    except SchemaError as error:
        raise PredicateError(f"A query is one SELECT. {error}") from error


def names_metadata(text: str) -> bool:
    """Whether a query names Spark's hidden column `_metadata`."""
    return any(_is_name(token, METADATA) for token in StatementReader(text).tokens)


def query_template(text: str, fields: Mapping[Reference, str], with_metadata: Collection[Reference] = ()) -> str:
    """Return a query as a template of `str.format`, in which each of the references is a field for another relation.

    Columns can still be written by the same names: `db.t.id` and `t.id`.

    Args:
        text: The query.
        fields: The name of the field, by reference.
        with_metadata: References whose relations have the column `_metadata`, which no `*` includes.

    Raises PredicateError for a query that would include this column otherwise.
    """
    pieces: list[str] = []
    end = 0
    edits: list[tuple[int, int, str]] = []
    for reference, name in fields.items():
        edits.append((reference.start, reference.end, f"{{{name}}}"))
        if reference.alias_at is not None:
            alias = quoted_name(reference.name.parts[-1])
            edits.append((reference.alias_at, reference.alias_at, f" AS {_literal(alias)}"))
    named = (ref.name.parts for ref in fields if ref.alias_at is not None)
    qualified = {parts[i:] for parts in named for i in range(len(parts) - 1)}
    within = [(ref.start, ref.end) for ref in fields]
    edits += _qualifiers(text, qualified, within, lambda name: _literal(quoted_name(name)))
    edits += _left_out_of_stars(text, with_metadata) if with_metadata else []
    for start, stop, new in sorted(edits, key=lambda edit: edit[:2]):
        pieces += _literal(text[end:start]), new
        end = stop
    return "".join([*pieces, _literal(text[end:])])


def renamed(text: str, names: Mapping[Reference, str], quoted: Callable[[str], str]) -> str:
    """Return a query over other relations: each reference is replaced by a name, and keeps its alias or gets one.

    Args:
        text: The query.
        names: The name, by reference.
        quoted: Quotes a name of the dialect.
    """
    edits = [
        (ref.start, ref.end, name if ref.alias_at is None else f"{name} AS {quoted(ref.name.parts[-1])}")
        for ref, name in names.items()
    ]
    qualified = {ref.name.parts[i:] for ref in names for i in range(len(ref.name.parts) - 1)}
    edits += _qualifiers(text, qualified, [(ref.start, ref.end) for ref in names], quoted)
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def _literal(text: str) -> str:
    """A text that `str.format` leaves as it is."""
    return text.replace("{", "{{").replace("}", "}}")


def _left_out_of_stars(text: str, references: Collection[Reference]) -> list[tuple[int, int, str]]:
    """The edits by which no `*` includes the column `_metadata` of the references.

    # Spark 4.1, SqlBaseParser.g4: star, exceptClause
    """
    walked = _walked(text)
    every = any(token.is_word("NATURAL", "PIVOT", "UNPIVOT") or token.is_symbol("|>") for token in walked.tokens)
    if every or any(each.select is None for each in references):
        raise PredicateError(
            f"A query with the column {METADATA} must be a SELECT without NATURAL JOIN, PIVOT, UNPIVOT, TABLE and |>, "
            f"which have every column: select the columns in a subquery, such as "
            f"(SELECT id, {METADATA}.file_path FROM t)."
        )
    found = []
    for star in walked.stars:
        excluded = [
            f"{_literal(quoted_name(each.alias))}.{METADATA}"
            for each in references
            if each.select == star.select and star.qualifier in (None, fold_name(each.alias))
        ]
        at = star.excluded_at
        if excluded and at is None:
            found.append((star.end, star.end, f" EXCEPT ({', '.join(excluded)})"))
        elif excluded and at is not None:
            found.append((at, at, "".join(f"{each}, " for each in excluded)))
    return found


def _walked(text: str, paths: bool = False) -> _References:
    """The walk over a query. Raises SchemaError for a parenthesis that is not closed."""
    reader = _References(text, paths)
    if reader.take_words("EXPLAIN"):
        reader.take_one(*EXPLAINED)
    reader.level(len(reader.tokens), frozenset(), query=True)
    return reader


def _qualifiers(
    text: str, names: set[NameParts], within: list[tuple[int, int]], quoted: Callable[[str], str]
) -> list[tuple[int, int, str]]:
    """The positions of qualifiers of several parts, such as `db.t` in `db.t.id`, and their last part."""
    found: list[tuple[int, int, str]] = []
    tokens = StatementReader(text).tokens
    for parts in names:
        length = 2 * len(parts)
        for at in range(len(tokens) - length):
            named = tokens[at : at + length : 2]
            if at > 0 and tokens[at - 1].is_symbol("."):
                continue
            if not all(dot.is_symbol(".") for dot in tokens[at + 1 : at + length : 2]):
                continue
            if not all(_is_name(token, part) for token, part in zip(named, parts, strict=True)):
                continue
            if not any(start <= tokens[at].start < end for start, end in within):
                found.append((tokens[at].start, named[-1].end, quoted(parts[-1])))
    return found


def _is_name(token: SqlToken, name: str) -> bool:
    return token.kind in ("word", "name") and fold_name(token.text) == fold_name(name)


class _References(StatementReader):
    """A walk over the tokens of a query, one level of parentheses at a time."""

    def __init__(self, text: str, paths: bool) -> None:
        super().__init__(text)
        self.paths = paths
        self.found: list[Reference] = []
        self.stars: list[_Star] = []
        self.selects = 0

    def level(
        self, end: int, names: frozenset[str], query: bool, expected: bool = False, select: int | None = None
    ) -> None:
        """Read the tokens up to `end`.

        names: names of WITH that hide tables. query: whether it is a query, and not a call or a group. expected:
        whether a relation is next, as in the parentheses of a join. select: the SELECT around a call or such a group.
        """
        if query:
            names = self.with_names(end, names)
        in_from = relations = expected
        while self.at < end:
            token = self.tokens[self.at]
            if token.is_symbol("(") or token.is_symbol("["):
                self.inside(names, expected, select)
                expected = False
            elif token.is_symbol(","):
                expected = in_from and relations
                self.at += 1
            elif token.is_symbol("*"):
                self.star(select)
                self.at += 1
            elif self.paths and expected and token.kind == "string":
                expected = False
                self.path_in_quotes(select)
            elif token.kind not in ("word", "name") or self.after_dot():
                self.at += 1
            elif expected and not token.is_word("LATERAL"):
                expected = False
                relations = not token.is_word("VALUES")
                self.relation(names, select)
            elif not (query or in_from):
                self.at += 1
            else:
                if token.is_word("FROM", "JOIN") and not self.is_distinct_from():
                    in_from = relations = expected = True
                elif token.is_word("VIEW") and self.at > 0 and self.tokens[self.at - 1].is_word("LATERAL", "OUTER"):
                    # Commas between its aliases do not separate relations.
                    relations = expected = False
                elif token.is_word("LATERAL"):
                    expected = expected and not self.follows("VIEW")
                elif token.is_word(*_END_OF_FROM):
                    in_from = False
                    if token.is_word("SELECT"):
                        self.selects += 1
                        select = self.selects
                if token.is_word("TABLE") and self.begins_table():
                    self.at += 1
                    if not self.peek_symbol("("):
                        self.relation(names, None, aliased=False)
                else:
                    self.at += 1

    def star(self, select: int | None) -> None:
        """Record a `*` for columns; it can also be a multiplication, or that of count(*)."""
        before = self.tokens[self.at - 1] if self.at else None
        opened = before is not None and before.is_symbol("(")
        if opened and self.at > 1 and _is_name(self.tokens[self.at - 2], "count"):
            return
        if before is None or not (opened or before.is_word("SELECT", "DISTINCT", "ALL") or before.text in (",", ".")):
            return
        qualifier = fold_name(self.tokens[self.at - 2].text) if before.is_symbol(".") else None
        excluded, after = None, self.tokens[self.at + 1 : self.at + 4]
        if len(after) == 3 and after[0].is_word("EXCEPT") and after[1].is_symbol("("):
            excluded = None if after[2].is_word(*QUERY_WORDS) else after[2].start
        self.stars.append(_Star(select, qualifier, self.tokens[self.at].end, excluded))

    def inside(self, names: frozenset[str], expected: bool, select: int | None) -> None:
        """Read a parenthesis: a query, a group of joins where a relation is expected, or something else."""
        closing = self.closing(self.at)
        self.at += 1
        # A name before a parenthesis is a function, whose FROM is not a clause: trim(BOTH FROM a).
        query = self.at < closing and self.tokens[self.at].is_word(*QUERY_WORDS) and not self.follows_symbol()
        self.level(closing, names, query, expected and not query, None if query else select)
        self.at = closing + 1

    def with_names(self, end: int, names: frozenset[str]) -> frozenset[str]:
        """Read the WITH of a query, and return the names that it hides."""
        if self.at >= end or not self.take_words("WITH"):
            return names
        recursive = self.take_words("RECURSIVE")
        while True:
            name = fold_name(self.name("the name of a query"))
            if self.peek_symbol("("):
                self.at = self.closing(self.at) + 1
            if self.take_words("MAX", "RECURSION", "LEVEL"):
                self.at += 1
            self.take_words("AS")
            closing = self.closing(self.at) if self.peek_symbol("(") else self.at
            self.at += 1
            self.level(closing, names | {name} if recursive else names, query=True)
            self.at = closing + 1
            names |= {name}
            if not self.peek_symbol(","):
                return names
            self.at += 1

    def relation(self, names: frozenset[str], select: int | None, aliased: bool = True) -> None:
        """Read the name of a table and record it, or read a function or VALUES."""
        first = self.at
        if self.peek_word("VALUES") or (self.peek_word("STREAM", "TABLE") and self.follows_symbol()):
            self.at += 1
            return
        parts = self.parts("the name of a relation")
        function = fold_name(parts[0]) if self.peek_symbol("(") and len(parts) == 1 else ""
        if self.peek_symbol("("):
            name = self.table_changes(function.endswith("path")) if function in _CHANGES else None
            if name is None:
                return
        else:
            name = self.at_version(parts) if self.peek_symbol("@") else StatementTable(parts, *self.time_travel())
            name = replace(name, changes=self.changes_clause())
        start, end = self.tokens[first].start, self.tokens[self.at - 1].end
        if first > 1 and self.tokens[first - 2].is_word("SEMI", "ANTI"):
            # No `*` includes the columns of this side of the join.
            select = 0
        alias_at, alias = self.alias() if aliased else (None, None)
        if function or len(parts) > 1 or fold_name(parts[0]) not in names:
            self.found.append(Reference(name, start, end, alias_at, name.parts[-1] if alias is None else alias, select))

    def path_in_quotes(self, select: int | None) -> None:
        """Read the path of a table, or a name in double quotes if a dot follows, and record it."""
        first, parts = self.at, [self.tokens[self.at].text]
        self.at += 1
        while self.peek_symbol("."):
            parts.append(self.tokens[self.at + 1].text if self.at + 1 < len(self.tokens) else "")
            self.at += 2
        if len(parts) == 1:
            parts = list(name_of_path(parts[0]))
        name = StatementTable(tuple(parts), *self.time_travel(), self.changes_clause())
        start, end = self.tokens[first].start, self.tokens[self.at - 1].end
        alias_at, alias = self.alias()
        self.found.append(Reference(name, start, end, alias_at, name.parts[-1] if alias is None else alias, select))

    def alias(self) -> tuple[int | None, str | None]:
        """Where an alias can be written, after TABLESAMPLE, or the alias that is there, which is read."""
        if self.peek_words("TABLESAMPLE"):
            self.at += 1
            if self.peek_symbol("("):
                self.at = self.closing(self.at) + 1
            if self.peek_words("REPEATABLE"):
                self.at += 1
                self.at = self.closing(self.at) + 1 if self.peek_symbol("(") else self.at
        place = self.tokens[self.at - 1].end
        written = self.take_words("AS")
        named = self.at < len(self.tokens) and self.tokens[self.at].kind in ("word", "name")
        if named and (written or not self.peek_word(*_NO_ALIAS)):
            self.at += 1
            return None, self.tokens[self.at - 1].text
        return None if written else place, None

    def is_distinct_from(self) -> bool:
        """Whether FROM is a part of IS DISTINCT FROM."""
        return self.peek_word("FROM") and self.at > 0 and self.tokens[self.at - 1].is_word("DISTINCT")

    def begins_table(self) -> bool:
        """Whether TABLE is a query, as in TABLE t UNION TABLE u."""
        before = self.tokens[self.at - 1] if self.at else None
        return before is None or before.is_word(*_BEFORE_TABLE) or before.is_symbol("(") or before.is_symbol(")")

    def follows(self, word: str) -> bool:
        """Whether the token after the next one is this word."""
        return self.at + 1 < len(self.tokens) and self.tokens[self.at + 1].is_word(word)

    def follows_symbol(self) -> bool:
        """Whether a symbol other than `*` and `(` follows the next token, as after a column named like the word."""
        after = self.tokens[self.at + 1] if self.at + 1 < len(self.tokens) else None
        return after is not None and after.kind == "symbol" and after.text not in "*(-+~"
