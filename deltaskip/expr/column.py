"""Predicates in Python: `col("id") > 5`, `col("n.a").isin(1, 2) & ~col("s").like("k%")`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import NoReturn

from deltaskip.errors import PredicateError, SchemaError
from deltaskip.expr.nodes import (
    And,
    Call,
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
    Or,
    StartsWith,
)
from deltaskip.expr.type_names import type_named
from deltaskip.schema.calendar import format_timestamp
from deltaskip.schema.types import (
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    VOID,
    DataType,
    DecimalType,
)

__all__ = ["ColumnExpr", "col", "lit", "to_node"]

_PART = re.compile(r"`((?:[^`]|``)*)`|([^`.]+)")
_EPOCH = datetime(1970, 1, 1)
_EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)


class ColumnExpr:
    """An expression that Python operators build; `node` is what it means.

    Comparisons give expressions, not booleans, so that an expression has no truth and no hash.
    """

    __hash__ = None  # type: ignore[assignment]
    __slots__ = ("node",)

    def __init__(self, node: Node) -> None:
        self.node = node

    def __repr__(self) -> str:
        return f"ColumnExpr({self.node!r})"

    def __bool__(self) -> NoReturn:
        raise TypeError(
            "A predicate has no truth value in Python: use & | ~ instead of and, or, not, in parentheses, and "
            "between() instead of chained comparisons."
        )

    def __contains__(self, item: object) -> NoReturn:
        raise TypeError("Use isin(…) or like(…) instead of Python's in.")

    def __iter__(self) -> NoReturn:
        raise TypeError("A column expression cannot be iterated.")

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
        return ColumnExpr(And(_flat(And, self.node, to_node(other))))

    def __rand__(self, other: object) -> ColumnExpr:
        return ColumnExpr(And(_flat(And, to_node(other), self.node)))

    def __or__(self, other: object) -> ColumnExpr:
        return ColumnExpr(Or(_flat(Or, self.node, to_node(other))))

    def __ror__(self, other: object) -> ColumnExpr:
        return ColumnExpr(Or(_flat(Or, to_node(other), self.node)))

    def __invert__(self) -> ColumnExpr:
        return ColumnExpr(Not(self.node))

    def __neg__(self) -> ColumnExpr:
        return ColumnExpr(Call("negative", (self.node,)))

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
        """`IN (values)`; one list, tuple or set may be given instead of single values."""
        listed = values[0] if len(values) == 1 and isinstance(values[0], list | tuple | set | frozenset) else values
        return ColumnExpr(In(self.node, tuple(to_node(value) for value in _iterable(listed))))

    def between(self, lower: object, upper: object) -> ColumnExpr:
        """`BETWEEN lower AND upper`, both included."""
        low, high = to_node(lower), to_node(upper)
        return ColumnExpr(And((Compare(">=", self.node, low), Compare("<=", self.node, high))))

    def is_null(self) -> ColumnExpr:
        """`IS NULL`."""
        return ColumnExpr(IsNull(self.node))

    def is_not_null(self) -> ColumnExpr:
        """`IS NOT NULL`."""
        return ColumnExpr(Not(IsNull(self.node)))

    def like(self, pattern: object, escape: str = "\\") -> ColumnExpr:
        """`LIKE pattern ESCAPE escape`."""
        return ColumnExpr(Like(self.node, to_node(pattern), _one_character(escape)))

    def ilike(self, pattern: object, escape: str = "\\") -> ColumnExpr:
        """`ILIKE pattern ESCAPE escape`."""
        return ColumnExpr(Like(self.node, to_node(pattern), _one_character(escape), True))

    def startswith(self, prefix: object) -> ColumnExpr:
        """`startswith(self, prefix)`."""
        return ColumnExpr(StartsWith(self.node, to_node(prefix)))

    def eq_null_safe(self, other: object) -> ColumnExpr:
        """`<=>`: like `=`, and TRUE where both are NULL."""
        return self._compare("<=>", other)

    def cast(self, type_: DataType | str) -> ColumnExpr:
        """`CAST(self AS type_)`, the type as a DataType or as Spark SQL names it."""
        return ColumnExpr(Cast(self.node, type_ if isinstance(type_, DataType) else type_named(type_)))

    def collate(self, collation: str) -> ColumnExpr:
        """`COLLATE collation`."""
        return ColumnExpr(Collate(self.node, collation))

    def _compare(self, op: str, other: object) -> ColumnExpr:
        return ColumnExpr(Compare(op, self.node, to_node(other)))

    def _call(self, name: str, other: object) -> ColumnExpr:
        return _call(name, self, other)


def col(name: str) -> ColumnExpr:
    """The column `name`: dots go into structs, backquotes keep a name with dots together."""
    parts: list[str] = []
    at = 0
    while at < len(name):
        match = _PART.match(name, at)
        if match is None or (match.end() < len(name) and name[match.end()] != "."):
            raise PredicateError(f"{name!r} is no column name; put names with special characters in backquotes.")
        parts.append(match.group(2) or match.group(1).replace("``", "`"))
        at = match.end() + 1
    if not parts or at == len(name):
        raise PredicateError(f"{name!r} is no column name; put names with special characters in backquotes.")
    return ColumnExpr(Column(tuple(parts)))


def lit(value: object) -> ColumnExpr:
    """A constant, typed as PySpark types it.

    int: int, else bigint, else decimal; float: double; datetime with a zone: timestamp; datetime without: timestamp
    too, in the session's time zone; None: a NULL of any type.
    """
    return ColumnExpr(_literal(value))


def to_node(value: object) -> Node:
    """The node of a ColumnExpr, a node, or a constant."""
    if isinstance(value, ColumnExpr):
        return value.node
    return value if isinstance(value, Node) else _literal(value)


def _literal(value: object) -> Node:
    match value:
        case ColumnExpr():
            return value.node
        case None:
            return Literal(None, VOID)
        case bool():
            return Literal(value, BOOLEAN)
        case int():
            return _integer(value)
        case float():
            return Literal(float(value), DOUBLE)
        case str():
            return Literal(value, STRING)
        case bytes() | bytearray():
            return Literal(bytes(value), BINARY)
        case Decimal():
            return _decimal(value)
        case datetime():
            return _timestamp(value)
        case date():
            return Literal((value - date(1970, 1, 1)).days, DATE)
    raise TypeError(
        f"{value!r} of type {type(value).__name__} is no literal: use None, bool, int, float, str, bytes, Decimal, "
        "date or datetime."
    )


def _integer(value: int) -> Literal:
    if -(2**31) <= value < 2**31:
        return Literal(int(value), INTEGER)
    return Literal(int(value), LONG) if -(2**63) <= value < 2**63 else _decimal(Decimal(value))


def _decimal(value: Decimal) -> Literal:
    if not value.is_finite():
        raise PredicateError(f"{value} is no decimal of Spark SQL; use a float.")
    _, digits, exponent = value.as_tuple()
    scale = max(0, -int(exponent))
    try:
        type_ = DecimalType(max(len(digits) + max(0, int(exponent)), scale, 1), scale)
    except SchemaError as error:
        raise PredicateError(f"{value} has more digits than a decimal of Spark SQL holds.") from error
    return Literal(value if int(exponent) <= 0 else Decimal(int(value)), type_)


def _timestamp(value: datetime) -> Node:
    if value.tzinfo is not None:
        return Literal(_micros(value - _EPOCH_UTC), TIMESTAMP)
    # Which instant it is depends on the session's zone, which `bind` knows.
    return Cast(Literal(format_timestamp(_micros(value - _EPOCH)), STRING), TIMESTAMP)


def _micros(since_epoch: timedelta) -> int:
    return (since_epoch.days * 86_400 + since_epoch.seconds) * 1_000_000 + since_epoch.microseconds


def _call(name: str, *args: object) -> ColumnExpr:
    return ColumnExpr(Call(name, tuple(to_node(arg) for arg in args)))


def _flat(kind: type[And] | type[Or], *legs: Node) -> tuple[Node, ...]:
    """Operands of a chain of & or |, on one level however long the chain is."""
    return tuple(n for leg in legs for n in (leg.children if isinstance(leg, kind) else (leg,)))


def _iterable(values: object) -> Iterable[object]:
    return values if isinstance(values, Iterable) else (values,)


def _one_character(escape: str) -> str:
    if len(escape) != 1:
        raise PredicateError(f"The escape of LIKE is one character, not {escape!r}.")
    return escape
