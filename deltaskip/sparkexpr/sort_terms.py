"""Terms of ORDER BY: an expression, its direction, and the place of NULLs."""

from __future__ import annotations

from collections.abc import Sequence

from deltaskip.doors import door
from deltaskip.errors import PredicateError, SchemaError
from deltaskip.records import dataclass
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.text.render import to_sql
from deltaskip.sparkexpr.text.sql_text import SqlToken, sql_tokens

_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")


@door
@dataclass(frozen=True, slots=True)
class SortTerm:
    """An expression by whose values rows are sorted.

    Attributes:
        node: The expression, not bound.
        descending: Whether large values come first.
        nulls_first: Whether NULLs come first. Spark's default is first in ascending order, and last in descending.
    """

    node: Node
    descending: bool
    nulls_first: bool

    @staticmethod
    def texts(text: str) -> list[tuple[str, bool, bool]]:
        """Return the parts of each term of ORDER BY, see `sort_texts`. text: Terms such as `ts DESC, id`."""
        return sort_texts(text)

    def __str__(self) -> str:
        direction = "DESC" if self.descending else "ASC"
        return f"{to_sql(self.node)} {direction} NULLS {'FIRST' if self.nulls_first else 'LAST'}"


def sort_texts(text: str) -> list[tuple[str, bool, bool]]:
    """Return the expression of each term of ORDER BY, whether large values come first, and whether NULLs do.

    Raises PredicateError if a quote or bracket is not closed, or a term has no expression.
    """
    try:
        tokens = sql_tokens(text)
    except SchemaError as error:
        raise PredicateError(str(error)) from error
    terms: list[list[SqlToken]] = [[]]
    depth = 0
    for token in tokens:
        depth += (token.kind == "symbol") * ((token.text in _OPENING) - (token.text in _CLOSING))
        if depth == 0 and token.is_symbol(","):
            terms.append([])
        else:
            terms[-1].append(token)
    return [_term(text, each) for each in terms]


def _term(text: str, tokens: Sequence[SqlToken]) -> tuple[str, bool, bool]:
    rest = list(tokens)
    nulls_first: bool | None = None
    if len(rest) > 2 and rest[-2].is_word("NULLS") and rest[-1].is_word("FIRST", "LAST"):
        nulls_first = rest[-1].is_word("FIRST")
        del rest[-2:]
    descending = len(rest) > 1 and rest[-1].is_word("DESC")
    if descending or (len(rest) > 1 and rest[-1].is_word("ASC")):
        del rest[-1]
    if not rest:
        raise PredicateError(f"Cannot sort by {text!r}: a term has no expression; write terms such as 'ts DESC, id'.")
    return text[rest[0].start : rest[-1].end], descending, not descending if nulls_first is None else nulls_first
