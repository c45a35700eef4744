"""Predicates as Python expressions: `col("id") > 5`, `col("n.a").isin(1, 2) & ~col("s").like("k%")`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, NoReturn

from deltaskip.doors import door
from deltaskip.errors import InvalidArgumentType, PredicateError, SchemaError, nearest
from deltaskip.lazy_regex import regex
from deltaskip.records import dataclass
from deltaskip.sparkexpr import nodes as n
from deltaskip.sparkexpr.nodes import Node
from deltaskip.sparkexpr.python_values import is_listed, list_of, literal_node, long_list
from deltaskip.sparkexpr.text.render import to_sql
from deltaskip.sparkexpr.text.sql_text import SqlToken, sql_tokens
from deltaskip.sparkexpr.text.type_names import type_named
from deltaskip.sparkexpr.types.data_types import BINARY, INTEGER, STRING, DataType

_PART = regex(r"`((?:[^`]|``)*)`|([^`.]+)")

# Methods of PySpark, Polars and pandas that have another name in deltaskip.
_OTHER_NAMES = {
    "is_in": "isin",
    "isna": "is_null",
    "notna": "is_not_null",
    "notnull": "is_not_null",
    "eqNullSafe": "eq_null_safe",
    "eq_missing": "eq_null_safe",
    "is_between": "between",
    "astype": "cast",
    "starts_with": "startswith",
    "ends_with": "endswith",
}


@door
class ColumnExpr:
    """An expression over columns, built with Python operators and the methods below.

    Comparison, arithmetic and the operators `&`, `|` and `~` return expressions. An expression therefore has no truth
    value and no hash. Operands are expressions or constants; `lit` converts constants.

    Attributes:
        node: The expression as a predicate node.
    """

    __hash__ = None  # type: ignore[assignment]
    __slots__ = ("_legs", "_node")

    def __init__(self, node: n.Node) -> None:
        self._node: n.Node | None = node
        self._legs: _Legs | None = None

    @property
    def node(self) -> n.Node:
        """The expression as a predicate node."""
        return self._node or _node_of(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return ColumnExpr, (self.node,)

    def __repr__(self) -> str:
        return f"ColumnExpr({'…' if n.is_too_large(self.node, _MOST_SHOWN) else repr(self.node)})"

    def __bool__(self) -> NoReturn:
        raise InvalidArgumentType(
            "A predicate has no truth value in Python: use & | ~ instead of and, or, not, with parentheses, and "
            "between() instead of chained comparisons."
        )

    def __contains__(self, item: object) -> NoReturn:
        raise InvalidArgumentType("A column expression does not support `in`: use isin(…) or like(…) instead.")

    def __iter__(self) -> NoReturn:
        raise InvalidArgumentType("A column expression is not iterable.")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(name)
        method = _OTHER_NAMES.get(name) or nearest(name, [each for each in dir(type(self)) if each[0] != "_"])
        cure = "write the predicate as SQL text, which has all functions." if method is None else f"use {method}(…)."
        if method is None and isinstance(self._node, n.Column):
            cure = f"write col('{'.'.join(self._node.parts)}.{name}') for a field of a struct, or {cure}"
        raise AttributeError(f"A column expression has no {name}: {cure}", name=name, obj=None)

    def __getitem__(self, key: object) -> NoReturn:
        path = ".".join(self._node.parts) if isinstance(self._node, n.Column) else "struct"
        field = f"col('{path}.{key}')"
        raise InvalidArgumentType(
            f"A column expression has no elements: write {field} for a field of a struct, and SQL text such as "
            f"\"tags[0] = 'a'\" for an element."
        )

    def __eq__(self, other: object) -> ColumnExpr:  # type: ignore[override]
        return self._compare("=", other)

    def __ne__(self, other: object) -> ColumnExpr:  # type: ignore[override]
        return self._compare("!=", other)

    def __lt__(self, other: object) -> ColumnExpr:
        return self._compare("<", other)

    def __le__(self, other: object) -> ColumnExpr:
        return self._compare("<=", other)

    def __gt__(self, other: object) -> ColumnExpr:
        return self._compare(">", other)

    def __ge__(self, other: object) -> ColumnExpr:
        return self._compare(">=", other)

    def __and__(self, other: object) -> ColumnExpr:
        return _joined(n.And, self, other)

    def __rand__(self, other: object) -> ColumnExpr:
        return _joined(n.And, other, self)

    def __or__(self, other: object) -> ColumnExpr:
        return _joined(n.Or, self, other)

    def __ror__(self, other: object) -> ColumnExpr:
        return _joined(n.Or, other, self)

    def __invert__(self) -> ColumnExpr:
        return ColumnExpr(n.Not(self.node))

    def __neg__(self) -> ColumnExpr:
        return ColumnExpr(n.Call("negative", (self.node,)))

    def __add__(self, other: object) -> ColumnExpr:
        return self._call("+", other)

    def __radd__(self, other: object) -> ColumnExpr:
        return _call("+", other, self)

    def __sub__(self, other: object) -> ColumnExpr:
        return self._call("-", other)

    def __rsub__(self, other: object) -> ColumnExpr:
        return _call("-", other, self)

    def __mul__(self, other: object) -> ColumnExpr:
        return self._call("*", other)

    def __rmul__(self, other: object) -> ColumnExpr:
        return _call("*", other, self)

    def __truediv__(self, other: object) -> ColumnExpr:
        return self._call("/", other)

    def __rtruediv__(self, other: object) -> ColumnExpr:
        return _call("/", other, self)

    def __mod__(self, other: object) -> ColumnExpr:
        return self._call("%", other)

    def __rmod__(self, other: object) -> ColumnExpr:
        return _call("%", other, self)

    def isin(self, *values: object) -> ColumnExpr:
        """Return `self IN (values)`.

        Args:
            values: The values, or one list, tuple, set or array of them.
        """
        given = values[0] if len(values) == 1 and is_listed(values[0]) else values
        return ColumnExpr(n.In(self.node, long_list(given) or tuple(map(to_node, list_of(given)))))

    def between(self, lower: object, upper: object) -> ColumnExpr:
        """Return `self BETWEEN lower AND upper`.

        Args:
            lower: The lower bound, inclusive.
            upper: The upper bound, inclusive.
        """
        low, high = to_node(lower), to_node(upper)
        return ColumnExpr(n.And((n.Compare(">=", self.node, low), n.Compare("<=", self.node, high))))

    def is_null(self) -> ColumnExpr:
        """Return `self IS NULL`."""
        return ColumnExpr(n.IsNull(self.node))

    def is_not_null(self) -> ColumnExpr:
        """Return `self IS NOT NULL`."""
        return ColumnExpr(n.Not(n.IsNull(self.node)))

    def like(self, pattern: object, escape: str = "\\") -> ColumnExpr:
        """Return `self LIKE pattern ESCAPE escape`.

        Args:
            pattern: The pattern: `%` matches any characters, `_` one character.
            escape: The escape character.

        Raises:
            PredicateError: `escape` is not one character.
        """
        return ColumnExpr(n.Like(self.node, to_node(pattern), _one_character(escape)))

    def ilike(self, pattern: object, escape: str = "\\") -> ColumnExpr:
        """Return `self ILIKE pattern ESCAPE escape`: LIKE without regard to letter case.

        Args:
            pattern: The pattern: `%` matches any characters, `_` one character.
            escape: The escape character.

        Raises:
            PredicateError: `escape` is not one character.
        """
        return ColumnExpr(n.Like(self.node, to_node(pattern), _one_character(escape), True))

    def startswith(self, prefix: object) -> ColumnExpr:
        """Return `startswith(self, prefix)`.

        Args:
            prefix: The prefix, a string or an expression.
        """
        return ColumnExpr(n.StartsWith(self.node, to_node(prefix)))

    def endswith(self, suffix: object) -> ColumnExpr:
        """Return `endswith(self, suffix)`.

        Args:
            suffix: The suffix, a string or an expression.
        """
        return self._call("endswith", suffix)

    def contains(self, part: object) -> ColumnExpr:
        """Return `contains(self, part)`, or of a shape, `ST_Contains(self, part)`.

        Args:
            part: The string to look for, an expression, or a shape of shapely.
        """
        return self._call("st_contains", _shape(part)) if hasattr(part, "wkb") else self._call("contains", part)

    def intersects(self, shape: object) -> ColumnExpr:
        """Return `ST_Intersects(self, shape)`: whether two shapes have a point in common.

        Args:
            shape: A shape of shapely, its WKT as str or its WKB as bytes, or an expression. Without an SRID, it has the
                coordinate reference system of the column.
        """
        return self._call("st_intersects", _shape(shape))

    def within(self, shape: object) -> ColumnExpr:
        """Return `ST_Within(self, shape)`: whether no point is outside of a shape, and not all are on its boundary.

        Args:
            shape: See `intersects`.
        """
        return self._call("st_within", _shape(shape))

    def dwithin(self, shape: object, distance: object) -> ColumnExpr:
        """Return `ST_DWithin(self, shape, distance)`: whether two shapes are at most as far apart as a distance.

        Args:
            shape: See `intersects`.
            distance: The distance in units of the coordinate reference system, such as degrees or meters.
        """
        return _call("st_dwithin", self, _shape(shape), distance)

    def rlike(self, pattern: object) -> ColumnExpr:
        """Return `self RLIKE pattern`.

        Args:
            pattern: A regular expression of Java, which may match anywhere in the string.
        """
        return self._call("rlike", pattern)

    def eq_null_safe(self, other: object) -> ColumnExpr:
        """Return `self <=> other`: equality that is TRUE if both operands are NULL, and never NULL.

        Args:
            other: The value to compare with.
        """
        return self._compare("<=>", other)

    def cast(self, type_: DataType | str) -> ColumnExpr:
        """Return `CAST(self AS type_)`.

        Args:
            type_: A DataType, or the type's name in Spark SQL, such as "bigint" or "decimal(10,2)".

        Raises:
            PredicateError: The name is not a primitive or decimal type.
        """
        if not isinstance(type_, DataType | str):
            raise InvalidArgumentType.of("type_", "a DataType or a str such as 'bigint'", type_)
        return ColumnExpr(n.Cast(self.node, type_ if isinstance(type_, DataType) else type_named(type_)))

    def collate(self, collation: str) -> ColumnExpr:
        """Return `self COLLATE collation`: the same string, compared under another collation.

        Args:
            collation: The collation's name as in Spark SQL, such as "UNICODE_CI".
        """
        if not isinstance(collation, str):
            raise InvalidArgumentType.of("collation", "a str such as 'UNICODE_CI'", collation)
        return ColumnExpr(n.Collate(self.node, collation))

    def asc(self) -> SortTerm:
        """Return the ascending order by this expression, NULLs first, as in Spark: for `TableScan.top`."""
        return SortTerm(self.node, False, True)

    def asc_nulls_last(self) -> SortTerm:
        """Return the ascending order by this expression, NULLs last."""
        return SortTerm(self.node, False, False)

    def desc(self) -> SortTerm:
        """Return the descending order by this expression, NULLs last, as in Spark: for `TableScan.top`."""
        return SortTerm(self.node, True, False)

    def desc_nulls_first(self) -> SortTerm:
        """Return the descending order by this expression, NULLs first."""
        return SortTerm(self.node, True, True)

    def _compare(self, op: str, other: object) -> ColumnExpr:
        return ColumnExpr(n.Compare(op, self.node, to_node(other)))

    def _call(self, name: str, other: object) -> ColumnExpr:
        return _call(name, self, other)


@door
def col(name: str) -> ColumnExpr:
    """Return an expression for a column of the table.

    Args:
        name: The column's name. Dots separate the fields of structs; backquotes enclose a name that contains dots, as
            in "`a.b`.c".

    Raises:
        PredicateError: The text is not a column name.
        InvalidArgumentType: `name` is not a str.
    """
    if not isinstance(name, str):
        raise InvalidArgumentType.of("name", "a str", name)
    parts: list[str] = []
    at = 0
    while at < len(name):
        match = _PART.match(name, at)
        if match is None or (match.end() < len(name) and name[match.end()] != "."):
            raise PredicateError(f"{name!r} is not a column name: enclose names with special characters in backquotes.")
        parts.append(match.group(2) or match.group(1).replace("``", "`"))
        at = match.end() + 1
    if not parts or at == len(name):
        raise PredicateError(f"{name!r} is not a column name: enclose names with special characters in backquotes.")
    return ColumnExpr(n.Column(tuple(parts)))


@door
def lit(value: object) -> ColumnExpr:
    """Return a constant with the type that PySpark gives it.

    Args:
        value: None (NULL of any type), bool, int (int, bigint or decimal by its size), float (double), str, bytes,
            Decimal, date, datetime or timedelta (an interval), or a scalar of numpy, pandas or pyarrow with such a
            value. A list is an array. A dict is a struct where it is compared with one or stored in one, and else a
            map. A Row or named tuple is a struct. A datetime is a timestamp; without tzinfo, it is in the session's
            time zone.

    Raises:
        PredicateError: A Decimal is not finite or has more than 38 digits, or a time has nanoseconds or is NaT.
        InvalidArgumentType: The value has another type.
    """
    return ColumnExpr(to_node(value))


def to_node(value: object) -> n.Node:
    """Return the predicate node of a ColumnExpr or of a constant, which `lit` converts; a node stays unchanged."""
    if isinstance(value, ColumnExpr):
        return value.node
    return value if isinstance(value, n.Node) else literal_node(value)


def _shape(value: object) -> n.Node:
    """The node of a shape of shapely, of WKT or of WKB; other values as by `to_node`."""
    if isinstance(value, str):
        return n.Call("st_geomfromtext", (n.Literal(value, STRING),))
    if isinstance(value, bytes):
        return n.Call("st_geomfromwkb", (n.Literal(value, BINARY),))
    if not hasattr(value, "wkb"):
        return to_node(value)
    shapely = import_module("shapely")
    wkb, srid = n.Literal(shapely.to_wkb(value, flavor="iso"), BINARY), int(shapely.get_srid(value))
    return n.Call("st_geomfromwkb", (wkb, n.Literal(srid, INTEGER)) if srid else (wkb,))


def _call(name: str, *args: object) -> ColumnExpr:
    return ColumnExpr(n.Call(name, tuple(to_node(arg) for arg in args)))


_MOST_SHOWN = 200

_Legs = tuple[type[n.And] | type[n.Or], ColumnExpr, ColumnExpr, int]
"""The operands of & or |, and their count, including the operands of nested chains with the same operator.

The node is made at its first use: a long chain takes linear time.
"""


def _joined(kind: type[n.And] | type[n.Or], left: object, right: object) -> ColumnExpr:
    one, other = (leg if isinstance(leg, ColumnExpr) else ColumnExpr(to_node(leg)) for leg in (left, right))
    count = sum(leg._legs[3] if leg._legs is not None and leg._legs[0] is kind else 1 for leg in (one, other))
    if count > n.MAX_NODES:
        raise PredicateError(
            f"A predicate has at most {n.MAX_NODES:,} operands of & or |: use isin(…) for many values."
        )
    found = ColumnExpr.__new__(ColumnExpr)
    found._node, found._legs = None, (kind, one, other, count)
    return found


def _node_of(expression: ColumnExpr) -> n.Node:
    """The node of a chain of & or |, made after the nodes of its operands, however deep they are nested."""
    pending = [expression]
    while pending:
        chain = pending[-1]
        if chain._node is None and chain._legs is not None:
            legs = _operands(chain, chain._legs[0])
            unmade = [leg for leg in legs if leg._node is None]
            pending += unmade
            if not unmade:
                chain._node = _combined(chain._legs[0], legs)
        else:
            pending.pop()
    assert expression._node is not None
    return expression._node


def _operands(chain: ColumnExpr, kind: type[n.And] | type[n.Or]) -> list[ColumnExpr]:
    """The operands of a chain from left to right. A nested chain with the same operator is replaced by its operands."""
    found: list[ColumnExpr] = []
    pending = [chain]
    while pending:
        leg = pending.pop()
        if leg._node is None and leg._legs is not None and leg._legs[0] is kind:
            pending += leg._legs[2], leg._legs[1]
        else:
            found.append(leg)
    return found


def _combined(kind: type[n.And] | type[n.Or], legs: list[ColumnExpr]) -> n.Node:
    """One node with the nodes of all legs, flattened: a long chain is not a deep tree."""
    nodes: list[n.Node] = []
    for leg in legs:
        assert leg._node is not None
        nodes += leg._node.children if isinstance(leg._node, kind) else (leg._node,)
    return kind(tuple(nodes))


def _one_character(escape: str) -> str:
    if not isinstance(escape, str):
        raise InvalidArgumentType.of("escape", "a str of one character", escape)
    if len(escape) != 1:
        raise PredicateError(f"The escape character of LIKE must be one character, not {escape!r}.")
    return escape


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
