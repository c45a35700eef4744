"""Parsing of Spark SQL predicates: sqlglot parses, and trees that match Spark's grammar become nodes.

SQL without a node becomes Opaque, which keeps files. Text outside of the supported vocabulary is passed to sqlglot's
own Spark dialect, which decides between Opaque and an error.
"""

from __future__ import annotations

from deltaskip.expr.nodes import Node, Opaque, is_too_large
from deltaskip.expr.sql.dialect import ParseError, Token, TokenType, columns_in, is_valid_sql, parse_tokens
from deltaskip.expr.sql.from_sqlglot import OutOfRange, to_node
from deltaskip.expr.sql.lexer import Source, Unreadable
from deltaskip.expr.sql.literals import predicate_error
from deltaskip.expr.sql.slips import refuse_slips
from deltaskip.expr.sql.tokens import GROUP, enclosing_call, fold, read_tokens

__all__ = ["parsed"]

# sqlglot uses about twenty calls for a parenthesis, so groups nested this deep are parsed separately.
_GROUPS_AT_ONCE = 8


def parsed(text: str) -> Node:
    """Return the node of a predicate; see `parse_sql` in `on_demand.py`. Raises PredicateError."""
    source = Source(text)
    try:
        tokens = read_tokens(source)
        if not tokens:
            raise predicate_error(text, 0, "it is empty")
        refuse_slips(text, tokens)
        node = _parse(source, _without_deep_groups(source, tokens))
    except Unreadable:
        return Opaque(text)
    except RecursionError:
        return Opaque(text, columns_in(text))
    return Opaque(text, columns_in(text)) if is_too_large(node) else node


def _parse(source: Source, tokens: list[Token]) -> Node:
    """The node of `tokens`. Calls and groups that only sqlglot's own dialect can parse become Opaque."""
    while True:
        try:
            return to_node(parse_tokens(tokens, source.text), source)
        except OutOfRange as error:
            raise predicate_error(source.text, source.text.find(error.number), error.reason) from error
        except ParseError as error:
            at, start, reason = _place(error, tokens)
            around = enclosing_call(tokens, at) or (0, len(tokens) - 1)
            piece = source.piece(tokens[around[0]], tokens[around[1]])
            if not is_valid_sql(piece):
                raise predicate_error(source.text, start, reason) from None
            if around == (0, len(tokens) - 1):
                return Opaque(piece, columns_in(piece))
            tokens = fold(source, tokens, *around)


def _place(error: ParseError, tokens: list[Token]) -> tuple[int, int, str]:
    """Index of the token at which sqlglot stopped, the place for the message, and the reason."""
    first = error.errors[0] if error.errors else {}
    place = (first.get("line"), first.get("col"))
    at = next((index for index, token in enumerate(tokens) if (token.line, token.col) == place), len(tokens) - 1)
    reason = str(first.get("description") or error).rstrip(".")
    if not reason.startswith("Required keyword"):
        return at, tokens[at].start, "this is unexpected" if "Unexpected" in reason else reason
    start = tokens[at + 1].start if at + 1 < len(tokens) else tokens[at].end + 1
    return at, start, "an operand is missing"


def _without_deep_groups(source: Source, tokens: list[Token]) -> list[Token]:
    """`tokens` with deeply nested groups already parsed, innermost first."""
    if sum(token.token_type == TokenType.VAR and token.text == GROUP for token in tokens) <= _GROUPS_AT_ONCE:
        return tokens
    groups: list[list[Token]] = [[]]
    # Open parentheses of calls and lists inside of each group, and whether the group is a tuple.
    inside, tuples = [0], [False]
    for token in tokens:
        kind = token.token_type
        if kind == TokenType.VAR and token.text == GROUP:
            groups.append([])
            inside.append(-1)
            tuples.append(False)
        groups[-1].append(token)
        if kind == TokenType.L_PAREN:
            inside[-1] += 1
        elif kind == TokenType.R_PAREN and inside[-1] > 0:
            inside[-1] -= 1
        elif kind == TokenType.R_PAREN and len(groups) > 1:
            group = groups.pop()
            inside.pop()
            if not tuples.pop() and len(groups) % _GROUPS_AT_ONCE == 0:
                group = [source.aside(_parse(source, group[2:-1]), group[0], group[-1])]
            groups[-1] += group
        elif kind == TokenType.COMMA and inside[-1] == 0:
            tuples[-1] = True
    return [token for group in groups for token in group]
