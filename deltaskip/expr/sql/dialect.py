"""sqlglot's Spark dialect restricted to Spark's expressions: no keywords of queries, no rewritten functions.

Importing this module loads sqlglot, which takes a while.

# Spark 4.1, SqlBaseParser.g4: expression, booleanExpression, valueExpression, primaryExpression
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokens import Token, TokenType

from deltaskip.expr.clock import CLOCK_FUNCTIONS
from deltaskip.expr.spark_functions import AGGREGATES, CHANGING, GENERATORS, WINDOWS
from deltaskip.expr.sql.plain import WORDS

__all__ = [
    "ParseError",
    "SqlglotError",
    "Token",
    "TokenType",
    "columns_in",
    "is_valid_sql",
    "new_token",
    "parse_tokens",
    "tokenize",
]

_SPARK = Dialect.get_or_raise("spark")

_OPERATORS = frozenset(("==", "::", "||", ">=", "<=", "<>", "!=", "<=>", "->", "=>"))


class _Tokenizer(Spark.Tokenizer):  # type: ignore[misc]
    """Keywords and operators of expressions only. Number suffixes stay part of the number."""

    KEYWORDS: ClassVar[dict[Any, Any]] = {
        **{text: kind for text, kind in Spark.Tokenizer.KEYWORDS.items() if text in WORDS or text in _OPERATORS},
        "REGEXP": TokenType.RLIKE,
        "!<": TokenType.GTE,
        "!>": TokenType.LTE,
    }
    NUMERIC_LITERALS: ClassVar[dict[str, str]] = {}
    HEX_STRINGS: ClassVar[list[Any]] = []
    COMMANDS: ClassVar[set[TokenType]] = set()


class _Parser(Spark.Parser):  # type: ignore[misc]
    """Keeps names and argument order of functions. Comparisons have one precedence and associate to the left."""

    STRICT_CAST = True
    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[Any, Any]] = {
        name: Spark.Parser.FUNCTION_PARSERS[name] for name in ("CAST", "TRY_CAST", "EXTRACT")
    }
    FUNC_TOKENS = frozenset(Spark.Parser.FUNC_TOKENS) - {TokenType.AND, TokenType.OR}
    NO_PAREN_FUNCTIONS: ClassVar[dict[TokenType, Any]] = {}
    NO_PAREN_FUNCTION_PARSERS: ClassVar[dict[Any, Any]] = {"CASE": Spark.Parser.NO_PAREN_FUNCTION_PARSERS["CASE"]}
    EQUALITY: ClassVar[dict[TokenType, Any]] = {}
    COMPARISON: ClassVar[dict[Any, Any]] = {**Spark.Parser.COMPARISON, **Spark.Parser.EQUALITY}
    # sqlglot drops a unary plus, which converts a string to a double.
    UNARY_PARSERS: ClassVar[dict[Any, Any]] = {
        **Spark.Parser.UNARY_PARSERS,
        TokenType.PLUS: lambda self: self.expression(exp.Anonymous(this="+", expressions=[self._parse_unary()])),
    }
    # `x::type` is distinguished from CAST by its `safe`.
    COLUMN_OPERATORS: ClassVar[dict[Any, Any]] = {
        **Spark.Parser.COLUMN_OPERATORS,
        TokenType.DCOLON: lambda self, this, to: self.expression(exp.Cast(this=this, to=to, safe=False)),
    }


def tokenize(text: str) -> list[Token]:
    """The tokens of `text` from sqlglot. Raises SqlglotError."""
    return list(_Tokenizer(dialect=_SPARK).tokenize(text))


def new_token(kind: TokenType, text: str, first: Token, last: Token) -> Token:
    """A token that replaces those from `first` to `last`."""
    return Token(kind, text, first.line, first.col, first.start, last.end)


def parse_tokens(tokens: list[Token], text: str) -> exp.Expression:
    """The tree of one expression. Raises ParseError."""
    trees = _Parser(dialect=_SPARK).parse_into(exp.Condition, tokens, text)
    if len(trees) != 1 or trees[0] is None:
        raise ParseError("There is no expression.")
    return trees[0]


# Functions whose result does not follow from their arguments, or is not one value of the row; the last is of sqlglot.
_NOT_OF_ONE_ROW = frozenset(
    (
        *(*AGGREGATES, *WINDOWS, *GENERATORS, *CHANGING),
        *(name.removesuffix("()") for name in CLOCK_FUNCTIONS),
        "current_datetime",
    )
)


def is_valid_sql(text: str) -> bool:
    """Whether sqlglot's own Spark dialect parses `text` as one expression."""
    return _stock_tree(text) is not None


def columns_in(tree: exp.Expression | str) -> tuple[tuple[str, ...], ...]:
    """Parts of the columns in a tree or an SQL text, without duplicates; empty if the text cannot be parsed."""
    parsed = _stock_tree(tree) if isinstance(tree, str) else tree
    found: dict[tuple[str, ...], None] = {}
    for column in parsed.find_all(exp.Column) if parsed is not None else ():
        parts = [part.name for part in column.parts]
        above = column.parent
        # Beyond four parts sqlglot wraps the column in the rest of the name.
        while isinstance(above, exp.Dot) and isinstance(above.expression, exp.Identifier):
            parts.append(above.expression.name)
            above = above.parent
        if not isinstance(column.this, exp.Star) and not _names_collation(column):
            found[tuple(parts)] = None
    return tuple(found)


def _names_collation(column: exp.Column) -> bool:
    """Whether sqlglot has read the name of a collation as a column."""
    return column.arg_key == "collate" or (isinstance(column.parent, exp.Collate) and column.arg_key == "expression")


def beyond_one_row(text: str) -> str | None:
    """The first part of an SQL text that other rows, the time or chance decide: an aggregate, a subquery, rand().

    None if there is no such part, as far as functions are known, or the text cannot be parsed.
    """
    tree = _stock_tree(text)
    for node in tree.walk() if tree is not None else ():
        if isinstance(node, (exp.AggFunc, exp.Window, exp.Query)) or not _NOT_OF_ONE_ROW.isdisjoint(_names(node)):
            return str(node.sql(dialect=_SPARK))
    return None


def _names(node: exp.Expression) -> Iterator[str]:
    """The names that a call may have in a text, in lower case; none if the node is no call."""
    if isinstance(node, exp.Anonymous):
        yield node.name.lower()
    elif isinstance(node, exp.Func):
        yield from map(str.lower, node.sql_names())
    elif isinstance(node, exp.Any) and not isinstance(node.parent, (exp.Like, exp.ILike)):
        # Of LIKE ANY it is no call.
        yield "any"


def _stock_tree(text: str) -> exp.Expression | None:
    try:
        trees = _SPARK.parse_into(exp.Condition, text)
    except (SqlglotError, RecursionError):
        return None
    return trees[0] if len(trees) == 1 else None
