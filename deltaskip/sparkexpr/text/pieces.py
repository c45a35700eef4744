"""The state of the parser, text that becomes Opaque, names, and skipped queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from typing import Any, TypeAlias

from deltaskip.records import dataclass
from deltaskip.recursion import deep
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.functions.spark_functions import (
    AGGREGATES,
    ARGUMENT_COUNTS,
    CHANGING,
    GENERATORS,
    LITERAL_FUNCTIONS,
    WINDOWS,
)
from deltaskip.sparkexpr.text.tokens import NAMES, VALUES, Tokens
from deltaskip.sparkexpr.types.data_types import STRING

Rule: TypeAlias = Generator["Rule", Any, n.Node]
Mark: TypeAlias = tuple[int, int]
"""The start of a part: its offset in the text, and the number of columns before it."""
Given: TypeAlias = tuple[n.Node, Mark]
"""A part that is already read, and its start."""

COMPARISON_SIGNS = {"=": "=", "==": "=", "!=": "!=", "<>": "!=", "<=>": "<=>"}
COMPARISON_SIGNS |= {"<": "<", "<=": "<=", "!>": "<=", ">": ">", ">=": ">=", "!<": ">="}
# Comparisons bind least tightly; all operators associate to the left.
COMPARISON, SUM = 1, 6
LEVELS = {
    **dict.fromkeys(COMPARISON_SIGNS, COMPARISON),
    "|": 2,
    "^": 3,
    "&": 4,
    "<<": 5,
    ">>": 5,
    ">>>": 5,
    **dict.fromkeys(("+", "-", "||"), SUM),
    **dict.fromkeys(("*", "/", "%", "DIV"), 7),
}
PREDICATES = frozenset(("BETWEEN", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP"))
FOLLOWING = ("[", ".", "::", ":", "COLLATE")
# A keyword before one of these words can only be a column: NOT = 1, CASE IS NULL.
AFTER_NAMES = frozenset((*PREDICATES, "AND", "OR", "IS", "COLLATE", "DIV", "AS"))
_QUERIES = frozenset(("SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE"))
_NO_COLUMNS = frozenset(
    (
        *("SELECT", "FROM", "WHERE", "GROUP", "BY", "ORDER", "HAVING", "LIMIT", "AS", "AND", "OR", "NOT", "IN", "IS"),
        *("NULL", "TRUE", "FALSE", "LIKE", "BETWEEN", "CASE", "WHEN", "THEN", "ELSE", "END", "ON", "JOIN", "INNER"),
        *("LEFT", "RIGHT", "FULL", "OUTER", "CROSS", "SEMI", "ANTI", "UNION", "ALL", "DISTINCT", "VALUES", "WITH"),
        *("PARTITION", "ROWS", "RANGE", "PRECEDING", "FOLLOWING", "UNBOUNDED", "CURRENT", "ROW", "ASC", "DESC"),
        *("NULLS", "FIRST", "LAST", "EXISTS", "INTERVAL", "DATE", "TIMESTAMP", "USING", "TABLE", "LATERAL", "EXCEPT"),
    )
)
"""Words of queries and windows that are not columns."""
# Functions whose result depends on more than their arguments and the time, or is not one value for each row.
NOT_OF_ONE_ROW = frozenset((*AGGREGATES, *WINDOWS, *GENERATORS, *CHANGING))


@dataclass(frozen=True, slots=True)
class Piece(n.Node):
    """A part of the text without a node class. It becomes Opaque.

    Attributes:
        start: The offset of its first character.
        end: The offset after its last character.
        first: The number of columns before its start.
        last: The number of columns before its end.
        query: Whether it is a query in parentheses.
    """

    start: int
    end: int
    first: int
    last: int
    query: bool = False


class ReadingState:
    """The state of the parser.

    Args:
        text: The expression.
        checked: Whether to refuse expressions that a predicate of rows cannot have.

    Attributes:
        tokens: The tokens of the expression.
        beyond: Start and end of each part whose value depends on other rows, the time or chance.
        without_parentheses: Name, start and end of each name that is a function if the table has no such column.
    """

    def __init__(self, text: str, checked: bool) -> None:
        self.tokens = Tokens(text)
        self.checked = checked
        self.beyond: list[tuple[int, int]] = []
        self.without_parentheses: list[tuple[str, int, int]] = []
        self._found: list[tuple[str, ...]] = []
        self._bound: Counter[str] = Counter()
        self._pieces = False

    @property
    def columns(self) -> tuple[tuple[str, ...], ...]:
        """The name parts of each column in the expression, without duplicates."""
        return tuple(dict.fromkeys(filter(None, self._found)))

    def finished(self, node: n.Node) -> n.Node:
        """A node with every Piece replaced by Opaque. The node must not be nested deeply."""
        if not self._pieces:
            return node
        known: dict[int, n.Node] = {}

        @deep
        def finish(node: n.Node) -> n.Node:
            if isinstance(node, Piece):
                columns = dict.fromkeys(filter(None, self._found[node.first : node.last]))
                return n.Opaque(self.tokens.text[node.start : node.end], tuple(columns))
            if id(node) not in known:
                known[id(node)] = n.transform(node, finish)
            return known[id(node)]

        return finish(node)

    def _mark(self) -> Mark:
        return self.tokens.token.start, len(self._found)

    def _piece(self, mark: Mark, query: bool = False) -> Piece:
        self._pieces = True
        return Piece(mark[0], self.tokens.end, mark[1], len(self._found), query)

    def _name(self) -> str:
        token = self.tokens.token
        if token.kind not in NAMES:
            if token.is_symbol("*"):
                raise self.tokens.error("a star is not a value")
            raise self.tokens.unexpected("a name") if token.kind == "end" else self.tokens.unexpected()
        if not token.text.isascii() and token.kind == "word":
            raise self.tokens.error(f"Spark reads {token.text} in backticks only: `{token.text}`")
        return self.tokens.advance().text

    def _column(self, parts: tuple[str, ...], start: int, quoted: bool = True) -> n.Node:
        if not self._bound or not self._bound[parts[0].lower()]:
            self._found.append(parts)
            if not quoted and len(parts) == 1 and parts[0].lower() in LITERAL_FUNCTIONS:
                self.without_parentheses.append((parts[0], start, self.tokens.end))
        else:
            node: n.Node = n.Variable(parts[0])
            for part in parts[1:]:
                node = n.Call("[]", (node, n.Literal(part, STRING)))
            return node
        return n.Column(parts)

    def _begins_operand(self, count: int) -> bool:
        """Whether the token `count` tokens ahead can begin an operand, after a word that may be a name."""
        after = self.tokens.peek(count)
        if after.kind == "word":
            return after.text.upper() not in AFTER_NAMES or self.tokens.peek(count + 1).is_symbol(".")
        return after.kind in VALUES or (after.kind == "symbol" and after.text in "(-+~:?!")

    def _begins_query(self, count: int = 0) -> bool:
        """Whether the parenthesis `count` tokens ahead contains a query."""
        word, after = self.tokens.peek(count + 1), self.tokens.peek(count + 2)
        if word.kind != "word" or word.text.upper() not in _QUERIES:
            return False
        if word.text.upper() == "SELECT":
            return not (after.kind == "end" or (after.kind == "symbol" and after.text in (",", ")", ".", "=")))
        return after.kind in VALUES or (word.text.upper() == "VALUES" and after.is_symbol("("))

    def _query(self) -> None:
        """Read a query in parentheses."""
        start = self.tokens.token.start
        self._skip()
        self.beyond.append((start, self.tokens.end))

    def _skip(self) -> None:
        """Read a query or a window in parentheses. Names in it may be columns."""
        tokens = self.tokens
        opening = tokens.token.start
        if tokens.key != "(":
            raise tokens.unexpected("(")
        depth = 0
        before = ""
        while True:
            if tokens.token.kind == "end":
                raise tokens.error("a parenthesis is not closed", opening)
            if tokens.token.kind in NAMES:
                before = self._skip_name(before)
                continue
            before = ""
            depth += (tokens.key == "(") - (tokens.key == ")")
            tokens.advance()
            if depth == 0:
                return

    def _skip_name(self, before: str) -> str:
        """Read a name and return its key. The name is a column unless it is a keyword, a table or a function."""
        tokens = self.tokens
        key = tokens.key
        parts = [tokens.advance().text]
        while tokens.key == "." and tokens.peek().kind in NAMES:
            tokens.advance()
            parts.append(tokens.advance().text)
        named = len(parts) == 1 and (key in _NO_COLUMNS or tokens.token.kind == "string")
        if not (named or tokens.key == "(" or before in ("FROM", "JOIN", "AS", "TABLE", "OVER")):
            self._found.append(tuple(parts))
        return key

    def _check_kind(self, name: str, at: int) -> None:
        """Raise PredicateError for a function that WHERE cannot call."""
        if not self.checked:
            return
        for names, kind in ((AGGREGATES, "an aggregate"), (WINDOWS, "a window"), (GENERATORS, "a generator")):
            if name in names:
                raise self.tokens.error(f"{name} is {kind} function, which a predicate of rows cannot call", at)

    def _check_count(self, name: str, count: int, at: int) -> None:
        """Raise PredicateError for a wrong number of arguments. An unknown function may be user-defined."""
        if not self.checked or name not in ARGUMENT_COUNTS:
            return
        least, most = ARGUMENT_COUNTS[name]
        if count >= least and (most is None or count <= most):
            return
        takes = str(least) if least == most else f"{least} or {'more' if most is None else most}"
        if most is not None and most > least + 1:
            takes = f"{least} to {most}"
        arguments = "argument" if takes == "1" else "arguments"
        raise self.tokens.error(f"{name} takes {takes} {arguments}, not {count}", at)
