"""Parses Spark expressions to nodes, with Spark's precedence and non-reserved keywords, and without recursion.

Every rule is a generator that yields its inner rules, and `_run` keeps the rules on a stack: only memory limits the
depth of an expression. An expression without a node class becomes Opaque, with its text and columns. A rule returns a
`Piece` for it, which grows while operators follow and becomes Opaque at the end of the text: no text is copied twice.

# Spark 4.1, SqlBaseParser.g4: expression, booleanExpression, predicate, valueExpression, primaryExpression
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from deltaskip.errors import InvalidArgumentType, PredicateError
from deltaskip.lazy_regex import regex
from deltaskip.sparkexpr import nodes
from deltaskip.sparkexpr.bind import bind_expression
from deltaskip.sparkexpr.coerce import type_of
from deltaskip.sparkexpr.functions.by_name import function_node
from deltaskip.sparkexpr.literal_list import SHORTEST, LiteralList, integers, text_list
from deltaskip.sparkexpr.text import pieces
from deltaskip.sparkexpr.text.primaries import Primaries
from deltaskip.sparkexpr.text.tokens import NAMES
from deltaskip.sparkexpr.types import data_types as t
from deltaskip.sparkexpr.types.resolve import fold_name
from deltaskip.sparkexpr.values.arrow_values import arrow_array

_CALLED = {
    **{operator: operator for operator in ("+", "-", "*", "/", "%", "&", "|", "^")},
    "DIV": "div",
    "||": "concat",
    "<<": "shiftleft",
    ">>": "shiftright",
    ">>>": "shiftrightunsigned",
}
# Tokens that end an operand.
_ENDS, _SUM_ENDS = (")", ","), (")", ",", "+", "-")
_SIGNS = {"-": "negative", "+": "positive", "~": "~"}


_INTEGERS = r"-?[0-9]{1,18}+[Ll]?(?:\s*+,\s*+-?[0-9]{1,18}+[Ll]?)"
_STRINGS = r"'[^'\\]*+'(?:\s*+,\s*+'[^'\\]*+')"
_LIST = regex(
    rf"(?:(?P<integers>{_INTEGERS}{{{SHORTEST - 1},}}+)|(?P<strings>{_STRINGS}{{{SHORTEST - 1},}}+))(?=\s*\))", re.ASCII
)
_INTEGER = regex(r"-?[0-9]+")
_LONG = regex(r"(-?[0-9]+)([Ll]?)")
_STRING = regex(r"'([^']*)'")
# The nodes of texts of at most this many characters are cached.
_SHORT = 1000
# Each part that is used twice, as by BETWEEN, takes more characters than make a text of this length too large.
_SMALL = 100


def long_list_at(text: str, at: int) -> tuple[tuple[nodes.Literal, ...] | LiteralList, int] | None:
    """Return the values of a long list whose first value begins at `at`, and its end; None for other lists."""
    match = _LIST.match(text, at)
    if match is None:
        return None
    values = _integers(match[0]) if match.lastgroup == "integers" else _strings(match[0])
    return values, match.end()


def _integers(run: str) -> tuple[nodes.Literal, ...] | LiteralList:
    if "L" in run or "l" in run:
        suffixed = [(int(digits), suffix) for digits, suffix in _LONG.findall(run)]
        return tuple(
            [nodes.Literal(n, t.LONG if suffix or not -(2**31) <= n < 2**31 else t.INTEGER) for n, suffix in suffixed]
        )
    return integers(np.array(list(map(int, _INTEGER.findall(run))), np.int64))


def _strings(run: str) -> tuple[nodes.Literal, ...] | LiteralList:
    values = _STRING.findall(run)
    try:
        return text_list(arrow_array(values, pa.string()))
    except UnicodeEncodeError:
        # A string has an unpaired surrogate. Uses of the literal refuse it.
        return tuple([nodes.Literal(value, t.STRING) for value in values])


class ExpressionReader(Primaries):
    """Parses one expression.

    Args:
        text: The expression.
        checked: Whether to refuse expressions that a predicate of rows cannot have: aggregates, parameters without a
            value, and functions with a wrong number of arguments.

    Attributes:
        node: The node of the expression, which may be nested deeply. It has Piece nodes, which `finished` makes Opaque.

    Raises PredicateError for a text that Spark cannot parse.
    """

    def __init__(self, text: str, checked: bool = True) -> None:
        super().__init__(text, checked)
        if self.tokens.token.kind == "end":
            raise self.tokens.error("it is empty", 0)
        mark = self._mark()
        node = _run(self._expression())
        if self.tokens.key == "AS" and self.tokens.peek().kind in NAMES and self.tokens.peek(2).kind == "end":
            # Spark ignores the alias of a predicate.
            self.tokens.advance()
            self.tokens.advance()
            node = self._piece(mark)
        if self.tokens.token.kind != "end":
            raise self.tokens.unexpected()
        self.node = node

    def _expression(self, given: pieces.Given | None = None) -> pieces.Rule:
        """booleanExpression."""
        tokens = self.tokens
        either: list[nodes.Node] = []
        legs: list[nodes.Node] = []
        while True:
            negations = 0
            while given is None and tokens.key in ("NOT", "!") and self._negates():
                tokens.advance()
                negations += 1
            leg = yield from self._predicated(given)
            given = None
            for _ in range(negations):
                leg = nodes.Not(leg)
            legs.append(leg)
            if tokens.take("AND"):
                continue
            either.append(legs[0] if len(legs) == 1 else nodes.And(tuple(legs)))
            if not tokens.take("OR"):
                return either[0] if len(either) == 1 else nodes.Or(tuple(either))
            legs = []

    def _negates(self) -> bool:
        """Whether NOT is a negation, and not a column."""
        after = self.tokens.peek()
        if after.kind == "word" and after.text.upper() in (*pieces.PREDICATES, "DIV"):
            # The word may be the function like(a, b), or a column.
            return self.tokens.peek(2).is_symbol("(") or not self._begins_operand(2)
        return self.tokens.key == "!" or self._begins_operand(1)

    def _predicated(self, given: pieces.Given | None) -> pieces.Rule:
        """valueExpression predicate?, or EXISTS (query)."""
        tokens = self.tokens
        mark = self._mark() if given is None else given[1]
        if tokens.key == "EXISTS" and tokens.peek().is_symbol("(") and self._begins_query(1):
            tokens.advance()
            self._query()
            return self._piece(mark)
        left = yield from self._value(pieces.COMPARISON, given)
        if tokens.key == "IS":
            return (yield from self._is(left))
        negated = tokens.key == "NOT" and tokens.peek().is_word(*pieces.PREDICATES)
        if negated:
            tokens.advance()
        key = tokens.key
        if key not in pieces.PREDICATES:
            return left
        tokens.advance()
        match key:
            case "IN":
                node = yield from self._in(left, mark)
            case "BETWEEN":
                low = yield self._value(pieces.COMPARISON)
                tokens.expect("AND")
                high = yield self._value(pieces.COMPARISON)
                node = nodes.Between((nodes.Compare(">=", left, low), nodes.Compare("<=", left, high)))
            case "RLIKE" | "REGEXP":
                node = nodes.Call("rlike", (left, (yield self._value(pieces.COMPARISON))))
            case _:
                return (yield from self._like(left, key == "ILIKE", negated))
        return nodes.Not(node) if negated and not isinstance(node, pieces.Piece) else node

    def _is(self, left: nodes.Node) -> pieces.Rule:
        """IS [NOT] NULL | TRUE | FALSE | UNKNOWN | DISTINCT FROM value."""
        tokens = self.tokens
        tokens.advance()
        negated = tokens.take("NOT")
        key = tokens.key
        if key not in ("NULL", "UNKNOWN", "TRUE", "FALSE", "DISTINCT"):
            raise tokens.error("IS is followed by NULL, TRUE, FALSE, UNKNOWN or DISTINCT FROM")
        tokens.advance()
        if key == "DISTINCT":
            tokens.expect("FROM")
            same = nodes.Compare("<=>", left, (yield self._value(pieces.COMPARISON)))
            return same if negated else nodes.Not(same)
        node = (
            nodes.Compare("<=>", left, nodes.Literal(key == "TRUE", t.BOOLEAN))
            if key in ("TRUE", "FALSE")
            else nodes.IsNull(left)
        )
        return nodes.Not(node) if negated else node

    def _in(self, left: nodes.Node, mark: pieces.Mark) -> pieces.Rule:
        """`(value, …)` or `(query)`, after IN."""
        tokens = self.tokens
        if tokens.key != "(":
            raise tokens.error("IN needs a list in parentheses, such as IN (1, 2)")
        if self._begins_query() and tokens.peek(2).kind != "string":
            self._query()
            return self._piece(mark)
        tokens.advance()
        if tokens.key == ")":
            raise tokens.error("the list of IN is empty")
        found = long_list_at(tokens.text, tokens.token.start)
        if found is not None:
            tokens.jump(found[1])
            tokens.expect(")")
            return nodes.In(left, found[0])
        values: list[nodes.Node] = []
        while True:
            value = self._constant()
            values.append((yield self._expression()) if value is None else value)
            if not tokens.take(","):
                break
        tokens.expect(")", "a parenthesis is not closed")
        if len(values) == 1 and isinstance(values[0], pieces.Piece) and values[0].query:
            return self._piece(mark)
        return nodes.In(left, tuple(values))

    def _constant(self) -> nodes.Node | None:
        """A number or string before a comma or a parenthesis, read without a rule; None for other operands."""
        token, after = self.tokens.token, self.tokens.peek()
        if token.kind not in ("number", "string") or not (after.is_symbol(",") or after.is_symbol(")")):
            return None
        return self._number() if token.kind == "number" else nodes.Literal(self.tokens.advance().text, t.STRING)

    def _like(self, left: nodes.Node, insensitive: bool, negated: bool) -> pieces.Rule:
        """`[ANY | SOME | ALL] pattern [ESCAPE character]`, after LIKE or ILIKE."""
        tokens = self.tokens
        given = None
        quantifier = tokens.key
        if quantifier in ("ANY", "SOME", "ALL") and tokens.peek().is_symbol("("):
            mark = self._mark()
            tokens.advance()
            tokens.advance()
            patterns: list[nodes.Node] = []
            while tokens.key != ")" or patterns:
                patterns.append((yield self._expression()))
                if not tokens.take(","):
                    break
            closing = tokens.token.start
            tokens.expect(")", "a parenthesis is not closed")
            if tokens.key not in (*pieces.LEVELS, *pieces.FOLLOWING, "ESCAPE"):
                if not patterns:
                    raise tokens.error("a value is missing", closing)
                likes = [nodes.Like(left, pattern, case_insensitive=insensitive) for pattern in patterns]
                legs = tuple(map(nodes.Not, likes) if negated else likes)
                return legs[0] if len(legs) == 1 else nodes.And(legs) if quantifier == "ALL" else nodes.Or(legs)
            # The quantifier is the name of a function.
            self._check_kind(quantifier.lower(), mark[0])
            given = function_node(quantifier.lower(), tuple(patterns)), mark
        pattern = yield self._value(pieces.COMPARISON, given)
        escape = "\\"
        if tokens.take("ESCAPE"):
            at = tokens.token.start
            escape = self._strings() if tokens.token.kind == "string" else ""
            if len(escape) != 1:
                raise tokens.error("ESCAPE requires a string of one character", at)
        like = nodes.Like(left, pattern, escape, insensitive)
        return nodes.Not(like) if negated else like

    def _value(self, least: int, given: pieces.Given | None = None) -> pieces.Rule:
        """valueExpression with operators of level `least` and above, which bind at least as tightly."""
        tokens = self.tokens
        mark = self._mark() if given is None else given[1]
        left = yield from self._operand(given)
        while True:
            operator = self._operator()
            level = pieces.LEVELS.get(operator, 0)
            if not level or level < least:
                return left
            for _ in range(len(operator) if operator[:2] == ">>" else 1):
                tokens.advance()
            right = self._plain_operand(level)
            if right is None:
                right = yield self._value(level + 1)
            if operator in pieces.COMPARISON_SIGNS:
                left = nodes.Compare(pieces.COMPARISON_SIGNS[operator], left, right)
            elif operator in _CALLED:
                left = nodes.Call(_CALLED[operator], (left, right))
            else:
                left = self._piece(mark)

    def _operator(self) -> str:
        """The next operator, or the key of the next token."""
        tokens = self.tokens
        if tokens.key != ">":
            return tokens.key
        count, end = 1, tokens.token.end
        while count < 3 and tokens.peek(count).is_symbol(">") and tokens.peek(count).start == end:
            end += 1
            count += 1
        return ">" * count

    def _plain_operand(self, level: int) -> nodes.Node | None:
        """A number, a string or a name before a weaker operator, read without a rule; None for other operands."""
        tokens = self.tokens
        token, after = tokens.token, tokens.peek()
        if after.kind == "word" and after.text.upper() not in ("AND", "OR"):
            return None
        if after.kind not in ("word", "end") and after.text not in (_SUM_ENDS if level >= pieces.SUM else _ENDS):
            return None
        match token.kind:
            case "number":
                return self._number()
            case "string":
                return nodes.Literal(tokens.advance().text, t.STRING)
            case "name" | "word" if tokens.key not in ("NULL", "TRUE", "FALSE", "INTERVAL", "CASE"):
                return self._column((self._name(),), token.start, token.kind == "name")
        return None

    def _operand(self, given: pieces.Given | None = None) -> pieces.Rule:
        """Signs, a primary expression, and its postfix operators."""
        tokens = self.tokens
        signs: list[str] = []
        if given is None:
            while tokens.key in _SIGNS and not (tokens.key == "-" and tokens.peek().kind == "number"):
                signs.append(_SIGNS[tokens.advance().text])
            mark = self._mark()
            node = yield from self._primary()
        else:
            node, mark = given
        while tokens.key in pieces.FOLLOWING:
            node = yield from self._followed(node, mark)
        for sign in reversed(signs):
            node = nodes.Call(sign, (node,))
        return node


def _run(rule: pieces.Rule) -> nodes.Node:
    """The node of a rule."""
    pending: list[pieces.Rule] = [rule]
    found: Any = None
    while pending:
        try:
            inner = pending[-1].send(found)
        except StopIteration as done:
            pending.pop()
            found = done.value
        else:
            pending.append(inner)
            found = None
    node: nodes.Node = found
    return node


def parse_sql(text: str) -> nodes.Node:
    """Parse a predicate in Spark SQL. Names are not resolved.

    TIMESTAMP literals without a zone become casts, which `bind` folds in the session's time zone.

    Args:
        text: The predicate, such as "id > 5 AND name LIKE 'k%'".

    Raises:
        PredicateError: Spark cannot parse the text. The message has the line, the column and the text.
        InvalidArgumentType: `text` is not a str.
    """
    if not isinstance(text, str):
        raise InvalidArgumentType.of("A predicate", "a str", text)
    return _again(text) if len(text) <= _SHORT else _parsed(text)


def _parsed(text: str) -> nodes.Node:
    read = ExpressionReader(text)
    if len(text) > _SMALL and nodes.is_too_large(read.node):
        return nodes.Opaque(text, read.columns)
    return read.finished(read.node)


_again = lru_cache(maxsize=64)(_parsed)


def type_of_text(text: str, schema: t.StructType) -> t.DataType | None:
    """Return the type of an expression over columns; None if deltaskip does not know it."""
    try:
        return type_of(bind_expression(parse_sql(text), schema))
    except PredicateError:
        return None


def is_valid_sql(text: str) -> bool:
    """Return whether `text` parses as one expression."""
    return _read(text) is not None


def columns_in(text: str, schema: t.StructType | None = None) -> tuple[tuple[str, ...], ...]:
    """Return the name parts of each column in an SQL text, without duplicates; () if the text cannot be parsed.

    schema: The columns of the table. A name such as `current_date` is a function, and left out, if the schema has no
    such column. None keeps all names.
    """
    read = _read(text)
    if read is None:
        return ()
    if schema is None:
        return read.columns
    functions = {name for name, _, _ in _functions(read, schema)}
    return tuple(parts for parts in read.columns if len(parts) > 1 or parts[0] not in functions)


def beyond_one_row(text: str, schema: t.StructType) -> list[str]:
    """Return the parts of an SQL text whose value depends on other rows, the time or chance, such as `rand()`.

    The parts are in the order of the text, an outer part before its inner parts. Unknown functions are left out. An
    empty list if the text cannot be parsed.
    """
    read = _read(text)
    if read is None:
        return []
    places = [*read.beyond, *((start, end) for _, start, end in _functions(read, schema))]
    return [text[start:end] for start, end in sorted(places, key=lambda part: (part[0], -part[1]))]


def _functions(read: ExpressionReader, schema: t.StructType) -> list[tuple[str, int, int]]:
    """Name, start and end of each function without parentheses: a name that no column has."""
    columns = set(map(fold_name, schema.names))
    return [each for each in read.without_parentheses if fold_name(each[0]) not in columns]


def _read(text: str) -> ExpressionReader | None:
    try:
        return ExpressionReader(text, checked=False)
    except PredicateError:
        return None
