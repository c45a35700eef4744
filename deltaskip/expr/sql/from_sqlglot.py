"""Conversion of sqlglot's trees to predicate nodes.

Soundness: a tree is converted only if Spark's grammar gives the same one. Every class below has its place in Spark's
precedence. An operand that binds more loosely than its place allows results from sqlglot's precedence, not from
Spark's, and makes the whole Opaque. Parentheses do not hide that, because those of the text are calls of GROUP, and
the remaining ones were added by sqlglot. Classes and arguments that are not listed are Opaque.

# Spark 4.1, SqlBaseParser.g4: expression, booleanExpression, valueExpression, primaryExpression
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from deltaskip.expr.coerce import INTEGRAL_BITS
from deltaskip.expr.intervals import added
from deltaskip.expr.literal_list import LiteralList
from deltaskip.expr.nodes import (
    And,
    Call,
    Case,
    Cast,
    Collate,
    Column,
    Compare,
    In,
    IsNull,
    Like,
    Literal,
    Node,
    Not,
    Opaque,
    Or,
)
from deltaskip.expr.sql.function_aliases import function_node
from deltaskip.expr.sql.lexer import Source
from deltaskip.expr.sql.literals import number_literal
from deltaskip.expr.sql.precedence import (
    AND,
    COMPARED,
    COMPARISON,
    LEVELS,
    NOT,
    OPERATORS,
    OR,
    PRIMARY,
    SIGN,
    Misread,
    NoNode,
    is_postfix_cast,
    level_of,
    only,
    opaque,
    type_of_cast,
)
from deltaskip.expr.sql.tokens import GROUP
from deltaskip.schema.types import BOOLEAN, VOID

__all__ = ["OutOfRange", "to_node"]

_FIELDS = frozenset(("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE"))
_UNIT_FUNCTIONS = frozenset(("timestampadd", "timestampdiff", "dateadd", "datediff", "date_add", "date_diff"))
_ADDING = frozenset(("timestampadd", "dateadd", "date_add"))
_QUANTIFIERS = frozenset(("any", "some", "all"))


class OutOfRange(Exception):
    """A number that does not fit its type."""

    def __init__(self, number: str, reason: str) -> None:
        self.number = number
        self.reason = reason


def to_node(tree: exp.Expression, source: Source) -> Node:
    """Return the node with the meaning of `tree` in Spark; Opaque if there is none.

    Raises OutOfRange, and RecursionError for chains that are too long.
    """
    try:
        return _Reader(source).node(tree)
    except Misread:
        return opaque(tree)


class _Reader:
    """Conversion of one tree. `source` has the nodes of the pieces that were parsed separately."""

    __slots__ = ("source",)

    def __init__(self, source: Source) -> None:
        self.source = source

    def node(self, tree: exp.Expression, loosest: int = OR) -> Node:
        """The node of `tree`, at a place where Spark allows operators that bind at least as tightly as `loosest`."""
        if level_of(tree) < loosest:
            raise Misread
        while type(tree) is exp.Paren:
            tree = tree.this
        rule = _RULES.get(type(tree))
        if rule is None:
            return opaque(tree)
        try:
            return rule(self, tree)
        except NoNode:
            return opaque(tree)

    def operand(self, tree: exp.Expression | None, loosest: int) -> Node:
        if tree is None:
            raise Misread
        return self.node(tree, loosest)

    def inner(self, tree: exp.Expression) -> Node:
        """A complete expression between delimiters."""
        try:
            return self.node(tree)
        except Misread:
            return opaque(tree)

    def chain(self, tree: exp.Expression, kind: type[exp.Expression], level: int) -> tuple[Node, ...]:
        """Operands of AND or OR, from left to right."""
        legs: list[exp.Expression] = []
        while type(tree) is kind:
            only(tree, "this", "expression")
            legs.append(tree.expression)
            tree = tree.this
        return (self.leg(tree, level + 1), *(self.leg(leg, level + 1) for leg in reversed(legs)))

    def leg(self, tree: exp.Expression, loosest: int) -> Node:
        """An operand of AND or OR: a misread part inside of it does not change its extent."""
        if level_of(tree) < loosest:
            raise Misread
        return self.inner(tree)


def _or(reader: _Reader, tree: exp.Expression) -> Node:
    return Or(reader.chain(tree, exp.Or, OR))


def _and(reader: _Reader, tree: exp.Expression) -> Node:
    return And(reader.chain(tree, exp.And, AND))


def _not(reader: _Reader, tree: exp.Expression) -> Node:
    only(tree, "this")
    return Not(reader.operand(tree.this, NOT))


def _compare(reader: _Reader, tree: exp.Expression) -> Node:
    only(tree, "this", "expression")
    left, right = reader.operand(tree.this, COMPARISON), reader.operand(tree.expression, COMPARISON + 1)
    return Compare(COMPARED[type(tree)], left, right)


def _distinct(reader: _Reader, tree: exp.Expression) -> Node:
    return Not(_compare(reader, tree))


def _operator(reader: _Reader, tree: exp.Expression) -> Node:
    only(tree, "this", "expression")
    name, level = OPERATORS[type(tree)]
    return Call(name, (reader.operand(tree.this, level), reader.operand(tree.expression, level + 1)))


def _bitwise(reader: _Reader, tree: exp.Expression) -> Node:
    """Has no node. Its operands must match Spark's, otherwise its extent does not."""
    level = LEVELS[type(tree)]
    reader.operand(tree.this, level)
    reader.operand(tree.expression, level + 1)
    raise NoNode


def _interval(reader: _Reader, tree: exp.Expression) -> Node:
    value = tree.this
    if not isinstance(value.this if isinstance(value, exp.Neg) else value, exp.Literal | exp.Column | exp.Anonymous):
        raise Misread
    raise NoNode


def _is(reader: _Reader, tree: exp.Expression) -> Node:
    only(tree, "this", "expression", "negate")
    operand, test = reader.operand(tree.this, COMPARISON), tree.expression
    match test:
        case exp.Null():
            node: Node = IsNull(operand)
        case exp.Boolean():
            node = Compare("<=>", operand, Literal(bool(test.this), BOOLEAN))
        case exp.Column() if len(test.parts) == 1 and not test.this.quoted and test.name.upper() == "UNKNOWN":
            node = IsNull(operand)
        case _:
            raise Misread
    return Not(node) if tree.args.get("negate") else node


def _in(reader: _Reader, tree: exp.Expression) -> Node:
    only(tree, "this", "expressions")
    operand, items = reader.operand(tree.this, COMPARISON), tree.expressions
    if not items:
        raise Misread
    values: list[Node] = []
    for item in items:
        meant = reader.source.meaning.get(item.this) if isinstance(item, exp.Literal) and not item.is_string else None
        if isinstance(meant, LiteralList) and len(items) == 1:
            return In(operand, meant)
        if isinstance(meant, tuple | LiteralList):
            values += meant
        elif isinstance(meant, Opaque):
            raise NoNode
        else:
            values.append(reader.inner(item))
    return In(operand, tuple(values))


def _between(reader: _Reader, tree: exp.Expression) -> Node:
    only(tree, "this", "low", "high")
    operand = reader.operand(tree.this, COMPARISON)
    low, high = (reader.operand(tree.args.get(name), COMPARISON) for name in ("low", "high"))
    return And((Compare(">=", operand, low), Compare("<=", operand, high)))


def _like(reader: _Reader, tree: exp.Expression, escape: str = "\\") -> Node:
    only(tree, "this", "expression", "negate")
    operand, pattern = reader.operand(tree.this, COMPARISON), tree.expression
    if isinstance(pattern, exp.Anonymous) and pattern.name.lower() in _QUANTIFIERS:
        raise NoNode
    node = Like(operand, reader.operand(pattern, COMPARISON), escape, isinstance(tree, exp.ILike))
    return Not(node) if tree.args.get("negate") else node


def _escape(reader: _Reader, tree: exp.Expression) -> Node:
    only(tree, "this", "expression")
    liked, escape = tree.this, tree.expression
    if type(liked) not in (exp.Like, exp.ILike) or not (isinstance(escape, exp.Literal) and escape.is_string):
        raise Misread
    return _like(reader, liked, escape.this)


def _rlike(reader: _Reader, tree: exp.Expression) -> Node:
    only(tree, "this", "expression", "negate")
    node = Call("rlike", (reader.operand(tree.this, COMPARISON), reader.operand(tree.expression, COMPARISON)))
    return Not(node) if tree.args.get("negate") else node


def _negative(reader: _Reader, tree: exp.Expression) -> Node:
    only(tree, "this")
    operand = tree.this
    if _is_number(reader, operand):
        return _number(operand.this, True)
    inner = operand
    while isinstance(inner, exp.Collate | exp.Bracket | exp.Dot) or is_postfix_cast(inner):
        inner = inner.this
        if _is_number(reader, inner):
            # In Spark the sign is part of the number, before the cast.
            raise NoNode
    return Call("negative", (reader.operand(operand, SIGN),))


def _complement(reader: _Reader, tree: exp.Expression) -> Node:
    only(tree, "this")
    return Call("~", (reader.operand(tree.this, SIGN),))


def _is_number(reader: _Reader, tree: exp.Expression) -> bool:
    return isinstance(tree, exp.Literal) and not tree.is_string and tree.this not in reader.source.meaning


def _literal(reader: _Reader, tree: exp.Expression) -> Node:
    if tree.is_string:
        raise NoNode
    meant = reader.source.meaning.get(tree.this)
    if isinstance(meant, tuple | LiteralList):
        raise NoNode
    return _number(tree.this, False) if meant is None else meant


def _number(text: str, negative: bool) -> Node:
    try:
        return number_literal(text, negative)
    except ValueError as error:
        raise OutOfRange(text, str(error)) from error


def _null(reader: _Reader, tree: exp.Expression) -> Node:
    return Literal(None, VOID)


def _boolean(reader: _Reader, tree: exp.Expression) -> Node:
    return Literal(bool(tree.this), BOOLEAN)


def _column(reader: _Reader, tree: exp.Expression) -> Node:
    only(tree, "this", "table", "db", "catalog")
    if not all(isinstance(part, exp.Identifier) for part in tree.parts):
        raise NoNode
    return Column(tuple([part.this for part in tree.parts]))


def _dot(reader: _Reader, tree: exp.Expression) -> Node:
    """A field of a column with four or more names."""
    only(tree, "this", "expression")
    if not (isinstance(tree.expression, exp.Identifier) and type(tree.this) in (exp.Column, exp.Dot)):
        raise NoNode
    base = reader.node(tree.this)
    if not isinstance(base, Column):
        raise NoNode
    return Column((*base.parts, tree.expression.this))


def _cast(reader: _Reader, tree: exp.Expression) -> Node:
    only(tree, "this", "to")
    type_ = type_of_cast(tree.args.get("to"))
    child = reader.operand(tree.this, PRIMARY) if is_postfix_cast(tree) else reader.inner(tree.this)
    return Cast(child, type_, isinstance(tree, exp.TryCast))


def _collate(reader: _Reader, tree: exp.Expression) -> Node:
    only(tree, "this", "expression")
    operand, name = reader.operand(tree.this, PRIMARY), tree.expression
    if isinstance(name, exp.Column):
        name = name.this
    if not isinstance(name, exp.Identifier | exp.Var):
        raise Misread
    return Collate(operand, name.name)


def _case(reader: _Reader, tree: exp.Expression) -> Node:
    only(tree, "this", "ifs", "default")
    subject, default = (
        None if part is None else reader.inner(part) for part in map(tree.args.get, ("this", "default"))
    )
    branches = [(reader.inner(branch.this), reader.inner(branch.args["true"])) for branch in tree.args["ifs"]]
    if not branches:
        raise NoNode
    if subject is not None:
        branches = [(Compare("=", subject, tested), value) for tested, value in branches]
    return Case(tuple(branches), default)


def _extract(reader: _Reader, tree: exp.Expression) -> Node:
    only(tree, "this", "expression")
    field = tree.this
    if not isinstance(field, exp.Var) or field.name.upper() not in _FIELDS:
        raise NoNode
    return function_node(field.name.lower(), (reader.inner(tree.expression),))


def _call(reader: _Reader, tree: exp.Expression) -> Node:
    only(tree, "this", "expressions")
    name, args = tree.this, tree.expressions
    if not isinstance(name, str) or not all(type(arg) is exp.Paren or type(arg) in _RULES for arg in args):
        raise NoNode
    if name == GROUP:
        if len(args) != 1:
            raise NoNode
        return reader.inner(args[0])
    if name == "+":
        return Call("positive", (reader.operand(args[0], SIGN),))
    if len(args) == 3 and name.lower() in _UNIT_FUNCTIONS:
        return _moved(reader, name.lower(), args)
    return function_node(name.lower(), tuple([reader.inner(arg) for arg in args]))


def _moved(reader: _Reader, name: str, args: list[exp.Expression]) -> Node:
    """`timestampadd(unit, quantity, time)`, whose first argument is a word such as DAY, not a column."""
    unit, quantity = args[0], reader.inner(args[1])
    if name not in _ADDING or not isinstance(unit, exp.Column) or len(unit.parts) != 1 or unit.this.quoted:
        raise NoNode
    match quantity:
        case Literal(int() as count, type_) if type_ in INTEGRAL_BITS:
            interval = added(count, unit.name)
        case _:
            interval = None
    if interval is None:
        raise NoNode
    return Call("timestampadd", (reader.inner(args[2]), interval))


_RULES: Mapping[type[exp.Expression], Callable[[_Reader, exp.Expression], Node]] = {
    exp.Or: _or,
    exp.And: _and,
    exp.Not: _not,
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ), _compare),
    exp.NullSafeNEQ: _distinct,
    **dict.fromkeys(OPERATORS, _operator),
    **dict.fromkeys((exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseAnd), _bitwise),
    **dict.fromkeys((exp.BitwiseLeftShift, exp.BitwiseRightShift), _bitwise),
    exp.Interval: _interval,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like,
    exp.ILike: _like,
    exp.Escape: _escape,
    exp.RegexpLike: _rlike,
    exp.Neg: _negative,
    exp.BitwiseNot: _complement,
    exp.Literal: _literal,
    exp.Null: _null,
    exp.Boolean: _boolean,
    exp.Column: _column,
    exp.Dot: _dot,
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Collate: _collate,
    exp.Case: _case,
    exp.Extract: _extract,
    exp.Anonymous: _call,
}
