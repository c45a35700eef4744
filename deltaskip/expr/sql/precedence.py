"""Precedence of sqlglot's classes in Spark, types of casts, and Opaque nodes for trees without a node."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from deltaskip.expr.nodes import Opaque
from deltaskip.expr.sql.dialect import columns_in
from deltaskip.expr.sql.tokens import GROUP
from deltaskip.schema.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
)

__all__ = [
    "AND",
    "BIT_AND",
    "BIT_OR",
    "BIT_XOR",
    "COMPARED",
    "COMPARISON",
    "LEVELS",
    "NOT",
    "OPERATORS",
    "OR",
    "PREDICATE",
    "PRIMARY",
    "PRODUCT",
    "SHIFT",
    "SIGN",
    "SUM",
    "Misread",
    "NoNode",
    "is_postfix_cast",
    "level_of",
    "only",
    "opaque",
    "type_of_cast",
]

OR, AND, NOT, PREDICATE, COMPARISON, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, SIGN, PRIMARY = range(13)

COMPARED = {
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.NullSafeNEQ: "<=>",
}
OPERATORS = {
    exp.Add: ("+", SUM),
    exp.Sub: ("-", SUM),
    exp.DPipe: ("concat", SUM),
    exp.Mul: ("*", PRODUCT),
    exp.Div: ("/", PRODUCT),
    exp.Mod: ("%", PRODUCT),
    exp.IntDiv: ("div", PRODUCT),
}
# Arguments that sqlglot adds itself, without meaning here.
_IGNORED_ARGS = frozenset(("typed", "safe", "requires_string", "nested"))

LEVELS: dict[type[exp.Expression], int] = {
    exp.Or: OR,
    exp.And: AND,
    exp.Not: NOT,
    **dict.fromkeys((exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.RegexpLike, exp.Escape), PREDICATE),
    **dict.fromkeys(COMPARED, COMPARISON),
    # `<=>` is a comparison and IS DISTINCT FROM a predicate; the tree does not distinguish them.
    **dict.fromkeys((exp.NullSafeEQ, exp.NullSafeNEQ), PREDICATE),
    exp.BitwiseOr: BIT_OR,
    exp.BitwiseXor: BIT_XOR,
    exp.BitwiseAnd: BIT_AND,
    exp.BitwiseLeftShift: SHIFT,
    exp.BitwiseRightShift: SHIFT,
    **{kind: level for kind, (_, level) in OPERATORS.items()},
    exp.Neg: SIGN,
    exp.BitwiseNot: SIGN,
    **dict.fromkeys((exp.Column, exp.Literal, exp.Null, exp.Boolean, exp.Anonymous, exp.Case, exp.Cast), PRIMARY),
    **dict.fromkeys((exp.TryCast, exp.Extract, exp.Collate, exp.Dot, exp.Bracket, exp.Interval), PRIMARY),
    **dict.fromkeys((exp.Placeholder, exp.Array), PRIMARY),
}

_TYPES: Mapping[str, DataType] = {
    "BOOLEAN": BOOLEAN,
    "TINYINT": BYTE,
    "SMALLINT": SHORT,
    "INT": INTEGER,
    "BIGINT": LONG,
    "FLOAT": FLOAT,
    "DOUBLE": DOUBLE,
    "DATE": DATE,
    "TIMESTAMPTZ": TIMESTAMP,
    "TIMESTAMPLTZ": TIMESTAMP,
    "TIMESTAMPNTZ": TIMESTAMP_NTZ,
    "TEXT": STRING,
    "BINARY": BINARY,
}


class NoNode(Exception):
    """There is no node for a tree, or Spark reads it differently."""


class Misread(Exception):
    """Spark groups the operands differently: the enclosing tree cannot be trusted."""


def level_of(tree: exp.Expression) -> int:
    """Precedence of the outermost operator. Classes without one bind least."""
    while type(tree) is exp.Paren:
        tree = tree.this
    if type(tree) is exp.Anonymous and tree.this == "+":
        return SIGN
    return LEVELS.get(type(tree), -1)


def opaque(tree: exp.Expression) -> Opaque:
    """The Opaque node of a tree: its SQL and its columns."""
    shown = tree.copy().transform(_with_parentheses)
    return Opaque(shown.sql(dialect="spark"), columns_in(tree))


def _with_parentheses(tree: exp.Expression) -> exp.Expression:
    return exp.Paren(this=tree.expressions[0]) if _is_group(tree) else tree


def _is_group(tree: exp.Expression) -> bool:
    return isinstance(tree, exp.Anonymous) and tree.this == GROUP and len(tree.expressions) == 1


def only(tree: exp.Expression, *names: str) -> None:
    """Raise if the tree has other arguments than these and those that sqlglot adds itself."""
    for name, value in tree.args.items():
        if name not in names and name not in _IGNORED_ARGS and value not in (None, False, []):
            raise Misread


def is_postfix_cast(tree: exp.Expression) -> bool:
    """Whether the tree is `x::type`, which has `safe=False`; CAST(x AS type) has no `safe`."""
    return isinstance(tree, exp.Cast) and tree.args.get("safe") is False


def type_of_cast(tree: exp.Expression | None) -> DataType:
    """The type of a CAST. Raises NoNode for a type that is not supported."""
    if not isinstance(tree, exp.DataType):
        raise NoNode
    only(tree, "this", "expressions")
    name = getattr(tree.this, "value", "")
    sizes = [int(size.name) for size in tree.expressions]
    if name == "DECIMAL":
        return DecimalType(*(sizes or [10]), *([0] if len(sizes) < 2 else []))
    if sizes or name not in _TYPES:
        raise NoNode
    return _TYPES[name]
